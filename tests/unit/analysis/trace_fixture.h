#pragma once
// A small random trace in memory. It has three devices with two lanes each, segments with steps on both
// lanes, and placements one after the other.
#include <gtest/gtest.h>

#include <random>

#include "profiler/model/pyramid.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"

namespace pipescope::analysis::testing {

using model::Ticks;

struct TraceFixture {
  std::shared_ptr<record::MemoryProfile> profile = std::make_shared<record::MemoryProfile>();
  model::RowSet rows;  ///< a copy of the rows in the profile, for expected values

  /// `slower` ticks are added to each step of operation 1.
  explicit TraceFixture(int placementsPerDevice, int slower = 0) {
    model::RowSet& r = rows;
    r.of<model::Target>() = {{"test", "ipu", "", 3, 3}};
    r.of<model::Executable>() = {model::Executable{}};
    r.of<model::Executable>()[0].id = model::ExecutableId(0);
    r.of<model::Executable>()[0].name = "training";
    r.of<model::Property>() = {
        {"tool_version", "1"}, {"times", "emulated, made up"}, {"device_model", "test 1"}};
    r.of<model::DebugContext>() = {
        {model::DebugContextId(0), {}, "layer", ""},
        {model::DebugContextId(1), model::DebugContextId(0), "MatMul", ""},
        {model::DebugContextId(2), model::DebugContextId(0), "Relu, \"quick\"", ""}};
    for (int p = 0; p < 3; ++p) {
      r.of<model::Program>().push_back({model::ProgramId(p),
                                        {},
                                        model::ExecutableId(0),
                                        {},
                                        "OnTileExecute",
                                        model::DebugContextId(p),
                                        {}});
    }
    std::mt19937 random(11);
    for (int d = 0; d < 3; ++d) addDevice(d, slower, random);
    std::int64_t end = 0;
    for (int d = 0; d < 3; ++d) end = std::max(end, place(d, placementsPerDevice, random));
    r.of<model::Transfer>() = {{model::TransferId(0),
                                model::LaneId(1),
                                model::LaneId(3),
                                {},
                                {},
                                model::Bytes(5),
                                Ticks(3),
                                Ticks(9),
                                {},
                                model::RunId(0),
                                0,
                                0,
                                0}};
    r.of<model::Counter>() = {{model::CounterId(0), model::ExecutableId(0), {}, "loss", ""}};
    r.of<model::CounterSample>() = {{model::CounterId(0), Ticks(7), model::RunId(0), 0.5}};
    model::Run run;
    run.id = model::RunId(0);
    run.executable = model::ExecutableId(0);
    run.name = "call <1>";
    run.end = Ticks(end);
    r.of<model::Run>() = {run};
    model::RowSet all = r;
    model::PyramidBuilder pyramid;
    pyramid.add(r, all.of<model::LevelNode>());
    pyramid.flush(all.of<model::LevelNode>());
    EXPECT_TRUE(profile->commit(all).ok());
  }

  Ticks end() const { return rows.of<model::Run>()[0].end; }

 private:
  void addDevice(int d, int slower, std::mt19937& random) {
    model::Device device;
    device.id = model::DeviceId(d);
    device.name = "D" + std::to_string(d);
    device.kind = "test";
    device.ticksPerSecond = 1'000'000;
    rows.of<model::Device>().push_back(device);
    for (int l = 0; l < 2; ++l) {
      rows.of<model::Lane>().push_back({model::LaneId(2 * d + l),
                                        model::DeviceId(d),
                                        "",
                                        l == 0 ? model::LaneRole::compute : model::LaneRole::exchange,
                                        {}});
    }
    for (int s = 0; s < 2; ++s) {
      model::Segment segment{model::SegmentId(2 * d + s),
                             model::ExecutableId(0),
                             model::DeviceId(d),
                             model::LaneId(2 * d),
                             d,
                             0,
                             s == 0 ? model::Pass::forward : model::Pass::backward,
                             "s",
                             {}};
      for (int i = 0; i < 10; ++i) {
        const int program = static_cast<int>(random() % 3);
        const Ticks ticks(1 + static_cast<std::int64_t>(random() % 30) + (program == 1 ? slower : 0));
        model::Step step;
        step.segment = segment.id;
        step.lane = model::LaneId(2 * d + i % 2);
        step.offset = segment.ticks;
        step.ticks = ticks;
        step.kind = i % 2 == 0 ? model::StepKind::compute : model::StepKind::exchange;
        step.program = model::ProgramId(program);
        segment.ticks += ticks;
        rows.of<model::Step>().push_back(step);
      }
      rows.of<model::Segment>().push_back(segment);
    }
  }

  std::int64_t place(int d, int count, std::mt19937& random) {
    std::int64_t free = d;
    for (int i = 0; i < count; ++i) {
      const model::Segment& segment = rows.of<model::Segment>()[static_cast<std::size_t>(2 * d + i % 2)];
      model::Placement row;
      row.id = model::PlacementId(static_cast<std::int64_t>(rows.of<model::Placement>().size()));
      row.segment = segment.id;
      row.device = segment.device;
      row.start = Ticks(free + (random() % 4 == 0 ? static_cast<std::int64_t>(random() % 20) : 0));
      row.end = row.start + segment.ticks;
      row.run = model::RunId(0);
      row.stage = d;
      row.pass = segment.pass;
      row.microBatch = i / 2;
      free = row.end.count;
      rows.of<model::Placement>().push_back(row);
    }
    return free;
  }
};

}  // namespace pipescope::analysis::testing
