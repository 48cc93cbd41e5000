// Checks each kind of Work on a Gaudi against closed formulas.
#include <gmock/gmock.h>

#include "engine/devices/gaudi/mme_geometry.h"
#include "gaudi_fixtures.h"

namespace pipescope::devices {
namespace {

using gaudi::chooseGeometry;
using gaudi::Geometry;
using graph::ElementType;
using hbm_card::Engine;
using hbm_card::EngineKernel;
using testing::CardLowering;
using testing::cardOf;
using testing::convolution;
using ::testing::HasSubstr;
using testing::product;

constexpr ElementType kBfloat16 = ElementType::bfloat16;

TEST(MmeGeometry, WorkedExamples) {
  // A product of 1024 × 128 with a depth of 256 fills one block of 1024 × 128. Reading the sums out takes as
  // long again, so half the peak is reached.
  const Geometry one = chooseGeometry(cardOf("gaudi2"), {1024, 128, 256, 1, kBfloat16, false});
  EXPECT_EQ(one.cycles, 512);
  EXPECT_EQ(one.rows * one.columns, 131072);
  // Twelve blocks of 256 × 512 and the last roll-up: 12/13.
  EXPECT_EQ(chooseGeometry(cardOf("gaudi2"), {1536, 1024, 256, 1, kBfloat16, false}).cycles, 13 * 256);
  // Gaudi uses 128 × 128, or 256 × 64 if there are only 64 columns.
  EXPECT_EQ(chooseGeometry(cardOf("gaudi"), {256, 256, 1024, 1, kBfloat16, false}).cycles, 4 * 1024 + 128);
  const Geometry narrow = chooseGeometry(cardOf("gaudi"), {2560, 64, 1024, 1, kBfloat16, false});
  EXPECT_EQ(narrow.rows, 256);
  EXPECT_EQ(narrow.cycles, 10 * 1024 + 128);
  EXPECT_EQ(chooseGeometry(cardOf("gaudi"), {64, 2560, 1024, 1, kBfloat16, false}).cycles, narrow.cycles);
  // The first Gaudi sums float32 a quarter as fast.
  EXPECT_EQ(chooseGeometry(cardOf("gaudi"), {128, 128, 1024, 1, ElementType::float32, false}).cycles,
            4096 + 128);
  // 16,384 × 4,096 fits many geometries of Gaudi3 exactly. With eight engines side by side, 256 × 2,048, each
  // keeps its columns: the left operand is fetched by eight engines for two blocks, the right one once.
  const Geometry wide = chooseGeometry(cardOf("gaudi3"), {16384, 4096, 768, 1, kBfloat16, false});
  EXPECT_EQ(wide.cycles, 64 * 2 * 768 + 512);
  EXPECT_EQ(wide.rowBlocks, 64);
  EXPECT_EQ(wide.columnBlocks, 2);
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(cardOf("gaudi3"), wide, 16384, 4096), 16384 * 8 * 2 + 4096);
  // Depths are padded: 1,000 is 1,000 in bf16, 1,001 is 1,008.
  EXPECT_EQ(gaudi::paddedDepth(1000, kBfloat16), 1000);
  EXPECT_EQ(gaudi::paddedDepth(1001, kBfloat16), 1008);
  EXPECT_EQ(gaudi::paddedDepth(1001, ElementType::float32), 1002);
  EXPECT_EQ(gaudi::paddedDepth(1001, ElementType::int8), 1008);
}

TEST(MmeGeometry, SmallProductsShareAnEngine) {
  // Gaudi2 has two engines. Four products of 64 × 64 fit into each, two of 128 × 128 or 64 × 256, and one of
  // 256 × 256. With a depth of 4,096 reading sums out is hidden.
  const auto together = [](const char* card, std::int64_t m, std::int64_t n) {
    return chooseGeometry(cardOf(card), {m, n, 4096, 1024, kBfloat16, false}).together;
  };
  EXPECT_EQ(together("gaudi2", 64, 64), 8);
  EXPECT_EQ(together("gaudi2", 1, 60), 8);
  EXPECT_EQ(together("gaudi2", 65, 64), 4);
  EXPECT_EQ(together("gaudi2", 1, 256), 4);
  EXPECT_EQ(together("gaudi2", 256, 1), 4);
  EXPECT_EQ(together("gaudi2", 128, 128), 4);
  EXPECT_EQ(together("gaudi2", 128, 129), 2);
  // Gaudi3 has eight engines with two products of up to 128 × 128 each, the first Gaudi one in each of two.
  EXPECT_EQ(together("gaudi3", 64, 64), 16);
  EXPECT_EQ(together("gaudi3", 1, 256), 8);
  EXPECT_EQ(together("gaudi", 64, 64), 2);
  // 1,024 products of 64 × 64, eight at a time, and the last sums: a quarter of all accumulators is in use.
  EXPECT_EQ(chooseGeometry(cardOf("gaudi2"), {64, 64, 4096, 1024, kBfloat16, false}).cycles,
            128 * 4096 + 256 / 4);
}

TEST(MmeGeometry, ReadsOutOnlyTheSumsThatAreThere) {
  // A full block takes the vendor's number of cycles; a vector times a matrix uses one row of 128.
  const gaudi::Card card = cardOf("gaudi2");
  EXPECT_EQ(gaudi::rollUpCycles(card, card.macsBf16), 256);
  EXPECT_EQ(gaudi::rollUpCycles(card, card.macsBf16 / 128), 2);
  EXPECT_EQ(gaudi::rollUpCycles(card, 1), 1);
  EXPECT_EQ(chooseGeometry(card, {1, 1024, 8, 1, kBfloat16, false}).cycles, 8 + 2);
}

TEST(GaudiKernels, EnginesFetchTheirOwnOperands) {
  // Blocks of 512 × 256 lie on two engines, one below the other, so both fetch the right operand. Either they
  // keep the left one, and fetch the right one for each of 3 blocks of rows; or the other way round, with 5
  // blocks of columns.
  const gaudi::Card gaudi2 = cardOf("gaudi2"), gaudi3 = cardOf("gaudi3"), first = cardOf("gaudi");
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(gaudi2, {512, 256, 1, 1, 0, 3, 5}, 100, 10), 100 + 2 * 3 * 10);
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(gaudi2, {512, 256, 1, 1, 0, 3, 5}, 1, 1000), 5 * 1 + 2 * 1000);
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(gaudi2, {256, 512, 1, 1, 0, 3, 5}, 100, 10), 2 * 100 + 3 * 10);
  // Two engines are all that share a block of 1,024 × 128, and none does if each has products of its own.
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(gaudi2, {1024, 128, 1, 1, 0, 3, 5}, 100, 10), 100 + 2 * 3 * 10);
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(gaudi2, {256, 256, 2, 1, 0, 1, 1}, 100, 10), 110);
  // Eight engines of Gaudi3 as 2 × 4, and the two of the first Gaudi, which are 64 × 128.
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(gaudi3, {512, 1024, 1, 1, 0, 3, 5}, 100, 10), 4 * 100 + 2 * 3 * 10);
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(first, {128, 128, 1, 1, 0, 3, 5}, 100, 10), 100 + 2 * 3 * 10);
  EXPECT_DOUBLE_EQ(gaudi::operandFetches(first, {64, 256, 1, 1, 0, 3, 5}, 100, 10), 2 * 100 + 3 * 10);
}

