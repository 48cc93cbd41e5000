// Tests passes over the IR: which results reuse storage, which operators are fused, and which blocks
// become calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/compile/passes/pass.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

using graph::ElementType;
using model::Pass;
using testing::ElementsAre;

/// Builds an IR of one stage, one operator at a time.
struct IrPassesMaker {
  ExecutableIr ir;
  IrPassesMaker() {
    ir.stages.resize(1);
    ir.sharesCode = true;
  }

  StageIr& stage() { return ir.stages.front(); }
  IrTensorId tensor(const std::string& name, TensorUse use = TensorUse::activation, graph::Shape shape = {64},
                    ElementType type = ElementType::float32) {
    stage().tensors.push_back({name, {type, std::move(shape)}, use, 1});
    return IrTensorId(static_cast<std::int64_t>(stage().tensors.size()) - 1);
  }
  void add(Pass pass, const std::string& name, std::vector<ops::Work> work, std::vector<IrTensorId> inputs,
           std::vector<IrTensorId> outputs, const std::string& block = "A") {
    if (stage().passes.empty() || stage().passes.back().pass != pass) stage().passes.push_back({pass, {}});
    stage().passes.back().operators.push_back(
        {name, name, std::move(work), std::move(inputs), std::move(outputs), block});
  }
  std::vector<IrOperator>& operators(std::size_t pass = 0) { return stage().passes[pass].operators; }
  bool inPlace(std::size_t op, std::size_t pass = 0) {
    return std::get<ops::Map>(operators(pass)[op].work.front().item).inPlace;
  }
};

ops::Work map(ops::MapFunction function, std::int64_t operands = 1, std::int64_t elements = 64,
              const std::string& label = "") {
  return {ops::Map{function, elements, operands, ElementType::float32, true}, 1, label};
}
ops::Work product(std::int64_t channels = 8) {
  ops::Contraction c;
  c.field = c.output = {8};
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.inputChannels = c.outputChannels = channels;
  return {c, 1, ""};
}

PassEffect runIrPasses(const std::string& only, ExecutableIr& ir) {
  PassRunner runner({ops::standardOperators(), {}, false},
                    [&](const std::string& name) { return name == only; });
  runner.runOn(ir);
  for (const PassReport& report : runner.reports()) {
    if (report.name == only) return report.effect;
  }
  ADD_FAILURE() << "no pass " << only;
  return {};
}

TEST(InPlace, TakesOverAnInputWhoseLifeEnds) {
  IrPassesMaker make;
  const auto x = make.tensor("x", TensorUse::input), a = make.tensor("a"), b = make.tensor("b"),
             c = make.tensor("c");
  make.add(Pass::forward, "first", {map(ops::MapFunction::relu)}, {x},
           {a});  // the backward pass reads x again
  make.add(Pass::forward, "second", {map(ops::MapFunction::tanh)}, {a}, {b});  // last reader of a
  make.add(Pass::backward, "third", {map(ops::MapFunction::multiply, 2)}, {b, x}, {c});
  const PassEffect effect = runIrPasses("in_place", make.ir);
  EXPECT_FALSE(make.inPlace(0));
  EXPECT_TRUE(make.inPlace(1));
  EXPECT_TRUE(make.inPlace(0, 1));
  EXPECT_EQ(effect.changes, 2);
  EXPECT_EQ(effect.bytes.count, 2 * 256);
  EXPECT_EQ(effect.removed.at(0).size(), 2u);
  EXPECT_FALSE(std::get<ops::Map>(effect.removed.at(0)[0].work.front().item).inPlace);
  EXPECT_TRUE(std::get<ops::Map>(effect.added.at(0)[0].work.front().item).inPlace);
}

TEST(InPlace, KeepsAReplacedOperandThatNothingReadsLater) {
  for (const bool readLater : {false, true}) {
    IrPassesMaker make;
    const auto x = make.tensor("x", TensorUse::stash), g = make.tensor("g"), other = make.tensor("other");
    make.add(Pass::backward, "loss",
             {{ops::Reduce{ops::ReduceFunction::max, 1, 64, true}, 1, ""}, map(ops::MapFunction::exp)}, {x},
             {g});
    make.operators()[0].replaced = x;
    if (readLater) make.add(Pass::backward, "again", {product()}, {x}, {other});
    ExecutableIr off = make.ir;
    runIrPasses("in_place", make.ir);
    EXPECT_EQ(make.operators()[0].replaced.valid(), !readLater);
    runIrPasses("outline", off);
    EXPECT_FALSE(off.stages[0].passes[0].operators[0].replaced.valid()) << "the pass is off";
  }
}

