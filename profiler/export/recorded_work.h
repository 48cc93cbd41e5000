#pragma once
// Facts that an export of a recorded run states beside the lanes, in the way of other tools.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "profiler/analysis/launches.h"

namespace pipescope::exporting {

/// Launches of kernels. A launch and its kernel share a number, as in the traces of PyTorch's profiler.
class RecordedLaunches {
 public:
  /// True if the transfer is a launch, which is no transfer then.
  bool take(const analysis::Catalog& catalog, const model::Transfer& row) {
    if (!catalog.measured() || !analysis::isLaunch(catalog, row)) return false;
    const std::int64_t number =
        numbers_.try_emplace({row.fromLane, row.start}, row.id.value + 1).first->second;
    numbers_.try_emplace({row.toLane, row.end}, number);
    return true;
  }
  /// The number of a step that launches, or was launched; 0: none.
  std::int64_t numberOf(model::LaneId lane, base::Ticks start) const {
    const auto found = numbers_.find({lane, start});
    return found == numbers_.end() ? 0 : found->second;
  }

 private:
  std::map<std::pair<model::LaneId, base::Ticks>, std::int64_t> numbers_;
};

/// True for a lane of a recorded host that shares the device of its accelerator. Other tools give the host a
/// process of its own, which tells its threads from the accelerator's queues.
inline bool isLaneOfHost(const analysis::Catalog& catalog, const model::Lane* lane) {
  if (lane == nullptr || lane->role != model::LaneRole::hostThread || !catalog.measured()) return false;
  const model::Device* device = catalog.device(lane->device);
  return device != nullptr && device->kind == "accelerator";
}

/// Ending of the name of the process of such lanes, behind the name of the accelerator.
inline constexpr const char* kHostOfAccelerator = ", host";

/// The counter that the importer derives from the launches.
inline constexpr std::string_view kLaunchCounter = "launches in the queue";

/// The category of a step: that of the trace, if the run is a recorded one, else its kind. Categories that
/// exports use themselves are not taken over.
inline std::string categoryOf(const analysis::Catalog& catalog, const model::Step& step) {
  const std::string kind = model::toString(step.kind);
  if (!catalog.measured() || !catalog.programs.contains(step.program)) return kind;
  std::string stated = catalog.programs[step.program].kind;
  const bool own = stated.empty() || stated == "pass" || stated == "transfer" || stated == "wait";
  return own ? kind : stated;
}

}  // namespace pipescope::exporting
