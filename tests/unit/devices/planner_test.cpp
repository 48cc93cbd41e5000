// Plans of products and convolutions, compared with cycles of Graphcore's IPU Model, and the properties of
// any plan.
#include "engine/devices/ipu/products/planner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/devices/ipu/products/plan_cost.h"
#include "ipu_fixtures.h"
#include "profiler/base/log.h"

namespace pipescope::devices::ipu {
namespace {

using graph::ElementType;
using testing::convolution;
using testing::Lowering;
using testing::phase;
using testing::product;

/// Cycles of the three passes and the update of the weights, as in PopLibs' layer benchmarks; for a matrix
/// product the forward pass and the addition to a result.
std::int64_t benchmarkCycles(Lowering& mk2, ops::Contraction c, bool training) {
  c.trained = training;
  std::int64_t cycles = 0;
  for (int pass = 0; pass < (training ? 3 : 1); ++pass) cycles += mk2.lower(phase(c, pass)).cycles();
  std::int64_t updated = c.groups * c.inputChannels * c.outputChannels;
  for (const std::int64_t extent : c.kernel) updated *= extent;
  if (!training) updated = c.field[0] * c.outputChannels;
  return cycles + mk2.lower(ops::Map{ops::MapFunction::scaledAdd, updated, 2, c.type, true}).cycles();
}

struct Row {
  const char* name;
  ops::Contraction work;
  bool training;
  double cycles;  ///< IPU Model of an Mk2, PopLibs benchmark results

  friend void PrintTo(const Row& one, std::ostream* out) { *out << one.name; }
};

class BenchmarkRow : public ::testing::TestWithParam<Row> {};

TEST_P(BenchmarkRow, IsNearTheIpuModel) {
  Lowering mk2(testing::chipOf("mk2"));
  const Row& row = GetParam();
  const auto cycles = static_cast<double>(benchmarkCycles(mk2, row.work, row.training));
  RecordProperty("log_error", std::to_string(std::log(cycles / row.cycles)));
  EXPECT_LT(std::abs(std::log(cycles / row.cycles)), 0.30)
      << row.name << ": " << cycles << " against " << row.cycles;
}

INSTANTIATE_TEST_SUITE_P(
    Mk2, BenchmarkRow,
    ::testing::Values(Row{"gemm_200x64x10000", product(200, 64, 10000), false, 10128},
                      Row{"gemm_1000x512x20000", product(1000, 512, 20000), false, 324972},
                      Row{"gemm_600x64x30000", product(600, 64, 30000), false, 52059},
                      Row{"bert_ffn1_128x1024x4096", product(128, 1024, 4096), true, 92480},
                      Row{"bert_proj_384x768x768", product(768, 768, 384), true, 49502},
                      Row{"fc_layer_1_1000_1000_float", product(1, 1000, 1000, graph::ElementType::float32),
                          true, 15360},
                      Row{"resnet50 3x3 28", convolution(4, 28, 3, 128, 128, 1, 1), true, 82252},
                      Row{"resnet50 1x1 14", convolution(4, 14, 1, 256, 1024), true, 45271},
                      Row{"resnet50 projection", convolution(4, 14, 1, 1024, 2048, 2), true, 80440},
                      Row{"resnet50 first", convolution(4, 224, 7, 4, 64, 2, 3), true, 148450},
                      Row{"vgg16 3x3 28", convolution(4, 28, 3, 512, 512, 1, 1), true, 749792},
                      Row{"mobilenet depthwise 28", convolution(4, 28, 3, 1, 1, 1, 1, 256), true, 21911}),
    [](const auto& row) { return std::to_string(row.index); });

const std::vector<ops::Contraction>& someWork() {
  static const std::vector<ops::Contraction> work{
      product(40, 320, 256, graph::ElementType::float32),
      product(384, 1024, 4096),
      product(1, 1000, 5),
      convolution(40, 12, 5, 10, 20, 1, 0, 1, graph::ElementType::float32),
      convolution(4, 28, 3, 128, 128, 2, 1),
      convolution(2, 14, 3, 1, 1, 1, 1, 64)};
  return work;
}

TEST(Planner, StaysWithinTilesAndMemory) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  for (const ops::Contraction& work : someWork()) {
    for (int pass = 0; pass < 3; ++pass) {
      const auto plan = planner.plan(shapeOf(phase(work, pass), "work").value(), 0.6);
      EXPECT_LE(plan->split.tiles(), mk2.tiles);
      EXPECT_LE(plan->costs.temporaryBytes,
                static_cast<std::int64_t>(0.6 * static_cast<double>(mk2.bytesPerTile)));
      EXPECT_FALSE(plan->describe().empty());
    }
  }
}

TEST(Planner, NeverAbovePeak) {
  Lowering mk2(testing::chipOf("mk2"));
  for (const ops::Contraction& work : someWork()) {
    for (int pass = 0; pass < 3; ++pass) {
      const double perCycle = static_cast<double>(work.multiplyAdds()) /
                              static_cast<double>(mk2.lower(phase(work, pass)).cycles());
      const double peak = static_cast<double>(mk2.chip().tiles * (work.type == graph::ElementType::float16
                                                                      ? mk2.chip().ampHalfFloat
                                                                      : mk2.chip().ampFloat));
      EXPECT_LE(perCycle, peak);
    }
  }
}

TEST(Planner, MoreMemoryIsNeverSlower) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  for (const ops::Contraction& work :
       {product(2048, 4096, 4096), product(1000, 512, 20000), convolution(4, 56, 3, 128, 128, 1, 1)}) {
    const ConvShape shape = shapeOf(work, "work").value();
    std::int64_t before = INT64_MAX;
    for (const double proportion : {0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9, 1.0}) {
      const std::int64_t cycles = planner.plan(shape, proportion)->costs.total;
      EXPECT_LE(cycles, before) << "at " << proportion;
      before = cycles;
    }
  }
}

