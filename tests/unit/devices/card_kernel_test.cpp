// Bytes and names of a card's kernels for single pieces of work, by hand.
#include <gtest/gtest.h>

#include "engine/devices/card/card.h"
#include "engine/devices/card/kernel.h"
#include "engine/devices/core/device_files.h"

namespace pipescope::devices {
namespace {

using graph::ElementType;

hbm_card::EngineKernel cardKernel(const ops::WorkItem& item) {
  static const card::Card card = card::readCard(DeviceFiles({}).chip("h100").value()).value();
  EXPECT_EQ(card.cacheLine, 128);
  const card::Network network;
  return card::lowerWork(item, {.card = card, .network = network, .mesh = {}, .what = "layer"}).value();
}

TEST(CardKernel, APoolReadsItsWindowsFromTheCache) {
  ops::Pool pool;
  pool.batch = 2;
  pool.channels = 3;
  pool.field = {8, 8};
  pool.output = {4, 4};
  pool.kernel = {3, 3};
  pool.type = ElementType::float16;
  // 96 results read 9 values each; 384 of these come from memory.
  EXPECT_EQ(cardKernel(pool).onChipBytes, (96 * 9 - 384) * 2);
  EXPECT_EQ(cardKernel(pool).name, "Pool");
  pool.kernel = {1, 1};
  EXPECT_EQ(cardKernel(pool).onChipBytes, 0) << "each value is read at most once";
  const double forward = cardKernel(pool).arithmetic;
  pool.backward = true;
  EXPECT_EQ(cardKernel(pool).name, "PoolGradient");
  EXPECT_DOUBLE_EQ(cardKernel(pool).arithmetic, 2 * forward);
}

TEST(CardKernel, RowsAreReadInWholeLines) {
  ops::Gather gather;
  gather.rows = 10;
  gather.rowElements = 33;
  gather.tableRows = 1000;
  gather.type = ElementType::float32;
  EXPECT_EQ(cardKernel(gather).wastedBytes, 10 * (256 - 132));
  EXPECT_EQ(cardKernel(gather).tableBytes, 132'000);
  EXPECT_EQ(cardKernel(gather).pickedBytes, 1320);
  gather.rowElements = 32;
  EXPECT_EQ(cardKernel(gather).wastedBytes, 0);
  ops::Scatter scatter;
  scatter.rows = 10;
  scatter.rowElements = 33;
  scatter.type = ElementType::float32;
  scatter.accumulate = true;
  EXPECT_EQ(cardKernel(scatter).wastedBytes, 2 * 10 * (256 - 132));
  EXPECT_EQ(cardKernel(scatter).againBytes, 1320);
  const double adding = cardKernel(scatter).arithmetic;
  scatter.accumulate = false;
  EXPECT_EQ(cardKernel(scatter).againBytes, 0);
  EXPECT_DOUBLE_EQ(2 * cardKernel(scatter).arithmetic, adding);
}

TEST(CardKernel, RunsOfALineAreCopiedAndShorterOnesTurned) {
  ops::Rearrange move{.elements = 1000, .runElements = 32, .type = ElementType::float32};
  EXPECT_EQ(cardKernel(move).name, "Copy");
  EXPECT_TRUE(cardKernel(move).elementwise);
  move.runElements = 31;
  EXPECT_EQ(cardKernel(move).name, "Transpose");
  EXPECT_FALSE(cardKernel(move).elementwise);
  move.runElements = 5000;
  move.elements = 31;
  EXPECT_EQ(cardKernel(move).name, "Transpose") << "a run is no longer than the tensor";
}

TEST(CardKernel, ASortPassesOverItsRowsInLevels) {
  const ops::Sort rows{.rows = 7, .rowElements = 16, .type = ElementType::float32};
  const ops::Sort longer{.rows = 7, .rowElements = 17, .type = ElementType::float32};
  EXPECT_EQ(cardKernel(rows).workspace, 2 * 7 * 16 * 4);
  // A network of 4 levels has 10 steps, one of 5 levels has 15.
  EXPECT_NEAR(cardKernel(longer).arithmetic / cardKernel(rows).arithmetic, 15.0 / 10 * 17 / 16, 1e-9);
}

TEST(CardKernel, AReductionOfLongRowsIsABarrier) {
  ops::Reduce reduce;
  reduce.outputs = 4;
  reduce.type = ElementType::float32;
  reduce.depth = 16'384;  // 64 KB
  EXPECT_FALSE(cardKernel(reduce).barrier);
  reduce.depth = 16'385;
  EXPECT_TRUE(cardKernel(reduce).barrier);
  reduce.depth = 10;
  reduce.contiguous = false;
  EXPECT_TRUE(cardKernel(reduce).barrier);
}

TEST(CardKernel, ProductsAreNamedByTheirShape) {
  ops::Contraction product;
  product.field = product.output = {4};
  product.kernel = {1};
  product.type = ElementType::bfloat16;
  EXPECT_EQ(cardKernel(product).name, "Gemm");
  product.groups = 2;
  EXPECT_EQ(cardKernel(product).name, "BatchGemm");
  product.field = product.output = {4, 4};
  product.kernel = {1, 1};
  EXPECT_EQ(cardKernel(product).name, "Convolve");
}

}  // namespace
}  // namespace pipescope::devices
