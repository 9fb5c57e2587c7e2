// Prints what the window costs; nothing is judged here. The aims (docs/desktop.md): first paint of
// 2,000 messages <= 150 ms; at 200 tokens/s <= 8 ms of work a frame; the window never waits while
// another chat is opened beside an answer; a search through 1,000 chats <= 50 ms.
//   measure_window MODEL DOCUMENT
#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "event_spy.h"
#include "scenes.h"
#include "storage/store.h"
#include "ui/model/format.h"
#include "ui/model/in_process_engine.h"
#include "ui/model/language.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/conversation/held_strip.h"
#include "ui/widgets/theme.h"

namespace {

using namespace satchel;
using namespace satchel::ui;
using namespace Qt::StringLiterals;

constexpr int kMessages = 2000, kPieces = 600, kChats = 1000, kWaitMs = 60'000;

double milliseconds(const QElapsedTimer& timer) {
  return double(timer.nsecsElapsed()) / 1e6;
}

void report(const char* what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf("%s: median %.2f ms, 99 %% %.2f ms, most %.2f ms (of %zu)\n", what,
              times[times.size() / 2], times[times.size() * 99 / 100], times.back(), times.size());
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "measure_window: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) fail(result.error().message);
  return std::move(result).value();
}

QList<Message> longConversation() {
  QList<Message> messages;
  for (int i = 0; i < kMessages / 2; ++i) {
    messages.append(userMessage(u"Question %1: what about the visits of this week?"_s.arg(i)));
    messages.append(answerMessage(sampleMarkdown()));
  }
  return messages;
}

// The whole window, on a scripted engine.
void measureConversation() {
  Scene scene;
  scene.show();
  scene.openModel();
  const ChatKey chat =
      scene.engine.addChat(u"long"_s, QDateTime::currentDateTime(), longConversation());
  scene.window->grab();
  QElapsedTimer timer;
  timer.start();
  scene.state.openChat(chat);
  scene.engine.playAll();
  Scene::settle();
  scene.window->grab();
  std::printf("first paint of a chat of %d messages: %.1f ms\n", kMessages, milliseconds(timer));

  ConversationModel* const model = scene.state.conversation();
  ConversationView* const view = scene.window->conversation();
  model->beginAnswer({});
  Scene::settle();
  std::vector<double> laidOut, painted;
  for (int i = 0; i < kPieces; ++i) {
    timer.restart();
    model->appendDelta(i % 40 == 39 ? u".\n\n"_s : u" word"_s);
    laidOut.push_back(milliseconds(timer));
    Scene::settle();
    timer.restart();
    view->viewport()->repaint();
    painted.push_back(milliseconds(timer));
  }
  report("a token taken in and laid out behind them", laidOut);
  report("the conversation painted after it", painted);
}

std::unique_ptr<storage::Store> storeIn(const QString& folder) {
  storage::StoreOptions options;
  options.data_dir = options.cache_dir = folder.toStdString();
  return must(storage::Store::open(std::move(options)));
}

constexpr int kTokens = 32'000, kTokenBytes = 4;  // as English text has

// A chat of kTokens, each held and looked at in a way of its own.
struct LongChat {
  QList<Message> messages;
  satchel::runtime::HeldText held;
  satchel::runtime::AttendedText attended{.answer = {1}, .n_queries = 16, .n_tokens = kTokens};
};
LongChat longChat(int messages) {
  LongChat chat;
  const int tokens = kTokens / messages;
  for (int i = 0; i < messages; ++i) {
    Message message = i % 2 == 0 ? userMessage(u"ton "_s.repeated(tokens))
                                 : answerMessage(u"ton "_s.repeated(tokens));
    message.id = i + 1;
    message.isExpanded = true;
    chat.messages.append(message);
    auto& held = chat.held.messages.emplace_back();
    auto& attended = chat.attended.messages.emplace_back();
    held.message = attended.message = {message.id};
    for (std::size_t at = 0; at < std::size_t(tokens); ++at) {
      const satchel::IndexRange place{at * kTokenBytes, (at + 1) * kTokenBytes};
      held.words.push_back({place, {float(at % 15) / 16, float(at % 7) + 2}});
      attended.words.push_back({.words = place, .share = float(at % 97) / 1e5f});
    }
  }
  return chat;
}

void measureHeld(int messages) {
  ConversationModel model;
  ConversationView view;
  view.resize(760, 700);
  view.setConversation(&model);
  HeldStrip strip(&view);
  view.show();
  const LongChat chat = longChat(messages);
  model.load(chat.messages);
  Scene::settle();
  view.grab();
  QElapsedTimer timer;
  for (const HeldLook look : {HeldLook::Fade, HeldLook::Precision, HeldLook::Heat}) {
    timer.start();
    look == HeldLook::Heat ? model.setAttended(chat.attended) : model.setHeld(chat.held);
    const double taken = milliseconds(timer);
    view.setHeldLook(look);
    strip.setLook(look);
    timer.restart();
    view.viewport()->repaint();
    const double first = milliseconds(timer);
    timer.restart();
    view.viewport()->repaint();
    const double again = milliseconds(timer);
    timer.restart();
    strip.repaint();
    std::printf(
        "%d tokens in %d messages, look %d: taken in %.1f ms, first paint %.1f ms, "
        "painted again %.1f ms, strip %.1f ms\n",
        kTokens, messages, int(look), taken, first, again, milliseconds(timer));
  }
}

// The longest time between two turns of the event loop.
class Stillness : public QObject {
 public:
  Stillness() {
    m_since.start();
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, [this] {
      m_most = std::max(m_most, milliseconds(m_since));
      m_since.restart();
    });
    m_timer.start(1);
  }
  double most() const { return m_most; }

