#include "profiler/geometry/colour_role.h"

#include <array>

namespace pipescope::geometry {
namespace {

/// The role of a value in a block that begins at `first`. The last role of the block, "other", is for unknown
/// values.
template <class Enum>
ColourRole inBlock(ColourRole first, ColourRole other, Enum value) {
  const int index = static_cast<int>(first) + static_cast<int>(value);
  return index < static_cast<int>(other) ? static_cast<ColourRole>(index) : other;
}

constexpr std::array kNames = {
    "step.compute",      "step.exchange",     "step.sync",         "step.global_exchange",
    "step.stream_copy",  "step.control",      "step.remote_copy",  "step.other",
    "group.compute",     "group.exchange",    "group.sync",        "group.global_exchange",
    "group.stream_copy", "group.control",     "group.remote_copy", "group.other",
    "pass.forward",      "pass.recompute",    "pass.backward",     "pass.weight_gradient",
    "pass.update",       "pass.host_in",      "pass.host_out",     "pass.sync",
    "pass.collective",   "pass.remote",       "pass.other",        "wait.fill",
    "wait.drain",        "wait.slower_stage", "wait.exchange",     "wait.collective",
    "wait.host",         "wait.update",       "wait.other",        "transfer.activation",
    "transfer.gradient", "transfer.host_in",  "transfer.host_out", "transfer.collective",
    "transfer.remote",   "transfer.other"};
static_assert(kNames.size() == static_cast<std::size_t>(ColourRole::microBatch));

constexpr std::array kLastNames = {
    "memory.always_live",  "memory.not_always_live", "memory.gaps",   "memory.free", "lost.useful",
    "lost.fill_and_drain", "lost.imbalance",         "lost.exchange", "idle",        "path.forward",
    "path.backward",       "path.critical",          "path.dimmed",   "counter",     "program.flow"};
static_assert(kLastNames.size() == kColourRoles - static_cast<std::size_t>(ColourRole::alwaysLive));

}  // namespace

ColourRole roleOf(model::StepKind kind, bool group) {
  return group ? inBlock(ColourRole::computeGroup, ColourRole::otherKindGroup, kind)
               : inBlock(ColourRole::compute, ColourRole::otherKind, kind);
}
ColourRole roleOf(model::Pass pass) {
  return inBlock(ColourRole::forward, ColourRole::otherPass, pass);
}
ColourRole roleOf(model::WaitCause cause) {
  return inBlock(ColourRole::waitFill, ColourRole::otherWait, cause);
}
ColourRole roleOf(model::TransferKind kind) {
  return inBlock(ColourRole::activation, ColourRole::otherTransfer, kind);
}

ColourRole microBatchRole(int microBatch, bool backward) {
  if (microBatch < 0) return ColourRole::otherPass;
  const int hue = microBatch % kMicroBatchHues;
  return static_cast<ColourRole>(static_cast<int>(ColourRole::microBatch) + hue +
                                 (backward ? kMicroBatchHues : 0));
}

ColourRole seriesRole(int index) {
  return static_cast<ColourRole>(static_cast<int>(ColourRole::series) + index % kSeriesColours);
}

std::string roleKey(ColourRole role) {
  const auto index = static_cast<std::size_t>(role);
  if (index < kNames.size()) return kNames[index];
  if (role <= ColourRole::microBatchEnd) {
    const int hue = static_cast<int>(index - kNames.size());
    return (hue < kMicroBatchHues ? "micro_batch." : "micro_batch_backward.") +
           std::to_string(hue % kMicroBatchHues);
  }
  if (role <= ColourRole::seriesEnd)
    return "series." + std::to_string(index - static_cast<std::size_t>(ColourRole::series));
  return kLastNames[index - static_cast<std::size_t>(ColourRole::alwaysLive)];
}

}  // namespace pipescope::geometry