TEST(GaudiKernels, GroupsOfEnginesKeepOperandsBesideThem) {
  // Each quarter of Gaudi3 has 24 MiB. A quarter of 16,384 rows and the other operand whole: 6 and 6 MiB.
  const CardLowering gaudi3("gaudi3"), gaudi2("gaudi2");
  const auto bytes = [](std::int64_t m, std::int64_t k, std::int64_t n) {
    return std::pair(m * k * 2, k * n * 2);
  };
  const auto [left, right] = bytes(16384, 768, 4096);
  EXPECT_EQ(gaudi3.lower(product(16384, 768, 4096, kBfloat16)).groupBytes, left + 4 * right);
  // 8 MiB of 32 and the other 16 just fit, and whichever way is shared less is taken.
  EXPECT_EQ(gaudi3.lower(product(16384, 1024, 8192, kBfloat16)).groupBytes, (32 + 4 * 16) << 20);
  EXPECT_EQ(gaudi3.lower(product(8192, 1024, 16384, kBfloat16)).groupBytes, (32 + 4 * 16) << 20);
  EXPECT_EQ(gaudi3.lower(product(16384, 1032, 8192, kBfloat16)).groupBytes, -1);
  // A quarter of twice the SRAM holds twice as much, and as many engines as before read it together.
  gaudi::Card larger = cardOf("gaudi3");
  larger.onChipBytes *= 2;
  EXPECT_EQ(CardLowering(larger).lower(product(16384, 768, 4096, kBfloat16)).groupBytes, left + 4 * right);
  EXPECT_EQ(CardLowering(larger).lower(product(16384, 1024, 8192 * 2, kBfloat16)).groupBytes, (32 + 4 * 32)
                                                                                                  << 20);
  // Eight engines with a product each: each is read by one quarter only.
  ops::Contraction heads = product(256, 4096, 256, kBfloat16);
  heads.groups = 512;
  EXPECT_EQ(gaudi3.lower(heads).groupBytes, std::int64_t{512} * 2 * 256 * 4096 * 2);
  EXPECT_EQ(gaudi2.lower(product(1024, 1024, 1024, kBfloat16)).groupBytes, -1) << "has no parts";
}

