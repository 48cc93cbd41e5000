#pragma once
#include <functional>
#include <string>

namespace pipescope::base {

enum class LogLevel { debug, info, warning, error };

/// Libraries never print: what they have to say goes to the sink that the program set (none: dropped).
using LogSink = std::function<void(LogLevel, const std::string&)>;
void setLogSink(LogSink sink);
void log(LogLevel level, const std::string& message);

}  // namespace pipescope::base
