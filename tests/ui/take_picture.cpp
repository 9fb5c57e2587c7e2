// Takes the pictures of docs/pictures: the real engine reads a document, answers, is closed when
// all is packed, and a second one resumes the chat. Every figure in the picture was measured in
//   that run. take_picture MODEL DOCUMENT PRESET OUT.png [dark] [packing] QUESTION…
//   packing  before it is closed, when about 40 % of the text have been looked at
#include <QApplication>
#include <QFontDatabase>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>
#include <functional>

#include "event_spy.h"
#include "scenes.h"
#include "storage/store.h"
#include "ui/model/in_process_engine.h"
#include "ui/widgets/theme.h"

namespace {

using namespace satchel;
using namespace satchel::ui;
using namespace Qt::StringLiterals;

constexpr int kWaitMs = 900'000;
constexpr double kPackingShare = 0.4;

struct Life {
  explicit Life(const QString& folder)
      : engine(openStore(folder)), state(&engine, &clock), resumed(&engine), saved(&engine) {
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
    wait([this] { return saved.count() > seenSaved; });
    seenSaved = saved.count();
  }

  SystemClock clock;
  InProcessEngine engine;
  AppState state;
  EventSpy<runtime::ResumeReport> resumed;
  EventSpy<kvcache::SaveReport> saved;
  qsizetype seenSaved = 0;
};

void choosePreset(MemoryPanelState* memory, const QString& preset) {
  for (int i = 0; i < memory->presetCount(); ++i)
    if (memory->presetLine(i).preset == preset) memory->setPresetIndex(i);
}

void talk(Life& life, const QStringList& arguments, const QStringList& questions) {
  life.openModel(arguments[1]);
  choosePreset(life.state.memory(), arguments[3]);
  life.state.newChat();
  life.waitReady();
  life.state.attachFile(arguments[2]);
  life.waitSaved();
  for (const QString& question : questions) {
    life.state.send(question);
    life.waitSaved();
  }
}

void resume(Life& life, const QStringList& arguments) {
  life.openModel(arguments[1]);
  choosePreset(life.state.memory(), arguments[3]);
  life.wait([&] { return life.state.chats()->rowCount() > 0; });
  life.state.openChat(life.state.chats()->index(0).data(ChatListModel::KeyRole).toLongLong());
  life.wait([&] { return life.resumed.count() == 1; });
}

bool take(AppState& state, const QString& file, const std::function<void()>& play) {
  MainWindow window(&state, {});
  window.resize(1280, 900);
  window.show();
  play();
  Scene::settle();
  return window.grab().save(file);
}

bool takePacking(const QStringList& arguments) {
  const QTemporaryDir store;
  Life life(store.path());
  const MemoryPanelState* memory = life.state.memory();
  return take(life.state, arguments[4], [&] {
    talk(life, arguments, arguments.mid(5));
    life.wait([&] { return memory->isPacking() && memory->packingShare() >= kPackingShare; });
  });
}

bool takeResumed(const QStringList& arguments) {
  const QTemporaryDir store;
  {
    Life life(store.path());
    const MemoryPanelState* memory = life.state.memory();
    talk(life, arguments, arguments.mid(5));
    life.wait([&] { return arguments[3] == u"full"_s || !memory->fidelityAge().isEmpty(); });
  }
  Life life(store.path());
  return take(life.state, arguments[4], [&] { resume(life, arguments); });
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QStringList arguments = QApplication::arguments();
  const bool dark = arguments.removeAll(u"dark"_s) > 0;
  const bool packing = arguments.removeAll(u"packing"_s) > 0;
  if (arguments.size() < 6) {
    std::fprintf(stderr,
                 "usage: take_picture MODEL DOCUMENT PRESET OUT.png [dark] [packing] QUESTION…\n");
    return 2;
  }
  if (QFontDatabase::families().contains(u"Inter"_s)) QApplication::setFont(QFont(u"Inter"_s, 10));
  applyAppearance(app, dark ? Appearance::Dark : Appearance::Light);
  const bool isTaken = packing ? takePacking(arguments) : takeResumed(arguments);
  return isTaken ? 0 : 1;
}