TEST(InPlace, SwitchedOffTakesAllOffersBackButUpdates) {
  IrPassesMaker make;
  const auto x = make.tensor("x", TensorUse::input), a = make.tensor("a"),
             sum = make.tensor("sum", TensorUse::accumulator);
  make.add(Pass::forward, "relu", {map(ops::MapFunction::relu)}, {x}, {a});
  make.add(Pass::backward, "accumulate", {map(ops::MapFunction::add, 2)}, {a, sum}, {sum});
  runIrPasses("outline", make.ir);
  EXPECT_FALSE(make.inPlace(0));
  EXPECT_TRUE(make.inPlace(0, 1)) << "an accumulator is written where it is, whatever passes are on";
}

TEST(InPlace, KeepsWeightsOtherSizesAndWhatLeaves) {
  IrPassesMaker make;
  const auto w = make.tensor("w", TensorUse::weight),
             small = make.tensor("small", TensorUse::activation, {1}), x = make.tensor("x", TensorUse::input),
             sent = make.tensor("sent");
  const auto a = make.tensor("a"), b = make.tensor("b"), c = make.tensor("c"), d = make.tensor("d");
  make.add(Pass::forward, "weight", {map(ops::MapFunction::relu)}, {w}, {a});
  make.add(Pass::forward, "broadcast", {map(ops::MapFunction::exp)}, {small}, {b});
  make.add(Pass::forward, "make", {product()}, {x}, {sent});
  make.add(Pass::forward, "leaves", {map(ops::MapFunction::relu)}, {sent}, {c});
  make.add(Pass::forward, "view", {}, {a}, {d});
  make.add(Pass::forward, "of_view", {map(ops::MapFunction::relu)}, {d},
           {make.tensor("e")});  // d is a view of a
  make.add(Pass::backward, "again", {product()}, {a}, {make.tensor("f")});
  make.ir.boundaries = {{"sent", {ElementType::float32, {64}}, 0, 1, model::TransferKind::activation}};
  EXPECT_EQ(runIrPasses("in_place", make.ir).changes, 0);
}

TEST(FuseElementwise, JoinsBiasAndActivation) {
  IrPassesMaker make;
  const auto x = make.tensor("x", TensorUse::input), y = make.tensor("y"), z = make.tensor("z");
  make.add(Pass::forward, "layer/linear", {product(), map(ops::MapFunction::add, 2, 64, "Bias")}, {x}, {y});
  make.add(Pass::forward, "layer/relu", {map(ops::MapFunction::relu)}, {y}, {z});
  const PassEffect effect = runIrPasses("fuse_elementwise", make.ir);
  ASSERT_EQ(make.operators().size(), 1u);
  const IrOperator& op = make.operators()[0];
  EXPECT_EQ(op.name, "layer/linear");
  EXPECT_EQ(op.kind, "layer/linear+layer/relu");
  ASSERT_EQ(op.work.size(), 3u);
  EXPECT_EQ(op.work[2].label, "relu");
  ASSERT_EQ(op.chains.size(), 1u);
  EXPECT_EQ(op.chains[0].first, 1u);
  EXPECT_EQ(op.chains[0].count, 2u);
  EXPECT_THAT(op.outputs, ElementsAre(z));
  EXPECT_THAT(op.inputs, ElementsAre(x));
  EXPECT_EQ(effect.bytes.count, 256) << "what lies between";
  EXPECT_EQ(effect.changes, 0) << "the device says what it fused";
}

TEST(FuseElementwise, JoinsLongChainsIntoOne) {
  IrPassesMaker make;
  const auto x = make.tensor("x", TensorUse::input), r = make.tensor("r", TensorUse::input);
  const auto a = make.tensor("a"), b = make.tensor("b"), c = make.tensor("c");
  make.add(Pass::forward, "scale", {map(ops::MapFunction::multiply)}, {x}, {a});
  make.add(Pass::forward, "add", {map(ops::MapFunction::add, 2)}, {a, r}, {b});
  make.add(Pass::forward, "relu", {map(ops::MapFunction::relu)}, {b}, {c});
  runIrPasses("fuse_elementwise", make.ir);
  ASSERT_EQ(make.operators().size(), 1u);
  ASSERT_EQ(make.operators()[0].chains.size(), 1u);
  EXPECT_EQ(make.operators()[0].chains[0].count, 3u);
  EXPECT_THAT(make.operators()[0].inputs, ElementsAre(x, r));
}

