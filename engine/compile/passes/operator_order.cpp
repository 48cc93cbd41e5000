// Puts independent operators in the order that needs the least memory. It follows PopART's scheduler, which
// shifts runs of neighbouring operators to where the sum of live bytes over the program is least
// (poprithms::schedule::shift). PopART counts every operator once. Here an operator counts by the bytes that
// it uses, because its temporaries grow with them: otherwise small operators would be put off to where little
// lives, and keep their operands until then. The numbers are the same in any order, because numerics never
// sees an IR.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "engine/compile/passes/pass.h"
#include "engine/compile/tensor_uses.h"

namespace pipescope::compile {
namespace {

/// A tensor that needs memory only during a part of the program, as one pass sees it.
struct ScheduledTensor {
  std::int64_t bytes = 0;
  bool before = false, after = false;  ///< live when the pass begins, and when it ends
  std::vector<std::size_t> users;      ///< operators of the pass
};

/// The operators of one pass with what they wait for and what they keep alive.
class PassOrder {
 public:
  /// `position` is that of the pass's first operator in TensorUses.
  PassOrder(const StageIr& stage, const PassIr& pass, const TensorUses& uses, std::int64_t position)
      : count_(pass.operators.size()), next_(count_), touched_(count_), inPlace_(count_) {
    for (std::size_t i = 0; i < count_; ++i) order_.push_back(i);
    place_ = order_;
    std::map<IrTensorId, std::size_t> known;
    const std::int64_t end = position + static_cast<std::int64_t>(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const IrOperator& op = pass.operators[i];
      for (const auto* list : {&op.inputs, &op.outputs}) {
        for (const IrTensorId id : *list) {
          const IrTensorId root = uses.root(id);
          if (!root.valid()) continue;
          const IrTensor& tensor = stage.tensors[root];
          if (!isPassing(tensor.use)) continue;
          const auto [found, added] = known.try_emplace(root, tensors_.size());
          if (added) {
            tensors_.push_back({tensor.type.bytes().count, list == &op.inputs, uses.lastRead(id) >= end, {}});
          }
          std::vector<std::size_t>& users = tensors_[found->second].users;
          if (users.empty() || users.back() != i) {
            users.push_back(i);
            touched_[i].push_back(found->second);
          }
        }
      }
      inPlace_[i] = worksInPlace(op);
    }
    addWeights(stage, pass);
    addDependencies(pass);
  }

  /// Shifts runs of operators until no shift makes the sum of live bytes smaller, or until `most` exchanges
  /// of neighbours were tried. A run goes at most `reach` places at once. Returns whether the order has
  /// changed.
  bool improve(std::int64_t most, std::size_t reach) {
    left_ = most;
    reach_ = reach;
    bool changed = false;
    for (bool better = true; better && left_ > 0;) {
      better = false;
      for (std::size_t run = 1; run <= kLongestRun && run < count_; run = run < 4 ? run + 1 : run * 2) {
        for (std::size_t first = 0; first + run <= count_; ++first)
          better = shiftRun(first, run, true) || shiftRun(first, run, false) || better;
      }
      changed = changed || better;
    }
    return changed;
  }

  const std::vector<std::size_t>& order() const { return order_; }

  /// The most bytes that live at once, if the operators run in this order.
  std::int64_t peak() const {
    std::vector<std::int64_t> change(count_ + 2);
    for (const ScheduledTensor& tensor : tensors_) {
      const auto [first, last] = span(tensor);
      change[static_cast<std::size_t>(std::max<std::int64_t>(first, 0))] += tensor.bytes;
      change[static_cast<std::size_t>(std::min<std::int64_t>(last, static_cast<std::int64_t>(count_))) + 1] -=
          tensor.bytes;
    }
    std::int64_t live = 0, most = 0;
    for (std::size_t at = 0; at < count_; ++at) {
      live += change[at];
      most = std::max(most, live - takenOver(at));
    }
    return most;
  }

