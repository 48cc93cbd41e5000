#include "profiler/analysis/pipeline/segment_use.h"

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/intervals.h"
#include "profiler/analysis/pass_kind.h"

namespace pipescope::analysis {
namespace {

void addStep(SegmentUse& use, const Catalog& catalog, const model::Step& step) {
  use.byKind[step.kind] += step.ticks;
  use.byLane[catalog.roleOf(step.lane)] += step.ticks;
  if (step.kind == model::StepKind::streamCopy) {
    use.streamIn += step.bytesIn;
    use.streamOut += step.bytesOut;
  } else if (step.kind == model::StepKind::exchange) {
    use.exchangeIn += step.bytesIn;
    use.exchangeOut += step.bytesOut;
  } else if (step.kind == model::StepKind::globalExchange) {  // The device's own part of a collective.
    use.globalIn += step.bytesIn;
    use.globalOut += step.bytesOut;
  } else if (step.kind == model::StepKind::compute && step.maxTicks.count > 0) {
    use.balanceSum += step.meanTicks / static_cast<double>(step.maxTicks.count);
    use.computeMean += step.meanTicks;
    ++use.computeSteps;
  }
}

}  // namespace

Result<base::IdVector<model::SegmentId, SegmentUse>> segmentUses(const model::ProfileSource& source,
                                                                 const Catalog& catalog,
                                                                 model::ExecutableId executable) {
  base::IdVector<model::SegmentId, SegmentUse> uses(catalog.segments.size());
  base::IdVector<model::SegmentId, Intervals> busy(uses.size());
  PIPESCOPE_TRY(forAllRows<model::Step>(source, [&](const model::Step& step) {
    const model::Segment* segment = catalog.segments.find(step.segment);
    if (segment == nullptr || segment->executable != executable) return;
    addStep(uses[step.segment], catalog, step);
    busy[step.segment].add(step.offset, step.offset + step.ticks);
  }));
  model::SegmentId id(0);
  for (const model::Segment& segment : catalog.segments) {
    SegmentUse& use = uses[id];
    if (segment.executable == executable && use.byKind.empty()) {
      use.byKind[kindOfPass(segment.pass)] = segment.ticks;
      use.byLane[catalog.roleOf(segment.lane)] = segment.ticks;
      use.anyLane = segment.ticks;
    } else {
      use.anyLane = busy[id].unionLength();
    }
    ++id.value;
  }
  return uses;
}

}  // namespace pipescope::analysis
