#include "profiler/geometry/timeline/pipeline_scene.h"

#include <algorithm>
#include <climits>

#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::geometry {
namespace {
constexpr int kPipelineSceneSetOff = 4, kCellPadding = 2;
}

PipelineScene::PipelineScene(std::shared_ptr<const analysis::PipelineGrid> grid, PipelineOptions options,
                             const PipelineMetrics& metrics, std::shared_ptr<const PipelineMarks> marks,
                             std::shared_ptr<const PipelineMarks> strips)
    : grid_(std::move(grid)),
      options_(options),
      metrics_(metrics),
      marks_(std::move(marks)),
      strips_(std::move(strips)) {
  if (!grid_) return;
  // A table has no gaps that stand for time.
  if (options_.grid || (marks_ && marks_->size() != grid_->rows.size())) marks_.reset();
  if (options_.grid || options_.path >= 0 || (strips_ && strips_->size() != grid_->rows.size()))
    strips_.reset();
  for (const auto& [list, rows] : {std::pair(&marks_, &markRows_), std::pair(&strips_, &stripRows_)}) {
    for (std::size_t row = 0; *list && row < (*list)->size(); ++row) {
      std::vector<std::int64_t> lengths;
      for (const PipelineMark& mark : (**list)[row]) lengths.push_back((mark.end - mark.start).count);
      rows->emplace_back(std::move(lengths));
    }
  }
  for (const analysis::PipelineRow& row : grid_->rows) {
    std::vector<std::int64_t> lengths;
    for (const std::int32_t cell : row.cells) lengths.push_back((endOf(cell) - startOf(cell)).count);
    rows_.emplace_back(std::move(lengths));
  }
  for (std::size_t i = 0; i < grid_->cells.size() && options_.path >= 0; ++i) {
    if (grid_->cells[i].microBatch == options_.path) path_.push_back(static_cast<std::int32_t>(i));
  }
}

Ticks PipelineScene::startOf(std::int32_t cell) const {
  const analysis::PipelineCell& row = at(grid_->cells, cell);
  return options_.grid ? Ticks(row.column * kColumnTicks) : row.start;
}
Ticks PipelineScene::endOf(std::int32_t cell) const {
  const analysis::PipelineCell& row = at(grid_->cells, cell);
  return options_.grid ? Ticks((row.column + 1) * kColumnTicks) : row.end;
}
Ticks PipelineScene::start() const {
  return !grid_ || options_.grid ? Ticks(0) : grid_->shownStart();
}
Ticks PipelineScene::end() const {
  if (!grid_) return Ticks(1);
  return options_.grid ? Ticks(std::max(1, grid_->columns) * kColumnTicks) : grid_->shownEnd();
}

int PipelineScene::height() const {
  return grid_ ? static_cast<int>(grid_->rows.size()) * (metrics_.row + metrics_.gap) : 0;
}

ColourRole PipelineScene::roleOf(const analysis::PipelineCell& cell) const {
  const bool backward = cell.pass != model::Pass::forward;
  if (options_.path >= 0) {
    if (cell.microBatch != options_.path) return ColourRole::dimmed;
    return backward ? ColourRole::pathBackward : ColourRole::pathForward;
  }
  return options_.byMicroBatch ? microBatchRole(cell.microBatch, backward) : geometry::roleOf(cell.pass);
}

std::string PipelineScene::labelOf(int cell) const {
  const analysis::PipelineCell& row = at(grid_->cells, cell);
  return passLabel(row.pass, row.microBatch);
}

void PipelineScene::drawMarks(Shapes& shapes, std::size_t row, const TimeView& view, int top,
                              const TextMeasure& measure) const {
  const std::vector<PipelineMark>& marks = (*marks_)[row];
  const int y = yOf(static_cast<std::int32_t>(row), top);
  foldVisible(
      markRows_[row], view, {0, view.width()}, [&](std::size_t i) { return marks[i].start; },
      [&](std::size_t i) { return marks[i].end; },
      [&](const Folded& folded) {
        const PipelineMark& mark = marks[folded.shown];
        const ColourRole role = options_.path >= 0 ? ColourRole::dimmed : mark.role;
        const int width = folded.right - folded.x;
        const Box box{folded.x, y, width >= kPipelineSceneSetOff ? width - 1 : width, metrics_.row};
        // Waits are hatched however narrow they are: their colours are close to those of the work waited for.
        mark.isWait ? shapes.extendHatch(role, box) : shapes.extend(role, box);
        if (!folded.alone()) return;
        std::string text = fitText(mark.name, box.width - 2 * kCellPadding, measure);
        if (text == mark.name) shapes.labels.push_back({box, std::move(text), role, mark.isWait});
      });
}

