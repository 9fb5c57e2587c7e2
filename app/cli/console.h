// Console: data on stdout, all else on stderr; terminals get terminal_text(), and progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "kernels/base/clock.h"
#include "kernels/base/result.h"
#include "runtime/progress.h"

namespace satchel::app {

using Json = nlohmann::ordered_json;

class Console {
 public:
  Console(bool json, bool quiet);

  bool json() const { return json_; }
  bool interactive() const { return stdin_terminal_ && stdout_terminal_; }
  bool reads_terminal() const { return stdin_terminal_; }

  void data(std::string_view text);      // stdout, as it is, flushed
  void note(std::string_view line);      // stderr, unless --quiet
  void prose(std::string_view text);     // stdout, or stderr where --json has stdout for itself
  void reply(std::string_view line);     // stderr, always: what somebody asked for
  void warning(std::string_view line);   // stderr, always
  void aside(std::string_view text);     // stderr, as it is, dim on a terminal
  void dim_note(std::string_view line);  // a note, likewise
  void document(const Json& json);       // one line on stdout
  // Says what went wrong on stderr (and as JSON on stdout under --json); returns the exit code.
  int fail(const Error& error);

  // A bar on a terminal for what takes over a second, else a line per 10 %.
  runtime::ProgressFn progress();
  // Where a long run stands: redrawn in place on a terminal, else a line every ten seconds.
  void status(std::string_view line);
  void end_progress();

 private:
  void show(const runtime::Progress& progress);
  bool json_, quiet_, stdin_terminal_, stdout_terminal_, stderr_terminal_;
  SystemClock clock_;
  runtime::Phase phase_ = runtime::Phase::load_model;
  double phase_began_ms_ = -1, drawn_ms_ = 0, status_ms_ = -1;
  std::size_t tenths_ = 0;
  bool bar_drawn_ = false;
};

// Why the first write of this program's consoles to stdout failed; 0: none did.
int output_errno();
std::string padded(std::string text, std::size_t width);  // two blanks behind it at least
std::string right_aligned(const std::string& text, std::size_t width);
std::string format_percent(double share);  // "86.7 %"
// Of what a person or a script writes; else invalid PARAM, naming `what` and the offset.
Result<void> check_utf8(const std::string& what, std::string_view text);
inline constexpr std::uintmax_t kTextFileBytesMax = 16u << 20;
// A regular file of at most so many bytes; else DOC_FOLDER, DOC_NOT_FOUND, DOC_READ, DOC_LIMIT.
Result<void> check_text_file(const std::string& path, std::uintmax_t bytes_max = kTextFileBytesMax);
// The whole file as UTF-8 text; errors as above, or corrupt DOC_ENCODING naming the offset.
Result<std::string> read_text_file(const std::string& path,
                                   std::uintmax_t bytes_max = kTextFileBytesMax);

}  // namespace satchel::app
