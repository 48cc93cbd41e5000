#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace pipescope::importing {

/// Distribution of the events of a trace over time. It finds the few that lie far from all others: some tools
/// state 0, or the time of another clock, for events of their own.
class TimeSpread {
 public:
  /// Adds an event. Times are in picoseconds; both must lie within ±53 days.
  void add(std::int64_t start, std::int64_t end);

  /// Few events on one side of most others.
  struct Apart {
    std::int64_t events = 0, distance = 0;  ///< picoseconds to these
    bool before = false;
  };
  struct Kept {
    /// First start, last start and last end of the other events.
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t lastStart = std::numeric_limits<std::int64_t>::min(), last = lastStart;
    std::vector<Apart> apart;
  };
  /// Events lie apart if ten times as many lie together, and the distance is more than ten minutes and twenty
  /// times as long as the time that these take. Three times as many are enough where the distance is a day.
  Kept kept() const;

 private:
  struct Cluster {
    std::int64_t events = 0, first = 0, lastStart = 0, last = 0;
  };
  std::vector<Cluster> clustersOf() const;

  std::map<std::int64_t, Cluster> minutes_;
  std::int64_t lastMinute_ = 0;
  Cluster* lastUsed_ = nullptr;
};

}  // namespace pipescope::importing