TEST(FuseElementwise, LeavesWhatOthersReadAndOtherBlocks) {
  const auto joined = [](bool readTwice, bool sent, bool otherBlock, std::int64_t elements) {
    IrPassesMaker make;
    const auto x = make.tensor("x", TensorUse::input), y = make.tensor("y"), z = make.tensor("z");
    make.add(Pass::forward, "linear", {product(), map(ops::MapFunction::add, 2)}, {x}, {y});
    make.add(Pass::forward, "relu", {map(ops::MapFunction::relu, 1, elements)}, {y}, {z},
             otherBlock ? "B" : "A");
    if (readTwice) make.add(Pass::backward, "gradient", {product()}, {y}, {make.tensor("g")});
    if (sent)
      make.ir.boundaries = {{"y", {ElementType::float32, {64}}, 0, 1, model::TransferKind::activation}};
    runIrPasses("fuse_elementwise", make.ir);
    return make.operators().size() == 1;
  };
  EXPECT_TRUE(joined(false, false, false, 64));
  EXPECT_FALSE(joined(true, false, false, 64));
  EXPECT_FALSE(joined(false, true, false, 64));
  EXPECT_FALSE(joined(false, false, true, 64));
  EXPECT_FALSE(joined(false, false, false, 32));
}

/// Adds a layer of three operators.
void addLayer(IrPassesMaker& make, Pass pass, const std::string& block, std::int64_t channels = 8) {
  const auto x = make.tensor(block + "/x"), w = make.tensor(block + "/w", TensorUse::weight);
  const auto y = make.tensor(block + "/y"), z = make.tensor(block + "/z"), out = make.tensor(block + "/out");
  make.add(pass, "Linear", {product(channels)}, {x, w}, {y}, block);
  make.add(pass, "Relu", {map(ops::MapFunction::relu)}, {y}, {z}, block);
  make.add(pass, "Add", {map(ops::MapFunction::add, 2)}, {z, x}, {out}, block);
}

TEST(Outline, MakesCallsOfBlocksThatAreAlike) {
  IrPassesMaker make;
  addLayer(make, Pass::forward, "layer0");
  make.add(Pass::forward, "stash", {map(ops::MapFunction::copy)}, {make.tensor("s")}, {make.tensor("t")}, "");
  addLayer(make, Pass::forward, "layer1");
  addLayer(make, Pass::forward, "other", 16);
  addLayer(make, Pass::backward, "layer0");
  for (IrOperator& op : make.operators(1)) op.again = true;
  addLayer(make, Pass::backward, "layer0");
  runIrPasses("outline", make.ir);
  const std::vector<IrCall>& forward = make.stage().passes[0].calls;
  ASSERT_EQ(forward.size(), 2u);
  EXPECT_EQ(forward[0].name, "layer0");
  EXPECT_EQ(forward[0].first, 0u);
  EXPECT_EQ(forward[0].count, 3u);
  EXPECT_EQ(forward[1].name, "layer1");
  EXPECT_EQ(forward[1].first, 4u);
  EXPECT_EQ(forward[0].function, "layer0/forward/function");
  EXPECT_EQ(forward[1].function, forward[0].function);
  // A layer and its repetition share code. What follows in the backward pass is a call of its own.
  const std::vector<IrCall>& backward = make.stage().passes[1].calls;
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(backward[0].function, forward[0].function);
  EXPECT_EQ(backward[0].count, 3u);
  EXPECT_EQ(backward[1].first, 3u);
}

TEST(Outline, LooksForNothingIfDevicesCannotShareCode) {
  IrPassesMaker make;
  make.ir.sharesCode = false;
  addLayer(make, Pass::forward, "layer0");
  addLayer(make, Pass::forward, "layer1");
  runIrPasses("outline", make.ir);
  EXPECT_TRUE(make.stage().passes[0].calls.empty());
}

TEST(Outline, FunctionsOfOneBlockHaveDifferentNames) {
  IrPassesMaker make;
  for (const std::int64_t channels : {8, 16}) {
    addLayer(make, Pass::backward, "layer0", channels);
    make.add(Pass::backward, "sum", {map(ops::MapFunction::add)}, {make.tensor("s")}, {make.tensor("t")}, "");
    addLayer(make, Pass::backward, "layer0", channels);
    make.add(Pass::backward, "sum", {map(ops::MapFunction::add)}, {make.tensor("s")}, {make.tensor("t")}, "");
  }
  runIrPasses("outline", make.ir);
  const std::vector<IrCall>& calls = make.stage().passes[0].calls;
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].function, calls[1].function);
  EXPECT_EQ(calls[2].function, calls[3].function);
  EXPECT_NE(calls[0].function, calls[2].function);
}

