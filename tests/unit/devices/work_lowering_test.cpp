// Checks each kind of Work on one Mk2, or on a Bow where that was measured.
#include <gmock/gmock.h>

#include <cmath>

#include "engine/devices/ipu/code/step_code.h"
#include "engine/devices/ipu/map_cost.h"
#include "ipu_fixtures.h"

namespace pipescope::devices::ipu {
namespace {

using testing::chipOf;
using ::testing::HasSubstr;
using testing::Lowering;

constexpr auto kFloat = graph::ElementType::float32;
constexpr auto kFloat16 = graph::ElementType::float16;

std::vector<std::string> namesOf(const LoweredWork& work) {
  std::vector<std::string> names;
  for (const ProgramStep& step : work.steps) names.push_back(step.program + ' ' + step.name);
  return names;
}

/// Checks properties that hold of every piece of lowered Work.
void expectStepsSound(const LoweredWork& work, const Chip& chip) {
  EXPECT_FALSE(work.steps.empty());
  for (const ProgramStep& step : work.steps) {
    const Spread spread = spreadOf(step.cycles);
    EXPECT_GT(spread.most, 0) << step.name;
    EXPECT_LE(spread.active, chip.tiles) << step.name;
    for (const TileRun& run : step.cycles) EXPECT_LE(run.first + run.count, chip.tiles) << step.name;
    if (step.kind == model::StepKind::exchange) {
      // Every received byte has a sender, and a sent byte may have many receivers.
      EXPECT_GT(step.bytesOut, 0);
      EXPECT_GE(step.bytesIn, step.bytesOut);
      EXPECT_LE(step.bytesIn, step.bytesOut * chip.tiles);
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
  // 190 cycles, of which 90 are the sync before the step, then 4 bytes a cycle on the busiest tile.
  const Chip mk2 = chipOf("mk2");
  LoweredWork work;
  work.exchange(mk2, "Copy", {{0, 10, 1000}, {10, 1, 1003}}, 1, 100);
  ASSERT_EQ(work.steps.size(), 1u);
  EXPECT_EQ(work.cycles(), 190 + 251);
  EXPECT_EQ(work.steps[0].sync, 90);
  EXPECT_EQ(work.steps[0].bytesIn, 11003);
  EXPECT_EQ(work.steps[0].messages, 11 + 11);  // received and sent
  LoweredWork pairs;
  pairs.exchange(mk2, "Broadcast", {{0, 10, 1000}}, mk2.exchangePairFactor, 100);
  EXPECT_EQ(pairs.cycles(), 190 + 125);
  // Many tiles hear a broadcast that a tile sends once. Pieces below a vector are put together before.
  LoweredWork broadcast;
  broadcast.exchange(mk2, "Broadcast", {{0, 10, 1000}}, 1, 100, {{0, 10, 100}});
  EXPECT_EQ(broadcast.steps[0].messages, 10 + 1);
  EXPECT_EQ(broadcast.steps[0].bytesIn, 10000);
  EXPECT_EQ(broadcast.steps[0].bytesOut, 1000);
  EXPECT_EQ(broadcast.cycles(), 190 + 250);
  // The step takes as long as the busiest tile receives or sends.
  LoweredWork collected;
  collected.exchange(mk2, "FromOne", {{0, 10, 1000}}, 1, 100, {{3, 1, 8000}});
  EXPECT_EQ(collected.cycles(), 190 + 2000);
  EXPECT_EQ(collected.steps[0].bytesOut, 8000);
  LoweredWork small;
  small.exchange(mk2, "Small", {{0, 10, 1000}}, 1, 2);
  EXPECT_EQ(small.steps[0].messages, 2 * 1000 / 8);
  LoweredWork nothing;
  nothing.exchange(mk2, "Nothing", {{0, 10, 0}}, 1, 100);
  EXPECT_TRUE(nothing.steps.empty());
}

TEST(WorkLowering, AdditionOnEveryTileOfABow) {
  // 1,024 float32 elements a tile: 1,860 cycles measured (tessellate-ipu notebooks). By hand: 86 pairs for
  // the busiest worker; 11 + 6 × (29 + 86 × 3), and 90 for the sync.
  Lowering bow(chipOf("bow"));
  const LoweredWork work = bow.lower(ops::Map{ops::MapFunction::add, 1024 * 1472, 2, kFloat, false});
  EXPECT_EQ(work.cycles(), 1823);
  EXPECT_NEAR(static_cast<double>(work.cycles()), 1860, 0.05 * 1860);
  EXPECT_EQ(spreadOf(work.steps[0].cycles).active, 1472);
}

TEST(WorkLowering, TinyAddition) {
  // [5,2] float32: 329 cycles were measured on the tile, so without the sync. The launch takes 45, and so
  // does each of the two cycle counters.
  Lowering bow(chipOf("bow"));
  const LoweredWork work = bow.lower(ops::Map{ops::MapFunction::add, 10, 2, kFloat, false});
  EXPECT_EQ(spreadOf(work.steps[0].cycles).active, 1);
  EXPECT_NEAR(static_cast<double>(spreadOf(work.steps[0].cycles).most + 3 * 45), 329, 0.05 * 329);
}

/// Cycles of a function of 1,200 elements on each tile of an Mk2, 200 for each of six workers: 100 pairs or
/// 50 groups of four.
std::int64_t mapCyclesOfATile(ops::MapFunction function, graph::ElementType type, std::int64_t operands = 1,
                              bool inPlace = false) {
  Lowering mk2(chipOf("mk2"));
  const LoweredWork work = mk2.lower(ops::Map{function, 1472 * 1200, operands, type, inPlace});
  return spreadOf(work.steps.at(0).cycles).most;
}

// The figures are worked out by hand from PopLibs' cycle estimators: 11 for the supervisor, then six times
// the worker's start (17 for one operand, 33 for exp, 26 or 29 for two) and its inner loop. For example relu
// in float32: 11 + 6 x (17 + 100 x 3) = 1913.
TEST(WorkLowering, MapsCostWhatThePublishedLoopsTake) {
  using enum ops::MapFunction;
  const auto kHalf = kFloat16;
  EXPECT_EQ(mapCyclesOfATile(relu, kFloat), 1913);
  EXPECT_EQ(mapCyclesOfATile(relu, kHalf), 1013);
  EXPECT_EQ(mapCyclesOfATile(relu, kHalf, 1, true), 713);
  EXPECT_EQ(mapCyclesOfATile(exp, kFloat), 3809);
  EXPECT_EQ(mapCyclesOfATile(log, kFloat), 7313);
  EXPECT_EQ(mapCyclesOfATile(tanh, kHalf), 1313);
  EXPECT_EQ(mapCyclesOfATile(sigmoid, kHalf), 1913);
  EXPECT_EQ(mapCyclesOfATile(gelu, kHalf), 3113) << "popnn's Gelu by tanh: 10 cycles a vector of four";
  EXPECT_EQ(mapCyclesOfATile(gelu, kFloat), 12113) << "20 cycles a vector of two";
  EXPECT_EQ(mapCyclesOfATile(geluGradient, kHalf, 2), 4967);
  EXPECT_EQ(mapCyclesOfATile(sqrt, kHalf), 7013);
  EXPECT_EQ(mapCyclesOfATile(rsqrt, kFloat), 4913);
  EXPECT_EQ(mapCyclesOfATile(multiply, kFloat, 2), 1985);
  EXPECT_EQ(mapCyclesOfATile(multiply, kHalf, 2), 1067);
  EXPECT_EQ(mapCyclesOfATile(divide, kHalf, 2), 6467);
  EXPECT_EQ(mapCyclesOfATile(pow, kFloat, 2), 374585);
  EXPECT_EQ(mapCyclesOfATile(less, kFloat, 2), 4385);
  // 50 + 6 x (21 + 50 x 3).
  EXPECT_EQ(mapCyclesOfATile(scaledAdd, kHalf, 2, true), 1076);
  // Three operands take two additions, one after the other.
  EXPECT_EQ(mapCyclesOfATile(add, kFloat, 3), 11 + 2 * 1974);
}

// The rows of functions that are made of others, against the published loops of their parts. The direction of
// Adam: multiply 3, square root 10, add 3 and divide 10 cycles a pair, so 11 + 6 x (58 + 100 x 26).
TEST(WorkLowering, FunctionsMadeOfOthersTakeTheirSum) {
  using enum ops::MapFunction;
  EXPECT_EQ(mapCyclesOfATile(adamStep, kFloat, 2, true), 15959);
  // Vectors of float16 have four elements: 3, 23, 3 and 21 cycles.
  EXPECT_EQ(mapCyclesOfATile(adamStep, kFloat16, 2, true), 15341);
  EXPECT_EQ(mapCyclesOfATile(adam, kFloat, 4, true), 20759);
  EXPECT_EQ(mapCyclesOfATile(softplus, kFloat), 13913);
  // An update with Adam is not cheaper than a square root and a division of as many elements.
  EXPECT_GT(mapCyclesOfATile(adamStep, kFloat, 2, true),
            mapCyclesOfATile(sqrt, kFloat) + mapCyclesOfATile(divide, kFloat, 2));
}

TEST(WorkLowering, EveryFunctionHasAPrice) {
  // Each pair takes at least a load or store, and at most the slowest published vertex (tan) and some.
  for (const ops::MapFunction function : ops::allMapFunctions()) {
    for (const auto type : {kFloat, kFloat16, graph::ElementType::int32}) {
      for (const bool inPlace : {false, true}) {
        const Pace pace = mapPace(function, type, inPlace);
        EXPECT_GE(pace.cycles, 1) << toString(function);
        EXPECT_GE(pace.elements, 1) << toString(function);
        EXPECT_LE(pace.cyclesFor(4), 4 * 6000) << toString(function);
      }
    }
  }
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

// The published regression of copies on a tile: 587 cycles and, for each byte, 0.44 in pieces of 8
// bytes, 3.125 in pieces of 4 and 5.15 in pieces of 2. Of 2,000 bytes: 1,467, 6,837 and 10,887 cycles.
TEST(WorkLowering, RearrangesCostWhatThePublishedRegressionSays) {
  Lowering mk2(chipOf("mk2"));
  const auto onTile = [&](std::int64_t run) {
    const LoweredWork work = mk2.lower(ops::Rearrange{1472 * 1000, run, kFloat16});
    return static_cast<double>(spreadOf(work.steps.back().cycles).most);
  };
  EXPECT_NEAR(onTile(4), 1467, 2);
  EXPECT_NEAR(onTile(2), 6837, 2);
  EXPECT_NEAR(onTile(1), 10887, 5);
  EXPECT_NEAR(onTile(6), 6837, 2);   // 12 bytes: the largest of these pieces that fits evenly is 4 bytes
  EXPECT_NEAR(onTile(12), 1467, 2);  // 24 bytes: pieces of 8
  // All in one piece: a copy of 2,000 bytes, 8 bytes a cycle, and no exchange.
  const LoweredWork whole = mk2.lower(ops::Rearrange{1472 * 1000, 1472 * 1000, kFloat16});
  ASSERT_EQ(whole.steps.size(), 1u);
  EXPECT_EQ(spreadOf(whole.steps[0].cycles).most, 250);
}

TEST(WorkLowering, ReduceInStages) {
  Lowering mk2(chipOf("mk2"));
  const LoweredWork onTile = mk2.lower(ops::Reduce{ops::ReduceFunction::sum, 1472 * 4, 64, true, kFloat});
  EXPECT_EQ(onTile.steps.size(), 1u);
  const LoweredWork scalar = mk2.lower(ops::Reduce{ops::ReduceFunction::sum, 1, 1472 * 64, true, kFloat});
  EXPECT_THAT(namesOf(scalar),
              ::testing::ElementsAre("OnTileExecute Reduce/OnTile", "DoExchange Reduce/Stage1/Exchange",
                                     "OnTileExecute Reduce/Stage1", "DoExchange Reduce/Stage2/Exchange",
                                     "OnTileExecute Reduce/Stage2"));
  const LoweredWork rows = mk2.lower(ops::Reduce{ops::ReduceFunction::sum, 256, 4096, false, kFloat});
  EXPECT_GT(rows.steps.size(), 1u);
  for (const LoweredWork* work : {&onTile, &scalar, &rows}) expectStepsSound(*work, mk2.chip());
}

/// The 1,472 tiles of an Mk2 send one partial sum each to the 38 tiles that add 39 of them, and these send
/// one each to one tile.
TEST(WorkLowering, ReductionsHaveExchangeCodeOnSendersAndReceivers) {
  Lowering mk2(chipOf("mk2"));
  const LoweredWork scalar = mk2.lower(ops::Reduce{ops::ReduceFunction::sum, 1, 1472 * 64, true, kFloat});
  ASSERT_EQ(scalar.steps.size(), 5u);
  const auto codeOn = [&](std::size_t step) {
    const std::vector<CodePart> parts = codeOf(scalar.steps[step], mk2.chip());
    EXPECT_EQ(parts.size(), 1u);
    std::vector<std::int64_t> tiles(1472);
    addTo(tiles, parts.at(0).bytes);
    return tiles;
  };
  const std::vector<std::int64_t> first = codeOn(1), second = codeOn(3);
  EXPECT_EQ(first[0], 16 + 8 * 39 + 8);
  EXPECT_EQ(first[37], first[0]);
  EXPECT_EQ(first[38], 16 + 8);
  EXPECT_EQ(first[1471], 16 + 8);
  EXPECT_EQ(second[0], 16 + 8 * 38 + 8);
  EXPECT_EQ(second[1], 16 + 8);
  EXPECT_EQ(second[38], 0);
}

TEST(WorkLowering, MovedWorkKeepsWhatItDoes) {
  Lowering mk2(chipOf("mk2"));
  LoweredWork work = mk2.lower(ops::Reduce{ops::ReduceFunction::sum, 1, 1472 * 64, true, kFloat});
  const LoweredWork before = work;
  work.moveTo(mk2.chip(), 1450);
  ASSERT_EQ(work.steps.size(), before.steps.size());
  for (std::size_t i = 0; i < work.steps.size(); ++i) {
    const Spread now = spreadOf(work.steps[i].cycles), then = spreadOf(before.steps[i].cycles);
    EXPECT_EQ(now.total, then.total);
    EXPECT_EQ(now.most, then.most);
    EXPECT_EQ(now.active, then.active);
  }
  // The 38 tiles of the first stage begin at tile 1450 and go on at tile 0.
  ASSERT_EQ(work.steps[2].cycles.size(), 2u);
  EXPECT_EQ(work.steps[2].cycles[0].count, 38 - (1472 - 1450));
  EXPECT_EQ(work.steps[2].cycles[1].first, 1450);
  // Tiles that all do the same stay one run.
  EXPECT_EQ(rotated({{0, 1472, 7}}, 900, 1472).size(), 1u);
}

TEST(WorkLowering, ReductionStagesHaveTheDepthsOfPoplin) {
  // One stage below 16, two below 125, else three. The product of their depths covers the whole.
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
  expectStepsSound(work, mk2.chip());
  const std::vector<std::string> names = namesOf(work);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"OnTileExecute PreArrange/OnTileCopy",
                                              "DoExchange PreConvolve/Exchange", "OnTileExecute Convolve"}));
  const auto convolve = std::find_if(work.steps.begin(), work.steps.end(),
                                     [](const ProgramStep& step) { return step.name == "Convolve"; });
  EXPECT_THAT(convolve->vertices.at(0).type, HasSubstr("poplin::ConvPartial"));
  EXPECT_GT(convolve->vertices.at(0).codeBytes, 0);
}

/// (C: popnn arranges the transposed weights of a recurrent layer before its loop over time.)
TEST(WorkLowering, RepeatedGradientsArrangeTheirWeightsOnce) {
  Lowering mk2(chipOf("mk2"));
  const LoweredWork work =
      lowerSequenceProduct(testing::phase(testing::product(16, 1024, 4096), 1),
                           {.chip = mk2.chip(), .planner = mk2.planner(), .what = "step of a sequence"})
          .value();
  std::int64_t arranging = 0;
  for (const ProgramStep& step : work.steps) {
    EXPECT_EQ(step.once, step.name.starts_with("PreArrange/")) << step.name;
    arranging += step.once ? 1 : 0;
  }
  EXPECT_EQ(arranging, 3) << "an exchange, copies on the tiles, and an exchange";
}

TEST(WorkLowering, AWindowOfTheWholeFieldTouchesEachInputOnce) {
  // The gradient of a global pooling gives each input one share of one result, far from the 49 of a sliding
  // window.
  Lowering mk2(chipOf("mk2"));
  const ops::Pool global{
      ops::PoolFunction::average, true, 16, 2048, {7, 7}, {7, 7}, {1, 1}, {1, 1}, kFloat16},
      sliding{ops::PoolFunction::average, true, 16, 2048, {7, 7}, {7, 7}, {7, 7}, {1, 1}, kFloat16};
  EXPECT_LT(4 * mk2.lower(global).cycles(), mk2.lower(sliding).cycles());
}

TEST(WorkLowering, EveryKindIsSound) {
  Lowering mk2(chipOf("mk2"));
  ops::Pool pool{ops::PoolFunction::max, false, 40, 10, {24, 24}, {2, 2}, {12, 12}, {2, 2}, kFloat};
  ops::Pool back = pool;
  back.backward = true;
  const std::vector<ops::WorkItem> items{
      pool,
      back,
      ops::Pool{ops::PoolFunction::average, false, 1, 3, {1}, {1}, {1}, {1}, kFloat16},
      ops::Gather{512, 1024, 30522, kFloat16},
      ops::Gather{1, 1, 1, kFloat},
      ops::Scatter{512, 1024, 30522, true, kFloat16},
      ops::Scatter{7, 3, 5, false, kFloat},
      ops::Rearrange{1000, 3, kFloat16},
      ops::Sort{128, 1000, 1000, kFloat},
      ops::Sort{1, 1'000'000, 5, kFloat},
      ops::Sort{1, 1, 1, kFloat},
      ops::Random{1'000'000, kFloat16},
      ops::Map{ops::MapFunction::add, 1, 2, graph::ElementType::int64, true},
      testing::convolution(40, 28, 5, 1, 10, 1, 0, 1, kFloat)};
  for (const ops::WorkItem& item : items) expectStepsSound(mk2.lower(item), mk2.chip());
}

TEST(WorkLowering, MoreWorkTakesLonger) {
  Lowering mk2(chipOf("mk2"));
  const auto longer = [&](const ops::WorkItem& small, const ops::WorkItem& large) {
    EXPECT_LT(mk2.lower(small).cycles(), mk2.lower(large).cycles());
  };
  longer(ops::Gather{64, 1024, 30522, kFloat16}, ops::Gather{512, 1024, 30522, kFloat16});
  longer(ops::Scatter{64, 1024, 30522, true, kFloat16}, ops::Scatter{512, 1024, 30522, true, kFloat16});
  longer(ops::Sort{1, 10'000, 10'000, kFloat}, ops::Sort{1, 1'000'000, 1'000'000, kFloat});
  longer(ops::Random{100'000, kFloat}, ops::Random{10'000'000, kFloat});
  longer(ops::Pool{ops::PoolFunction::max, false, 4, 64, {112, 112}, {3, 3}, {56, 56}, {2, 2}, kFloat16},
         ops::Pool{ops::PoolFunction::max, false, 40, 64, {112, 112}, {3, 3}, {56, 56}, {2, 2}, kFloat16});
}

// A bitonic network sorts 32 numbers in 5 x 6 / 2 = 15 rounds. To find the first four, it sorts runs of four
// in 3 rounds, then halves their number three times in 3 rounds each. Each round compares the 32 elements of
// one tile: 11 + 6 x (29 + 2 x 14) = 353 cycles.
TEST(WorkLowering, SortsTakeTheRoundsOfABitonicNetwork) {
  Lowering mk2(chipOf("mk2"));
  const auto cycles = [&](std::int64_t keep) {
    const LoweredWork work = mk2.lower(ops::Sort{1, 32, keep, kFloat});
    return spreadOf(work.steps.back().cycles).most;
  };
  EXPECT_EQ(cycles(32), 15 * 353);
  EXPECT_EQ(cycles(4), (3 + 3 * 3) * 353);
}

TEST(WorkLowering, RefusesWhatItCannotDo) {
  Lowering mk2(chipOf("mk2"));
  EXPECT_EQ(mk2.refusal(ops::Collective{}), "layer: number of elements is 0, but must be at least 1.");
  EXPECT_EQ(mk2.refusal(ops::Map{ops::MapFunction::add, 0, 2, kFloat, false}),
            "layer: number of elements is 0, but must be at least 1.");
  EXPECT_EQ(mk2.refusal(ops::Map{ops::MapFunction::add, 5, 0, kFloat, false}),
            "layer: number of operands is 0, but must be at least 1.");
  EXPECT_THAT(mk2.refusal(ops::Map{ops::MapFunction::add, std::int64_t{1} << 41, 2, kFloat, false}),
              HasSubstr("number of elements is above 2^40"));
  EXPECT_THAT(mk2.refusal(ops::Reduce{ops::ReduceFunction::sum, std::int64_t{1} << 40, 2, true, kFloat}),
              HasSubstr("number of elements to reduce is above 2^40"));
  EXPECT_THAT(mk2.refusal(ops::Reduce{ops::ReduceFunction::sum, std::int64_t{1} << 62, std::int64_t{1} << 62,
                                      true, kFloat}),
              HasSubstr("above 2^40"));
  EXPECT_EQ(mk2.refusal(ops::Map{ops::MapFunction::add, 5, 2, graph::ElementType::bfloat16, false}),
            "layer: an IPU does not compute in bfloat16; use float16 or float32.");
  EXPECT_THAT(mk2.refusal(ops::Reduce{ops::ReduceFunction::sum, 1, 5, true, graph::ElementType::float64}),
              HasSubstr("does not compute in float64"));
  EXPECT_THAT(
      mk2.refusal(ops::Pool{ops::PoolFunction::max, false, 1, 1, {4, 4}, {2}, {2, 2}, {2, 2}, kFloat}),
      HasSubstr("same number of axes"));
  EXPECT_THAT(mk2.refusal(ops::Pool{ops::PoolFunction::max, false, 1, 1, {}, {}, {}, {}, kFloat}),
              HasSubstr("at least one"));
  EXPECT_THAT(mk2.refusal(ops::Pool{ops::PoolFunction::max, false, 1, 1, {4}, {0}, {2}, {2}, kFloat}),
              HasSubstr("kernel is 0"));
  EXPECT_THAT(mk2.refusal(ops::Pool{ops::PoolFunction::max, false, 0, 1, {4}, {1}, {2}, {2}, kFloat}),
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
    // Each tile gets at least 128 bytes in whole vectors, except the last one.
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