TEST(Planner, TellsEachPlanOnce) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  std::vector<std::string> told;
  base::setLogSink([&](base::LogLevel, const std::string& message) { told.push_back(message); });
  for (int i = 0; i < 2; ++i)
    planner.plan(shapeOf(convolution(4, 28, 3, 128, 96, 2, 1), "work").value(), 0.6);
  base::setLogSink({});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], ::testing::StartsWith(
                           "plan of a convolution (forward) of float16, groups 1, batch 4, 128 to 96 "
                           "channels, 28 to 14 by 3"));
  EXPECT_THAT(told[0], ::testing::HasSubstr("poplin::Conv"));
}

TEST(Planner, WhenNothingFitsTimeDecides) {
  // Arranging the operands alone takes more memory than a tile may use, whatever the split.
  const Chip mk1 = testing::chipOf("mk1"), mk2 = testing::chipOf("mk2");
  Planner planner(mk1), large(mk2);
  const auto ideal = [](const Chip& chip, const ops::Contraction& work) {
    return static_cast<double>(work.multiplyAdds()) / static_cast<double>(chip.tiles * chip.ampHalfFloat);
  };
  const ops::Contraction work = convolution(16, 224, 3, 64, 64, 1, 1);
  for (int pass = 0; pass < 3; ++pass) {
    const auto plan = planner.plan(shapeOf(phase(work, pass), "work").value(), 0.6);
    // The gradient of the weights takes most: its many weights are loaded 64 bits at a time.
    EXPECT_LT(static_cast<double>(plan->costs.total), 4.5 * ideal(mk1, work)) << pass;
  }
  const ops::Contraction huge = product(16384, 16384, 16384);
  EXPECT_LT(static_cast<double>(large.plan(shapeOf(huge, "work").value(), 0.6)->costs.total),
            2 * ideal(mk2, huge));
}

TEST(Planner, WhenNothingFitsTheBoundDoubles) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  const ConvShape shape = shapeOf(convolution(4, 56, 3, 128, 128, 1, 1), "work").value();
  // The smallest plan takes between one and two times this share of a tile.
  double proportion = 0.6;
  const auto bytes = [&](double share) { return share * static_cast<double>(mk2.bytesPerTile); };
  const auto takes = [&] {
    return static_cast<double>(planner.plan(shape, proportion)->costs.temporaryBytes);
  };
  while (takes() <= bytes(proportion)) proportion /= 2;
  const auto doubled = planner.plan(shape, 2 * proportion);
  EXPECT_EQ(planner.plan(shape, proportion)->costs.total, doubled->costs.total);
  EXPECT_LE(static_cast<double>(doubled->costs.temporaryBytes), bytes(2 * proportion));
}

