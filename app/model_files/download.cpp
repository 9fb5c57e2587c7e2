#include "app/model_files/download.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <system_error>

#include "app/model_files/http_get.h"
#include "app/model_files/part_file.h"
#include "app/model_files/url.h"
#include "kernels/base/size_text.h"
#include "runtime/gguf/reader.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

constexpr int kRedirectsMost = 5;
constexpr int kTriesWithoutBytes = 3;  // of a connection that ends early; chosen

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Error param(const std::string& what) {
  return {ErrorKind::invalid, "PARAM", what};
}

Result<void> check_allowed(const Url& url, bool has_hash) {
  if (url.is_secure || url.is_here() || has_hash) return {};
  return param("\"" + url.origin +
               "\" is not encrypted, so anybody on the way could change the file. Use https://, or "
               "give the file's SHA-256.");
}

Result<fs::path> path_for(const DownloadRequest& request, const Url& url) {
  const std::string name = file_name_of(url);
  if (!lower_case(name).ends_with(".gguf"))
    return param("The address must end in the name of a .gguf file.");
  std::error_code error;
  fs::create_directories(request.folder, error);
  fs::path path = request.folder / name;
  if (fs::exists(fs::symlink_status(path, error)))
    return param("\"" + path.string() + "\" is there already.");
  return path;
}

