#include "profiler/model/enums.h"

#include <initializer_list>

namespace pipescope::model {
namespace {
template <class Enum>
std::string nameOf(Enum value, std::initializer_list<const char*> names) {
  const auto index = static_cast<std::size_t>(value);
  if (index < names.size()) return names.begin()[index];
  return "unknown (" + std::to_string(index) + ")";
}
}  // namespace

std::string toString(Pass pass) {
  return nameOf(pass, {"forward", "recompute", "backward", "weight gradient", "update", "host in", "host out",
                       "sync", "collective", "remote", "other"});
}
std::string toString(StepKind kind) {
  return nameOf(kind,
                {"compute", "exchange", "sync", "global exchange", "stream copy", "control", "remote copy"});
}
std::string toString(LaneRole role) {
  return nameOf(role, {"compute", "exchange", "host", "matrix", "vector", "copy", "network", "host thread"});
}
std::string laneKey(LaneRole role) {
  return nameOf(role, {"compute", "exchange", "host", "mme", "tpc", "dma", "nic", "host thread"});
}
std::string toString(ClockDomain domain) {
  return nameOf(domain, {"emulated", "wall"});
}
std::string toString(ExecutableKind kind) {
  return nameOf(kind, {"training", "validation", "inference"});
}
std::string toString(WaitCause cause) {
  return nameOf(cause, {"fill", "drain", "slower stage", "exchange", "collective", "host", "update"});
}
std::string toString(TransferKind kind) {
  return nameOf(kind, {"activation", "gradient", "host in", "host out", "collective", "remote", "arrow"});
}
std::string toString(Severity severity) {
  return nameOf(severity, {"info", "warning", "error"});
}
std::string toString(OutcomeKind kind) {
  return nameOf(kind, {"result", "forecast", "emulator"});
}
std::string toString(ScheduleKind kind) {
  return nameOf(kind, {"dependency", "barrier", "one at a time"});
}
std::string toString(MeshAxis axis) {
  return nameOf(axis, {"data", "pipe", "tensor", "context", "expert"});
}
std::string toString(TickMeaning meaning) {
  return nameOf(meaning, {"clock cycle", "time", "cost"});
}
std::string toString(MemoryPlace place) {
  return nameOf(place, {"anywhere", "interleaved", "own element", "another element"});
}
std::string toString(LevelContent content) {
  return nameOf(content, {"placements", "waits", "transfers", "steps"});
}
std::string toString(ProfileState state) {
  return nameOf(state, {"running", "complete", "cancelled", "incomplete"});
}

}  // namespace pipescope::model