TEST(Planner, LittleMemorySplitsSerially) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  const ConvShape shape = shapeOf(product(1024, 2048, 2048), "work").value();
  const auto plenty = planner.plan(shape, 0.6), scarce = planner.plan(shape, 0.08);
  EXPECT_EQ(plenty->form.serial, 1);
  EXPECT_GT(scarce->form.serial, 1);
  EXPECT_LE(scarce->costs.temporaryBytes,
            static_cast<std::int64_t>(0.08 * static_cast<double>(mk2.bytesPerTile)));
}

/// The parts of a product run the same program, so PopLibs takes a number of them that divides the channels
/// (ConvModel.cpp, constructModel). The groups of a part need not be full: 250 rows are 16 groups of 16.
TEST(Planner, PartsHaveEquallyManyChannels) {
  const Chip mk1 = testing::chipOf("mk1");
  Planner planner(mk1);
  for (const std::int64_t rows : {1000, 999, 1001, 1250}) {
    const auto plan = planner.plan(shapeOf(product(rows, 256, 30000), "work").value(), 0.6);
    EXPECT_GT(plan->form.serial, 1) << rows;
    EXPECT_EQ((plan->form.swapped ? rows : 30000) % plan->form.serial, 0) << rows;
    EXPECT_GE(plan->form.serial * plan->form.outGrains * plan->form.vertex.outGroup, rows) << rows;
  }
  const auto plan = planner.plan(shapeOf(product(1000, 256, 30000), "work").value(), 0.6);
  EXPECT_EQ(plan->form.serial, 4);
  EXPECT_EQ(plan->form.vertex.method, ConvVertex::Method::amp);
}

TEST(Planner, AMatrixTimesAVectorIsPlannedBothWaysRound) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  const auto f32 = graph::ElementType::float32;
  for (const std::int64_t rows : {5, 1000, 10000}) {
    const auto column = planner.plan(shapeOf(product(rows, 1000, 1, f32), "work").value(), 0.6),
               row = planner.plan(shapeOf(product(1, 1000, rows, f32), "work").value(), 0.6);
    EXPECT_EQ(column->costs.total, row->costs.total) << rows;
  }
}

/// A product and its transpose, [m,k]·[k,n] and [n,k]·[k,m], are the same work. The gradient of the left
/// operand of one is that of the right operand of the other.
TEST(Planner, OneProductHasOnePlanHoweverItIsWritten) {
  Lowering bow(testing::chipOf("bow"));
  const struct {
    std::int64_t groups, m, k, n;
  } products[] = {{1, 8192, 8192, 16}, {1, 1000, 512, 10000}, {1, 37, 129, 4}, {192, 1024, 64, 2},
                  {64, 256, 256, 64},  {12, 128, 64, 128},    {7, 1, 300, 50}};
  for (const auto& [groups, m, k, n] : products) {
    for (const ElementType type : {ElementType::float16, ElementType::float32}) {
      for (int pass = 0; pass < 3; ++pass) {
        ops::Contraction written = phase(product(m, k, n, type), pass),
                         other = phase(product(n, k, m, type), pass == 0 ? 0 : 3 - pass);
        written.groups = other.groups = groups;
        const auto a = bow.planner().plan(shapeOf(written, "work").value(), 0.6),
                   b = bow.planner().plan(shapeOf(other, "work").value(), 0.6);
        EXPECT_EQ(a->describe(), b->describe()) << groups << ' ' << m << ' ' << k << ' ' << n << ' ' << pass;
        EXPECT_EQ(a->costs.total, b->costs.total);
        EXPECT_EQ(a->costs.temporaryBytes, b->costs.temporaryBytes);
        EXPECT_EQ(bow.lower(written).cycles(), bow.lower(other).cycles());
      }
    }
  }
}

