// Tests the tensors that calls of functions on an IPU copy in and out.
#include <gtest/gtest.h>

#include "engine/devices/ipu/code/call_arguments.h"
#include "ipu_fixtures.h"

namespace pipescope::devices::testing {
namespace {

using compile::TensorUse;
using ipu::CallArgument;
using model::Pass;

TEST(CallArguments, AreWhatACallReadsChangesAndHandsOut) {
  StageMaker make(0, 0);
  const auto tensor = [&](const char* name, TensorUse use) { return make.tensor(name, {64}, use); };
  const auto moved = tensor("moved", TensorUse::activation), kept = tensor("kept", TensorUse::activation),
             weight = tensor("weight", TensorUse::weight), out = tensor("out", TensorUse::activation),
             inside = tensor("inside", TensorUse::activation), sum = tensor("sum", TensorUse::accumulator),
             last = tensor("last", TensorUse::activation), view = tensor("view", TensorUse::activation);
  const std::vector<ops::Work> work{
      {ops::Map{ops::MapFunction::add, 64, 2, graph::ElementType::float32}, 1, ""}};
  make.add(Pass::forward, "before", "Add", work, {}, {moved, kept});
  make.add(Pass::forward, "first", "Add", work, {moved, weight}, {out});
  make.add(Pass::forward, "second", "Add", work, {out, kept}, {inside});
  make.add(Pass::forward, "view", "Reshape", {}, {inside}, {view});
  make.add(Pass::forward, "third", "Add", work, {view, sum}, {sum});
  make.add(Pass::forward, "after", "Add", work, {out, kept}, {last});
  const compile::StageIr& stage = make.stage();
  const compile::TensorUses uses(stage, {});
  const auto found = ipu::argumentsOf(stage, uses, stage.passes[0], {"function", "call", 1, 4});
  struct Expected {
    compile::IrTensorId tensor;
    std::size_t firstRead, lastRead, lastMade;
    bool needed;
  };
  const std::size_t never = CallArgument::kNever;
  // `inside` and its view stay within the call. `moved` is used up by it.
  const std::vector<Expected> expected{{moved, 0, 0, never, false},
                                       {weight, 0, 0, never, true},
                                       {out, never, 1, 0, true},
                                       {kept, 1, 1, never, true},
                                       {sum, 3, 3, 3, true}};
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].root, expected[i].tensor) << i;
    EXPECT_EQ(found[i].bytes, 256) << i;
    EXPECT_EQ(found[i].firstRead, expected[i].firstRead) << i;
    EXPECT_EQ(found[i].lastRead, expected[i].lastRead) << i;
    EXPECT_EQ(found[i].lastMade, expected[i].lastMade) << i;
    EXPECT_EQ(found[i].needed, expected[i].needed) << i;
  }
}

}  // namespace
}  // namespace pipescope::devices::testing
