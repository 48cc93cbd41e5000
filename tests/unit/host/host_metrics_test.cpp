// Tests where values of the model lie in wall time, with figures worked out by hand.
#include "profiler/analysis/host/host_metrics.h"

#include <gtest/gtest.h>

#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

/// Two calls of 10 and 20 ticks, in wall time from 1,000 to 1,400 ns and from 2,000 to 2,100 ns, on a device
/// that begins with a thread at 900 ns. The loss is recorded at the end of each call, the rate at a quarter
/// of the second one, and another executable has a loss, too.
struct HostMetrics : ::testing::Test {
  HostMetrics() {
    model::RowSet rows;
    model::Executable own, other;
    own.id = model::ExecutableId(0);
    other.id = model::ExecutableId(1);
    rows.of<model::Executable>() = {own, other};
    rows.of<model::HostThread>() = {{model::HostThreadId(0), "", "main"}};
    rows.of<model::HostName>() = {{model::HostNameId(0), "run", "all"}};
    rows.of<model::HostSpan>() = {{model::HostThreadId(0), model::HostNameId(0), Ticks(900), Ticks(2'100)}};
    const auto call = [&](std::int64_t id, std::int64_t start, std::int64_t end, std::int64_t wallStart,
                          std::int64_t wallEnd) {
      model::Run run;
      run.id = model::RunId(id);
      run.executable = own.id;
      run.start = Ticks(start);
      run.end = Ticks(end);
      run.wallStartNs = wallStart;
      run.wallEndNs = wallEnd;
      rows.of<model::Run>().push_back(run);
    };
    call(0, 0, 10, 1'000, 1'400);
    call(1, 10, 30, 2'000, 2'100);
    rows.of<model::Counter>() = {{model::CounterId(0), own.id, {}, "loss", ""},
                                 {model::CounterId(1), own.id, {}, "learning_rate", ""},
                                 {model::CounterId(2), other.id, {}, "loss", ""},
                                 {model::CounterId(3), own.id, model::DeviceId(0), "loss", ""}};
    const auto sample = [&](std::int64_t counter, std::int64_t run, std::int64_t time, double value) {
      model::CounterSample row;
      row.counter = model::CounterId(counter);
      row.run = model::RunId(run);
      row.time = Ticks(time);
      row.value = value;
      rows.of<model::CounterSample>().push_back(row);
    };
    sample(0, 0, 10, 2.5);
    sample(2, 0, 10, 9);
    sample(3, 0, 10, 9);
    sample(1, 1, 15, 0.25);
    sample(0, 1, 30, 1.5);
    EXPECT_TRUE(profile.commit(rows).ok());
  }

  std::shared_ptr<const HostTimeline> with(const std::vector<std::string>& names) {
    base::SilentProgress progress;
    const auto plain = hostTimeline(profile, progress);
    EXPECT_TRUE(plain.ok());
    const auto catalog = loadCatalog(profile);
    EXPECT_TRUE(catalog.ok());
    const auto made = withMetrics(*plain, profile, **catalog, model::ExecutableId(0), names, progress);
    EXPECT_TRUE(made.ok());
    return *made;
  }

  record::MemoryProfile profile;
};

TEST_F(HostMetrics, AValueLiesAtTheWallTimeOfItsCall) {
  const auto line = with({"loss"});
  ASSERT_EQ(line->curves.size(), 1U) << "neither that of a device nor that of another executable";
  const HostCurve& curve = line->curves.front();
  EXPECT_TRUE(curve.pinned);
  EXPECT_EQ(curve.name, "loss");
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[0].time, Ticks(1'400 - 900)) << "the end of the first call";
  EXPECT_EQ(curve.points[1].time, Ticks(2'100 - 900)) << "the end of the second one";
  EXPECT_EQ(curve.points[1].value, 1.5);
  EXPECT_EQ(curve.mean, 2.0);
}

TEST_F(HostMetrics, AValueWithinACallLiesAtTheSameShare) {
  const auto line = with({"learning_rate"});
  ASSERT_EQ(line->curves.size(), 1U);
  EXPECT_EQ(line->curves.front().name, "learning rate");
  EXPECT_EQ(line->curves.front().points.front().time, Ticks(2'025 - 900)) << "5 of 20 ticks, 25 of 100 ns";
}

TEST_F(HostMetrics, NothingIsAddedThatNobodyWants) {
  EXPECT_TRUE(with({})->curves.empty());
  EXPECT_TRUE(with({"accuracy"})->curves.empty());
}

}  // namespace
}  // namespace pipescope::analysis
