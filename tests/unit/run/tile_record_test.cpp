// Tests --record tiles: the records of single tiles must agree with the sums that the steps record.
#include <map>

#include "run_fixture.h"

namespace pipescope::app {
namespace {

using RunTest = RunFixture;

TEST_F(RunTest, TilesAreRecordedAndAgreeWithTheirSteps) {
  ASSERT_TRUE(
      run(sample("pipelined", {{"execution.record", "tiles"}, {"execution.numerics", "false"}})).ok());
  const Read profile = read();
  const auto steps = profile.source->rows<model::Step>().value();
  const auto units = profile.source->rows<model::StepUnits>().value();
  struct Sum {
    std::int64_t active = 0, least = 0, most = 0, next = 0;
    double total = 0;
  };
  std::map<std::int64_t, Sum> sums;
  for (const model::StepUnits& row : *units) {
    Sum& sum = sums[row.step];
    EXPECT_GE(row.firstUnit, sum.next) << "ascending, not overlapping";
    sum.next = row.firstUnit + row.unitCount;
    sum.least = sum.active == 0 ? row.ticks.count : std::min(sum.least, row.ticks.count);
    sum.most = std::max(sum.most, row.ticks.count);
    sum.active += row.unitCount;
    sum.total += static_cast<double>(row.ticks.count * row.unitCount);
    ASSERT_LT(static_cast<std::size_t>(row.step), steps->size());
    EXPECT_EQ((*steps)[static_cast<std::size_t>(row.step)].segment, row.segment);
  }
  const double tiles = static_cast<double>(profile.catalog->devices.front().units);
  std::size_t compute = 0;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const model::Step& step = (*steps)[i];
    if (step.kind == model::StepKind::compute) ++compute;
    const auto found = sums.find(static_cast<std::int64_t>(i));
    if (found == sums.end()) {
      EXPECT_NE(step.kind, model::StepKind::compute) << i;
      continue;
    }
    EXPECT_EQ(found->second.active, step.activeUnits) << i;
    EXPECT_EQ(found->second.most, step.maxTicks.count) << i;
    EXPECT_EQ(found->second.least, step.minTicks.count) << i;
    EXPECT_NEAR(found->second.total / tiles, step.meanTicks, 1e-6 * (1 + step.meanTicks)) << i;
    EXPECT_LE(found->second.next, static_cast<std::int64_t>(tiles));
  }
  EXPECT_GT(compute, 0U);
}

TEST_F(RunTest, WithoutTilesNothingElseChanges) {
  const auto stepsWith = [](const char* level) {
    EXPECT_TRUE(
        run(sample("pipelined", {{"execution.record", level}, {"execution.numerics", "false"}})).ok());
    const Read profile = read();
    EXPECT_EQ(profile.source->rows<model::StepUnits>().value()->empty(), std::string(level) != "tiles");
    return profile.source->rows<model::Step>().value()->size();
  };
  EXPECT_EQ(stepsWith("steps"), stepsWith("tiles"));
  EXPECT_EQ(stepsWith("stages"), 0U);
}

}  // namespace
}  // namespace pipescope::app
