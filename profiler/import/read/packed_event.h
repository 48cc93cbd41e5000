#pragma once
#include <cstdint>
#include <span>

#include "profiler/import/read/trace_event.h"

namespace pipescope::importing {

/// The part of an event that every event has, as it stands in memory and in temporary files. Its arguments
/// follow it.
struct PackedEvent {
  std::int64_t time, duration, id;
  double value;
  std::int32_t process, thread, name, category;
  std::uint8_t kind, argumentCount;
};
static_assert(std::is_trivially_copyable_v<PackedEvent> && std::is_trivially_copyable_v<ArgumentValue>);

inline PackedEvent packed(const TraceEvent& event) {
  const auto narrow = [](auto id) { return static_cast<std::int32_t>(id.value); };
  return {event.time,         event.duration,         event.id,
          event.value,        narrow(event.process),  narrow(event.thread),
          narrow(event.name), narrow(event.category), static_cast<std::uint8_t>(event.kind),
          event.argumentCount};
}

inline std::span<const ArgumentValue> argumentsOf(const TraceEvent& event) {
  return std::span(event.arguments).first(event.argumentCount);
}

}  // namespace pipescope::importing
