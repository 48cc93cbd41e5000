// Messages whose passes a trace does not state, and stages that follow from them. Times are in microseconds.
#include "profiler/import/recognise/infer_messages.h"

#include <gtest/gtest.h>

#include "profiler/import/recognise/infer_events.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

constexpr std::int64_t kMicrosecond = 1'000'000;

RecordedPass row(int device, std::int64_t start, std::int64_t end, const std::string& name) {
  RecordedPass result;
  result.device = DeviceId(device);
  result.rank = device;
  result.start = Ticks(start * kMicrosecond);
  result.end = Ticks(end * kMicrosecond);
  result.name = name;
  return result;
}

RecordedPass pass(int stage, Pass kind, int microBatch, std::int64_t start, std::int64_t end) {
  RecordedPass result = row(stage, start, end, "pass");
  result.pass = kind;
  result.stage = stage;
  result.microBatch = microBatch;
  result.step = 0;
  return result;
}

RecordedPass message(int device, std::int64_t start, std::int64_t end, const std::string& name) {
  RecordedPass result = row(device, start, end, name);
  result.statesPass = false;
  return result;
}

std::string textOf(const RecordedPass& side) {
  return (side.statesPass ? model::toString(side.pass) : std::string("open")) + " " +
         std::to_string(side.microBatch) + " " + std::to_string(side.start.count / kMicrosecond) + "-" +
         std::to_string(side.end.count / kMicrosecond);
}

std::vector<std::string> textsOf(const std::vector<RecordedPass>& sides) {
  std::vector<std::string> texts;
  for (const RecordedPass& side : sides) texts.push_back(textOf(side));
  return texts;
}

using Texts = std::vector<std::string>;

/// The middle one of three stages, with the order F0 F1 B0 B1.
RecordedEvents middleStage() {
  RecordedEvents events;
  events.passes = {pass(1, Pass::forward, 0, 100, 200), pass(1, Pass::forward, 1, 300, 400),
                   pass(1, Pass::backward, 0, 500, 600), pass(1, Pass::backward, 1, 700, 800),
                   pass(2, Pass::forward, 0, 0, 1)};
  return events;
}

TEST(MessagePasses, FollowFromTheirNeighbours) {
  RecordedEvents events = middleStage();
  for (const std::int64_t end : {90, 290, 490, 690}) {
    events.receives.push_back(message(1, end - 40, end - 38, "c10d::recv_"));
    events.receives.push_back(message(1, end - 39, end, "gloo:recv"));
  }
  for (const std::int64_t start : {205, 405, 605, 805}) {
    events.sends.push_back(message(1, start, start + 5, "c10d::send"));
    events.sends.push_back(message(1, start + 4, start + 30, "gloo:send"));
  }
  EXPECT_EQ(inferMessages(events), 8);
  EXPECT_EQ(textsOf(events.receives),
            (Texts{"forward 0 50-90", "forward 1 250-290", "backward 0 450-490", "backward 1 650-690"}));
  EXPECT_EQ(textsOf(events.sends),
            (Texts{"forward 0 205-210", "forward 1 405-410", "backward 0 605-610", "backward 1 805-810"}));
}

/// The start of the backend's slice may lie behind the rounded end of its call if times are in whole
/// microseconds.
TEST(MessagePasses, BeginWithinTheirCallsUpToRounding) {
  std::vector<RecordedPass> slices = {message(1, 10, 17, "c10d::recv_"), message(1, 18, 40, "gloo:recv"),
                                      message(1, 41, 42, "gloo:recv"), message(1, 50, 52, "c10d::recv_"),
                                      message(1, 54, 60, "gloo:recv")};
  const std::vector<RecordedPass> joined = joinedSlices(std::move(slices), false);
  ASSERT_EQ(joined.size(), 4U) << "only the first two are of one message";
  EXPECT_EQ(joined[0].start.count, 10 * kMicrosecond);
  EXPECT_EQ(joined[0].end.count, 40 * kMicrosecond);
}

TEST(MessagePasses, KeepTheirOrderWhereReceivesAreMadeEarly) {
  RecordedEvents events = middleStage();
  // All receives are begun at once, but each ends before its pass.
  for (const std::int64_t end : {90, 150, 290, 480})
    events.receives.push_back(message(1, 10 + end / 10, end, "gloo:recv"));
  EXPECT_EQ(inferMessages(events), 4);
  EXPECT_EQ(textsOf(events.receives),
            (Texts{"forward 0 19-90", "forward 1 25-150", "backward 0 39-290", "backward 1 58-480"}));
}

