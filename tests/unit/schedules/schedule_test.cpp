// Tests of the rules by which schedules refuse shapes, of the layout of stages and of the depth of stashes.
#include "engine/schedules/schedule.h"
#include "profiler/clock/ring_entries.h"

#include <gtest/gtest.h>

#include <set>

namespace pipescope::schedules {
namespace {

Shape shape(std::vector<int> devices, int microBatches, bool training = true) {
  return {static_cast<int>(devices.size()), microBatches, training, std::move(devices)};
}

std::string refusal(const std::string& schedule, const Shape& asked) {
  const auto order = makeOrder(schedule, asked);
  return order.ok() ? "" : order.error().message;
}

Order must(const std::string& schedule, const Shape& asked) {
  auto order = makeOrder(schedule, asked);
  EXPECT_TRUE(order.ok()) << order.error().message;
  return order.ok() ? std::move(order).value() : Order();
}

#define EXPECT_REFUSED(sentence, part) EXPECT_NE((sentence).find(part), std::string::npos) << (sentence)

TEST(Schedules, RefuseWithTheirRuleAndTheNumberNeeded) {
  EXPECT_REFUSED(refusal("tf-grouped", shape({0, 1, 2, 3}, 12)),
                 "multiple of 8 (twice the stages), but it is 12: use 16");
  EXPECT_REFUSED(refusal("tf-grouped", shape({0, 1, 2, 3}, 4)), "use 8");
  EXPECT_REFUSED(refusal("tf-grouped", shape({0, 1, 2, 3}, 6, false)),
                 "device_iterations that is a multiple of 4");
  EXPECT_EQ(refusal("tf-grouped", shape({0, 1, 2, 3}, 4, false)), "");
  EXPECT_REFUSED(refusal("tf-interleaved", shape({0, 1, 2, 3}, 6)), "multiple of 4");
  EXPECT_REFUSED(refusal("tf-interleaved", shape({0, 1, 1}, 6)), "two stages on one device");
  EXPECT_EQ(refusal("tf-interleaved", shape({0, 1, 1}, 6, false)), "");
  for (const char* schedule : {"tf-grouped", "tf-interleaved", "tf-sequential"})
    EXPECT_REFUSED(refusal(schedule, shape({0}, 4)), "at least 2 stages");
  for (const char* schedule : {"1f1b", "zb-h1", "zb-h2"})
    EXPECT_REFUSED(refusal(schedule, shape({0, 1, 2, 1}, 8)), "stage 3 is on device 1");
  EXPECT_REFUSED(refusal("interleaved-1f1b", shape({0, 1, 0, 1}, 7)), "multiple of 2, but it is 7: use 8");
  EXPECT_REFUSED(refusal("interleaved-1f1b", shape({0, 1, 2, 3}, 8)), "at least 2 devices");
  EXPECT_REFUSED(refusal("interleaved-1f1b", shape({0, 1, 1, 0}, 8)), "execution.chunks");
  EXPECT_REFUSED(refusal("interleaved-1f1b", shape({0, 1, 2, 0, 1}, 8)), "laid out in rounds");
  EXPECT_REFUSED(refusal("interleaved-1f1b", shape({0}, 8)), "with one chunk on each device use 1f1b");
  EXPECT_REFUSED(refusal("zb-v", shape({0, 1, 0, 1}, 8)), "laid out as a V");
  EXPECT_REFUSED(refusal("zb-v", shape({0, 1, 0}, 8)), "an even number of stages");
  EXPECT_REFUSED(refusal("dualpipe", shape({0, 1, 2, 2, 1, 0}, 8)), "an even number of devices");
  EXPECT_REFUSED(refusal("dualpipe", shape({0, 1, 1, 0}, 5)), "at least 4, but it is 5");
  EXPECT_REFUSED(refusal("dualpipe", shape({0, 1, 1, 0}, 2)), "at least 4, but it is 2");
  EXPECT_REFUSED(refusal("dualpipe", shape({0, 1, 1, 0}, 3, false)), "at least 2, but it is 3");
  EXPECT_REFUSED(refusal("gpipe", shape({}, 1)), "at least one stage");
  EXPECT_REFUSED(refusal("gpipe", shape({0}, 0)), "at least one micro-batch");
  EXPECT_REFUSED(refusal("gpip", shape({0}, 1)), "did you mean \"gpipe\"? Known are");
}

// PopART and TensorFlow for IPU end each cycle with a barrier; sharded execution and TensorFlow's sequential
// schedule let one micro-batch in at a time; the schedules from the literature only wait for inputs.
TEST(Schedules, StateWhatTheirTasksWaitFor) {
  for (const ScheduleDefinition& schedule : scheduleRegistry().all()) {
    model::ScheduleKind expected = model::ScheduleKind::dependency;
    if (schedule.name == "popart" || schedule.name == "tf-grouped" || schedule.name == "tf-interleaved")
      expected = model::ScheduleKind::barrier;
    if (schedule.name == "sharded" || schedule.name == "tf-sequential")
      expected = model::ScheduleKind::oneAtATime;
    EXPECT_EQ(schedule.progression, expected) << schedule.name;
  }
  EXPECT_EQ(must("popart", shape({0, 1}, 4)).progression, model::ScheduleKind::barrier);
  EXPECT_EQ(must("sharded", shape({0, 1}, 4)).progression, model::ScheduleKind::oneAtATime);
  EXPECT_EQ(toString(model::ScheduleKind::oneAtATime), "one at a time");
  EXPECT_EQ(toString(model::ScheduleKind::barrier), "barrier");
  EXPECT_EQ(toString(model::ScheduleKind::dependency), "dependency");
}

TEST(Schedules, LayTheirStagesOut) {
  const auto laidOut = [](const char* schedule, int stages, int chunks) {
    const auto devices = layOut(**findSchedule(schedule), stages, chunks);
    return devices.ok() ? *devices : std::vector<int>();
  };
  const auto refused = [](const char* schedule, int stages, int chunks) {
    const auto devices = layOut(**findSchedule(schedule), stages, chunks);
    return devices.ok() ? "" : devices.error().message;
  };
  EXPECT_EQ(laidOut("popart", 3, 0), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(laidOut("popart", 3, 1), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(laidOut("interleaved-1f1b", 4, 0), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(laidOut("interleaved-1f1b", 6, 3), (std::vector<int>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(laidOut("zb-v", 6, 0), (std::vector<int>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(laidOut("dualpipe", 4, 2), (std::vector<int>{0, 1, 1, 0}));
  EXPECT_REFUSED(refused("popart", 4, 2), "one chunk on each device, but 2 are asked for");
  EXPECT_REFUSED(refused("interleaved-1f1b", 4, 1), "at least two chunks on each device, but 1 is asked for");
  EXPECT_REFUSED(refused("interleaved-1f1b", 5, 2),
                 "5 stages are not a multiple of that: use a multiple of 2");
  EXPECT_REFUSED(refused("zb-v", 4, 4), "two chunks on each device, but 4 are asked for");
}

TEST(Schedules, NeighboursOnOneDeviceAreOneChunk) {
  // 1F1B over devices 0, 0, 1 is 1F1B over two devices, where the first has two pieces of work.
  const Order order = must("1f1b", shape({0, 0, 1}, 3));
  std::vector<std::tuple<int, int, model::Pass>> first;
  for (const Task& task : order.places[0]) first.emplace_back(task.stage, task.microBatch, task.pass);
  using enum model::Pass;
  EXPECT_EQ(first, (std::vector<std::tuple<int, int, model::Pass>>{{0, 0, forward},
                                                                   {1, 0, forward},
                                                                   {0, 1, forward},
                                                                   {1, 1, forward},
                                                                   {1, 0, backward},
                                                                   {0, 0, backward},
                                                                   {0, 2, forward},
                                                                   {1, 2, forward},
                                                                   {1, 1, backward},
                                                                   {0, 1, backward},
                                                                   {1, 2, backward},
                                                                   {0, 2, backward}}));
  EXPECT_EQ(order.stashEntries, (std::vector<std::int64_t>{2, 2, 0}));
}

TEST(Schedules, StashDepths) {
  const std::vector<int> four = {0, 1, 2, 3};
  using Depths = std::vector<std::int64_t>;
  EXPECT_EQ(must("popart", shape(four, 8)).stashEntries, (Depths{7, 5, 3, 0}));
  EXPECT_EQ(must("tf-grouped", shape(four, 8)).stashEntries, (Depths{6, 4, 2, 0}));
  EXPECT_EQ(must("tf-interleaved", shape(four, 8)).stashEntries, (Depths{3, 2, 1, 0}));
  EXPECT_EQ(must("tf-sequential", shape(four, 8)).stashEntries, (Depths{0, 0, 0, 0}));
  EXPECT_EQ(must("gpipe", shape(four, 8)).stashEntries, (Depths{8, 8, 8, 8}));
  EXPECT_EQ(must("gpipe", shape(four, 1)).stashEntries, (Depths{0, 0, 0, 0}));
  EXPECT_EQ(must("1f1b", shape(four, 8)).stashEntries, (Depths{4, 3, 2, 0}));
  EXPECT_EQ(must("zb-h1", shape(four, 8)).stashEntries, (Depths{4, 4, 4, 4}));
  EXPECT_EQ(must("zb-h2", shape(four, 8)).stashEntries, (Depths{7, 7, 7, 7}));
  // The last stage of a zero-bubble schedule holds micro-batches for their weight gradients only.
  EXPECT_EQ(clock::ringEntries(must("zb-h1", shape(four, 8))), (Depths{4, 4, 4, 0}));
  EXPECT_EQ(clock::ringEntries(must("zb-h2", shape(four, 8))), (Depths{7, 7, 7, 0}));
  EXPECT_EQ(clock::ringEntries(must("gpipe", shape(four, 8))), (Depths{8, 8, 8, 8}));
  EXPECT_EQ(clock::ringEntries(must("popart", shape(four, 8))), (Depths{7, 5, 3, 0}));
  // Weight gradients that are put off: stage s puts off as many as its delay, plus the one under way.
  EXPECT_EQ(must("zb-h1", shape(four, 8)).weightEntries, (Depths{0, 2, 3, 4}));
  EXPECT_EQ(must("zb-h2", shape(four, 8)).weightEntries, (Depths{0, 3, 5, 7}));
  EXPECT_EQ(must("1f1b", shape(four, 8)).weightEntries, (Depths{0, 0, 0, 0}));
  EXPECT_EQ(must("1f1b", shape(four, 8, false)).stashEntries, (Depths{0, 0, 0, 0}));
}

TEST(Schedules, EveryMicroBatchGoesThroughEveryStageOnce) {
  for (const ScheduleDefinition& definition : scheduleRegistry().all()) {
    for (const bool training : {true, false}) {
      SCOPED_TRACE(definition.name + (training ? " training" : " inference"));
      const int stages = 8, g = 16;
      const auto devices = layOut(definition, stages, 0);
      ASSERT_TRUE(devices.ok());
      const Order order = must(definition.name, shape(*devices, g, training));
      EXPECT_EQ(order.splitBackward, training && definition.splitBackward);
      std::set<std::tuple<int, model::Pass, int>> seen;
      std::size_t tasks = 0;
      for (std::size_t d = 0; d < order.places.size(); ++d) {
        for (const Task& task : order.places[d]) {
          EXPECT_EQ((*devices)[static_cast<std::size_t>(task.stage)], static_cast<int>(d));
          seen.insert({task.stage, task.pass, task.microBatch});
          ++tasks;
        }
      }
      const std::size_t passes = !training ? 1 : definition.splitBackward ? 3 : 2;
      EXPECT_EQ(tasks, passes * static_cast<std::size_t>(stages * g / definition.pipes));
      EXPECT_EQ(seen.size(), tasks);
    }
  }
}

}  // namespace
}  // namespace pipescope::schedules
