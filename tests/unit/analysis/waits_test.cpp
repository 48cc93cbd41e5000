#include "profiler/analysis/pipeline/waits.h"

#include <gtest/gtest.h>

#include <limits>

#include "profiler/base/wrapping.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

// static_assert also checks for undefined behaviour, because compilers reject it in constant expressions.
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max(),
                       kSmallest = std::numeric_limits<std::int64_t>::min();
static_assert(base::wrappedSum(kLargest, 1) == kSmallest);
static_assert(base::wrappedDifference(kSmallest, 1) == kLargest);
static_assert(base::wrappedProduct(kLargest, 2) == -2);

TEST(Waits, AreSummedByCauseAndImpossibleLengthsWrap) {
  record::MemoryProfile profile;
  model::RowSet rows;
  rows.of<model::Executable>().emplace_back().id = model::ExecutableId(0);
  model::Run run;
  run.id = model::RunId(0);
  run.executable = model::ExecutableId(0);
  run.end = Ticks(100);
  rows.of<model::Run>() = {run};
  const auto add = [&](model::WaitCause cause, std::int64_t start, std::int64_t end) {
    model::Wait wait;
    wait.device = model::DeviceId(0);
    wait.start = Ticks(start), wait.end = Ticks(end);
    wait.cause = cause;
    wait.run = model::RunId(0);
    rows.of<model::Wait>().push_back(wait);
  };
  add(model::WaitCause::fill, 0, 10);
  add(model::WaitCause::slowerStage, 0, kLargest);
  add(model::WaitCause::fill, 20, 25);
  add(model::WaitCause::slowerStage, 0, kLargest);
  ASSERT_TRUE(profile.commit(rows).ok());
  const auto catalog = loadCatalog(profile);
  ASSERT_TRUE(catalog.ok());
  const auto groups = waitGroups(profile, **catalog, model::ExecutableId(0));
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ((*groups)[0].cause, model::WaitCause::fill);
  EXPECT_EQ((*groups)[0].ticksPerIteration, 15);
  EXPECT_EQ((*groups)[0].countPerIteration, 2);
  EXPECT_EQ((*groups)[0].share, 0.15);
  EXPECT_EQ((*groups)[1].ticksPerIteration, -2);
}

}  // namespace
}  // namespace pipescope::analysis
