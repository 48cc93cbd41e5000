// Uses of names in a random trace, against a plain loop over all placements and steps.
#include "profiler/analysis/timeline/name_uses.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_fixture.h"

namespace pipescope::analysis {
namespace {

/// The uses of one path.
NameUse plainUse(const testing::TraceFixture& fixture, std::int64_t program) {
  NameUse use;
  for (const model::Placement& placement : fixture.rows.of<model::Placement>()) {
    for (const model::Step& step : fixture.rows.of<model::Step>()) {
      if (step.segment != placement.segment || step.program.value != program) continue;
      const Ticks start = placement.start + step.offset;
      use.first = use.count == 0 ? start : std::min(use.first, start);
      use.min = use.count == 0 ? step.ticks : std::min(use.min, step.ticks);
      use.max = std::max(use.max, step.ticks);
      use.sum += step.ticks;
      ++use.count;
    }
  }
  return use;
}

TEST(NameUses, EqualAPlainLoop) {
  const testing::TraceFixture fixture(7);
  const auto catalog = loadCatalog(*fixture.profile).value();
  base::SilentProgress progress;
  const auto usesOf = [&](const NameQuery& query) {
    return nameUses(*fixture.profile, *catalog, model::ExecutableId(0), query, progress).value();
  };
  const std::vector<std::string> paths = {"layer", "layer/MatMul", "layer/Relu, \"quick\""};
  const NameUses all = usesOf({"LAYER", false});
  ASSERT_EQ(all.names.size(), 3U);
  std::int64_t steps = 0;
  for (const NameUse& use : all.names) {
    const auto program = std::find(paths.begin(), paths.end(), use.path) - paths.begin();
    ASSERT_LT(program, 3) << use.path;
    const NameUse plain = plainUse(fixture, program);
    EXPECT_EQ(use.count, plain.count) << use.path;
    EXPECT_EQ(use.sum, plain.sum) << use.path;
    EXPECT_EQ(use.min, plain.min) << use.path;
    EXPECT_EQ(use.max, plain.max) << use.path;
    EXPECT_EQ(use.first, plain.first) << use.path;
    EXPECT_DOUBLE_EQ(use.mean(), static_cast<double>(plain.sum.count) / static_cast<double>(plain.count));
    steps += plain.count;
  }
  EXPECT_EQ(all.count, steps);
  EXPECT_TRUE(std::is_sorted(all.names.begin(), all.names.end(),
                             [](const NameUse& a, const NameUse& b) { return a.first < b.first; }));
  EXPECT_EQ(usesOf({"layer", true}).names.size(), 1U) << "the whole path";
  EXPECT_EQ(usesOf({"matmul", false}).count, plainUse(fixture, 1).count);
  EXPECT_TRUE(usesOf({"nothing", false}).names.empty());
}

}  // namespace
}  // namespace pipescope::analysis
