#include "profiler/analysis/host/host_timeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "profiler/analysis/block_walk.h"
#include "profiler/base/ids.h"

namespace pipescope::analysis {
namespace {

/// Times of a damaged file may be anything. Within these limits differences and sums of two do not overflow.
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 8;

constexpr std::int32_t kMostRows = HostItem::kMostRows;

Ticks limited(Ticks time) {
  return Ticks(std::clamp(time.count, -kLatest, kLatest));
}

class HostReader {
 public:
  HostReader(const model::ProfileSource& source, base::Progress& progress)
      : source_(source), progress_(progress) {}

  base::Result<std::shared_ptr<const HostTimeline>> read() {
    PIPESCOPE_TRY(readNames());
    PIPESCOPE_TRY(readSpans());
    PIPESCOPE_TRY(readSeries());
    if (!first_) return std::shared_ptr<const HostTimeline>(std::make_shared<HostTimeline>());
    PIPESCOPE_TRY(readCalls());
    takeTables();
    beginAtZero();
    for (HostLane& lane : line_.lanes) {
      PIPESCOPE_TRY(stopped(progress_));
      nest(lane);
    }
    std::erase_if(line_.lanes,
                  [](const HostLane& lane) { return lane.spans.empty() && lane.events.empty(); });
    numberThreads();
    std::erase_if(line_.curves, [](const HostCurve& curve) { return curve.points.empty(); });
    return std::shared_ptr<const HostTimeline>(std::make_shared<HostTimeline>(std::move(line_)));
  }

 private:
  base::Status readNames() {
    PIPESCOPE_TRY(forAllRows<model::HostThread>(source_, [&](const model::HostThread& row) {
      HostLane& lane = lanes_.emplace_back();
      lane.process = row.process;
      lane.name = row.name.empty() ? "thread " + std::to_string(lanes_.size()) : row.name;
    }));
    return forAllRows<model::HostName>(source_, [&](const model::HostName& row) {
      names_.push_back({row.channel, row.name});
    });
  }

  base::Status readSpans() {
    return forAllRows<model::HostSpan>(source_, [&](const model::HostSpan& row) {
      HostLane* lane = lanes_.find(row.thread);
      if (lane == nullptr || !names_.contains(row.name)) return;
      const Ticks start = limited(row.start), end = limited(row.end);
      const auto name = static_cast<std::int32_t>(row.name.value);
      include(start);
      if (end <= start) {
        lane->events.push_back({start, name});
      } else {
        include(end);
        lane->spans.push_back({start, end, name});
      }
    });
  }

  base::Status readSeries() {
    PIPESCOPE_TRY(forAllRows<model::HostSeries>(source_, [&](const model::HostSeries& row) {
      HostCurve& curve = curves_.emplace_back();
      curve.chart = row.chart;
      curve.name = row.name;
      curve.unit = row.unit;
    }));
    return forAllRows<model::HostSample>(source_, [&](const model::HostSample& row) {
      HostCurve* curve = curves_.find(row.series);
      if (curve == nullptr || !std::isfinite(row.value)) return;
      const Ticks time = limited(row.time);
      include(time);
      curve->points.push_back({time, row.value});
    });
  }

  base::Status readCalls() {
    return forAllRows<model::Run>(source_, [&](const model::Run& row) {
      const Ticks start = limited(Ticks(row.wallStartNs)), end = limited(Ticks(row.wallEndNs));
      if (end <= start) return;
      include(start);
      include(end);
      line_.calls.push_back({row.name, start, end});
    });
  }

