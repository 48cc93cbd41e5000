#include "profiler/analysis/segment_use.h"

#include <algorithm>
#include <span>

#include "profiler/analysis/block_walk.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

using base::Ticks;

constexpr std::int64_t kStepsAtOnce = 100'000;  // some 20 MB

/// Adds what does not depend on other steps of the segment.
void addStepUse(SegmentUse& use, const model::Step& step) {
  Ticks& works = use.byLane[step.lane];
  if (step.kind != model::StepKind::sync) works += step.ticks;  // A lane that synchronises only waits.
  if (step.kind == model::StepKind::streamCopy) {
    use.streamIn += step.bytesIn;
    use.streamOut += step.bytesOut;
  } else if (step.kind == model::StepKind::exchange) {
    use.exchangeIn += step.bytesIn;
    use.exchangeOut += step.bytesOut;
  } else if (step.kind == model::StepKind::globalExchange) {  // The device's own part of a collective.
    use.communicating += step.ticks;
    use.globalIn += step.bytesIn;
    use.globalOut += step.bytesOut;
  } else if (step.kind == model::StepKind::compute) {
    use.computeBytes += step.bytesIn + step.bytesOut;
    if (step.maxTicks.count <= 0) return;
    use.balanceSum += step.meanTicks / static_cast<double>(step.maxTicks.count);
    use.computeMean += step.meanTicks;
    ++use.computeSteps;
  }
}

/// Sums up segments while their steps pass by.
class UseReader {
 public:
  UseReader(const model::ProfileSource& source, const std::vector<SegmentFacts>& segments,
            base::Progress& progress)
      : source_(source), progress_(progress) {
    for (const SegmentFacts& facts : segments) open_[facts.id].facts = facts;
  }

  base::Result<std::unordered_map<model::SegmentId, SegmentUse>> read() {
    if (!open_.empty()) {
      const auto [first, last] = std::minmax_element(
          open_.begin(), open_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      PIPESCOPE_TRY(forEachStep(first->first, last->first, [this](const model::Step& step) {
        if (const auto found = open_.find(step.segment); found != open_.end()) add(found->second, step);
      }));
    }
    std::unordered_map<model::SegmentId, SegmentUse> uses;
    for (auto& [id, open] : open_) {
      if (open.steps == 0) {
        open.use = segmentUse({}, open.facts.pass, open.facts.lane, open.facts.length);
      } else {
        base::addWrapped(open.use.byKind[kindIndex(model::StepKind::control)],
                         base::wrappedDifference(open.facts.length.count, open.covered));
      }
    }
    PIPESCOPE_TRY(readOverlapping());
    for (auto& [id, open] : open_) uses.emplace(id, std::move(open.use));
    return uses;
  }

 private:
  struct Open {
    SegmentFacts facts;
    SegmentUse use;
    Ticks reached;  ///< the latest end of its steps so far
    std::int64_t steps = 0, covered = 0;
    bool overlap = false;
  };

  static void add(Open& open, const model::Step& step) {
    ++open.steps;
    addStepUse(open.use, step);
    open.overlap = open.overlap || step.offset < open.reached;
    open.reached = std::max(open.reached, step.offset + step.ticks);
    const Ticks start = std::max(step.offset, Ticks(0)),
                end = std::min(step.offset + step.ticks, open.facts.length);
    if (end <= start) return;
    base::addWrapped(open.use.byKind[kindIndex(step.kind)], (end - start).count);
    base::addWrapped(open.covered, (end - start).count);
  }

  template <class Visit>
  base::Status forEachStep(model::SegmentId first, model::SegmentId last, const Visit& visit) {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(stopped(progress_));
      if (blocks[i].rows > 0) {  // A damaged block has no rows. Reading it gives the error.
        PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Step>(i));
        if (!ranges.empty() && !ranges.front().mayMeet(first.value, last.value)) continue;
      }
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(i));
      for (const model::Step& step : *rows) visit(step);
    }
    return {};
  }

  /// Steps that overlap can only be summed when all steps of their segment are in memory. Reads such segments
  /// again, as many at once as kStepsAtOnce allows.
  base::Status readOverlapping() {
    std::vector<Open*> overlapping;
    for (auto& [id, open] : open_) {
      if (open.overlap) overlapping.push_back(&open);
    }
    std::ranges::sort(overlapping, {}, [](const Open* open) { return open->facts.id; });
    for (std::size_t begin = 0, end = 0; begin < overlapping.size(); begin = end) {
      std::int64_t steps = 0;
      do {
        steps += overlapping[end]->steps;
      } while (++end < overlapping.size() && steps < kStepsAtOnce);
      PIPESCOPE_TRY(readTogether(std::span(overlapping).subspan(begin, end - begin)));
    }
    return {};
  }

  base::Status readTogether(std::span<Open* const> part) {
    std::unordered_map<model::SegmentId, std::vector<model::Step>> steps;
    for (const Open* open : part) steps[open->facts.id];
    PIPESCOPE_TRY(forEachStep(part.front()->facts.id, part.back()->facts.id, [&](const model::Step& step) {
      if (const auto found = steps.find(step.segment); found != steps.end()) found->second.push_back(step);
    }));
    for (Open* open : part) {
      std::vector<model::Step>& own = steps[open->facts.id];
      std::ranges::stable_sort(own, {}, &model::Step::offset);
      open->use.byKind =
          exclusiveTicks(own, open->facts.pass, open->facts.length, Ticks(0), open->facts.length);
    }
    return {};
  }

  const model::ProfileSource& source_;
  base::Progress& progress_;
  std::unordered_map<model::SegmentId, Open> open_;
};

}  // namespace

SegmentUse segmentUse(std::span<const model::Step> steps, model::Pass pass, model::LaneId lane,
                      Ticks length) {
  SegmentUse use;
  use.byKind = exclusiveTicks(steps, pass, length, Ticks(0), length);
  for (const model::Step& step : steps) addStepUse(use, step);
  if (steps.empty()) use.byLane[lane] = length;
  return use;
}

base::Result<std::unordered_map<model::SegmentId, SegmentUse>> segmentUses(
    const model::ProfileSource& source, const std::vector<SegmentFacts>& segments, base::Progress& progress) {
  return UseReader(source, segments, progress).read();
}

}  // namespace pipescope::analysis
