// A pipeline that was recorded: two stages, two micro-batches, two steps. Times are in units that a reader
// can check.
#include "profiler/import/write/pipeline_rows.h"

#include <gtest/gtest.h>

#include <tuple>

#include "profiler/record/memory_profile.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::Pass;
using model::WaitCause;

template <class Row>
std::vector<Row> rowsOf(const record::MemoryProfile& profile) {
  std::vector<Row> all;
  const auto blocks = profile.blocks<Row>();
  EXPECT_TRUE(blocks.ok());
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const auto block = profile.block<Row>(i);
    EXPECT_TRUE(block.ok());
    all.insert(all.end(), (*block)->begin(), (*block)->end());
  }
  return all;
}

RecordedPass pass(int device, std::int64_t start, std::int64_t end, Pass kind, int microBatch) {
  RecordedPass result;
  result.device = model::DeviceId(device);
  result.lane = model::LaneId(device);
  result.start = Ticks(start);
  result.end = Ticks(end);
  result.pass = kind;
  result.stage = kind == Pass::update ? -1 : device;
  result.microBatch = microBatch;
  return result;
}

/// The causes for which the second of two stages waits, with the ends of these waits. Its second pass needs a
/// message that is sent at 41, after the pass before it, and received from `posted` on.
std::vector<std::pair<WaitCause, std::int64_t>> causesOfALateMessage(std::int64_t posted,
                                                                     bool statesPosting) {
  PipelineRows passes;
  for (RecordedPass row : {pass(0, 0, 10, Pass::forward, 0), pass(0, 10, 40, Pass::forward, 1),
                           pass(1, 14, 20, Pass::forward, 0), pass(1, 45, 50, Pass::forward, 1)}) {
    row.step = 0;
    passes.events().addPass(row);
  }
  for (const int microBatch : {0, 1}) {
    const std::int64_t start = microBatch == 0 ? 11 : 41, end = microBatch == 0 ? 14 : 45;
    for (const bool sends : {true, false}) {
      RecordedPass side =
          pass(sends ? 0 : 1, sends || microBatch == 0 ? start : posted, end, Pass::forward, microBatch);
      side.step = 0;
      side.statesPosting = statesPosting;
      passes.events().addMessage(side, sends);
    }
  }
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  EXPECT_TRUE(passes.write(recorder).ok());
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  std::vector<std::pair<WaitCause, std::int64_t>> causes;
  for (const model::Wait& wait : rowsOf<model::Wait>(profile))
    if (wait.device.value == 1 && wait.start.count >= 20) causes.emplace_back(wait.cause, wait.end.count);
  return causes;
}

TEST(PipelineRows, WaitForTheSenderUntilItSends) {
  using Causes = std::vector<std::pair<WaitCause, std::int64_t>>;
  const Causes onlyLate = {{WaitCause::slowerStage, 41}, {WaitCause::exchange, 45}};
  EXPECT_EQ(causesOfALateMessage(41, false), onlyLate) << "the slice shows the transfer alone";
  EXPECT_EQ(causesOfALateMessage(41, true), onlyLate) << "an earlier receive would not have helped";
  EXPECT_EQ(causesOfALateMessage(30, true),
            (Causes{{WaitCause::slowerStage, 30}, {WaitCause::slowerStage, 41}, {WaitCause::exchange, 45}}));
  EXPECT_EQ(causesOfALateMessage(43, true),
            (Causes{{WaitCause::slowerStage, 41}, {WaitCause::host, 43}, {WaitCause::exchange, 45}}))
      << "the message lay ready for 2";
}

