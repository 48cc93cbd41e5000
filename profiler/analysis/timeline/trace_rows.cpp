#include <algorithm>
#include <type_traits>

#include "profiler/analysis/launches.h"
#include "profiler/analysis/timeline/trace_draft.h"
#include "profiler/analysis/timeline/trace_tracks.h"

namespace pipescope::analysis {
namespace {

class RowsReader {
 public:
  explicit RowsReader(TraceDraft& draft) : draft_(draft) {}

  base::Status read() {
    if (draft_.trace->far) return readFar();
    PIPESCOPE_TRY(readPlacements());
    PIPESCOPE_TRY(readWaits());
    return readTransfers();
  }

 private:
  /// Visits the rows of the wanted runs in blocks that overlap the window.
  template <class Row, class Visit>
  base::Status forEachRow(double from, const char* what, Visit&& visit) {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, draft_.source.blocks<Row>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(draft_.report(from, i, blocks.size(), what));
      if (!draft_.inWindow(blocks[i])) continue;
      if constexpr (std::is_same_v<Row, model::Transfer>) {
        if (draft_.withoutArrows && blocks[i].rows > 0) {
          PIPESCOPE_ASSIGN(const bool only, draft_.holdsArrowsOnly(i));
          if (only) continue;
        }
      }
      PIPESCOPE_ASSIGN(const model::Rows<Row> rows, draft_.source.block<Row>(i));
      for (const Row& row : *rows) {
        if (draft_.wanted.count(row.run) > 0) visit(row);
      }
    }
    return {};
  }

  base::Status readPlacements() {
    return forEachRow<model::Placement>(0.5, "reading placements",
                                        [&](const model::Placement& row) { takePlacement(row); });
  }

  void takePlacement(const model::Placement& row) {
    const DeviceTrace* device = draft_.deviceOf(row.device);
    if (device == nullptr || row.end < row.start) {
      ++draft_.trace->damagedRows;
      return;
    }
    TracePlacement placement;
    placement.id = row.id;
    placement.start = draft_.toAxis(*device, row.start);
    placement.end = draft_.toAxis(*device, row.end);
    if (!draft_.inWindow(placement.start, placement.end)) return;
    const auto segment = draft_.segmentIndex.find(row.segment);
    if (segment != draft_.segmentIndex.end()) placement.segment = segment->second;
    placement.run = row.run;
    placement.replica = row.replica;
    placement.stage = row.stage;
    placement.microBatch = row.microBatch;
    placement.iteration = row.iteration;
    placement.slot = row.slot;
    placement.pass = row.pass;
    draft_.placements[static_cast<std::size_t>(draft_.deviceIndex[row.device])].push_back(placement);
  }

  base::Status readWaits() {
    return forEachRow<model::Wait>(0.7, "reading waits", [&](model::Wait row) {
      const DeviceTrace* device = draft_.deviceOf(row.device);
      if (device == nullptr || row.end < row.start) {
        ++draft_.trace->damagedRows;
        return;
      }
      row.start = draft_.toAxis(*device, row.start);
      row.end = draft_.toAxis(*device, row.end);
      if (draft_.inWindow(row.start, row.end))
        draft_.waits[static_cast<std::size_t>(draft_.deviceIndex[row.device])].push_back(row);
    });
  }

  base::Status readTransfers() {
    PIPESCOPE_TRY(forEachRow<model::Transfer>(0.8, "reading transfers", [&](model::Transfer row) {
      const bool launches = isLaunch(draft_.catalog, row);
      const std::int32_t from = draft_.trace->deviceOfLane(row.fromLane),
                         to = draft_.trace->deviceOfLane(row.toLane);
      if (row.end < row.start || (from < 0 && to < 0)) {
        if (!launches) ++draft_.trace->damagedRows;
        return;
      }
      const DeviceTrace& clock = draft_.trace->devices[static_cast<std::size_t>(from >= 0 ? from : to)];
      row.start = draft_.toAxis(clock, row.start);
      row.end = draft_.toAxis(clock, row.end);
      if (draft_.inWindow(row.start, row.end))
        (launches ? draft_.trace->launches : draft_.trace->transfers).push_back(row);
    }));
    std::ranges::stable_sort(draft_.trace->launches, {}, &model::Transfer::end);
    std::stable_sort(draft_.trace->transfers.begin(), draft_.trace->transfers.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    shareTransfers(*draft_.trace);
    return {};
  }

  base::Status readFar() {
    const auto inside = [&](const model::LevelNode& node) {
      const DeviceTrace* device = draft_.deviceOf(model::DeviceId(node.owner));
      return device != nullptr && draft_.toAxis(*device, node.end) >= draft_.trace->loadedFrom &&
             draft_.toAxis(*device, node.start) <= draft_.trace->loadedTo;
    };
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(
        64, draft_.request.mostRows /
                std::max<std::int64_t>(1, static_cast<std::int64_t>(draft_.trace->devices.size()))));
    PIPESCOPE_ASSIGN(draft_.farPlacements, readLevels(draft_.source, model::LevelContent::placements, most,
                                                      inside, draft_.progress));
    PIPESCOPE_ASSIGN(draft_.farWaits,
                     readLevels(draft_.source, model::LevelContent::waits, most, inside, draft_.progress));
    for (Levels* levels : {&draft_.farPlacements, &draft_.farWaits}) {
      for (auto& [key, nodes] : *levels) {
        const DeviceTrace& device = *draft_.deviceOf(model::DeviceId(key.first));
        for (model::LevelNode& node : nodes)
          node.start = draft_.toAxis(device, node.start), node.end = draft_.toAxis(device, node.end);
      }
    }
    shareTransfers(*draft_.trace);
    return {};
  }

  TraceDraft& draft_;
};

}  // namespace

base::Status readTraceRows(TraceDraft& draft) {
  return RowsReader(draft).read();
}

}  // namespace pipescope::analysis
