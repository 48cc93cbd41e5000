// What single units do, against going through every placement, step and unit.
#include "profiler/analysis/timeline/unit_steps.h"

#include <map>
#include <set>
#include <tuple>

#include "profiler/analysis/pva/report.h"
#include "trace_fixture.h"

namespace pipescope::analysis {
namespace {

using testing::TraceFixture;

constexpr std::int64_t kUnits = 5;

/// Every second step of the trace says what its units do.
struct UnitFixture : TraceFixture {
  UnitFixture() : TraceFixture(12) {
    model::RowSet more;
    std::mt19937 random(4);
    const auto& steps = rows.of<model::Step>();
    for (std::size_t i = 0; i < steps.size(); i += 2) {
      std::int64_t unit = static_cast<std::int64_t>(random() % 2);
      while (unit < kUnits) {
        const std::int64_t count =
            std::min<std::int64_t>(kUnits - unit, 1 + static_cast<std::int64_t>(random() % 3));
        const Ticks ticks(1 + static_cast<std::int64_t>(random()) % steps[i].ticks.count);
        more.of<model::StepUnits>().push_back(
            {steps[i].segment, static_cast<std::int64_t>(i), unit, count, ticks});
        unit += count + static_cast<std::int64_t>(random() % 2);
      }
    }
    rows.of<model::StepUnits>() = more.of<model::StepUnits>();
    EXPECT_TRUE(profile->commit(more).ok());
  }
  /// The fixture's devices have one unit: here they have five.
  std::shared_ptr<const Catalog> catalog() const {
    auto known = std::make_shared<Catalog>();
    const auto loaded = loadCatalog(*profile).value();
    known->devices = loaded->devices;
    known->executables = loaded->executables;
    known->segments = loaded->segments;
    known->lanes = loaded->lanes;
    known->runs = loaded->runs;
    for (model::Device& device : known->devices) device.units = kUnits;
    return known;
  }
  std::int64_t ticksOf(std::size_t step, std::int64_t unit) const {
    for (const model::StepUnits& row : rows.of<model::StepUnits>()) {
      if (row.step == static_cast<std::int64_t>(step) && unit >= row.firstUnit &&
          unit < row.firstUnit + row.unitCount)
        return row.ticks.count;
    }
    return 0;
  }
};

TEST(UnitSteps, AreThoseThatMeetTheRangeWithTheirUnits) {
  const UnitFixture fixture;
  const auto catalog = fixture.catalog();
  base::SilentProgress progress;
  EXPECT_TRUE(hasUnitSteps(*fixture.profile).value());
  EXPECT_FALSE(hasUnitSteps(*TraceFixture(2).profile).value());
  for (const auto& [from, to] : {std::pair(0, 1 << 20), std::pair(300, 700), std::pair(9, 9)}) {
    const UnitRequest request{model::ExecutableId(0), model::DeviceId(1), Ticks(from), Ticks(to)};
    std::multiset<std::tuple<std::int64_t, std::int64_t, std::int64_t>> expected,
        found;  // start, unit, ticks
    for (const model::Placement& p : fixture.rows.of<model::Placement>()) {
      for (std::size_t i = 0; i < fixture.rows.of<model::Step>().size(); ++i) {
        const model::Step& s = fixture.rows.of<model::Step>()[i];
        const std::int64_t start = p.start.count + s.offset.count;
        if (s.segment != p.segment || p.device.value != 1 || start >= to || start + s.ticks.count <= from ||
            to <= from)
          continue;
        for (std::int64_t u = 0; u < kUnits; ++u) expected.insert({start, u, fixture.ticksOf(i, u)});
      }
    }
    const auto answer = unitSteps(*fixture.profile, *catalog, request, 1000, progress);
    ASSERT_TRUE(answer.ok());
    EXPECT_TRUE(answer->all);
    for (const UnitStep& step : answer->steps) {
      std::map<std::int64_t, std::int64_t> ticks;
      for (const UnitRun& run : step.units) {
        for (std::int64_t u = run.firstUnit; u < run.firstUnit + run.unitCount; ++u)
          ticks[u] = run.ticks.count;
      }
      for (std::int64_t u = 0; u < kUnits; ++u) found.insert({step.start.count, u, ticks[u]});
    }
    EXPECT_EQ(found, expected) << from;
    if (answer->steps.size() > 3) {
      const auto few = unitSteps(*fixture.profile, *catalog, request, 3, progress);
      EXPECT_EQ(few->steps.size(), 3U);
      EXPECT_FALSE(few->all);
    }
  }
}

TEST(UnitSteps, SumsOfEveryUnitAddUpToTheRange) {
  const UnitFixture fixture;
  const auto catalog = fixture.catalog();
  base::SilentProgress progress;
  for (const auto& [from, to] : {std::pair(0, 1 << 20), std::pair(300, 700), std::pair(5, 6)}) {
    const auto sums =
        unitSums(*fixture.profile, *catalog,
                 {model::ExecutableId(0), model::DeviceId(2), Ticks(from), Ticks(to)}, progress);
    ASSERT_TRUE(sums.ok());
    std::int64_t next = 0;
    for (const UnitSums& sum : *sums) {
      EXPECT_EQ(sum.firstUnit, next);
      next += sum.unitCount;
      std::int64_t busy = 0, exchange = 0;
      for (const model::Placement& p : fixture.rows.of<model::Placement>()) {
        for (std::size_t i = 0; i < fixture.rows.of<model::Step>().size(); ++i) {
          const model::Step& s = fixture.rows.of<model::Step>()[i];
          if (s.segment != p.segment || p.device.value != 2) continue;
          const std::int64_t start = p.start.count + s.offset.count;
          const std::int64_t length = std::min<std::int64_t>(to, start + fixture.ticksOf(i, sum.firstUnit)) -
                                      std::max<std::int64_t>(from, start);
          if (length > 0) (s.kind == model::StepKind::compute ? busy : exchange) += length;
        }
      }
      EXPECT_EQ(sum.busy.count, busy);
      EXPECT_EQ(sum.exchange.count, exchange);
      EXPECT_EQ((sum.busy + sum.exchange + sum.sync + sum.waiting + sum.idle).count, to - from);
    }
    EXPECT_EQ(next, kUnits);
  }
}

TEST(UnitSteps, WhatContradictsTheStepIsLeftOut) {
  TraceFixture fixture(1);
  const Ticks length = fixture.rows.of<model::Step>()[0].ticks;
  model::RowSet more;
  const model::SegmentId s(0);
  more.of<model::StepUnits>() = {{s, 0, -1, 1, Ticks(1)},         {s, 0, 0, 2, length},
                                 {s, 0, 1, 1, Ticks(1)},          {s, 0, 2, std::int64_t{1} << 62, Ticks(1)},
                                 {s, 0, 3, 1, length + Ticks(1)}, {s, 0, 4, 1, Ticks(-1)}};
  ASSERT_TRUE(fixture.profile->commit(more).ok());
  UnitReader reader = UnitReader::make(*fixture.profile).value();
  const auto runs = reader.of(0, length, kUnits);
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ((*runs)[0].unitCount, 2);
  EXPECT_TRUE(reader.of(1, length, kUnits)->empty());
}

TEST(UnitSteps, AreStoppedAndNeedADevice) {
  struct Stop : base::SilentProgress {
    bool cancelled() const override { return true; }
  } stop;
  const UnitFixture fixture;
  const auto catalog = fixture.catalog();
  const UnitRequest request{model::ExecutableId(0), model::DeviceId(0), Ticks(0), Ticks(100)};
  EXPECT_EQ(unitSteps(*fixture.profile, *catalog, request, 10, stop).error().kind,
            base::ErrorKind::cancelled);
  EXPECT_EQ(unitSums(*fixture.profile, *catalog, request, stop).error().kind, base::ErrorKind::cancelled);
  base::SilentProgress progress;
  UnitRequest nowhere = request;
  nowhere.device = model::DeviceId(99);
  EXPECT_EQ(unitSums(*fixture.profile, *catalog, nowhere, progress).error().message,
            "The profile has no such device; choose one of those it lists.");
}

TEST(UnitSteps, AreCyclesByTileInLibpvasWords) {
  TraceFixture fixture(3);
  model::RowSet more;
  model::Device device;
  device.id = model::DeviceId(3);
  device.units = 4;
  more.of<model::Device>() = {device};
  more.of<model::Program>() = {{model::ProgramId(3),
                                {},
                                model::ExecutableId(0),
                                model::DeviceId(3),
                                "OnTileExecute",
                                model::DebugContextId(1),
                                {}}};
  model::Step step;
  step.segment = model::SegmentId(0);
  step.ticks = Ticks(9);
  step.program = model::ProgramId(3);
  const auto row = static_cast<std::int64_t>(fixture.rows.of<model::Step>().size());
  more.of<model::Step>() = {step};
  more.of<model::StepUnits>() = {{model::SegmentId(0), row, 1, 2, Ticks(7)},
                                 {model::SegmentId(0), row, 3, 1, Ticks(9)}};
  ASSERT_TRUE(fixture.profile->commit(more).ok());
  const auto sets = pva::Report::make(fixture.profile).value().compilation().value().computeSets().value();
  ASSERT_EQ(sets.size(), 4U);
  EXPECT_EQ(sets[3].name(), "layer/MatMul");
  EXPECT_EQ(sets[3].estimatedCyclesByTile().value(), (std::vector<std::int64_t>{0, 7, 7, 9}));
  EXPECT_TRUE(sets[0].estimatedCyclesByTile().value().empty());
}

}  // namespace
}  // namespace pipescope::analysis
