// Plans that the three products of a trained layer share.
#include "engine/devices/ipu/products/joint_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "engine/devices/ipu/products/plan_cost.h"
#include "ipu_fixtures.h"

namespace pipescope::devices::ipu {
namespace {

using testing::Lowering;
using testing::phase;
using testing::product;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::array<ConvShape, 3> shapesOf(std::int64_t rows, std::int64_t in, std::int64_t out,
                                  graph::ElementType type = graph::ElementType::float16) {
  ops::Contraction c = product(rows, in, out, type);
  c.trained = true;
  return {shapeOf(phase(c, 0), "layer").value(), shapeOf(phase(c, 1), "layer").value(),
          shapeOf(phase(c, 2), "layer").value()};
}

TEST(JointPlan, EachPassLeadsToAllThree) {
  const std::array<ConvShape, 3> shapes = shapesOf(3, 5, 7);
  for (const ConvShape& shape : shapes) EXPECT_EQ(passesOf(shape), shapes);
}

TEST(JointPlan, PassesMirrorTheSplitOfTheFirst) {
  const Chip mk2 = testing::chipOf("mk2");
  for (const std::int64_t rows : {1, 8, 16}) {
    const auto plan = planJointly(mk2, shapesOf(rows, 1000, 1200), kNoLimit, kNoLimit);
    ASSERT_TRUE(plan) << rows;
    const auto& [forward, input, weights] = plan->passes;
    // The rows are whole on each tile, so each weight is used by one tile.
    EXPECT_EQ(forward.split.outChannels, 1);
    EXPECT_EQ(input.split.outChannels, 1);
    EXPECT_EQ(weights.split.inChannels, 1);
    EXPECT_EQ(input.split.output[0], forward.split.inChannels);
    EXPECT_EQ(input.split.inChannels, forward.split.output[0]);
    EXPECT_EQ(weights.split.output[0], forward.split.output[0]);
    EXPECT_EQ(weights.split.outChannels, forward.split.inChannels);
    EXPECT_EQ(input.form.vertex.inGroup, forward.form.vertex.inGroup);
    EXPECT_EQ(weights.form.vertex.outGroup, forward.form.vertex.inGroup);
    // A tile's block of weights is the same in all passes.
    EXPECT_EQ(forward.tile.output[0], weights.tile.output[0]);
    EXPECT_EQ(forward.tile.inGroups, weights.tile.outGroups);
    // 1,000 and 1,200 fill groups of 8 and 40, so no operand is arranged, and no weight moves.
    EXPECT_EQ(forward.costs.movedInputBytes, 0);
    EXPECT_EQ(input.costs.movedInputBytes, 0);
    for (const ContractionPlan& pass : plan->passes) {
      EXPECT_LE(pass.split.tiles(), mk2.tiles);
      EXPECT_EQ(pass.costs.outputExchange, 0);
    }
  }
}

TEST(JointPlan, SharesCoverTheWork) {
  const Chip mk2 = testing::chipOf("mk2");
  std::mt19937 random(3);
  const auto extent = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  for (int i = 0; i < 20; ++i) {
    const std::int64_t rows = extent(40), in = extent(3000), out = extent(3000);
    const auto plan = planJointly(mk2, shapesOf(rows, in, out), kNoLimit, kNoLimit);
    ASSERT_TRUE(plan);
    for (const ContractionPlan& pass : plan->passes) {
      std::int64_t tiles = 0, done = 0;
      for (const ConvShare& share : sharesOf(pass)) {
        tiles += share.tiles;
        done += share.tiles * share.tile.inGroups * share.tile.outGroups * share.tile.output[0];
        EXPECT_LE(share.tile.output[0], pass.tile.output[0]);
      }
      EXPECT_EQ(tiles, pass.split.tiles());
      // The last group of the field may be cut short.
      const std::int64_t wanted = pass.form.inGrains * pass.form.outGrains * pass.form.shape.dims[0].output;
      EXPECT_GE(done, wanted);
      EXPECT_LT(done, wanted + pass.form.inGrains * pass.form.outGrains * pass.form.fieldGrain);
    }
  }
}

TEST(JointPlan, KeepsToMemoryAndToWhatThreePlansTake) {
  const Chip mk2 = testing::chipOf("mk2");
  const std::array<ConvShape, 3> shapes = shapesOf(16, 1024, 4096);
  EXPECT_FALSE(planJointly(mk2, shapes, kNoLimit, 0));
  EXPECT_FALSE(planJointly(mk2, shapes, 100, kNoLimit));
  const auto free = planJointly(mk2, shapes, kNoLimit, kNoLimit);
  ASSERT_TRUE(free);
  std::int64_t most = 0;
  for (const ContractionPlan& pass : free->passes) most = std::max(most, pass.costs.temporaryBytes);
  if (const auto less = planJointly(mk2, shapes, most - 1, kNoLimit)) {
    for (const ContractionPlan& pass : less->passes) EXPECT_LT(pass.costs.temporaryBytes, most);
  }
}

TEST(JointPlan, OneSampleNeedsNoSumsForItsWeights) {
  // An outer product writes float16 at once, in the order of the weights: 2 bytes for each of 10^6 results.
  Lowering mk2(testing::chipOf("mk2"));
  ops::Contraction c = product(1, 1000, 1000);
  c.trained = true;
  const LoweredWork update = mk2.lower(phase(c, 2));
  ASSERT_EQ(update.steps.size(), 2u);
  EXPECT_EQ(update.steps[0].name, "PreConvolve/Exchange");
  EXPECT_EQ(update.steps[1].vertices.at(0).type, "poplin::OuterProduct<half>");
  // The gradients stay on the tiles that make them, where the weights lie, too.
  const Spread result = spreadOf(update.resultRuns);
  EXPECT_EQ(result.active, spreadOf(update.steps[1].cycles).active);
  EXPECT_EQ(result.total, 2'000'000);
  // The backward product turns its weights over on their tiles.
  const LoweredWork backward = mk2.lower(phase(c, 1));
  EXPECT_EQ(backward.steps.at(0).name, "PreArrange/Transpose");
  std::int64_t turned = 0;
  for (const Temporary& temporary : backward.temporaries) {
    if (temporary.name == "PreArrange/Result") turned = spreadOf(temporary.bytes).total;
    EXPECT_NE(temporary.name, "PreArrange/Source");
  }
  EXPECT_GE(turned, 2'000'000);
  EXPECT_LT(turned, 2'100'000);
}

/// Weights that are turned over on a tile take no exchange. (A head for 30,522 words: 16 rows do not fill a
/// group of channels.)
TEST(JointPlan, ExchangesSendWhatTheirTimeAllows) {
  for (const char* name : {"mk1", "mk2"}) {
    Lowering on(testing::chipOf(name));
    for (const std::int64_t rows : {13, 16, 32}) {
      ops::Contraction c = product(rows, 64, 30522, graph::ElementType::float32);
      c.trained = true;
      for (int pass = 0; pass < 3; ++pass) {
        for (const ProgramStep& step : on.lower(phase(c, pass)).steps) {
          if (step.kind != model::StepKind::exchange) continue;
          const double most = on.chip().exchangeBytesPerCycle *
                              static_cast<double>(spreadOf(step.cycles).most * on.chip().tiles);
          EXPECT_LE(static_cast<double>(step.bytesOut), most) << name << ' ' << rows << ' ' << step.name;
        }
      }
    }
  }
}

TEST(JointPlan, TurningOverTakesTheCyclesOfPopLibs) {
  // PopLibs' Transpose2d on six workers, by hand: one 16×16 matrix of float16 takes 37 + 12 + 4·(15 + 4·2)
  // cycles of a worker, an 8×8 one 37 + 12 + 2·15, three 4×4 ones for each worker 32 + 3·15, and a 6×6 one,
  // which fills no vectors, 15 + 8 + 6·(5 + 15). One 8×8 matrix of float32 takes 27 + 11 + 4·(6 + 3·3), and
  // one of 5×5 13 + 8 + 5·(5 + 10).
  const Chip mk2 = testing::chipOf("mk2");
  EXPECT_EQ(turnCycles(mk2, 256, 16, true), 6 * 141);
  EXPECT_EQ(turnCycles(mk2, 64, 8, true), 6 * 79);
  EXPECT_EQ(turnCycles(mk2, 18 * 16, 4, true), 6 * 77);
  EXPECT_EQ(turnCycles(mk2, 36, 6, true), 6 * 143);
  // The fast form of float16 repeats 1 + 3·(size ÷ 4) times at most, which must be below 512: up to 680.
  EXPECT_EQ(turnCycles(mk2, 680 * 680, 680, true), 6 * (37 + 12 + 170 * (15 + 4 * 168)));
  EXPECT_EQ(turnCycles(mk2, 684 * 684, 684, true), 6 * (15 + 8 + 684 * (5 + 684 * 5 / 2)));
  EXPECT_EQ(turnCycles(mk2, 64, 8, false), 6 * 98);
  EXPECT_EQ(turnCycles(mk2, 25, 5, false), 6 * 96);
}

}  // namespace
}  // namespace pipescope::devices::ipu