void PipelineScene::drawStrips(Shapes& shapes, std::size_t row, const TimeView& view, int top) const {
  constexpr int kStripEdge = 4, kLeastRow = 16;
  if (metrics_.row < kLeastRow) return;
  const std::vector<PipelineMark>& strips = (*strips_)[row];
  const int y = yOf(static_cast<std::int32_t>(row), top) + metrics_.row - kStripEdge;
  foldVisible(
      stripRows_[row], view, {0, view.width()}, [&](std::size_t i) { return strips[i].start; },
      [&](std::size_t i) { return strips[i].end; },
      [&](const Folded& folded) {
        // Two strong lines, which are painted above the cells.
        for (const int line : {y, y + 2})
          shapes.lines.push_back({folded.x, line, folded.right, line, strips[folded.shown].role, true});
      });
}

std::map<model::Pass, PipelineScene::Labelled> PipelineScene::labelledPasses(
    const std::vector<VisibleRow>& rows, const TimeView& view, const TextMeasure& measure) const {
  struct Room {
    int narrowest = INT_MAX, widest = 0, whole = 0, number = 0;
    bool merged = false;
    std::set<std::size_t> rows;
  };
  std::map<model::Pass, Room> rooms;
  for (const VisibleRow& row : rows) {
    std::map<model::Pass, Room> own;
    for (const Folded& folded : row.cells) {
      const analysis::PipelineCell& cell = at(grid_->cells, at(grid_->rows[row.row].cells, folded.shown));
      Room& room = own[cell.pass];
      room.merged = room.merged || !folded.alone();
      const int width = folded.right - folded.x - 1 - 2 * kCellPadding;
      // The ends of the view may cut a cell.
      if (folded.x > 0 && folded.right < view.width()) room.narrowest = std::min(room.narrowest, width);
      room.widest = std::max(room.widest, width);
      room.whole = std::max(room.whole, measure.width(passLabel(cell.pass, cell.microBatch)));
      room.number = std::max(room.number, measure.width(std::to_string(cell.microBatch)));
    }
    for (const auto& [pass, room] : own) {
      if (room.widest < room.number) continue;
      Room& all = rooms[pass];
      all.merged = all.merged || room.merged;
      all.narrowest = std::min(all.narrowest, room.narrowest);
      all.whole = std::max(all.whole, room.whole);
      all.number = std::max(all.number, room.number);
      all.rows.insert(row.row);
    }
  }
  std::map<model::Pass, Labelled> labels;
  for (auto& [pass, room] : rooms) {
    if (!room.merged && room.narrowest >= room.number)
      labels[pass] = {room.narrowest < room.whole, std::move(room.rows)};
  }
  return labels;
}

void PipelineScene::drawRow(Shapes& shapes, const VisibleRow& row,
                            const std::map<model::Pass, Labelled>& labels, const TimeView& view, int top,
                            const TextMeasure& measure) const {
  const std::vector<std::int32_t>& cells = grid_->rows[row.row].cells;
  const int y = yOf(static_cast<std::int32_t>(row.row), top);
  for (const Folded& folded : row.cells) {
    const std::int32_t index = cells[folded.shown];
    const analysis::PipelineCell& cell = at(grid_->cells, index);
    const int width = folded.right - folded.x;
    const Box box{folded.x, y, width >= kPipelineSceneSetOff ? width - 1 : width, metrics_.row};
    const ColourRole role = roleOf(cell);
    if (width < kPipelineSceneSetOff) {
      shapes.extend(role, box);
      continue;
    }
    // Recomputation is the first part of a backward pass. The parts must not overlap, because all boxes of a
    // colour are painted together.
    const bool parted =
        !options_.grid && options_.path < 0 && !options_.byMicroBatch && cell.recompute.count > 0;
    const int part =
        parted ? std::clamp(view.column(cell.start + cell.recompute) - folded.x, 0, box.width) : 0;
    shapes.fill(ColourRole::recompute, {box.x, box.y, part, box.height});
    shapes.fill(role, {box.x + part, box.y, box.width - part, box.height});
    if (options_.critical && cell.critical) shapes.outlines.push_back({box, ColourRole::critical});
    const auto label = labels.find(cell.pass);
    if (label == labels.end() || !label->second.rows.contains(row.row)) continue;
    std::string text = label->second.isShort ? std::to_string(cell.microBatch) : labelOf(index);
    if (measure.width(text) <= box.width - 2 * kCellPadding)
      shapes.labels.push_back({box, std::move(text), role, false});
  }
}

