#include "profiler/analysis/model/operations.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/model/operator_peaks.h"
#include "profiler/analysis/model/origins.h"
#include "profiler/analysis/model/segment_runs.h"
#include "profiler/analysis/step_operators.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {

namespace {

void divideRounded(std::int64_t& sum, std::int64_t by) {
  sum = std::llround(static_cast<double>(sum) / static_cast<double>(by));
}

}  // namespace

void PassTicks::add(model::Pass pass, Ticks ticks) {
  base::addWrapped(ticks_[indexOf(pass)].count, ticks.count);
  seen_ |= 1U << indexOf(pass);
}

void PassTicks::add(const PassTicks& other) {
  for (std::size_t i = 0; i < kPasses; ++i) base::addWrapped(ticks_[i].count, other.ticks_[i].count);
  seen_ |= other.seen_;
}

Ticks PassTicks::total() const {
  Ticks sum;
  for (const Ticks own : ticks_) sum += own;
  return sum;
}

void PassTicks::divide(std::int64_t by) {
  for (Ticks& own : ticks_) divideRounded(own.count, by);
}

void OperationCost::addSteps(const OperationCost& steps) {
  ticks.add(steps.ticks);
  for (Ticks OperationCost::*part : {&OperationCost::compute, &OperationCost::exchange, &OperationCost::sync,
                                     &OperationCost::other, &OperationCost::slowestUnit})
    base::addWrapped((this->*part).count, (steps.*part).count);
  base::addWrapped(exchanged.count, steps.exchanged.count);
  programs += steps.programs;
  unitTicks += steps.unitTicks;
}

void OperationCost::divideRuns(std::int64_t by) {
  if (by == 1) return;
  ticks.divide(by);
  for (Ticks* own : {&compute, &exchange, &sync, &other, &slowestUnit}) divideRounded(own->count, by);
  for (Bytes* own : {&operands, &exchanged}) divideRounded(own->count, by);
  flops /= static_cast<double>(by);
  leastSeconds /= static_cast<double>(by);
  unitTicks /= static_cast<double>(by);
}

std::optional<double> OperationCost::tileBalance() const {
  if (slowestUnit.count <= 0) return {};
  return unitTicks / static_cast<double>(slowestUnit.count);
}

namespace {

/// The costs of the steps of a program.
struct ProgramSum {
  model::ProgramId id;
  std::size_t place = 0;
  OperationCost cost;
};

bool longerThan(const Operation& a, const Operation& b) {
  return a.cost.total() > b.cost.total();
}

class Aggregation {
 public:
  Aggregation(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
              const Origins& origins, const SegmentRuns& runs, const LongLists& lists)
      : source_(source),
        catalog_(catalog),
        executable_(executable),
        origins_(origins),
        runs_(runs),
        lists_(lists),
        peaks_(catalog, executable) {
    for (const model::Stage* stage : catalog.stagesOf(executable)) devices_.insert(stage->device);
    for (const model::Segment& segment : catalog.segments) {
      if (segment.executable == executable && devices_.contains(segment.device))
        segments_.emplace(segment.id, OwnSegment{segment.pass, runs.of(segment.id)});
    }
  }

  Result<Operations> run() {
    PIPESCOPE_TRY(addOperators());
    PIPESCOPE_TRY(addSteps());
    for (const Place& place : places_) addTo(place, [&](OperationCost& cost) { cost.addSteps(place.steps); });
    PIPESCOPE_TRY(addVariables());
    Operations result;
    result.iterations = runs_.iterations;
    takePrograms(result);
    whole_.divideRuns(runs_.iterations);
    result.whole = whole_;
    result.operators = std::move(operators_);
    result.operations = std::move(layers_.list);
    result.blocks = blocksInOrder();
    result.kinds = std::move(kinds_.list);
    for (std::vector<Operation>* list :
         {&result.operators, &result.operations, &result.blocks, &result.kinds}) {
      for (Operation& row : *list) row.cost.divideRuns(runs_.iterations);
      if (list != &result.blocks) std::ranges::stable_sort(*list, longerThan);
    }
    return result;
  }

 private:
  /// The blocks in the model's order, and behind them what belongs to none, such as sums over replicas.
  /// Without blocks there is nothing to tell apart.
  std::vector<Operation> blocksInOrder() {
    std::vector<Operation>& list = blocks_.list;
    const auto none = std::ranges::find(list, std::string(kNoBlock), &Operation::name);
    if (none != list.end()) std::rotate(none, none + 1, list.end());
    if (list.size() == 1 && none != list.end()) list.clear();
    return std::move(list);
  }

