// satchel-desktop: joins store, engine and window, and ends with them.
//   exit codes  0 closed by the user, 1 the library cannot be opened, 2 wrong options
#include <QApplication>
#include <QInputDialog>
#include <QMessageBox>
#include <QSettings>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cache_quota.h"
#include "app/cli/demo_notes.h"
#include "app/desktop/end_signals.h"
#include "app/documents/document_text.h"
#include "app/manual/manual_page.h"
#include "app/paths.h"
#include "app/store_key.h"
#include "app/store_options.h"
#include "kvcache/comparison/comparison.h"
#include "runtime/gguf/mapping_guard.h"
#include "storage/folder/folder.h"
#include "storage/store.h"
#include "ui/model/engine_values.h"
#include "ui/model/in_process_engine.h"
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

// Asks for the passphrase until it fits or the user gives up.
Result<std::unique_ptr<storage::Store>> openStore(storage::StoreOptions options,
                                                  const std::string& keyFile) {
  if (!keyFile.empty()) {
    SATCHEL_TRY_ASSIGN(options.key, app::read_key_file(keyFile));
    return storage::Store::open(std::move(options));
  }
  for (;;) {
    auto store = storage::Store::open(options);
    if (store.ok() || store.error().code != "LIBRARY_KEY" || !storage::Store::can_encrypt())
      return store;
    bool isTyped = false;
    const QString question =
        options.key.empty() ? QObject::tr("Your chats are encrypted. Passphrase:")
                            : QObject::tr("This passphrase does not open your chats. Passphrase:");
    const QString typed = QInputDialog::getText(nullptr, QStringLiteral("Satchel"), question,
                                                QLineEdit::Password, {}, &isTyped);
    if (!isTyped) return store;
    options.key = typed.toStdString();
  }
}

ui::WindowOptions windowOptions(const app::Paths& paths, ui::Appearance appearance) {
  ui::WindowOptions options;
  options.models = [paths] {
    QList<ui::ModelChoice> choices;
    for (const app::ModelFile& model : app::find_models(paths))
      choices.append({textOf(model.path.string()), textOf(model.name), model.bytes});
    return choices;
  };
  options.modelFolder = textOf(paths.models_dir.string());
  options.sampleTitle = QStringLiteral("sample-notes.txt");
  options.sampleText = textOf(app::kDemoNotes);
  options.sampleQuestion = textOf(app::kDemoQuestions[0].question);
  options.appearance = appearance;
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
  Arguments arguments;
  if (const int code = parse(argc, argv, arguments); code >= 0) return code;
  runtime::guard_mappings();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is an error of the write
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("satchel"));
  QApplication::setApplicationDisplayName(QStringLiteral("Satchel"));
  QApplication::setDesktopFileName(QStringLiteral("org.satchel.Satchel"));
  if (const auto added = kvcache::register_comparison_stages(); !added.ok())
    return refuse(added.error());
  const app::Paths paths = app::standard_paths(arguments.store);
  if (!paths.notice.empty()) std::fprintf(stderr, "satchel-desktop: %s\n", paths.notice.c_str());
  const fs::path settingsFile = paths.data_dir / "window.ini";
  QSettings settings(textOf(settingsFile.string()), QSettings::IniFormat);
  const auto appearance =
      ui::Appearance(qBound(0, settings.value(QStringLiteral("appearance"), 0).toInt(), 2));
  ui::applyAppearance(application, appearance);

  storage::StoreOptions storeOptions = app::store_options(paths);
  storeOptions.quota_bytes = arguments.cacheQuota;
  storeOptions.thin_after_days = arguments.thinAfterDays;
  auto store = openStore(std::move(storeOptions), arguments.keyFile);
  if (!store.ok()) return refuse(store.error());
  // Qt keeps the mode that it finds. Without the file the window only forgets its size.
  (void)storage::make_private_file(settingsFile);

  const SystemClock clock;
  runtime::EngineOptions engineOptions;
  engineOptions.backend = arguments.backend;
  engineOptions.n_threads = arguments.threads;
  engineOptions.backend_folders = paths.backends;
  engineOptions.profiles = paths.profiles;
  ui::InProcessEngine engine(std::move(store).value(), std::move(engineOptions));
  ui::AppState state(&engine, &clock);
  state.setDocumentReader(documentReader());
  ui::MainWindow window(&state, windowOptions(paths, appearance));
  QObject::connect(&window, &ui::MainWindow::appearanceChosen, &application,
                   [&application, &settings](ui::Appearance chosen) {
                     settings.setValue(QStringLiteral("appearance"), int(chosen));
                     ui::applyAppearance(application, chosen);
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
