#pragma once
#include <functional>
#include <string>

namespace pipescope::base {

enum class LogLevel { debug, info, warning, error };

/// Libraries never print. They send messages to the sink that the program has set; without a sink, messages
/// are dropped.
using LogSink = std::function<void(LogLevel, const std::string&)>;
void setLogSink(LogSink sink);
void log(LogLevel level, const std::string& message);

}  // namespace pipescope::base
