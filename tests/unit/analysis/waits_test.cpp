#include "profiler/analysis/pipeline/waits.h"

#include <gtest/gtest.h>

#include <limits>

#include "profiler/analysis/find_names.h"
#include "profiler/analysis/timeline/idle_stretches.h"
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

using model::WaitCause;

/// A call of 1,000 ticks with these waits of two devices.
class IdleStretchesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rows.of<model::Executable>().emplace_back().id = model::ExecutableId(0);
    model::Run run;
    run.id = model::RunId(0);
    run.executable = model::ExecutableId(0);
    run.end = Ticks(1000);
    rows.of<model::Run>() = {run};
    for (const int id : {0, 1}) {
      model::Device device;
      device.id = model::DeviceId(id);
      device.ticksPerSecond = 1000;
      rows.of<model::Device>().push_back(device);
    }
  }
  void wait(int device, WaitCause cause, std::int64_t start, std::int64_t end, int waitedFor = 0) {
    model::Wait made;
    made.device = model::DeviceId(device);
    made.waitedForDevice = model::DeviceId(waitedFor);
    made.start = Ticks(start), made.end = Ticks(end);
    made.cause = cause;
    made.run = model::RunId(0);
    rows.of<model::Wait>().push_back(made);
  }
  IdleStretches found(std::size_t most = 10) {
    EXPECT_TRUE(profile.commit(rows).ok());
    const auto catalog = loadCatalog(profile);
    EXPECT_TRUE(catalog.ok());
    const auto made = idleStretches(profile, **catalog, model::ExecutableId(0), most);
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : IdleStretches();
  }
  record::MemoryProfile profile;
  model::RowSet rows;
};

TEST_F(IdleStretchesTest, WaitsThatTouchAreOneStretch) {
  wait(1, WaitCause::exchange, 100, 130, 1);
  wait(0, WaitCause::drain, 500, 600);
  wait(1, WaitCause::fill, 0, 100);
  wait(1, WaitCause::fill, 200, 250);
  const IdleStretches made = found();
  EXPECT_EQ(made.count, 3);
  ASSERT_EQ(made.longest.size(), 3U);
  const IdleStretch& first = made.longest[0];
  EXPECT_EQ(first.device, model::DeviceId(1));
  EXPECT_EQ(first.start, Ticks(0));
  EXPECT_EQ(first.end, Ticks(130));
  EXPECT_EQ(first.cause, WaitCause::fill);
  EXPECT_EQ(first.waitedForDevice, model::DeviceId(0)) << "of the longest wait";
  EXPECT_EQ(first.parts.at(WaitCause::fill), Ticks(100));
  EXPECT_EQ(first.parts.at(WaitCause::exchange), Ticks(30));
  EXPECT_EQ(made.longest[1].length(), Ticks(100));
  EXPECT_EQ(made.longest[1].device, model::DeviceId(0));
  EXPECT_EQ(made.longest[2].length(), Ticks(50));
}

TEST_F(IdleStretchesTest, AStretchBelongsToTheFirstIterationThatItReaches) {
  wait(0, WaitCause::host, 0, 10);  // of the call, before its first iteration
  wait(0, WaitCause::fill, 10, 100);
  rows.of<model::Wait>().back().iteration = 0;
  wait(0, WaitCause::fill, 100, 110);
  rows.of<model::Wait>().back().iteration = 1;
  wait(0, WaitCause::host, 500, 510);
  const IdleStretches made = found();
  ASSERT_EQ(made.longest.size(), 2U);
  EXPECT_EQ(made.longest[0].iteration, 0);
  EXPECT_EQ(made.longest[1].iteration, -1);
}

TEST_F(IdleStretchesTest, TheWaitWithWhichACallBeginsBelongsToItsFirstIteration) {
  wait(0, WaitCause::host, 0, 40);
  wait(0, WaitCause::host, 500, 530);  // between iterations: the rows do not say of which
  const IdleStretches made = found();
  ASSERT_EQ(made.longest.size(), 2U);
  EXPECT_EQ(made.longest[0].start, Ticks(0));
  EXPECT_EQ(made.longest[0].iteration, 0);
  EXPECT_EQ(made.longest[1].iteration, -1);
}

