#pragma once
// Two devices, one run of two iterations, everything written down by hand (ticks):
//
//          0    100         160  180    200      260   300 310            (iteration 0; iteration 1 is 400
//          later)
// D0       call F0 (100–160)     wait slower      B0 (200–260)   U (300–310)
// D1       call wait fill   F0 (180–200) B0' …
//
// Segment "forward" of D0 has three steps: layer/conv/a [0,20) compute, layer/conv/b [20,30) exchange,
// layer/relu [30,60) compute.
#include <gtest/gtest.h>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"

namespace pipescope::testing {

using base::Bytes;
using base::Ticks;
using model::Pass;
using model::StepKind;

struct SmallProfile {
  std::shared_ptr<record::MemoryProfile> profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder{*profile};
  model::ExecutableId executable;
  std::vector<model::DeviceId> devices;
  std::vector<model::LaneId> compute, exchange;
  model::SegmentId forward0, backward0, forward1, update0;

  explicit SmallProfile(std::int64_t secondTimebase = 1'000'000) {
    for (int d = 0; d < 2; ++d) {
      model::Device device;
      device.kind = "chip";
      device.name = "D" + std::to_string(d);
      device.units = 4;
      device.ticksPerSecond = d == 0 ? 1'000'000 : secondTimebase;
      devices.push_back(recorder.add(device));
      compute.push_back(
          recorder.add(model::Lane{{}, devices.back(), "compute", model::LaneRole::compute, {}}));
      exchange.push_back(
          recorder.add(model::Lane{{}, devices.back(), "exchange", model::LaneRole::exchange, {}}));
    }
    model::Executable row;
    row.name = "training";
    row.stages = 2;
    executable = recorder.add(row);
    for (int d = 0; d < 2; ++d)
      recorder.add(model::Stage{executable, d, devices[static_cast<std::size_t>(d)], "B", 0, {}});
    forward0 = segment(0, Pass::forward, 60);
    step(forward0, 0, StepKind::compute, "layer/conv/a", 0, 20);
    step(forward0, 0, StepKind::exchange, "layer/conv/b", 20, 10);
    step(forward0, 0, StepKind::compute, "layer/relu", 30, 30);
    backward0 = segment(0, Pass::backward, 60);
    forward1 = segment(1, Pass::forward, 20);
    step(forward1, 1, StepKind::compute, "loss", 0, 20);
    update0 = segment(0, Pass::update, 10);
  }

  model::SegmentId segment(int device, Pass pass, std::int64_t ticks, model::LaneId lane = {}) {
    model::Segment row;
    row.executable = executable;
    row.device = devices[static_cast<std::size_t>(device)];
    row.lane = lane.valid() ? lane : compute[static_cast<std::size_t>(device)];
    row.stage = device;
    row.pass = pass;
    row.name = "segment";
    row.ticks = Ticks(ticks);
    return recorder.add(row);
  }

  void step(model::SegmentId segment, int device, StepKind kind, const std::string& path, std::int64_t offset,
            std::int64_t ticks, model::LaneId lane = {}) {
    model::DebugContextId parent;
    std::size_t start = 0;
    while (start < path.size()) {
      const std::size_t slash = std::min(path.find('/', start), path.size());
      parent = recorder.add(model::DebugContext{{}, parent, path.substr(start, slash - start), "operator"});
      start = slash + 1;
    }
    model::Step row;
    row.segment = segment;
    row.lane = lane.valid() ? lane : compute[static_cast<std::size_t>(device)];
    row.offset = Ticks(offset);
    row.ticks = Ticks(ticks);
    row.kind = kind;
    row.program = recorder.add(model::Program{
        {}, {}, executable, devices[static_cast<std::size_t>(device)], "OnTileExecute", parent, {}});
    row.maxTicks = Ticks(ticks);
    row.meanTicks = static_cast<double>(ticks) / 2;  // balance and efficiency of a compute step are one half
    recorder.add(row);
  }

  model::PlacementId place(model::SegmentId segment, int device, std::int64_t start, std::int64_t end,
                           Pass pass, int microBatch, int iteration, model::RunId run = model::RunId(0)) {
    model::Placement row;
    row.segment = segment;
    row.device = devices[static_cast<std::size_t>(device)];
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.run = run;
    row.stage = device;
    row.pass = pass;
    row.microBatch = microBatch;
    row.iteration = iteration;
    return recorder.add(row);
  }

  void wait(int device, std::int64_t start, std::int64_t end, model::WaitCause cause,
            model::PlacementId waitedFor, int iteration) {
    model::Wait row;
    row.device = devices[static_cast<std::size_t>(device)];
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.cause = cause;
    row.waitedFor = waitedFor;
    row.run = model::RunId(0);
    row.iteration = iteration;
    recorder.add(row);
  }

  void transfer(int from, int to, std::int64_t start, std::int64_t end, model::TransferKind kind,
                int microBatch, int iteration) {
    model::Transfer row;
    row.fromLane = exchange[static_cast<std::size_t>(from)];
    row.toLane = exchange[static_cast<std::size_t>(to)];
    row.kind = kind;
    row.bytes = Bytes(1000);
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.run = model::RunId(0);
    row.iteration = iteration;
    row.microBatch = microBatch;
    recorder.add(row);
  }

  void addRun(std::int64_t start, std::int64_t end) {
    model::Run run;
    run.executable = executable;
    run.start = Ticks(start);
    run.end = Ticks(end);
    recorder.add(run);
  }

  /// The drawing above, twice.
  void fill() {
    for (int i = 0; i < 2; ++i) {
      const std::int64_t t = 400 * i;
      if (i == 0) wait(0, 0, 100, model::WaitCause::host, {}, -1);
      const auto f = place(forward0, 0, t + 100, t + 160, Pass::forward, 0, i);
      wait(1, t, t + 180, model::WaitCause::fill, f, i);
      transfer(0, 1, t + 160, t + 180, model::TransferKind::activation, 0, i);
      const auto g = place(forward1, 1, t + 180, t + 200, Pass::forward, 0, i);
      wait(0, t + 160, t + 200, model::WaitCause::slowerStage, g, i);
      place(backward0, 0, t + 200, t + 260, Pass::backward, 0, i);
      place(update0, 0, t + 300, t + 310, Pass::update, -1, i);
    }
    addRun(0, 800);
  }

  std::shared_ptr<const analysis::Trace> trace() {
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
    const auto catalog = analysis::loadCatalog(*profile);
    EXPECT_TRUE(catalog.ok());
    base::SilentProgress progress;
    auto trace = analysis::loadTrace(*profile, **catalog, {executable, {}, {}}, progress);
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
    return trace.ok() ? *trace : nullptr;
  }
};

}  // namespace pipescope::testing