TEST(Planner, MoreRowsHardlyEverCostLess) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  const auto cyclesOf = [&](std::int64_t rows) {
    return planner.plan(shapeOf(product(rows, 1024, 1024), "work").value(), 0.6)->costs.total;
  };
  // Rows that do not fill groups of 8 or 16 cost no arrangement of their own.
  EXPECT_LE(cyclesOf(65), cyclesOf(96));
  EXPECT_LE(cyclesOf(1000), cyclesOf(1024));
  for (const auto type : {graph::ElementType::float16, graph::ElementType::float32}) {
    for (const std::int64_t k : {64, 768, 1024}) {
      for (const std::int64_t n : {768, 1024, 3000}) {
        // PopLibs cuts an axis only into the fewest parts for each size of the largest part
        // (ceildivConstrainDivisor), and into at most as many parts as there are groups. So an odd number of
        // groups leaves a tile without a partner that receives the same data, and sums that fill no whole
        // vector take another vertex. It pads rows to groups, but no further. Of 4,032 products on each chip,
        // 28 % cost more than some larger one: 2 % on average over all, and at most 24 %.
        auto least = std::numeric_limits<std::int64_t>::max();
        for (const std::int64_t rows :
             {1536, 1500, 1400, 1280, 1025, 1024, 1000, 768, 744, 513, 512, 500, 499, 485, 460, 450, 384,
              257,  256,  232,  226,  200,  129,  128,  97,  96,  72,  65,  64,  31,  16,  8,   3,   1}) {
          const std::int64_t cycles =
              planner.plan(shapeOf(product(rows, k, n, type), "work").value(), 0.6)->costs.total;
          least = std::min(least, cycles);
          EXPECT_LE(static_cast<double>(cycles), 1.24 * static_cast<double>(least))
              << "[" << rows << ',' << k << "] x [" << k << ',' << n << "]";
        }
      }
    }
  }
}

TEST(Planner, NoRandomSplitOfItsFormIsFaster) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  std::mt19937 random(7);
  for (const ops::Contraction& work : someWork()) {
    const auto plan = planner.plan(shapeOf(work, "work").value(), 0.6);
    WorkerCache cache;
    // A SLIC vertex does one group of channels, a vertical MAC one output channel.
    const bool slic = plan->form.vertex.method == ConvVertex::Method::slic;
    const bool oneOutput = slic || plan->form.vertex.method == ConvVertex::Method::verticalMac;
    // The planner cuts an axis into the fewest parts for the size of the largest one, as PopLibs does.
    const auto part = [&](std::int64_t grains, std::int64_t& left) {
      const std::int64_t any = std::uniform_int_distribution<std::int64_t>(
          1, std::max<std::int64_t>(1, std::min(grains, left)))(random);
      const std::int64_t largest = (grains + any - 1) / any, parts = (grains + largest - 1) / largest;
      left /= parts;
      return parts;
    };
    for (int i = 0; i < 2000; ++i) {
      ConvSplit split = plan->split;
      std::int64_t left = mk2.tiles;
      if (slic) left /= split.inChannels;
      if (oneOutput) left /= split.outChannels;
      split.groups = part(plan->form.groupGrains, left);
      split.batch = part(plan->form.shape.batch, left);
      if (!slic) split.inChannels = part(plan->form.inGrains, left);
      if (!oneOutput) split.outChannels = part(plan->form.outGrains, left);
      for (std::size_t d = 0; d < plan->form.shape.dimCount; ++d) {
        split.output[d] = part(plan->form.shape.dims[d].output, left);
        // The innermost axis of the kernel stays whole.
        if (d + 1 < plan->form.shape.dimCount) split.kernel[d] = part(plan->form.shape.dims[d].kernel, left);
      }
      const ConvCosts costs = costsOf(mk2, plan->form, split, largestTile(plan->form, split), cache);
      if (static_cast<double>(costs.temporaryBytes) > 0.6 * static_cast<double>(mk2.bytesPerTile)) continue;
      EXPECT_GE(costs.total, plan->costs.total);
    }
  }
}