TEST(MessagePasses, LeaveOpenWhatHasNoPass) {
  RecordedEvents events = middleStage();
  // The trace begins after the first receive, and one receive is of something else.
  events.receives = {message(1, 250, 290, "gloo:recv"), message(1, 420, 430, "gloo:recv"),
                     message(1, 450, 490, "gloo:recv"), message(1, 850, 890, "gloo:recv")};
  EXPECT_EQ(inferMessages(events), 2);
  EXPECT_EQ(textsOf(events.receives),
            (Texts{"forward 1 250-290", "open -1 420-430", "backward 0 450-490", "open -1 850-890"}));
}

TEST(MessagePasses, ShortenThePassesThatEncloseThem) {
  RecordedEvents events;
  events.passes = {pass(1, Pass::forward, 0, 100, 300), pass(2, Pass::forward, 0, 0, 1)};
  events.receives = {message(1, 110, 180, "gloo:recv")};
  events.sends = {message(1, 290, 295, "gloo:send")};
  EXPECT_EQ(inferMessages(events), 2);
  EXPECT_EQ(textOf(events.passes[0]), "forward 0 180-290") << "it waited before, and sent afterwards";
}

TEST(MessagePasses, PairByPassOrByRanks) {
  RecordedPass send = pass(0, Pass::forward, 3, 10, 20), receive = pass(1, Pass::forward, 3, 15, 25);
  EXPECT_EQ(pairMessages({send}, {receive}).size(), 1U);
  receive.microBatch = 4;
  EXPECT_TRUE(pairMessages({send}, {receive}).empty());
  // The first of two messages from rank 5 to rank 6 is sent and received first.
  std::vector<RecordedPass> sends(2), receives(2);
  for (int i = 0; i < 2; ++i) {
    sends[i] = message(5, 100 - 10 * i, 110, "nccl:send");
    sends[i].peer = 6;
    receives[i] = message(6, 120 + 10 * i, 200, "nccl:recv");
    receives[i].peer = 5;
  }
  const auto pairs = pairMessages(sends, receives);
  EXPECT_EQ(pairs, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 0}, {0, 1}}));
}

/// Passes without stages on `ranks` ranks; those in `fed` receive something before each forward pass.
RecordedEvents unplaced(int ranks, const std::vector<int>& fed) {
  RecordedEvents events;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int m = 0; m < 2; ++m) {
      const std::int64_t at = 1000 * m;
      for (const Pass kind : {Pass::forward, Pass::backward}) {
        const std::int64_t start = at + (kind == Pass::forward ? 100 : 500);
        RecordedPass own = pass(rank, kind, m, start, start + 100);
        own.stage = -1;
        events.passes.push_back(own);
      }
      if (std::find(fed.begin(), fed.end(), rank) != fed.end())
        events.receives.push_back(message(rank, at + 50, at + 90, "gloo:recv"));
    }
  }
  return events;
}

std::vector<std::string> placesIn(RecordedEvents events) {
  inferEvents(events);
  std::vector<std::string> places;
  for (const RecordedPass& own : events.passes)
    if (own.pass == Pass::forward && own.microBatch == 0)
      places.push_back(std::to_string(own.stage) + "/" + own.replica);
  return places;
}

TEST(CompletePasses, InfersStagesFromRanksAndMessages) {
  EXPECT_EQ(placesIn(unplaced(3, {})), (Texts{"0/0", "1/0", "2/0"})) << "no messages: one pipeline";
  EXPECT_EQ(placesIn(unplaced(4, {1, 2, 3})), (Texts{"0/0", "1/0", "2/0", "3/0"}));
  EXPECT_EQ(placesIn(unplaced(4, {1, 3})), (Texts{"0/0", "1/0", "0/1", "1/1"})) << "pipelines are neighbours";
  EXPECT_EQ(placesIn(unplaced(4, {2, 3})), (Texts{"0/0", "0/1", "1/0", "1/1"})) << "replicas are neighbours";
  EXPECT_EQ(placesIn(unplaced(4, {0, 1, 2})), (Texts{"-1/", "-1/", "-1/", "-1/"}))
      << "the last rank is no first";
  EXPECT_EQ(placesIn(unplaced(3, {1})), (Texts{"-1/", "-1/", "-1/"})) << "three ranks hold no two pipelines";
  EXPECT_EQ(placesIn(unplaced(1, {})), (Texts{"-1/"})) << "one rank of nobody knows how many";
}

/// A pipeline of four ranks of which only some have a trace: each receives an activation from the rank before
/// it and a gradient from the one behind it.
RecordedEvents recordedRanks(const std::vector<int>& ranks) {
  RecordedEvents events;
  for (const int rank : ranks) {
    for (const Pass kind : {Pass::forward, Pass::backward}) {
      const std::int64_t start = kind == Pass::forward ? 100 : 500;
      RecordedPass own = pass(rank, kind, 0, start, start + 100);
      own.stage = -1;
      events.passes.push_back(own);
      const int peer = kind == Pass::forward ? rank - 1 : rank + 1;
      if (peer < 0 || peer > 3) continue;
      events.receives.push_back(message(rank, start - 50, start - 10, "nccl:recv"));
      events.receives.back().peer = peer;
      events.sends.push_back(message(rank, start + 300, start + 340, "nccl:send"));
      events.sends.back().peer = peer;
    }
  }
  return events;
}

