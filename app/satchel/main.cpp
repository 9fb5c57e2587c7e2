// satchel: the command line. Wiring only.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/documents/document_text.h"
#include "app/eval/commands/commands.h"
#ifdef SATCHEL_SERVER
#include "app/serve/commands.h"
#endif
#include "kvcache/comparison/comparison.h"
#include "runtime/gguf/mapping_guard.h"

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  satchel chat                                  chat with the bundled model\n"
    "  satchel chat --document notes.txt --recipe compact\n"
    "  satchel chat --chat holiday                   continue a saved chat, or start it\n"
    "  satchel chats                                 list the saved chats\n"
    "  satchel estimate --model smol --recipe compact\n"
    "  satchel serve                                 answer other programs over HTTP\n"
    "  satchel demo                                  see what Satchel does, in seconds\n"
    "\n";
constexpr const char* kExitCodes =
    "Exit codes: 0 success, 1 other error, 2 wrong usage, 3 not found, 4 invalid or damaged\n"
    "input, 5 not enough memory, 6 device missing or lost, 7 storage error, 8 cannot listen,\n"
    "130 interrupted.\n";

// The first word that is neither an option nor a command, where a command is wanted: of it the
// parser says only that one is missing. Null: there is none.
const char* unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return nullptr;
    const auto named = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->check_name(argv[i]);
    });
    if (named == commands.end()) return argv[i];
    at = *named;
  }
  return nullptr;
}

int run(int argc, char** argv) {
  if (const auto added = satchel::kvcache::register_comparison_stages(); !added.ok())
    return satchel::app::Console(false, false).fail(added.error());
  CLI::App app("Chat with local models and long documents in a fixed amount of memory.", "satchel");
  app.footer(kExitCodes);  // of all commands
  app.set_version_flag("--version", "satchel " SATCHEL_VERSION);
  app.require_subcommand(1);
  satchel::app::Run chosen;
  const auto choose = [&](satchel::app::Run command) { chosen = std::move(command); };
  satchel::app::add_chat(app, choose);
  satchel::app::add_chats(app, choose);
  satchel::app::add_documents(app, choose);
  satchel::app::add_download(app, choose);
  satchel::app::add_search(app, choose);
  satchel::app::add_export(app, choose);
  satchel::app::add_import(app, choose);
  satchel::app::add_backup(app, choose);
  satchel::app::add_encrypt(app, choose);
  satchel::app::add_demo(app, choose);
  satchel::app::add_info(app, choose);
  satchel::app::add_recipes(app, choose);
  satchel::app::add_systems(app, choose);
  satchel::app::add_estimate(app, choose);
#ifdef SATCHEL_SERVER
  satchel::app::add_serve(app, choose);
#endif
  satchel::app::add_bench(app, choose);
  satchel::app::add_eval(app, choose);
  satchel::app::add_profile(app, choose);
  satchel::app::add_calibrate(app, choose);
  satchel::app::add_completion(app, choose);
  satchel::app::add_manual(app, choose);
  app.footer(std::string(kExamples) + kExitCodes);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const char* word = unknown_command(app, argc, argv)) {
      std::fprintf(stderr, "Unknown command \"%s\".\nRun with --help for more information.\n",
                   word);
      return satchel::app::kExitUsage;
    }
    errno = 0;  // printing may set it
    return app.exit(error) == 0 ? satchel::app::kExitOk : satchel::app::kExitUsage;
  }
  satchel::app::catch_interrupts();
  return chosen();
}

// The exit code of a run whose own is `code`, where its output may be lost: a full disk is said, a
// reader that has seen enough of a pipe is not.
int code_after_output(int code) {
  const int before = std::exchange(errno, 0);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const int last = errno != 0 ? errno : before, first = satchel::app::output_errno();
  const int why = first != 0 ? first : last;
  if (why == EPIPE) return code == satchel::app::kExitOk ? int{satchel::app::kExitOther} : code;
  const int lost =
      satchel::app::Console(false, false)
          .fail({satchel::ErrorKind::storage, "STORAGE",
                 "The output could not be written: " + std::generic_category().message(why) + "."});
  return code == satchel::app::kExitOk ? lost : code;
}

// A file opened in the place of a closed standard stream would be read and written as that stream.
// Where nobody can read the output, writing it is an error.
void open_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) < 0)  // open() takes the lowest free one
      (void)open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  if (const int code = satchel::app::document_child(argc, argv); code >= 0) return code;
  std::signal(SIGPIPE, SIG_IGN);
  satchel::runtime::guard_mappings();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is an error of the write
  try {
    return code_after_output(run(argc, argv));
  } catch (const std::exception& stranger) {  // the border where strangers' exceptions end
    std::fprintf(stderr, "satchel: internal error: %s [INTERNAL]\n", stranger.what());
    return satchel::app::kExitOther;
  }
}
