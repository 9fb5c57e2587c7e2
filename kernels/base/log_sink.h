// LogSink: how a lower layer says one line without knowing who writes it. `runtime/log` leads it to
// spdlog; the default is silence.
//   needs   a record is "what key=value", one line, without user text, titles, file names or tokens
//   threads may be called from any thread
#pragma once

#include <functional>
#include <string_view>

namespace satchel {
enum class LogLevel { debug, info, warning, error };
using LogSink = std::function<void(LogLevel, std::string_view component, std::string_view record)>;
}  // namespace satchel