TEST(Planner, TheLastPartsOfAnAxisAreTheLargerOnes) {
  ContractionPlan plan;
  plan.form.shape.dimCount = 1;
  plan.form.shape.dims[0].output = 11;
  plan.form.outGrains = 7;
  plan.split.output[0] = 4;
  plan.split.outChannels = 3;
  // 11 positions in 4 parts are 2, 3, 3, 3; 7 groups of channels in 3 parts are 2, 2, 3, and these come first
  // on neighbouring tiles.
  std::vector<std::array<std::int64_t, 3>> shares;
  for (const ConvShare& share : sharesOf(plan))
    shares.push_back({share.tiles, share.tile.output[0], share.tile.outGroups});
  EXPECT_THAT(shares, ::testing::ElementsAre(
                          std::array<std::int64_t, 3>{2, 2, 2}, std::array<std::int64_t, 3>{1, 2, 3},
                          std::array<std::int64_t, 3>{6, 3, 2}, std::array<std::int64_t, 3>{3, 3, 3}));
}

TEST(Planner, SharesCoverTheWork) {
  const Chip mk2 = testing::chipOf("mk2");
  Planner planner(mk2);
  for (const ops::Contraction& work : someWork()) {
    const auto plan = planner.plan(shapeOf(work, "work").value(), 0.6);
    const ConvForm& form = plan->form;
    std::int64_t tiles = 0, done = 0;
    for (const ConvShare& share : sharesOf(*plan)) {
      tiles += share.tiles;
      std::int64_t grains =
          share.tiles * share.tile.groups * share.tile.batch * share.tile.inGroups * share.tile.outGroups;
      for (std::size_t d = 0; d < form.shape.dimCount; ++d)
        grains *= share.tile.output[d] * share.tile.kernel[d];
      done += grains;
    }
    std::int64_t wanted = form.groupGrains * form.shape.batch * form.inGrains * form.outGrains;
    for (std::size_t d = 0; d < form.shape.dimCount; ++d)
      wanted *= form.shape.dims[d].output * form.shape.dims[d].kernel;
    EXPECT_EQ(done, wanted);
    EXPECT_EQ(tiles, plan->split.tiles());
  }
}

TEST(Planner, StepsAddUpToThePlan) {
  Lowering mk2(testing::chipOf("mk2"));
  for (const ops::Contraction& work : someWork()) {
    for (int pass = 0; pass < 3; ++pass) {
      const auto plan = mk2.planner().plan(shapeOf(phase(work, pass), "work").value(), 0.6);
      const std::int64_t cycles = mk2.lower(phase(work, pass)).cycles();
      // Workers share fewer positions less evenly in a vertical MAC, so a smaller share may take longer than
      // the largest one, which PopLibs' planner counts.
      if (plan->form.vertex.method == ConvVertex::Method::verticalMac) {
        EXPECT_GE(cycles, plan->costs.total);
      } else {
        EXPECT_EQ(cycles, plan->costs.total);
      }
    }
  }
}

ConvDim plainAxis(std::int64_t extent) {
  ConvDim dim;
  dim.input = dim.output = extent;
  return dim;
}
ConvDim axisWithKernel(std::int64_t extent, std::int64_t kernel) {
  ConvDim dim = plainAxis(extent);
  dim.kernel = kernel;
  dim.padding = kernel - 1;
  return dim;
}
ConvShape fieldOf(std::int64_t batch, std::vector<ConvDim> dims) {
  ConvShape shape;
  shape.batch = batch;
  shape.dimCount = dims.size();
  std::ranges::copy(dims, shape.dims.begin());
  return shape;
}

