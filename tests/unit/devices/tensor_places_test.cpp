// The tiles on which the tensors of a stage lie: weights, results of products, and what follows them.
#include <gmock/gmock.h>

#include <array>
#include <numeric>

#include "engine/devices/ipu/memory/tile_memory.h"
#include "engine/devices/ipu/products/operand_shares.h"
#include "lowered_device.h"

namespace pipescope::devices {
namespace {

using compile::TensorUse;
using model::Pass;
using testing::find;
using testing::lowerStages;
using testing::StageMaker;
using testing::systemOf;

std::vector<std::int64_t> bytesOnTiles(const LoweredVariable& variable) {
  std::vector<std::int64_t> tiles(1472);
  for (const UnitBytes& run : variable.units) {
    for (std::int64_t i = 0; i < run.count; ++i)
      tiles.at(static_cast<std::size_t>(run.first + i)) += run.bytes.count;
  }
  return tiles;
}

std::vector<std::int64_t> bytesOnTiles(const LoweredMemory& memory, const std::string& name) {
  const LoweredVariable* variable = find(memory, name);
  EXPECT_NE(variable, nullptr) << name;
  return variable ? bytesOnTiles(*variable) : std::vector<std::int64_t>(1472);
}

std::int64_t sumOf(const std::vector<std::int64_t>& tiles) {
  return std::accumulate(tiles.begin(), tiles.end(), std::int64_t{0});
}

/// x·w → relu → twice, with a tensor before that moves the start of evenly spread tensors away from tile 0.
LoweredDevice chainOfFunctions(const System& system) {
  StageMaker make(0, 0);
  make.tensor("before", {1000}, TensorUse::constant);
  const auto x = make.tensor("x", {96, 512}, TensorUse::input);
  const auto w = make.tensor("w", {512, 384}, TensorUse::weight);
  const auto y = make.tensor("y", {96, 384}, TensorUse::activation);
  const auto z = make.tensor("z", {96, 384}, TensorUse::activation);
  const auto sum = make.tensor("sum", {96, 384}, TensorUse::activation);
  make.add(Pass::forward, "product", "MatMul",
           {{testing::product(96, 512, 384, graph::ElementType::float32), 1, ""}}, {x, w}, {y});
  make.add(Pass::forward, "relu", "Relu", {testing::map(ops::MapFunction::relu, 96 * 384)}, {y}, {z});
  make.add(Pass::forward, "add", "Add", {testing::map(ops::MapFunction::add, 96 * 384)}, {x, z}, {sum});
  return lowerStages(system, {make.stage()});
}

TEST(TensorPlaces, WeightsLieOnTheTilesOfTheirProduct) {
  const auto system = systemOf("mk2");
  const LoweredDevice device = chainOfFunctions(*system);
  std::int64_t tiles = 0;
  for (const LoweredStep& step : device.passes.at(0).segments.at(0).steps) {
    if (step.name == "product/Convolve") tiles = step.activeUnits;
  }
  ASSERT_GT(tiles, 0);
  const std::vector<std::int64_t> weights = bytesOnTiles(device.memory.at(0), "w");
  EXPECT_EQ(sumOf(weights), 4 * 512 * 384);
  EXPECT_GT(weights.front(), 0) << "products begin on tile 0";
  for (std::size_t tile = static_cast<std::size_t>(tiles); tile < weights.size(); ++tile)
    EXPECT_EQ(weights[tile], 0) << tile;
}

TEST(TensorPlaces, ResultsOfFunctionsLieWhereTheirOperandDoes) {
  const auto system = systemOf("mk2");
  const LoweredMemory memory = chainOfFunctions(*system).memory.at(0);
  const std::vector<std::int64_t> product = bytesOnTiles(memory, "y");
  EXPECT_GT(product.front(), 0) << "results of products begin on tile 0";
  EXPECT_EQ(bytesOnTiles(memory, "before").front(), 128);
  // The operand x of the sum has another number of elements, so the sum lies where z does.
  for (const char* name : {"z", "sum"}) {
    const std::vector<std::int64_t> tiles = bytesOnTiles(memory, name);
    EXPECT_EQ(sumOf(tiles), 4 * 96 * 384) << name;
    for (std::size_t tile = 0; tile < tiles.size(); ++tile)
      EXPECT_EQ(tiles[tile] > 0, product[tile] > 0) << name << tile;
  }
}

TEST(TensorPlaces, PiecesAreDividedAmongTheTilesThatUseThem) {
  const auto divided = [](std::int64_t grains, std::int64_t users, std::int64_t grainBytes,
                          std::int64_t leastBytes) {
    const ipu::DividedPiece piece = ipu::dividePiece(grains, users, grainBytes, leastBytes);
    return std::array<std::int64_t, 3>{piece.holders, piece.least, piece.larger};
  };
  using Piece = std::array<std::int64_t, 3>;
  // 10 grains for 3 tiles: 4, 3, 3. For 6 tiles, no part has more than 2, which five tiles can hold.
  EXPECT_EQ(divided(10, 3, 512, 256), (Piece{3, 3, 1}));
  EXPECT_EQ(divided(10, 6, 512, 256), (Piece{5, 2, 0}));
  // At least 256 bytes are 4 grains of 64 bytes: two tiles with 5.
  EXPECT_EQ(divided(10, 6, 64, 256), (Piece{2, 5, 0}));
  EXPECT_EQ(divided(1, 8, 16, 128), (Piece{1, 1, 0}));
}

TEST(TensorPlaces, OperandsAreDividedByTheirPlan) {
  // 12 positions in 4 parts and 6 groups of 16 output channels in 2 parts: 8 tiles. Each has 3 · 2 grains of
  // weights in common with three others, and 3 positions of 2 input groups in common with another one.
  ipu::ContractionPlan plan;
  plan.form.shape.dimCount = 1;
  plan.form.shape.half = true;
  plan.form.shape.dims[0].input = plan.form.shape.dims[0].output = 12;
  plan.form.vertex.inGroup = plan.form.vertex.outGroup = 16;
  plan.form.inGrains = 2;
  plan.form.outGrains = 6;
  plan.split.output[0] = 4;
  plan.split.outChannels = 2;
  // 3 · 2 grains of 512 bytes for four tiles: three of them take 2.
  const ipu::TileRuns weights = ipu::weightShares(plan);
  ASSERT_EQ(weights.size(), 1u);
  EXPECT_EQ(weights[0].first, 2);
  EXPECT_EQ(weights[0].count, 6);
  EXPECT_EQ(weights[0].value, 1024);
  // 3 · 2 grains of 32 bytes for two tiles, but at least 128 bytes together: one tile takes all 6.
  const ipu::TileRuns inputs = ipu::inputShares(plan);
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].first, 0);
  EXPECT_EQ(inputs[0].count, 4);
  EXPECT_EQ(inputs[0].value, 192);
}

TEST(TensorPlaces, SharesAreWholeElementsThatAddUp) {
  const ipu::Chip mk2 = testing::chipOf("mk2");
  ipu::TileMemory memory(mk2);
  // 1,003 elements of 4 bytes in shares of 3 : 3 : 1. 1,003 · 3/7 = 429.9 and 1,003/7 = 143.3, so two
  // elements remain. The first tiles take them.
  const std::size_t variable = memory.addTensor("t", "weight", "[1003]", 1003, 4, true, false, 0);
  memory.layOut(variable, {{5, 2, 3}, {9, 1, 1}}, 5);
  const ipu::TileRuns runs = memory.runsOf(variable);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].first, 5);
  EXPECT_EQ(runs[0].count, 2);
  EXPECT_EQ(runs[0].value, 4 * 430);
  EXPECT_EQ(runs[1].first, 9);
  EXPECT_EQ(runs[1].value, 4 * 143);
  EXPECT_EQ(memory.startOf(variable), 5);
  EXPECT_EQ(memory.mostElements(variable), 430);
  // Shares of nothing leave the tensor where it is.
  memory.layOut(variable, {}, 0);
  EXPECT_EQ(memory.startOf(variable), 5);
}

}  // namespace
}  // namespace pipescope::devices
