#include "profiler/analysis/timeline/trace_draft.h"

#include <algorithm>

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {

DeviceTrace* TraceDraft::deviceOf(model::DeviceId id) {
  const auto found = deviceIndex.find(id);
  return found == deviceIndex.end() ? nullptr : &trace->devices[static_cast<std::size_t>(found->second)];
}

Ticks TraceDraft::toAxis(const DeviceTrace& device, Ticks ticks) const {
  if (device.ticksPerSecond == trace->ticksPerSecond) return ticks;
  return base::convertRoundUp(ticks, {device.ticksPerSecond}, trace->timebase());
}

bool TraceDraft::inWindow(const model::BlockInfo& block) const {
  return block.rows > 0 && (!sameTimebase || !block.hasTime ||
                            (block.start <= trace->loadedTo && block.end >= trace->loadedFrom));
}

bool TraceDraft::inWindow(Ticks start, Ticks end) const {
  return !request.large || (start <= trace->loadedTo && end >= trace->loadedFrom);
}

bool TraceDraft::worksSideBySide(model::DeviceId device) const {
  const auto found = lanes.find(device);
  return found != lanes.end() && std::ranges::any_of(found->second, [](const model::Lane* lane) {
           return lane->role > model::LaneRole::host;
         });
}

std::vector<model::LaneId> TraceDraft::lanesOf(model::DeviceId device) const {
  std::vector<model::LaneId> own;
  const auto found = lanes.find(device);
  if (found == lanes.end()) return own;
  for (const model::Lane* lane : found->second)
    if (lane->clock == model::ClockDomain::emulated) own.push_back(lane->id);
  return own;
}

std::pair<std::string, std::string> TraceDraft::textsOf(const model::Step& step) {
  if (!catalog.programs.contains(step.program)) return {};
  const model::Program program = catalog.programs[step.program];
  auto [place, added] = paths.try_emplace(program.debugContext);
  if (added) place->second = catalog.namePath(program.debugContext);
  return {place->second.empty() ? program.kind : place->second, program.kind};
}

base::Status TraceDraft::report(double from, std::size_t block, std::size_t blocks, const char* what) {
  if (progress.cancelled()) return base::cancelled("Reading the trace was stopped.");
  progress.report(from + 0.1 * static_cast<double>(block) / static_cast<double>(blocks), what);
  return {};
}

namespace {

/// Older profiles hold the arrows of a recorded trace as copies from the host.
bool isArrow(model::TransferKind kind) {
  return kind == model::TransferKind::arrow || kind == model::TransferKind::hostIn;
}

}  // namespace

Result<bool> TraceDraft::holdsArrowsOnly(std::size_t block) const {
  if (!catalog.measured()) return false;
  PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::Transfer>(block));
  const std::size_t kind = columnOf<model::Transfer>("kind");
  if (kind >= ranges.size() || !ranges[kind].known) {
    // A profile in memory keeps no ranges.
    PIPESCOPE_ASSIGN(const model::Rows<model::Transfer> rows, source.block<model::Transfer>(block));
    return std::ranges::all_of(*rows, [](const model::Transfer& row) { return isArrow(row.kind); });
  }
  return ranges[kind].smallest == ranges[kind].largest &&
         isArrow(static_cast<model::TransferKind>(ranges[kind].smallest));
}

}  // namespace pipescope::analysis
