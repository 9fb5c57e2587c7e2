// satchel-desktop: joins engine and window, and ends with them. The engine is this program once
// more (ui/child/engine_child.h).
//   exit codes  0 closed by the user, 1 the library cannot be opened, 2 wrong options
#include <QApplication>
#include <QInputDialog>
#include <QMessageBox>
#include <QSettings>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cache_quota.h"
#include "app/chat_files/export_chat.h"
#include "app/cli/demo_notes.h"
#include "app/desktop/end_signals.h"
#include "app/desktop/model_tools.h"
#include "app/documents/document_text.h"
#include "app/manual/manual_page.h"
#include "app/paths.h"
#include "app/store_key.h"
#include "app/store_options.h"
#include "kvcache/comparison/comparison.h"
#include "runtime/gguf/mapping_guard.h"
#include "storage/folder/folder.h"
#include "storage/store.h"
#include "ui/child/child_engine.h"
#include "ui/child/engine_child.h"
#include "ui/model/engine_setup.h"
#include "ui/model/engine_values.h"
#include "ui/model/language.h"
#include "ui/widgets/logo.h"
#include "ui/widgets/main_window.h"
#include "ui/widgets/theme.h"

namespace {

namespace fs = std::filesystem;
using namespace satchel;
using ui::textOf;

struct Arguments {
  std::string model, store, keyFile, backend = "auto";
  std::size_t threads = 0;
  std::uint64_t cacheQuota = storage::kQuotaBytes;
  std::uint64_t thinAfterDays = 0;
  bool isInProcess = false;
  std::vector<std::string> files;
};

// The exit code, or -1 to go on.
int parse(int argc, char** argv, Arguments& arguments) {
  CLI::App parser("Chat with local models and long documents in a fixed amount of memory.",
                  "satchel-desktop");
  parser.set_version_flag("--version", SATCHEL_VERSION);
  parser.add_option("--model", arguments.model,
                    "GGUF file, or the start of a name in the model folder; default: the bundled "
                    "model");
  parser.add_option("--store", arguments.store,
                    "Folder for chats and saved caches; default: your data and cache folders");
  parser.add_option("--key-file", arguments.keyFile, app::kKeyFileAbout);
  app::add_cache_quota(parser, arguments.cacheQuota);
  app::add_thin_after(parser, arguments.thinAfterDays);
  parser.add_option("--threads", arguments.threads, "Number of threads; 0: one per physical core");
  parser.add_option("--backend", arguments.backend,
                    "auto (the GPU if it can be used, else the CPU), cuda, cpu, or reference");
  parser.add_flag("--in-process", arguments.isInProcess,
                  "Run the engine in the window's process, which then ends if a driver crashes");
  parser.add_option("files", arguments.files, "Documents to attach");
  bool manual = false;
  parser.add_flag("--manual", manual, "Print the manual page")->group("");
  try {
    parser.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = parser.exit(error);
    return code == 0 ? 0 : 2;
  }
  if (!manual) return -1;
  return std::fputs(app::manual_page(parser, SATCHEL_VERSION).c_str(), stdout) < 0 ? 1 : 0;
}

int refuse(const Error& error) {
  const std::string message = error.message + " [" + error.code + "]";
  std::fprintf(stderr, "satchel-desktop: %s\n", message.c_str());
  QMessageBox box(QMessageBox::Warning, QStringLiteral("Satchel"), textOf(error.message));
  box.setInformativeText(textOf(error.code));
  box.setWindowIcon(ui::logoIcon());
  box.exec();
  return 1;
}

ui::EngineSetup engineSetup(const app::Paths& paths, const Arguments& arguments,
                            ui::Language language) {
  const storage::StoreOptions chats = app::store_options(paths);
  return {.dataDir = chats.data_dir,
          .cacheDir = chats.cache_dir,
          .folders = chats.folders,
          .quotaBytes = arguments.cacheQuota,
          .thinAfterDays = arguments.thinAfterDays,
          .backend = arguments.backend,
          .nThreads = arguments.threads,
          .backendFolders = paths.backends,
          .profiles = paths.profiles,
          .language = language};
}

ui::ChatWriter chatWriter() {
  return [](runtime::ChatLibrary& library, const runtime::Chat& chat,
            const QString& path) -> Result<ui::WrittenChat> {
    const bool isJson = path.endsWith(QStringLiteral(".json"), Qt::CaseInsensitive);
    SATCHEL_TRY_ASSIGN(
        const app::ExportedChat exported,
        app::export_chat(library, chat,
                         isJson ? app::ChatFormat::json : app::ChatFormat::markdown));
    // The file dialog has asked whether a file that is there is to be replaced.
    SATCHEL_TRY(
        app::write_whole_file(path.toStdString(), exported.text, app::ExistingFile::replace));
    return ui::WrittenChat{exported.n_messages, exported.n_damaged};
  };
}

Result<std::unique_ptr<ui::EngineClient>> openChild(const ui::EngineSetup& setup) {
  auto child = std::make_unique<ui::ChildEngine>(setup);
  SATCHEL_TRY(child->open());
  return std::unique_ptr<ui::EngineClient>(std::move(child));
}

// Asks for the passphrase until it fits or the user gives up.
Result<std::unique_ptr<ui::EngineClient>> openEngine(ui::EngineSetup setup,
                                                     const Arguments& arguments) {
  const auto open = [&arguments](const ui::EngineSetup& chosen) {
    return arguments.isInProcess ? ui::openInProcess(chosen, chatWriter()) : openChild(chosen);
  };
  if (!arguments.keyFile.empty()) {
    SATCHEL_TRY_ASSIGN(setup.key, app::read_key_file(arguments.keyFile));
    return open(setup);
  }
  for (;;) {
    auto engine = open(setup);
    if (engine.ok() || engine.error().code != "LIBRARY_KEY" || !storage::Store::can_encrypt())
      return engine;
    bool isTyped = false;
    const QString question =
        setup.key.empty() ? QObject::tr("Your chats are encrypted. Passphrase:")
                          : QObject::tr("This passphrase does not open your chats. Passphrase:");
    const QString typed = QInputDialog::getText(nullptr, QStringLiteral("Satchel"), question,
                                                QLineEdit::Password, {}, &isTyped);
    if (!isTyped) return engine;
    setup.key = typed.toStdString();
  }
}

ui::WindowOptions windowOptions(const app::Paths& paths, ui::Appearance appearance,
                                ui::Language language) {
  ui::WindowOptions options;
  options.models = [paths] {
    QList<ui::ModelChoice> choices;
    for (const app::ModelFile& model : app::find_models(paths))
      choices.append({textOf(model.path.string()), textOf(model.name), model.bytes});
    return choices;
  };
  options.modelFolder = textOf(paths.models_dir.string());
  // It lies beside this program, or is not installed.
  const fs::path satchel =
      fs::path(QCoreApplication::applicationDirPath().toStdString()) / "satchel";
  if (std::error_code error; fs::exists(satchel, error))
    options.serverProgram = textOf(satchel.string());
  options.sampleTitle = QStringLiteral("sample-notes.txt");
  options.sampleText = textOf(app::kDemoNotes);
  options.sampleQuestion = textOf(app::kDemoQuestions[0].question);
  if (std::error_code error; fs::exists(paths.bundled_model, error))
    options.tourModel = textOf(paths.bundled_model.string());
  options.appearance = appearance;
  options.language = language;
  return options;
}

ui::DocumentReader documentReader() {
  ui::DocumentReader reader;
  for (const std::string_view ending : app::rich_endings())
    reader.endings.append(QString::fromUtf8(ending.data(), qsizetype(ending.size())));
  reader.read = [](const QString& path, std::stop_token stop) -> Result<QString> {
    SATCHEL_TRY_ASSIGN(const std::string text,
                       app::document_text(path.toStdString(), std::move(stop)));
    return textOf(text);
  };
  return reader;
}

}  // namespace

