// Each kind of Work on one Mk2 (or Bow, where that was measured).
#include <gmock/gmock.h>

#include <cmath>

#include "engine/devices/ipu/map_cost.h"
#include "ipu_fixtures.h"

namespace pipescope::devices::ipu {
namespace {

using testing::chipOf;
using ::testing::HasSubstr;
using testing::Lowering;

constexpr auto kFloat = graph::ElementType::float32;
constexpr auto kWorkLoweringHalf = graph::ElementType::float16;

std::vector<std::string> namesOf(const LoweredWork& work) {
  std::vector<std::string> names;
  for (const ProgramStep& step : work.steps) names.push_back(step.program + ' ' + step.name);
  return names;
}

/// What holds of every lowered piece of Work.
void expectWorkLoweringSound(const LoweredWork& work, const Chip& chip) {
  EXPECT_FALSE(work.steps.empty());
  for (const ProgramStep& step : work.steps) {
    const Spread spread = spreadOf(step.cycles);
    EXPECT_GT(spread.most, 0) << step.name;
    EXPECT_LE(spread.active, chip.tiles) << step.name;
    for (const TileRun& run : step.cycles) EXPECT_LE(run.first + run.count, chip.tiles) << step.name;
    if (step.kind == model::StepKind::exchange) {
      EXPECT_EQ(step.bytesIn, step.bytesOut);
      EXPECT_GT(step.bytesIn, 0);
      EXPECT_GE(step.messages, 1);
      // No tile receives faster than pairs of tiles can.
      EXPECT_GE(static_cast<double>(spread.total) * chip.exchangeBytesPerCycle * chip.exchangePairFactor,
                static_cast<double>(step.bytesIn));
    }
    if (step.kind == model::StepKind::compute) {
      EXPECT_EQ(step.sync % chip.computeSetOverhead, 0);
      EXPECT_FALSE(step.vertices.empty());
    }
  }
  for (const Temporary& temporary : work.temporaries) {
    EXPECT_LT(temporary.first, temporary.end) << temporary.name;
    EXPECT_LE(temporary.end, work.steps.size()) << temporary.name;
    EXPECT_GT(spreadOf(temporary.bytes).total, 0) << temporary.name;
  }
}

TEST(WorkLowering, ExchangeFormula) {
  // 190 cycles, of which 90 are the sync, then 4 bytes a cycle on the busiest tile; the sync is a step's own.
  const Chip mk2 = chipOf("mk2");
  LoweredWork work;
  work.exchange(mk2, "Copy", {{0, 10, 1000}, {10, 1, 1003}}, 1, 100);
  ASSERT_EQ(work.steps.size(), 1u);
  EXPECT_EQ(work.cycles(), 190 + 251);
  EXPECT_EQ(work.steps[0].sync, 90);
  EXPECT_EQ(work.steps[0].bytesIn, 11003);
  EXPECT_EQ(work.steps[0].messages, 11);
  LoweredWork pairs;
  pairs.exchange(mk2, "Broadcast", {{0, 10, 1000}}, mk2.exchangePairFactor, 100);
  EXPECT_EQ(pairs.cycles(), 190 + 125);
  LoweredWork nothing;
  nothing.exchange(mk2, "Nothing", {{0, 10, 0}}, 1, 100);
  EXPECT_TRUE(nothing.steps.empty());
}

TEST(WorkLowering, AdditionOnEveryTileOfABow) {
  // 1,024 float32 elements a tile: 1,860 cycles measured (tessellate-ipu notebooks). By hand: 86 pairs for
  // the busiest worker; 11 + 6 × (29 + 86 × 3), and 90 for the sync.
  Lowering bow(chipOf("bow"));
  const LoweredWork work = bow.lower(ops::Map{"add", 1024 * 1472, 2, kFloat, false});
  EXPECT_EQ(work.cycles(), 1823);
  EXPECT_NEAR(static_cast<double>(work.cycles()), 1860, 0.05 * 1860);
  EXPECT_EQ(spreadOf(work.steps[0].cycles).active, 1472);
}

TEST(WorkLowering, TinyAddition) {
  // [5,2] float32: 329 cycles measured on the tile, so without the sync before; the launch takes 45 and so
  // does each of the two cycle counters.
  Lowering bow(chipOf("bow"));
  const LoweredWork work = bow.lower(ops::Map{"add", 10, 2, kFloat, false});
  EXPECT_EQ(spreadOf(work.steps[0].cycles).active, 1);
  EXPECT_NEAR(static_cast<double>(spreadOf(work.steps[0].cycles).most + 3 * 45), 329, 0.05 * 329);
}

TEST(WorkLowering, MapCosts) {
  Lowering mk2(chipOf("mk2"));
  const auto cycles = [&](const char* function, graph::ElementType type, std::int64_t operands = 1,
                          bool inPlace = false) {
    return mk2.lower(ops::Map{function, 1472 * 1200, operands, type, inPlace}).cycles();
  };
  // 1,200 a tile, 200 a worker: 100 pairs or 50 fours.
  EXPECT_EQ(cycles("relu", kFloat), 90 + 11 + 6 * (17 + 100 * 3));
  EXPECT_EQ(cycles("relu", kWorkLoweringHalf), 90 + 11 + 6 * (17 + 50 * 3));
  EXPECT_EQ(cycles("relu", kWorkLoweringHalf, 1, true), 90 + 11 + 6 * (17 + 50 * 2));
  EXPECT_EQ(cycles("exp", kFloat), 90 + 11 + 6 * (33 + 100 * 6));
  EXPECT_EQ(cycles("gelu", kWorkLoweringHalf), 90 + 11 + 6 * (17 + 200 * 16));
  EXPECT_EQ(cycles("multiply", kFloat, 2), 90 + 11 + 6 * (29 + 100 * 3));
  EXPECT_EQ(cycles("scaled_add", kWorkLoweringHalf, 2, true), 90 + 50 + 6 * (21 + 50 * 3));
  EXPECT_GT(cycles("add", kFloat, 3), cycles("add", kFloat, 2));
  // Vertices of their own: not pair after pair.
  EXPECT_EQ(cycles("select", kFloat, 3), 90 + 11 + 6 * (11 + 200 * 5));
  EXPECT_EQ(cycles("sqrt", kWorkLoweringHalf), 90 + 11 + 6 * (17 + 50 * 23));
  EXPECT_EQ(cycles("cos", kWorkLoweringHalf), 90 + 11 + 6 * (17 + 200 * 26));
  // Generated from an expression: exp, add and log of 100 pairs (6, 3 and 14 cycles in place).
  EXPECT_EQ(cycles("softplus", kFloat), 90 + 11 + 6 * (17 + 100 * (6 + 3 + 14)));
  // Adam reads four operands in one go: scaled_add twice, square, sqrt, add, divide, scaled_add.
  EXPECT_EQ(cycles("adam", kFloat, 4, true), 90 + 11 + 6 * (58 + 100 * (3 + 2 + 3 + 10 + 3 + 10 + 3)));
  EXPECT_EQ(cycles("add", graph::ElementType::int32, 2), 90 + 11 + 6 * (29 + 200 * 7));
  // A function that the table does not know runs as a loop that is not written in assembly.
  EXPECT_GT(cycles("something_new", kFloat), cycles("add", kFloat));
}

TEST(WorkLowering, FunctionsSayHowSureTheirCyclesAre) {
  EXPECT_EQ(mapPace("tanh", kWorkLoweringHalf, false).grade, 'C');
  EXPECT_EQ(mapPace("adam", kFloat, true).grade, 'X');
  EXPECT_EQ(mapPace("something_new", kFloat, false).grade, 'R');
  EXPECT_EQ(mapPace("softsign", kFloat, false).parts, 3);
}

TEST(WorkLowering, HostCopyAsTheIpuModelChargesIt) {
  // Poplar tutorial 6: matrix, vector and result of a 10,000 × 1,000 float32 product cross in 6,663,551
  // cycles.
  Lowering mk2(chipOf("mk2"));
  const std::int64_t bytes = 4 * (10000 * 1000 + 1000 + 10000);
  const LoweredWork work = mk2.lower(ops::HostCopy{true, base::Bytes(bytes)});
  EXPECT_NEAR(static_cast<double>(work.cycles()), 6'663'551, 0.005 * 6'663'551);
  EXPECT_THAT(namesOf(work),
              ::testing::ElementsAre("StreamCopyBegin StreamCopyBegin", "StreamCopyMid StreamCopyMid",
                                     "StreamCopyEnd StreamCopyEnd"));
  EXPECT_EQ(work.steps[1].bytesIn, bytes);
  EXPECT_EQ(work.steps[1].bytesOut, 0);
  const LoweredWork out = mk2.lower(ops::HostCopy{false, base::Bytes(4)});
  EXPECT_EQ(out.steps[1].bytesOut, 4);
  EXPECT_EQ(out.steps[1].bytesIn, 0);
}

TEST(WorkLowering, RearrangeRegression) {
  Lowering mk2(chipOf("mk2"));
  const auto onTile = [&](std::int64_t run) {
    const LoweredWork work = mk2.lower(ops::Rearrange{1472 * 1000, run, kWorkLoweringHalf});
    return spreadOf(work.steps.back().cycles).most;
  };
  EXPECT_EQ(onTile(4), 587 + 881);    // 2,000 bytes in pieces of 8
  EXPECT_EQ(onTile(2), 587 + 6250);   // of 4
  EXPECT_EQ(onTile(1), 587 + 10297);  // of 2
  // In one piece: a copy of 8 bytes a cycle, nothing is exchanged.
  const LoweredWork whole = mk2.lower(ops::Rearrange{1472 * 1000, 1472 * 1000, kWorkLoweringHalf});
  ASSERT_EQ(whole.steps.size(), 1u);
  EXPECT_EQ(whole.cycles(), 90 + 250);
}

TEST(WorkLowering, ReduceInStages) {
  Lowering mk2(chipOf("mk2"));
  const LoweredWork onTile = mk2.lower(ops::Reduce{"sum", 1472 * 4, 64, true, kFloat});
  EXPECT_EQ(onTile.steps.size(), 1u);
  const LoweredWork scalar = mk2.lower(ops::Reduce{"sum", 1, 1472 * 64, true, kFloat});
  EXPECT_THAT(namesOf(scalar),
              ::testing::ElementsAre("OnTileExecute Reduce/OnTile", "DoExchange Reduce/Stage1/Exchange",
                                     "OnTileExecute Reduce/Stage1", "DoExchange Reduce/Stage2/Exchange",
                                     "OnTileExecute Reduce/Stage2"));
  const LoweredWork rows = mk2.lower(ops::Reduce{"sum", 256, 4096, false, kFloat});
  EXPECT_GT(rows.steps.size(), 1u);
  for (const LoweredWork* work : {&onTile, &scalar, &rows}) expectWorkLoweringSound(*work, mk2.chip());
}

TEST(WorkLowering, ReductionStagesHaveTheDepthsOfPoplin) {
  // Below 16 one stage, below 125 two, else three; the product of their depths covers the whole.
  for (const std::int64_t depth : {2, 15, 16, 100, 124, 125, 1000}) {
    const ReduceStages stages = reduceStages(depth, 960);
    EXPECT_EQ(stages.count, depth < 16 ? 1u : depth < 125 ? 2u : 3u);
    std::int64_t covered = 1;
    for (const ReduceStage& stage : stages) covered *= stage.depth;
    EXPECT_GE(covered, depth);
  }
  EXPECT_EQ(reduceStages(1, 960).count, 0u);
  EXPECT_EQ(reduceStages(8, 960).begin()->outputs, 120);
  // One piece: 33 + 6 × (20 + (2 × 7 + 8) × ceil(120 / 4 / 6))
  EXPECT_EQ(reduceCycles(chipOf("mk2"), {8, 120}, false, false), 33 + 6 * (20 + (2 * 7 + 8) * 5));
}

TEST(WorkLowering, ContractionHasTheStepsThatUsersKnow) {
  Lowering mk2(chipOf("mk2"));
  const LoweredWork work = mk2.lower(testing::phase(testing::product(256, 1024, 1024), 1));
  expectWorkLoweringSound(work, mk2.chip());
  const std::vector<std::string> names = namesOf(work);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"OnTileExecute PreArrange/OnTileCopy",
                                              "DoExchange PreConvolve/Exchange", "OnTileExecute Convolve"}));
  const auto convolve = std::find_if(work.steps.begin(), work.steps.end(),
                                     [](const ProgramStep& step) { return step.name == "Convolve"; });
  EXPECT_THAT(convolve->vertices.at(0).type, HasSubstr("poplin::ConvPartial"));
  EXPECT_GT(convolve->vertices.at(0).codeBytes, 0);
}