Shapes PipelineScene::draw(const TimeView& view, int top, int height, const TextMeasure& measure) const {
  Shapes shapes;
  std::vector<VisibleRow> rows;
  for (std::size_t row = 0; grid_ && row < grid_->rows.size(); ++row) {
    const int y = yOf(static_cast<std::int32_t>(row), top);
    if (y + metrics_.row <= 0 || y >= height) continue;
    const std::vector<std::int32_t>& cells = grid_->rows[row].cells;
    VisibleRow& visible = rows.emplace_back();
    visible.row = row;
    foldVisible(
        rows_[row], view, {0, view.width()}, [&](std::size_t i) { return startOf(cells[i]); },
        [&](std::size_t i) { return endOf(cells[i]); },
        [&](const Folded& folded) { visible.cells.push_back(folded); });
  }
  const std::map<model::Pass, Labelled> labels = labelledPasses(rows, view, measure);
  for (const VisibleRow& row : rows) {
    if (marks_) drawMarks(shapes, row.row, view, top, measure);
    drawRow(shapes, row, labels, view, top, measure);
    if (strips_) drawStrips(shapes, row.row, view, top);
  }
  return shapes;
}

Shapes PipelineScene::drawPhases(const TimeView& view, const TextMeasure& measure) const {
  Shapes shapes;
  if (!grid_ || grid_->cells.empty() || !grid_->hasPhases()) return shapes;
  const auto columnAt = [&](Ticks time, bool first) {
    if (!options_.grid) return time;
    // A phase of a table begins with the first column that starts in it.
    std::int32_t column = first ? grid_->columns : 0;
    for (const analysis::PipelineCell& cell : grid_->cells) {
      if (first && cell.start >= time) column = std::min(column, cell.column);
      if (!first && cell.end <= time) column = std::max(column, cell.column + 1);
    }
    return Ticks(column * kColumnTicks);
  };
  const Ticks up = columnAt(grid_->rampUpEnd, true),
              down = std::max(up, columnAt(grid_->rampDownStart, false));
  const struct {
    Ticks from, to;
    const char* name;
    ColourRole role;
  } phases[] = {{options_.grid ? start() : grid_->start, up, "ramp-up", ColourRole::lostFill},
                {up, down, "steady", ColourRole::lostUseful},
                {down, options_.grid ? end() : grid_->end, "ramp-down", ColourRole::lostFill}};
  for (const auto& phase : phases) {
    const int left = std::max(0, view.column(phase.from)),
              right = std::min(view.width(), view.column(phase.to));
    if (right <= left) continue;
    const Box box{left, 1, std::max(1, right - left - 1), metrics_.phases - 3};
    shapes.fill(phase.role, box);
    std::string text = fitText(phase.name, box.width - 6, measure);
    if (!text.empty()) shapes.labels.push_back({box, std::move(text), phase.role, false});
  }
  return shapes;
}

Shapes PipelineScene::drawHeads(const TimeView& view, const TextMeasure& measure) const {
  Shapes shapes;
  if (!grid_ || !options_.grid) return shapes;
  const double each = kColumnTicks / view.ticksPerPixel();
  if (each < 8) return shapes;
  const auto first = static_cast<std::int32_t>(std::max<std::int64_t>(0, view.start().count / kColumnTicks));
  for (std::int32_t c = first; c < grid_->columns; ++c) {
    const int left = view.column(Ticks(c * kColumnTicks)), right = view.column(Ticks((c + 1) * kColumnTicks));
    if (left >= view.width()) break;
    const Box box{left, 0, right - left, metrics_.head};
    std::string text = fitText(at(grid_->heads, c), box.width, measure);
    if (!text.empty() && text == at(grid_->heads, c))
      shapes.labels.push_back({box, std::move(text), ColourRole::dimmed, false});
  }
  return shapes;
}

