// Whole stages on a Gaudi: kernels side by side, slices, fusion, recipes, HBM.
#include <gmock/gmock.h>

#include <map>

#include "engine/devices/hbm_card/buckets.h"
#include "gaudi_fixtures.h"

namespace pipescope::devices {
namespace {

using compile::StageIr;
using compile::TensorUse;
using graph::ElementType;
using model::LaneRole;
using model::Pass;
using ::testing::HasSubstr;
using testing::product;
using testing::StageMaker;
using testing::systemOf;

constexpr ElementType kCardHalf = ElementType::bfloat16;

LoweredDevice lowerOnCard(const System& system, const StageIr& stage) {
  auto lowered = system.lower({&stage});
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
  return lowered.ok() ? *lowered : LoweredDevice{};
}

/// Checks properties of any lowered card: steps on a lane do not overlap and lie within their segment, and
/// memory replays exactly.
void expectCardSound(const System& system, const LoweredDevice& device) {
  const DeviceInfo& info = system.devices()[static_cast<std::size_t>(device.device)];
  for (const LoweredPass& pass : device.passes) {
    for (const LoweredSegment& segment : pass.segments) {
      EXPECT_NE(std::find(info.lanes.begin(), info.lanes.end(), segment.lane), info.lanes.end());
      std::map<LaneRole, Ticks> free;
      for (const LoweredStep& step : segment.steps) {
        EXPECT_NE(std::find(info.lanes.begin(), info.lanes.end(), step.lane), info.lanes.end());
        EXPECT_GE(step.offset, free[step.lane]) << step.name;
        free[step.lane] = step.offset + step.ticks;
        EXPECT_LE(step.offset + step.ticks, segment.ticks) << step.name;
        EXPECT_LT(step.op, static_cast<int>(pass.operators.size()));
      }
    }
  }
  for (const LoweredMemory& memory : device.memory) {
    std::int64_t always = 0, units = 0, peak = 0, workspace = 0;
    for (std::size_t step = 0; step < memory.steps.size(); ++step) {
      std::int64_t live = 0;
      for (const LoweredVariable& variable : memory.variables) {
        for (const LifeSteps life : variable.lives) {
          if (life.first <= static_cast<std::int32_t>(step) && static_cast<std::int32_t>(step) < life.end)
            live += variable.bytes.count;
        }
      }
      EXPECT_EQ(live, memory.steps[step].notAlwaysLive.count) << memory.steps[step].name;
      peak = std::max(peak, live);
    }
    for (const LoweredVariable& variable : memory.variables)
      always += variable.alwaysLive ? variable.bytes.count : 0;
    for (const UnitBytesRun& run : memory.units) (run.alwaysLive ? units : workspace) += run.bytes.count;
    EXPECT_EQ(units, always);
    EXPECT_GE(workspace, peak);
  }
}

Ticks busyOn(const LoweredSegment& segment, LaneRole lane) {
  Ticks sum;
  for (const LoweredStep& step : segment.steps) sum += step.lane == lane ? step.ticks : Ticks(0);
  return sum;
}

/// x·w, then a function of it. The product's result is large enough to pass through SRAM in slices.
StageIr productAndMap(std::int64_t rows, std::int64_t k, std::int64_t n,
                      ops::MapFunction function = ops::MapFunction::gelu) {
  StageMaker maker(0, 0);
  const auto x = maker.tensor("x", {rows, k}, TensorUse::input, kCardHalf),
             w = maker.tensor("w", {k, n}, TensorUse::weight, kCardHalf),
             y = maker.tensor("y", {rows, n}, TensorUse::activation, kCardHalf),
             z = maker.tensor("z", {rows, n}, TensorUse::activation, kCardHalf);
  maker.add(Pass::forward, "product", "MatMul", {{product(rows, k, n, kCardHalf), 1, ""}}, {x, w}, {y});
  maker.add(Pass::forward, "map", "Gelu", {{ops::Map{function, rows * n, 1, kCardHalf, false}, 1, ""}}, {y},
            {z});
  return maker.stage();
}

TEST(GaudiStage, EnginesWorkSideBySideButNeverPerfectly) {
  for (const char* card : {"gaudi", "gaudi2", "gaudi3"}) {
    const auto system = systemOf(card);
    const LoweredDevice device = lowerOnCard(*system, productAndMap(32768, 1024, 8192));
    expectCardSound(*system, device);
    const LoweredSegment& segment = device.passes[0].segments[0];
    const Ticks mme = busyOn(segment, LaneRole::matrix), tpc = busyOn(segment, LaneRole::vector);
    EXPECT_GT(segment.ticks, std::max(mme, tpc)) << card;
    EXPECT_LT(segment.ticks, mme + tpc) << card;
  }
}

TEST(GaudiStage, ABiasIsAddedToWhatTheProductMade) {
  // The operator is a product and an addition. The addition starts only when the product has made a part of
  // its result, and here all of it.
  StageMaker maker(0, 0);
  const auto x = maker.tensor("x", {64, 1024}, TensorUse::input, kCardHalf),
             w = maker.tensor("w", {1024, 1024}, TensorUse::weight, kCardHalf),
             b = maker.tensor("b", {1024}, TensorUse::weight, kCardHalf),
             y = maker.tensor("y", {64, 1024}, TensorUse::activation, kCardHalf);
  maker.add(Pass::forward, "layer", "Gemm",
            {{product(64, 1024, 1024, kCardHalf), 1, "MatMul"},
             {ops::Map{ops::MapFunction::add, 64 * 1024, 2, kCardHalf, true}, 1, "Bias"}},
            {x, w, b}, {y});
  for (const char* card : {"gaudi", "gaudi2", "gaudi3"}) {
    const auto system = systemOf(card);
    const LoweredDevice device = lowerOnCard(*system, maker.stage());
    const LoweredStep *multiply = nullptr, *add = nullptr;
    for (const LoweredStep& step : device.passes[0].segments[0].steps) {
      if (step.lane == LaneRole::matrix) multiply = &step;
      if (step.lane == LaneRole::vector) add = &step;
    }
    ASSERT_TRUE(multiply != nullptr && add != nullptr);
    EXPECT_GT(add->offset, multiply->offset + multiply->ticks) << card;
    const bool cached = std::string(card) == "gaudi3";
    EXPECT_EQ(multiply->bytesOut.count, cached ? 64 * 1024 * 2 : 0)
        << "the sum goes to HBM; the product only from a cache, which writes all back";
  }
}

/// Picks rows of a table of 100,000 rows with 1,024 elements.
StageIr picked(std::int64_t rows) {
  StageMaker maker(0, 0);
  const auto table = maker.tensor("table", {100000, 1024}, TensorUse::weight, kCardHalf),
             indices = maker.tensor("indices", {rows}, TensorUse::input, ElementType::int32),
             y = maker.tensor("y", {rows, 1024}, TensorUse::activation, kCardHalf);
  maker.add(Pass::forward, "gather", "Gather", {{ops::Gather{rows, 1024, 100000, kCardHalf}, 1, ""}},
            {table, indices}, {y});
  return maker.stage();
}

TEST(GaudiStage, GathersReadRowsNotTheTable) {
  const auto system = systemOf("gaudi2");
  const auto read = [&](std::int64_t rows) {
    const LoweredDevice device = lowerOnCard(*system, picked(rows));
    Bytes sum;
    for (const LoweredStep& step : device.passes[0].segments[0].steps) sum += step.bytesIn;
    return sum.count;
  };
  EXPECT_EQ(read(1), 1024 * 2 + 4);
  EXPECT_EQ(read(500), 500 * (1024 * 2 + 4));
  // The table does not fit into SRAM, so rows that are picked twice come twice.
  EXPECT_EQ(read(200000), 200000LL * (1024 * 2 + 4));
}

TEST(GaudiStage, SmallResultsStayInSramAndAreNotSliced) {
  const auto system = systemOf("gaudi2");
  const LoweredDevice device = lowerOnCard(*system, productAndMap(512, 1024, 1024));
  const LoweredSegment& segment = device.passes[0].segments[0];
  ASSERT_EQ(segment.steps.size(), 3U);  // launch, product, map
  EXPECT_EQ(segment.steps[0].program, "LaunchRecipe");
  EXPECT_EQ(segment.steps[1].program, "MmeKernel");
  EXPECT_EQ(segment.steps[2].program, "TpcKernel");
  // The product reads x and w and writes nothing; the map reads nothing and writes what leaves.
  EXPECT_EQ(segment.steps[1].bytesIn.count, (512 * 1024 + 1024 * 1024) * 2);
  EXPECT_EQ(segment.steps[1].bytesOut.count, 0);
  EXPECT_EQ(segment.steps[2].bytesIn.count, 0);
  EXPECT_EQ(segment.steps[2].bytesOut.count, 512 * 1024 * 2);
  // It waits for the whole product, and then for the start of a kernel: 3.08 µs.
  EXPECT_NEAR(static_cast<double>(segment.steps[2].offset.count),
              static_cast<double>(segment.steps[1].offset.count + segment.steps[1].ticks.count + 3'080'000),
              2);
  // Tensors that never lie in HBM need no room there.
  for (const LoweredVariable& variable : device.memory[0].variables) {
    if (variable.name == "y") {
      EXPECT_TRUE(variable.lives.empty());
    }
  }
}

TEST(GaudiStage, ACacheWritesResultsBackThatSramWouldHaveKept) {
  // 512 KiB between the kernels fit into SRAM. The result of the map leaves the pass on each card.
  const StageIr stage = productAndMap(256, 1024, 1024);
  const auto written = [&](const char* card) {
    const LoweredDevice device = lowerOnCard(*systemOf(card), stage);
    std::int64_t sum = 0;
    for (const LoweredStep& step : device.passes[0].segments[0].steps) sum += step.bytesOut.count;
    return sum;
  };
  const std::int64_t result = 256 * 1024 * 2;
  EXPECT_EQ(written("gaudi3") - written("gaudi2"), result);
}

TEST(GaudiStage, OperandsComeByDmaOnTheFirstGenerationOnly) {
  const auto dma = [](const char* card) {
    const auto system = systemOf(card);
    const LoweredDevice device = lowerOnCard(*system, productAndMap(4096, 1024, 4096));
    return busyOn(device.passes[0].segments[0], LaneRole::copy).count;
  };
  EXPECT_GT(dma("gaudi"), 0);
  EXPECT_EQ(dma("gaudi2"), 0);
}

/// A tensor that crosses links lies in HBM as a whole. The kernel that reads it therefore starts when the
/// collective has ended, and is busy for its own work only.
TEST(GaudiStage, AKernelBehindACollectiveWaitsForAllOfIt) {
  const std::int64_t n = 4096;
  const auto lowered = [](bool collective) {
    StageMaker maker(0, 0);
    const auto x = maker.tensor("x", {n, n}, TensorUse::input, kCardHalf),
               y = maker.tensor("y", {n, n}, TensorUse::activation, kCardHalf);
    std::vector<ops::Work> work;
    if (collective)
      work.push_back({ops::Collective{ops::Collective::Kind::allToAll, n * n, kCardHalf}, 1, ""});
    work.push_back({ops::Rearrange{n * n, n, kCardHalf}, 1, "Order"});
    maker.add(Pass::forward, "exchange", "RankScatterExperts", work, {x}, {y});
    StageIr stage = maker.stage();
    stage.mesh.replicas = 8;
    return lowerOnCard(*systemOf("hls-gaudi2"), stage);
  };
  const LoweredDevice alone = lowered(false), behind = lowered(true);
  const auto &own = alone.passes[0].segments[0].steps, &both = behind.passes[0].segments[0].steps;
  ASSERT_EQ(both.size(), own.size() + 1);
  const LoweredStep &sent = both[both.size() - 2], &ordered = both.back();
  EXPECT_GE(ordered.offset.count, sent.offset.count + sent.ticks.count);
  EXPECT_NEAR(static_cast<double>(ordered.ticks.count), static_cast<double>(own.back().ticks.count), 1);
}

TEST(GaudiStage, SlicesAndCopiesTakeTurnsOnTheDmaLane) {
  StageMaker maker(0, 0);
  const std::int64_t n = 3000;
  auto x = maker.tensor("x", {n, n}, TensorUse::input, kCardHalf);
  const auto w = maker.tensor("w", {n, n}, TensorUse::weight, kCardHalf);
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i);
    const auto y = maker.tensor("y" + name, {n, n}, TensorUse::activation, kCardHalf),
               t = maker.tensor("t" + name, {n, n}, TensorUse::activation, kCardHalf),
               z = maker.tensor("z" + name, {n, n}, TensorUse::activation, kCardHalf);
    maker.add(Pass::forward, "product" + name, "MatMul", {{product(n, n, n, kCardHalf), 1, ""}}, {x, w}, {y});
    maker.add(Pass::forward, "turn" + name, "Transpose", {{ops::Rearrange{n * n, 1, kCardHalf}, 1, ""}}, {y},
              {t});
    maker.add(Pass::forward, "relu" + name, "Relu",
              {{ops::Map{ops::MapFunction::relu, n * n, 1, kCardHalf, false}, 1, ""}}, {t}, {z});
    x = z;
  }
  const auto system = systemOf("gaudi");
  const LoweredDevice device = lowerOnCard(*system, maker.stage());
  expectCardSound(*system, device);
  int slices = 0, copies = 0;
  for (const LoweredStep& step : device.passes[0].segments[0].steps) {
    slices += step.program == "DmaSlices" ? 1 : 0;
    copies += step.program == "DmaCopy" ? 1 : 0;
  }
  EXPECT_GT(slices, 0);
  EXPECT_EQ(copies, 4);
}

