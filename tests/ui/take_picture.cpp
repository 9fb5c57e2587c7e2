// Takes the README's picture of the window: the real engine reads a document, answers, is closed,
// and a second one resumes the chat. Every figure in the picture was measured in that run.
//   take_picture MODEL DOCUMENT PRESET OUT.png [dark] QUESTION…
#include <QApplication>
#include <QFontDatabase>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>
#include <functional>

#include "scenes.h"
#include "ui/model/in_process_engine.h"
#include "ui/widgets/theme.h"

namespace {

using namespace satchel;
using namespace satchel::ui;
using namespace Qt::StringLiterals;

constexpr int kWaitMs = 900'000;

struct Life {
  explicit Life(const QString& folder)
      : engine(openStore(folder)),
        state(&engine, &clock),
        resumed(&engine, &EngineClient::resumed),
        saved(&engine, &EngineClient::saved) {
    QObject::connect(&state, &AppState::errorShown, &state,
                     [](const QString& code, const QString& message) {
                       std::fprintf(stderr, "%s [%s]\n", qPrintable(message), qPrintable(code));
                       std::exit(1);
                     });
  }
  static std::unique_ptr<storage::Store> openStore(const QString& folder) {
    storage::StoreOptions options;
    options.data_dir = options.cache_dir = folder.toStdString();
    auto store = storage::Store::open(std::move(options));
    if (!store.ok()) std::exit(1);
    return std::move(store).value();
  }
  void wait(const std::function<bool()>& done) {
    if (!QTest::qWaitFor(done, kWaitMs)) std::exit(1);
  }
  void waitReady() {
    wait([this] { return state.phase() == AppState::Phase::Ready; });
  }
  void openModel(const QString& model) {
    state.openModel(model);
    waitReady();
    wait([this] { return state.memory()->hasPreviews(); });
  }
  void waitSaved() {
    waitReady();
    wait([this] { return !saved.isEmpty(); });
    saved.clear();
  }

  SystemClock clock;
  InProcessEngine engine;
  AppState state;
  QSignalSpy resumed, saved;
};

void talk(Life& life, const QStringList& arguments, const QStringList& questions) {
  life.openModel(arguments[1]);
  for (int i = 0; i < life.state.memory()->presetCount(); ++i)
    if (life.state.memory()->presetLine(i).preset == arguments[3])
      life.state.memory()->setPresetIndex(i);
  life.state.newChat();
  life.waitReady();
  life.state.attachFile(arguments[2]);
  life.waitSaved();
  for (const QString& question : questions) {
    life.state.send(question);
    life.waitSaved();
  }
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QStringList arguments = QApplication::arguments();
  const bool dark = arguments.removeAll(u"dark"_s) > 0;
  if (arguments.size() < 6) {
    std::fprintf(stderr, "usage: take_picture MODEL DOCUMENT PRESET OUT.png [dark] QUESTION…\n");
    return 2;
  }
  if (QFontDatabase::families().contains(u"Inter"_s)) QApplication::setFont(QFont(u"Inter"_s, 10));
  applyAppearance(app, dark ? Appearance::Dark : Appearance::Light);
  const QTemporaryDir store;
  {
    Life life(store.path());
    talk(life, arguments, arguments.mid(5));
  }
  Life life(store.path());
  MainWindow window(&life.state, {});
  window.resize(1280, 900);
  window.show();
  life.openModel(arguments[1]);
  life.wait([&] { return life.state.chats()->rowCount() > 0; });
  life.state.openChat(life.state.chats()->index(0).data(ChatListModel::KeyRole).toLongLong());
  life.wait([&] { return life.resumed.count() == 1; });
  QTest::qWait(500);
  return window.grab().save(arguments[4]) ? 0 : 1;
}
