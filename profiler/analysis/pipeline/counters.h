#pragma once
// Values over time, such as loss, accuracy, stash entries and live bytes.
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// One sample, or several neighbouring samples joined. A counter keeps its last value until the next sample.
struct CounterPoint {
  Ticks time;              ///< time of the first sample, in ticks of device 0
  std::int64_t index = 0;  ///< number of the counter's samples before this point
  std::int64_t count = 1;
  double smallest = 0, largest = 0, last = 0;
};

struct CounterSeries {
  model::Counter counter;
  std::vector<CounterPoint> points;  ///< sorted by time
  std::int64_t samples = 0;
  double smallest = 0, largest = 0;
};

struct CounterRequest {
  static constexpr std::size_t kUnbounded = std::size_t{1} << 40;
  model::ExecutableId executable;
  /// The wanted runs; none: all runs. A series also has the sample just before the first run, if one is near,
  /// because a counter keeps its value.
  model::RunId firstRun, lastRun;
  /// Most points of a series. Neighbouring samples of a longer series are joined. No peak is lost.
  std::size_t mostPoints = kUnbounded;
  bool ofDevices = true;  ///< include the counters of single devices
  bool ofWhole = true;    ///< include the counters of the whole run
};

/// The executable's counters in the order of their ids. Counters without samples are left out.
Result<std::vector<CounterSeries>> counterSeries(const model::ProfileSource& source, const Catalog& catalog,
                                                 const CounterRequest& request, base::Progress& progress);

/// The last recorded value of a counter of the whole run, such as "loss". None: there is no sample of it.
/// Reads the samples from the end.
Result<std::optional<double>> lastValue(const model::ProfileSource& source, std::string_view counter);

/// The index of the point whose value holds at a time; −1 before the first.
std::ptrdiff_t pointAt(const CounterSeries& series, Ticks time);

}  // namespace pipescope::analysis