 private:
  static constexpr std::size_t kLongestRun = 32;

  static bool worksInPlace(const IrOperator& op) {
    return !op.work.empty() && std::ranges::all_of(op.work, [](const ops::Work& work) {
      const auto* map = std::get_if<ops::Map>(&work.item);
      return map && map->inPlace;
    });
  }

  /// Copies to the host and to streaming memory, and collectives, keep their order.
  static bool keepsPlace(const IrOperator& op) {
    return std::ranges::any_of(op.work, [](const ops::Work& work) {
      return std::holds_alternative<ops::HostCopy>(work.item) ||
             std::holds_alternative<ops::Collective>(work.item);
    });
  }

  /// The weight of an operator is its share of all bytes that operators use, in millionths, and at least 1.
  void addWeights(const StageIr& stage, const PassIr& pass) {
    std::vector<double> bytes(count_);
    double all = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      for (const auto* list : {&pass.operators[i].inputs, &pass.operators[i].outputs}) {
        for (const IrTensorId id : *list) {
          if (id.valid()) bytes[i] += static_cast<double>(stage.tensors[id].type.bytes().count);
        }
      }
      all += bytes[i];
    }
    for (std::size_t i = 0; i < count_; ++i)
      weight_.push_back(1 + static_cast<std::int64_t>(all > 0 ? bytes[i] * 1e6 / all : 0));
    start_.resize(count_ + 1);
    for (std::size_t at = 0; at < count_; ++at) start_[at + 1] = start_[at] + weight_[at];
    seen_.resize(tensors_.size());
  }

  /// Two operators keep their order if one of them writes a tensor that the other one uses.
  void addDependencies(const PassIr& pass) {
    struct Users {
      std::size_t writer = SIZE_MAX;
      std::vector<std::size_t> readers;
    };
    std::map<IrTensorId, Users> users;
    std::size_t lastKept = SIZE_MAX;
    std::set<std::pair<std::size_t, std::size_t>> known;
    const auto wait = [&](std::size_t earlier, std::size_t later) {
      if (earlier != SIZE_MAX && earlier != later && known.insert({earlier, later}).second)
        next_[earlier].push_back(later);
    };
    for (std::size_t i = 0; i < count_; ++i) {
      const IrOperator& op = pass.operators[i];
      for (const IrTensorId id : op.inputs) {
        if (!id.valid()) continue;
        wait(users[id].writer, i);
        users[id].readers.push_back(i);
      }
      for (const IrTensorId id : op.outputs) {
        if (!id.valid()) continue;
        wait(users[id].writer, i);
        for (const std::size_t reader : users[id].readers) wait(reader, i);
        users[id] = {i, {}};
      }
      if (!keepsPlace(op)) continue;
      wait(lastKept, i);
      lastKept = i;
    }
  }

  /// First and last place at which the tensor lives; −1 and count_ lie outside the pass.
  std::pair<std::int64_t, std::int64_t> span(const ScheduledTensor& tensor) const {
    auto first = static_cast<std::int64_t>(count_), last = std::int64_t{-1};
    for (const std::size_t user : tensor.users) {
      first = std::min(first, static_cast<std::int64_t>(place_[user]));
      last = std::max(last, static_cast<std::int64_t>(place_[user]));
    }
    return {tensor.before ? -1 : first, tensor.after ? static_cast<std::int64_t>(count_) : last};
  }

  /// The bytes of the tensor times the weight of the operators during which it lives.
  std::int64_t weightedBytes(std::size_t tensor) const {
    const auto [first, last] = span(tensors_[tensor]);
    const auto from = static_cast<std::size_t>(std::max<std::int64_t>(first, 0)),
               to = std::min(static_cast<std::size_t>(last + 1), count_);
    return tensors_[tensor].bytes * (start_[to] - start_[from]);
  }