 private:
  QTimer m_timer;
  QElapsedTimer m_since;
  double m_most = 0;
};

bool measureEngine(const QString& model, const QString& document) {
  const QTemporaryDir folder;
  satchel::SystemClock clock;
  InProcessEngine engine(storeIn(folder.path()));
  AppState state(&engine, &clock);
  EventSpy<satchel::runtime::ChatMemory> memory(&engine);
  MainWindow window(&state, {});
  window.show();
  bool failed = false;
  QObject::connect(&state, &AppState::errorShown, [&](const QString&, const QString& message) {
    std::fprintf(stderr, "%s\n", qPrintable(message));
    failed = true;
  });
  const auto wait = [&failed](const std::function<bool()>& done) {
    return QTest::qWaitFor([&] { return done() || failed; }, 600'000) && !failed;
  };
  const auto ready = [&] { return state.phase() == AppState::Phase::Ready; };
  state.openModel(model);
  if (!wait([&] { return ready() && state.memory()->hasPreviews(); })) return false;
  state.memory()->setPresetIndex(1);
  state.newChat();
  if (!wait(ready)) return false;
  state.attachFile(document);
  if (!wait([&] { return state.conversation()->rowCount() > 1 && ready(); })) return false;
  state.send(u"What is this text about? Answer at length."_s);
  if (!wait(ready) || !wait([&] { return !state.memory()->isPacking(); })) return false;
  const ConversationModel& rows = *state.conversation();
  const auto report = [&](const char* what, HeldLook look, const std::function<bool()>& known) {
    const Stillness stillness;
    QElapsedTimer timer;
    timer.start();
    state.setHeldLook(look);
    if (!wait(known)) return false;
    const double told = milliseconds(timer);
    Scene::settle();
    std::printf("%s, of %s tokens: told after %.0f ms; the window stood still for %.1f ms\n", what,
                qPrintable(formatCount(qint64(memory.last().n_read))), told, stillness.most());
    return true;
  };
  return report("how words are held", HeldLook::Fade, [&] { return !rows.held(0).isEmpty(); }) &&
         report("what an answer looked at", HeldLook::Heat,
                [&] { return rows.attendedSums().n_queries > 0; });
}

// The real engine: another chat is opened while one answers.
void measureOpening(const QString& modelPath) {
  const QTemporaryDir folder;
  SystemClock clock;
  InProcessEngine engine(storeIn(folder.path()), {});
  AppState state(&engine, &clock);
  MainWindow window(&state, {});
  window.resize(1280, 820);
  window.show();
  const auto wait = [](auto&& done) {
    if (!QTest::qWaitFor(done, kWaitMs)) fail("the engine does not answer");
  };
  const auto ready = [&state] { return state.phase() == AppState::Phase::Ready; };
  state.openModel(modelPath);
  wait(ready);
  state.attachDocument(u"first.txt"_s, sampleDocument().repeated(4));
  wait(ready);
  state.send(u"What stands in it?"_s);
  wait(ready);
  const ChatKey first = state.chat().id;
  state.newChat();
  wait(ready);
  std::vector<double> late, opened;
  for (int i = 0; i < 10; ++i) {
    state.send(u"Tell me something long about the week."_s);
    wait([&state] { return state.phase() == AppState::Phase::Answering; });
    const ChatKey other = state.chat().id;
    const Stillness stillness;
    QElapsedTimer timer;
    timer.start();
    state.openChat(first);
    wait([&] { return state.chat().id == first && ready(); });
    opened.push_back(milliseconds(timer));
    late.push_back(stillness.most());
    state.openChat(other);
    wait([&] { return state.chat().id == other && ready(); });
  }
  report("another chat opened while one answered", opened);
  report("the longest that the window did not answer meanwhile", late);
}

void measureSearch() {
  const QTemporaryDir folder;
  const auto store = storeIn(folder.path());
  const std::string words[] = {"harbour", "ledger",  "winter", "invoice", "garden",
                               "signal",  "meeting", "chapel", "engine",  "letter"};
  for (int chat = 0; chat < kChats; ++chat) {
    const auto id =
        must(store->library().create_chat({.title = "Chat " + std::to_string(chat), .setup = {}}));
    for (int i = 0; i < 10; ++i) {
      std::string text;
      for (int w = 0; w < 120; ++w) text += words[std::size_t(chat * 7 + i * 3 + w * w) % 10] + ' ';
      text += "number" + std::to_string(chat * 10 + i);
      (void)must(store->library().append(
          id, {runtime::Role::user, runtime::MessageState::complete, text, {}}));
    }
  }
  std::vector<double> times;
  for (int round = 0; round < 100; ++round) {
    const std::string asked = round % 2 == 0 ? words[std::size_t(round / 2) % 10] + " cha"
                                             : "number" + std::to_string(round * 97);
    QElapsedTimer timer;
    timer.start();
    const auto found = must(store->search({.words = asked, .n_most = 50}));
    times.push_back(milliseconds(timer));
    if (found.empty()) fail("\"" + asked + "\" was not found");
  }
  report("a search through 1,000 chats of 10 messages", times);
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  const QStringList arguments = QApplication::arguments();
  if (arguments.size() != 3) fail("usage: measure_window MODEL DOCUMENT");
  applyAppearance(app, Appearance::Light);
  applyLanguage(app, Language::English);
  measureConversation();
  measureHeld(400);
  measureHeld(2);
  measureOpening(arguments[1]);
  measureSearch();
  if (!measureEngine(arguments[1], arguments[2])) fail("Ctrl+H is not told");
  return 0;
}
