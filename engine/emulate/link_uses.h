#pragma once
// Finds the collectives of segments, and what they take of the links of their place.
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/emulate/emulated_executable.h"
#include "profiler/clock/call.h"

namespace pipescope::emulate {

/// Finds the collectives within the passes of one replica. The first rank of a place stands for all its
/// ranks.
class LinkUses {
 public:
  LinkUses(const devices::System& system, const compile::Mesh& mesh) : system_(system), mesh_(mesh) {}

  /// The collectives of a segment on the device, in their order, with indices of loads(). Those of which the
  /// family does not know the links are left out.
  std::vector<clock::LinkUse> of(const devices::LoweredPass& pass, const devices::LoweredSegment& segment,
                                 int device);
  const std::vector<LinkLoad>& loads() const { return loads_; }

 private:
  /// Index of the load; −1: the family knows no links of it.
  int loadOf(const ops::Collective& collective, int device);
  const std::vector<int>& groupOf(const ops::Collective& collective, int device);

  using GroupKey = std::tuple<int, model::MeshAxis, std::int64_t, int, std::vector<std::int64_t>>;
  const devices::System& system_;
  const compile::Mesh& mesh_;
  std::map<GroupKey, std::vector<int>> groups_;
  std::map<std::tuple<GroupKey, int, std::int64_t, std::int64_t>, int> known_;  ///< kind, elements, experts
  std::map<LinkLoad, int> numbers_;
  std::vector<LinkLoad> loads_;
};

/// Leaves only collectives that share links with others. Those beside backward passes all stay if any of them
/// does, because they take turns.
void keepSharedUses(EmulatedExecutable& executable);

}  // namespace pipescope::emulate
