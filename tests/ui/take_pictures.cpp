// Takes the pictures of docs/pictures: the real engine reads a document, answers, and is shown from
// its first run to its history. Every figure in a picture was measured in that run.
//   take_pictures MODEL DOCUMENT FOLDER [light|dark] [SCENE…]
//   scenes   kScenes, in this order, each in the window that the one before left; where some are
//            named, only they are written, and those before them are played
#include <QApplication>
#include <QBuffer>
#include <QDialog>
#include <QDir>
#include <QFile>
#include <QFontDatabase>
#include <QHash>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <functional>

#include "app/desktop/model_tools.h"
#include "event_spy.h"
#include "scenes.h"
#include "storage/store.h"
#include "ui/model/engine_values.h"
#include "ui/model/in_process_engine.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chat_list_panel.h"
#include "ui/widgets/conversation/conversation_view.h"
#include "ui/widgets/memory/memory_panel.h"
#include "ui/widgets/models_dialog.h"
#include "ui/widgets/server_dialog.h"
#include "ui/widgets/theme.h"

namespace {

using namespace satchel;
using namespace satchel::ui;
using namespace Qt::StringLiterals;

constexpr int kWaitMs = 900'000;
constexpr qsizetype kBytesMax = 150'000;  // of a picture in the repository
// Room for the notes and little more, with the bundled model.
constexpr quint64 kCardLimitBytes = 4'000'000;
constexpr int kWidth = 1180, kHeight = 780;

[[noreturn]] void giveUp(const QString& why) {
  std::fprintf(stderr, "take_pictures: %s\n", qPrintable(why));
  std::exit(1);
}

// A window of the program on the real runtime, in a store of its own.
struct Run {
  explicit Run(const QStringList& arguments)
      : model(arguments[1]),
        document(arguments[2]),
        engine(openStore(folder.path())),
        state(&engine, &clock),
        saved(&engine) {
    QObject::connect(&state, &AppState::errorShown, &state,
                     [](const QString& code, const QString& message) {
                       giveUp(u"%1 [%2]"_s.arg(message, code));
                     });
    WindowOptions options;
    options.sampleTitle = u"sample-notes.txt"_s;
    options.sampleText = u"Notes"_s;
    useModels(options);
    options.serverProgram = QStringLiteral(SATCHEL_PROGRAM);
    window = std::make_unique<MainWindow>(&state, options);
    window->resize(kWidth, kHeight);
    window->show();
  }
  // The bundled model and no others of this machine; the text says where people have theirs.
  void useModels(WindowOptions& options) {
    app::Paths paths = app::standard_paths(folder.path().toStdString());
    paths.models_dir = paths.data_dir / "models";
    options.models = [paths] {
      QList<ModelChoice> choices;
      for (const app::ModelFile& found : app::find_models(paths))
        choices.append(
            {textOf(found.path.string()), textOf(found.name), static_cast<quint64>(found.bytes)});
      return choices;
    };
    options.modelTools = app::model_tools(paths, "cpu", 0);
    options.modelFolder = u"~/.local/share/satchel/models"_s;
  }
  static std::unique_ptr<storage::Store> openStore(const QString& folder) {
    storage::StoreOptions options;
    options.data_dir = options.cache_dir = folder.toStdString();
    auto store = storage::Store::open(std::move(options));
    if (!store.ok()) giveUp(QString::fromStdString(store.error().message));
    return std::move(store).value();
  }
  void wait(const char* what, const std::function<bool()>& done) {
    if (!QTest::qWaitFor(done, kWaitMs)) giveUp(u"%1: nothing came"_s.arg(QLatin1String(what)));
  }
  void waitReady() {
    wait("ready", [this] { return state.phase() == AppState::Phase::Ready; });
  }
  void begin(const QString& preset, quint64 limitBytes = 0) {
    MemoryPanelState* memory = state.memory();
    for (int i = 0; i < memory->presetCount(); ++i)
      if (memory->presetLine(i).preset == preset) memory->setPresetIndex(i);
    if (limitBytes > 0) memory->setBudgetBytes(limitBytes);
    state.newChat();
    waitReady();
  }
  void finish(const std::function<void()>& ask) {
    const qsizetype before = saved.count();
    ask();
    waitReady();
    wait("saved", [&] { return saved.count() > before; });
  }
  void attach() {
    finish([this] { state.attachFile(document); });
  }
  void send(const QString& text) {
    finish([&] { state.send(text); });
  }
  void waitPacked() {
    wait("packed", [this] {
      return !state.memory()->isPacking() && !state.memory()->fidelityAge().isEmpty();
    });
  }
  template <class Widget>
  Widget* find() {
    return window->findChild<Widget*>();
  }