/// Batch and axes without a kernel become the innermost of these axes, at its place, as in PopLibs'
/// calculateFlattenedParams.
TEST(ConvShape, PlainAxesBecomeTheInnermostOfThem) {
  const ConvDim seven = axisWithKernel(17, 7);
  EXPECT_EQ(flatten(fieldOf(4, {plainAxis(17), seven})), fieldOf(1, {plainAxis(68), seven}));
  EXPECT_EQ(flatten(fieldOf(4, {seven, plainAxis(17)})), fieldOf(1, {seven, plainAxis(68)}));
  EXPECT_EQ(flatten(fieldOf(4, {plainAxis(3), seven, plainAxis(5)})), fieldOf(1, {seven, plainAxis(60)}));
  EXPECT_EQ(flatten(fieldOf(4, {plainAxis(3), plainAxis(5), seven})), fieldOf(1, {plainAxis(60), seven}));
  EXPECT_EQ(flatten(fieldOf(4, {plainAxis(3), plainAxis(5)})), fieldOf(1, {plainAxis(60)}));
  EXPECT_EQ(flatten(fieldOf(4, {seven, seven})), fieldOf(4, {seven, seven}));
  EXPECT_EQ(flatten(fieldOf(4, {})), fieldOf(1, {plainAxis(4)}));
  EXPECT_EQ(flatten(fieldOf(4, {seven})), fieldOf(1, {plainAxis(4), seven}));
}

/// Every second result of the input gradient of a 1×1 convolution with stride 2 is zero, and is not computed
/// (PopLibs, canDeferDilation). A 3×3 kernel reaches all of them.
TEST(ConvShape, ZerosBetweenInputsArePutBetweenResults) {
  ops::Contraction c;
  c.batch = 4;
  c.field = {56, 56};
  c.output = {28, 28};
  c.stride = {2, 2};
  c.kernel = c.dilation = {1, 1};
  c.padding = {0, 0, 0, 0};
  c.inputChannels = 256;
  c.outputChannels = 128;
  c.type = graph::ElementType::float16;
  const ConvShape gradient = shapeOf(phase(c, 1), "work").value();
  EXPECT_EQ(flatten(gradient).dims[0], plainAxis(4 * 28 * 28));
  c.kernel = {3, 3};
  c.padding = {1, 1, 1, 1};
  const ConvShape larger = shapeOf(phase(c, 1), "work").value();
  EXPECT_EQ(larger.dims[0].inputDilation, 2);
  EXPECT_EQ(larger.dims[0].output, 56);
}

