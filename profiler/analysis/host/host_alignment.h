#pragma once
// Alignment of the host's work with the devices' work.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "profiler/analysis/host/host_timeline.h"
#include "profiler/model/run_rows.h"

namespace pipescope::analysis {

/// A call from the host has a span in the wall clock and one in the time of the devices. A moment within the
/// call lies at the same share of both, and so does one between two calls. Nothing before the first call,
/// after the last one, or between calls that follow each other without a pause on the devices has a time
/// there.
class HostAlignment {
 public:
  /// `zero` is HostTimeline::zero; times of the wall clock are those of HostTimeline. Calls that did not
  /// compute, or that are in another order on the devices, are left out.
  HostAlignment(std::vector<model::Run> calls, std::int64_t zero);
  bool empty() const { return knots_.empty(); }
  /// The part of a span that has a time on the devices, in ticks of device 0. Only a span without length
  /// becomes one without length.
  std::optional<std::pair<Ticks, Ticks>> onDevices(Ticks start, Ticks end) const;
  /// The wall time of a moment of the devices; before and after all calls: that of the nearest call.
  Ticks onHost(Ticks time) const;
  /// The same of a moment at which something ends: where two calls follow each other without a pause on the
  /// devices, it belongs to the first of them.
  Ticks endOnHost(Ticks time) const;

 private:
  struct Knot {
    std::int64_t wall = 0, device = 0;
  };
  std::vector<Knot> knots_;  ///< begin and end of each call; ascending in both clocks
};

}  // namespace pipescope::analysis
