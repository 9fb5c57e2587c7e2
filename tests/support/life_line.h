// LifeLine: a named pipe that processes hold open: when it is at its end, they all have ended,
// whoever started them. A shell holds it with `exec 3>PATH`, and so does what it starts.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace satchel::test {

class LifeLine {
 public:
  explicit LifeLine(const std::filesystem::path& path) : path_(path) {
    (void)mkfifo(path_.c_str(), 0600);
    file_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  LifeLine(LifeLine&&) = delete;
  ~LifeLine() { close(file_); }
  std::string path() const { return path_.string(); }

  // Waits for a line; what it says, or what came until nobody held the pipe any more.
  std::string line() const {
    std::string text;
    for (char byte = 0; byte != '\n' && waits() && read(file_, &byte, 1) == 1;) text += byte;
    return text;
  }
  // Waits until nobody holds it; false: somebody does, for longer than anything may hang.
  bool has_ended() const {
    char bytes[64];
    while (waits())
      if (read(file_, bytes, sizeof bytes) <= 0) return true;
    return false;
  }

 private:
  // Until there is something to read, or the end. A pipe that nobody has held yet has none.
  bool waits() const {
    constexpr int kHangMs = 60'000;
    pollfd file{file_, POLLIN, 0};
    return poll(&file, 1, kHangMs) == 1;
  }

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace satchel::test
