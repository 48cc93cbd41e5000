#include "profiler/analysis/timeline/trace_segment.h"

#include <algorithm>

#include "profiler/analysis/timeline/source_lines.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {

std::vector<std::string> namePathParts(const std::string& path) {
  constexpr std::size_t kDeepest = 12;
  if (sourceLineIn(path)) return {path};
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t slash = parts.size() + 1 < kDeepest ? path.find('/', start) : std::string::npos;
    std::string part = path.substr(start, slash == std::string::npos ? std::string::npos : slash - start);
    if (!part.empty()) parts.push_back(std::move(part));
    if (slash == std::string::npos) break;
    start = slash + 1;
  }
  return parts;
}

namespace {

Ticks endOf(const model::Step& step) {
  return step.offset + step.ticks;
}

/// Collects steps in order of time into one row for each level. Neighbouring steps with the same part of the
/// name path share a box.
class FlameBuilder {
 public:
  explicit FlameBuilder(NameTable& names) : names_(names) {}

  void add(const model::Step& step, std::int32_t index, const std::string& path) {
    std::vector<std::string> parts = namePathParts(path);
    if (parts.empty()) parts.push_back(model::toString(step.kind));
    const std::size_t leaf = parts.size() - 1;
    if (rows_.size() < parts.size()) rows_.resize(parts.size()), ticks_.resize(parts.size());
    std::size_t shared = 0;
    while (shared < leaf && shared < open_.size() && open_[shared] == parts[shared]) ++shared;
    open_.resize(shared);
    for (std::size_t level = 0; level < leaf; ++level) {
      if (level < shared) {
        rows_[level].boxes.back().end = endOf(step);
      } else {
        push(level, {step.offset, endOf(step), names_.indexOf(parts[level]), -1, step.kind});
        open_.push_back(parts[level]);
      }
      base::addWrapped(ticks_[level].back()[kindIndex(step.kind)], step.ticks.count);
    }
    push(leaf, {step.offset, endOf(step), names_.indexOf(parts[leaf]), index, step.kind});
  }

  std::vector<FlameRow> finish() {
    for (std::size_t level = 0; level < rows_.size(); ++level) {
      FlameRow& row = rows_[level];
      for (std::size_t i = 0; i < row.boxes.size(); ++i) {
        FlameBox& box = row.boxes[i];
        if (box.step < 0) {
          const TicksByKind& sums = ticks_[level][i];
          box.kind = static_cast<model::StepKind>(std::max_element(sums.begin(), sums.end()) - sums.begin());
        }
        if (row.widest < 0 || box.end - box.offset > width(row)) row.widest = static_cast<std::int32_t>(i);
      }
    }
    return std::move(rows_);
  }

 private:
  static Ticks width(const FlameRow& row) {
    const FlameBox& box = row.boxes[static_cast<std::size_t>(row.widest)];
    return box.end - box.offset;
  }
  void push(std::size_t level, const FlameBox& box) {
    rows_[level].boxes.push_back(box);
    ticks_[level].emplace_back();
  }

  NameTable& names_;
  std::vector<std::string> open_;
  std::vector<FlameRow> rows_;
  std::vector<std::vector<TicksByKind>> ticks_;
};

}  // namespace

std::int32_t NameTable::indexOf(const std::string& text) {
  const auto [place, added] = known_.try_emplace(text, static_cast<std::int32_t>(names_.size()));
  if (added) names_.push_back(text);
  return place->second;
}

void NameTable::take(const std::vector<std::string>& names) {
  names_ = names;
  known_.clear();
  for (std::size_t i = 0; i < names.size(); ++i) known_.try_emplace(names[i], static_cast<std::int32_t>(i));
}

std::vector<FlameRow> flameRows(const TraceSegment& segment, model::LaneId lane,
                                const std::vector<std::string>& paths, NameTable& names) {
  FlameBuilder builder(names);
  Ticks reached;
  for (std::size_t i = 0; i < segment.steps.size(); ++i) {
    const model::Step& step = segment.steps[i];
    if ((lane.valid() && step.lane != lane) || step.offset < reached || step.ticks.count <= 0) continue;
    builder.add(step, static_cast<std::int32_t>(i), paths[i]);
    reached = endOf(step);
  }
  return builder.finish();
}

FlameRow flatRow(const TraceSegment& segment, model::LaneId lane, const std::vector<std::string>& paths,
                 NameTable& names) {
  FlameRow row;
  Ticks reached, longest;
  for (std::size_t i = 0; i < segment.steps.size(); ++i) {
    const model::Step& step = segment.steps[i];
    if (step.lane != lane || step.offset < reached || step.ticks.count <= 0) continue;
    const std::string text = paths[i].empty() ? model::toString(step.kind) : paths[i];
    row.boxes.push_back(
        {step.offset, endOf(step), names.indexOf(text), static_cast<std::int32_t>(i), step.kind});
    if (step.ticks > longest)
      longest = step.ticks, row.widest = static_cast<std::int32_t>(row.boxes.size()) - 1;
    reached = endOf(step);
  }
  return row;
}

}  // namespace pipescope::analysis
