// Tests the tables that list changed parts. The expected sums are those of the parts themselves.
#include "profiler/sections/diff/diff_section.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profiler/record/memory_profile.h"
#include "profiler/sections/diff/diff_parts.h"

namespace pipescope::sections {
namespace {

/// One large part, and many small ones that all change in the same direction.
analysis::Diff manySmallChanges(std::size_t small) {
  analysis::Diff diff;
  diff.memory.push_back({"IPU0", "variable", 0, 1000, 1100});
  for (std::size_t i = 0; i < small; ++i)
    diff.memory.push_back({"IPU0", "category" + std::to_string(i), 0, 100, 110});
  return diff;
}

std::int64_t deltaAt(const SectionTable& table, std::size_t row) {
  return std::get<std::int64_t>(table.rows[row].back());
}

TEST(DiffTables, TheRestIsNeverTheLargestRow) {
  for (const std::size_t small : {3U, 8U, 30U, 100U}) {
    const SectionTable table = diffMemoryTable(manySmallChanges(small), 5);
    std::int64_t sum = 0, largest = 0;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      sum += deltaAt(table, r);
      largest = std::max(largest, std::abs(deltaAt(table, r)));
    }
    EXPECT_EQ(sum, 100 + 10 * static_cast<std::int64_t>(small)) << "the table still adds up";
    EXPECT_EQ(largest, 100) << small;
    const bool rest = std::get<std::string>(table.rows.back()[1]).starts_with("the rest");
    EXPECT_EQ(rest, small > 4) << small;
    if (small == 30) {
      EXPECT_EQ(table.rows.size(), 1U + 20 + 1) << "ten of the thirty are the rest: 100 in all";
    }
  }
}

TEST(DiffTables, ChangesOfBothSignsMayCancelInTheRest) {
  analysis::Diff diff = manySmallChanges(0);
  for (int i = 0; i < 40; ++i) diff.memory.push_back({"IPU0", "x", 0, 50, i % 2 == 0 ? 80 : 20});
  const SectionTable table = diffMemoryTable(diff, 5);
  EXPECT_EQ(table.rows.size(), 6U) << "the rest adds up to little";
  EXPECT_EQ(std::get<std::string>(table.rows.back()[1]), "the rest (36)");
  EXPECT_EQ(diffMemoryTable(diff, 0).rows.size(), 41U) << "0: all rows";
}

TEST(DiffSection, OfProfilesInWhichNothingRanHasNoFigures) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  recorder.add(model::Executable());
  ASSERT_TRUE(recorder.commit().ok());
  const auto catalog = *analysis::loadCatalog(profile);
  const Context context{profile, *catalog, model::ExecutableId(0)};
  for (const bool all : {true, false}) {
    const auto section = diffSection(context, context, {}, {20, all});
    ASSERT_TRUE(section.ok()) << section.error().message;
    for (const SectionTable& table : section->tables) {
      if (table.key != "step") continue;
      for (const auto& row : table.rows) EXPECT_EQ(row[2], Cell()) << std::get<std::string>(row[1]);
    }
  }
}

}  // namespace
}  // namespace pipescope::sections
