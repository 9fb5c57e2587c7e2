#include "app/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace satchel::app {
namespace {

struct Program {
  std::string file, name;
  const std::vector<std::string>& arguments;
  std::size_t bytes_max = SIZE_MAX;
  bool is_quiet = false;  // its error output goes nowhere
};

// 0, or what posix_spawnp says.
int spawn(const Program& program, const int (&ends)[2], pid_t& child) {
  std::string name = program.name;
  std::vector<std::string> words = program.arguments;
  std::vector<char*> argv = {name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  if (program.is_quiet)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int spawned =
      posix_spawnp(&child, program.file.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return spawned;
}

// False: there was more than bytes_max.
bool read_all(int from, std::size_t bytes_max, std::string& text) {
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (static_cast<std::size_t>(n) > bytes_max - text.size()) return false;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

Result<ChildOutput> run(const Program& program) {
  const Error failed{ErrorKind::internal, "PROCESS", "Cannot start a second process."};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed;
  pid_t child = 0;
  const int spawned = spawn(program, ends, child);
  close(ends[1]);
  if (spawned != 0) {
    close(ends[0]);
    if (spawned != ENOENT) return failed;
    return Error{ErrorKind::not_found, "PROCESS", "There is no program " + program.name + "."};
  }
  ChildOutput output;
  const bool is_whole = read_all(ends[0], program.bytes_max, output.text);
  close(ends[0]);
  if (!is_whole) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_whole)
    return Error{ErrorKind::invalid, "DOC_LIMIT", program.name + " said more than it may."};
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

}  // namespace

Result<ChildOutput> run_self(const std::vector<std::string>& arguments, std::size_t bytes_max) {
  return run({.file = "/proc/self/exe",
              .name = "satchel",
              .arguments = arguments,
              .bytes_max = bytes_max});
}

Result<ChildOutput> run_program(const std::string& program,
                                const std::vector<std::string>& arguments, std::size_t bytes_max) {
  return run({.file = program,
              .name = program,
              .arguments = arguments,
              .bytes_max = bytes_max,
              .is_quiet = true});
}

}  // namespace satchel::app
