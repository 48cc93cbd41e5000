#include "profiler/analysis/pipeline/counters.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

namespace pipescope::analysis {
namespace {

constexpr std::size_t kCountersRunColumn = 2;

void join(CounterPoint& point, const CounterPoint& next) {
  point.count += next.count;
  point.smallest = std::min(point.smallest, next.smallest);
  point.largest = std::max(point.largest, next.largest);
  point.last = next.last;
}

/// Joins neighbouring points, so that half as many are left.
void halve(std::vector<CounterPoint>& points) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size(); i += 2) {
    CounterPoint joined = points[i];
    if (i + 1 < points.size()) join(joined, points[i + 1]);
    points[kept++] = joined;
  }
  points.resize(kept);
}

/// Adds a sample. All points but the last join equally many samples, `stride`, so that a long series is
/// joined evenly from its first sample to its last.
void append(std::vector<CounterPoint>& points, std::int64_t& stride, const CounterPoint& sample,
            std::size_t mostPoints) {
  if (!points.empty() && points.back().count < stride) return join(points.back(), sample);
  points.push_back(sample);
  if (points.size() / 2 <= mostPoints) return;
  halve(points);
  stride *= 2;
}

/// False when no sample of the block belongs to the requested runs.
Result<bool> mayHoldRuns(const model::ProfileSource& source, const CounterRequest& request,
                         std::size_t block) {
  PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::CounterSample>(block));
  return ranges[kCountersRunColumn].mayMeet(request.firstRun.value, request.lastRun.value);
}

/// The blocks to read and the block before them, because a counter keeps its value until the next sample.
Result<std::vector<std::size_t>> blocksOf(const model::ProfileSource& source, const CounterRequest& request) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::CounterSample>());
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (request.firstRun.valid() && blocks[i].rows > 0) {
      PIPESCOPE_ASSIGN(const bool meets, mayHoldRuns(source, request, i));
      if (!meets) continue;
      if (wanted.empty() && i > 0) wanted.push_back(i - 1);
    }
    wanted.push_back(i);
  }
  return wanted;
}

}  // namespace

Result<std::vector<CounterSeries>> counterSeries(const model::ProfileSource& source, const Catalog& catalog,
                                                 const CounterRequest& request, base::Progress& progress) {
  PIPESCOPE_ASSIGN(const model::Rows<model::Counter> counters, source.rows<model::Counter>());
  std::vector<CounterSeries> all;
  std::unordered_map<std::int64_t, std::size_t> places;
  for (const model::Counter& row : *counters) {
    if (row.executable.valid() && row.executable != request.executable) continue;
    if (row.device.valid() ? !request.ofDevices : !request.ofWhole) continue;
    places[row.id.value] = all.size();
    all.emplace_back().counter = row;
  }
  std::vector<std::int64_t> strides(all.size(), 1);
  std::vector<bool> begun(all.size());  // true for a series that has a sample of the requested runs
  PIPESCOPE_ASSIGN(const std::vector<std::size_t> blocks, blocksOf(source, request));
  for (std::size_t i = 0; i < blocks.size() && !all.empty(); ++i) {
    if (progress.cancelled()) return base::cancelled("Reading the counters was stopped.");
    PIPESCOPE_ASSIGN(const model::Rows<model::CounterSample> rows,
                     source.block<model::CounterSample>(blocks[i]));
    for (const model::CounterSample& row : *rows) {
      if (request.firstRun.valid() && request.lastRun < row.run) continue;
      const auto place = places.find(row.counter.value);
      if (place == places.end() || !std::isfinite(row.value)) continue;
      const bool isBefore = request.firstRun.valid() && row.run < request.firstRun;
      if (isBefore && begun[place->second]) continue;
      begun[place->second] = !isBefore;
      CounterSeries& series = all[place->second];
      const model::DeviceId clock =
          series.counter.device.valid() ? series.counter.device : model::DeviceId(0);
      const Ticks time =
          base::convertRoundUp(row.time, catalog.timebase(clock), catalog.timebase(model::DeviceId(0)));
      // Only the last one of the samples before the runs still holds.
      if (isBefore) series.points.clear(), series.samples = 0;
      // Points must ascend, but a damaged file may have them in any order.
      const Ticks before = series.points.empty() ? time : series.points.back().time;
      append(series.points, strides[place->second],
             {std::max(time, before), series.samples++, 1, row.value, row.value, row.value},
             request.mostPoints);
    }
  }
  all.erase(std::remove_if(all.begin(), all.end(), [](const auto& series) { return series.points.empty(); }),
            all.end());
  for (CounterSeries& series : all) {
    while (series.points.size() > request.mostPoints) halve(series.points);
    series.smallest = series.largest = series.points.front().smallest;
    for (const CounterPoint& point : series.points) {
      series.smallest = std::min(series.smallest, point.smallest);
      series.largest = std::max(series.largest, point.largest);
    }
  }
  return all;
}

Result<std::optional<double>> lastValue(const model::ProfileSource& source, std::string_view name) {
  PIPESCOPE_ASSIGN(const model::Rows<model::Counter> counters, source.rows<model::Counter>());
  std::set<model::CounterId> wanted;
  for (const model::Counter& row : *counters) {
    if (row.name == name && !row.device.valid()) wanted.insert(row.id);
  }
  if (wanted.empty()) return std::optional<double>();
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::CounterSample>());
  for (std::size_t i = blocks.size(); i-- > 0;) {
    PIPESCOPE_ASSIGN(const model::Rows<model::CounterSample> rows, source.block<model::CounterSample>(i));
    for (std::size_t r = rows->size(); r-- > 0;) {
      if (wanted.contains((*rows)[r].counter)) return std::optional<double>((*rows)[r].value);
    }
  }
  return std::optional<double>();
}

std::ptrdiff_t pointAt(const CounterSeries& series, Ticks time) {
  const auto after = std::partition_point(series.points.begin(), series.points.end(),
                                          [&](const CounterPoint& point) { return point.time <= time; });
  return after - series.points.begin() - 1;
}

}  // namespace pipescope::analysis
