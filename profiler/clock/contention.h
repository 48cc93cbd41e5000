#pragma once
// The question that the clock asks about transfers which share links.
#include <vector>

#include "profiler/base/units.h"

namespace pipescope::clock {

/// Says how long flows and collectives of a replica take that are under way at the same time. Flows have
/// their indices in ReplicaCosts::flows. Behind them come loads: what a kind of collective does to links.
class Contention {
 public:
  virtual ~Contention() = default;
  /// Ticks of a load that nothing slows. Its collectives have lengths of their own; in other company they
  /// take longer by the same factor as these ticks.
  static constexpr base::Ticks kLoadAlone{1'000'000};
  /// A flow of this group does not even share links with itself.
  static constexpr int kAlone = -1;
  /// Flows of different groups do not affect each other. Groups are numbered from 0.
  virtual int groupOf(int flow) const = 0;
  virtual int groups() const = 0;
  virtual int flows() const = 0;  ///< number of flows, and so the index of the first load
  /// Ticks of several flows of one group, in the given order. `flows` is ascending; a flow may occur several
  /// times. The result is valid until the next question.
  virtual const std::vector<base::Ticks>& together(const std::vector<int>& flows) = 0;
};

}  // namespace pipescope::clock
