#include "profiler/geometry/timeline/timeline_model.h"

#include <algorithm>
#include <cmath>

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

/// The steps by time, without those that begin before the one before has ended.
analysis::FlameRow tileRowOf(const analysis::TraceSegment& segment) {
  analysis::FlameRow row;
  Ticks reached, longest;
  for (std::size_t i = 0; i < segment.steps.size(); ++i) {
    const model::Step& step = segment.steps[i];
    if (step.offset < reached || step.ticks.count <= 0) continue;
    reached = step.offset + step.ticks;
    const std::int32_t name = i < segment.stepNames.size() ? segment.stepNames[i] : 0;
    row.boxes.push_back({step.offset, reached, name, static_cast<std::int32_t>(i), step.kind});
    if (step.ticks <= longest) continue;
    longest = step.ticks;
    row.widest = static_cast<std::int32_t>(row.boxes.size()) - 1;
  }
  return row;
}

/// Returns for each segment the units of the device on which a placement runs it.
std::vector<std::int64_t> unitsBySegment(const analysis::Trace& trace) {
  std::vector<std::int64_t> units(trace.segments.size(), 1);
  for (const analysis::DeviceTrace& device : trace.devices) {
    for (const analysis::TraceTrack& track : device.tracks) {
      for (const analysis::TracePlacement& placement : track.placements) {
        if (placement.segment >= 0) units[static_cast<std::size_t>(placement.segment)] = device.units;
      }
    }
  }
  return units;
}

void addTiles(TimelineModel& model, const analysis::Trace& trace) {
  const std::vector<std::int64_t> units = unitsBySegment(trace);
  for (std::size_t s = 0; s < trace.segments.size(); ++s) {
    SegmentIndex& index = model.segments[s];
    index.tileRow = tileRowOf(trace.segments[s]);
    index.tileIndex = rowIndex(index.tileRow);
    index.tileBands.assign(index.tileRow.boxes.size() * kTileBands, 0);
    for (std::size_t b = 0; b < index.tileRow.boxes.size(); ++b) {
      const auto step = static_cast<std::size_t>(index.tileRow.boxes[b].step);
      if (step >= model.tiles->steps[s].size()) continue;
      const std::vector<double> shares =
          tileShares(model.tiles->steps[s][step], units[s], trace.segments[s].steps[step].ticks, kTileBands);
      for (int band = 0; band < kTileBands; ++band) {
        index.tileBands[b * kTileBands + static_cast<std::size_t>(band)] =
            static_cast<std::uint8_t>(std::lround(shares[static_cast<std::size_t>(band)] * 255));
      }
    }
  }
}

}  // namespace

std::vector<double> tileShares(const std::vector<analysis::UnitTicks>& spans, std::int64_t units,
                               base::Ticks length, int bands) {
  std::vector<double> shares(static_cast<std::size_t>(bands), 0);
  if (length.count <= 0 || units <= 0) return shares;
  const double perBand = static_cast<double>(units) / bands;
  for (const analysis::UnitTicks& span : spans) {
    const double worked =
        std::min(1.0, static_cast<double>(span.ticks.count) / static_cast<double>(length.count));
    const double from = static_cast<double>(span.firstUnit),
                 to = std::min(static_cast<double>(units), from + static_cast<double>(span.unitCount));
    const int first = std::max(0, static_cast<int>(from / perBand));
    for (int band = first; band < bands && band * perBand < to; ++band) {
      const double inside = std::min(to, (band + 1) * perBand) - std::max(from, band * perBand);
      if (inside > 0) shares[static_cast<std::size_t>(band)] += worked * inside / perBand;
    }
  }
  for (double& share : shares) share = std::min(share, 1.0);
  return shares;
}

std::shared_ptr<const TimelineModel> TimelineModel::make(
    std::shared_ptr<const analysis::Trace> trace,
    std::shared_ptr<const std::vector<analysis::CounterSeries>> counters,
    std::shared_ptr<const analysis::TileTimes> tiles) {
  auto model = std::make_shared<TimelineModel>();
  model->counters = std::move(counters);
  model->tiles = std::move(tiles);
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
  if (model->tiles && model->tiles->recorded) addTiles(*model, *trace);
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
