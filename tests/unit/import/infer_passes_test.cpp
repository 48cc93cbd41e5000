// Passes that follow from messages and operators alone.
#include "profiler/import/recognise/infer_passes.h"

#include <gtest/gtest.h>

namespace pipescope::importing {
namespace {

using base::Ticks;

RecordedPass side(int rank, std::int64_t start, std::int64_t end) {
  RecordedPass result;
  result.device = model::DeviceId(rank);
  result.rank = rank;
  result.start = Ticks(start);
  result.end = Ticks(end);
  result.name = "gloo:message";
  result.statesPass = false;
  return result;
}

/// Two ranks, one micro-batch: rank 0 computes forward until 100 and backward from 310 to 390, rank 1 forward
/// from 110 to 200 and backward from 200 to 300.
RecordedEvents twoRanks() {
  RecordedEvents events;
  events.steps = {{model::DeviceId(0), Ticks(10), Ticks(400), 0},
                  {model::DeviceId(1), Ticks(10), Ticks(400), 0}};
  events.sends = {side(0, 100, 102), side(1, 300, 302)};
  events.receives = {side(1, 20, 110), side(0, 105, 310)};
  events.backwardOperators = {{model::DeviceId(0), Ticks(310), Ticks(350)},
                              {model::DeviceId(0), Ticks(350), Ticks(390)},
                              {model::DeviceId(1), Ticks(200), Ticks(300)}};
  return events;
}

TEST(ProposePasses, DividesTheTimeBetweenMessages) {
  RecordedEvents events = twoRanks();
  ASSERT_EQ(inferPasses(events), 4);
  const std::tuple<int, model::Pass, std::int64_t, std::int64_t> expected[] = {
      {0, model::Pass::forward, 10, 100},
      {0, model::Pass::backward, 310, 390},
      {1, model::Pass::forward, 110, 200},
      {1, model::Pass::backward, 200, 300}};
  for (std::size_t i = 0; i < 4; ++i) {
    const RecordedPass& pass = events.passes[i];
    EXPECT_EQ(std::tuple(pass.stage, pass.pass, pass.start.count, pass.end.count), expected[i]) << i;
    EXPECT_TRUE(pass.countsMicroBatch);
  }
}

/// GPipe with two micro-batches: all forward passes of a rank come before its backward passes.
TEST(ProposePasses, FindsThePassesOfGPipe) {
  RecordedEvents events;
  events.steps = {{model::DeviceId(0), Ticks(10), Ticks(800), 0},
                  {model::DeviceId(1), Ticks(10), Ticks(800), 0}};
  events.sends = {side(0, 100, 102), side(0, 190, 192), side(1, 400, 402), side(1, 600, 602)};
  events.receives = {side(1, 20, 110), side(1, 200, 205), side(0, 195, 410), side(0, 480, 610)};
  events.backwardOperators = {{model::DeviceId(0), Ticks(410), Ticks(470)},
                              {model::DeviceId(0), Ticks(610), Ticks(700)},
                              {model::DeviceId(1), Ticks(300), Ticks(390)},
                              {model::DeviceId(1), Ticks(403), Ticks(590)}};
  ASSERT_EQ(inferPasses(events), 8);
  using enum model::Pass;
  const std::tuple<int, model::Pass, std::int64_t, std::int64_t> expected[] = {
      {0, forward, 10, 100},  {0, forward, 102, 190}, {0, backward, 410, 470}, {0, backward, 610, 700},
      {1, forward, 110, 200}, {1, forward, 205, 300}, {1, backward, 300, 390}, {1, backward, 403, 590}};
  for (std::size_t i = 0; i < 8; ++i) {
    const RecordedPass& pass = events.passes[i];
    EXPECT_EQ(std::tuple(pass.stage, pass.pass, pass.start.count, pass.end.count), expected[i]) << i;
  }
}

/// A rank between two others sends and receives twice for each micro-batch.
TEST(ProposePasses, FindsThePassesOfThreeRanks) {
  RecordedEvents events;
  for (int rank = 0; rank < 3; ++rank)
    events.steps.push_back({model::DeviceId(rank), Ticks(10), Ticks(800), 0});
  events.sends = {side(0, 100, 102), side(1, 200, 202), side(2, 400, 402), side(1, 500, 502)};
  events.receives = {side(1, 20, 110), side(2, 20, 210), side(1, 205, 410), side(0, 105, 510)};
  events.backwardOperators = {{model::DeviceId(0), Ticks(510), Ticks(600)},
                              {model::DeviceId(1), Ticks(410), Ticks(500)},
                              {model::DeviceId(2), Ticks(300), Ticks(400)}};
  ASSERT_EQ(inferPasses(events), 6);
  using enum model::Pass;
  const std::tuple<int, model::Pass, std::int64_t, std::int64_t> expected[] = {
      {0, forward, 10, 100},   {0, backward, 510, 600}, {1, forward, 110, 200},
      {1, backward, 410, 500}, {2, forward, 210, 300},  {2, backward, 300, 400}};
  for (std::size_t i = 0; i < 6; ++i) {
    const RecordedPass& pass = events.passes[i];
    EXPECT_EQ(std::tuple(pass.stage, pass.pass, pass.start.count, pass.end.count), expected[i]) << i;
  }
}

/// Messages that state both ranks join those of one pipeline: here 0 and 2, and 1 and 3.
TEST(ProposePasses, PipelinesAreThoseThatMessagesJoin) {
  RecordedEvents events;
  for (int replica = 0; replica < 2; ++replica) {
    RecordedEvents one = twoRanks();
    const auto rankOf = [replica](std::int64_t rank) { return 2 * rank + replica; };
    for (auto* list : {&one.sends, &one.receives})
      for (RecordedPass& own : *list) {
        own.peer = static_cast<int>(rankOf(1 - own.rank));
        own.rank = static_cast<int>(rankOf(own.rank));
        own.device = model::DeviceId(own.rank);
      }
    for (auto& step : one.steps) step.device = model::DeviceId(rankOf(step.device.value));
    for (auto& op : one.backwardOperators) op.device = model::DeviceId(rankOf(op.device.value));
    events.steps.insert(events.steps.end(), one.steps.begin(), one.steps.end());
    events.sends.insert(events.sends.end(), one.sends.begin(), one.sends.end());
    events.receives.insert(events.receives.end(), one.receives.begin(), one.receives.end());
    events.backwardOperators.insert(events.backwardOperators.end(), one.backwardOperators.begin(),
                                    one.backwardOperators.end());
  }
  ASSERT_EQ(inferPasses(events), 8);
  std::map<std::int64_t, int> stages;
  for (const RecordedPass& pass : events.passes) stages[pass.device.value] = pass.stage;
  EXPECT_EQ(stages, (std::map<std::int64_t, int>{{0, 0}, {1, 0}, {2, 1}, {3, 1}}));
}

TEST(ProposePasses, GivesNoVerdictWhereTheMessagesAreNoPipeline) {
  RecordedEvents more = twoRanks();
  more.sends.push_back(side(1, 320, 322));
  EXPECT_EQ(inferPasses(more), 0) << "the ends exchange different numbers of messages";
  RecordedEvents elsewhere = twoRanks();
  elsewhere.backwardOperators[0] =
      elsewhere.backwardOperators[1] = {model::DeviceId(0), Ticks(20), Ticks(90)};
  EXPECT_EQ(inferPasses(elsewhere), 0) << "no backward pass of rank 0 lies behind its receive";
  RecordedEvents unnamed = twoRanks();
  for (auto* list : {&unnamed.sends, &unnamed.receives})
    for (RecordedPass& own : *list) own.rank = -1;
  EXPECT_EQ(inferPasses(unnamed), 0) << "the order of the ranks is not known";
  RecordedEvents forwardOnly = twoRanks();
  forwardOnly.backwardOperators.clear();
  EXPECT_EQ(inferPasses(forwardOnly), 0) << "forward and backward cannot be told apart";
  RecordedEvents named = twoRanks();
  named.passes.push_back(side(0, 10, 20));
  EXPECT_EQ(inferPasses(named), 0) << "a rule recognised a pass";
}

}  // namespace
}  // namespace pipescope::importing
