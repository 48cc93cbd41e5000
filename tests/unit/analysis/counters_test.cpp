#include "profiler/analysis/pipeline/counters.h"

#include <gtest/gtest.h>

#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

using Points = std::vector<std::pair<std::int64_t, double>>;

Points pointsOf(const CounterSeries& series) {
  Points points;
  for (const CounterPoint& point : series.points) points.emplace_back(point.time.count, point.last);
  return points;
}

TEST(Counters, OfSomeRunsBeginWithTheValueThatStillHolds) {
  record::MemoryProfile profile;
  const auto commit = [&](std::int64_t run, std::initializer_list<std::pair<int, double>> samples,
                          bool first) {
    model::RowSet rows;
    if (first) {
      rows.of<model::Counter>() = {{model::CounterId(0), model::ExecutableId(0), {}, "loss", ""},
                                   {model::CounterId(1), model::ExecutableId(0), {}, "learning rate", ""}};
      rows.of<model::Executable>() = {model::Executable{}};
      rows.of<model::Executable>()[0].id = model::ExecutableId(0);
    }
    for (const auto& [counter, value] : samples)
      rows.of<model::CounterSample>().push_back(
          {model::CounterId(counter), Ticks(100 * run + 50), model::RunId(run), value});
    ASSERT_TRUE(profile.commit(rows).ok());
  };
  commit(0, {{0, 3.0}, {1, 0.1}}, true);
  commit(1, {{0, 2.0}}, false);
  commit(2, {{0, 1.0}, {0, 0.9}}, false);
  commit(3, {{0, 0.5}, {1, 0.2}}, false);
  const auto catalog = loadCatalog(profile);
  ASSERT_TRUE(catalog.ok());
  base::SilentProgress progress;
  const auto ask = [&](std::int64_t first, std::int64_t last) {
    CounterRequest request;
    request.executable = model::ExecutableId(0);
    request.firstRun = model::RunId(first), request.lastRun = model::RunId(last);
    return counterSeries(profile, **catalog, request, progress).value();
  };
  const auto second = ask(2, 2);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(pointsOf(second[0]), (Points{{150, 2.0}, {250, 1.0}, {250, 0.9}}));
  EXPECT_EQ(second[0].samples, 3);
  EXPECT_EQ(second[0].largest, 2.0);
  EXPECT_EQ(pointsOf(second[1]), (Points{{50, 0.1}})) << "no sample of its own";
  const auto all = ask(0, 3);
  EXPECT_EQ(pointsOf(all[0]).size(), 5U);
  EXPECT_EQ(pointsOf(all[1]), (Points{{50, 0.1}, {350, 0.2}}));
  EXPECT_EQ(pointAt(all[1], Ticks(349)), 0);
  EXPECT_EQ(pointAt(all[1], Ticks(49)), -1);
  EXPECT_EQ(lastValue(profile, "loss").value(), 0.5);
  EXPECT_EQ(lastValue(profile, "learning rate").value(), 0.2);
  EXPECT_EQ(lastValue(profile, "accuracy").value(), std::nullopt);
}

}  // namespace
}  // namespace pipescope::analysis