int main(int argc, char** argv) {
  if (const int code = app::document_child(argc, argv); code >= 0) return code;
  if (const auto added = kvcache::register_comparison_stages(); !added.ok()) {
    std::fprintf(stderr, "satchel-desktop: %s\n", added.error().message.c_str());
    return 1;
  }
  if (const int code = ui::engineChild(argc, argv, chatWriter()); code >= 0) return code;
  Arguments arguments;
  if (const int code = parse(argc, argv, arguments); code >= 0) return code;
  runtime::guard_mappings();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is an error of the write
  QApplication application(argc, argv);
  std::setlocale(LC_NUMERIC, "C");  // Qt took the system's; the runtime reads and writes points
  QApplication::setApplicationName(QStringLiteral("satchel"));
  QApplication::setApplicationDisplayName(QStringLiteral("Satchel"));
  QApplication::setDesktopFileName(QStringLiteral("org.satchel.Satchel"));
  const app::Paths paths = app::standard_paths(arguments.store);
  if (!paths.notice.empty()) std::fprintf(stderr, "satchel-desktop: %s\n", paths.notice.c_str());
  const fs::path settingsFile = paths.data_dir / "window.ini";
  QSettings settings(textOf(settingsFile.string()), QSettings::IniFormat);
  const auto appearance =
      ui::Appearance(qBound(0, settings.value(QStringLiteral("appearance"), 0).toInt(), 2));
  ui::applyAppearance(application, appearance);
  const auto language =
      ui::Language(qBound(0, settings.value(QStringLiteral("language"), 0).toInt(), 3));
  ui::applyLanguage(application, language);

  const auto opened = openEngine(engineSetup(paths, arguments, language), arguments);
  if (!opened.ok()) return refuse(opened.error());
  ui::EngineClient& engine = **opened;
  // Qt keeps the mode that it finds. Without the file the window only forgets its size.
  (void)storage::make_private_file(settingsFile);

  const SystemClock clock;
  ui::AppState state(&engine, &clock);
  state.setDocumentReader(documentReader());
  ui::WindowOptions options = windowOptions(paths, appearance, language);
  options.modelTools = app::model_tools(paths, arguments.backend, arguments.threads);
  ui::MainWindow window(&state, options);
  QObject::connect(&window, &ui::MainWindow::appearanceChosen, &application,
                   [&application, &settings](ui::Appearance chosen) {
                     settings.setValue(QStringLiteral("appearance"), int(chosen));
                     ui::applyAppearance(application, chosen);
                   });
  QObject::connect(&window, &ui::MainWindow::languageChosen, &application,
                   [&settings](ui::Language chosen) {
                     settings.setValue(QStringLiteral("language"), int(chosen));
                   });
  window.restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
  window.show();
  app::end_on_signals(application);
  state.openModel(textOf(app::resolve_model(paths, arguments.model).string()));
  for (const std::string& file : arguments.files) state.attachFile(textOf(file));
  const int code = QApplication::exec();
  settings.setValue(QStringLiteral("geometry"), window.saveGeometry());
  return code;
}