TEST(WorkLowering, AWindowOfTheWholeFieldTouchesEachInputOnce) {
  // The gradient of a global pooling gives each input one share of one result: far from 49 as in a sliding
  // window.
  Lowering mk2(chipOf("mk2"));
  const ops::Pool global{"average", true, 16, 2048, {7, 7}, {7, 7}, {1, 1}, {1, 1}, kWorkLoweringHalf},
      sliding{"average", true, 16, 2048, {7, 7}, {7, 7}, {7, 7}, {1, 1}, kWorkLoweringHalf};
  EXPECT_LT(4 * mk2.lower(global).cycles(), mk2.lower(sliding).cycles());
}

TEST(WorkLowering, EveryKindIsSound) {
  Lowering mk2(chipOf("mk2"));
  ops::Pool pool{"max", false, 40, 10, {24, 24}, {2, 2}, {12, 12}, {2, 2}, kFloat};
  ops::Pool back = pool;
  back.backward = true;
  const std::vector<ops::WorkItem> items{
      pool,
      back,
      ops::Pool{"average", false, 1, 3, {1}, {1}, {1}, {1}, kWorkLoweringHalf},
      ops::Gather{512, 1024, 30522, kWorkLoweringHalf},
      ops::Gather{1, 1, 1, kFloat},
      ops::Scatter{512, 1024, 30522, true, kWorkLoweringHalf},
      ops::Scatter{7, 3, 5, false, kFloat},
      ops::Rearrange{1000, 3, kWorkLoweringHalf},
      ops::Sort{128, 1000, 1000, kFloat},
      ops::Sort{1, 1'000'000, 5, kFloat},
      ops::Sort{1, 1, 1, kFloat},
      ops::Random{1'000'000, kWorkLoweringHalf},
      ops::Map{"add", 1, 2, graph::ElementType::int64, true},
      testing::convolution(40, 28, 5, 1, 10, 1, 0, 1, kFloat)};
  for (const ops::WorkItem& item : items) expectWorkLoweringSound(mk2.lower(item), mk2.chip());
}