TEST(CompletePasses, CountsTheMissingRanksThatMessagesName) {
  EXPECT_EQ(placesIn(recordedRanks({0, 1, 2, 3})), (Texts{"0/0", "1/0", "2/0", "3/0"}));
  EXPECT_EQ(placesIn(recordedRanks({0, 2, 3})), (Texts{"0/0", "2/0", "3/0"}));
  EXPECT_EQ(placesIn(recordedRanks({0, 1, 3})), (Texts{"0/0", "1/0", "3/0"}));
  EXPECT_EQ(placesIn(recordedRanks({0, 1, 2})), (Texts{"0/0", "1/0", "2/0"}));
  EXPECT_EQ(placesIn(recordedRanks({1, 2, 3})), (Texts{"-1/", "-1/", "-1/"}))
      << "nobody knows how many ranks come before rank 0";
  EXPECT_EQ(placesIn(recordedRanks({0, 3})), (Texts{"-1/", "-1/"})) << "the line has a gap";
  RecordedEvents ring = recordedRanks({0, 1, 2});
  ring.receives.push_back(message(0, 800, 810, "nccl:recv"));
  ring.receives.back().peer = 3;
  EXPECT_EQ(placesIn(std::move(ring)), (Texts{"-1/", "-1/", "-1/"}))
      << "rank 3 feeds rank 0, which holds a second chunk of the model";
  const auto stagesOf = [](const std::vector<int>& ranks) {
    RecordedEvents events = recordedRanks(ranks);
    for (RecordedPass& own : events.passes) own.stage = static_cast<std::int32_t>(own.rank);
    inferEvents(events);
    return events.stages;
  };
  EXPECT_EQ(stagesOf({0, 1, 2, 3}), 4);
  EXPECT_EQ(stagesOf({0, 1, 2}), 4) << "rank 2 sends to rank 3, which no trace is of";
  EXPECT_EQ(stagesOf({0, 1}), 3) << "rank 2 may be the last one";
  EXPECT_EQ(stagesOf({1}), 3) << "one of its neighbours is behind it";
  EXPECT_EQ(stagesOf({3}), 4);
}

/// Some of the messages would tell of wrong passes and wrong stages.
TEST(CompletePasses, UseAllMessagesOrNone) {
  RecordedEvents events = unplaced(3, {1, 2});
  events.receives.clear();
  for (std::int64_t i = 0; i < RecordedEvents::kMostMessages; ++i) events.addMessage({}, i % 2 == 0);
  EXPECT_FALSE(events.leavesOutMessages());
  EXPECT_EQ(events.sends.size() + events.receives.size(), RecordedEvents::kMostMessages);
  events.addMessage({}, true);
  events.addMessage({}, false);
  EXPECT_TRUE(events.leavesOutMessages());
  EXPECT_EQ(events.messages, RecordedEvents::kMostMessages + 2);
  EXPECT_EQ(placesIn(std::move(events)), (Texts{"-1/", "-1/", "-1/"}));
}

TEST(CompletePasses, GuessesNoStagesWhereRanksAreMissing) {
  const auto placesOf = [](const std::vector<int>& ranks) {
    RecordedEvents events = unplaced(static_cast<int>(ranks.size()), {1, 2, 3});
    for (auto* list : {&events.passes, &events.receives})
      for (RecordedPass& own : *list) own.rank = ranks[static_cast<std::size_t>(own.device.value)];
    return placesIn(std::move(events));
  };
  EXPECT_EQ(placesOf({0, 8, 16, 24}), (Texts{"0/0", "1/0", "2/0", "3/0"})) << "every eighth rank";
  EXPECT_EQ(placesOf({0, 1, 3, 4}), (Texts{"-1/", "-1/", "-1/", "-1/"})) << "rank 2 is missing";
}

