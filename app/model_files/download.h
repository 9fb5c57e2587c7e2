// Fetches a model file by its address into the model folder. No host is built in, and nothing is
// fetched but what is asked for here.
//   resumes   what came of a download lies beside the file as NAME.part, with its address and what
//             the server called its version in NAME.part.from; the next download of the same
//             address goes on there (Range, If-Range). The connection may end several times
//   whole     a file gets its name only when all of it is there, its SHA-256 is the one that was
//             given, and its head is a GGUF model's: until then no program takes it for a model
//   address   https; plain http from this machine, and where a SHA-256 is given
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "kernels/base/result.h"

namespace satchel::app {

struct DownloadRequest {
  std::string url;
  std::filesystem::path folder;  // made where it is not there
  std::string sha256 = {};       // 64 hexadecimal digits; "": it is not checked
};
struct DownloadProgress {
  std::uint64_t done = 0, total = 0;  // bytes; total 0: the server did not say
};
struct DownloadReport {
  std::filesystem::path path;
  std::uint64_t bytes = 0, n_resumed = 0;  // resumed: that were there before
  std::string sha256;
};
using DownloadFn = std::function<void(const DownloadProgress&)>;  // may be empty

//   errors  invalid, PARAM: the address or the SHA-256 is none, or the file is there already;
//           NETWORK, DOWNLOAD_STATUS, DISK_FULL, STORAGE, STOPPED: what came is kept, and the same
//           call goes on; DOWNLOAD_HASH, DOWNLOAD_NOT_MODEL: nothing is kept
Result<DownloadReport> download(const DownloadRequest& request, const std::stop_token& stop,
                                const DownloadFn& progress = {});

}  // namespace satchel::app
