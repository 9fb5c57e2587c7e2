// PartFile: what has come of a download so far. One process at a time has it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "app/model_files/sha256.h"
#include "kernels/base/result.h"

namespace satchel::app {

class PartFile {
 public:
  // Beside `path`, whose name it gets in the end. A part with a further name is a finished model,
  // of a download that was killed then: it keeps that name and its bytes, and the part begins anew.
  //   errors  invalid, PARAM: another download has it, or `path` is there; STORAGE
  static Result<PartFile> open(const std::filesystem::path& path);
  PartFile(PartFile&& other) noexcept;
  ~PartFile();

  // What an earlier download of this address left, and the server's version of it; "": there is no
  // version, or what is there is of another address. Then the file is to be emptied.
  std::string version_of(const std::string& url) const;
  Result<void> set_origin(const std::string& url, const std::string& version);
  std::uint64_t bytes() const { return bytes_; }
  Result<void> append(std::string_view bytes);
  Result<void> empty();
  // Room on its disk; nothing: it is not known.
  std::optional<std::uint64_t> disk_bytes_free() const;
  // Of all its bytes; reads what append() did not see, which takes minutes where it is much.
  // Stopped, it is STOPPED, and goes on from there when it is asked again.
  Result<std::string> sha256(const std::stop_token& stop);
  const std::filesystem::path& place() const { return part_; }
  // On the disk, then under its own name, which must be free.
  Result<void> finish();
  void discard();

 private:
  PartFile(std::filesystem::path path, std::filesystem::path part, int file)
      : path_(std::move(path)), part_(std::move(part)), file_(file) {}
  static Result<PartFile> lock(const std::filesystem::path& path);
  std::filesystem::path origin() const { return part_.string() + ".from"; }
  Result<void> hash_what_is_there(const std::stop_token& stop);

  std::filesystem::path path_, part_;
  int file_;
  std::uint64_t bytes_ = 0, hashed_ = 0;
  Sha256 hash_;
};

}  // namespace satchel::app