  struct Group {
    std::vector<Operation> list;
    std::unordered_map<std::string, std::size_t> index;

    std::size_t at(const std::string& name, const Operation& first) { return at(name, name, first); }
    /// `key` tells rows of one name apart.
    std::size_t at(const std::string& key, const std::string& name, const Operation& first) {
      const auto [known, isNew] = index.try_emplace(key, list.size());
      if (isNew) {
        list.push_back(first);
        list.back().name = name;
      }
      return known->second;
    }
  };
  struct OwnSegment {
    model::Pass pass = model::Pass::forward;
    std::int64_t runs = 0;
  };
  /// The layer, block and kind that an operator's figures are added to.
  struct Place {
    std::size_t layer = 0, kind = 0, block = 0;  ///< places in these lists
    std::optional<std::size_t> op;               ///< place in the list of operators
    std::int32_t stage = -1;
    model::Pass pass = model::Pass::forward;
    OperationCost steps = {};  ///< cost of the operator's steps
  };
  /// Content of the name of a debug context. Several operators and many variables share a context.
  struct Named {
    std::string name;
    OperatorOrigin origin;
  };

  const Named& named(model::DebugContextId id) {
    const auto [known, isNew] = names_.try_emplace(id);
    if (isNew) {
      known->second.name = catalog_.namePath(id);
      known->second.origin = origins_.of(known->second.name);
    }
    return known->second;
  }

  Place placeOf(const Operation& layer, const std::string& kind) {
    Place place;
    // Kernels of one name may work for several blocks in a recorded run. A layer of a model belongs to one.
    place.layer = catalog_.measured() ? layers_.at(layer.name + '\n' + layer.block, layer.name, layer)
                                      : layers_.at(layer.name, layer);
    place.block = layer.block.empty()
                      ? blocks_.at(layer.block, kNoBlock, {"", "", "", -1, {}})
                      : blocks_.at(layer.block, layer.block, {"", "", layer.block, layer.stage, {}});
    place.kind = kinds_.at(kind, {"", kind, "", -1, {}});
    place.stage = layer.stage;
    return place;
  }

  template <class Add>
  void addTo(const Place& place, Add add) {
    if (place.op) add(operators_[*place.op].cost);
    add(layers_.list[place.layer].cost);
    add(blocks_.list[place.block].cost);
    add(kinds_.list[place.kind].cost);
    add(whole_);
  }

  base::Status addOperators() {
    return forAllRows<model::Operator>(source_, [&](const model::Operator& row) {
      if (row.executable != executable_) return;
      const Named& own = named(row.debugContext);
      const OperatorOrigin& origin = own.origin;
      const std::string& layer = origin.name.empty() ? own.name : origin.name;
      const std::string& block = row.block.empty() ? origin.block : row.block;
      const std::string& kind = origin.name.empty() ? row.kind : origin.kind;
      Place place = placeOf({layer,
                             kind,
                             block,
                             row.stage,
                             {},
                             "",
                             {},
                             own.name == origin.name ? row.debugContext : model::DebugContextId()},
                            row.kind);
      place.pass = row.pass;
      if (lists_.operators) {
        place.op = operators_.size();
        operators_.push_back(
            {own.name, row.kind, block, row.stage, {}, layer, row.pass, row.debugContext, row.id});
      }
      const std::int64_t runs = runs_.iterations * passRuns(catalog_, executable_, row.pass);
      const double peak = peaks_.of(row.id);
      addTo(place, [&](OperationCost& cost) {
        cost.flops += static_cast<double>(runs) * row.flops;
        if (peak > 0) cost.leastSeconds += static_cast<double>(runs) * row.flops / peak;
        base::addWrapped(cost.operands.count, base::wrappedProduct(runs, row.bytes.count));
        ++cost.operators;
      });
      if (placeOfOperator_.emplace(row.id, places_.size()).second) places_.push_back(std::move(place));
    });
  }

