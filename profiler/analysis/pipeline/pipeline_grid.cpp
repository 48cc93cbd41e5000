#include "profiler/analysis/pipeline/pipeline_grid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/pipeline/bubble.h"
#include "profiler/analysis/pipeline/waits.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/base/short_names.h"

namespace pipescope::analysis {
namespace {

constexpr std::int64_t kMostForPath = 300'000;  // a call with more placements shows no critical path
constexpr std::size_t kPipelineGridRunColumn = 5, kIterationColumn = 11;

using PipelineGridKey =
    std::tuple<std::int32_t, std::int32_t, bool, bool>;  // stage, micro-batch, forward, weight gradient

class Builder {
 public:
  Builder(const model::ProfileSource& source, const Catalog& catalog, const PipelineRequest& request,
          base::Progress& progress)
      : source_(source), catalog_(catalog), request_(request), progress_(progress) {}

  Result<PipelineGrid> build() {
    const model::Run* run = findRun();
    takeRows();
    if (run == nullptr || grid_.rows.empty()) return std::move(grid_);
    grid_.run = run->id;
    const model::Executable* executable = catalog_.executable(request_.executable);
    grid_.microBatches = executable == nullptr ? 0 : executable->microBatches;
    grid_.iterations =
        executable == nullptr || executable->kind != model::ExecutableKind::training
            ? 1
            : static_cast<std::int32_t>(std::clamp<std::int64_t>(executable->deviceIterations, 1, 1 << 30));
    PIPESCOPE_ASSIGN(grid_.iteration, wantedIteration(*run));
    const std::int64_t perMicroBatch = static_cast<std::int64_t>(grid_.rows.size()) * 2;
    grid_.shownMicroBatches =
        std::max<std::int64_t>(1, request_.mostCells / std::max<std::int64_t>(1, perMicroBatch));
    PIPESCOPE_TRY(readCells(*run));
    finishCells();
    if (grid_.cells.empty()) return std::move(grid_);
    makeColumns();
    findPhases();
    std::int64_t stages = 0;
    for (const PipelineRow& row : grid_.rows) stages += static_cast<std::int64_t>(row.stages.size());
    grid_.whole = !catalog_.measured() || executable == nullptr || stages >= executable->stages;
    if (grid_.whole) {
      PIPESCOPE_TRY(markCritical(*run));
    } else {
      grid_.firstFullColumn = grid_.firstFullSlot = -1;
    }
    return std::move(grid_);
  }

 private:
  const model::Run* findRun() const {
    if (!request_.run.valid()) return catalog_.lastRunOf(request_.executable);
    for (const model::Run* run : catalog_.runsOf(request_.executable)) {
      if (run->id == request_.run) return run;
    }
    return nullptr;
  }

  void takeRows() {
    for (const model::Stage* stage : catalog_.stagesOf(request_.executable)) {
      const RowNumber* const known = rowOf_.find(stage->device);
      if (known != nullptr && known->number >= 0) {
        grid_.rows[static_cast<std::size_t>(known->number)].stages.push_back(stage->index);
        continue;
      }
      const model::Device* device = catalog_.device(stage->device);
      if (device == nullptr) continue;
      rowOf_[stage->device].number = static_cast<std::int32_t>(grid_.rows.size());
      grid_.rows.push_back({stage->device, device->name, {}, {stage->index}, {}, {}});
    }
    nameShortly();
  }

  void nameShortly() {
    std::vector<std::string> names;
    std::map<model::DeviceId, std::size_t> at;
    for (const model::Device& device : catalog_.devices) {
      at[device.id] = names.size();
      names.push_back(device.name);
    }
    names = base::shortNames(names);
    for (PipelineRow& row : grid_.rows) row.shortName = names[at[row.device]];
  }

  bool mayHold(const std::vector<model::ColumnRange>& ranges, model::RunId run) const {
    return ranges[kPipelineGridRunColumn].mayHold(run.value) &&
           (grid_.iterations == 1 || ranges[kIterationColumn].mayMeet(grid_.iteration - 1, grid_.iteration));
  }

  /// The iteration that was asked for, or else the main one. Those of an emulated call are all whole, so that
  /// the first one is shown without reading the others.
  Result<std::int32_t> wantedIteration(const model::Run& run) const {
    if (request_.iteration) return *request_.iteration;
    if (catalog_.iterationsFillCalls() || grid_.iterations == 1) return 0;
    PIPESCOPE_ASSIGN(const auto placements, rowsOfRun<model::Placement>(source_, run));
    const std::vector<IterationSpan> spans = iterationsOf(catalog_, placements, run);
    return spans.empty() ? 0 : spans[mainIteration(spans)].iteration;
  }

