// Threads of one process that compute stages of a pipeline. Times are in microseconds.
#include "profiler/import/recognise/thread_devices.h"

#include <gtest/gtest.h>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::LaneId;
using model::Pass;

struct Work {
  int lane, stage;
  Pass pass;
  std::int64_t start, end;
};

RecordedPass rowOf(const Work& work) {
  RecordedPass row;
  row.device = DeviceId(0);
  row.lane = LaneId(work.lane);
  row.stage = work.stage;
  row.pass = work.pass;
  row.start = Ticks(work.start * 1'000'000);
  row.end = Ticks(work.end * 1'000'000);
  return row;
}

/// The device of each piece of work, and of a step of the process on each new device.
std::vector<std::int64_t> devicesOf(const std::vector<Work>& all, std::size_t stepsAfter) {
  RecordedEvents events;
  for (const Work& work : all) events.passes.push_back(rowOf(work));
  events.steps.push_back({DeviceId(0), Ticks(0), Ticks(1), 3});
  NamedPlaces places;
  places.devices[DeviceId(0)] = "python";
  places.threads = {{LaneId(1), "a"}, {LaneId(2), "b"}};
  std::vector<std::string> names;
  splitThreads(events, places, [&](const std::string& name, DeviceId process) {
    EXPECT_EQ(process, DeviceId(0));
    names.push_back(name);
    return DeviceId(static_cast<std::int64_t>(names.size()));
  });
  EXPECT_EQ(events.steps.size(), stepsAfter);
  if (!names.empty()) {
    EXPECT_EQ(names, (std::vector<std::string>{"python a", "python b"}));
  }
  std::vector<std::int64_t> devices;
  for (const RecordedPass& pass : events.passes) devices.push_back(pass.device.value);
  return devices;
}

using Devices = std::vector<std::int64_t>;

TEST(ThreadDevices, AreThoseOfStagesAtTheSameTime) {
  EXPECT_EQ(devicesOf({{1, 0, Pass::forward, 0, 10}, {2, 1, Pass::forward, 5, 15}}, 3), (Devices{1, 2}));
  EXPECT_EQ(devicesOf({{1, 0, Pass::forward, 0, 10},
                       {2, 1, Pass::forward, 10, 20},
                       {1, 0, Pass::forward, 12, 18},
                       {2, -1, Pass::update, 30, 40}},
                      3),
            (Devices{1, 2, 1, 2}))
      << "an update belongs to the worker of its thread";
}

TEST(ThreadDevices, AreNoneWhereAProcessDoesOneThingAtATime) {
  EXPECT_EQ(devicesOf({{1, 0, Pass::forward, 0, 10}, {2, 1, Pass::forward, 10, 20}}, 1), (Devices{0, 0}));
  EXPECT_EQ(devicesOf({{1, 0, Pass::forward, 0, 10}, {2, 0, Pass::backward, 5, 20}}, 1), (Devices{0, 0}))
      << "a thread of its own computes the backward passes of the same stage";
  EXPECT_EQ(devicesOf({{1, 0, Pass::forward, 0, 10}, {1, 1, Pass::forward, 5, 20}}, 1), (Devices{0, 0}))
      << "one thread";
}

}  // namespace
}  // namespace pipescope::importing