TEST_F(IdleStretchesTest, AStretchNamesTheCauseOfItsLongestWait) {
  wait(0, WaitCause::fill, 0, 60, 1);
  wait(0, WaitCause::collective, 60, 150, 0);
  wait(0, WaitCause::fill, 150, 200, 1);
  const IdleStretches made = found();
  ASSERT_EQ(made.longest.size(), 1U);
  EXPECT_EQ(made.longest[0].cause, WaitCause::fill) << "60 + 50 ticks in two waits";
  EXPECT_EQ(made.longest[0].waitCause, WaitCause::collective) << "90 ticks in one";
  EXPECT_EQ(made.longest[0].waitedForDevice, model::DeviceId(0));
}

TEST_F(IdleStretchesTest, OverlappingWaitsCountOnce) {
  wait(0, WaitCause::fill, 0, 100);
  wait(0, WaitCause::host, 50, 120);
  wait(0, WaitCause::host, 60, 80);
  const IdleStretches made = found();
  ASSERT_EQ(made.longest.size(), 1U);
  EXPECT_EQ(made.longest[0].length(), Ticks(120));
  EXPECT_EQ(made.longest[0].parts.at(WaitCause::host), Ticks(20));
}

TEST_F(IdleStretchesTest, TheLongestOfEachDeviceAndCauseAreKept) {
  for (int i = 0; i < 9; ++i) {
    wait(0, WaitCause::fill, 100 * i, 100 * i + 10 + i);
    wait(1, i % 2 == 0 ? WaitCause::fill : WaitCause::host, 100 * i, 100 * i + 50 + i);
  }
  const IdleStretches made = found(2);
  EXPECT_EQ(made.count, 18);
  std::vector<std::int64_t> lengths;
  for (const IdleStretch& stretch : made.longest) lengths.push_back(stretch.length().count);
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{58, 57, 56, 55, 18, 17}));
}

TEST_F(IdleStretchesTest, NothingRanOrNothingWaited) {
  EXPECT_EQ(found().count, 0);
}

TEST_F(IdleStretchesTest, NamesAreFoundByTheirParts) {
  const auto context = [&](int id, int parent, const char* name) {
    model::DebugContext row;
    row.id = model::DebugContextId(id);
    row.parent = model::DebugContextId(parent);
    row.name = name;
    rows.of<model::DebugContext>().push_back(row);
  };
  context(0, -1, "encoder"), context(1, 0, "Conv"), context(2, 1, "weight"), context(3, -1, "conv");
  for (const int id : {1, 3}) {
    for (const model::Pass pass : {model::Pass::forward, model::Pass::backward}) {
      model::Operator row;
      row.id = model::OperatorId(static_cast<std::int64_t>(rows.of<model::Operator>().size()));
      row.executable = model::ExecutableId(0);
      row.debugContext = model::DebugContextId(id);
      row.kind = "Conv";
      row.pass = pass;
      rows.of<model::Operator>().push_back(row);
    }
  }
  model::Variable variable;
  variable.id = model::VariableId(0);
  variable.executable = model::ExecutableId(0);
  variable.debugContext = model::DebugContextId(2);
  variable.category = "weight";
  variable.shape = "4 float32";
  rows.of<model::Variable>() = {variable};
  ASSERT_TRUE(profile.commit(rows).ok());
  const auto catalog = loadCatalog(profile);
  ASSERT_TRUE(catalog.ok());
  const auto names = [&](std::vector<std::string> words) {
    base::SilentProgress progress;
    const auto found = findNames(profile, **catalog, model::ExecutableId(0), words, 10, progress);
    std::vector<std::string> list;
    for (const FoundName& one : *found) list.push_back((one.isVariable ? "v " : "o ") + one.name);
    return list;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(names({"conv"}), (List{"o conv", "o encoder/Conv", "v encoder/Conv/weight"}));
  EXPECT_EQ(names({"wei", "ENC"}), (List{"v encoder/Conv/weight"}));
  EXPECT_EQ(names({"nothing"}), List());
}

}  // namespace
}  // namespace pipescope::analysis