TEST(GaudiStage, ElementwiseChainsAreOneKernel) {
  StageMaker maker(0, 0);
  const auto a = maker.tensor("a", {1 << 24}, TensorUse::input, kCardHalf),
             b = maker.tensor("b", {1 << 24}, TensorUse::activation, kCardHalf),
             c = maker.tensor("c", {1 << 24}, TensorUse::activation, kCardHalf);
  const auto map = [](ops::MapFunction function) {
    return ops::Work{ops::Map{function, 1 << 24, 1, kCardHalf, false}, 1, ""};
  };
  maker.add(Pass::forward, "one", "Abs", {map(ops::MapFunction::abs)}, {a}, {b});
  maker.add(Pass::forward, "two", "Relu", {map(ops::MapFunction::relu)}, {b}, {c});
  const auto system = systemOf("gaudi2");
  const LoweredDevice device = lowerOnCard(*system, maker.stage());
  expectCardSound(*system, device);
  const LoweredSegment& segment = device.passes[0].segments[0];
  ASSERT_EQ(segment.steps.size(), 2U);
  EXPECT_EQ(segment.steps[1].bytesIn.count, 2 << 24);
  EXPECT_EQ(segment.steps[1].bytesOut.count, 2 << 24);
  // HBM is the bound: 64 MiB at 2.3 TB/s.
  EXPECT_NEAR(static_cast<double>(segment.steps[1].ticks.count) * 1e-12, 2.0 * (2 << 24) / 2.3e12, 1e-7);
}

