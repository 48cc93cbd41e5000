#include "profiler/analysis/model/operations.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "profiler/analysis/model/origins.h"
#include "profiler/analysis/model/segment_runs.h"
#include "profiler/analysis/step_operators.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {

Ticks OperationCost::total() const {
  Ticks sum;
  for (const auto& [pass, own] : ticks) sum += own;
  return sum;
}

void OperationCost::divideRuns(std::int64_t by) {
  const auto divide = [by](std::int64_t& sum) {
    sum = std::llround(static_cast<double>(sum) / static_cast<double>(by));
  };
  if (by == 1) return;
  for (auto& [pass, own] : ticks) divide(own.count);
  for (Ticks* own : {&compute, &exchange, &sync, &other, &slowestUnit}) divide(own->count);
  for (Bytes* own : {&operands, &exchanged}) divide(own->count);
  flops /= static_cast<double>(by);
  unitTicks /= static_cast<double>(by);
}

std::optional<double> OperationCost::tileBalance() const {
  if (slowestUnit.count <= 0) return {};
  return unitTicks / static_cast<double>(slowestUnit.count);
}

namespace {

class Aggregation {
 public:
  Aggregation(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
              const Origins& origins, const SegmentRuns& runs, LongLists lists)
      : source_(source),
        catalog_(catalog),
        executable_(executable),
        origins_(origins),
        runs_(runs),
        lists_(lists) {
    for (const model::Stage* stage : catalog.stagesOf(executable)) devices_.insert(stage->device);
    for (const model::Segment& segment : catalog.segments) {
      if (segment.executable == executable && devices_.contains(segment.device))
        passOf_.emplace(segment.id, segment.pass);
    }
  }

  Result<Operations> run() {
    PIPESCOPE_TRY(addOperators());
    PIPESCOPE_TRY(addSteps());
    PIPESCOPE_TRY(addVariables());
    divideRuns();
    Operations result;
    result.iterations = runs_.iterations;
    result.whole = whole_;
    result.operators = longestFirst(std::move(operators_), lists_.operators);
    result.programs = longestFirst(std::move(programs_), lists_.programs);
    for (Group* group : {&layers_, &blocks_, &kinds_}) {
      std::vector<Operation>& list = group == &layers_   ? result.operations
                                     : group == &blocks_ ? result.blocks
                                                         : result.kinds;
      list = std::move(group->list);
      if (group != &blocks_) {
        std::ranges::stable_sort(
            list, [](const Operation& a, const Operation& b) { return a.cost.total() > b.cost.total(); });
      }
    }
    return result;
  }

 private:
  /// Makes figures of one iteration out of those of the call.
  void divideRuns() {
    for (std::vector<Operation>* list :
         {&operators_, &programs_, &layers_.list, &blocks_.list, &kinds_.list}) {
      for (Operation& row : *list) row.cost.divideRuns(runs_.iterations);
    }
    whole_.divideRuns(runs_.iterations);
  }

  static std::vector<Operation> longestFirst(std::vector<Operation> list, bool wanted) {
    if (!wanted) return {};
    std::ranges::stable_sort(
        list, [](const Operation& a, const Operation& b) { return a.cost.total() > b.cost.total(); });
    return list;
  }

  struct Group {
    std::vector<Operation> list;
    std::unordered_map<std::string, std::size_t> index;

    OperationCost& at(const std::string& name, const Operation& first) {
      const auto [known, isNew] = index.try_emplace(name, list.size());
      if (isNew) {
        list.push_back(first);
        list.back().name = name;
      }
      return list[known->second].cost;
    }
  };
  /// The layer, block and kind that an operator's figures are added to.
  struct Place {
    std::string origin, block, kind, originKind;
    std::int32_t stage = -1;
    model::Pass pass = model::Pass::forward;
    model::DebugContextId context = {};     ///< of the layer itself
    std::optional<std::size_t> index = {};  ///< in the list of operators
  };

  template <class Add>
  void addTo(const Place& place, Add add) {
    if (place.index) add(operators_[*place.index].cost);
    add(layers_.at(place.origin,
                   {"", place.originKind, place.block, place.stage, {}, "", {}, place.context}));
    if (!place.block.empty()) add(blocks_.at(place.block, {"", "", place.block, place.stage, {}}));
    add(kinds_.at(place.kind, {"", place.kind, "", -1, {}}));
    add(whole_);
  }