TEST(MmeGeometry, NoGeometryBeatsThePeakAndMoreIsNeverFaster) {
  for (const char* name : {"gaudi", "gaudi2", "gaudi3"}) {
    const gaudi::Card card = cardOf(name);
    std::int64_t before = 0;
    for (std::int64_t m = 1; m < 5000; m = m * 3 / 2 + 1) {
      const Geometry g = chooseGeometry(card, {m, 700, 900, 3, kBfloat16, false});
      EXPECT_GE(g.cycles * card.macsBf16, m * 700 * 900 * 3) << name << " " << m;
      EXPECT_GE(g.cycles, before) << name << " " << m;
      before = g.cycles;
    }
  }
}

TEST(MmeGeometry, GroupsAreDoneSeveralAtATime) {
  // 32 groups of 4 → 4 channels with 3 × 3; one at a time would use 4 of 64 columns.
  const gaudi::Card card = cardOf("gaudi");
  const Geometry packed = chooseGeometry(card, {100352, 4, 36, 32, kBfloat16, true});
  const Geometry single = chooseGeometry(card, {100352, 4, 36, 32, kBfloat16, false});
  EXPECT_GT(packed.packed, 1);
  EXPECT_LT(packed.cycles, single.cycles);
  // Packing also computes zeros, so it is never faster than the work itself.
  EXPECT_GE(packed.cycles * card.macsBf16, std::int64_t{100352} * 4 * 36 * 32);
}

TEST(GaudiKernels, ProductsTakeTheirGeometrysTime) {
  const CardLowering gaudi2("gaudi2");
  const EngineKernel kernel = gaudi2.lower(product(4096, 4096, 4096, kBfloat16));
  EXPECT_EQ(kernel.engine, Engine::matrix);
  const double blocks = 4096.0 * 4096 / 131072;
  EXPECT_DOUBLE_EQ(kernel.arithmetic, (blocks * 4096 + 256) / 1.65e9);
  // The three products of a convolution have the same multiply-adds, and about the same time.
  const auto layer = convolution(32, 28, 3, 256, 256, 1, 1, 1, kBfloat16);
  const double forward = gaudi2.lower(layer).arithmetic;
  for (const int phase : {1, 2}) {
    EXPECT_NEAR(gaudi2.lower(testing::phase(layer, phase)).arithmetic, forward, 0.25 * forward) << phase;
  }
}

TEST(GaudiKernels, OperandsThatSramDoesNotHoldComeAgain) {
  const CardLowering gaudi2("gaudi2");
  EXPECT_EQ(gaudi2.lower(product(1024, 1024, 1024, kBfloat16)).againBytes, 0);
  // 58.7 MB and 62.9 MB: three slices of 24 MB each.
  const EngineKernel large = gaudi2.lower(product(14336, 2048, 15360, kBfloat16));
  EXPECT_EQ(large.againBytes, 2 * 14336LL * 2048 * 2);
}

