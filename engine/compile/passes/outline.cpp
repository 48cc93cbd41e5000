// Turns runs of operators that do the same with different tensors into calls of one function: repeated
// layers, a layer and its recomputed forward pass, products of equal shape, updates of parameters of equal
// shape. The IR only says which calls are alike. A device keeps the code once if that saves memory, and
// reports it.
//
// What a function is worth follows PopART (C: popart/subgraph/iosubgraphcostmodel.cpp, SessionOptions): the
// sum over its operators of a value times the root of the bytes that they read, less the root of the bytes of
// each tensor that goes in or out. Runs worth at least the threshold become functions. As in PopART, no run
// reaches across passes, or from repeated to other operators (subgraphoutline.cpp).
#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "engine/compile/passes/operator_signature.h"
#include "engine/compile/passes/pass.h"
#include "engine/compile/passes/repeated_runs.h"
#include "engine/compile/tensor_uses.h"

namespace pipescope::compile {
namespace {

/// PopART's Op::getHighSubgraphValue, getLowSubgraphValue and SessionOptions::outlineThreshold.
constexpr double kHighValue = 1000, kLowValue = 0.1, kOutlineThreshold = 1;

/// An operator of one device, in the order of its stages and passes.
struct OutlinePlace {
  StageIr* stage = nullptr;
  PassIr* pass = nullptr;
  std::size_t op = 0;         ///< index in the pass
  std::int64_t position = 0;  ///< position in the stage, as TensorUses counts

  const IrOperator& get() const { return pass->operators[op]; }
};

/// Remote buffers and streams have code of their own for each tensor, and collectives wait for other devices.
bool mayBeOutlined(const IrOperator& op) {
  return std::ranges::none_of(op.work, [](const ops::Work& work) {
    return std::holds_alternative<ops::HostCopy>(work.item) ||
           std::holds_alternative<ops::Collective>(work.item);
  });
}

/// Elementwise operators and moves are worth little by themselves. Optimizers are worth much, because their
/// long expressions make much code (C: popart/op/adamupdater.hpp).
double outlineValue(const OutlinePlace& place) {
  if (place.pass->pass == model::Pass::update) return kHighValue;
  const bool little = std::ranges::all_of(place.get().work, [](const ops::Work& work) {
    return std::holds_alternative<ops::Map>(work.item) || std::holds_alternative<ops::Random>(work.item) ||
           std::holds_alternative<ops::Rearrange>(work.item);
  });
  return little ? kLowValue : kHighValue;
}

class Outliner {
 public:
  Outliner(const std::vector<StageIr*>& stages, const std::vector<BoundaryTensor>& boundaries) {
    OperatorNumbers numbers;
    for (StageIr* stage : stages) {
      uses_.emplace(stage, TensorUses(*stage, boundaries));
      marks_.emplace(stage,
                     Marks{Marks::ByTensor(stage->tensors.size()), Marks::ByTensor(stage->tensors.size())});
      base::IdVector<IrTensorId, std::int64_t> latest(stage->tensors.size(), -1);
      std::int64_t position = 0;
      for (PassIr& pass : stage->passes) {
        for (std::size_t i = 0; i < pass.operators.size(); ++i) {
          const IrOperator& op = pass.operators[i];
          if (i == 0 || op.again != pass.operators[i - 1].again) addBorder();
          places_.push_back({stage, &pass, i, position++});
          numbers_.push_back(mayBeOutlined(op) ? numbers.of(*stage, op) : -1);
          addOperands(op, latest);
        }
      }
    }
    firstOperand_.push_back(before_.size());
  }

  struct Function {
    double gain = 0;  ///< gain of the function, for all calls but one
    std::size_t length = 0;
    std::vector<std::size_t> starts;  ///< places_
  };

  /// Takes the functions that gain most first. Candidates that a function has cut are looked at anew.
  std::vector<Function> find() {
    sums_.assign(places_.size() + 1, 0);
    for (std::size_t i = 0; i < places_.size(); ++i)
      sums_[i + 1] = sums_[i] + (places_[i].pass ? outlineValue(places_[i]) * std::sqrt(bytesRead(i)) : 0);
    nextTaken_.assign(places_.size(), places_.size());
    for (std::size_t i = places_.size(); i-- > 0;)
      nextTaken_[i] = numbers_[i] < 0 ? i : i + 1 < places_.size() ? nextTaken_[i + 1] : places_.size();
    std::vector<Function> found;
    for (std::size_t before = SIZE_MAX; before != found.size();) {
      before = found.size();
      takeBest(repeatedRuns(numbers_), found);
    }
    return found;
  }

  const OutlinePlace& at(std::size_t place) const { return places_[place]; }

 private:
  void addBorder() {
    places_.push_back({});
    numbers_.push_back(-1);
    firstOperand_.push_back(before_.size());
  }

