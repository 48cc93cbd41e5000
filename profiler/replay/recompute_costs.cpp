#include "profiler/replay/recompute_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "profiler/analysis/block_walk.h"

namespace pipescope::replay {
namespace {

using model::OperatorId;
using model::Pass;

/// The operators of a recording and the tensors between them.
class OperatorFlow {
 public:
  static base::Result<OperatorFlow> read(const ChangeContext& context, const Recording& recording) {
    OperatorFlow flow;
    const model::ExecutableId executable = recording.executable.id;
    if (!context.catalog.property(fmt::format("replay.{}.stash_in_place", executable.value)).empty()) {
      for (const model::Stage& stage : recording.stages)
        if (stage.stashEntries > 0) flow.inPlace_.insert(stage.index);
    }
    PIPESCOPE_TRY(analysis::forAllRows<model::Operator>(context.source, [&](const model::Operator& op) {
      if (op.executable == executable) flow.operators_[op.id] = op;
    }));
    PIPESCOPE_TRY(analysis::forAllRows<model::Edge>(context.source, [&](const model::Edge& edge) {
      if (edge.executable != executable || !flow.operators_.contains(edge.from) ||
          !flow.operators_.contains(edge.to))
        return;
      flow.inputs_[edge.to].push_back(edge);
    }));
    return flow;
  }

  const model::Operator* find(OperatorId id) const {
    const auto found = operators_.find(id);
    return found == operators_.end() ? nullptr : &found->second;
  }
  bool isKind(OperatorId id, const char* kind) const {
    const model::Operator* op = find(id);
    return op != nullptr && op->kind == kind;
  }
  /// True for a stash of what the same stage computes; false for one of the stage's inputs.
  bool stashesOwnResult(OperatorId stash) const {
    return std::ranges::any_of(inputsOf(stash), [&](const model::Edge& edge) {
      const model::Operator &from = operators_.at(edge.from), &to = operators_.at(stash);
      return from.stage == to.stage && from.pass == Pass::forward;
    });
  }
  bool empty() const { return operators_.empty(); }
  /// Returns for each stage how much smaller an entry of its stash gets if the stage computes its results
  /// again: they go, and inputs come in that only the forward pass reads now.
  std::map<int, Bytes> savedAgain() const {
    std::map<int, Bytes> saved;
    std::map<int, Kept> kept = keptByStage();
    for (const auto& [stage, tensors] : kept) {
      for (const auto& [tensor, value] : tensors) saved[stage] += value.own ? value.bytes : Bytes(0);
    }
    for (const OperatorId id : neededAgain()) {
      const int stage = operators_.at(id).stage;
      for (const model::Edge& edge : inputsOf(id)) {
        if (isOfForward(edge.from, stage)) continue;
        if (kept[stage].try_emplace({edge.from, edge.tensor}).second) saved[stage] -= edge.bytes;
      }
    }
    return saved;
  }
  /// Returns for each stage how much larger an entry of its stash gets if the stage keeps what it computes
  /// again now: results come in, and inputs go that only the forward pass reads.
  std::map<int, Bytes> addedIfKept() const {
    std::map<int, Bytes> added;
    for (const auto& [stage, results] : resultsAgain()) {
      for (const Bytes bytes : results) added[stage] += bytes;
    }
    for (const auto& [stage, tensors] : keptByStage()) {
      for (const auto& [tensor, value] : tensors)
        added[stage] -= value.own || value.readByBackward ? Bytes(0) : value.bytes;
    }
    return added;
  }
  Bytes bytesInto(OperatorId id) const {
    Bytes bytes;
    for (const model::Edge& edge : inputsOf(id)) bytes += edge.bytes;
    return bytes;
  }

  /// The operators of forward passes that have to run again for the backward passes of their stage.
  std::unordered_set<OperatorId> neededAgain() const {
    std::unordered_set<OperatorId> needed;
    std::vector<OperatorId> open;
    const auto add = [&](OperatorId id, std::int32_t stage) {
      const model::Operator* op = find(id);
      if (op == nullptr || op->stage != stage || op->pass != Pass::forward || op->kind == "Stash") return;
      if (needed.insert(id).second) open.push_back(id);
    };
    for (const auto& [id, op] : operators_) {
      if (op.kind == "Restore" || !isBackward(op.pass)) continue;
      for (const model::Edge& edge : inputsOf(id)) {
        add(edge.from, op.stage);
        if (!isKind(edge.from, "Restore")) continue;
        for (const model::Edge& kept : inputsOf(edge.from)) {
          for (const model::Edge& made : inputsOf(kept.from)) add(made.from, op.stage);
        }
      }
    }
    while (!open.empty()) {
      const OperatorId id = open.back();
      open.pop_back();
      for (const model::Edge& edge : inputsOf(id)) add(edge.from, operators_.at(id).stage);
    }
    return needed;
  }

