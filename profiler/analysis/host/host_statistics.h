#pragma once
// Statistics of the host's spans: by name, and as a call tree.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "profiler/analysis/host/host_timeline.h"

namespace pipescope::analysis {

/// A part of the time. Spans that overlap it count.
struct HostRange {
  Ticks start, end;
};

/// Lengths are counted by three classes a decade: from 1, 2 and 5 of each power of ten of nanoseconds.
struct HostHistogram {
  static constexpr std::size_t kBins = 40;
  std::array<std::int64_t, kBins> counts{};
  static std::size_t binOf(Ticks length);
  static Ticks lowerEdge(std::size_t bin);  ///< 1 ns, 2 ns, 5 ns, 10 ns …
};

/// The spans of one name on all threads.
struct HostNameUse {
  std::int32_t name = 0;
  std::int64_t count = 0;
  Ticks total, self;  ///< sums of lengths, and of lengths without the spans directly in them
  Ticks shortest, median, p90, p99, longest;
  std::int64_t threads = 0;
  HostHistogram histogram;
  double mean() const { return static_cast<double>(total.count) / static_cast<double>(count); }
};

/// Longest sum of own times first. Lengths are whole, also of spans that lie partly outside the range.
std::vector<HostNameUse> hostNameUses(const HostTimeline& timeline, std::optional<HostRange> range = {});

/// A name below the names around it, of one thread.
struct HostTreeNode {
  std::int32_t lane = 0;
  std::int32_t name = -1;    ///< −1: the thread itself
  std::int32_t parent = -1;  ///< place in the list; −1: none
  std::int32_t depth = 0;
  std::int64_t count = 0;
  Ticks total, self;
};

/// Every thread with its names as a tree: each node is followed by its children, longest first.
std::vector<HostTreeNode> hostCallTree(const HostTimeline& timeline, std::optional<HostRange> range = {});

}  // namespace pipescope::analysis
