#include "profiler/analysis/model/operations.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "profiler/analysis/model/origins.h"

namespace pipescope::analysis {

Ticks OperationCost::total() const {
  Ticks sum;
  for (const auto& [pass, own] : ticks) sum += own;
  return sum;
}

std::optional<double> OperationCost::tileBalance() const {
  if (slowestUnit.count <= 0) return {};
  return unitTicks / static_cast<double>(slowestUnit.count);
}

namespace {

class Aggregation {
 public:
  Aggregation(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
              const Origins& origins, LongLists lists)
      : source_(source), catalog_(catalog), executable_(executable), origins_(origins), lists_(lists) {
    for (const model::Stage* stage : catalog.stagesOf(executable)) devices_.insert(stage->device);
  }

  Result<Operations> run() {
    PIPESCOPE_TRY(addOperators());
    PIPESCOPE_TRY(addSteps());
    PIPESCOPE_TRY(addVariables());
    Operations result;
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
        addTo(place, [&](OperationCost& cost) {
          cost.flops += row.flops;
          cost.operands += row.bytes;
          ++cost.operators;
        });
        places_.emplace(row.id, std::move(place));
      }
    }
    return {};
  }

  base::Status addSteps() {
    std::unordered_map<model::SegmentId, model::Pass> passOf;
    for (const model::Segment& segment : catalog_.segments) {
      if (segment.executable == executable_ && devices_.contains(segment.device))
        passOf.emplace(segment.id, segment.pass);
    }
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(b));
      for (const model::Step& row : *rows) {
        if (passOf.contains(row.segment)) addStep(row);
      }
    }
    return {};
  }

  void addStep(const model::Step& step) {
    const auto place = places_.find(catalog_.programs[step.program].op);
    if (place == places_.end()) return;
    const auto add = [&](OperationCost& cost) {
      cost.ticks[place->second.pass] += step.ticks;
      Ticks& kind = step.kind == model::StepKind::compute    ? cost.compute
                    : step.kind == model::StepKind::exchange ? cost.exchange
                    : step.kind == model::StepKind::sync     ? cost.sync
                                                             : cost.other;
      kind += step.ticks;
      ++cost.programs;
      if (step.kind == model::StepKind::exchange) cost.exchanged += step.bytesIn;
      if (step.kind != model::StepKind::compute) return;
      cost.unitTicks += step.meanTicks;
      cost.slowestUnit += step.maxTicks;
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
  std::set<model::DeviceId> devices_;  ///< of the first replica
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
  return Aggregation(source, catalog, executable, origins, lists).run();
}

}  // namespace pipescope::analysis