/// Only the receive of a message was recorded, from 25 to 45: its sender may have been late, or the transfer
/// long.
TEST(PipelineRows, WaitForMessagesOfRanksThatWereNotRecorded) {
  PipelineRows passes;
  for (const int microBatch : {0, 1}) {
    RecordedPass row = pass(1, 10 + 40 * microBatch, 20 + 40 * microBatch, Pass::forward, microBatch);
    row.step = 0;
    passes.events().addPass(row);
    row.start = Ticks(5 + 20 * microBatch);
    row.end = Ticks(10 + 35 * microBatch);
    passes.events().addMessage(row, false);
  }
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  EXPECT_TRUE(passes.write(recorder).ok());
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  using Part = std::tuple<WaitCause, std::int64_t, std::int64_t>;
  std::vector<Part> parts;
  for (const model::Wait& wait : rowsOf<model::Wait>(profile)) {
    parts.emplace_back(wait.cause, wait.start.count, wait.end.count);
    EXPECT_FALSE(wait.waitedForDevice.valid());
  }
  EXPECT_EQ(parts, (std::vector<Part>{
                       {WaitCause::host, 20, 25}, {WaitCause::exchange, 25, 45}, {WaitCause::host, 45, 50}}));
}

/// The step of stage 1 ends at 1000 by a clock that has nothing in common with that of stage 0.
TEST(PipelineRows, CompareNoClocksThatHaveNothingInCommon) {
  for (const std::size_t group : {0, 1}) {
    PipelineRows passes;
    passes.setClockGroup(model::DeviceId(1), group);
    for (const std::int64_t step : {0, 1}) {
      for (const int device : {0, 1}) {
        RecordedPass row =
            pass(device, 2000 * step + 990 * device, 2000 * step + 990 * device + 10, Pass::forward, 0);
        row.step = step;
        passes.events().addPass(row);
      }
    }
    record::MemoryProfile profile;
    record::Recorder recorder(profile);
    EXPECT_TRUE(passes.write(recorder).ok());
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
    std::int64_t drained = 0;
    for (const model::Wait& wait : rowsOf<model::Wait>(profile))
      if (wait.device.value == 0 && wait.cause == WaitCause::drain) drained += (wait.end - wait.start).count;
    EXPECT_EQ(drained, group == 0 ? 2 * 990 : 0) << "in both steps";
  }
}

TEST(PipelineRows, SaysWhyADeviceWaits) {
  PipelineRows passes;
  for (const std::int64_t step : {0, 1}) {
    const std::int64_t t = step * 100;
    for (int device : {0, 1})
      passes.events().steps.push_back({model::DeviceId(device), Ticks(t), Ticks(t + 100), 40 + step});
    passes.events().addPass(pass(0, t + 0, t + 10, Pass::forward, 0));
    passes.events().addPass(pass(0, t + 10, t + 20, Pass::forward, 1));
    passes.events().addPass(pass(1, t + 12, t + 22, Pass::forward, 0));  // input left stage 0 at 10
    passes.events().addPass(pass(1, t + 22, t + 42, Pass::backward, 0));
    passes.events().addPass(pass(1, t + 45, t + 55, Pass::forward, 1));  // input left stage 0 at 20
    passes.events().addPass(pass(1, t + 55, t + 75, Pass::backward, 1));
    passes.events().addPass(pass(0, t + 44, t + 54, Pass::backward, 0));  // input left stage 1 at 42
    passes.events().addPass(pass(0, t + 77, t + 87, Pass::backward, 1));
    passes.events().addPass(pass(0, t + 90, t + 95, Pass::update, -1));
    RecordedPass sum = pass(0, t + 85, t + 89, Pass::collective, -1);  // runs beside the backward pass first
    sum.lane = model::LaneId(7);
    passes.events().addPass(sum);
  }
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  EXPECT_TRUE(passes.write(recorder).ok());
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());

  const auto executables = rowsOf<model::Executable>(profile);
  ASSERT_EQ(executables.size(), 1U);
  EXPECT_EQ(executables[0].kind, model::ExecutableKind::training);
  EXPECT_EQ(executables[0].stages, 2);
  EXPECT_EQ(executables[0].microBatches, 2);
  EXPECT_EQ(executables[0].deviceIterations, 2);
  EXPECT_EQ(rowsOf<model::Stage>(profile).size(), 2U);

  const auto placements = rowsOf<model::Placement>(profile);
  ASSERT_EQ(placements.size(), 20U);
  for (const auto& placement : placements) {
    EXPECT_EQ(placement.iteration, placement.start.count / 100);
    EXPECT_EQ(placement.stage, placement.device.value) << "an update belongs to the stage of its device";
  }

  struct Expected {
    std::int64_t device, start, end;
    WaitCause cause;
    std::int64_t producerEnd;  // −1: none
  };
  const Expected expected[] = {
      {0, 20, 42, WaitCause::slowerStage, 42}, {0, 42, 44, WaitCause::exchange, 42},
      {0, 54, 75, WaitCause::slowerStage, 75}, {0, 75, 77, WaitCause::exchange, 75},
      {0, 87, 89, WaitCause::collective, -1},  {0, 89, 90, WaitCause::host, -1},
      {0, 95, 100, WaitCause::host, -1},       {1, 0, 10, WaitCause::fill, 10},
      {1, 10, 12, WaitCause::exchange, 10},    {1, 42, 45, WaitCause::exchange, 20},
      {1, 75, 87, WaitCause::drain, 87},       {1, 87, 95, WaitCause::update, 95},
      {1, 95, 100, WaitCause::host, -1},       {1, 100, 110, WaitCause::fill, 110},
      {1, 110, 112, WaitCause::exchange, 110}, {1, 175, 187, WaitCause::drain, 187},
      {1, 187, 195, WaitCause::update, 195},
  };
  const auto waits = rowsOf<model::Wait>(profile);
  for (const Expected& e : expected) {
    const auto found = std::find_if(waits.begin(), waits.end(), [&](const model::Wait& wait) {
      return wait.device.value == e.device && wait.start.count == e.start && wait.end.count == e.end;
    });
    ASSERT_NE(found, waits.end()) << e.device << " " << e.start;
    EXPECT_EQ(found->cause, e.cause) << e.device << " " << e.start;
    const auto& producer = found->waitedFor;
    EXPECT_EQ(producer.valid() ? placements[static_cast<std::size_t>(producer.value)].end.count : -1,
              e.producerEnd)
        << e.device << " " << e.start;
  }
  // Busy and idle time of each device fill the span from the first pass of the run to the last update.
  for (const std::int64_t device : {0, 1}) {
    std::int64_t total = 0;
    for (const auto& p : placements) {
      if (p.device.value != device || p.pass == Pass::collective) continue;
      total += (p.end - p.start).count;
    }
    for (const auto& wait : waits)
      if (wait.device.value == device) total += (wait.end - wait.start).count;
    EXPECT_EQ(total, 195);
  }
}

