// Tests what single units (tiles) do in a step.
#include "profiler/analysis/timeline/unit_steps.h"

#include "profiler/analysis/pva/report.h"
#include "trace_fixture.h"

namespace pipescope::analysis {
namespace {

using testing::TraceFixture;

constexpr std::int64_t kUnits = 5;

TEST(UnitSteps, AreKnownOnlyWhereTilesWereRecorded) {
  const TraceFixture fixture(2);
  EXPECT_FALSE(hasUnitSteps(*fixture.profile).value());
  model::RowSet more;
  more.of<model::StepUnits>() = {{model::SegmentId(0), 0, 0, 2, Ticks(1)}};
  ASSERT_TRUE(fixture.profile->commit(more).ok());
  EXPECT_TRUE(hasUnitSteps(*fixture.profile).value());
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
