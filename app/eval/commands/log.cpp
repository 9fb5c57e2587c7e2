#include "app/eval/commands/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view kBegins = R"({"satchel_eval":1,)";

// A line of ours, or the beginning of one.
bool may_be_ours(std::string_view line) {
  return line.substr(0, kBegins.size()) == kBegins.substr(0, line.size());
}

// Reads numbers into where they belong; false in `whole` where one is missing.
struct Numbers {
  const Json& json;
  bool whole = true;

  double real(const char* key) {
    const auto found = json.find(key);
    const double number = found != json.end() && found->is_number() ? found->get<double>() : NAN;
    whole &= std::isfinite(number);
    return std::isfinite(number) ? number : 0;
  }
  std::size_t count(const char* key) {
    const double found = real(key);
    whole &= found >= 0 && found < 0x1p53;
    return whole ? static_cast<std::size_t>(found) : 0;
  }
};

std::optional<Grade> grade_of(const Json& json) {
  if (!json.is_object() || !json.contains("sums") || !json["sums"].is_array()) return std::nullopt;
  Numbers numbers{json};
  Grade grade;
  grade.n = numbers.real("n");
  for (const Json& sum : json["sums"]) {
    if (!sum.is_number()) return std::nullopt;
    grade.sums.push_back(sum);
  }
  if (json.contains("kind") && json["kind"].is_string()) grade.kind = json["kind"];
  if (json.contains("detail") && json["detail"].is_object()) grade.detail = json["detail"];
  return numbers.whole ? std::optional(std::move(grade)) : std::nullopt;
}

Json to_json(const Grade& grade) {
  Json json = {{"kind", grade.kind}, {"n", grade.n}, {"sums", grade.sums}};
  if (!grade.detail.empty()) json["detail"] = grade.detail;
  return json;
}

Json to_json(const Measured& m) {
  Json grades = Json::array();
  for (const Grade& grade : m.grades) grades.push_back(to_json(grade));
  return Json{{"tokens", m.held.n_tokens},
              {"kv_bytes", m.held.bytes},
              {"kv_bytes_fp16", m.held.fp16_bytes},
              {"body_bytes", m.held.body_bytes},
              {"body_bytes_fp16", m.held.body_fp16_bytes},
              {"kept_lane_tokens", m.held.n_kept},
              {"evicted_lane_tokens", m.held.n_evicted},
              {"read_ms", m.read_ms},
              {"answer_ms", m.answer_ms},
              {"ms", m.ms},
              {"cut", m.n_cut},
              {"grades", grades}};
}

// Nothing where it is not what to_json() writes.
std::optional<Measured> measured_of(const Json& json) {
  if (!json.is_object() || !json.contains("grades") || !json["grades"].is_array())
    return std::nullopt;
  Numbers numbers{json};
  Measured m;
  m.ms = numbers.real("ms");
  m.held = {.n_tokens = numbers.count("tokens"),
            .bytes = numbers.count("kv_bytes"),
            .fp16_bytes = numbers.count("kv_bytes_fp16"),
            .body_bytes = numbers.count("body_bytes"),
            .body_fp16_bytes = numbers.count("body_bytes_fp16"),
            .n_kept = numbers.count("kept_lane_tokens"),
            .n_evicted = numbers.count("evicted_lane_tokens")};
  m.read_ms = numbers.real("read_ms");
  m.answer_ms = numbers.real("answer_ms");
  m.n_cut = numbers.count("cut");
  for (const Json& each : json["grades"]) {
    std::optional<Grade> grade = grade_of(each);
    if (!grade) return std::nullopt;
    m.grades.push_back(std::move(*grade));
  }
  return numbers.whole ? std::optional(std::move(m)) : std::nullopt;
}

Error not_writable(const std::string& path, const char* what) {
  return {ErrorKind::storage, "STORAGE", "\"" + path + "\" " + what};
}

}  // namespace

Result<std::unique_ptr<EvalLog>> EvalLog::open(const std::string& path, Console& console) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return not_writable(path, "exists but is not a regular file.");
  std::unique_ptr<EvalLog> log(new EvalLog(path));
  SATCHEL_TRY(log->read(console));
  log->file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log->file_ < 0) return not_writable(path, "cannot be written. Nothing was measured.");
  return log;
}

EvalLog::~EvalLog() {
  if (file_ >= 0) ::close(file_);
}

Result<void> EvalLog::read(Console& console) {
  std::ifstream in(path_, std::ios::binary);
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const std::string place = path_ + ":" + std::to_string(number) + ": ";
    if (!may_be_ours(line))
      return Error{ErrorKind::corrupt, "DOC_FORMAT",
                   place +
                       "is not from a log of `satchel eval`. Nothing was changed; choose a "
                       "new file with --log."};
    torn_ = in.eof();
    const Json json = Json::parse(line, nullptr, false);
    std::optional<Measured> measured = measured_of(json);
    if (!measured || !json.contains("key") || !json["key"].is_string())
      console.warning(place + "is incomplete and is ignored.");
    else
      units_.insert_or_assign(json["key"].get<std::string>(), std::move(*measured));
  }
  if (in.bad()) return not_writable(path_, "cannot be read.");
  return {};
}

const Measured* EvalLog::find(const std::string& key) const {
  const auto found = units_.find(key);
  return found == units_.end() ? nullptr : &found->second;
}

Result<void> EvalLog::add(const std::string& key, const Json& head, const Measured& measured) {
  Json json = {{"satchel_eval", 1}, {"key", key}};
  json.update(head);
  json.update(to_json(measured));
  const std::string line =
      (torn_ ? "\n" : "") + json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  torn_ = true;  // until the whole line is there
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(file_, line.data() + at, line.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return not_writable(path_,
                          "could not be written: the disk may be full. Earlier results are intact; "
                          "free some space and run the same command again.");
    at += static_cast<std::size_t>(written);
  }
  torn_ = false;
  units_.insert_or_assign(key, measured);
  return {};
}

}  // namespace satchel::app