TEST(GaudiKernels, MapsTakeWholeVectors) {
  const CardLowering gaudi2("gaudi2");
  // 128 bf16 lanes: 24 × 128 elements are one vector for each TPC; one more is a second one for one of them.
  const auto map = [&](ops::MapFunction function, std::int64_t elements, ElementType type = kBfloat16) {
    return gaudi2.lower(ops::Map{function, elements, 2, type, false});
  };
  EXPECT_DOUBLE_EQ(map(ops::MapFunction::add, 24 * 128).arithmetic, (1 + 4) / 1.8e9);
  EXPECT_DOUBLE_EQ(map(ops::MapFunction::add, 24 * 128 + 1).arithmetic, (2 + 4) / 1.8e9);
  EXPECT_DOUBLE_EQ(map(ops::MapFunction::add, 24 * 64, ElementType::float32).arithmetic, (1 + 4) / 1.8e9);
  EXPECT_EQ(map(ops::MapFunction::add, 10).units, 1);
  EXPECT_TRUE(map(ops::MapFunction::add, 10).elementwise);
  // Each operand beyond two takes an instruction more.
  const auto operands = [&](std::int64_t count) {
    return gaudi2.lower(ops::Map{ops::MapFunction::add, 24 * 128, count, kBfloat16, false}).arithmetic;
  };
  EXPECT_DOUBLE_EQ(operands(1), (1 + 4) / 1.8e9);
  EXPECT_DOUBLE_EQ(operands(3), (2 + 4) / 1.8e9);
  EXPECT_DOUBLE_EQ(operands(5), (4 + 4) / 1.8e9);
}

/// The vendor's published softmax of bfloat16 (HabanaAI/Habana_Custom_Kernel, softmax_fcd_bf16.c) does, for
/// each vector of 128 elements: a maximum; a difference, a conversion to two vectors of float32, the
/// exponential of each (19 instructions of v_exp_cephes_f32 in its compiler's gaudi2.ll), a conversion back,
/// a sum; a product.
TEST(GaudiKernels, SoftmaxTakesTheInstructionsOfThePublishedKernel) {
  const CardLowering gaudi2("gaudi2");
  const auto instructions = [&](const ops::WorkItem& item) {
    return gaudi2.lower(item).arithmetic * 1.8e9 - 4;
  };
  const std::int64_t vectors = 24 * 128;
  EXPECT_NEAR(instructions(ops::Map{ops::MapFunction::subtract, vectors, 2, kBfloat16, true}), 1, 1e-6);
  EXPECT_NEAR(instructions(ops::Map{ops::MapFunction::exp, vectors, 1, kBfloat16, true}), 1 + 2 * 19 + 1,
              1e-6);
  EXPECT_NEAR(instructions(ops::Map{ops::MapFunction::normalise, vectors, 2, kBfloat16, true}), 1, 1e-6);
  EXPECT_NEAR(instructions(ops::Map{ops::MapFunction::exp, 24 * 64, 1, ElementType::float32, true}), 19,
              1e-6);
  // Attention kernels take the exponential of bfloat16, and that of float32 where scores are.
  EXPECT_NEAR(instructions(ops::Map{ops::MapFunction::fastExp, vectors, 1, kBfloat16, true}), 13, 1e-6);
  EXPECT_NEAR(instructions(ops::Map{ops::MapFunction::fastExp, 24 * 64, 1, ElementType::float32, true}), 19,
              1e-6);
  // 96 rows for each TPC, each of which is a vector, and whose lanes are then added with 15 instructions.
  const ops::Reduce sum{ops::ReduceFunction::sum, 24 * 96, 128, true, kBfloat16};
  EXPECT_NEAR(instructions(sum), 96 * (1 + 15), 1e-6);
  // A single row waits for each of these.
  const ops::Reduce row{ops::ReduceFunction::sum, 24, 128, true, kBfloat16};
  EXPECT_NEAR(instructions(row), 1 + 15 * 4, 1e-6);
}

TEST(GaudiKernels, DividesByTheInverseOfARow) {
  const CardLowering gaudi2("gaudi2");
  const auto instructions = [&](bool perRow) {
    return gaudi2.lower(ops::Map{ops::MapFunction::divide, 24 * 64, 2, ElementType::float32, true, perRow})
                   .arithmetic *
               1.8e9 -
           4;
  };
  EXPECT_NEAR(instructions(false), 24, 1e-6);
  EXPECT_NEAR(instructions(true), 1, 1e-6);
}