TEST(WorkLowering, MoreWorkTakesLonger) {
  Lowering mk2(chipOf("mk2"));
  const auto longer = [&](const ops::WorkItem& small, const ops::WorkItem& large) {
    EXPECT_LT(mk2.lower(small).cycles(), mk2.lower(large).cycles());
  };
  longer(ops::Gather{64, 1024, 30522, kWorkLoweringHalf}, ops::Gather{512, 1024, 30522, kWorkLoweringHalf});
  longer(ops::Scatter{64, 1024, 30522, true, kWorkLoweringHalf},
         ops::Scatter{512, 1024, 30522, true, kWorkLoweringHalf});
  longer(ops::Sort{1, 10'000, 10'000, kFloat}, ops::Sort{1, 1'000'000, 1'000'000, kFloat});
  longer(ops::Random{100'000, kFloat}, ops::Random{10'000'000, kFloat});
  longer(ops::Pool{"max", false, 4, 64, {112, 112}, {3, 3}, {56, 56}, {2, 2}, kWorkLoweringHalf},
         ops::Pool{"max", false, 40, 64, {112, 112}, {3, 3}, {56, 56}, {2, 2}, kWorkLoweringHalf});
}

TEST(WorkLowering, RefusesWhatItCannotDo) {
  Lowering mk2(chipOf("mk2"));
  EXPECT_EQ(mk2.refusal(ops::Collective{}), "layer: number of elements is 0, but must be at least 1.");
  EXPECT_EQ(mk2.refusal(ops::Map{"add", 0, 2, kFloat, false}),
            "layer: number of elements is 0, but must be at least 1.");
  EXPECT_EQ(mk2.refusal(ops::Map{"add", 5, 0, kFloat, false}),
            "layer: number of operands is 0, but must be at least 1.");
  EXPECT_THAT(mk2.refusal(ops::Map{"add", std::int64_t{1} << 41, 2, kFloat, false}),
              HasSubstr("number of elements is above 2^40"));
  EXPECT_THAT(mk2.refusal(ops::Reduce{"sum", std::int64_t{1} << 40, 2, true, kFloat}),
              HasSubstr("number of elements to reduce is above 2^40"));
  EXPECT_THAT(mk2.refusal(ops::Reduce{"sum", std::int64_t{1} << 62, std::int64_t{1} << 62, true, kFloat}),
              HasSubstr("above 2^40"));
  EXPECT_EQ(mk2.refusal(ops::Map{"add", 5, 2, graph::ElementType::bfloat16, false}),
            "layer: an IPU does not compute in bfloat16; use float16 or float32.");
  EXPECT_THAT(mk2.refusal(ops::Reduce{"sum", 1, 5, true, graph::ElementType::float64}),
              HasSubstr("does not compute in float64"));
  EXPECT_THAT(mk2.refusal(ops::Pool{"max", false, 1, 1, {4, 4}, {2}, {2, 2}, {2, 2}, kFloat}),
              HasSubstr("same number of axes"));
  EXPECT_THAT(mk2.refusal(ops::Pool{"max", false, 1, 1, {}, {}, {}, {}, kFloat}), HasSubstr("at least one"));
  EXPECT_THAT(mk2.refusal(ops::Pool{"max", false, 1, 1, {4}, {0}, {2}, {2}, kFloat}),
              HasSubstr("kernel is 0"));
  EXPECT_THAT(mk2.refusal(ops::Pool{"max", false, 0, 1, {4}, {1}, {2}, {2}, kFloat}),
              HasSubstr("batch is 0"));
  EXPECT_THAT(mk2.refusal(ops::Gather{0, 1, 1, kFloat}), HasSubstr("number of gathered elements is 0"));
  EXPECT_THAT(mk2.refusal(ops::Gather{1, 1, 0, kFloat}), HasSubstr("number of table elements is 0"));
  EXPECT_THAT(mk2.refusal(ops::Scatter{1, 0, 1, true, kFloat}),
              HasSubstr("number of scattered elements is 0"));
  EXPECT_THAT(mk2.refusal(ops::Rearrange{5, 0, kFloat}), HasSubstr("length of a run is 0"));
  EXPECT_THAT(mk2.refusal(ops::Sort{1, 5, 0, kFloat}), HasSubstr("number of elements to keep is 0"));
  EXPECT_THAT(mk2.refusal(ops::Random{0, kFloat}), HasSubstr("number of elements is 0"));
  EXPECT_THAT(mk2.refusal(ops::HostCopy{true, base::Bytes(0)}), HasSubstr("number of bytes is 0"));
  EXPECT_THAT(mk2.refusal(testing::product(0, 1, 1)), HasSubstr("a field extent is 0"));
}

TEST(TileRuns, SpreadEvenlyInWholeVectors) {
  const Chip mk2 = chipOf("mk2");
  const auto total = [](const TileRuns& runs) { return spreadOf(runs).total; };
  for (const std::int64_t elements : {1, 3, 31, 32, 33, 1472 * 32, 1472 * 32 + 1, 1'000'003}) {
    const TileRuns runs = spreadEvenly(mk2, elements, 4);
    EXPECT_EQ(total(runs), elements);
    EXPECT_EQ(total(rotated(runs, 1400, 1472)), elements);
    EXPECT_LE(spreadOf(runs).active, 1472);
    // At least 128 bytes, in whole vectors, but for the last tile.
    if (spreadOf(runs).active == 1) continue;
    EXPECT_GE(spreadOf(runs).most, 32);
    EXPECT_EQ(spreadOf(runs).most % 2, 0);
  }
  EXPECT_TRUE(spreadEvenly(mk2, 0, 4).empty());
  const TileRuns around = rotated({{0, 100, 7}}, 1450, 1472);
  ASSERT_EQ(around.size(), 2u);
  EXPECT_EQ(around[0].first, 0);
  EXPECT_EQ(around[0].count, 78);
  EXPECT_EQ(around[1].first, 1450);
}

}  // namespace
}  // namespace pipescope::devices::ipu