  base::Status addSteps() {
    StepOperators operators(source_, catalog_, executable_);
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(b));
      for (const model::Step& row : *rows) {
        const OwnSegment* segment = segmentOf(row.segment);
        if (segment == nullptr) continue;
        PIPESCOPE_ASSIGN(const StepOperators::Found op, operators.of(row.program));
        addStep(row, op, *segment);
      }
    }
    return {};
  }

  /// The steps of a segment follow each other.
  const OwnSegment* segmentOf(model::SegmentId id) {
    if (id != lastSegment_ || lastFound_ == nullptr) {
      const auto found = segments_.find(id);
      lastSegment_ = id;
      lastFound_ = found == segments_.end() ? nullptr : &found->second;
    }
    return lastFound_;
  }

  void addStep(const model::Step& step, const StepOperators::Found& op, const OwnSegment& segment) {
    const auto known = placeOfOperator_.find(op.id);
    if (known == placeOfOperator_.end()) return;
    Place& place = places_[known->second];
    // Gradients are packed in the backward pass, though this works for the collective.
    const model::Pass pass = op.stated ? place.pass : segment.pass;
    addStep(step, pass, segment.runs, place.steps);
    if (!lists_.programs) return;
    const bool wanted = lists_.programsOf.empty() || (op.stated && lists_.programsOf.contains(op.id));
    if (wanted) addStep(step, pass, segment.runs, programOf(step.program, known->second));
  }

  static void addStep(const model::Step& step, model::Pass pass, std::int64_t runs, OperationCost& cost) {
    const Ticks ticks(base::wrappedProduct(runs, step.ticks.count));
    const bool moves = step.kind == model::StepKind::exchange || step.kind == model::StepKind::globalExchange;
    cost.ticks.add(pass, ticks);
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
  }

  OperationCost& programOf(model::ProgramId id, std::size_t place) {
    const auto [known, isNew] = programIndex_.try_emplace(id, programs_.size());
    if (isNew) programs_.push_back({id, place, {}});
    return programs_[known->second].cost;
  }

  /// Sorts the programs and describes those that are wanted.
  void takePrograms(Operations& result) {
    std::vector<std::pair<Ticks, const ProgramSum*>> order;
    order.reserve(programs_.size());
    for (ProgramSum& program : programs_) {
      program.cost.divideRuns(runs_.iterations);
      order.emplace_back(program.cost.total(), &program);
    }
    const auto longer = [](const auto& a, const auto& b) { return a.first > b.first; };
    std::ranges::stable_sort(order, longer);
    result.programCount = order.size();
    if (lists_.mostPrograms > 0 && order.size() > lists_.mostPrograms) order.resize(lists_.mostPrograms);
    result.programs.reserve(order.size());
    for (const auto& [ticks, sum] : order) {
      const Place& place = places_[sum->place];
      const Operation& layer = layers_.list[place.layer];
      const model::Program program = catalog_.programs[sum->id];
      result.programs.push_back({catalog_.namePath(program.debugContext), program.kind,
                                 blocks_.list[place.block].block, place.stage, sum->cost, layer.name,
                                 place.pass, program.debugContext, program.op});
    }
  }

  base::Status addVariables() {
    std::set<model::MemorySpaceId> spaces;
    for (const model::MemorySpace& space : catalog_.memorySpaces) {
      if (devices_.contains(space.device)) spaces.insert(space.id);
    }
    return forAllRows<model::Variable>(source_, [&](const model::Variable& row) {
      if (row.executable != executable_ || !row.alwaysLive || !spaces.contains(row.space)) return;
      const OperatorOrigin& origin = named(row.debugContext).origin;
      if (origin.name.empty()) return;
      const bool code = isCode(row.category);
      addTo(placeOf({origin.name, origin.kind, origin.block, row.stage, {}}, origin.kind),
            [&](OperationCost& cost) {
              (code ? cost.code : cost.weights) += row.bytes;
              if (code) cost.codeByCategory[row.category] += row.bytes;
            });
    });
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  const Origins& origins_;
  const SegmentRuns& runs_;
  std::set<model::DeviceId> devices_;  ///< devices of the first replica
  std::unordered_map<model::SegmentId, OwnSegment> segments_;
  model::SegmentId lastSegment_;
  const OwnSegment* lastFound_ = nullptr;
  std::unordered_map<model::DebugContextId, Named> names_;
  std::vector<Place> places_;
  std::unordered_map<model::OperatorId, std::size_t> placeOfOperator_;
  const LongLists& lists_;
  OperatorPeaks peaks_;
  Group layers_, blocks_, kinds_;
  std::vector<Operation> operators_;
  std::vector<ProgramSum> programs_;
  std::unordered_map<model::ProgramId, std::size_t> programIndex_;
  OperationCost whole_;
};

}  // namespace

Result<Operations> operations(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable, const LongLists& lists) {
  PIPESCOPE_ASSIGN(const Origins origins, Origins::read(source, catalog, executable));
  PIPESCOPE_ASSIGN(const SegmentRuns runs, segmentRuns(source, catalog, executable));
  return Aggregation(source, catalog, executable, origins, runs, lists).run();
}

}  // namespace pipescope::analysis