  /// Takes the tables over. No id of the file is looked up from here on.
  void takeTables() {
    const auto take = [](auto& from, auto& to) {
      to.assign(std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
      from.clear();
    };
    take(lanes_, line_.lanes);
    take(names_, line_.names);
    take(curves_, line_.curves);
  }

  /// Threads that follow each other may have the same name: "data reader", "data reader 2".
  void numberThreads() {
    std::map<std::pair<std::string, std::string>, int> seen;
    for (HostLane& lane : line_.lanes) {
      const int number = ++seen[{lane.process, lane.name}];
      if (number > 1) lane.name += " " + std::to_string(number);
    }
    // The main thread of each process comes first; the others are in the order in which they began.
    std::ranges::stable_sort(
        line_.lanes, {}, [](const HostLane& lane) { return std::pair(lane.process, lane.name != "main"); });
  }

  void include(Ticks time) {
    first_ = std::min(first_.value_or(time), time);
    last_ = std::max(last_.value_or(time), time);
  }

  void beginAtZero() {
    line_.zero = first_->count;
    line_.end = *last_ - *first_;
    for (HostLane& lane : line_.lanes) {
      for (HostItem& item : lane.spans) item.start = item.start - *first_, item.end = item.end - *first_;
      for (HostMark& mark : lane.events) mark.time = mark.time - *first_;
      std::ranges::stable_sort(lane.events, {}, &HostMark::time);
    }
    for (HostCall& call : line_.calls) call.start = call.start - *first_, call.end = call.end - *first_;
    std::ranges::stable_sort(line_.calls, {}, &HostCall::start);
    for (HostCurve& curve : line_.curves) {
      for (HostPoint& point : curve.points) point.time = point.time - *first_;
      std::ranges::stable_sort(curve.points, {}, &HostPoint::time);
      if (curve.points.empty()) continue;
      curve.smallest = curve.largest = curve.points.front().value;
      for (const HostPoint& point : curve.points) {
        curve.smallest = std::min(curve.smallest, point.value);
        curve.largest = std::max(curve.largest, point.value);
        curve.mean += point.value / static_cast<double>(curve.points.size());
      }
    }
  }

  /// The first row from `row` on that is free. A span that overlaps another one without lying in it, as of
  /// generators, does not get the row below its parent.
  static std::int32_t freeRow(const HostItem& item, std::int32_t row, std::vector<Ticks>& endOfRow) {
    while (row < kMostRows && static_cast<std::size_t>(row) < endOfRow.size() &&
           endOfRow[static_cast<std::size_t>(row)] > item.start)
      ++row;
    if (row >= kMostRows) return kMostRows;
    endOfRow.resize(std::max(endOfRow.size(), static_cast<std::size_t>(row) + 1));
    endOfRow[static_cast<std::size_t>(row)] = item.end;
    return row;
  }

  /// Finds parents, rows and own times. Rows of a file ascend by the end of their spans, so of two equal
  /// spans the later row is around the earlier one.
  static void nest(HostLane& lane) {
    std::ranges::reverse(lane.spans);
    std::ranges::stable_sort(lane.spans, [](const HostItem& a, const HostItem& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<std::int32_t> open;  // the spans that may be around the next one; their ends descend
    std::vector<Ticks> endOfRow;
    Ticks covered;
    for (std::size_t i = 0; i < lane.spans.size(); ++i) {
      HostItem& item = lane.spans[i];
      const auto at = [&](std::int32_t place) -> HostItem& {
        return lane.spans[static_cast<std::size_t>(place)];
      };
      while (!open.empty() && (at(open.back()).end <= item.start || at(open.back()).end < item.end))
        open.pop_back();
      item.self = item.length();
      if (!open.empty()) item.parent = open.back();
      item.row = freeRow(item, item.parent < 0 ? 0 : at(item.parent).row + 1, endOfRow);
      lane.rows.resize(endOfRow.size());
      if (item.row < kMostRows)
        lane.rows[static_cast<std::size_t>(item.row)].push_back(static_cast<std::int32_t>(i));
      if (item.parent >= 0) {
        HostItem& parent = at(item.parent);
        parent.self = std::max(Ticks(0), parent.self - item.length());
      }
      if (item.end > covered) {
        lane.busy = lane.busy + (item.end - std::max(covered, item.start));
        covered = item.end;
      }
      open.push_back(static_cast<std::int32_t>(i));
    }
  }

  const model::ProfileSource& source_;
  base::Progress& progress_;
  base::IdVector<model::HostThreadId, HostLane> lanes_;
  base::IdVector<model::HostNameId, HostLabel> names_;
  base::IdVector<model::HostSeriesId, HostCurve> curves_;
  HostTimeline line_;
  std::optional<Ticks> first_, last_;
};

}  // namespace

std::string HostLane::title() const {
  return process.empty() ? name : name + " of " + process;
}

std::size_t HostTimeline::spanCount() const {
  std::size_t count = 0;
  for (const HostLane& lane : lanes) count += lane.spans.size();
  return count;
}

std::size_t HostTimeline::eventCount() const {
  std::size_t count = 0;
  for (const HostLane& lane : lanes) count += lane.events.size();
  return count;
}

base::Result<std::shared_ptr<const HostTimeline>> hostTimeline(const model::ProfileSource& source,
                                                               base::Progress& progress) {
  return HostReader(source, progress).read();
}

}  // namespace pipescope::analysis