TEST(GaudiKernels, EveryFunctionHasAPrice) {
  const CardLowering gaudi2("gaudi2");
  // One vector for each TPC: from one instruction to some dozens.
  for (const ops::MapFunction function : ops::allMapFunctions()) {
    const double instructions =
        gaudi2.lower(ops::Map{function, 24 * 64, 2, ElementType::float32, false}).arithmetic * 1.8e9 - 4;
    EXPECT_GT(instructions, 0.99) << toString(function);
    EXPECT_LT(instructions, 120) << toString(function);
  }
}

TEST(GaudiKernels, PoolingsTakeAnInstructionForEachElementOfAWindow) {
  const CardLowering gaudi2("gaudi2");
  // 24 vectors of 128 results, windows of 2 x 3: six instructions forward, twelve backward.
  for (const ops::PoolFunction function : {ops::PoolFunction::max, ops::PoolFunction::average}) {
    ops::Pool pool{function, false, 1, 24 * 128, {2, 3}, {2, 3}, {1, 1}, {1, 1}, kBfloat16};
    EXPECT_DOUBLE_EQ(gaudi2.lower(pool).arithmetic, (6 + 4) / 1.8e9);
    pool.backward = true;
    EXPECT_DOUBLE_EQ(gaudi2.lower(pool).arithmetic, (12 + 4) / 1.8e9);
  }
}

TEST(GaudiKernels, ReductionsAreBarriersUnlessLocalMemoryHoldsARow) {
  const CardLowering gaudi("gaudi");
  EXPECT_FALSE(gaudi.lower(ops::Reduce{ops::ReduceFunction::sum, 1000, 1024, true, kBfloat16}).barrier);
  EXPECT_TRUE(gaudi.lower(ops::Reduce{ops::ReduceFunction::sum, 1000, 100000, true, kBfloat16}).barrier);
  EXPECT_TRUE(gaudi.lower(ops::Reduce{ops::ReduceFunction::sum, 1000, 1024, false, kBfloat16}).barrier);
}

TEST(GaudiKernels, RandomRowsBelowAVectorAreSlower) {
  const CardLowering gaudi2("gaudi2");
  // 100 rows of 128 B are read and written in 2.4 times the time of 25,600 B.
  EXPECT_EQ(gaudi2.lower(ops::Gather{100, 64, 1000, kBfloat16}).wastedBytes, 35840);
  EXPECT_EQ(gaudi2.lower(ops::Gather{100, 128, 1000, kBfloat16}).wastedBytes, 0);
  EXPECT_EQ(gaudi2.lower(ops::Scatter{100, 64, 1000, true, kBfloat16}).wastedBytes, 35840);
  EXPECT_EQ(gaudi2.lower(ops::Scatter{100, 64, 1000, true, kBfloat16}).againBytes, 12800);
  EXPECT_EQ(gaudi2.lower(ops::Scatter{100, 64, 1000, false, kBfloat16}).againBytes, 0);
}

/// The kernel of rotary positions turns halves of heads of 64 elements within the registers of a TPC: 64
/// bytes are a dual group, which one instruction moves. Smaller runs are turned by DMA engines.
TEST(GaudiKernels, MovesDualGroupsWithinVectors) {
  const CardLowering gaudi2("gaudi2");
  const auto move = [&](std::int64_t run) { return gaudi2.lower(ops::Rearrange{24 * 256, run, kBfloat16}); };
  EXPECT_EQ(move(64).engine, hbm_card::Engine::vector);
  EXPECT_NEAR(move(64).arithmetic * 1.8e9 - 4, 2, 1e-6);
  EXPECT_EQ(move(32).engine, hbm_card::Engine::vector);
  EXPECT_NEAR(move(32).arithmetic * 1.8e9 - 4, 4, 1e-6);
  EXPECT_EQ(move(31).engine, hbm_card::Engine::copy);
}