TEST(GaudiStage, SaysHowManyProposedChainsItTook) {
  StageMaker maker(0, 0);
  const auto a = maker.tensor("a", {1 << 20}, TensorUse::input, kCardHalf),
             b = maker.tensor("b", {1 << 20}, TensorUse::activation, kCardHalf);
  const auto map = [](ops::MapFunction function) {
    return ops::Work{ops::Map{function, 1 << 20, 1, kCardHalf, false}, 1, toString(function)};
  };
  maker.add(Pass::forward, "one", "Abs+Relu", {map(ops::MapFunction::abs), map(ops::MapFunction::relu)}, {a},
            {b});
  StageIr stage = maker.stage();
  const auto system = systemOf("gaudi2");
  EXPECT_EQ(lowerOnCard(*system, stage).claims.at(0).changes, 0);
  stage.passes[0].operators[0].chains = {{0, 2}};
  const LoweredDevice device = lowerOnCard(*system, stage);
  EXPECT_EQ(device.claims.at(0).pass, "fuse_elementwise");
  EXPECT_EQ(device.claims.at(0).changes, 1);
}

TEST(GaudiStage, TranspositionsThatProductsReadAreNotMade) {
  StageMaker maker(0, 0);
  const auto x = maker.tensor("x", {512, 512}, TensorUse::input, kCardHalf),
             t = maker.tensor("t", {512, 512}, TensorUse::activation, kCardHalf),
             y = maker.tensor("y", {512, 512}, TensorUse::activation, kCardHalf);
  maker.add(Pass::forward, "turn", "Transpose", {{ops::Rearrange{512 * 512, 1, kCardHalf}, 1, ""}}, {x}, {t});
  maker.add(Pass::forward, "product", "MatMul", {{product(512, 512, 512, kCardHalf), 1, ""}}, {x, t}, {y});
  const auto system = systemOf("gaudi2");
  const LoweredDevice device = lowerOnCard(*system, maker.stage());
  expectCardSound(*system, device);
  EXPECT_EQ(device.passes[0].segments[0].steps.size(), 2U);  // launch, product
}

