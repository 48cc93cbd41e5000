// Work that exported events state, counted by hand.
#include "profiler/export/event_work.h"

#include <gtest/gtest.h>

#include "profiler/export/wanted_rows.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::exporting {
namespace {

using base::Ticks;

model::Step stepOf(std::int64_t program, std::int64_t ticks, model::StepKind kind) {
  model::Step step;
  step.program = model::ProgramId(program);
  step.ticks = Ticks(ticks);
  step.kind = kind;
  return step;
}

/// A forward pass of one stage in two segments. Operator 0 has 100 FLOP and three steps, operator 1 has 30
/// and one, and operator 2 has 7 and no step.
TEST(EventWork, AnOperatorHasItsWorkInItsLongestStepThatComputes) {
  model::RowSet rows;
  model::Executable executable;
  executable.id = model::ExecutableId(0);
  rows.of<model::Executable>() = {executable};
  model::Device device;
  device.id = model::DeviceId(0);
  rows.of<model::Device>() = {device};
  const double flops[] = {100, 30, 7};
  for (int o = 0; o < 3; ++o) {
    model::Operator row;
    row.id = model::OperatorId(o);
    row.executable = executable.id;
    row.kind = o == 0 ? "Gemm" : "Relu";
    row.block = "B";
    row.stage = 0;
    row.pass = model::Pass::forward;
    row.flops = flops[o];
    row.bytes = base::Bytes(static_cast<std::int64_t>(flops[o]) * 2);
    rows.of<model::Operator>().push_back(row);
  }
  for (const int op : {0, 0, 1, 0}) {
    model::Program program;
    program.id = model::ProgramId(static_cast<std::int64_t>(rows.of<model::Program>().size()));
    program.executable = executable.id;
    program.op = model::OperatorId(op);
    program.kind = "OnTileExecute";
    rows.of<model::Program>().push_back(program);
  }
  for (int s = 0; s < 2; ++s) {
    model::Segment segment;
    segment.id = model::SegmentId(s);
    segment.executable = executable.id;
    segment.device = device.id;
    segment.stage = 0;
    segment.pass = model::Pass::forward;
    segment.ticks = Ticks(100 - 10 * s);
    rows.of<model::Segment>().push_back(segment);
  }
  record::MemoryProfile profile;
  ASSERT_TRUE(profile.commit(rows).ok());
  const auto catalog = analysis::loadCatalog(profile).value();
  const ChromeRequest request{profile, *catalog, executable.id};
  base::SilentProgress progress;
  EventWork work(request);
  ASSERT_TRUE(work.read(WantedRows(request, progress)).ok());
  const model::Segment &first = catalog->segments[model::SegmentId(0)],
                       &second = catalog->segments[model::SegmentId(1)];
  const auto flopsOf = [&](const model::Segment& segment, std::size_t step, std::int64_t op) {
    return work.ofStep(segment, step, model::OperatorId(op)).work.flops;
  };
  using Kind = model::StepKind;
  work.addSteps(first,
                {stepOf(0, 10, Kind::compute), stepOf(1, 30, Kind::compute), stepOf(2, 20, Kind::compute)});
  // A longer exchange is no work, and the first of equal steps counts.
  work.addSteps(second, {stepOf(3, 50, Kind::exchange), stepOf(3, 30, Kind::compute)});
  EXPECT_EQ(flopsOf(first, 0, 0), 0);
  EXPECT_EQ(flopsOf(first, 1, 0), 100);
  EXPECT_EQ(flopsOf(first, 2, 1), 30);
  EXPECT_EQ(flopsOf(second, 0, 0), 0);
  EXPECT_EQ(flopsOf(second, 1, 0), 0);
  EXPECT_EQ(work.ofStep(first, 0, model::OperatorId(0)).kind, "Gemm");
  EXPECT_EQ(work.ofStep(first, 1, model::OperatorId(0)).work.bytes, 200);
  // The pass has what its steps have; its longest segment has what no step has.
  EXPECT_EQ(work.ofPass(first).flops, 137);
  EXPECT_EQ(work.ofPass(second).flops, 0);
}

}  // namespace
}  // namespace pipescope::exporting