  base::Status addOperators() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Operator>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Operator> rows, source_.block<model::Operator>(b));
      for (const model::Operator& row : *rows) {
        if (row.executable != executable_) continue;
        const std::string name = catalog_.namePath(row.debugContext);
        const OperatorOrigin origin = origins_.of(name);
        Place place{origin.name.empty() ? name : origin.name,
                    row.block.empty() ? origin.block : row.block,
                    row.kind,
                    origin.name.empty() ? row.kind : origin.kind,
                    row.stage,
                    row.pass,
                    name == origin.name ? row.debugContext : model::DebugContextId()};
        if (lists_.operators) {
          place.index = operators_.size();
          operators_.push_back(
              {name, row.kind, place.block, row.stage, {}, place.origin, row.pass, row.debugContext, row.id});
        }
        const std::int64_t runs = runs_.iterations * passRuns(catalog_.executable(executable_), row.pass);
        addTo(place, [&](OperationCost& cost) {
          cost.flops += static_cast<double>(runs) * row.flops;
          base::addWrapped(cost.operands.count, base::wrappedProduct(runs, row.bytes.count));
          ++cost.operators;
        });
        places_.emplace(row.id, std::move(place));
      }
    }
    return {};
  }

  base::Status addSteps() {
    StepOperators operators(source_, catalog_, executable_);
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(b));
      for (const model::Step& row : *rows) {
        const auto pass = passOf_.find(row.segment);
        if (pass == passOf_.end()) continue;
        PIPESCOPE_ASSIGN(const model::OperatorId op, operators.of(row.program));
        addStep(row, op, pass->second);
      }
    }
    return {};
  }

  void addStep(const model::Step& step, model::OperatorId op, model::Pass ofSegment) {
    const auto place = places_.find(op);
    if (place == places_.end()) return;
    // Gradients are packed in the backward pass, though this works for the collective.
    const bool own = catalog_.programs[step.program].op.valid();
    const model::Pass pass = own ? place->second.pass : ofSegment;
    const std::int64_t runs = runs_.of(step.segment);
    const Ticks ticks(base::wrappedProduct(runs, step.ticks.count));
    const bool moves = step.kind == model::StepKind::exchange || step.kind == model::StepKind::globalExchange;
    const auto add = [&](OperationCost& cost) {
      base::addWrapped(cost.ticks[pass].count, ticks.count);
      Ticks& kind = step.kind == model::StepKind::compute ? cost.compute
                    : moves                               ? cost.exchange
                    : step.kind == model::StepKind::sync  ? cost.sync
                                                          : cost.other;
      base::addWrapped(kind.count, ticks.count);
      ++cost.programs;
      if (moves) base::addWrapped(cost.exchanged.count, base::wrappedProduct(runs, step.bytesIn.count));
      if (step.kind != model::StepKind::compute) return;
      cost.unitTicks += static_cast<double>(runs) * step.meanTicks;
      base::addWrapped(cost.slowestUnit.count, base::wrappedProduct(runs, step.maxTicks.count));
    };
    addTo(place->second, add);
    if (lists_.programs) add(programOf(step.program, place->second));
  }

  OperationCost& programOf(model::ProgramId id, const Place& place) {
    const auto [known, isNew] = programIndex_.try_emplace(id, programs_.size());
    if (isNew) {
      const model::Program program = catalog_.programs[id];
      programs_.push_back({catalog_.namePath(program.debugContext),
                           program.kind,
                           place.block,
                           place.stage,
                           {},
                           place.origin,
                           place.pass,
                           program.debugContext,
                           program.op});
    }
    return programs_[known->second].cost;
  }

  base::Status addVariables() {
    std::set<model::MemorySpaceId> spaces;
    for (const model::MemorySpace& space : catalog_.memorySpaces) {
      if (devices_.contains(space.device)) spaces.insert(space.id);
    }
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Variable>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Variable> rows, source_.block<model::Variable>(b));
      for (const model::Variable& row : *rows) {
        if (row.executable != executable_ || !row.alwaysLive || !spaces.contains(row.space)) continue;
        const OperatorOrigin origin = origins_.of(catalog_.namePath(row.debugContext));
        if (origin.name.empty()) continue;
        const Bytes bytes = row.bytes;
        addTo({origin.name, origin.block, origin.kind, origin.kind, row.stage, {}}, [&](OperationCost& cost) {
          (isCode(row.category) ? cost.code : cost.weights) += bytes;
          if (isCode(row.category)) cost.codeByCategory[row.category] += bytes;
        });
      }
    }
    return {};
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  const Origins& origins_;
  const SegmentRuns& runs_;
  std::set<model::DeviceId> devices_;                         ///< of the first replica
  std::unordered_map<model::SegmentId, model::Pass> passOf_;  ///< of their segments
  std::unordered_map<model::OperatorId, Place> places_;
  LongLists lists_;
  Group layers_, blocks_, kinds_;
  std::vector<Operation> operators_, programs_;
  std::unordered_map<model::ProgramId, std::size_t> programIndex_;
  OperationCost whole_;
};

}  // namespace

Result<Operations> operations(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable, LongLists lists) {
  PIPESCOPE_ASSIGN(const Origins origins, Origins::read(source, catalog, executable));
  PIPESCOPE_ASSIGN(const SegmentRuns runs, segmentRuns(source, catalog, executable));
  return Aggregation(source, catalog, executable, origins, runs, lists).run();
}

}  // namespace pipescope::analysis