TEST(GaudiStage, ReductionsOverEverythingReadItsOperandsTwice) {
  StageMaker maker(0, 0);
  const std::int64_t all = 1 << 26, channels = 64;
  const auto x = maker.tensor("x", {all}, TensorUse::input, kCardHalf),
             y = maker.tensor("y", {all}, TensorUse::activation, kCardHalf);
  maker.add(Pass::forward, "norm", "BatchNormalization",
            {{ops::Reduce{ops::ReduceFunction::mean, channels, all / channels, false, kCardHalf}, 1, "Mean"},
             {ops::Reduce{ops::ReduceFunction::squareSum, channels, all / channels, false, kCardHalf}, 1,
              "Variance"},
             {ops::Map{ops::MapFunction::subtract, all, 2, kCardHalf, true}, 1, "Centre"},
             {ops::Map{ops::MapFunction::multiply, all, 2, kCardHalf, true}, 1, "Scale"}},
            {x}, {y});
  const auto system = systemOf("gaudi2");
  const LoweredDevice device = lowerOnCard(*system, maker.stage());
  expectCardSound(*system, device);
  std::int64_t in = 0, out = 0;
  for (const LoweredStep& step : device.passes[0].segments[0].steps)
    in += step.bytesIn.count, out += step.bytesOut.count;
  EXPECT_EQ(in, 2 * 2 * all);
  EXPECT_EQ(out, 2 * all);
}

