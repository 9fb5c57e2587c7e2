#include "app/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <utility>

extern char** environ;

namespace satchel::app {
namespace {

using std::chrono::milliseconds;

struct Program {
  std::string file, name;
  const std::vector<std::string>& arguments;
  const ChildLimits& limits;
  bool is_quiet = false;  // its error output goes nowhere
};

class OpenFile {
 public:
  explicit OpenFile(int number = -1) : number_(number) {}
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~OpenFile() { shut(); }
  int get() const { return number_; }
  void shut() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

enum class Ending { own, said_too_much, took_too_long, was_stopped };

// Waits with a poll(), which the stop token wakes: an eventfd may be written by any thread.
class Watch {
 public:
  Watch(const ChildLimits& limits, OpenFile wake)
      : wake_(std::move(wake)),
        stop_(limits.stop),
        has_end_(limits.time_max.has_value()),
        end_(Clock::now() + limits.time_max.value_or(milliseconds{})),
        on_stop_(limits.stop, [this] { (void)eventfd_write(wake_.get(), 1); }) {}
  Watch(Watch&&) = delete;

  // own: `from` has something to read or is at its end, or it is over with `at_most`.
  Ending wait(int from, milliseconds at_most = milliseconds{INT_MAX}) const {
    for (;;) {
      if (stop_.stop_requested()) return Ending::was_stopped;
      const milliseconds left =
          has_end_ ? std::chrono::ceil<milliseconds>(end_ - Clock::now()) : milliseconds{INT_MAX};
      if (left.count() <= 0) return Ending::took_too_long;
      pollfd files[] = {{wake_.get(), POLLIN, 0}, {from, POLLIN, 0}};
      const milliseconds rest = std::min({left, at_most, milliseconds{INT_MAX}});
      const int n_ready = poll(files, 2, static_cast<int>(rest.count()));
      if (files[1].revents != 0 || (n_ready == 0 && rest == at_most)) return Ending::own;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  OpenFile wake_;
  std::stop_token stop_;
  bool has_end_;
  Clock::time_point end_;
  std::stop_callback<std::function<void()>> on_stop_;  // goes first
};

// 0, or what posix_spawnp says.
int spawn(const Program& program, int output, pid_t& child) {
  std::string name = program.name;
  std::vector<std::string> words = program.arguments;
  std::vector<char*> argv = {name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (program.is_quiet)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (program.limits.has_group()) {
    // A terminal stops a group in the background that reads from it.
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  const int spawned =
      posix_spawnp(&child, program.file.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return spawned;
}

Ending read_all(int from, std::size_t bytes_max, const Watch& watch, std::string& text) {
  char buffer[4096];
  for (;;) {
    if (const Ending ending = watch.wait(from); ending != Ending::own) return ending;
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Ending::own;
    if (static_cast<std::size_t>(n) > bytes_max - text.size()) return Ending::said_too_much;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// What has said all mostly ends at once. It stays unreaped, so that its number is still its own.
Ending wait_for_end(pid_t child, const Watch& watch) {
  for (milliseconds rest{1};; rest = std::min(2 * rest, milliseconds{50})) {
    siginfo_t info{};
    const int waited = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    if ((waited == 0 && info.si_pid == child) || (waited != 0 && errno != EINTR))
      return Ending::own;
    if (const Ending ending = watch.wait(-1, rest); ending != Ending::own) return ending;
  }
}

Error error_of(Ending ending, const std::string& name) {
  if (ending == Ending::said_too_much)
    return {ErrorKind::invalid, "PROCESS_LIMIT", name + " said more than it may."};
  if (ending == Ending::took_too_long)
    return {ErrorKind::unsupported, "PROCESS_TIME", name + " took longer than it may."};
  return {ErrorKind::cancelled, "STOPPED", name + " was stopped."};
}

Result<ChildOutput> run(const Program& program) {
  const Error failed{ErrorKind::internal, "PROCESS", "Cannot start a second process."};
  const ChildLimits& limits = program.limits;
  if (limits.stop.stop_requested()) return error_of(Ending::was_stopped, program.name);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed;
  const OpenFile output(ends[0]);
  OpenFile input(ends[1]);
  OpenFile wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return failed;
  pid_t child = 0;
  const int spawned = spawn(program, input.get(), child);
  input.shut();
  if (spawned == ENOENT)
    return Error{ErrorKind::not_found, "PROCESS", "There is no program " + program.name + "."};
  if (spawned != 0) return failed;
  const Watch watch(limits, std::move(wake));
  ChildOutput said;
  Ending ending = read_all(output.get(), limits.bytes_max, watch, said.text);
  if (ending == Ending::own) ending = wait_for_end(child, watch);
  if (limits.has_group()) kill(-child, SIGKILL);  // those that it started and left, too
  if (ending != Ending::own) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (ending != Ending::own) return error_of(ending, program.name);
  said.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return said;
}

}  // namespace

Result<ChildOutput> run_self(const std::vector<std::string>& arguments, const ChildLimits& limits) {
  return run(
      {.file = "/proc/self/exe", .name = "satchel", .arguments = arguments, .limits = limits});
}

Result<ChildOutput> run_program(const std::string& program,
                                const std::vector<std::string>& arguments,
                                const ChildLimits& limits) {
  return run({.file = program,
              .name = program,
              .arguments = arguments,
              .limits = limits,
              .is_quiet = true});
}

}  // namespace satchel::app
