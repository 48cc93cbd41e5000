#include "profiler/geometry/timeline_model.h"

#include <algorithm>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

template <class List, class Length>
WidestIndex indexOf(const List& list, const Length& length) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(list.size());
  for (const auto& item : list) lengths.push_back(length(item));
  return WidestIndex(std::move(lengths));
}

WidestIndex rowIndex(const analysis::FlameRow& row) {
  return indexOf(row.boxes, [](const analysis::FlameBox& box) { return (box.end - box.offset).count; });
}

}  // namespace

std::shared_ptr<const TimelineModel> TimelineModel::make(
    std::shared_ptr<const analysis::Trace> trace,
    std::shared_ptr<const std::vector<analysis::CounterSeries>> counters) {
  auto model = std::make_shared<TimelineModel>();
  model->counters = std::move(counters);
  const auto span = [](const auto& item) { return (item.end - item.start).count; };
  for (const analysis::DeviceTrace& device : trace->devices) {
    auto& tracks = model->tracks.emplace_back();
    for (const analysis::TraceTrack& track : device.tracks)
      tracks.push_back({indexOf(track.activities, span), indexOf(track.placements, span)});
    auto& lanes = model->transfers.emplace_back();
    for (const analysis::TransferLane& lane : device.transferLanes) {
      lanes.push_back(indexOf(lane.transfers, [&](std::int32_t i) { return span(at(trace->transfers, i)); }));
    }
  }
  for (const analysis::TraceSegment& segment : trace->segments) {
    SegmentIndex& index = model->segments.emplace_back();
    for (const auto& rows : segment.flame) {
      auto& levels = index.flame.emplace_back();
      for (const analysis::FlameRow& row : rows) levels.push_back(rowIndex(row));
    }
    for (const analysis::FlameRow& row : segment.flat) index.flat.push_back(rowIndex(row));
  }
  for (const analysis::TraceSegment& segment : trace->segments) {
    model->passes.insert(segment.pass);
    for (const model::Step& step : segment.steps) model->kinds.insert(step.kind);
    for (const analysis::FlameRow& row : segment.flat) {
      for (const analysis::FlameBox& box : row.boxes) {
        if (box.step < 0) model->kinds.insert(box.kind);
      }
    }
  }
  for (const analysis::DeviceTrace& device : trace->devices) {
    for (const model::Wait& wait : device.tracks.front().waits) model->causes.insert(wait.cause);
    for (const analysis::TraceTrack& track : device.tracks) {
      for (const analysis::FarSpan& far : track.far) {
        if (far.waits) model->causes.insert(far.cause);
      }
    }
  }
  for (const model::Transfer& row : trace->transfers) model->transferKinds.insert(row.kind);
  for (std::size_t i = 0; i < trace->transfers.size(); ++i) {
    const model::Transfer& row = trace->transfers[i];
    if (row.microBatch < 0 || row.end == row.start) continue;
    model->transfersOf.emplace_back(MicroBatchKey{row.run.value, row.iteration, row.microBatch},
                                    static_cast<std::int32_t>(i));
  }
  std::sort(model->transfersOf.begin(), model->transfersOf.end());
  model->trace = std::move(trace);
  return model;
}

}  // namespace pipescope::geometry