/// The gradients of three weights. The first two form one bucket, and the last forms another.
StageIr withBuckets(ops::Collective::Kind kind = ops::Collective::Kind::allReduce,
                    TensorUse use = TensorUse::gradient) {
  StageMaker maker(0, 0);
  const std::int64_t n = 4096;
  std::vector<compile::IrTensorId> gradients;
  const auto x = maker.tensor("x", {n, n}, TensorUse::input, kCardHalf);
  for (int i = 0; i < 3; ++i) {
    gradients.push_back(maker.tensor("gradient" + std::to_string(i), {n, n}, use, kCardHalf));
    maker.add(Pass::backward, "layer" + std::to_string(i), "MatMul", {{product(n, n, n, kCardHalf), 1, ""}},
              {x}, {gradients.back()});
  }
  const auto reduce = [&](std::int64_t elements) {
    return ops::Work{ops::Collective{kind, elements, kCardHalf}, 1, ""};
  };
  maker.add(Pass::collective, "stage0/all_reduce0", "AllReduce", {reduce(2 * n * n)},
            {gradients[0], gradients[1]}, {gradients[0], gradients[1]});
  maker.add(Pass::collective, "stage0/all_reduce1", "AllReduce", {reduce(n * n)}, {gradients[2]},
            {gradients[2]});
  StageIr stage = maker.stage();
  stage.mesh.replicas = 8;
  return stage;
}

TEST(GaudiStage, BackwardIsCutWhereABucketIsComplete) {
  const auto system = systemOf("hls-gaudi2");
  const LoweredDevice device = lowerOnCard(*system, withBuckets());
  expectCardSound(*system, device);
  ASSERT_EQ(device.passes.size(), 2U);
  const LoweredPass &backward = device.passes[0], &collective = device.passes[1];
  ASSERT_EQ(backward.segments.size(), 2U);
  ASSERT_EQ(collective.segments.size(), 2U);
  EXPECT_EQ(collective.segments[0].after, 0);
  EXPECT_EQ(collective.segments[1].after, 1);
  EXPECT_EQ(collective.segments[0].lane, LaneRole::network);
  // 2·7/8·S/(0.9901·262.5 GB/s), 64 MiB and 32 MiB.
  const double second = 2 * 7.0 / 8 * (32 << 20) / (0.9901 * 262.5e9);
  EXPECT_NEAR(static_cast<double>(collective.segments[1].ticks.count) * 1e-12, second, 0.1 * second);
  EXPECT_GT(backward.segments[0].ticks, backward.segments[1].ticks);
}

/// Name of each kernel with the index of its operator.
std::vector<std::string> kernelsOf(const hbm_card::KernelList& list) {
  std::vector<std::string> names;
  for (const hbm_card::ListedKernel& kernel : list.kernels)
    names.push_back(kernel.kernel.name + "@" + std::to_string(kernel.op));
  return names;
}