  /// The bytes of a result that may take over the memory of an operand.
  std::int64_t takenOver(std::size_t at) const {
    const std::size_t op = order_[at];
    if (!inPlace_[op]) return 0;
    std::int64_t made = 0, ended = 0;
    for (const std::size_t tensor : touched_[op]) {
      const auto [first, last] = span(tensors_[tensor]);
      if (first == static_cast<std::int64_t>(at)) {
        made = std::max(made, tensors_[tensor].bytes);
      } else if (last == static_cast<std::int64_t>(at)) {
        ended = std::max(ended, tensors_[tensor].bytes);
      }
    }
    return std::min(made, ended);
  }

  bool waitsFor(std::size_t later, std::size_t earlier) const {
    return std::ranges::find(next_[earlier], later) != next_[earlier].end();
  }

  /// Exchanges the run of operators at places first … first + run − 1 with the operator behind it, or before
  /// it.
  void exchange(std::size_t first, std::size_t run, bool forwards) {
    const std::size_t begin = forwards ? first : first - 1, end = begin + run + 1;
    const auto from = order_.begin() + static_cast<std::ptrdiff_t>(begin),
               to = order_.begin() + static_cast<std::ptrdiff_t>(end);
    std::rotate(from, forwards ? to - 1 : from + 1, to);
    for (std::size_t at = begin; at < end; ++at) {
      place_[order_[at]] = at;
      start_[at + 1] = start_[at] + weight_[order_[at]];
    }
    --left_;
  }

  /// The bytes by which the tensor's share of the sum grows for each unit of weight that the run at places
  /// first … first + run − 1 passes, if the operator that it passes does not use the tensor. A tensor that
  /// begins and ends within the run, or outside it, keeps its share.
  std::int64_t growth(std::size_t tensor, std::size_t first, std::size_t run, bool forwards) const {
    const auto from = static_cast<std::int64_t>(first), to = from + static_cast<std::int64_t>(run);
    const auto [begins, ends] = span(tensors_[tensor]);
    const int sides = (ends >= from && ends < to ? 1 : 0) - (begins >= from && begins < to ? 1 : 0);
    return tensors_[tensor].bytes * (forwards ? sides : -sides);
  }

  bool mayExchange(std::size_t first, std::size_t run, bool forwards) const {
    if (forwards ? first + run >= count_ : first == 0) return false;
    const std::size_t other = order_[forwards ? first + run : first - 1];
    for (std::size_t at = first; at < first + run; ++at) {
      if (forwards ? waitsFor(other, order_[at]) : waitsFor(order_[at], other)) return false;
    }
    return true;
  }

  /// Shifts a run to where the sum of live bytes is least. Returns whether that is elsewhere.
  bool shiftRun(std::size_t first, std::size_t run, bool forwards) {
    if (left_ <= 0 || !mayExchange(first, run, forwards)) return false;
    ++run_;
    std::int64_t grown = 0;
    for (std::size_t at = first; at < first + run; ++at) {
      for (const std::size_t tensor : touched_[order_[at]]) {
        if (seen_[tensor] == run_) continue;
        seen_[tensor] = run_;
        grown += growth(tensor, first, run, forwards);
      }
    }
    std::int64_t change = 0, best = 0;
    std::size_t at = first, bestAt = first;
    for (std::size_t way = 0; way < reach_ && left_ > 0 && mayExchange(at, run, forwards); ++way) {
      const std::size_t other = order_[forwards ? at + run : at - 1];
      // The other operator moves past the whole run, so the spans of its tensors change in other ways.
      for (const std::size_t tensor : touched_[other]) {
        change -= weightedBytes(tensor);
        if (seen_[tensor] == run_) grown -= growth(tensor, at, run, forwards);
      }
      change += grown * weight_[other];
      exchange(at, run, forwards);
      at = forwards ? at + 1 : at - 1;
      for (const std::size_t tensor : touched_[other]) {
        change += weightedBytes(tensor);
        if (seen_[tensor] == run_) grown += growth(tensor, at, run, forwards);
      }
      if (change < best) {
        best = change;
        bestAt = at;
      }
    }
    while (at != bestAt) {
      exchange(at, run, !forwards);
      at = forwards ? at - 1 : at + 1;
    }
    return bestAt != first;
  }