  /// Notes for each operand where the same tensor stood before. `latest` holds the last place of each tensor.
  void addOperands(const IrOperator& op, base::IdVector<IrTensorId, std::int64_t>& latest) {
    firstOperand_.push_back(before_.size());
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const IrTensorId id : *list) {
        const auto here = static_cast<std::int64_t>(before_.size());
        before_.push_back(id.valid() ? latest[id] : -1);
        if (id.valid()) latest[id] = here;
      }
    }
  }

  /// Connection of an operand within a run that begins with operand `first`: how many operands before it the
  /// same tensor stands, or 0 if it stands nowhere before it in the run.
  std::int64_t connection(std::size_t first, std::size_t operand) const {
    const std::int64_t before = before_[operand];
    return before < static_cast<std::int64_t>(first) ? 0 : static_cast<std::int64_t>(operand) - before;
  }

  /// Compares the connections of two runs, operand by operand. Runs with equal connections compute the same
  /// (Baker, "A theory of parameterized pattern matching", 1993). Runs of many layers overlap in as many
  /// places, so a list of the connections of each of them would take much memory.
  std::strong_ordering compareConnections(std::size_t left, std::size_t right, std::size_t length) const {
    const std::size_t first = firstOperand_[left], other = firstOperand_[right];
    const std::size_t count = firstOperand_[left + length] - first,
                      otherCount = firstOperand_[right + length] - other;
    for (std::size_t i = 0; i < std::min(count, otherCount); ++i) {
      const auto order = connection(first, first + i) <=> connection(other, other + i);
      if (order != 0) return order;
    }
    return count <=> otherCount;
  }

  /// A part of a run: how many operators are skipped, and how many follow.
  struct Range {
    std::size_t skip = 0, length = 0;
  };

  struct Candidate {
    double gain = 0;  ///< an upper bound, as long as the function is not known
    const RepeatedRun* run = nullptr;
    Range range = {};  ///< what remains of the run
    std::optional<Function> function;

    bool operator<(const Candidate& other) const { return gain < other.gain; }
  };

  void takeBest(const std::vector<RepeatedRun>& runs, std::vector<Function>& found) {
    std::priority_queue<Candidate> queue;
    for (const RepeatedRun& run : runs) {
      const auto [skip, length] = trimmed(run.starts.front(), run.length);
      if (length == 0) continue;
      const std::size_t start = run.starts.front() + skip;
      // Taking the occurrences that end first makes the most calls of those that overlap.
      std::size_t calls = 0, end = 0;
      for (const std::size_t each : run.starts) {
        if (each < end) continue;
        ++calls;
        end = each + length;
      }
      const double most = (sums_[start + length] - sums_[start]) * static_cast<double>(calls - 1);
      queue.push({most, &run, Range{skip, length}, {}});
    }
    while (!queue.empty()) {
      Candidate top = queue.top();
      queue.pop();
      if (!top.function) {
        if (!areFree(top.run->starts, top.run->length)) continue;
        top.function = best(*top.run, top.range);
        top.gain = top.function->gain;
        if (top.gain > 0) queue.push(std::move(top));
      } else if (areFree(top.function->starts, top.function->length)) {
        for (const std::size_t start : top.function->starts) take(start, top.function->length);
        found.push_back(std::move(*top.function));
      }
    }
  }

  /// Marks the places of a run as taken.
  void take(std::size_t start, std::size_t length) {
    std::fill_n(numbers_.begin() + static_cast<std::ptrdiff_t>(start), length, -1);
    for (std::size_t i = start; i < start + length; ++i) nextTaken_[i] = i;
    for (std::size_t i = start; i-- > 0 && nextTaken_[i] > start;) nextTaken_[i] = start;
  }

  bool areFree(const std::vector<std::size_t>& starts, std::size_t length) const {
    return std::ranges::all_of(starts,
                               [&](std::size_t start) { return nextTaken_[start] >= start + length; });
  }

  /// The largest set of occurrences that are connected alike and do not overlap.
  Function best(const RepeatedRun& run, const Range& range) const {
    Function function;
    const auto [skip, length] = range;
    const auto before = [&, length = length](std::size_t left, std::size_t right) {
      return compareConnections(left, right, length) < 0;
    };
    std::map<std::size_t, std::vector<std::size_t>, decltype(before)> alike(before);
    for (const std::size_t each : run.starts) {
      std::vector<std::size_t>& starts = alike[each + skip];
      if (starts.empty() || starts.back() + length <= each + skip) starts.push_back(each + skip);
    }
    for (auto& [first, starts] : alike) {
      const double gain = worth(starts.front(), length) * static_cast<double>(starts.size() - 1);
      if (gain > function.gain) function = {gain, length, std::move(starts)};
    }
    return function;
  }

