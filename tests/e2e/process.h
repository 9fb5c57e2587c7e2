// Runs `satchel` as a process, as a person or a script would.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace satchel::test {

using Arguments = std::vector<std::string>;

// A folder that files are written into.
class Folder : public TempFolder {
 public:
  std::filesystem::path write(const std::string& name, const std::string& text) const;
};

struct Finished {
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string out, err;
  // The last line of `out` as JSON; discarded (test it) where it is none.
  nlohmann::json json() const;
};

// Where programs look for libraries of backends, and a folder without any: what a test starts takes
// no card that the machine happens to have, unless the test names libraries itself.
inline constexpr const char *kBackends = "SATCHEL_BACKENDS", *kNoBackends = "/nonexistent";

// HOME and the XDG folders of the process lie in `home`. Its input is `input`, then the end.
Finished run(const Folder& home, const Arguments& arguments, const std::string& input = "");

// The same with standard output at a device, /dev/full for example; "": closed.
Finished run_without_output(const Folder& home, const Arguments& arguments,
                            const std::string& device);

// Reads on while what came `lacks` something and there is more to come. A process that lets it wait
// for so long hangs: that is a failure, and it is ended.
inline constexpr std::chrono::seconds kHang{120};
void read_while(pid_t pid, int from, std::string& text, const std::function<bool()>& lacks);

// A process that runs on until it is killed or its input ends.
class Running {
 public:
  Running(const Folder& home, const Arguments& arguments);
  Running(Running&&) = delete;
  ~Running();
  void write(const std::string& text);
  // Reads standard output until it holds `text` or the process ends; all that came so far.
  std::string read_until(const std::string& text);
  // The same until `n` more bytes have come.
  std::string read_more(std::size_t n);
  void signal(int number);
  int wait();  // closes its input first

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  std::string text_;
};

// `satchel chat` with a person at a terminal.
class Terminal {
 public:
  Terminal(const Folder& home, const std::string& chat, const Arguments& more = {});
  Terminal(Terminal&&) = delete;
  ~Terminal();
  void type(const std::string& line);
  // All that came so far; an empty text is never met: until the end.
  std::string read_until(const std::string& text);
  // From now on the process finds the disk full, or no longer.
  void fill_disk(bool is_full);
  int wait();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string text_;
};

}  // namespace satchel::test
