#include "profiler/analysis/pipeline/collective_uses.h"

#include <algorithm>
#include <map>
#include <set>

#include "profiler/analysis/pipeline/placed_steps.h"
#include "profiler/analysis/step_operators.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

using model::StepKind;

bool communicates(const model::Step& step) {
  return step.kind == StepKind::globalExchange || step.kind == StepKind::sync;
}

/// Collectives within one run of a segment.
struct SegmentCollectives {
  struct Part {
    Ticks ticks, exposed;
  };
  std::map<model::OperatorId, Part> parts;
  bool alone = true;  ///< the segment holds nothing else
};

class UseFinder {
 public:
  UseFinder(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable)
      : source_(source), catalog_(catalog), executable_(executable) {}

  Result<std::vector<CollectiveUse>> find() {
    PIPESCOPE_ASSIGN(const auto rows, source_.rows<model::Collective>());
    for (const model::Collective& row : *rows)
      if (catalog_.operators.contains(row.op) && catalog_.operators[row.op].executable == executable_)
        rows_[row.op] = row;
    if (rows_.empty()) return std::vector<CollectiveUse>();
    PIPESCOPE_ASSIGN(placed_, placedSteps(source_, catalog_, executable_));
    PIPESCOPE_TRY(lookIntoSegments());
    addPlacements();
    std::vector<CollectiveUse> result;
    const model::Run* run = catalog_.lastRunOf(executable_);
    const double length = run == nullptr ? 0 : static_cast<double>((run->end - run->start).count);
    for (auto& [key, use] : uses_) {
      if (length > 0) use.share = use.ticks * placed_.iterations() / length;
      result.push_back(std::move(use));
    }
    return result;
  }

 private:
  base::Status lookIntoSegments() {
    StepOperators operators(source_, catalog_, executable_);
    for (const auto& [id, steps] : placed_.steps) {
      std::map<model::OperatorId, base::Intervals> times;
      base::Intervals work;
      for (const model::Step& step : steps) {
        PIPESCOPE_ASSIGN(const StepOperators::Found found, operators.of(step.program));
        if (communicates(step) && rows_.contains(found.id)) {
          times[found.id].add(step.offset, step.offset + step.ticks);
        } else if (!communicates(step)) {
          work.add(step.offset, step.offset + step.ticks);
        }
      }
      if (times.empty()) continue;
      SegmentCollectives& own = segments_[id];
      own.alone = work.unionLength().count == 0;
      for (const auto& [op, spans] : times) {
        const Ticks all = spans.unionLength();
        own.parts[op] = {all, all - commonLength(spans, work)};
      }
    }
    return {};
  }

  /// A collective that runs beside other segments is hidden as far as these work at the same time.
  void addPlacements() {
    std::map<model::DeviceId, base::Intervals> busy;
    for (const model::Placement& p : placed_.rows.placements) {
      const auto found = segments_.find(p.segment);
      if (found == segments_.end() || !found->second.alone) busy[p.device].add(p.start, p.end);
    }
    const double iterations = placed_.iterations();
    for (const model::Placement& p : placed_.rows.placements) {
      const auto found = segments_.find(p.segment);
      if (found == segments_.end()) continue;
      double shown = 1;  // part of the placement that no other segment hides
      if (found->second.alone && p.end > p.start) {
        base::Intervals own;
        own.add(p.start, p.end);
        const Ticks hidden = commonLength(own, busy[p.device]);
        shown = 1 - static_cast<double>(hidden.count) / static_cast<double>((p.end - p.start).count);
      }
      for (const auto& [op, part] : found->second.parts) {
        CollectiveUse& use = uses_[{p.stage, op}];
        use.op = op;
        use.stage = p.stage;
        use.pass = catalog_.operators[op].pass;
        use.row = rows_[op];
        use.count += 1 / iterations;
        use.ticks += static_cast<double>(part.ticks.count) / iterations;
        use.exposed += shown * static_cast<double>(part.exposed.count) / iterations;
        use.sent += static_cast<double>(use.row.sent.count) / iterations;
      }
    }
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  std::map<model::OperatorId, model::Collective> rows_;
  PlacedSteps placed_;
  std::map<model::SegmentId, SegmentCollectives> segments_;
  std::map<std::pair<std::int32_t, model::OperatorId>, CollectiveUse> uses_;
};

}  // namespace

Result<std::vector<CollectiveUse>> collectiveUses(const model::ProfileSource& source, const Catalog& catalog,
                                                  model::ExecutableId executable) {
  return UseFinder(source, catalog, executable).find();
}

std::vector<AxisCommunication> communicationByAxis(const std::vector<CollectiveUse>& uses) {
  std::map<std::pair<std::int32_t, model::MeshAxis>, AxisCommunication> sums;
  for (const CollectiveUse& use : uses) {
    AxisCommunication& sum = sums[{use.stage, use.row.axis}];
    sum.stage = use.stage;
    sum.axis = use.row.axis;
    sum.ranks = std::max(sum.ranks, use.row.ranks);
    sum.count += use.count;
    sum.sent += use.sent;
    sum.ticks += use.ticks;
    sum.exposed += use.exposed;
    sum.share += use.share;
  }
  std::vector<AxisCommunication> result;
  for (const auto& [key, sum] : sums) result.push_back(sum);
  return result;
}

}  // namespace pipescope::analysis
