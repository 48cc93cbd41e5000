#include "profiler/analysis/timeline/trace_levels.h"

#include <algorithm>

namespace pipescope::analysis {
namespace {

constexpr std::int32_t kHighest = 24;  // highest level; one of its nodes would stand for 8²⁴ rows

/// Sorts the nodes and cuts each one so that it ends before the next one begins.
void straighten(std::vector<model::LevelNode>& nodes) {
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (model::LevelNode node : nodes) {
    if (kept > 0) node.start = std::max(node.start, nodes[kept - 1].end);
    if (node.end <= node.start) continue;
    nodes[kept++] = node;
  }
  nodes.resize(kept);
}

}  // namespace

Result<Levels> readLevels(const model::ProfileSource& source, model::LevelContent content, std::size_t most,
                          const std::function<bool(const model::LevelNode&)>& wanted,
                          base::Progress& progress) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::LevelNode>());
  std::map<std::pair<std::int64_t, model::LaneId>, std::map<std::int32_t, std::vector<model::LevelNode>>> all;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (progress.cancelled()) return base::cancelled("Reading the trace was stopped.");
    if (blocks[i].rows == 0) continue;
    PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::LevelNode>(i));
    if (!ranges.empty() && !ranges.front().mayHold(static_cast<std::int64_t>(content))) continue;
    PIPESCOPE_ASSIGN(const model::Rows<model::LevelNode> rows, source.block<model::LevelNode>(i));
    for (const model::LevelNode& node : *rows) {
      if (node.content != content || node.end < node.start || node.level < 1 || node.level > kHighest ||
          !wanted(node))
        continue;
      all[{node.owner, node.lane}][node.level].push_back(node);
    }
  }
  Levels levels;
  for (auto& [key, byLevel] : all) {
    auto chosen = byLevel.begin();
    while (std::next(chosen) != byLevel.end() && chosen->second.size() > most) ++chosen;
    straighten(chosen->second);
    levels[key] = std::move(chosen->second);
  }
  return levels;
}

FarActivities farActivities(std::vector<model::LevelNode> placements,
                            const std::vector<model::LevelNode>& waits) {
  straighten(placements);
  FarActivities far;
  const auto add = [&](Ticks start, Ticks end, const FarSpan& span) {
    if (end <= start) return;
    far.activities.push_back({start, end, Activity::Kind::far, static_cast<std::int32_t>(far.spans.size())});
    far.spans.push_back(span);
  };
  std::size_t wait = 0;
  for (const model::LevelNode& node : placements) {
    FarSpan span;
    span.pass = static_cast<model::Pass>(node.dominant);
    span.rows = node.count;
    span.busy = static_cast<double>(node.busy.count) / static_cast<double>((node.end - node.start).count);
    const Ticks middle = node.start + Ticks((node.end - node.start).count / 2);
    while (wait < waits.size() && waits[wait].end <= middle) ++wait;
    span.waits = span.busy < 0.5;
    if (wait < waits.size() && waits[wait].start <= middle)
      span.cause = static_cast<model::WaitCause>(waits[wait].dominant);
    add(node.start, node.end, span);
  }
  return far;
}

FlameRow farRow(const std::vector<model::LevelNode>& nodes) {
  FlameRow row;
  Ticks longest;
  for (const model::LevelNode& node : nodes) {
    row.boxes.push_back({node.start, node.end, 0, -1, static_cast<model::StepKind>(node.dominant)});
    if (node.end - node.start <= longest) continue;
    longest = node.end - node.start;
    row.widest = static_cast<std::int32_t>(row.boxes.size()) - 1;
  }
  return row;
}

}  // namespace pipescope::analysis
