#include "profiler/import/flow_pairs.h"

#include <algorithm>
#include <tuple>

namespace pipescope::importing {
namespace {

bool isLaunchArrow(const std::string& category) {
  return category == "ac2g" || category == "async_cpu_to_gpu" || category == "async_gpu";
}

}  // namespace

void FlowPairs::addSlice(const TraceEvent& event, bool onAccelerator, model::LaneId lane, base::Ticks start) {
  const ArgumentValue* correlation = event.find(Argument::correlation);
  if (correlation == nullptr || correlation->text || correlation->value <= 0) return;
  ends_.push_back({correlation->value, -1, !onAccelerator, lane, start});
  correlated_ = correlated_ || onAccelerator;
}

void FlowPairs::addFlow(const TraceEvent& event, const std::string& category, model::LaneId lane,
                        base::Ticks time) {
  if (correlated_ && isLaunchArrow(category)) return;
  ends_.push_back({event.id, static_cast<std::int32_t>(event.category.value),
                   event.kind == EventKind::flowStart, lane, time});
}

void FlowPairs::write(record::Recorder& recorder) {
  std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return std::tie(a.category, a.id, b.from, a.time, a.lane) <
           std::tie(b.category, b.id, a.from, b.time, b.lane);
  });
  std::vector<model::Transfer> transfers;
  for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
    // Of one id: where it comes from, then where it goes to. Ids are used again, so the n-th start is that of
    // the n-th end.
    const auto same = [&](const End& other) {
      return other.category == ends_[i].category && other.id == ends_[i].id;
    };
    std::size_t last = i, starts = 0;
    for (; last < ends_.size() && same(ends_[last]); ++last) starts += ends_[last].from ? 1 : 0;
    for (std::size_t k = 0; k < starts && i + starts + k < last; ++k) {
      const End &from = ends_[i + k], &to = ends_[i + starts + k];
      model::Transfer transfer;
      transfer.fromLane = from.lane;
      transfer.toLane = to.lane;
      transfer.kind = model::TransferKind::hostIn;
      transfer.start = from.time;
      transfer.end = std::max(from.time, to.time);
      transfer.run = model::RunId(0);
      transfers.push_back(transfer);
    }
    i = last - 1;
  }
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  for (const model::Transfer& transfer : transfers) recorder.add(transfer);
}

}  // namespace pipescope::importing