std::optional<std::uint64_t> number_in(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (bad != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// "bytes 100-199/200": where it begins, and how long the whole is.
struct ContentRange {
  std::uint64_t begin = 0, total = 0;
};
std::optional<ContentRange> range_of(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t dash = text.find('-'), slash = text.find('/');
  if (dash == text.npos || slash == text.npos) return std::nullopt;
  const auto begin = number_in(text.substr(0, dash)), total = number_in(text.substr(slash + 1));
  if (!begin || !total) return std::nullopt;
  return ContentRange{.begin = *begin, .total = *total};
}

// "bytes */200", of a server that has nothing behind what is there: how long the whole is.
std::optional<std::uint64_t> whole_of(std::string_view text) {
  constexpr std::string_view kBefore = "bytes */";
  if (!text.starts_with(kBefore)) return std::nullopt;
  return number_in(text.substr(kBefore.size()));
}

// What the server calls what it has; "": nothing. A weak version may stand for other bytes.
std::string version_of(const HttpHead& head) {
  const bool is_strong = !head.etag.empty() && !head.etag.starts_with("W/");
  return is_strong ? head.etag : head.last_modified;
}

Error status_error(int status) {
  std::string what = "The server answered with status " + std::to_string(status) + ".";
  if (status == 401 || status == 403) what += " It wants to know who asks, or refuses this file.";
  if (status == 404 || status == 410) what += " There is no such file.";
  const bool is_missing = status == 404 || status == 410;
  return {is_missing ? ErrorKind::not_found : ErrorKind::internal, "DOWNLOAD_STATUS", what};
}

// One request after the other until the file is whole.
class Fetch {
 public:
  Fetch(const DownloadRequest& request, Url url, PartFile& part, std::stop_token stop,
        const DownloadFn& progress)
      : request_(request),
        url_(std::move(url)),
        part_(part),
        stop_(std::move(stop)),
        progress_(progress) {}

  Result<void> run() {
    version_ = part_.version_of(request_.url);
    // Without a version nobody knows whether the rest would belong to it; but a hash would tell.
    if (version_.empty() && (request_.sha256.empty() || part_.bytes() == 0))
      SATCHEL_TRY(part_.empty());
    n_resumed_ = part_.bytes();
    for (int tries = 0;;) {
      const std::uint64_t before = part_.bytes();
      const Result<void> got = follow();
      if (got.ok()) return check_length();
      const bool is_cut = got.error().code == "NETWORK";
      tries = part_.bytes() > before ? 0 : tries + 1;
      if (!is_cut || tries == kTriesWithoutBytes) return got;
    }
  }
  std::uint64_t n_resumed() const { return n_resumed_; }

 private:
  Result<void> follow() {
    Url at = url_;
    for (int n = 0; n <= kRedirectsMost; ++n) {
      location_.clear();
      failed_ = {};
      SATCHEL_TRY(get(at));
      SATCHEL_TRY(failed_);
      if (location_.empty()) return {};
      SATCHEL_TRY_ASSIGN(Url next, redirected(at, location_));
      if (at.is_secure && !next.is_secure && !next.is_here() && request_.sha256.empty())
        return param("The server leads from https to an address that is not encrypted.");
      at = std::move(next);
      SATCHEL_TRY(check_allowed(at, !request_.sha256.empty()));
    }
    return Error{ErrorKind::internal, "DOWNLOAD_STATUS", "The server leads in a circle."};
  }

  Result<void> get(const Url& at) {
    HttpGet request{.url = at};
    if (part_.bytes() > 0) {
      request.headers.emplace_back("Range", "bytes=" + std::to_string(part_.bytes()) + "-");
      if (!version_.empty()) request.headers.emplace_back("If-Range", version_);
    }
    request.head = [this](const HttpHead& head) {
      failed_ = take_head(head);
      return failed_.ok() && location_.empty() && !is_whole_;
    };
    request.body = [this](std::string_view bytes) {
      failed_ = part_.append(bytes);
      if (failed_.ok() && progress_) progress_({part_.bytes(), total_});
      return failed_.ok();
    };
    return http_get(request, stop_);
  }

  Result<void> take_head(const HttpHead& head) {
    if (head.status >= 300 && head.status < 400 && !head.location.empty()) {
      location_ = head.location;
      return {};
    }
    if (head.status == 206) {
      const auto range = range_of(head.content_range);
      if (!range || range->begin != part_.bytes())
        return Error{ErrorKind::internal, "DOWNLOAD_STATUS",
                     "The server sent another part of the file than was asked for."};
      total_ = range->total;
      return check_room();
    }
    if (head.status == 416 && part_.bytes() > 0) return take_end(head);
    if (head.status != 200) return status_error(head.status);
    // All of it from its beginning: it is another version, or the server knows no parts.
    SATCHEL_TRY(part_.empty());
    n_resumed_ = 0;
    total_ = head.content_length.value_or(0);
    version_ = version_of(head);
    SATCHEL_TRY(part_.set_origin(request_.url, version_));
    return check_room();
  }

  // Nothing lies behind what is there: an earlier download ended between its last byte and the
  // file's name, or what is there is of another file.
  Result<void> take_end(const HttpHead& head) {
    SATCHEL_TRY_ASSIGN(is_whole_, is_all_of_it(head));
    if (!is_whole_) {
      SATCHEL_TRY(part_.empty());
      n_resumed_ = 0;
      return Error{ErrorKind::internal, "NETWORK", "The file became shorter on the server."};
    }
    total_ = part_.bytes();
    if (progress_) progress_({part_.bytes(), total_});
    return {};
  }
  // A hash decides alone; without one, the length and the version that the server had.
  Result<bool> is_all_of_it(const HttpHead& head) {
    if (!request_.sha256.empty()) {
      SATCHEL_TRY_ASSIGN(const std::string hash, part_.sha256(stop_));
      return hash == lower_case(request_.sha256);
    }
    const std::string version = version_of(head);
    return whole_of(head.content_range) == part_.bytes() &&
           (version.empty() || version == version_);
  }

  Result<void> check_room() const {
    const auto free = part_.disk_bytes_free();
    if (!free || total_ <= part_.bytes() || total_ - part_.bytes() <= *free) return {};
    return Error{ErrorKind::storage, "DISK_FULL",
                 "The file takes " + size_text(total_ - part_.bytes()) + ", and only " +
                     size_text(*free) + " are free on the disk."};
  }

  Result<void> check_length() const {
    if (total_ == 0 || part_.bytes() == total_) return {};
    return Error{ErrorKind::internal, "NETWORK",
                 "The server sent " + std::to_string(part_.bytes()) + " of " +
                     std::to_string(total_) + " bytes. Start the download again to go on."};
  }

  const DownloadRequest& request_;
  const Url url_;
  PartFile& part_;
  const std::stop_token stop_;
  const DownloadFn& progress_;
  std::string version_, location_;
  Result<void> failed_;
  std::uint64_t total_ = 0, n_resumed_ = 0;
  bool is_whole_ = false;  // without another byte
};

// A page that asks for a login is no model, whatever its address ends in.
Result<void> check_is_model(const PartFile& part) {
  const auto opened = runtime::GgufFile::open(part.place());
  // One shard of several is downloaded without the others.
  if (opened.ok() || opened.error().code == "MODEL_SHARD") return {};
  return Error{ErrorKind::corrupt, "DOWNLOAD_NOT_MODEL",
               "What came is no GGUF model, and was deleted. " + opened.error().message};
}

}  // namespace

Result<DownloadReport> download(const DownloadRequest& request, const std::stop_token& stop,
                                const DownloadFn& progress) {
  SATCHEL_TRY_ASSIGN(const Url url, parse_url(request.url));
  const std::string wanted = lower_case(request.sha256);
  const bool is_hash =
      wanted.size() == 64 && wanted.find_first_not_of("0123456789abcdef") == wanted.npos;
  if (!wanted.empty() && !is_hash) return param("A SHA-256 has 64 hexadecimal digits.");
  SATCHEL_TRY(check_allowed(url, is_hash));
  SATCHEL_TRY_ASSIGN(const fs::path path, path_for(request, url));
  SATCHEL_TRY_ASSIGN(PartFile part, PartFile::open(path));
  Fetch fetch(request, url, part, stop, progress);
  if (const Result<void> got = fetch.run(); !got.ok()) {
    if (part.bytes() == 0) part.discard();
    return got.error();
  }
  DownloadReport report{
      .path = path, .bytes = part.bytes(), .n_resumed = fetch.n_resumed(), .sha256 = ""};
  SATCHEL_TRY_ASSIGN(report.sha256, part.sha256(stop));
  if (is_hash && report.sha256 != wanted) {
    part.discard();
    return Error{
        ErrorKind::corrupt, "DOWNLOAD_HASH",
        "The file has another SHA-256 (" + report.sha256 +
            ") than was given, so it was deleted. It is another version, or was damaged on "
            "the way."};
  }
  if (const Result<void> model = check_is_model(part); !model.ok()) {
    part.discard();
    return model.error();
  }
  SATCHEL_TRY(part.finish());
  return report;
}

}  // namespace satchel::app
