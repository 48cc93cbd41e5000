// Tests the order into which the pass `schedule` puts operators. The oracle tries all orders of small IRs
// and counts live bytes step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "engine/compile/passes/pass.h"

namespace pipescope::compile {
namespace {

/// An IR of one backward pass.
class ScheduleMaker {
 public:
  ScheduleMaker() {
    ir_.ordersForMemory = true;
    ir_.stages.resize(1);
    ir_.stages[0].passes = {{model::Pass::backward, {}}};
  }
  IrTensorId tensor(std::int64_t bytes, TensorUse use = TensorUse::gradient) {
    base::IdVector<IrTensorId, IrTensor>& tensors = ir_.stages[0].tensors;
    tensors.push_back({"t" + std::to_string(tensors.size()), {graph::ElementType::uint8, {bytes}}, use});
    return IrTensorId(static_cast<std::int64_t>(tensors.size()) - 1);
  }
  IrTensorId add(std::vector<IrTensorId> inputs, std::int64_t bytes,
                 ops::WorkItem item = ops::Map{ops::MapFunction::add, 8, 2}) {
    const IrTensorId made = tensor(bytes);
    add(std::move(inputs), std::vector{made}, std::move(item));
    return made;
  }
  void add(std::vector<IrTensorId> inputs, std::vector<IrTensorId> outputs,
           ops::WorkItem item = ops::Map{ops::MapFunction::add, 8, 2}) {
    std::vector<IrOperator>& operators = ir_.stages[0].passes[0].operators;
    operators.push_back({"op" + std::to_string(operators.size()),
                         "Add",
                         {{std::move(item), 1, ""}},
                         std::move(inputs),
                         std::move(outputs),
                         "A"});
  }
  const StageIr& stage() const { return ir_.stages[0]; }
  ExecutableIr ir_;
};

std::vector<std::string> orderOf(const ExecutableIr& ir) {
  std::vector<std::string> names;
  for (const IrOperator& op : ir.stages[0].passes[0].operators) names.push_back(op.name);
  return names;
}

ExecutableIr scheduledIr(ExecutableIr ir) {
  PassRunner runner({ops::OperatorRegistry()}, [](const std::string& name) { return name == "schedule"; });
  runner.runOn(ir);
  return ir;
}

struct Cost {
  std::int64_t sum = 0, peak = 0;
};

/// Counts the bytes that live at each step, times the weight of the step: the operator's part of all bytes
/// that operators use, in millionths. What the pass only reads lives from its beginning.
Cost costOf(const StageIr& stage, const std::vector<IrOperator>& operators) {
  Cost cost;
  const auto uses = [](const IrOperator& op, IrTensorId id) {
    return std::ranges::count(op.inputs, id) + std::ranges::count(op.outputs, id) > 0;
  };
  const auto used = [&](const IrOperator& op) {
    double bytes = 0;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const IrTensorId id : *list) bytes += static_cast<double>(stage.tensors[id].type.bytes().count);
    }
    return bytes;
  };
  double all = 0;
  for (const IrOperator& op : operators) all += used(op);
  for (std::size_t at = 0; at < operators.size(); ++at) {
    std::int64_t live = 0;
    for (std::size_t t = 0; t < stage.tensors.size(); ++t) {
      const IrTensorId id(static_cast<std::int64_t>(t));
      if (isAlwaysLive(stage.tensors.items()[t].use)) continue;
      std::size_t first = operators.size(), last = 0, made = operators.size();
      for (std::size_t i = 0; i < operators.size(); ++i) {
        if (!uses(operators[i], id)) continue;
        first = std::min(first, i);
        last = i;
        if (std::ranges::count(operators[i].outputs, id) > 0) made = std::min(made, i);
      }
      if (first == operators.size()) continue;
      const std::size_t born = made < operators.size() ? made : 0;
      live += born <= at && at <= last ? stage.tensors.items()[t].type.bytes().count : 0;
    }
    cost.sum += live * (1 + static_cast<std::int64_t>(used(operators[at]) * 1e6 / all));
    cost.peak = std::max(cost.peak, live);
  }
  return cost;
}

