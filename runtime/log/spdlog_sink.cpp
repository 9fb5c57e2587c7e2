#include "runtime/log/spdlog_sink.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <memory>

namespace satchel::runtime {
namespace {

constexpr std::size_t kFileBytes = 4u << 20, kOlderFiles = 2;

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

Result<LogSink> open_log(const std::filesystem::path& file, LogLevel least) {
  std::shared_ptr<spdlog::logger> logger;
  try {  // spdlog reports a file it cannot open by throwing
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), kFileBytes,
                                                                       kOlderFiles);
    logger = std::make_shared<spdlog::logger>("satchel", std::move(sink));
  } catch (const spdlog::spdlog_ex& problem) {
    return Error{ErrorKind::storage, "LOG_FILE",
                 "The log file \"" + file.string() + "\" cannot be written: " + problem.what()};
  }
  logger->set_level(spdlog_level(least));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::warn);
  return LogSink([logger](LogLevel level, std::string_view component, std::string_view record) {
    logger->log(spdlog_level(level), "{} {}", component, record);
  });
}

}  // namespace satchel::runtime