  std::size_t count_;
  std::vector<std::size_t> order_, place_;         ///< operators by place, and places by operator
  std::vector<std::int64_t> weight_;               ///< one for each operator
  std::vector<std::int64_t> start_;                ///< weight of all operators before each place
  std::vector<std::vector<std::size_t>> next_;     ///< operators that wait for each operator
  std::vector<std::vector<std::size_t>> touched_;  ///< tensors_ that each operator uses
  std::vector<bool> inPlace_;
  std::vector<ScheduledTensor> tensors_;
  std::vector<std::int64_t> seen_;  ///< number of the last run whose operators use each tensor
  std::int64_t run_ = 0;            ///< number of the present run
  std::int64_t left_ = 0;
  std::size_t reach_ = 0;
};

/// Numbers of exchanges of neighbours that are tried for each operator of a pass, and for the whole pass.
/// They bound the compiler's time.
constexpr std::int64_t kExchangesPerOperator = 2000, kMostExchanges = 4'000'000;

/// Improves the order of a pass. In a pass of very many operators, such as that of hundreds of layers, each
/// run goes a few places only, so that the exchanges last for all layers instead of being used up by the
/// first ones.
bool improve(PassOrder& order, std::size_t operators) {
  constexpr std::size_t kLeastReach = 32;
  const auto count = static_cast<std::int64_t>(operators);
  if (count * kExchangesPerOperator <= kMostExchanges)
    return order.improve(count * kExchangesPerOperator, operators);
  return order.improve(kMostExchanges,
                       std::max(kLeastReach, static_cast<std::size_t>(kMostExchanges / 4 / count)));
}

void schedulePasses(StageIr& stage, const std::vector<BoundaryTensor>& boundaries, PassEffect& effect) {
  const TensorUses uses(stage, boundaries);
  std::int64_t position = 0;
  for (PassIr& pass : stage.passes) {
    const std::int64_t first = position;
    position += static_cast<std::int64_t>(pass.operators.size());
    if (!model::isComputePass(pass.pass)) continue;
    PassOrder order(stage, pass, uses, first);
    const std::int64_t before = order.peak();
    if (!improve(order, pass.operators.size())) continue;
    // A smaller sum may come with a higher peak. The peak decides whether the model fits.
    const std::int64_t after = order.peak();
    if (after > before) continue;
    std::vector<IrOperator> sorted;
    for (std::size_t at = 0; at < pass.operators.size(); ++at) {
      effect.changes += order.order()[at] != at ? 1 : 0;
      sorted.push_back(std::move(pass.operators[order.order()[at]]));
    }
    pass.operators = std::move(sorted);
    effect.bytes += base::Bytes(before - after);
  }
}

/// Only frameworks with such a scheduler order operators. Inference keeps the order of the model. In the best
/// order ResNet-50 in float32 with a batch of 64 would fit on a C600, where it was measured to run out of
/// memory (PopRT's published figures).
PassEffect scheduleIr(ExecutableIr& ir) {
  PassEffect effect;
  effect.counts = "operators at another place of their pass";
  if (!ir.ordersForMemory || ir.kind != model::ExecutableKind::training) return effect;
  for (StageIr& stage : ir.stages) schedulePasses(stage, ir.boundaries, effect);
  return effect;
}

}  // namespace

PIPESCOPE_REGISTER_PASS(schedule) {
  registry.add(
      {"schedule",
       "In training, independent operators run in the order that keeps the fewest bytes alive. This is for "
       "devices whose framework has such a scheduler (IPUs).",
       25, nullptr, scheduleIr});
}

}  // namespace pipescope::compile
