#pragma once
// Reasons why a device of a recorded run waited, in the words of people who look for them.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Tells reasons of waits apart by the passes around them.
class MeasuredWaits {
 public:
  explicit MeasuredWaits(const std::vector<model::Placement>& placements);

  /// - "late sender": the pass that makes the input of the next pass has not ended;
  /// - "late receiver": the other side has not posted its receive, because it computes something else;
  /// - "transfer", "collective", "collective straggler" (a rank has not entered it), "drain";
  /// - "input pipeline": nothing but the batch is missing; "host launch": nothing is missing.
  std::string reasonOf(const model::Wait& wait) const;

  /// The part of a wait for a message during which the input of a later pass of the device had already been
  /// made: its receive stands behind the one that is waited for, and receives are served in order.
  Ticks blockedDuring(const model::Wait& wait) const;

 private:
  struct Following {
    const model::Placement* pass = nullptr;
    Ticks laterReady = Ticks(INT64_MAX);  ///< first time at which the input of a later pass is there
  };
  const Following* following(const model::Wait& wait) const;

  std::map<model::DeviceId, std::vector<Following>> byDevice_;  // sorted by start
  std::map<model::PlacementId, const model::Placement*> byId_;
};

}  // namespace pipescope::analysis