  /// Returns for each stage the sizes of the results that are computed again and read by the backward pass.
  std::map<int, std::vector<Bytes>> resultsAgain() const {
    std::map<int, std::vector<Bytes>> results;
    std::set<Tensor> counted;
    for (const auto& [id, op] : operators_) {
      if (!isBackward(op.pass)) continue;
      for (const model::Edge& edge : inputsOf(id)) {
        const model::Operator& from = operators_.at(edge.from);
        if (from.stage != op.stage || from.pass != Pass::recompute || from.kind == "Restore") continue;
        if (counted.insert({edge.from, edge.tensor}).second) results[op.stage].push_back(edge.bytes);
      }
    }
    return results;
  }

 private:
  using Tensor = std::pair<OperatorId, model::DebugContextId>;  // maker, and which of its results it is
  struct KeptTensor {
    Bytes bytes;
    bool own = false;             ///< the stage computes it
    bool readByBackward = false;  ///< otherwise only what is computed again reads it
  };
  using Kept = std::map<Tensor, KeptTensor>;

  bool isOfForward(OperatorId id, int stage) const {
    const model::Operator& op = operators_.at(id);
    return op.stage == stage && op.pass == Pass::forward;
  }
  /// Values that each stage keeps from its forward pass: those that it copies to the stash or, where values
  /// stay in place, those that its backward pass reads.
  std::map<int, Kept> keptByStage() const {
    std::map<int, Kept> kept;
    std::unordered_set<OperatorId> readByBackward;
    for (const auto& [id, op] : operators_) {
      if (!isBackward(op.pass) || op.kind == "Restore") continue;
      for (const model::Edge& edge : inputsOf(id)) readByBackward.insert(edge.from);
    }
    const auto keep = [&](const model::Edge& edge, int stage, bool read) {
      KeptTensor& tensor = kept[stage][{edge.from, edge.tensor}];
      tensor.bytes = edge.bytes;
      tensor.own = isOfForward(edge.from, stage);
      tensor.readByBackward = tensor.readByBackward || read;
    };
    for (const auto& [id, op] : operators_) {
      if (op.kind == "Restore") {
        for (const model::Edge& stash : inputsOf(id)) {
          if (!isKind(stash.from, "Stash")) continue;
          for (const model::Edge& edge : inputsOf(stash.from))
            keep(edge, op.stage, readByBackward.contains(id));
        }
      } else if (inPlace_.contains(op.stage) && (isBackward(op.pass) || op.pass == Pass::recompute)) {
        for (const model::Edge& edge : inputsOf(id)) {
          const model::Operator& from = operators_.at(edge.from);
          const bool arrives =
              from.pass == Pass::hostIn || (from.stage != op.stage && from.pass == Pass::forward);
          if (arrives || isOfForward(edge.from, op.stage)) keep(edge, op.stage, isBackward(op.pass));
        }
      }
    }
    return kept;
  }
  static bool isBackward(Pass pass) { return pass == Pass::backward || pass == Pass::weightGradient; }
  const std::vector<model::Edge>& inputsOf(OperatorId id) const {
    static const std::vector<model::Edge> kNone;
    const auto found = inputs_.find(id);
    return found == inputs_.end() ? kNone : found->second;
  }

