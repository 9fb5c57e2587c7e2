// LogSink: how a lower layer logs a line without knowing the logger. `runtime/log` forwards it to
// spdlog; the default discards it.
//   needs   a record is one line, "what key=value", without user text, titles, file names or tokens
//   threads may be called from any thread
#pragma once

#include <functional>
#include <string_view>

namespace satchel {
enum class LogLevel { debug, info, warning, error };
using LogSink = std::function<void(LogLevel, std::string_view component, std::string_view record)>;
}  // namespace satchel
