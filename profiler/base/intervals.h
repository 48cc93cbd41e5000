#pragma once
// A set of time intervals, and the time that they cover without counting any moment twice.
#include <algorithm>
#include <utility>
#include <vector>

#include "profiler/base/units.h"

namespace pipescope::base {

class Intervals {
 public:
  using Interval = std::pair<Ticks, Ticks>;  ///< [start, end)

  Intervals() = default;
  explicit Intervals(std::vector<Interval> all) : all_(std::move(all)), apart_(all_.empty()) {}

  /// Ignores an interval that does not end after its start. An interval that touches the last ones joins them
  /// at once, so a device that never pauses costs one entry.
  void add(Ticks start, Ticks end) {
    if (end <= start) return;
    if (all_.empty() || all_.back().second < start) {
      all_.emplace_back(start, end);
      return;
    }
    if (all_.back().first <= start) {
      all_.back().second = std::max(all_.back().second, end);
      return;
    }
    addEarlier(start, end);
  }
  void add(const Intervals& other) {
    for (const auto& [start, end] : other.all_) add(start, end);
  }
  bool empty() const { return all_.empty(); }

  /// Returns the union as ascending intervals that do not touch.
  std::vector<Interval> joined() const {
    std::vector<Interval> sorted, result;
    if (apart_) return all_;
    const bool ascending = std::is_sorted(all_.begin(), all_.end());
    if (!ascending) {
      sorted = all_;
      std::sort(sorted.begin(), sorted.end());
    }
    for (const Interval& next : ascending ? all_ : sorted) {
      if (!result.empty() && next.first <= result.back().second) {
        result.back().second = std::max(result.back().second, next.second);
      } else {
        result.push_back(next);
      }
    }
    return result;
  }

  Ticks unionLength() const {
    Ticks length;
    for (const auto& [start, end] : joined()) length += end - start;
    return length;
  }

 private:
  /// Adds what begins before the last interval. Rows come almost in the order of time, so the place is near
  /// the end; what lies further back waits for joined().
  void addEarlier(Ticks start, Ticks end) {
    constexpr std::size_t kNear = 32;
    if (!apart_) {
      all_.emplace_back(start, end);
      return;
    }
    const std::size_t least = all_.size() > kNear ? all_.size() - kNear : 0;
    // [from, to) are the intervals that it touches; all after them begin later.
    std::size_t to = all_.size();
    while (to > least && end < all_[to - 1].first) --to;
    std::size_t from = to;
    while (from > least && start <= all_[from - 1].second) --from;
    if (from == least && least > 0) {
      apart_ = false;
      all_.emplace_back(start, end);
    } else if (from == to) {
      all_.insert(all_.begin() + static_cast<std::ptrdiff_t>(to), {start, end});
    } else {
      all_[from].first = std::min(all_[from].first, start);
      all_[from].second = std::max(all_[to - 1].second, end);
      all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                 all_.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }

  std::vector<Interval> all_;
  bool apart_ = true;  ///< they ascend and do not touch each other
};

/// Calls part(from, to) for each part of [start, end) that `taken` leaves free. `taken` holds ascending
/// intervals that do not touch, as joined() returns them.
template <class Part>
void forEachFreePart(const std::vector<Intervals::Interval>& taken, Ticks start, Ticks end, Part&& part) {
  Ticks at = start;
  auto next = std::partition_point(
      taken.begin(), taken.end(), [&](const Intervals::Interval& interval) { return interval.second <= at; });
  for (; next != taken.end() && next->first < end; ++next) {
    if (next->first > at) part(at, next->first);
    at = std::max(at, next->second);
  }
  if (at < end) part(at, end);
}

/// Returns the time of `what` that `taken` leaves free. Both are as joined() returns them.
inline Ticks freeLength(const std::vector<Intervals::Interval>& taken,
                        const std::vector<Intervals::Interval>& what) {
  Ticks length;
  auto next = taken.begin();
  for (const auto& [start, end] : what) {
    Ticks at = start;
    while (next != taken.end() && next->second <= at) ++next;
    for (; next != taken.end() && next->first < end; ++next) {
      if (next->first > at) length += next->first - at;
      at = std::max(at, next->second);
      if (next->second > end) break;  // It may reach into the next one.
    }
    if (at < end) length += end - at;
  }
  return length;
}

/// Returns the time during which both sets are active.
inline Ticks commonLength(const Intervals& one, const Intervals& other) {
  const std::vector<Intervals::Interval> a = one.joined(), b = other.joined();
  Ticks length;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Ticks start = std::max(a[i].first, b[j].first), end = std::min(a[i].second, b[j].second);
    if (end > start) length += end - start;
    a[i].second < b[j].second ? ++i : ++j;
  }
  return length;
}

}  // namespace pipescope::base