  const QTemporaryDir folder;
  const QString model, document;
  SystemClock clock;
  InProcessEngine engine;
  AppState state;
  EventSpy<kvcache::SaveReport> saved;
  std::unique_ptr<MainWindow> window;
};

// --- scenes: each goes on from the one before

QWidget* firstRun(Run& run) {
  run.state.openModel(run.model);
  run.waitReady();
  run.wait("previews", [&] { return run.state.memory()->hasPreviews(); });
  return run.window.get();
}

QWidget* chat(Run& run) {
  run.begin(u"compact"_s);
  run.attach();
  run.send(u"Which pet does Matteo Thorsen keep?"_s);
  run.send(u"Where does Nina Leroux live?"_s);
  run.waitPacked();
  run.window->banner()->hide();
  return run.window.get();
}

QWidget* preview(Run& run) {
  run.state.memory()->setPresetIndex(3);
  run.wait("preview", [&] { return run.state.memory()->plan()->canApply(); });
  return run.window.get();
}

QWidget* look(Run& run, HeldLook look, bool isKnown(const ConversationModel&)) {
  run.state.memory()->setPresetIndex(2);
  run.state.conversation()->setExpanded(0, true);
  run.state.setHeldLook(look);
  run.wait("held", [&] { return isKnown(*run.state.conversation()); });
  run.window->conversation()->showRow(0);
  return run.window.get();
}
bool isHeldKnown(const ConversationModel& rows) {
  return !rows.held(0).isEmpty();
}

QWidget* fade(Run& run) {
  return look(run, HeldLook::Fade, isHeldKnown);
}
QWidget* precision(Run& run) {
  return look(run, HeldLook::Precision, isHeldKnown);
}
QWidget* heat(Run& run) {
  return look(run, HeldLook::Heat,
              [](const ConversationModel& rows) { return rows.attendedSums().n_queries > 0; });
}

QWidget* branches(Run& run) {
  run.state.setHeldLook(HeldLook::Off);
  run.state.conversation()->setExpanded(0, false);
  const int row = run.state.conversation()->rowCount() - 2;
  run.finish([&] {
    if (!run.state.sendInstead(run.state.conversation()->message(row).id,
                               u"When was Nina Leroux born?"_s))
      giveUp(u"the message cannot be edited"_s);
  });
  run.window->conversation()->showRow(0);
  return run.window.get();
}

QWidget* search(Run& run) {
  run.find<ChatListPanel>()->filter()->setText(u"rabbit"_s);
  run.wait("found", [&] { return run.state.found()->rowCount() > 0; });
  return run.window.get();
}

QWidget* memory(Run& run) {
  run.find<ChatListPanel>()->filter()->clear();
  run.wait("the whole list", [&] { return run.state.found()->rowCount() == 0; });
  auto* panel = run.find<MemoryPanel>();
  panel->verticalScrollBar()->setValue(panel->verticalScrollBar()->maximum());
  return run.window.get();
}

QWidget* history(Run& run) {
  QTest::keyClick(run.window.get(), Qt::Key_L, Qt::ControlModifier);
  for (QDialog* dialog : run.window->findChildren<QDialog*>())
    if (dialog->isVisible()) return dialog;
  giveUp(u"the history is not shown"_s);
}

// The dialog that the keys open, in place of those that are open.
template <class Dialog>
Dialog* openDialog(Run& run, Qt::Key key) {
  for (QDialog* dialog : run.window->findChildren<QDialog*>()) dialog->close();
  run.window
      ->activateWindow();  // without a desktop nobody else does, and keys are the active one's
  Scene::settle();
  QTest::keyClick(run.window.get(), key, Qt::ControlModifier | Qt::ShiftModifier);
  auto* dialog = run.find<Dialog>();
  if (dialog == nullptr) giveUp(u"a dialog does not open"_s);
  return dialog;
}

QWidget* models(Run& run) {
  auto* dialog = openDialog<ModelsDialog>(run, Qt::Key_M);
  dialog->address()->setText(u"https://host.example/models/SmolLM2-360M.gguf"_s);
  run.wait("the model's details",
           [dialog] { return dialog->detailsText().contains(u"Licence"_s); });
  return dialog;
}

QWidget* server(Run& run) {
  auto* dialog = openDialog<ServerDialog>(run, Qt::Key_S);
  dialog->switchButton()->click();
  run.wait("the server", [dialog] { return !dialog->address()->text().isEmpty(); });
  run.wait("the server's log", [dialog] { return !dialog->log()->toPlainText().isEmpty(); });
  return dialog;
}

// A chat whose limit is too low for all that is said in it.
QWidget* card(Run& run) {
  if (auto* dialog = run.find<ServerDialog>()) {
    dialog->switchButton()->click();
    run.wait("the server's end", [dialog] { return dialog->stateText() == u"Off."_s; });
  }
  for (QDialog* dialog : run.window->findChildren<QDialog*>()) dialog->close();
  run.find<MemoryPanel>()->verticalScrollBar()->setValue(0);
  run.begin(u"balanced"_s, kCardLimitBytes);
  run.attach();
  const ConversationModel& rows = *run.state.conversation();
  const auto hasCard = [&rows] {
    return rows.lastRow([](const Message& message) { return !message.packed.isEmpty(); }) >= 0;
  };
  const QStringList questions = {u"Where does Nina Leroux live?"_s,
                                 u"Which pet does Matteo Thorsen keep?"_s,
                                 u"What opens the navy bell tower?"_s};
  for (int i = 0; i < 40 && !hasCard(); ++i) run.send(questions[i % questions.size()]);
  if (!hasCard()) giveUp(u"the limit was not reached"_s);
  run.window->banner()->hide();
  return run.window.get();
}

struct NamedScene {
  const char* name;
  QWidget* (*play)(Run&);
};
constexpr NamedScene kScenes[] = {
    {"first-run", firstRun},  {"window", chat},     {"preview", preview},   {"fade", fade},
    {"precision", precision}, {"heat", heat},       {"branches", branches}, {"search", search},
    {"memory", memory},       {"history", history}, {"models", models},     {"server", server},
    {"card", card},
};

// The colours that most pixels have; 256 are enough but for the edges of letters.
QList<QRgb> paletteOf(const QImage& image) {
  QHash<QRgb, int> counts;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) ++counts[image.pixel(x, y)];
  QList<QRgb> colors = counts.keys();
  std::ranges::sort(colors, [&counts](QRgb a, QRgb b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
  });
  return colors.mid(0, 256);
}

