// Where blocks of steps end.
#include "profiler/store/format.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

/// Rows of the blocks that segments of these lengths make.
std::vector<std::int64_t> blocksOf(const std::vector<int>& segments) {
  const Folder folder;
  model::RowSet rows;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (int i = 0; i < segments[s]; ++i) {
      model::Step step;
      step.segment = model::SegmentId(static_cast<std::int64_t>(s));
      step.offset = model::Ticks(i);
      rows.of<model::Step>().push_back(step);
    }
  }
  writeProfile(folder / "p.pop", {rows});
  const auto reader = ProfileReader::open(folder / "p.pop");
  EXPECT_TRUE(reader.ok());
  std::vector<std::int64_t> counts;
  const auto blocks = (*reader)->blocks<model::Step>();
  EXPECT_TRUE(blocks.ok());
  for (const model::BlockInfo& block : *blocks) counts.push_back(block.rows);
  return counts;
}

TEST(BlockCut, LongSegmentsHaveBlocksOfTheirOwn) {
  using Counts = std::vector<std::int64_t>;
  constexpr int kMost = static_cast<int>(kMostRowsPerBlock), kLong = kMost / 4;
  EXPECT_EQ(blocksOf({20'000, 30'000}), (Counts{kMost, 20'000 - kMost, kMost, 30'000 - kMost}));
  EXPECT_EQ(blocksOf({100, kLong}), (Counts{100, kLong})) << "the second is long";
  EXPECT_EQ(blocksOf({kLong, 100}), (Counts{kLong, 100})) << "the first is";
  EXPECT_EQ(blocksOf({kLong - 1, 100, 200}), (Counts{kLong - 1 + 100 + 200})) << "short ones share a block";
  EXPECT_EQ(blocksOf(std::vector<int>(100, 480)), (Counts{kMost, kMost, 48'000 - 2 * kMost}));
}

}  // namespace
}  // namespace pipescope::store::testing