TEST(Outline, LooksAtHowTensorsAreConnected) {
  IrPassesMaker make;
  for (const bool crossed : {false, true}) {
    const std::string block = crossed ? "layer1" : "layer0";
    const auto a = make.tensor("a"), b = make.tensor("b"), w = make.tensor("w", TensorUse::weight),
               x = make.tensor("x"), y = make.tensor("y");
    make.add(Pass::forward, "Linear", {product()}, {a, w}, {x}, block);
    make.add(Pass::forward, "Linear", {product(16)}, {b, w}, {y}, block);
    make.add(Pass::forward, "Linear", {product(32)}, {crossed ? y : x, w}, {make.tensor("z")}, block);
  }
  runIrPasses("outline", make.ir);
  // The layers differ in what their third products read, so each product is a call of its own.
  const std::vector<IrCall>& calls = make.stage().passes[0].calls;
  ASSERT_FALSE(calls.empty());
  for (const IrCall& call : calls) EXPECT_LT(call.count, 3u);
}

/// Elementwise operators alone are worth too little, and optimizers are not, as in PopART.
TEST(Outline, TakesSingleOperatorsThatAreWorthIt) {
  IrPassesMaker make;
  const auto add = [&](Pass pass, const std::string& name, ops::Work work) {
    make.add(pass, "Operator", {std::move(work)}, {make.tensor("in")}, {make.tensor("out")}, "");
    make.stage().passes.back().operators.back().name = name;
  };
  add(Pass::forward, "relu0", map(ops::MapFunction::relu));
  add(Pass::forward, "other", map(ops::MapFunction::exp));
  add(Pass::forward, "relu1", map(ops::MapFunction::relu));
  add(Pass::forward, "product0", product());
  add(Pass::forward, "other", map(ops::MapFunction::tanh));
  add(Pass::forward, "product1", product());
  add(Pass::update, "step0", map(ops::MapFunction::adam));
  add(Pass::update, "other", map(ops::MapFunction::multiply));
  add(Pass::update, "step1", map(ops::MapFunction::adam));
  runIrPasses("outline", make.ir);
  const std::vector<IrCall>& forward = make.stage().passes[0].calls;
  ASSERT_EQ(forward.size(), 2u);
  EXPECT_EQ(forward[0].name, "product0");
  EXPECT_EQ(forward[1].name, "product1");
  const std::vector<IrCall>& update = make.stage().passes[1].calls;
  ASSERT_EQ(update.size(), 2u);
  EXPECT_EQ(update[0].function, "step0/update/function");
  EXPECT_EQ(update[1].name, "step1");
}

/// Remote buffers and collectives cut functions.
TEST(Outline, LeavesTransfersOut) {
  IrPassesMaker make;
  for (int i = 0; i < 2; ++i) {
    const auto state = make.tensor("state"), moved = make.tensor("moved");
    make.add(Pass::update, "load", {{ops::HostCopy{true, base::Bytes(64), true}, 1, ""}}, {}, {state}, "");
    make.add(Pass::update, "step", {map(ops::MapFunction::adam)}, {state}, {moved}, "");
    make.add(Pass::update, "store", {{ops::HostCopy{false, base::Bytes(64), true}, 1, ""}}, {moved}, {}, "");
  }
  runIrPasses("outline", make.ir);
  const std::vector<IrCall>& calls = make.stage().passes[0].calls;
  ASSERT_EQ(calls.size(), 2u);
  for (const IrCall& call : calls) EXPECT_EQ(call.count, 1u);
}

TEST(Outline, DoesNotReachAcrossDevices) {
  IrPassesMaker make;
  addLayer(make, Pass::forward, "layer0");
  StageIr other = make.stage();
  other.index = other.place = 1;
  make.ir.stages.push_back(std::move(other));
  runIrPasses("outline", make.ir);
  EXPECT_TRUE(make.ir.stages[0].passes[0].calls.empty());
  make.ir.stages[1].place = 0;
  runIrPasses("outline", make.ir);
  EXPECT_EQ(make.ir.stages[0].passes[0].calls.size() + make.ir.stages[1].passes[0].calls.size(), 2u);
}

}  // namespace
}  // namespace pipescope::compile