  base::Status readCells(const model::Run& run) {
    // The passes of all iterations tell where the iterations of a recorded run begin and end, so all are
    // read.
    const bool bounded = !catalog_.iterationsFillCalls();
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Placement>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (progress_.cancelled()) return base::cancelled("Reading the pipeline was stopped.");
      if (blocks[i].rows > 0) {
        PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Placement>(i));
        if (bounded ? !ranges[kPipelineGridRunColumn].mayHold(run.id.value) : !mayHold(ranges, run.id))
          continue;
      }
      PIPESCOPE_TRY(forEachRowOfBlock<model::Placement>(source_, i, [&](const model::Placement& row) {
        if (row.run != run.id) return;
        if (bounded && row.replica != 0) return;  // Their clocks may have nothing in common.
        const Ticks end = catalog_.toAxis(row.device, row.end);
        ends_.add(row.run, row.iteration, end);
        if (bounded) ends_.addStart(row.run, row.iteration, catalog_.toAxis(row.device, row.start));
        if (grid_.iterations == 1 || row.iteration == grid_.iteration) take(row, end);
      }));
    }
    grid_.meanStepTime = static_cast<double>((run.end - run.start).count) / grid_.iterations;
    const auto spans = ends_.spansOf({run}, grid_.iterations - 1);
    if (bounded) grid_.meanStepTime = meanStepTime(spans);
    const IterationSpan* span = findIteration(spans, grid_.iteration);
    grid_.span = span != nullptr ? *span : IterationSpan{run.id, grid_.iteration, run.start, run.end};
    return {};
  }

  /// `end`: of the placement, in ticks of device 0.
  void take(const model::Placement& row, Ticks end) {
    const RowNumber* const place = rowOf_.find(row.device);
    if (place == nullptr || place->number < 0 || !model::isComputePass(row.pass) || row.microBatch < 0 ||
        row.end < row.start)
      return;
    const Ticks start = catalog_.toAxis(row.device, row.start);
    flushStart_ = std::min(flushStart_, start);
    flushEnd_ = std::max(flushEnd_, end);
    grid_.rows[static_cast<std::size_t>(place->number)].busy += end - start;
    model::Placement pass = row;
    pass.start = start;
    pass.end = end;
    steady_.add(pass);
    if (row.microBatch >= grid_.shownMicroBatches) return;
    const bool forward = row.pass == model::Pass::forward;
    const PipelineGridKey key{row.stage, row.microBatch, forward, row.pass == model::Pass::weightGradient};
    auto [found, added] = cells_.try_emplace(key);
    PipelineCell& cell = found->second;
    if (added) {
      cell = {place->number, row.stage, row.microBatch, row.slot, row.pass, start, end, {}, 0, row.id, false};
      if (row.pass == model::Pass::recompute) cell.pass = model::Pass::backward;
    } else {
      if (start < cell.start) cell.placement = row.id;
      cell.start = std::min(cell.start, start);
      cell.end = std::max(cell.end, end);
    }
    if (row.pass == model::Pass::recompute) cell.recompute += end - start;
    placements_[row.id] = key;
  }

