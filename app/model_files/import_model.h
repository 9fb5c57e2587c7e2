// Puts a model file from elsewhere, with its other shards, into the model folder: linked where both
// are on one disk, else copied. Returns its path there.
//   errors  those of opening a GGUF file; PARAM: a file of that name is there already; DISK_FULL,
//           STORAGE, STOPPED: nothing is left of that file
#pragma once

#include <filesystem>
#include <stop_token>

#include "app/model_files/download.h"
#include "kernels/base/result.h"

namespace satchel::app {

Result<std::filesystem::path> import_model(const std::filesystem::path& from,
                                           const std::filesystem::path& folder,
                                           const std::stop_token& stop,
                                           const DownloadFn& progress = {});

}  // namespace satchel::app