bool readsWhatIsMade(const std::vector<IrOperator>& operators) {
  std::set<IrTensorId> madeLater;
  for (const IrOperator& op : operators) madeLater.insert(op.outputs.begin(), op.outputs.end());
  for (const IrOperator& op : operators) {
    for (const IrTensorId id : op.outputs) madeLater.erase(id);
    if (std::ranges::any_of(op.inputs, [&](IrTensorId id) { return madeLater.contains(id); })) return false;
  }
  return true;
}

ScheduleMaker randomPlan(unsigned seed, int operators) {
  std::mt19937 random(seed);
  ScheduleMaker maker;
  std::vector<IrTensorId> made{maker.tensor(1 + static_cast<std::int64_t>(random() % 64))};
  for (int i = 0; i < operators; ++i) {
    std::vector<IrTensorId> inputs{made[random() % made.size()]};
    if (random() % 3 == 0) {
      const IrTensorId second = made[random() % made.size()];
      if (second != inputs[0]) inputs.push_back(second);
    }
    made.push_back(maker.add(inputs, 1 + static_cast<std::int64_t>(random() % 64)));
  }
  return maker;
}

/// Each of thousands of equal groups keeps its large tensor alive during an operator that does not use it.
/// The exchanges of so long a pass are bounded, and must still reach the last group.
TEST(Schedule, OrdersTheLastGroupsOfALongPassToo) {
  constexpr std::size_t kGroups = 2000;
  ScheduleMaker maker;
  IrTensorId chain = maker.tensor(1);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const IrTensorId large = maker.add({chain}, 1000);
    chain = maker.add({chain}, 1);
    maker.add({large}, 1);
  }
  const std::vector<std::string> order = orderOf(scheduledIr(maker.ir_));
  std::map<std::string, std::size_t> place;
  for (std::size_t at = 0; at < order.size(); ++at) place[order[at]] = at;
  std::size_t apart = 0;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto makes = "op" + std::to_string(3 * group), reads = "op" + std::to_string(3 * group + 2);
    apart += place.at(reads) == place.at(makes) + 1 ? 0 : 1;
  }
  EXPECT_EQ(apart, 0U);
}

TEST(Schedule, FindsTheBestOrderOfSmallPlans) {
  int best = 0, improved = 0;
  const int plans = 120;
  for (unsigned seed = 0; seed < plans; ++seed) {
    const ScheduleMaker maker = randomPlan(seed, 6);
    const std::vector<IrOperator>& given = maker.stage().passes[0].operators;
    const Cost before = costOf(maker.stage(), given);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
    do {
      std::vector<IrOperator> tried;
      for (const std::size_t i : order) tried.push_back(given[i]);
      if (!readsWhatIsMade(tried)) continue;
      const Cost cost = costOf(maker.stage(), tried);
      if (cost.peak <= before.peak) least = std::min(least, cost.sum);
    } while (std::ranges::next_permutation(order).found);
    const ExecutableIr ir = scheduledIr(maker.ir_);
    const Cost after = costOf(ir.stages[0], ir.stages[0].passes[0].operators);
    EXPECT_TRUE(readsWhatIsMade(ir.stages[0].passes[0].operators)) << "seed " << seed;
    EXPECT_LE(after.peak, before.peak) << "seed " << seed;
    EXPECT_LE(after.sum, before.sum) << "seed " << seed;
    EXPECT_GE(after.sum, least) << "seed " << seed;
    best += after.sum == least ? 1 : 0;
    improved += after.sum < before.sum ? 1 : 0;
  }
  // Shifts of runs may end in an order that no single shift improves. This happens rarely.
  EXPECT_GE(best, plans * 85 / 100);
  EXPECT_GT(improved, plans / 2);
}