  std::set<int> inPlace_;  ///< stages that keep values where they are
  std::unordered_map<OperatorId, model::Operator> operators_;
  std::unordered_map<OperatorId, std::vector<model::Edge>> inputs_;
};

/// Time of a copy to the stash or back: a fixed part, and one for each byte.
struct CopyPace {
  double fixed = 0, perByte = 0;
  Ticks of(const std::vector<Bytes>& copies) const {
    double ticks = 0;
    for (const Bytes bytes : copies) ticks += fixed + perByte * static_cast<double>(bytes.count);
    return Ticks(std::llround(ticks));
  }
};

/// Reads the pace from the recorded copies of the kind: from the smallest and the largest one.
base::Result<CopyPace> copyPace(const ChangeContext& context, const OperatorFlow& flow, const char* kind) {
  std::map<OperatorId, double> ticks;
  std::map<OperatorId, model::SegmentId> segments;
  PIPESCOPE_TRY(analysis::forAllRows<model::Step>(context.source, [&](const model::Step& step) {
    const OperatorId op = context.catalog.programs[step.program].op;
    if (!flow.isKind(op, kind)) return;
    // A copy may take several steps. A segment that computes the same once more does not count again.
    if (segments.try_emplace(op, step.segment).first->second == step.segment)
      ticks[op] += static_cast<double>(step.ticks.count);
  }));
  std::map<double, double> bySize;
  for (const auto& [op, time] : ticks) bySize[static_cast<double>(flow.bytesInto(op).count)] = time;
  CopyPace pace;
  if (bySize.empty()) return pace;
  const auto [fewest, shortest] = *bySize.begin();
  const auto [most, longest] = *bySize.rbegin();
  if (most > fewest && longest > shortest) {
    pace.perByte = (longest - shortest) / (most - fewest);
    pace.fixed = std::max(0.0, shortest - pace.perByte * fewest);
  } else if (most > 0) {
    pace.perByte = longest / most;
  }
  return pace;
}

Ticks ticksIn(const SegmentTicks& of, const Piece& piece) {
  const auto found = of.find(piece.segment);
  return found == of.end() ? Ticks(0) : found->second;
}

void takeOff(Pieces& pieces, const SegmentTicks& ticks) {
  for (Piece& piece : pieces) piece.ticks = std::max(piece.ticks - ticksIn(ticks, piece), Ticks(0));
}

Pieces computedAgain(const Pieces& forward, const SegmentTicks& notAgain) {
  Pieces again;
  for (Piece piece : forward) {
    if (piece.pass != Pass::forward) continue;
    piece.ticks = std::max(piece.ticks - ticksIn(notAgain, piece), Ticks(0));
    piece.pass = Pass::recompute;
    piece.segment = {};
    again.push_back(piece);
  }
  return again;
}

Ticks ofStage(const std::map<int, Ticks>& ticks, int stage) {
  const auto found = ticks.find(stage);
  return found == ticks.end() ? Ticks(0) : found->second;
}

Pieces::iterator firstCompute(Pieces& pieces) {
  return std::ranges::find_if(pieces, [](const Piece& piece) { return model::isComputePass(piece.pass); });
}

void changeWork(StageWork& work, int stage, bool on, const RecomputeCosts& costs, bool stashes) {
  const auto begin = firstCompute(work.backward);
  const Ticks launch = begin == work.backward.end() ? Ticks(0) : ticksIn(costs.launches, *begin);
  if (begin != work.backward.end()) begin->ticks = std::max(begin->ticks - launch, Ticks(0));
  std::erase_if(work.backward, [](const Piece& piece) { return piece.pass == Pass::recompute; });
  if (on) {
    const Pieces again = computedAgain(work.forward, costs.notAgain);  // includes the launch
    takeOff(work.forward, costs.copies);
    takeOff(work.backward, costs.copies);
    work.backward.insert(work.backward.begin(), again.begin(), again.end());
    return;
  }
  if (const auto first = firstCompute(work.backward); first != work.backward.end())
    first->ticks += launch + (stashes ? ofStage(costs.restored, stage) : Ticks(0));
  if (const auto first = firstCompute(work.forward); first != work.forward.end() && stashes)
    first->ticks += ofStage(costs.stashed, stage);
}

}  // namespace

base::Result<Launches> launchesOf(const ChangeContext& context, const Recording& recording,
                                  const std::set<int>& stages) {
  Launches launches;
  PIPESCOPE_TRY(analysis::forAllRows<model::Step>(context.source, [&](const model::Step& step) {
    if (step.kind != model::StepKind::control || step.offset.count != 0) return;
    const model::Segment* segment = context.catalog.segments.find(step.segment);
    if (segment != nullptr && segment->executable == recording.executable.id &&
        stages.contains(segment->stage) && model::isComputePass(segment->pass))
      launches[step.segment] = step.ticks;
  }));
  return launches;
}

base::Result<RecomputeCosts> recomputeCosts(const ChangeContext& context, const Recording& recording,
                                            const std::set<int>& stages) {
  RecomputeCosts costs;
  PIPESCOPE_ASSIGN(costs.launches, launchesOf(context, recording, stages));
  PIPESCOPE_ASSIGN(const OperatorFlow flow, OperatorFlow::read(context, recording));
  const std::unordered_set<OperatorId> needed = flow.neededAgain();
  const auto isCopy = [&](const model::Segment& segment, const model::Program& program) {
    if (segment.pass == Pass::forward)
      return flow.isKind(program.op, "Stash") && flow.stashesOwnResult(program.op);
    return flow.isKind(program.op, "Restore");  // recomputed results restore the stage's input
  };
  PIPESCOPE_ASSIGN(costs.copies, ticksOfOwnSteps(context, recording.executable.id, stages, isCopy));
  PIPESCOPE_ASSIGN(costs.notAgain,
                   ticksOfOwnSteps(context, recording.executable.id, stages,
                                   [&](const model::Segment& segment, const model::Program& program) {
                                     if (segment.pass != Pass::forward || flow.find(program.op) == nullptr)
                                       return false;
                                     const bool input =
                                         flow.isKind(program.op, "Stash") && !isCopy(segment, program);
                                     return !input && !needed.contains(program.op);
                                   }));
  PIPESCOPE_ASSIGN(const CopyPace stash, copyPace(context, flow, "Stash"));
  PIPESCOPE_ASSIGN(const CopyPace restore, copyPace(context, flow, "Restore"));
  for (const auto& [stage, results] : flow.resultsAgain()) {
    costs.stashed[stage] = stash.of(results);
    costs.restored[stage] = restore.of(results);
  }
  costs.added = flow.addedIfKept();
  costs.saved = flow.savedAgain();
  costs.hasOperators = !flow.empty();
  return costs;
}

void setRecompute(Recording& recording, int stage, bool on, const RecomputeCosts& costs, bool stashes) {
  for (ReplicaCosts& replica : recording.replicas) {
    for (StageWork& work : replica.stages[static_cast<std::size_t>(stage)].works)
      changeWork(work, stage, on, costs, stashes);
  }
}

}  // namespace pipescope::replay
