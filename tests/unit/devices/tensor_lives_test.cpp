// Lives of tensors in a stage that is written down by hand.
#include "engine/devices/core/tensor_lives.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace pipescope::devices {
namespace {

using compile::IrTensorId;
using compile::TensorUse;
using model::Pass;

/// A stage between two others: a sample and an activation arrive, a result leaves.
class TensorLivesTest : public ::testing::Test {
 protected:
  enum Name : std::int64_t { sample, arrived, weight, stash, inner, unread, sent, view, changed, passing };
  TensorLivesTest() {
    stage_.tensors.resize(10);
    stage_.tensors[IrTensorId(weight)].use = TensorUse::weight;
    stage_.tensors[IrTensorId(stash)].use = TensorUse::stash;
    for (const Name input : {sample, arrived, sent}) stage_.tensors[IrTensorId(input)].use = TensorUse::input;
  }

  static compile::IrOperator operation(std::vector<Name> inputs, std::vector<Name> outputs) {
    compile::IrOperator op;
    op.work.emplace_back();
    for (const Name input : inputs) op.inputs.emplace_back(input);
    for (const Name output : outputs) op.outputs.emplace_back(output);
    return op;
  }

  /// Steps 0–2 load the sample, 2–12 are the forward pass, 12–14 the host takes the result of `inner`.
  TensorLives lives(bool stashInPlace = false) {
    TensorLives lives(stage_, stashInPlace);
    lives.enterPass(Pass::hostIn, 0);
    lives.operatorAt(operation({}, {sample}), 0, 2);
    lives.leavePass(2);
    lives.enterPass(Pass::forward, 2);
    lives.operatorAt(operation({sample, weight}, {inner}), 3, 5);
    lives.operatorAt(operation({inner, arrived}, {sent, unread, stash}), 6, 8);
    compile::IrOperator look = operation({inner}, {view});
    look.work.clear();
    lives.operatorAt(look, 8, 8);
    lives.operatorAt(operation({view}, {changed}), 9, 10);
    lives.operatorAt(operation({arrived}, {passing}), 7, 8);
    lives.operatorAt(operation({passing}, {changed}), 10, 11);
    lives.leavePass(12);
    lives.enterPass(Pass::hostOut, 12);
    lives.operatorAt(operation({inner}, {}), 12, 14);
    lives.leavePass(14);
    return lives;
  }

  static std::vector<std::pair<int, int>> of(const TensorLives& lives, Name tensor) {
    std::vector<std::pair<int, int>> steps;
    for (const LifeSteps& life : lives.of(static_cast<std::size_t>(tensor)))
      steps.emplace_back(life.first, life.end);
    return steps;
  }
  using Steps = std::vector<std::pair<int, int>>;

  compile::StageIr stage_;
};

TEST_F(TensorLivesTest, LastFromTheStepThatWritesToTheLastReader) {
  const TensorLives made = lives();
  EXPECT_EQ(of(made, sample), (Steps{{0, 5}}));
  EXPECT_EQ(of(made, inner), (Steps{{3, 14}})) << "a view of it is read, and the host reads it";
  EXPECT_EQ(of(made, arrived), (Steps{{2, 8}})) << "from the start of the pass that reads it first";
  EXPECT_EQ(of(made, sent), (Steps{{6, 12}})) << "to the end of the pass, because nothing here reads it";
  EXPECT_EQ(of(made, view), Steps());
  EXPECT_EQ(of(made, passing), (Steps{{7, 11}}));
  EXPECT_EQ(of(made, weight), Steps()) << "always live";
  EXPECT_EQ(of(made, stash), Steps());
}

TEST_F(TensorLivesTest, OnlyWhatOtherDevicesMakeOrReadCrosses) {
  const TensorLives made = lives();
  const auto crosses = [&](Name tensor) { return made.crosses(static_cast<std::size_t>(tensor)); };
  EXPECT_TRUE(crosses(arrived));
  EXPECT_TRUE(crosses(sent));
  EXPECT_TRUE(crosses(changed)) << "nothing here reads the last result";
  EXPECT_FALSE(crosses(passing)) << "made and read here";
  EXPECT_FALSE(crosses(inner)) << "the host reads it";
  EXPECT_FALSE(crosses(sample)) << "the host makes it";
  EXPECT_FALSE(crosses(weight));
  EXPECT_FALSE(crosses(stash));
}

}  // namespace
}  // namespace pipescope::devices