/// A residual block with stride: the gradient of the sum goes through the shortcut to a wide input, and
/// through the main path. The shortcut comes first in program order. It shall run last, because its result is
/// larger than the gradient that waits for it.
TEST(Schedule, PutsOffAShortcutWithALargeResult) {
  ScheduleMaker maker;
  const auto dy = maker.tensor(10), x = maker.tensor(20, TensorUse::weight);
  const auto wide = maker.add({dy, x}, 20);                                             // op0: shortcut
  const auto a = maker.add({dy}, 5), b = maker.add({a}, 5), main = maker.add({b}, 20);  // op1, op2, op3
  maker.add({wide, main}, 20);
  const ExecutableIr ir = scheduledIr(maker.ir_);
  EXPECT_EQ(orderOf(ir), (std::vector<std::string>{"op1", "op2", "op0", "op3", "op4"}));
}

TEST(Schedule, ReducesAGradientAsSoonAsItExists) {
  for (const std::int64_t bytes : {1, 30}) {  // bytes of a bias and of weights
    ScheduleMaker maker;
    const auto dy = maker.tensor(8), sum = maker.tensor(bytes, TensorUse::accumulator);
    const auto weights = maker.add({dy}, bytes);  // op0
    const auto below = maker.add({dy}, 8);        // op1
    const auto further = maker.add({below}, 8);   // op2
    maker.add({weights, sum}, {sum});             // op3: into the accumulator
    maker.add({further}, 8);
    const std::vector<std::string> order = orderOf(scheduledIr(maker.ir_));
    const auto made = std::ranges::find(order, "op0");
    ASSERT_NE(made, order.end());
    ASSERT_NE(made + 1, order.end());
    EXPECT_EQ(*(made + 1), "op3");
  }
}

TEST(Schedule, LeavesOtherFrameworksAndInferenceAsTheyAre) {
  ScheduleMaker maker = randomPlan(3, 8);
  const std::vector<std::string> given = orderOf(maker.ir_);
  EXPECT_NE(orderOf(scheduledIr(maker.ir_)), given);
  maker.ir_.ordersForMemory = false;
  EXPECT_EQ(orderOf(scheduledIr(maker.ir_)), given);
  maker.ir_.ordersForMemory = true;
  maker.ir_.kind = model::ExecutableKind::inference;
  EXPECT_EQ(orderOf(scheduledIr(maker.ir_)), given);
}

TEST(Schedule, CopiesFromOutsideKeepTheirOrder) {
  ScheduleMaker maker;
  const auto dy = maker.tensor(8);
  std::vector<IrTensorId> loaded;
  for (int i = 0; i < 3; ++i) {
    const auto remote = maker.tensor(50, TensorUse::weight);
    loaded.push_back(maker.add({remote}, 50, ops::HostCopy{true, base::Bytes(50), true}));
  }
  auto x = dy;
  for (std::size_t i = loaded.size(); i-- > 0;) x = maker.add({x, loaded[i]}, 8);
  std::vector<std::string> copies;
  for (const std::string& name : orderOf(scheduledIr(maker.ir_))) {
    if (name < "op3") copies.push_back(name);
  }
  EXPECT_EQ(copies, (std::vector<std::string>{"op0", "op1", "op2"}));
}

TEST(Schedule, WritersAndReadersOfAnAccumulatorKeepTheirOrder) {
  ScheduleMaker maker;
  const auto sum = maker.tensor(8, TensorUse::accumulator);
  const auto big = maker.tensor(100), small = maker.tensor(1);
  maker.add({small, sum}, {sum});         // op0
  const auto read = maker.add({sum}, 8);  // op1
  maker.add({big, sum}, {sum});           // op2 would free `big` if it came first
  maker.add({read}, 8);
  const std::vector<std::string> order = orderOf(scheduledIr(maker.ir_));
  const auto at = [&](const std::string& name) { return std::ranges::find(order, name) - order.begin(); };
  EXPECT_LT(at("op0"), at("op1"));
  EXPECT_LT(at("op1"), at("op2"));
}

}  // namespace
}  // namespace pipescope::compile
