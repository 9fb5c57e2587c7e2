#include "process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

extern char** environ;

namespace satchel::test {
namespace {
namespace fs = std::filesystem;

std::vector<std::string> environment(const Folder& home) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("HOME=", 0) != 0 && text.rfind("XDG_", 0) != 0) out.push_back(text);
  }
  out.push_back("HOME=" + home.string());
  if (std::getenv(kBackends) == nullptr) out.push_back(std::string(kBackends) + "=" + kNoBackends);
  return out;
}

struct Files {
  int in, out, err;
};

pid_t start(const Folder& home, const Arguments& arguments, const Files& files) {
  std::vector<std::string> words = {SATCHEL_PROGRAM}, variables = environment(home);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, files.in, STDIN_FILENO);
  if (files.out < 0)
    posix_spawn_file_actions_addclose(&actions, STDOUT_FILENO);
  else
    posix_spawn_file_actions_adddup2(&actions, files.out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, files.err, STDERR_FILENO);
  pid_t pid = -1;
  if (posix_spawn(&pid, SATCHEL_PROGRAM, &actions, nullptr, argv.data(), envp.data()) != 0)
    pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace

void read_while(pid_t pid, int from, std::string& text, const std::function<bool()>& lacks) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + kHang;
  char buffer[256];
  while (lacks()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waited{from, POLLIN, 0};
    if (left.count() <= 0 || poll(&waited, 1, static_cast<int>(left.count())) == 0) {
      ADD_FAILURE() << "nothing that was waited for in " << kHang.count() << " s; so far: " << text;
      kill(pid, SIGKILL);
      return;
    }
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n <= 0) return;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

fs::path Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path() / name, std::ios::binary) << text;
  return path() / name;
}

nlohmann::json Finished::json() const {
  const std::size_t last = out.rfind('\n', out.size() < 2 ? 0 : out.size() - 2);
  return nlohmann::json::parse(last == std::string::npos ? out : out.substr(last + 1), nullptr,
                               false);
}

Finished run(const Folder& home, const Arguments& arguments, const std::string& input) {
  // Files instead of pipes: nothing can block, whatever is written in whatever order.
  const Folder scratch;
  const fs::path in = scratch.write("in", input), out = scratch.path() / "out",
                 err = scratch.path() / "err";
  const Files files = {open(in.c_str(), O_RDONLY | O_CLOEXEC),
                       open(out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
                       open(err.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  const pid_t pid = start(home, arguments, files);
  int status = 0;
  waitpid(pid, &status, 0);
  for (const int fd : {files.in, files.out, files.err}) close(fd);
  return {code_of(status), contents(out), contents(err)};
}

Finished run_without_output(const Folder& home, const Arguments& arguments,
                            const std::string& device) {
  const Folder scratch;
  const fs::path err = scratch.path() / "err";
  const Files files = {open("/dev/null", O_RDONLY | O_CLOEXEC),
                       device.empty() ? -1 : open(device.c_str(), O_WRONLY | O_CLOEXEC),
                       open(err.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  const pid_t pid = start(home, arguments, files);
  int status = 0;
  waitpid(pid, &status, 0);
  for (const int fd : {files.in, files.out, files.err})
    if (fd >= 0) close(fd);
  return {code_of(status), "", contents(err)};
}

Running::Running(const Folder& home, const Arguments& arguments) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
  pid_ = start(home, arguments, {in[0], out[1], STDERR_FILENO});
  close(in[0]);
  close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

Running::~Running() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    wait();
  }
  if (out_ >= 0) close(out_);
}

void Running::write(const std::string& text) {
  [[maybe_unused]] const ssize_t n = ::write(in_, text.data(), text.size());
}

std::string Running::read_until(const std::string& text) {
  read_while(pid_, out_, text_, [&] { return text_.find(text) == std::string::npos; });
  return text_;
}

std::string Running::read_more(std::size_t n) {
  const std::size_t enough = text_.size() + n;
  read_while(pid_, out_, text_, [&] { return text_.size() < enough; });
  return text_;
}

void Running::signal(int number) {
  kill(pid_, number);
}

int Running::wait() {
  if (in_ >= 0) close(in_);
  in_ = -1;
  int status = 0;
  if (pid_ > 0) waitpid(pid_, &status, 0);
  pid_ = -1;
  return code_of(status);
}

Terminal::Terminal(const Folder& home, const std::string& chat, const Arguments& more) {
  Arguments arguments{"satchel", "chat", "--chat", chat, "--temperature", "0", "-n", "12"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<char*> pointers;
  for (std::string& each : arguments) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  pid_ = forkpty(&fd_, nullptr, nullptr, nullptr);
  if (pid_ != 0) return;
  setenv("HOME", home.string().c_str(), 1);
  setenv(kBackends, kNoBackends, 0);
  for (const char* each : {"XDG_DATA_HOME", "XDG_CACHE_HOME"}) unsetenv(each);
  execv(SATCHEL_PROGRAM, pointers.data());
  _exit(127);
}

Terminal::~Terminal() {
  close(fd_);
}

void Terminal::type(const std::string& line) {
  [[maybe_unused]] const ssize_t n = ::write(fd_, (line + "\n").data(), line.size() + 1);
}

std::string Terminal::read_until(const std::string& text) {
  read_while(pid_, fd_, text_,
             [&] { return text.empty() || text_.find(text) == std::string::npos; });
  return text_;
}

void Terminal::fill_disk(bool is_full) {
  rlimit limit{};
  prlimit(pid_, RLIMIT_FSIZE, nullptr, &limit);
  limit.rlim_cur = is_full ? 0 : limit.rlim_max;
  prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr);
}

int Terminal::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  return code_of(status);
}

}  // namespace satchel::test
