#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "satchel-e2e-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}
Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}
fs::path Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return path_ / name;
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
  char buffer[256];
  while (text_.find(text) == std::string::npos) {
    const ssize_t n = read(out_, buffer, sizeof buffer);
    if (n <= 0) break;
    text_.append(buffer, static_cast<std::size_t>(n));
  }
  return text_;
}

std::string Running::read_more(std::size_t n) {
  const std::size_t enough = text_.size() + n;
  char buffer[256];
  while (text_.size() < enough) {
    const ssize_t got = read(out_, buffer, sizeof buffer);
    if (got <= 0) break;
    text_.append(buffer, static_cast<std::size_t>(got));
  }
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

}  // namespace satchel::test
