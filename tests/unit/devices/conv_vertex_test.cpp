// One vertex on every tile of a Bow, float16 [N,16]x[16,16], against measurements of the tessellate-ipu
// notebooks.
#include "engine/devices/ipu/products/conv_vertices.h"

#include <algorithm>

#include "engine/devices/ipu/products/plan_cost.h"
#include "ipu_fixtures.h"

namespace pipescope::devices::ipu {
namespace {

ConvShape rowsBy16(std::int64_t rows) {
  ConvShape shape;
  shape.matmul = true;
  shape.half = shape.halfPartials = true;
  shape.inputChannels = shape.outputChannels = 16;
  shape.dimCount = 1;
  shape.dims[0].input = shape.dims[0].output = rows;
  return shape;
}

struct Measured {
  std::int64_t rows;
  double teraflops, cycles;

  friend void PrintTo(const Measured& one, std::ostream* out) { *out << one.rows << " rows"; }
};

class OneVertex : public ::testing::TestWithParam<Measured> {};

TEST_P(OneVertex, TakesTheCyclesMeasured) {
  const Chip bow = testing::chipOf("bow");
  const ConvVertex vertex{ConvVertex::Method::amp, 1, 16, 16, 16, 1};
  const auto [rows, teraflops, measured] = GetParam();
  ConvTile tile;
  tile.output[0] = rows;
  const ConvShape shape = rowsBy16(rows);
  ASSERT_TRUE(usesOneByOne(shape, vertex, tile));
  // The measured cycles of a tile include the launch (45), but not the sync.
  const auto cycles = static_cast<double>(convVertexCycles(bow, shape, vertex, tile) + 45);
  RecordProperty("cycles", static_cast<int>(cycles));
  // The error may be 15 % if the launch weighs, and 5 % otherwise.
  EXPECT_NEAR(cycles, measured, measured * (rows < 256 ? 0.15 : 0.05));
  const double flops = 2.0 * 16 * 16 * static_cast<double>(rows) * static_cast<double>(bow.tiles) *
                       static_cast<double>(bow.clockHz) / cycles;
  EXPECT_NEAR(flops / 1e12, teraflops, teraflops * (rows < 256 ? 0.15 : 0.05));
}

INSTANTIATE_TEST_SUITE_P(Bow, OneVertex,
                         ::testing::Values(Measured{16, 55.5, 402}, Measured{64, 152.8, 584},
                                           Measured{128, 211.1, 845}, Measured{256, 264.0, 1352},
                                           Measured{512, 299.8, 2381}, Measured{1024, 322.7, 4424}));

TEST(ConvVertex, FormulaByHand) {
  // 1024 rows: 171 for the busiest worker. 6 × (37 − 7 + 4 × 168) = 4,212 inside; 64 cycles to load 16 × 16
  // weights of 2 bytes, 8 bytes at a time; 50 + 6 × 7 + 13 + 11 + 18 + 7 + 64 + 4,212 around it.
  ConvTile tile;
  tile.output[0] = 1024;
  Chip bow = testing::chipOf("bow");
  const ConvVertex vertex{ConvVertex::Method::amp, 1, 16, 16, 16, 1};
  EXPECT_EQ(convVertexCycles(bow, rowsBy16(1024), vertex, tile), 4417);
  // Loads of 16 bytes take half of the 64 cycles.
  bow.weightLoadBytes = 16;
  EXPECT_EQ(convVertexCycles(bow, rowsBy16(1024), vertex, tile), 4385);
}

/// Sixteen channels fill a unit once, so a float16 result needs no float32 sums (PopLibs,
/// ConvVertexType.cpp).
TEST(ConvVertex, FewChannelsMakeFloat16ResultsAtOnce) {
  const auto vertices = [](std::int64_t channels, std::int64_t kernel) {
    ConvShape shape = rowsBy16(64);
    shape.halfPartials = false;
    shape.inputChannels = channels;
    shape.dims[0].kernel = kernel;
    std::vector<std::int64_t> groups;
    for (const ConvVertex& vertex : convVertices(testing::chipOf("mk2"), shape)) {
      if (!vertex.halfResult) continue;
      const ConvForm form = makeForm(shape, false, {}, vertex, 1);
      EXPECT_TRUE(form.shape.halfPartials);
      EXPECT_EQ(form.shape.inputChannels, 16);
      groups.push_back(vertex.inGroup);
    }
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
  };
  EXPECT_EQ(vertices(16, 1), (std::vector<std::int64_t>{4, 8, 16}));
  EXPECT_EQ(vertices(12, 1), (std::vector<std::int64_t>{8, 16}));
  EXPECT_EQ(vertices(5, 1), (std::vector<std::int64_t>{16}));
  EXPECT_TRUE(vertices(17, 1).empty());
  EXPECT_TRUE(vertices(16, 3).empty());
}

/// A chip with twice as many units loses none of the vertices whose channels fill a unit.
TEST(ConvVertex, MoreUnitsOfferMoreVertices) {
  const Chip mk2 = testing::chipOf("mk2");
  Chip doubled = mk2;
  doubled.ampHalf *= 2;
  const std::vector<ConvVertex> more = convVertices(doubled, rowsBy16(64));
  for (const ConvVertex& vertex : convVertices(mk2, rowsBy16(64))) {
    if (vertex.method != ConvVertex::Method::amp || vertex.inGroup != 16) continue;
    EXPECT_TRUE(std::ranges::any_of(more,
                                    [&](const ConvVertex& other) {
                                      return other.convUnits == vertex.convUnits &&
                                             other.inGroup == vertex.inGroup &&
                                             other.outGroup == vertex.outGroup;
                                    }))
        << vertex.convUnits << ' ' << vertex.inGroup << ' ' << vertex.outGroup;
  }
}

TEST(ConvVertex, VerticalMacByHand) {
  ConvShape shape;
  shape.half = true;
  shape.groups = 4;
  shape.dimCount = 2;
  shape.dims[0] = {3, 3, 1};
  shape.dims[1] = {8, 3, 6};
  ConvTile tile;
  tile.output = {1, 6, 1};
  tile.kernel = {3, 3, 1};
  // Each worker has one of six positions. A row of three taps takes 7 + 5 + 3 + 2 × 2 = 19 cycles, three rows
  // and the start 19 + 57, all workers 456, and the supervisor 24 more. 24 float32 sums are set to zero in
  // 4 + 12 cycles and added up in 9 + 19. The supervisor takes 32 for the groups and 76 once.
  EXPECT_EQ(
      convVertexCycles(testing::chipOf("mk2"), shape, {ConvVertex::Method::verticalMac, 4, 1, 1, 0, 1}, tile),
      76 + 16 + 32 + 28 + 24 + 456);
}

TEST(ConvVertex, NeverAbovePeak) {
  for (const char* name : {"mk1", "mk2"}) {
    const Chip chip = testing::chipOf(name);
    for (const bool half : {false, true}) {
      for (const bool halfPartials : {false, half}) {
        ConvShape shape = rowsBy16(1 << 20);
        shape.half = half;
        shape.halfPartials = halfPartials;
        shape.inputChannels = shape.outputChannels = 64;
        const double peak = static_cast<double>(!half          ? chip.ampFloat
                                                : halfPartials ? chip.ampHalf
                                                               : chip.ampHalfFloat);
        for (const ConvVertex& vertex : convVertices(chip, shape)) {
          ConvTile tile;
          tile.output[0] = 1 << 20;
          tile.inGroups = 64 / vertex.inGroup;
          tile.outGroups = 64 / vertex.outGroup;
          const auto cycles = static_cast<double>(convVertexCycles(chip, shape, vertex, tile));
          const double work = 64.0 * 64 * (1 << 20);
          EXPECT_LE(work / cycles, peak) << name << ' ' << vertexName(shape, vertex, true);
          EXPECT_GE(cycles, work / static_cast<double>(peakMultiplyAdds(chip, shape, vertex)));
        }
      }
    }
  }
}

TEST(ConvVertex, OffersWhatTheTypeAllows) {
  const Chip mk2 = testing::chipOf("mk2");
  const auto has = [&](const ConvShape& shape, ConvVertex::Method method) {
    for (const ConvVertex& vertex : convVertices(mk2, shape)) {
      if (vertex.method == method) return true;
    }
    return false;
  };
  ConvShape depthwise;
  depthwise.half = true;
  depthwise.groups = 32;
  depthwise.dimCount = 2;
  depthwise.dims[0] = depthwise.dims[1] = {16, 3, 14, 1, 1, 1, 0};
  EXPECT_TRUE(has(depthwise, ConvVertex::Method::slic));
  depthwise.half = false;
  EXPECT_FALSE(has(depthwise, ConvVertex::Method::slic));
  EXPECT_TRUE(has(depthwise, ConvVertex::Method::horizontalMac));
  EXPECT_FALSE(has(depthwise, ConvVertex::Method::outerProduct));
  ConvShape outer = rowsBy16(100);
  outer.inputChannels = 1;
  EXPECT_TRUE(has(outer, ConvVertex::Method::outerProduct));
}

}  // namespace
}  // namespace pipescope::devices::ipu