TEST(GaudiBuckets, ArePackedRightBehindTheirLastGradient) {
  const StageIr stage = withBuckets();
  const gaudi::Card card = testing::cardOf("gaudi2");
  const gaudi::Fabric fabric(card);
  const gaudi::GaudiModel model({.card = card, .fabric = fabric, .mesh = stage.mesh});
  const hbm_card::StageUses uses(stage);
  auto list = hbm_card::listKernels(stage.passes[0], uses, model).value();
  ASSERT_THAT(kernelsOf(list), ::testing::ElementsAre("Gemm@0", "Gemm@1", "Gemm@2"));
  hbm_card::packBuckets(model, stage, uses, list);
  EXPECT_THAT(kernelsOf(list),
              ::testing::ElementsAre("Gemm@0", "Gemm@1", "PackBucket@1", "Gemm@2", "PackBucket@2"));
  // Operators keep the kernels that they had.
  EXPECT_THAT(list.first, ::testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(list.end, ::testing::ElementsAre(1, 2, 4));
  EXPECT_EQ(list.kernels[2].bucket, 0);
  EXPECT_EQ(list.kernels[4].bucket, 1);
  EXPECT_EQ(list.kernels[2].kernel.starts, 2);
  EXPECT_EQ(list.kernels[2].kernel.bucketWritten, 2 * 2 * 4096 * 4096);
  EXPECT_EQ(list.kernels[4].kernel.bucketWritten, 2 * 4096 * 4096);
}

/// Every micro-batch runs the backward pass, but what it adds up is packed once, before the update.
TEST(GaudiBuckets, SumsOverMicroBatchesArePackedOnce) {
  const StageIr stage = withBuckets(ops::Collective::Kind::allReduce, TensorUse::accumulator);
  const gaudi::Card card = testing::cardOf("gaudi2");
  const gaudi::Fabric fabric(card);
  const gaudi::GaudiModel model({.card = card, .fabric = fabric, .mesh = stage.mesh});
  const hbm_card::StageUses uses(stage);
  auto list = hbm_card::listKernels(stage.passes[0], uses, model).value();
  hbm_card::packBuckets(model, stage, uses, list);
  ASSERT_THAT(kernelsOf(list), ::testing::ElementsAre("Gemm@0", "Gemm@1", "Gemm@2"));
  EXPECT_EQ(list.kernels[0].bucket, -1);
  EXPECT_EQ(list.kernels[1].bucket, 0);
  EXPECT_EQ(list.kernels[2].bucket, 1);
  hbm_card::KernelList update;
  hbm_card::unpackBuckets(model, stage, uses, update);
  EXPECT_THAT(kernelsOf(update),
              ::testing::ElementsAre("PackBucket@-1", "UnpackBucket@-1", "PackBucket@-1", "UnpackBucket@-1"));
}

TEST(GaudiKernelList, FusedKernelsHaveAtMostSixteenOperands) {
  const auto kernels = [](int others) {
    StageMaker maker(0, 0);
    std::vector<compile::IrTensorId> first, second;
    for (int i = 0; i < 8; ++i)
      first.push_back(maker.tensor("a" + std::to_string(i), {1024}, TensorUse::input, kCardHalf));
    const auto y = maker.tensor("y", {1024}, TensorUse::activation, kCardHalf),
               z = maker.tensor("z", {1024}, TensorUse::activation, kCardHalf);
    second.push_back(y);
    for (int i = 0; i < others; ++i)
      second.push_back(maker.tensor("b" + std::to_string(i), {1024}, TensorUse::input, kCardHalf));
    const ops::Work add{ops::Map{ops::MapFunction::add, 1024, 8, kCardHalf, false}, 1, ""};
    maker.add(Pass::forward, "one", "Sum", {add}, first, {y});
    maker.add(Pass::forward, "two", "Sum", {add}, second, {z});
    const gaudi::Card card = testing::cardOf("gaudi2");
    const gaudi::Fabric fabric(card);
    return hbm_card::listKernels(maker.stage().passes[0], hbm_card::StageUses(maker.stage()),
                                 gaudi::GaudiModel({.card = card, .fabric = fabric}))
        .value()
        .kernels.size();
  };
  EXPECT_EQ(kernels(7), 1u);  // 8 + 1 + 7
  EXPECT_EQ(kernels(8), 2u);
}

/// AdamW reads a gradient, a weight and two moments, and writes the weight and both moments.
TEST(GaudiKernelList, AnUpdateWritesTheStatesOfItsOptimizer) {
  StageMaker maker(0, 0);
  const auto gradient = maker.tensor("w/accumulator", {1024}, TensorUse::accumulator, kCardHalf),
             weight = maker.tensor("w", {1024}, TensorUse::weight, kCardHalf),
             first = maker.tensor("w/moment1", {1024}, TensorUse::optimizerState, kCardHalf),
             second = maker.tensor("w/moment2", {1024}, TensorUse::optimizerState, kCardHalf);
  const ops::Work step{ops::Map{ops::MapFunction::adamStep, 1024, 4, kCardHalf, false}, 1, ""};
  maker.add(Pass::update, "w/update", "adamw", {step}, {gradient, weight, first, second}, {weight});
  const gaudi::Card card = testing::cardOf("gaudi2");
  const gaudi::Fabric fabric(card);
  const auto list = hbm_card::listKernels(maker.stage().passes[0], hbm_card::StageUses(maker.stage()),
                                          gaudi::GaudiModel({.card = card, .fabric = fabric}))
                        .value();
  ASSERT_EQ(list.kernels.size(), 1u);
  EXPECT_EQ(list.kernels[0].reads.size(), 4u);
  EXPECT_THAT(list.kernels[0].makes,
              ::testing::UnorderedElementsAre(weight.value, first.value, second.value));
}

std::map<std::string, std::int64_t> bytesByCategory(const LoweredDevice& device) {
  std::map<std::string, std::int64_t> bytes;
  for (const UnitBytesRun& run : device.memory[0].units) bytes[run.category] += run.bytes.count;
  return bytes;
}

/// All gradients lie in buckets once in PyTorch's DistributedDataParallel with gradient_as_bucket_view. Where
/// cards keep shares, buckets are one buffer as large as the largest of them.
TEST(GaudiBuckets, HoldGradientsOnce) {
  const auto system = systemOf("hls-gaudi2");
  const std::int64_t gradient = std::int64_t{2} * 4096 * 4096;
  const LoweredDevice views = lowerOnCard(*system, withBuckets());
  expectCardSound(*system, views);
  EXPECT_EQ(bytesByCategory(views)["bucket"], 3 * gradient);
  EXPECT_LE(bytesByCategory(views)["gradient"], 2 * gradient) << "none is held behind its copy";
  const LoweredDevice shares = lowerOnCard(*system, withBuckets(ops::Collective::Kind::reduceScatter));
  expectCardSound(*system, shares);
  EXPECT_EQ(bytesByCategory(shares)["bucket"], 2 * gradient);
}

/// Megatron's distributed optimizer sums over cards what was accumulated, in place. DeepSpeed has a buffer.
TEST(DescribedCardBuckets, AreWhatWasAccumulated) {
  const StageIr stage = withBuckets(ops::Collective::Kind::reduceScatter, TensorUse::accumulator);
  const std::int64_t gradient = std::int64_t{2} * 4096 * 4096;
  std::map<std::string, std::int64_t> described, gaudi;
  for (const auto& [name, bytes] : {std::pair("dgx-h100", &described), {"hls-gaudi2", &gaudi}}) {
    const auto system = systemOf(name);
    const LoweredDevice device = lowerOnCard(*system, stage);
    expectCardSound(*system, device);
    *bytes = bytesByCategory(device);
    EXPECT_EQ((*bytes)["accumulator"], 3 * gradient) << name;
  }
  EXPECT_EQ(described["bucket"], 0);
  EXPECT_EQ(gaudi["bucket"], 2 * gradient);
}

TEST(GaudiStage, SumsMayWaitForTheEndOfTheBackwardPass) {
  const auto system = systemOf("hls-gaudi2");
  StageIr stage = withBuckets();
  stage.overlapsCollectives = false;
  const LoweredDevice device = lowerOnCard(*system, stage);
  expectCardSound(*system, device);
  EXPECT_EQ(device.passes[0].segments.size(), 1U);
  for (const LoweredSegment& segment : device.passes[1].segments) EXPECT_EQ(segment.after, -1);
}

TEST(GaudiBuckets, AreUnpackedBeforeTheUpdate) {
  const StageIr stage = withBuckets();
  const gaudi::Card card = testing::cardOf("gaudi2");
  const gaudi::Fabric fabric(card);
  const gaudi::GaudiModel model({.card = card, .fabric = fabric});
  const hbm_card::StageUses uses(stage);
  hbm_card::KernelList list;
  list.kernels.resize(1);
  list.kernels[0].kernel.name = "Update";
  list.kernels[0].op = 0;
  list.first = {0};
  list.end = {1};
  hbm_card::unpackBuckets(model, stage, uses, list);
  EXPECT_THAT(kernelsOf(list), ::testing::ElementsAre("UnpackBucket@-1", "UnpackBucket@-1", "Update@0"));
  EXPECT_EQ(list.kernels[0].path, "stage0/all_reduce0");
  EXPECT_EQ(list.kernels[1].path, "stage0/all_reduce1");
  EXPECT_EQ(list.kernels[0].kernel.bucketRead, 2 * 2 * 4096 * 4096);
  EXPECT_THAT(list.first, ::testing::ElementsAre(2));
  EXPECT_THAT(list.end, ::testing::ElementsAre(3));
}

TEST(GaudiStage, SaysWhatTakesTheMemoryWhereItDoesNotFit) {
  StageMaker maker(0, 0);
  const auto w = maker.tensor("large/weight", {1 << 15, 1 << 20}, TensorUse::weight, kCardHalf);
  const auto x = maker.tensor("x", {1 << 20}, TensorUse::input, kCardHalf),
             y = maker.tensor("y", {1 << 20}, TensorUse::activation, kCardHalf);
  maker.add(Pass::forward, "use", "Add",
            {{ops::Map{ops::MapFunction::add, 1 << 20, 2, kCardHalf, false}, 1, ""}}, {x, w}, {y});
  const auto system = systemOf("gaudi");
  const LoweredDevice device = lowerOnCard(*system, maker.stage());
  ASSERT_EQ(device.memory[0].overflow.size(), 1U);
  EXPECT_THAT(device.memory[0].overflow[0],
              HasSubstr("HPU0: needs 64.00 GiB of HBM, but 30.75 GiB of 32.00 GiB are there for models"));
  EXPECT_THAT(device.memory[0].overflow[0], HasSubstr("Largest there: large/weight (weight) 64.00 GiB"));
  EXPECT_TRUE(lowerOnCard(*systemOf("gaudi3"), maker.stage()).memory[0].overflow.empty());
}

TEST(GaudiStage, WorkspaceIsUsedAgain) {
  // Four results one after another, each read only by the next, need two places.
  StageMaker maker(0, 0);
  const std::int64_t n = std::int64_t{1} << 28;  // 512 MiB: more than SRAM holds
  auto before = maker.tensor("x", {n}, TensorUse::input, kCardHalf);
  for (int i = 0; i < 4; ++i) {
    const auto next = maker.tensor("y" + std::to_string(i), {n}, TensorUse::activation, kCardHalf);
    maker.add(Pass::forward, "reverse" + std::to_string(i), "Gather",
              {{ops::Gather{n / 128, 128, n / 128, kCardHalf}, 1, ""}}, {before}, {next});
    before = next;
  }
  const auto system = systemOf("gaudi2");
  const LoweredDevice device = lowerOnCard(*system, maker.stage());
  expectCardSound(*system, device);
  std::int64_t workspace = 0;
  for (const UnitBytesRun& run : device.memory[0].units) workspace += run.bytes.count;
  EXPECT_EQ(workspace, 2 * 2 * n);
}

TEST(GaudiStage, MemoryIsNamedByWhatItHolds) {
  StageMaker maker(0, 0);
  const std::int64_t n = std::int64_t{1} << 27;  // 256 MiB: more than SRAM holds
  const auto w = maker.tensor("w", {n}, TensorUse::weight, kCardHalf),
             m = maker.tensor("m", {2 * n}, TensorUse::optimizerState, kCardHalf);
  const auto x = maker.tensor("x", {n}, TensorUse::input, kCardHalf),
             y = maker.tensor("y", {3 * n}, TensorUse::activation, kCardHalf);
  const auto z = maker.tensor("z", {n}, TensorUse::activation, kCardHalf),
             g = maker.tensor("g", {4 * n}, TensorUse::gradient, kCardHalf);
  const auto gather = [&](std::int64_t elements) {
    return std::vector<ops::Work>{{ops::Gather{elements / 128, 128, elements / 128, kCardHalf}, 1, ""}};
  };
  maker.add(Pass::forward, "widen", "Gather", gather(3 * n), {x, w}, {y});
  maker.add(Pass::forward, "narrow", "Gather", gather(n), {y}, {z});
  maker.add(Pass::hostOut, "z", "HostStore", {{ops::HostCopy{false, Bytes(2 * n)}, 1, ""}}, {z}, {});
  maker.add(Pass::backward, "gradient", "Gather", gather(4 * n), {y, z}, {g});
  maker.add(Pass::update, "update", "Gather", gather(n), {g, m}, {w});
  const auto system = systemOf("gaudi2");
  const LoweredDevice device = lowerOnCard(*system, maker.stage());
  expectCardSound(*system, device);
  std::map<std::string, std::int64_t> always, peak;
  for (const UnitBytesRun& run : device.memory[0].units)
    (run.alwaysLive ? always : peak)[run.category] += run.bytes.count;
  EXPECT_EQ(always, (std::map<std::string, std::int64_t>{{"weight", 2 * n}, {"optimizer_state", 4 * n}}));
  peak.erase("gap");
  // The fullest step makes the gradient of what the forward pass kept.
  EXPECT_EQ(peak, (std::map<std::string, std::int64_t>{
                      {"activation", 6 * n}, {"output", 2 * n}, {"gradient", 8 * n}}));
  std::int64_t sum = 0, most = 0;
  for (const auto& [category, bytes] : peak) sum += bytes;
  for (const LoweredStepMemory& step : device.memory[0].steps)
    most = std::max(most, step.notAlwaysLive.count);
  EXPECT_EQ(sum, most);
}

TEST(GaudiStage, RefusesDevicesThatAreNotThere) {
  StageMaker maker(3, 9);
  const auto lowered = systemOf("hls-3")->lower({&maker.stage()});
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(
      lowered.error().message,
      "Stage 3 is on device 9, but system \"hls-3\" has 8 cards; take a larger system or fewer devices.");
}

}  // namespace
}  // namespace pipescope::devices