  /// Leaves operators out at both ends while that makes the run worth more. No length: the run is worth too
  /// little.
  Range trimmed(std::size_t start, std::size_t length) const {
    std::size_t skip = 0;
    double most = worth(start, length);
    for (bool shorter = true; shorter && length > 1;) {
      const double later = worth(start + skip + 1, length - 1), sooner = worth(start + skip, length - 1);
      shorter = std::max(later, sooner) >= most;
      if (!shorter) break;
      most = std::max(later, sooner);
      skip += later >= sooner ? 1 : 0;
      --length;
    }
    return {skip, most >= kOutlineThreshold ? length : 0};
  }

  double bytesRead(std::size_t place) const {
    double bytes = 0;
    for (const IrTensorId id : places_[place].get().inputs) bytes += bytesOf(place, id);
    return bytes;
  }
  double bytesOf(std::size_t place, IrTensorId id) const {
    if (!id.valid()) return 0;
    return static_cast<double>(places_[place].stage->tensors[id].type.bytes().count);
  }

  double worth(std::size_t start, std::size_t length) const {
    const OutlinePlace& first = places_[start];
    const TensorUses& uses = uses_.at(first.stage);
    double sum = sums_[start + length] - sums_[start];
    Marks& marks = marks_.at(first.stage);
    const std::int64_t mark = ++lastMark_;
    std::vector<IrTensorId> read, made;
    const auto add = [&](Marks::ByTensor& of, std::vector<IrTensorId>& list, IrTensorId id) {
      if (!id.valid() || std::exchange(of[id], mark) == mark) return;
      list.push_back(id);
    };
    for (std::size_t i = start; i < start + length; ++i) {
      for (const IrTensorId id : places_[i].get().inputs) {
        if (id.valid() && marks.made[id] != mark) add(marks.read, read, id);
      }
      for (const IrTensorId id : places_[i].get().outputs) add(marks.made, made, id);
    }
    const std::int64_t end = first.position + static_cast<std::int64_t>(length);
    for (const IrTensorId id : read) sum -= std::sqrt(bytesOf(start, id));
    for (const IrTensorId id : made) {
      const std::int64_t last = uses.lastRead(id);
      if (last < 0 || last >= end || marks.read[id] == mark) sum -= std::sqrt(bytesOf(start, id));
    }
    return sum;
  }

  /// Marks the tensors of a stage that worth() has met, without a set for each call.
  struct Marks {
    using ByTensor = base::IdVector<IrTensorId, std::int64_t>;
    ByTensor read, made;
  };

  std::vector<OutlinePlace> places_;
  std::vector<std::int64_t> numbers_;  ///< number of each operator at places_; negative: taken, or a border
  /// First place that is not before this one and is taken, or a border.
  std::vector<std::size_t> nextTaken_;
  std::vector<double> sums_;  ///< sums of the operators' values, before each place
  std::map<const StageIr*, TensorUses> uses_;
  /// First operand of each place, and behind the last place the number of operands.
  std::vector<std::size_t> firstOperand_;
  std::vector<std::int64_t> before_;  ///< operand before each operand that is the same tensor, or −1
  mutable std::map<const StageIr*, Marks> marks_;
  mutable std::int64_t lastMark_ = 0;
};

/// Names functions after the block and pass of their first call. A block may give its name to several
/// functions.
class FunctionNames {
 public:
  std::string unused(const OutlinePlace& first) {
    const model::Pass pass = first.get().again ? model::Pass::recompute : first.pass->pass;
    const std::string name = nameOf(first) + "/" + model::toString(pass) + "/function";
    const int before = used_[name]++;
    return before == 0 ? name : name + std::to_string(before);
  }
  static const std::string& nameOf(const OutlinePlace& place) {
    return place.get().block.empty() ? place.get().name : place.get().block;
  }

 private:
  std::map<std::string, int> used_;
};

PassEffect outline(ExecutableIr& ir) {
  PassEffect effect;
  effect.counts = "calls of functions whose code is kept once";
  if (!ir.sharesCode) return effect;
  std::map<int, std::vector<StageIr*>> devices;
  for (StageIr& stage : ir.stages) devices[stage.place].push_back(&stage);
  for (const auto& [device, stages] : devices) {
    Outliner outliner(stages, ir.boundaries);
    FunctionNames names;
    for (const Outliner::Function& function : outliner.find()) {
      const std::string name = names.unused(outliner.at(function.starts.front()));
      for (const std::size_t start : function.starts) {
        const OutlinePlace& first = outliner.at(start);
        first.pass->calls.push_back({name, FunctionNames::nameOf(first), first.op, function.length});
      }
    }
  }
  for (StageIr& stage : ir.stages) {
    for (PassIr& pass : stage.passes) std::ranges::sort(pass.calls, {}, &IrCall::first);
  }
  return effect;
}

}  // namespace

PIPESCOPE_REGISTER_PASS(outline) {
  registry.add({"outline",
                "Repeated layers, products and updates become calls of one function. A device keeps its code "
                "once where that saves more memory than copies of the arguments take.",
                50, nullptr, outline});
}

}  // namespace pipescope::compile
