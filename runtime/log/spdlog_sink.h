// Writes LogSink records to a file with spdlog, one line each: "time level component record".
//   owns    the file; it is rotated at 4 MiB, and two older files are kept
//   threads the sink may be called from any thread
//   errors  storage, LOG_FILE
#pragma once

#include <filesystem>

#include "kernels/base/log_sink.h"
#include "kernels/base/result.h"

namespace satchel::runtime {

Result<LogSink> open_log(const std::filesystem::path& file, LogLevel least);

}  // namespace satchel::runtime