/// The devices of a replica update one after another, as PopART's do. The other replica is no reason to wait.
TEST(PipelineRows, WaitForUpdatesOfOtherStages) {
  PipelineRows passes;
  for (const std::int64_t step : {0, 1}) {
    const std::int64_t t = step * 100;
    for (const int replica : {0, 1}) {
      const int first = 2 * replica;
      const auto add = [&](RecordedPass row) {
        row.replica = std::to_string(replica);
        row.stage -= row.stage < 0 ? 0 : first;
        row.step = step;
        passes.events().addPass(row);
      };
      add(pass(first, t + 0, t + 10, Pass::forward, 0));
      add(pass(first + 1, t + 10, t + 20, Pass::forward, 0));
      add(pass(first + 1, t + 20, t + 40, Pass::backward, 0));
      add(pass(first, t + 40, t + 60, Pass::backward, 0));
      add(pass(first, t + 60, t + 70 + replica, Pass::update, -1));
      add(pass(first + 1, t + 70 + replica, t + 85 + replica, Pass::update, -1));
    }
  }
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  EXPECT_TRUE(passes.write(recorder).ok());
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  std::vector<std::string> updates;
  for (const model::Wait& wait : rowsOf<model::Wait>(profile)) {
    if (wait.cause == WaitCause::update)
      updates.push_back(std::to_string(wait.device.value) + ": " + std::to_string(wait.start.count) + "-" +
                        std::to_string(wait.end.count) + " for " +
                        std::to_string(wait.waitedForDevice.value));
  }
  EXPECT_EQ(updates, (std::vector<std::string>{"0: 70-85 for 1", "0: 170-185 for 1", "1: 60-70 for 0",
                                               "1: 160-170 for 0", "2: 71-86 for 3", "2: 171-186 for 3",
                                               "3: 60-71 for 2", "3: 160-171 for 2"}));
}

}  // namespace
}  // namespace pipescope::importing
