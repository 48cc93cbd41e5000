// Reasons of waits in a recorded run. Two stages on two processes; times are in microseconds.
#include "profiler/analysis/pipeline/recorded/measured_waits.h"

#include <gtest/gtest.h>

#include <fstream>

#include "profiler/analysis/pipeline/slowness.h"
#include "profiler/analysis/pipeline/waits.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

std::string slice(int process, const std::string& name, int start, int end) {
  return R"({"ph":"X","tid":1,"pid":)" + std::to_string(process) + R"(,"name":")" + name + R"(","ts":)" +
         std::to_string(start) + R"(,"dur":)" + std::to_string(end - start) + "},";
}

class MeasuredWaitsTest : public ::testing::Test {
 protected:
  /// "device cause reason ticks blocked" of all groups of waits, in microseconds.
  static std::vector<std::string> reasonsIn(const std::string& name, std::string events) {
    events.pop_back();
    const auto file = std::filesystem::path(::testing::TempDir()) / (name + ".json");
    std::ofstream(file) << "[" << events << "]";
    const ImportedTrace trace(file);
    const auto groups = waitGroups(trace.profile, *trace.catalog, model::ExecutableId(0));
    EXPECT_TRUE(groups.ok());
    std::vector<std::string> texts;
    for (const WaitGroup& group : *groups)
      texts.push_back(std::to_string(group.device.value) + " " + model::toString(group.cause) + " " +
                      group.reason + " " + std::to_string(std::llround(group.ticksPerIteration / 1e6)) + " " +
                      std::to_string(std::llround(group.blockedPerIteration / 1e6)));
    std::sort(texts.begin(), texts.end());
    return texts;
  }
};

using Texts = std::vector<std::string>;

TEST_F(MeasuredWaitsTest, TellLateSendersFromLateReceivers) {
  // Stage 0 sends at 110, but stage 1 computes until 300 and posts its receive at 310. Stage 0's call returns
  // at 315. Stage 1 receives from 310 to 320, and the gradient is sent at 405.
  const std::string events = slice(0, "stage0/forward/mb0", 0, 100) + slice(0, "c10d::send", 105, 110) +
                             slice(0, "stage0/forward/mb1", 112, 200) + slice(0, "c10d::send", 210, 315) +
                             slice(0, "gloo:recv", 320, 420) + slice(0, "stage0/backward/mb0", 422, 500) +
                             slice(1, "gloo:recv", 0, 108) + slice(1, "stage1/forward/mb0", 109, 200) +
                             slice(1, "stage1/backward/mb0", 200, 300) + slice(1, "gloo:send", 302, 304) +
                             slice(1, "gloo:recv", 310, 318) + slice(1, "stage1/forward/mb1", 320, 400);
  // Transfers of device 0: its sends from 105 to 110 and from 310 to 315, and the receive from 320 to 420.
  // Those of device 1: from 105 to 108 and from 310 to 318.
  EXPECT_EQ(reasonsIn("late_receiver", events),
            (Texts{"0 exchange transfer 110 0", "0 host host launch 7 0", "0 host input pipeline 7 0",
                   "0 slower stage late receiver 100 0", "0 slower stage late sender 10 0",
                   "1 drain drain 100 0", "1 exchange transfer 11 0", "1 fill late sender 105 0",
                   "1 host host launch 11 0", "1 slower stage late receiver 2 0"}))
      << "from 200 to 210 device 0 has posted no receive, but its gradient is sent at 302 only";
}

TEST_F(MeasuredWaitsTest, NameReceivesThatBlockReadyWork) {
  // Stage 0 receives the gradient of micro-batch 0 only after that of micro-batch 1 was made. Stage 1
  // computes backward 1 first and ends it at 300, but stage 0 waits for micro-batch 0 until 500.
  const std::string events =
      slice(0, "stage0/forward/mb0", 0, 10) + slice(0, "stage0/forward/mb1", 10, 20) +
      slice(1, "stage1/forward/mb0", 20, 30) + slice(1, "stage1/forward/mb1", 30, 40) +
      slice(1, "stage1/backward/mb1", 40, 300) + slice(1, "stage1/backward/mb0", 300, 500) +
      slice(0, "stage0/backward/mb0", 500, 510) + slice(0, "stage0/backward/mb1", 510, 520);
  EXPECT_EQ(reasonsIn("blocked", events), (Texts{"0 slower stage late sender 480 200", "1 drain drain 20 0",
                                                 "1 exchange transfer 10 0", "1 fill late sender 10 0"}));
}

TEST(Slowness, TellsFixedPassingAndRotatingApart) {
  constexpr std::size_t kWorkers = 5, kIterations = 12;
  using Pace = std::vector<std::vector<double>>;
  const auto pace = [&](auto isSlow) {
    Pace all(kWorkers, std::vector<double>(kIterations));
    for (std::size_t w = 0; w < kWorkers; ++w)
      for (std::size_t i = 0; i < kIterations; ++i)
        all[w][i] = isSlow(w, i) ? 1.4 : 1.0 + 0.01 * static_cast<double>(w);
    return all;
  };
  EXPECT_EQ(slownessOf({}).pattern, SlownessPattern::none);
  EXPECT_EQ(slownessOf(pace([](auto, auto) { return false; })).pattern, SlownessPattern::none);
  const Slowness fixed = slownessOf(pace([](auto w, auto i) { return w == 2 && i != 5; }));
  EXPECT_EQ(fixed.pattern, SlownessPattern::fixed);
  EXPECT_EQ(fixed.workers, std::vector<std::size_t>{2});
  EXPECT_EQ(fixed.slowIterations, 11U);
  const Slowness passing = slownessOf(pace([](auto w, auto i) { return w == 4 && i >= 3 && i <= 6; }));
  EXPECT_EQ(passing.pattern, SlownessPattern::passing);
  EXPECT_EQ(passing.workers, std::vector<std::size_t>{4});
  EXPECT_EQ(passing.firstIteration, 3U);
  EXPECT_EQ(passing.lastIteration, 6U);
  EXPECT_EQ(slownessOf(pace([](auto w, auto i) { return w == i % 4; })).pattern, SlownessPattern::rotating);
}

}  // namespace
}  // namespace pipescope::analysis
