#pragma once
// The question that the clock asks about transfers which share links.
#include <vector>

#include "profiler/base/units.h"

namespace pipescope::clock {

/// Says how long flows of a replica take that are under way at the same time. Flows have their indices in
/// ReplicaCosts::flows.
class Contention {
 public:
  virtual ~Contention() = default;
  /// A flow of this group does not even share links with itself.
  static constexpr int kAlone = -1;
  /// Flows of different groups do not affect each other. Groups are numbered from 0.
  virtual int groupOf(int flow) const = 0;
  virtual int groups() const = 0;
  /// Ticks of several flows of one group, in the given order. `flows` is ascending; a flow may occur several
  /// times. The result is valid until the next question.
  virtual const std::vector<base::Ticks>& together(const std::vector<int>& flows) = 0;
};

}  // namespace pipescope::clock
