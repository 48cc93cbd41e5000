#include "profiler/geometry/timeline/time_axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace pipescope::geometry {
namespace {

std::vector<std::string> labels(const TimeView& view, const TimeScale& scale, double spacing) {
  std::vector<std::string> texts;
  for (const AxisTick& tick : axisTicks(view, scale, spacing)) texts.push_back(tick.label);
  return texts;
}

TEST(TimeAxis, NiceSteps) {
  EXPECT_DOUBLE_EQ(niceStep(1), 1);
  EXPECT_DOUBLE_EQ(niceStep(1.1), 2);
  EXPECT_DOUBLE_EQ(niceStep(2), 2);
  EXPECT_DOUBLE_EQ(niceStep(3), 5);
  EXPECT_DOUBLE_EQ(niceStep(7), 10);
  EXPECT_DOUBLE_EQ(niceStep(0.013), 0.02);
  EXPECT_DOUBLE_EQ(niceStep(1'000'000), 1'000'000);
}

TEST(TimeAxis, CyclesAreWholeAndGrouped) {
  EXPECT_EQ(labels(TimeView(Ticks(900), Ticks(2100), 300), {TimeUnit::cycles, 1}, 100),
            (std::vector<std::string>{"1,000", "1,500", "2,000"}));
  EXPECT_EQ(labels(TimeView(Ticks(0), Ticks(3), 300), {TimeUnit::cycles, 1}, 10),
            (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(labels(TimeView(Ticks(0), Ticks(4'000'000), 400), {TimeUnit::cycles, 1}, 100),
            (std::vector<std::string>{"0", "1 M", "2 M", "3 M", "4 M"}));
  EXPECT_EQ(labels(TimeView(Ticks(1'200'000), Ticks(1'240'000), 400), {TimeUnit::cycles, 1}, 200),
            (std::vector<std::string>{"1.20 M", "1.22 M", "1.24 M"}));
}

TEST(TimeAxis, AllLabelsOfAnAxisHaveTheSameUnit) {
  EXPECT_EQ(labels(TimeView(Ticks(0), Ticks(1'600'000), 400), {TimeUnit::cycles, 1}, 100),
            (std::vector<std::string>{"0", "0.5 M", "1.0 M", "1.5 M"}));
}

TEST(TimeAxis, TimesHaveTheUnitThatReadsWell) {
  const TimeScale scale{TimeUnit::time, 1'000'000'000};
  EXPECT_EQ(labels(TimeView(Ticks(0), Ticks(20'000'000), 200), scale, 100),
            (std::vector<std::string>{"0 ms", "10 ms", "20 ms"}));
  EXPECT_EQ(labels(TimeView(Ticks(12'000'000), Ticks(12'040'000), 200), scale, 100),
            (std::vector<std::string>{"12.00 ms", "12.02 ms", "12.04 ms"}));
  // Nanoseconds apart at 3.2 s: seconds would need seven decimals.
  EXPECT_EQ(labels(TimeView(Ticks(3'200'000'000), Ticks(3'200'000'200), 200), scale, 100),
            (std::vector<std::string>{"3,200.0000 ms", "3,200.0001 ms", "3,200.0002 ms"}));
}

TEST(TimeAxis, CostUnits) {
  EXPECT_EQ(labels(TimeView(Ticks(0), Ticks(2'000'000), 200), {TimeUnit::costUnits, 1'000'000}, 50),
            (std::vector<std::string>{"0.0", "0.5", "1.0", "1.5", "2.0"}));
}

TEST(TimeAxis, TicksAreSpacedAndWithinTheView) {
  for (std::int64_t span = 4; span < 4'000'000'000'000'000; span *= 7) {
    for (const TimeUnit unit : {TimeUnit::cycles, TimeUnit::time, TimeUnit::costUnits}) {
      const TimeView view(Ticks(1'234'567'890'123), Ticks(1'234'567'890'123 + span), 1600);
      const auto ticks = axisTicks(view, {unit, 1'330'000'000}, 100);
      std::set<std::string> distinct;
      for (std::size_t i = 0; i < ticks.size(); ++i) {
        EXPECT_GE(ticks[i].x, 0);
        EXPECT_LE(ticks[i].x, 1600);
        EXPECT_GE(ticks[i].x - (i > 0 ? ticks[i - 1].x : -99), 99) << span;
        distinct.insert(ticks[i].label);
      }
      EXPECT_EQ(distinct.size(), ticks.size()) << "labels tell the ticks apart, span " << span;
      EXPECT_LE(ticks.size(), 17U);
      EXPECT_GE(ticks.size(), span >= 16 && unit != TimeUnit::costUnits ? 1U : 0U) << span;
    }
  }
}

TEST(TimeAxis, TicksBeginAtTheLeftEdgeAndAtTheOrigin) {
  // A tick at the edge of the view itself.
  EXPECT_EQ(labels(TimeView(Ticks(0), Ticks(1000), 100), {TimeUnit::cycles, 1}, 50),
            (std::vector<std::string>{"0", "500", "1,000"}));
  const auto at = [](std::int64_t start, std::int64_t origin) {
    std::vector<std::pair<double, std::string>> ticks;
    for (const AxisTick& tick : axisTicks(TimeView(Ticks(start), Ticks(start + 1000), 100),
                                          {TimeUnit::cycles, 1}, 50, Ticks(origin)))
      ticks.emplace_back(tick.x, tick.label);
    return ticks;
  };
  using Labels = std::vector<std::pair<double, std::string>>;
  // Times before an origin that was moved have no label: the measured stretch has not begun.
  EXPECT_EQ(at(0, 500), (Labels{{50, "0"}, {100, "500"}}));
  EXPECT_EQ(at(500, 500), (Labels{{0, "0"}, {50, "500"}, {100, "1,000"}}));
  // Without one, the axis goes on to the left of zero.
  EXPECT_EQ(at(-500, 0), (Labels{{0, "−500"}, {50, "0"}, {100, "500"}}));
}

TEST(TimeAxis, Durations) {
  const TimeScale cycles{TimeUnit::cycles, 1'330'000'000}, time{TimeUnit::time, 1'000'000'000},
      cost{TimeUnit::costUnits, 1'000'000};
  EXPECT_EQ(formatDuration(Ticks(1), cycles), "1 cycle");
  EXPECT_EQ(formatDuration(Ticks(1'234'567), cycles), "1,234,567 cycles");
  EXPECT_EQ(formatDuration(Ticks(-1'234), cycles), "−1,234 cycles");
  EXPECT_EQ(formatDuration(Ticks(0), time), "0 s");
  EXPECT_EQ(formatDuration(Ticks(9'280), time), "9.28 µs");
  EXPECT_EQ(formatDuration(Ticks(928'000), time), "928 µs");
  EXPECT_EQ(formatDuration(Ticks(12'345'678), time), "12.3 ms");
  EXPECT_EQ(formatDuration(Ticks(2'500'000'000), time), "2.50 s");
  EXPECT_EQ(formatDuration(Ticks(3), time), "3.00 ns");
  EXPECT_EQ(formatDuration(Ticks(3'500'000), cost), "3.5 cost units");
  EXPECT_EQ(formatDuration(Ticks(1'000'000), cost), "1 cost unit");
  EXPECT_EQ(formatDuration(Ticks(158'250'000), cost), "158.25 cost units");
  EXPECT_EQ(formatDuration(Ticks(1'234'567'812'500), cost), "1,234,567.8125 cost units");
  EXPECT_EQ(formatDuration(Ticks(0), cost), "0 cost units");
  EXPECT_EQ(groupedNumber(0), "0");
  EXPECT_EQ(groupedNumber(-1000), "−1,000");
}

TEST(TimeAxis, TimesAsPeopleWriteThem) {
  const TimeScale cycles{TimeUnit::cycles, 1'000'000'000}, cost{TimeUnit::costUnits, 1'000'000};
  const auto ticks = [](const std::string& text, const TimeScale& scale) {
    const auto parsed = parseTime(text, scale);
    return parsed.ok() ? parsed->count : -1;
  };
  EXPECT_EQ(ticks("12345", cycles), 12345);
  EXPECT_EQ(ticks("12,345 cycles", cycles), 12345);
  EXPECT_EQ(ticks("1.5ms", cycles), 1'500'000);
  EXPECT_EQ(ticks("2 us", cycles), 2'000);
  EXPECT_EQ(ticks("2 µs", cycles), 2'000);
  EXPECT_EQ(ticks("0.25s", cycles), 250'000'000);
  EXPECT_EQ(ticks("7", {TimeUnit::time, 1'000'000'000}), 7);
  EXPECT_EQ(ticks("3.5", cost), 3'500'000);
  EXPECT_EQ(ticks("3 units", cost), 3'000'000);
  EXPECT_EQ(ticks("3 cost units", cost), 3'000'000);
  for (const char* bad : {"", "soon", "-5", "1.2.3", ".", "5 fortnights", "99999999999999999999999"}) {
    const auto parsed = parseTime(bad, cycles);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().message,
              "\"" + std::string(bad) +
                  "\" is no time: write cycles as 12345, or a length as 1.5ms (s, ms, us, ns).");
  }
}

}  // namespace
}  // namespace pipescope::geometry