  void finishCells() {
    std::int32_t most = -1;
    for (auto& [key, cell] : cells_) {
      grid_.cells.push_back(cell);
      most = std::max(most, cell.microBatch);
      grid_.hasSlots = grid_.hasSlots || cell.slot >= 0;
    }
    grid_.microBatches = std::max<std::int64_t>(grid_.microBatches, most + 1);
    grid_.shownMicroBatches = std::min(grid_.shownMicroBatches, grid_.microBatches);
    std::stable_sort(grid_.cells.begin(), grid_.cells.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    for (std::size_t i = 0; i < grid_.cells.size(); ++i) {
      PipelineCell& cell = grid_.cells[i];
      PipelineRow& row = grid_.rows[static_cast<std::size_t>(cell.row)];
      // The cells of a row must not overlap, but in a damaged file they may.
      if (!row.cells.empty()) cell.start = std::max(cell.start, at(row.cells.back()).end);
      cell.end = std::max(cell.end, cell.start);
      row.cells.push_back(static_cast<std::int32_t>(i));
    }
  }

  const PipelineCell& at(std::int32_t index) const { return grid_.cells[static_cast<std::size_t>(index)]; }

  void makeColumns() {
    grid_.hasSlots ? columnsBySlot() : columnsByOrder();
    std::vector<std::size_t> filled(static_cast<std::size_t>(grid_.columns), 0);
    for (const PipelineCell& cell : grid_.cells) ++filled[static_cast<std::size_t>(cell.column)];
    const std::size_t rows = usedRows();
    for (std::size_t c = 0; c < filled.size() && grid_.firstFullColumn < 0; ++c) {
      if (filled[c] >= rows) grid_.firstFullColumn = static_cast<std::int32_t>(c);
    }
    if (!grid_.hasSlots) return;
    // The first cycle in which every row has both halves.
    const std::size_t halves = hasBackward() ? 2 : 1;
    std::map<std::int32_t, std::size_t> bySlot;
    for (const PipelineCell& cell : grid_.cells) ++bySlot[cell.slot];
    for (const auto& [slot, count] : bySlot) {
      if (count < rows * halves) continue;
      grid_.firstFullSlot = slot;
      grid_.firstFullColumn = grid_.columns;
      for (const PipelineCell& cell : grid_.cells) {
        if (cell.slot == slot) grid_.firstFullColumn = std::min(grid_.firstFullColumn, cell.column);
      }
      break;
    }
  }

  std::size_t usedRows() const {
    return static_cast<std::size_t>(std::count_if(grid_.rows.begin(), grid_.rows.end(),
                                                  [](const auto& row) { return !row.cells.empty(); }));
  }
  bool hasBackward() const {
    return std::any_of(grid_.cells.begin(), grid_.cells.end(),
                       [](const auto& cell) { return cell.pass != model::Pass::forward; });
  }

  /// Makes a column for each half of a cycle that is used.
  void columnsBySlot() {
    std::map<std::pair<std::int32_t, int>, std::int32_t> columns;
    const auto half = [](const PipelineCell& cell) {
      return cell.pass == model::Pass::forward ? 0 : cell.pass == model::Pass::backward ? 1 : 2;
    };
    for (const PipelineCell& cell : grid_.cells) columns[{cell.slot, half(cell)}] = 0;
    for (auto& [key, column] : columns) {
      column = grid_.columns++;
      static const char* const names[] = {" F", " B", " W"};
      grid_.heads.push_back(std::to_string(key.first) + names[key.second]);
    }
    for (PipelineCell& cell : grid_.cells) cell.column = columns[{cell.slot, half(cell)}];
  }

  /// Gives every cell one column: in its device's order, and after the cells of its neighbours that it needs.
  void columnsByOrder() {
    std::map<PipelineGridKey, std::int32_t> ends;
    std::vector<std::int32_t> free(grid_.rows.size(), 0);
    for (PipelineCell& cell : grid_.cells) {
      const bool forward = cell.pass == model::Pass::forward;
      std::int32_t column = free[static_cast<std::size_t>(cell.row)];
      const PipelineGridKey before{forward ? cell.stage - 1 : cell.stage + 1, cell.microBatch, forward,
                                   false};
      if (const auto need = ends.find(before); need != ends.end()) column = std::max(column, need->second);
      cell.column = column;
      free[static_cast<std::size_t>(cell.row)] = column + 1;
      ends[{cell.stage, cell.microBatch, forward, cell.pass == model::Pass::weightGradient}] = column + 1;
      grid_.columns = std::max(grid_.columns, column + 1);
    }
    for (std::int32_t c = 0; c < grid_.columns; ++c) grid_.heads.push_back(std::to_string(c));
  }

  void findPhases() {
    grid_.start = flushStart_;
    grid_.end = flushEnd_;
    const TimeSpan steady = steady_.find();
    grid_.rampUpEnd = Ticks(std::llround(steady.start));
    grid_.rampDownStart = Ticks(std::llround(steady.end));
  }

  base::Status markCritical(const model::Run& run) {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Placement>());
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].rows == 0) continue;
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Placement>(i));
      if (ranges[kPipelineGridRunColumn].mayHold(run.id.value)) rows += blocks[i].rows;
    }
    if (rows > kMostForPath) return {};
    PIPESCOPE_ASSIGN(const std::vector<CriticalLink> path, criticalPath(source_, catalog_, run.id));
    std::set<PipelineGridKey> critical;
    for (const CriticalLink& link : path) {
      const auto known = placements_.find(link.placement);
      if (link.kind == CriticalLink::Kind::placement && known != placements_.end())
        critical.insert(known->second);
    }
    for (PipelineCell& cell : grid_.cells) {
      const bool forward = cell.pass == model::Pass::forward;
      cell.critical = critical.count({cell.stage, cell.microBatch, forward,
                                      cell.pass == model::Pass::weightGradient}) > 0;
    }
    grid_.path = pathSums(path, grid_.span.start, grid_.span.end);
    grid_.criticalKnown = true;
    return {};
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  const PipelineRequest& request_;
  base::Progress& progress_;
  PipelineGrid grid_;
  struct RowNumber {
    std::int32_t number = -1;  ///< index into PipelineGrid::rows; −1: the device holds no stage
  };
  PerDevice<RowNumber> rowOf_;
  std::map<PipelineGridKey, PipelineCell> cells_;
  std::map<model::PlacementId, PipelineGridKey> placements_;
  SteadyPart steady_;  // steady part of the passes of the whole flush, in ticks of device 0
  IterationEnds ends_;
  Ticks flushStart_{INT64_MAX}, flushEnd_{INT64_MIN};
};

}  // namespace

Result<PipelineGrid> pipelineGrid(const model::ProfileSource& source, const Catalog& catalog,
                                  const PipelineRequest& request, base::Progress& progress) {
  if (catalog.executable(request.executable) == nullptr)
    return base::badInput("The profile has no such executable; choose one of those it lists.");
  return Builder(source, catalog, request, progress).build();
}

}  // namespace pipescope::analysis
