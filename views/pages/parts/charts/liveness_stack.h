#pragma once
#include <QString>
#include <cstdint>
#include <utility>
#include <vector>

#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/data/liveness_data.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {

/// Live bytes of a memory space as a chart shows them, and as sentences. It refers to the content.
class LivenessStack {
 public:
  /// Sum over all units, the fullest unit of each step, or the unit that the content describes.
  enum class Part : std::uint8_t { sum, fullest, unit };

  LivenessStack(const LivenessData& data, Part part) : data_(data), part_(part) {}

  /// The always-live bytes. For the fullest unit they are left out, because the one with most not-always-live
  /// bytes may not be the one with most always-live bytes.
  std::int64_t base() const;
  /// The bytes that are not always live in a step.
  std::int64_t above(std::size_t step) const;
  int peakStep() const;

  std::vector<StackLayer> layers(bool withAlwaysLive) const;
  std::vector<ChartBand> bands() const;  ///< one for each run of steps of a pass
  std::vector<timeline::LegendEntry> legend(bool withAlwaysLive) const;
  QString axis() const;
  /// The capacity to mark in a chart of at most so many bytes, and its words; below 0: none.
  std::pair<double, QString> limit(std::int64_t most) const;
  /// A sentence about a step, or about several steps and the one of them in which most is live.
  QString describe(int step) const;
  QString describe(int first, int last) const;

 private:
  const LivenessData& data_;
  Part part_;
};

}  // namespace pipescope::pages
