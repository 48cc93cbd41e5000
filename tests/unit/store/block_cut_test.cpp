// Tests where blocks of steps end.
#include "profiler/store/format.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

/// Numbers of rows of the blocks that segments with these lengths make.
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
  constexpr int kMost = static_cast<int>(kShortBlock);
  EXPECT_EQ(blocksOf({5000, 9000}), (Counts{kMost, 5000 - kMost, kMost, kMost, 9000 - 2 * kMost}));
  EXPECT_EQ(blocksOf({100, kMost}), (Counts{100, kMost})) << "the second is long";
  EXPECT_EQ(blocksOf({kMost, 100}), (Counts{kMost, 100})) << "the first is";
  EXPECT_EQ(blocksOf({kMost - 200, 100, 50}), (Counts{kMost - 200 + 100 + 50})) << "short ones share a block";
  EXPECT_EQ(blocksOf(std::vector<int>(20, 480)), (Counts{kMost, kMost, 9600 - 2 * kMost}));
}

/// Numbers of blocks in the payloads of a table, in the order of writing.
template <class Row>
std::vector<std::int64_t> blocksOfPayloads(const fs::path& path) {
  return selectNumbers(path, "SELECT COUNT(*) FROM store_block WHERE table_number = " +
                                 std::to_string(model::tableIndexOf<Row>()) + " GROUP BY payload");
}

TEST(BlockCut, BlocksOfACommitShareAPayload) {
  const Folder folder;
  model::RowSet rows;
  rows.of<model::Step>().resize(40 * kShortBlock);
  rows.of<model::Wait>().resize(5 * kMostRowsPerBlock);
  writeProfile(folder / "p.pop", {rows, rows});
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(blocksOfPayloads<model::Step>(folder / "p.pop"), (Counts{16, 16, 8, 16, 16, 8}));
  EXPECT_EQ(blocksOfPayloads<model::Wait>(folder / "p.pop"), (Counts{4, 1, 4, 1})) << "65,536 rows";
  EXPECT_EQ(selectNumbers(folder / "p.pop", "PRAGMA auto_vacuum"), Counts{2})
      << "without the map, readers pass over what lies before";
}

TEST(BlockCut, RowsWithLongTextsDoNotShare) {
  const Folder folder;
  model::RowSet rows;
  for (int i = 0; i < 5; ++i)
    rows.of<model::DebugContext>().emplace_back().name.assign(std::size_t{3} << 20,
                                                              static_cast<char>('a' + i));
  writeProfile(folder / "p.pop", {rows});
  EXPECT_EQ(blocksOfPayloads<model::DebugContext>(folder / "p.pop"), (std::vector<std::int64_t>{1, 1, 1}))
      << "8 MiB of texts at most";
  EXPECT_EQ(readProfile(folder / "p.pop"), render(rows));
}

}  // namespace
}  // namespace pipescope::store::testing