void write(const QPixmap& picture, const QString& file) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  const QImage whole = picture.toImage().convertToFormat(QImage::Format_RGB32);
  const QImage image =
      whole.convertToFormat(QImage::Format_Indexed8, ::paletteOf(whole), Qt::ThresholdDither);
  if (!image.save(&buffer, "PNG", 0)) giveUp(u"no picture of %1"_s.arg(file));
  if (bytes.size() > kBytesMax) giveUp(u"%1 takes %2 bytes"_s.arg(file).arg(bytes.size()));
  QFile out(file);
  if (!out.open(QIODevice::WriteOnly) || out.write(bytes) != bytes.size())
    giveUp(u"cannot write %1"_s.arg(file));
  std::printf("%s\n", qPrintable(file));
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QStringList arguments = QApplication::arguments();
  arguments.removeAll(u"light"_s);
  const bool dark = arguments.removeAll(u"dark"_s) > 0;
  if (arguments.size() < 4) {
    std::fprintf(stderr, "usage: take_pictures MODEL DOCUMENT FOLDER [light|dark] [SCENE…]\n");
    return 2;
  }
  if (QFontDatabase::families().contains(u"Inter"_s)) QApplication::setFont(QFont(u"Inter"_s, 10));
  applyAppearance(app, dark ? Appearance::Dark : Appearance::Light);
  const QDir folder(arguments[3]);
  if (!folder.mkpath(u"."_s)) giveUp(u"cannot make %1"_s.arg(folder.path()));
  QStringList wanted = arguments.mid(4);
  const bool isAll = wanted.isEmpty();
  Run run(arguments);
  for (const NamedScene& scene : kScenes) {
    if (!isAll && wanted.isEmpty()) break;
    QWidget* shown = scene.play(run);
    Scene::settle();
    if (!isAll && wanted.removeAll(QLatin1String(scene.name)) == 0) continue;
    write(shown->grab(),
          folder.filePath(QLatin1String(scene.name) + (dark ? u"-dark.png"_s : u".png"_s)));
  }
  if (!wanted.isEmpty()) giveUp(u"there is no scene %1"_s.arg(wanted.first()));
  return 0;
}