/// (PopLibs, getCombineConvGroupCandidates: 4, 8 or 16 input channels of float16 in all, 2, 4 or 8 of
/// float32.)
TEST(ConvShape, GroupsOfFewChannelsMayBecomeOne) {
  const auto factors = [](std::int64_t groups, std::int64_t channels, bool half) {
    ConvShape shape = fieldOf(4, {axisWithKernel(28, 3), axisWithKernel(28, 3)});
    shape.groups = groups;
    shape.inputChannels = channels;
    shape.half = half;
    return groupFactors(shape);
  };
  EXPECT_EQ(factors(32, 1, true), (std::vector<std::int64_t>{1, 4, 8, 16}));
  EXPECT_EQ(factors(32, 2, true), (std::vector<std::int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(factors(32, 1, false), (std::vector<std::int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(factors(32, 2, false), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(factors(32, 3, true), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(factors(1, 1, true), (std::vector<std::int64_t>{1}));
  ConvShape shape = fieldOf(4, {});
  shape.groups = 30;
  shape.outputChannels = 2;
  const ConvShape combined = combineGroups(shape, 16);
  EXPECT_EQ(combined.groups, 2);
  EXPECT_EQ(combined.inputChannels, 16);
  EXPECT_EQ(combined.outputChannels, 32);
}

TEST(ConvShape, PassesDoTheSameWork) {
  for (const ops::Contraction& work : someWork()) {
    for (int pass = 0; pass < 3; ++pass) {
      const ConvShape shape = shapeOf(phase(work, pass), "work").value();
      double products =
          static_cast<double>(shape.groups * shape.batch * shape.inputChannels * shape.outputChannels);
      for (std::size_t d = 0; d < shape.dimCount; ++d) {
        products *= static_cast<double>(shape.dims[d].output * shape.dims[d].kernel) /
                    static_cast<double>(shape.dims[d].inputDilation);
      }
      // The paddings differ, so the input gradient does a little more.
      EXPECT_NEAR(products / static_cast<double>(work.multiplyAdds()), 1, pass == 1 ? 1.3 : 1e-9);
    }
  }
}

TEST(ConvShape, TransposedIsTheGradientOfAConvolution) {
  ops::Contraction forward = convolution(2, 8, 3, 16, 32, 2, 1);
  ops::Contraction transposed = forward;
  transposed.transposed = true;
  std::swap(transposed.field, transposed.output);
  std::swap(transposed.inputChannels, transposed.outputChannels);
  ConvShape a = shapeOf(phase(forward, 1), "a").value(), b = shapeOf(transposed, "b").value();
  b.pass = a.pass;
  EXPECT_EQ(a, b);
  ConvShape c = shapeOf(forward, "c").value(), d = shapeOf(phase(transposed, 1), "d").value();
  d.pass = c.pass;
  EXPECT_EQ(c, d);
}

TEST(ConvShape, RefusesWhatCannotBe) {
  const auto sentence = [](ops::Contraction c) {
    const auto shape = shapeOf(c, "layer");
    EXPECT_FALSE(shape.ok());
    return shape.ok() ? "" : shape.error().message;
  };
  ops::Contraction c = product(4, 5, 6);
  c.field = {0};
  EXPECT_EQ(sentence(c), "layer: a field extent is 0, but must be between 1 and 2147483648.");
  c = product(4, 5, 6);
  c.inputChannels = -1;
  EXPECT_NE(sentence(c).find("input channels is -1"), std::string::npos);
  c = product(4, 5, 6);
  c.stride = {1, 1};
  EXPECT_NE(sentence(c).find("differ in their number of axes"), std::string::npos);
  c = product(4, 5, 6);
  c.padding = {-1, 0};
  EXPECT_NE(sentence(c).find("padding is -1"), std::string::npos);
  c = product(4, 5, 6);
  c.field = c.kernel = c.output = c.stride = c.dilation = {1, 1, 1, 1};
  c.padding = std::vector<std::int64_t>(8, 0);
  EXPECT_NE(sentence(c).find("4 spatial axes"), std::string::npos);
  EXPECT_NE(
      sentence(product(std::int64_t{1} << 30, std::int64_t{1} << 20, 8)).find("more than 2^40 elements"),
      std::string::npos);
  EXPECT_NE(sentence(product(1 << 20, 1 << 20, 1 << 21)).find("more than 2^40 elements"), std::string::npos);
  c = product(std::int64_t{1} << 20, std::int64_t{1} << 20, std::int64_t{1} << 20);
  c.type = graph::ElementType::bfloat16;
  EXPECT_EQ(sentence(c), "layer: an IPU cannot multiply bfloat16; use float16 or float32.");
  c.type = graph::ElementType::float16;
  c.accumulate = graph::ElementType::int32;
  EXPECT_EQ(sentence(c), "layer: an IPU cannot sum products in int32; use float16 or float32.");
}

TEST(Planner, CornerShapes) {
  Lowering mk2(testing::chipOf("mk2")), mk1(testing::chipOf("mk1"));
  const auto f32 = graph::ElementType::float32;
  for (const ops::Contraction& work :
       {product(1, 1, 1), product(1, 1, 1, f32), product(1, 100000, 1), product(100000, 1, 1),
        product(1, 1, 100000), convolution(1, 1, 1, 1, 1), convolution(1, 3, 3, 1, 1),
        convolution(7, 5, 5, 3, 13, 1, 2, 11), convolution(1, 9, 1, 1, 1, 3),
        convolution(1, 64, 64, 1, 1, 1, 0, 1, f32)}) {
    for (int pass = 0; pass < 3; ++pass) {
      for (Lowering* chip : {&mk2, &mk1}) {
        const LoweredWork lowered = chip->lower(phase(work, pass));
        EXPECT_GT(lowered.cycles(), 0);
        EXPECT_FALSE(lowered.steps.empty());
      }
    }
  }
}

TEST(Planner, HalfPartialsAreFasterAndSmaller) {
  Lowering mk2(testing::chipOf("mk2"));
  ops::Contraction work = product(1024, 2048, 2048);
  const std::int64_t full = mk2.lower(work).cycles();
  work.accumulate = graph::ElementType::float16;
  EXPECT_LT(mk2.lower(work).cycles(), full);
}

}  // namespace
}  // namespace pipescope::devices::ipu