/// Ranks 1 and 2 of three receive activations, and ranks 0 and 1 gradients. All receives are posted at the
/// start of the step, so the calls that post them end before the first pass of each rank.
TEST(CompletePasses, InfersStagesFromReceivesThatArePostedEarly) {
  RecordedEvents events;
  for (int rank = 0; rank < 3; ++rank) {
    for (const Pass kind : {Pass::forward, Pass::backward}) {
      const bool forward = kind == Pass::forward;
      const std::int64_t start = forward ? 100 + 100 * rank : 700 - 100 * rank;
      RecordedPass own = pass(-1, kind, -1, start, start + 50);
      own.device = DeviceId(rank);
      own.rank = rank;
      own.countsMicroBatch = true;
      events.passes.push_back(own);
      if (rank == (forward ? 0 : 2)) continue;
      events.receives.push_back(message(rank, forward ? 10 : 20, forward ? 12 : 22, "c10d::recv_"));
      events.receives.push_back(message(rank, forward ? 11 : 21, start - 5, "gloo:recv"));
    }
  }
  inferEvents(events);
  Texts places;
  for (const RecordedPass& own : events.passes)
    places.push_back(std::to_string(own.stage) + " " + model::toString(own.pass));
  EXPECT_EQ(places, (Texts{"0 forward", "0 backward", "1 forward", "1 backward", "2 forward", "2 backward"}));
}

TEST(CompletePasses, NumbersReplicasThatComputeTheSameStages) {
  const auto replicasOf = [](const std::vector<int>& stageOfRank) {
    RecordedEvents events;
    for (std::size_t rank = 0; rank < stageOfRank.size(); ++rank) {
      RecordedPass own = pass(stageOfRank[rank], Pass::forward, 0, 100, 200);
      own.device = DeviceId(static_cast<std::int64_t>(rank));
      own.rank = static_cast<std::int64_t>(rank);
      events.passes.push_back(own);
    }
    inferEvents(events);
    Texts replicas;
    for (const RecordedPass& own : events.passes) replicas.push_back(own.replica);
    return replicas;
  };
  EXPECT_EQ(replicasOf({0, 1, 0, 1}), (Texts{"0", "0", "1", "1"})) << "pipelines are neighbours";
  EXPECT_EQ(replicasOf({0, 0, 1, 1}), (Texts{"0", "1", "0", "1"})) << "replicas are neighbours";
  EXPECT_EQ(replicasOf({0, 1, 2}), (Texts{"", "", ""})) << "one pipeline";
  EXPECT_EQ(replicasOf({0, 0, 1}), (Texts{"0", "1", "0"}))
      << "a rank is missing, but replicas are neighbours";
  EXPECT_EQ(replicasOf({0, 1, 1, 0, 0}), (Texts{"0", "3", "4", "1", "2"}))
      << "nobody knows, and no two ranks are one";
  EXPECT_EQ(replicasOf({0, 1, 0}), (Texts{"0", "0", "1"}))
      << "a rank is missing, but pipelines are neighbours";
}

/// Rank 4 of two pipelines, 0–2–4–6 and 1–3–5–7, has no trace.
TEST(CompletePasses, JoinsReplicasByMessagesOfMissingRanks) {
  RecordedEvents events;
  for (const int rank : {0, 1, 2, 3, 5, 6, 7}) {
    RecordedPass own = pass(rank / 2, Pass::forward, 0, 100 * rank, 100 * rank + 50);
    own.device = DeviceId(rank);
    own.rank = rank;
    events.passes.push_back(own);
    for (const int peer : {rank - 2, rank + 2}) {
      if (peer < 0 || peer > 7) continue;
      RecordedPass side = message(rank, 100 * rank + 60, 100 * rank + 70, "nccl:send");
      side.peer = peer;
      events.sends.push_back(side);
    }
  }
  // A stage with other ranks than the order of the ranks tells.
  for (RecordedPass& own : events.passes)
    if (own.stage >= 2) own.stage = 5 - own.stage;
  inferEvents(events);
  for (const RecordedPass& own : events.passes)
    EXPECT_EQ(own.replica, own.rank % 2 == 0 ? "0" : "1") << own.rank;
}

TEST(CompletePasses, CountsStepsAndMicroBatches) {
  // No step is marked. Micro-batches are stated: they begin anew in each step.
  RecordedEvents stated;
  for (const int step : {0, 1})
    for (const int m : {0, 1, 2}) {
      stated.passes.push_back(pass(0, Pass::forward, m, 1000 * step + 100 * m, 1000 * step + 100 * m + 50));
      stated.passes.back().step.reset();
    }
  inferEvents(stated);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(stated.passes[i].step, i / 3) << i;
  // Weight updates end the steps if neither is stated.
  RecordedEvents counted;
  for (int i = 0; i < 5; ++i) {
    RecordedPass own = pass(0, i == 2 ? Pass::update : Pass::forward, -1, 100 * i, 100 * i + 50);
    own.step.reset();
    own.countsMicroBatch = i != 2;
    counted.passes.push_back(own);
  }
  inferEvents(counted);
  const std::pair<int, int> expected[] = {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {1, 1}};  // step, micro-batch
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(counted.passes[i].step, expected[i].first) << i;
    EXPECT_EQ(counted.passes[i].microBatch, expected[i].second) << i;
  }
}

}  // namespace
}  // namespace pipescope::importing
