#include "app/cli/console.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "app/cli/exit_codes.h"
#include "app/cli/terminal_text.h"
#include "kernels/base/size_text.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::app {
namespace {

constexpr double kBarAfterMs = 1000, kRedrawMs = 100, kStatusMs = 10'000;

std::string_view title(runtime::Phase phase) {
  switch (phase) {
    case runtime::Phase::load_model:
      return "Loading model";
    case runtime::Phase::read_prompt:
      return "Reading";
    case runtime::Phase::measure_fidelity:
      return "Measuring accuracy";
    case runtime::Phase::generate:
      return "Answering";
    case runtime::Phase::pack:
      return "Compressing";
    case runtime::Phase::profile:
      return "Profiling attention heads";
    case runtime::Phase::ask_parts:
      return "Asking";
  }
  return "Working";
}

int first_output_errno = 0;

void write(std::FILE* to, std::string_view text) {
  errno = 0;
  const bool is_written =
      std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
  if (!is_written && to == stdout && first_output_errno == 0) first_output_errno = errno;
}

// Pipes and files get the bytes as they are.
std::string shown(std::string_view text, bool on_terminal) {
  return on_terminal ? terminal_text(text) : std::string(text);
}

std::optional<std::size_t> not_utf8_at(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const runtime::Utf8Step step = runtime::utf8_step(text.substr(at));
    if (step.form != runtime::Utf8Form::whole || text[at] == '\0') return at;
    at += step.bytes;
  }
  return std::nullopt;
}

}  // namespace

Console::Console(bool json, bool quiet)
    : json_(json),
      quiet_(quiet),
      stdin_terminal_(isatty(STDIN_FILENO) == 1),
      stdout_terminal_(isatty(STDOUT_FILENO) == 1),
      stderr_terminal_(isatty(STDERR_FILENO) == 1) {}

void Console::data(std::string_view text) {
  write(stdout, shown(text, stdout_terminal_));
}

void Console::prose(std::string_view text) {
  if (json_ && quiet_) return;
  write(json_ ? stderr : stdout, shown(text, json_ ? stderr_terminal_ : stdout_terminal_));
}

void Console::note(std::string_view line) {
  if (!quiet_) warning(line);
}

void Console::reply(std::string_view line) {
  warning(line);
}

void Console::warning(std::string_view line) {
  end_progress();
  write(stderr, shown(line, stderr_terminal_) + "\n");
}

void Console::aside(std::string_view text) {
  end_progress();
  const bool dims = stderr_terminal_;
  write(stderr, (dims ? "\x1b[2m" : "") + shown(text, dims) + (dims ? "\x1b[0m" : ""));
}

void Console::dim_note(std::string_view line) {
  if (!quiet_) aside(std::string(line) + "\n");
}

void Console::document(const Json& json) {
  end_progress();
  write(stdout, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

int Console::fail(const Error& error) {
  warning("satchel: " + error.message + " [" + error.code + "]");
  if (json_) document(Json{{"error", {{"code", error.code}, {"message", error.message}}}});
  // A limit that is too small is no slip in the usage.
  return error.code == "LIMIT" ? int{kExitMemory} : exit_code(error.kind);
}

runtime::ProgressFn Console::progress() {
  if (quiet_) return {};
  return [this](const runtime::Progress& progress) { show(progress); };
}

void Console::show(const runtime::Progress& progress) {
  if (progress.total == 0 || progress.phase == runtime::Phase::generate) return;
  if (progress.phase == runtime::Phase::ask_parts)
    return progress.done == progress.total
               ? end_progress()
               : status("Asking part " + std::to_string(progress.done + 1) + " of " +
                        std::to_string(progress.total));
  const double now = clock_.steady_ms();
  if (phase_began_ms_ < 0 || progress.phase != phase_ || progress.done == 0) {
    end_progress();
    phase_ = progress.phase;
    phase_began_ms_ = now;
    tenths_ = 0;
  }
  const double passed = now - phase_began_ms_;
  const double share = static_cast<double>(progress.done) / static_cast<double>(progress.total);
  if (passed < kBarAfterMs) return;
  const double left = share > 0 ? passed * (1 - share) / share : 0;
  if (stderr_terminal_) {
    if (now - drawn_ms_ < kRedrawMs && progress.done < progress.total) return;
    constexpr std::size_t kWidth = 30;
    const auto filled = std::min(kWidth, static_cast<std::size_t>(share * kWidth));
    write(stderr, "\r" + std::string(title(phase_)) + "  [" + std::string(filled, '#') +
                      std::string(kWidth - filled, '.') + "] " + fixed_text(share * 100, 0) +
                      " %  " + duration_text(left) + " left   ");
    drawn_ms_ = now;
    bar_drawn_ = true;
    if (progress.done == progress.total) end_progress();
    return;
  }
  const auto tenths = static_cast<std::size_t>(share * 10);
  if (tenths <= tenths_) return;
  tenths_ = tenths;
  write(stderr, std::string(title(phase_)) + ": " + std::to_string(tenths * 10) + " %" +
                    (progress.done < progress.total ? ", " + duration_text(left) + " left" : "") +
                    "\n");
}

void Console::status(std::string_view line) {
  if (quiet_) return;
  if (stderr_terminal_) {
    write(stderr, "\r" + shown(line, true) + "\033[K");
    bar_drawn_ = true;
    return;
  }
  const double now = clock_.steady_ms();
  if (status_ms_ >= 0 && now - status_ms_ < kStatusMs) return;
  status_ms_ = now;
  write(stderr, std::string(line) + "\n");
}

void Console::end_progress() {
  if (bar_drawn_) write(stderr, "\r\033[K");
  bar_drawn_ = false;
  phase_began_ms_ = -1;
}

int output_errno() {
  return first_output_errno;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string format_percent(double share) {
  return fixed_text(share * 100, 1) + " %";
}

Result<void> check_utf8(const std::string& what, std::string_view text) {
  const auto at = not_utf8_at(text);
  if (!at) return {};
  return Error{ErrorKind::invalid, "PARAM",
               what + " is not UTF-8 text: byte " + std::to_string(*at) + " is invalid."};
}

Result<void> check_text_file(const std::string& path, std::uintmax_t bytes_max) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Error{ErrorKind::invalid, "DOC_FOLDER",
                 "\"" + path + "\" is a folder. Name the text files in it."};
  if (!std::filesystem::exists(path, error))
    return Error{ErrorKind::not_found, "DOC_NOT_FOUND", "There is no file \"" + path + "\"."};
  if (!std::filesystem::is_regular_file(path, error))
    return Error{ErrorKind::invalid, "DOC_READ",
                 "\"" + path +
                     "\" is a device or a pipe, not a regular file. Save its output to a file "
                     "and use that."};
  if (std::filesystem::file_size(path, error) > bytes_max)
    return Error{ErrorKind::invalid, "DOC_LIMIT",
                 "\"" + path + "\" is larger than the limit of " + std::to_string(bytes_max >> 20) +
                     " MiB."};
  return {};
}

Result<std::string> read_text_file(const std::string& path, std::uintmax_t bytes_max) {
  SATCHEL_TRY(check_text_file(path, bytes_max));
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  if (!in) return Error{ErrorKind::storage, "DOC_READ", "\"" + path + "\" cannot be read."};
  std::string text = std::move(all).str();
  if (const auto at = not_utf8_at(text))
    return Error{ErrorKind::corrupt, "DOC_ENCODING",
                 "\"" + path + "\" is not UTF-8 text: byte " + std::to_string(*at) +
                     " is invalid. Convert the file to UTF-8 first."};
  return text;
}

}  // namespace satchel::app
