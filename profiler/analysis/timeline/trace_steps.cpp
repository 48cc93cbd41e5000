#include <algorithm>
#include <set>

#include "profiler/analysis/timeline/trace_draft.h"
#include "profiler/analysis/timeline/trace_segment.h"

namespace pipescope::analysis {
namespace {

class StepsReader {
 public:
  explicit StepsReader(TraceDraft& draft) : draft_(draft) {}

  base::Status read() { return readSteps(); }

 private:
  /// The part of a segment that placements in the window need, in ticks of its device.
  struct Wanted {
    bool any = false;
    Ticks from, to;
  };

  std::vector<Wanted> wantedSteps() const {
    std::vector<Wanted> wanted(draft_.trace->segments.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wanted[i] = {draft_.trace->far || !draft_.trace->large, Ticks(0), draft_.trace->segments[i].ticks};
    if (draft_.trace->far || !draft_.trace->large) return wanted;
    for (std::size_t d = 0; d < draft_.placements.size(); ++d) {
      const double scale = draft_.trace->devices[d].axisTicksPerTick;
      const auto offset = [&](Ticks time) {
        return Ticks(static_cast<std::int64_t>(static_cast<double>(time.count) / scale));
      };
      for (const TracePlacement& placement : draft_.placements[d]) {
        if (placement.segment < 0) continue;
        Wanted& part = wanted[static_cast<std::size_t>(placement.segment)];
        const Ticks length = draft_.trace->segments[static_cast<std::size_t>(placement.segment)].ticks;
        const Ticks from = std::max(Ticks(0), offset(draft_.trace->loadedFrom - placement.start));
        const Ticks to = std::min(length, offset(draft_.trace->loadedTo - placement.start) + Ticks(1));
        part = part.any ? Wanted{true, std::min(part.from, from), std::max(part.to, to)}
                        : Wanted{true, from, to};
      }
    }
    return wanted;
  }

  /// Takes complete segments from an earlier window.
  void reuseSegments(std::vector<Wanted>& wanted) {
    for (std::size_t i = 0; draft_.request.large && i < wanted.size(); ++i) {
      const TraceSegment& known = draft_.request.large->segments[i];
      if (!wanted[i].any || !known.whole || known.steps.empty()) continue;
      draft_.trace->segments[i] = known;
      wanted[i].any = false;
    }
  }

  bool mayHold(const std::vector<model::ColumnRange>& ranges, const std::vector<Wanted>& wanted) const {
    const auto &segment = ranges[0], &offset = ranges[2], &ticks = ranges[3];
    if (!segment.known) return true;
    auto next = draft_.segmentIndex.lower_bound(model::SegmentId(segment.smallest));
    for (; next != draft_.segmentIndex.end() && next->first.value <= segment.largest; ++next) {
      const Wanted& part = wanted[static_cast<std::size_t>(next->second)];
      if (!part.any) continue;
      if (segment.smallest != segment.largest || !offset.known || !ticks.known) return true;
      if (offset.smallest <= part.to.count && offset.largest + ticks.largest >= part.from.count) return true;
    }
    return false;
  }

  base::Status readSteps() {
    std::vector<Wanted> wanted = wantedSteps();
    reuseSegments(wanted);
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, draft_.source.blocks<model::Step>());
    std::vector<std::size_t> chosen;
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].rows == 0) {
        chosen.push_back(i);  // damaged; reading it gives the error
        continue;
      }
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, draft_.source.ranges<model::Step>(i));
      if (!mayHold(ranges, wanted)) continue;
      chosen.push_back(i);
      rows += blocks[i].rows;
    }
    if (draft_.trace->large && !draft_.request.large) {
      PIPESCOPE_TRY(sampleDepth(blocks));
    }
    if (rows > draft_.request.mostSteps) return readFarSteps(wanted);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      PIPESCOPE_TRY(draft_.report(0.3, i, chosen.size(), "reading steps"));
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> block, draft_.source.block<model::Step>(chosen[i]));
      for (const model::Step& step : *block) takeStep(step, wanted);
    }
    for (std::size_t i = 0; i < draft_.trace->segments.size(); ++i) {
      if (!wanted[i].any) continue;
      std::vector<model::Step>& steps = draft_.trace->segments[i].steps;
      draft_.trace->segments[i].whole =
          wanted[i].from.count <= 0 && wanted[i].to >= draft_.trace->segments[i].ticks;
      std::stable_sort(steps.begin(), steps.end(),
                       [](const auto& a, const auto& b) { return a.offset < b.offset; });
    }
    return {};
  }

  void takeStep(const model::Step& step, const std::vector<Wanted>& wanted) {
    const auto found = draft_.segmentIndex.find(step.segment);
    if (found == draft_.segmentIndex.end()) return;
    const Wanted& part = wanted[static_cast<std::size_t>(found->second)];
    if (!part.any) return;
    if (step.offset.count < 0 || step.ticks.count < 0) {
      ++draft_.trace->damagedRows;
      return;
    }
    if (draft_.trace->large && (step.offset > part.to || step.offset + step.ticks < part.from)) return;
    draft_.trace->segments[static_cast<std::size_t>(found->second)].steps.push_back(step);
  }

  base::Status readFarSteps(const std::vector<Wanted>& wanted) {
    draft_.trace->farSteps = true;
    const auto inside = [&](const model::LevelNode& node) {
      const auto found = draft_.segmentIndex.find(model::SegmentId(node.owner));
      if (found == draft_.segmentIndex.end()) return false;
      const Wanted& part = wanted[static_cast<std::size_t>(found->second)];
      return part.any && node.end >= part.from && node.start <= part.to;
    };
    constexpr std::size_t kFew = 64, kMost = 4096, kAll = 120'000;
    const std::size_t each =
        std::clamp(kAll / std::max<std::size_t>(1, draft_.trace->segments.size()), kFew, kMost);
    PIPESCOPE_ASSIGN(Levels levels,
                     readLevels(draft_.source, model::LevelContent::steps, each, inside, draft_.progress));
    for (auto& [key, nodes] : levels) draft_.farSteps[key.first][key.second] = std::move(nodes);
    return {};
  }

  /// Estimates how deep name paths go from steps at the beginning, in the middle and at the end.
  base::Status sampleDepth(const std::vector<model::BlockInfo>& blocks) {
    constexpr std::size_t kSteps = 400;
    draft_.sampledDepth = 1;
    std::set<std::size_t> sample;
    if (!blocks.empty()) sample = {0, blocks.size() / 2, blocks.size() - 1};
    for (const std::size_t i : sample) {
      if (blocks[i].rows == 0) continue;
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, draft_.source.block<model::Step>(i));
      for (std::size_t r = 0; r < rows->size(); r += std::max<std::size_t>(1, rows->size() / kSteps)) {
        const std::size_t parts = namePathParts(draft_.textsOf((*rows)[r]).first).size();
        draft_.sampledDepth = std::max(draft_.sampledDepth, static_cast<std::int32_t>(parts));
      }
    }
    return {};
  }

  TraceDraft& draft_;
};

}  // namespace

base::Status readTraceSteps(TraceDraft& draft) {
  return StepsReader(draft).read();
}

}  // namespace pipescope::analysis