TEST(GaudiKernels, MovesOfWholeLinesNeedNoDma) {
  const CardLowering gaudi2("gaudi2");
  EXPECT_EQ(gaudi2.lower(ops::Rearrange{1 << 20, 64, kBfloat16}).engine, Engine::vector);
  const EngineKernel turned = gaudi2.lower(ops::Rearrange{1 << 20, 1, kBfloat16});
  EXPECT_EQ(turned.engine, Engine::copy);
  EXPECT_DOUBLE_EQ(turned.arithmetic, 1.1 * 2 * (2 << 20) / 1.0415e12 + 0.3e-6);
}

TEST(GaudiKernels, OtherKinds) {
  const CardLowering gaudi2("gaudi2");
  EXPECT_EQ(
      gaudi2.lower(ops::Pool{ops::PoolFunction::max, false, 2, 8, {8, 8}, {2, 2}, {4, 4}, {2, 2}, kBfloat16})
          .engine,
      Engine::vector);
  EXPECT_DOUBLE_EQ(gaudi2.lower(ops::Random{24 * 64, ElementType::float32}).arithmetic, (10 + 4) / 1.8e9);
  // Eight elements take three levels: six rounds of four instructions.
  EXPECT_DOUBLE_EQ(gaudi2.lower(ops::Sort{1, 8, 8, ElementType::float32}).arithmetic, (24 + 4) / 1.8e9);
  const EngineKernel copy = gaudi2.lower(ops::HostCopy{true, base::Bytes(24'000'000)});
  EXPECT_EQ(copy.engine, Engine::host);
  EXPECT_NEAR(copy.arithmetic, 1e-3 + 5e-6, 1e-9);
  EXPECT_EQ(copy.bytesIn, 24'000'000);
  EXPECT_EQ(gaudi2.lower(ops::Collective{ops::Collective::Kind::allReduce, 1000, kBfloat16}).arithmetic,
            0);  // a single card has nobody to talk to
}

TEST(GaudiKernels, RefusesWhatAGaudiCannotDo) {
  const CardLowering gaudi("gaudi"), gaudi2("gaudi2");
  EXPECT_EQ(gaudi.refusal(product(8, 8, 8, ElementType::float16)),
            "layer: gaudi does not compute in float16; use --precision bfloat16 or float32.");
  EXPECT_EQ(gaudi2.refusal(product(8, 8, 8, ElementType::int32)),
            "layer: the MME of gaudi2 does not multiply int32; use --precision bfloat16 or float32.");
  EXPECT_EQ(gaudi2.refusal(ops::Map{ops::MapFunction::add, 8, 2, ElementType::float64, false}),
            "layer: Gaudis do not compute in float64; use --precision bfloat16 or float32.");
  EXPECT_EQ(gaudi2.refusal(ops::Map{ops::MapFunction::add, 0, 2, kBfloat16, false}),
            "layer: the number of elements is 0, but must be at least 1.");
  EXPECT_EQ(
      gaudi2.refusal(ops::Reduce{ops::ReduceFunction::sum, std::int64_t{1} << 40, 1 << 20, true, kBfloat16}),
      "layer: the number of elements is 1.15e+18, but must be at most 2.81e+14.");
  EXPECT_EQ(gaudi2.refusal(ops::HostCopy{true, base::Bytes(8), true}),
            "layer: gaudi2 has no streaming memory besides its HBM; leave optimizer state and activations "
            "on the "
            "device.");
}

/// 64 TPCs take 64 float32 in an instruction and 4 cycles for the first result. Gaudi3 lowers its one clock
/// from 1.6 to 1.19 GHz while products run; Gaudi2 keeps its own.
TEST(GaudiKernels, TpcsShareTheClockThatTheCardLowers) {
  const ops::Map add{ops::MapFunction::add, std::int64_t{64} * 64 * 1000, 2, graph::ElementType::float32,
                     false};
  const double gaudi3 = testing::CardLowering("gaudi3").lower(add).arithmetic;
  EXPECT_NEAR(gaudi3, (1000 + 4) / 1.19e9, 1e-12);
  gaudi::Card gaudi2 = testing::cardOf("gaudi2");
  EXPECT_EQ(gaudi2.tpcSustainedHz, gaudi2.tpcHz);
}

}  // namespace
}  // namespace pipescope::devices