std::vector<Arrow> PipelineScene::pathArrows(const TimeView& view, int top) const {
  std::vector<Arrow> arrows;
  for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
    const analysis::PipelineCell &from = at(grid_->cells, path_[i]), &to = at(grid_->cells, path_[i + 1]);
    if (from.row == to.row) continue;
    const Box a = boxOf(view, top, path_[i]), b = boxOf(view, top, path_[i + 1]);
    const bool down = b.y > a.y;
    arrows.push_back({std::min(a.right(), view.width()), down ? a.bottom() : a.y, b.x,
                      down ? b.y : b.bottom(),
                      to.pass == model::Pass::forward ? ColourRole::pathForward : ColourRole::pathBackward});
  }
  return arrows;
}

std::optional<int> PipelineScene::firstFull(const TimeView& view) const {
  if (!grid_ || !grid_->hasPhases() || grid_->firstFullColumn < 0) return std::nullopt;
  Ticks time(grid_->firstFullColumn * kColumnTicks);
  if (!options_.grid) {
    time = grid_->end;
    for (const analysis::PipelineCell& cell : grid_->cells) {
      if (cell.column == grid_->firstFullColumn) time = std::min(time, cell.start);
    }
  }
  const double x = view.x(time);
  if (x < 0 || x > view.width()) return std::nullopt;
  return view.column(time);
}

int PipelineScene::cellAt(const TimeView& view, int top, int x, int y) const {
  if (!grid_ || x < 0 || x >= view.width() || y + top < 0) return -1;
  const int pitch = metrics_.row + metrics_.gap, row = (y + top) / pitch;
  if (row >= static_cast<int>(rows_.size()) || (y + top) % pitch >= metrics_.row) return -1;
  const auto& cells = at(grid_->rows, row).cells;
  const std::size_t found = pickAt(
      at(rows_, row), view, x, 1, [&](std::size_t i) { return startOf(cells[i]); },
      [&](std::size_t i) { return endOf(cells[i]); });
  return found == cells.size() ? -1 : cells[found];
}

const PipelineMark* PipelineScene::markAt(const TimeView& view, int top, int x, int y) const {
  if (!marks_ || x < 0 || x >= view.width() || y + top < 0) return nullptr;
  const int pitch = metrics_.row + metrics_.gap, row = (y + top) / pitch;
  if (row >= static_cast<int>(markRows_.size()) || (y + top) % pitch >= metrics_.row) return nullptr;
  const std::vector<PipelineMark>& marks = at(*marks_, row);
  const std::size_t found = pickAt(
      at(markRows_, row), view, x, 1, [&](std::size_t i) { return marks[i].start; },
      [&](std::size_t i) { return marks[i].end; });
  return found == marks.size() ? nullptr : &marks[found];
}

Box PipelineScene::boxOf(const TimeView& view, int top, int cell) const {
  const int left = view.column(startOf(cell)), right = view.column(endOf(cell));
  return {left, yOf(at(grid_->cells, cell).row, top), std::max(1, right - left - 1), metrics_.row};
}

int PipelineScene::neighbour(int cell, int direction) const {
  if (!grid_ || cell < 0) return -1;
  const auto& cells = at(grid_->rows, at(grid_->cells, cell).row).cells;
  const auto here = std::find(cells.begin(), cells.end(), cell) - cells.begin() + direction;
  return here >= 0 && here < static_cast<std::ptrdiff_t>(cells.size()) ? at(cells, here) : -1;
}

int PipelineScene::alongPath(int cell, int direction) const {
  if (!grid_ || cell < 0) return -1;
  const std::int32_t microBatch = at(grid_->cells, cell).microBatch;
  for (int i = cell + direction; i >= 0 && i < static_cast<int>(grid_->cells.size()); i += direction) {
    if (at(grid_->cells, i).microBatch == microBatch) return i;
  }
  return -1;
}

}  // namespace pipescope::geometry
