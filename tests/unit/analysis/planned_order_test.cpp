// The order of a schedule laid over a recorded one.
#include "profiler/replay/planned_order.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::replay {
namespace {

namespace fs = std::filesystem;

/// A trace of two stages on two processes with the passes in this order, each 10 µs long.
fs::path traceOf(const std::string& name, const std::vector<std::pair<int, std::string>>& passes) {
  const fs::path file = fs::path(::testing::TempDir()) / (name + ".json");
  std::ofstream out(file);
  out << "[";
  for (std::size_t i = 0; i < passes.size(); ++i)
    out << (i > 0 ? "," : "") << R"({"ph":"X","ts":)" << 100 + 20 * i << R"(,"dur":10,"tid":1,"pid":)"
        << passes[i].first << R"(,"name":"stage)" << passes[i].first << "/" << passes[i].second << "\"}";
  out << "]";
  return file;
}

/// 1F1B of two stages and two micro-batches, in which stage 1 does both forward passes first.
const std::vector<std::pair<int, std::string>> kLate = {
    {0, "forward/mb0"},  {0, "forward/mb1"},  {1, "forward/mb0"},  {1, "forward/mb1"},
    {1, "backward/mb0"}, {0, "backward/mb0"}, {1, "backward/mb1"}, {0, "backward/mb1"}};

PlannedOrder planOf(const std::string& text) {
  const auto plan = parsePlan(text, "order.csv");
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *plan : PlannedOrder();
}

TEST(PlannedOrder, FindsTheFirstDifference) {
  const analysis::ImportedTrace trace(traceOf("late", kLate));
  const PlannedOrder oneForwardOneBackward = planOf(
      "stage,pass,micro_batch\n0,forward,0\n1,forward,0\n0,forward,1 # "
      "comment\n\n1,backward,0\n0,backward,0\n"
      "1,forward,1\n1,backward,1\n0,backward,1\n");
  const auto compared =
      comparePlan(trace.profile, *trace.catalog, model::ExecutableId(0), oneForwardOneBackward, nullptr);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  EXPECT_EQ(compared->name, "order.csv");
  EXPECT_EQ(compared->passes, 8);
  EXPECT_EQ(compared->atPlace, 6) << "two passes of stage 1 have changed places";
  ASSERT_EQ(compared->devices.size(), 2U);
  EXPECT_EQ(compared->devices[0].followed, 1);
  EXPECT_EQ(compared->devices[1].followed, 0);
  ASSERT_EQ(compared->earliest, 1);
  const Divergence& first = *compared->devices[1].first;
  EXPECT_EQ(first.iteration, 0);
  EXPECT_EQ(first.position, 1U);
  EXPECT_EQ(*first.planned, (PlannedTask{1, 0, model::Pass::backward}));
  EXPECT_EQ(*first.recorded, (PlannedTask{1, 1, model::Pass::forward}));
  EXPECT_EQ(first.time.count, 60'000'000) << "60 µs after the first event";
}

TEST(PlannedOrder, TellsWhatIsMissing) {
  auto passes = kLate;
  passes.resize(7);  // the last backward pass of stage 0 was not recorded
  const analysis::ImportedTrace trace(traceOf("cut", passes));
  const PlannedOrder plan = planOf(
      "0,forward,0\n0,forward,1\n0,backward,0\n0,backward,1\n1,forward,0\n1,forward,1\n1,backward,0\n1,"
      "backward,1\n");
  const auto compared = comparePlan(trace.profile, *trace.catalog, model::ExecutableId(0), plan, nullptr);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  ASSERT_EQ(compared->earliest, 0);
  EXPECT_EQ(compared->devices[0].first->position, 3U);
  EXPECT_TRUE(compared->devices[0].first->planned);
  EXPECT_FALSE(compared->devices[0].first->recorded);
}

TEST(PlannedOrder, RefusesWithASentence) {
  const auto parsing = [](const std::string& text) {
    const auto plan = parsePlan(text, "order.csv");
    return plan.ok() ? std::string() : plan.error().message;
  };
  EXPECT_NE(parsing("0,forward,0\n0,forward\n").find("order.csv, line 2"), std::string::npos);
  EXPECT_NE(parsing("0,sideways,0\n").find("order.csv, line 1"), std::string::npos);
  EXPECT_NE(parsing("-1,forward,0\n").find("order.csv, line 1"), std::string::npos);
  EXPECT_NE(parsing("# nothing\n").find("holds no passes"), std::string::npos);

  const analysis::ImportedTrace trace(traceOf("refused", kLate));
  const auto comparing = [&](const PlannedOrder& plan, const Schedules* schedules) {
    const auto compared = comparePlan(trace.profile, *trace.catalog, model::ExecutableId(0), plan, schedules);
    return compared.ok() ? std::string() : compared.error().message;
  };
  EXPECT_NE(comparing(planOf("2,forward,0\n"), nullptr).find("names stage 2"), std::string::npos);
  EXPECT_NE(comparing(planOf("1,forward,0\n"), nullptr).find("no pass of stage 0"), std::string::npos);
  EXPECT_NE(comparing({"zigzag", {}}, nullptr).find("knows no schedules"), std::string::npos);
  const Schedules none{{"gpipe"}, [](const OrderRequest&) -> base::Result<clock::Order> {
                         return base::badInput("This schedule needs other stages.");
                       }};
  EXPECT_NE(comparing({"zigzag", {}}, &none).find("no schedule \"zigzag\". Known are gpipe"),
            std::string::npos);
  EXPECT_NE(comparing({"gpipe", {}}, &none).find("needs other stages"), std::string::npos);
  EXPECT_NE(comparing({}, &none).find("No schedule can run"), std::string::npos);

  const fs::path file = fs::path(::testing::TempDir()) / "no_passes.json";
  std::ofstream(file) << R"([{"ph":"X","name":"work","ts":1,"dur":2,"pid":1,"tid":1}])";
  const analysis::ImportedTrace other(file);
  const auto nothing = comparePlan(other.profile, *other.catalog, model::ExecutableId(0), {}, &none);
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().message.find("No passes of stages"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::replay
