// Times of small calls that are computed by hand, and of drawn ones that a plain recursion computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "profiler/clock/run.h"
#include "profiler/clock/timeline.h"
#include "tests/unit/clock/clock_calls.h"

namespace pipescope::clock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OutputRule, SaysWhichMicroBatchesReturn) {
  const auto returned = [](OutputRule::Mode mode, std::int64_t period) {
    std::vector<int> indices;
    for (int i = 0; i < 7; ++i)
      if (OutputRule{mode, period}.returns(i, 7)) indices.push_back(i);
    return indices;
  };
  using Mode = OutputRule::Mode;
  EXPECT_THAT(returned(Mode::all, 3), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(returned(Mode::none, 1), ElementsAre());
  EXPECT_THAT(returned(Mode::last, 3), ElementsAre(6));
  EXPECT_THAT(returned(Mode::everyN, 3), ElementsAre(2, 5));
  EXPECT_THAT(returned(Mode::everyN, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Clock, ABarrierWaitsForTheSlowestAndForAllCopies) {
  // Slot 0: place 0 computes 3. Slot 1: places compute 3 and 5. Slot 2: place 1 computes 5. Copies take 2.
  Call call = callOf({3, 5}, {0, 0}, 2);
  call.training = false;
  Order& order = call.orders.front();
  order.progression = model::ScheduleKind::barrier;
  order.slots = 3;
  order.places[0] = {{0, 0, 0}, {0, 1, 1}};
  order.places[1] = {{1, 0, 1}, {1, 1, 2}};
  call.replicas[0].flows = {flowOf(0, 1, 2)};
  const Timeline timeline = run(call);
  EXPECT_THAT(spansOf(timeline, Pass::forward),
              ElementsAre(std::tuple(0, 0, 0, 3), std::tuple(0, 1, 5, 8), std::tuple(1, 0, 5, 10),
                          std::tuple(1, 1, 12, 17)));
  std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> waits;
  for (const Wait& w : timeline.waits)
    waits.emplace_back(w.place, static_cast<int>(w.cause), w.start.count, w.end.count);
  const auto is = [](model::WaitCause cause) { return static_cast<int>(cause); };
  // The copies of the last slot run, too, although they carry nothing.
  EXPECT_THAT(waits, testing::UnorderedElementsAre(std::tuple(1, is(model::WaitCause::fill), 0, 3),
                                                   std::tuple(0, is(model::WaitCause::slowerStage), 8, 10),
                                                   std::tuple(0, is(model::WaitCause::drain), 12, 17)));
  ASSERT_EQ(timeline.transfers.size(), 3u);
  EXPECT_EQ(timeline.transfers[2].work.microBatch, -1);
}

/// Two flows that share one link: each takes twice its time while both are under way.
class OneLink : public Contention {
 public:
  explicit OneLink(std::vector<std::int64_t> alone) : alone_(std::move(alone)) {}
  int groupOf(int) const override { return 0; }
  int groups() const override { return 1; }
  int flows() const override { return static_cast<int>(alone_.size()); }
  const std::vector<Ticks>& together(const std::vector<int>& flows) override {
    ticks_.clear();
    for (const int flow : flows)
      ticks_.push_back(
          Ticks(alone_[static_cast<std::size_t>(flow)] * static_cast<std::int64_t>(flows.size())));
    return ticks_;
  }

 private:
  std::vector<std::int64_t> alone_;
  std::vector<Ticks> ticks_;
};

TEST(Clock, TransfersThatShareALinkSlowEachOtherDownWhileBothAreUnderWay) {
  // Stages 0 → 1 → 2 for one micro-batch each way; place 0 sends micro-batch 1 while place 1 sends 0.
  Call call = callOf({10, 4, 1}, {0, 0, 0}, 2);
  call.training = false;
  for (int s = 0; s < 3; ++s) call.orders.front().places[static_cast<std::size_t>(s)] = {{s, 0}, {s, 1}};
  call.replicas[0].flows = {flowOf(0, 1, 8), flowOf(1, 2, 6)};
  OneLink link({8, 6});
  Timeline timeline;
  ASSERT_TRUE(runCall(call, {}, {.contention = {&link}, .sink = &timeline}).ok());
  // 0 → 1 sends from 10 to 18 alone. Place 1 computes 18 … 22 and sends from 22. Place 0 sends again from 20:
  // two ticks alone leave 6 of 8, and with both under way these take 12. The other's 6 take 12, until 34.
  std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> sent;
  for (const PlacedTransfer& t : timeline.transfers)
    sent.emplace_back(t.flow, t.work.microBatch, t.start.count, t.end.count);
  EXPECT_TRUE(std::is_sorted(sent.begin(), sent.end(), [](const auto& a, const auto& b) {
    return std::pair(std::get<3>(a), std::get<2>(a)) < std::pair(std::get<3>(b), std::get<2>(b));
  })) << "transfers are told as they end, and of two that end together the one that began first comes first";
  std::sort(sent.begin(), sent.end());
  // 0 → 1 ends at 22 + 12 = 34, and 1 → 2 at 34 as well; then micro-batch 1 leaves place 1 at 38, alone.
  EXPECT_THAT(sent, ElementsAre(std::tuple(0, 0, 10, 18), std::tuple(0, 1, 20, 34), std::tuple(1, 0, 22, 34),
                                std::tuple(1, 1, 38, 44)));
}

TEST(Clock, TellsTransfersThatEndBeforeWorkThatBeginsAtTheSameTime) {
  Call call = callOf({4, 4}, {0, 0}, 2);
  call.training = false;
  for (int s = 0; s < 2; ++s) call.orders.front().places[static_cast<std::size_t>(s)] = {{s, 0}, {s, 1}};
  call.replicas[0].flows = {flowOf(0, 1, 4)};
  class Order : public Timeline {
   public:
    model::PlacementId placed(int replica, int place, const Piece& piece, Ticks start,
                              const WorkOf& work) override {
      if (place == 1) told.push_back("work");
      return Timeline::placed(replica, place, piece, start, work);
    }
    void transferred(int, int, Ticks, Ticks, model::PlacementId, const WorkOf&) override {
      told.push_back("transfer");
    }
    std::vector<std::string> told;
  } order;
  OneLink link({4});
  ASSERT_TRUE(runCall(call, {}, {.contention = {&link}, .sink = &order}).ok());
  // Place 0 ends micro-batch 1 at 8, when the transfer of micro-batch 0 ends.
  EXPECT_THAT(order.told, ElementsAre("transfer", "work", "transfer", "work"));
}

TEST(Clock, ASendThatBlocksEndsWhenItsReceiverTakesTheMessage) {
  // Forward passes take 1 and 3, backward passes 2, transfers 1.
  Call call = callOf({1, 3}, {2, 2}, 3);
  fillAndDrain(call);
  call.replicas[0].flows = {flowOf(0, 1, 1), flowOf(1, 0, 1)};
  EXPECT_EQ(runCall(call, {}, {})->end.count, 20);
  call.blockingSends = true;
  const Timeline timeline = run(call);
  EXPECT_THAT(spansOf(timeline, Pass::forward),
              ElementsAre(std::tuple(0, 0, 0, 1), std::tuple(0, 1, 2, 3), std::tuple(0, 2, 6, 7),
                          std::tuple(1, 0, 2, 5), std::tuple(1, 1, 6, 9), std::tuple(1, 2, 10, 13)));
  EXPECT_THAT(spansOf(timeline, Pass::backward),
              ElementsAre(std::tuple(0, 0, 22, 24), std::tuple(0, 1, 19, 21), std::tuple(0, 2, 16, 18),
                          std::tuple(1, 0, 19, 21), std::tuple(1, 1, 16, 18), std::tuple(1, 2, 13, 15)));
  std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> sent;
  for (const PlacedTransfer& t : timeline.transfers)
    sent.emplace_back(t.flow, t.work.microBatch, t.start.count, t.end.count);
  std::sort(sent.begin(), sent.end());
  EXPECT_THAT(sent,
              ElementsAre(std::tuple(0, 0, 1, 2), std::tuple(0, 1, 5, 6), std::tuple(0, 2, 9, 10),
                          std::tuple(1, 0, 21, 22), std::tuple(1, 1, 18, 19), std::tuple(1, 2, 15, 16)));
  // Place 0 waits from 3 on for the end of the pass with which place 1 is busy, and then for the transfer.
  std::vector<std::tuple<int, std::int64_t, std::int64_t, int>> waits;
  for (const Wait& w : timeline.waits)
    if (w.place == 0 && w.start.count < 10)
      waits.emplace_back(static_cast<int>(w.cause), w.start.count, w.end.count, w.waitedForPlace);
  const auto is = [](model::WaitCause cause) { return static_cast<int>(cause); };
  EXPECT_THAT(waits, ElementsAre(std::tuple(is(model::WaitCause::exchange), 1, 2, 1),
                                 std::tuple(is(model::WaitCause::slowerStage), 3, 5, 1),
                                 std::tuple(is(model::WaitCause::exchange), 5, 6, 1),
                                 std::tuple(is(model::WaitCause::slowerStage), 7, 9, 1),
                                 std::tuple(is(model::WaitCause::exchange), 9, 10, 1)));
}

TEST(Clock, RefusesSendsThatBlockForEver) {
  // Place 1 waits for micro-batch 1 first. Place 0 cannot compute it before somebody takes micro-batch 0.
  Call call = callOf({1, 1}, {0, 0}, 2);
  call.training = false;
  call.orders.front().places[0] = {{0, 0}, {0, 1}};
  call.orders.front().places[1] = {{1, 1}, {1, 0}};
  call.replicas[0].flows = {flowOf(0, 1, 1)};
  EXPECT_TRUE(runCall(call, {}, {}).ok());
  call.blockingSends = true;
  const auto times = runCall(call, {}, {});
  ASSERT_FALSE(times.ok());
  EXPECT_THAT(times.error().message, HasSubstr("a send ends only when the receiver takes the message"));
}

TEST(Clock, RefusesAnOrderThatWaitsForItself) {
  Call call = callOf({1, 1}, {1, 1}, 1);
  call.orders.front().places[0] = {{0, 0, -1, Pass::backward}, {0, 0, -1, Pass::forward}};
  call.orders.front().places[1] = {{1, 0, -1, Pass::forward}, {1, 0, -1, Pass::backward}};
  const auto times = runCall(call, {}, {});
  ASSERT_FALSE(times.ok());
  EXPECT_THAT(times.error().message, HasSubstr("a pass waits for one that comes after it"));
}

/// Ends of tasks by plain recursion: a task starts when the task before it on its place and its input have
/// ended, and the input has travelled.
class Recursion {
 public:
  explicit Recursion(const Call& call) : call_(call) {
    for (const auto& tasks : call.orders.front().places) {
      for (std::size_t i = 0; i < tasks.size(); ++i)
        before_[key(tasks[i])] = i == 0 ? std::nullopt : std::optional(tasks[i - 1]);
    }
  }
  std::int64_t end(const Task& task) {
    const auto [known, added] = ends_.try_emplace(key(task), 0);
    if (!added) return known->second;
    std::int64_t start = 0;
    if (const auto& before = before_.at(key(task))) start = end(*before);
    const int last = call_.stageCount() - 1;
    if (task.pass == Pass::forward && task.stage > 0)
      start = std::max(start, arrival({task.stage - 1, task.microBatch, -1, task.pass}));
    if (task.pass == Pass::backward && task.stage < last)
      start = std::max(start, arrival({task.stage + 1, task.microBatch, -1, task.pass}));
    const StageWork& work = call_.replicas[0].stages[static_cast<std::size_t>(task.stage)].works[0];
    return ends_[key(task)] = start + work.of(task.pass).front().ticks.count;
  }

 private:
  using Key = std::tuple<int, int, Pass>;
  static Key key(const Task& task) { return {task.stage, task.microBatch, task.pass}; }
  std::int64_t arrival(const Task& sender) {
    for (const Flow& flow : call_.replicas[0].flows) {
      const bool forward = flow.kind == model::TransferKind::activation;
      if (flow.fromStage == sender.stage && forward == (sender.pass == Pass::forward))
        return end(sender) + flow.ticks.count;
    }
    return end(sender);
  }
  const Call& call_;
  std::map<Key, std::optional<Task>> before_;
  std::map<Key, std::int64_t> ends_;
};

TEST(Clock, DrawnCallsTakeAsLongAsARecursionSays) {
  std::mt19937 random(7);
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint32_t>(most - least + 1));
  };
  for (int draw = 0; draw < 200; ++draw) {
    const int stages = pick(1, 6), microBatches = pick(1, 9);
    std::vector<std::int64_t> forward, backward;
    for (int s = 0; s < stages; ++s) {
      forward.push_back(pick(0, 40));
      backward.push_back(pick(0, 60));
    }
    Call call = callOf(forward, backward, microBatches);
    if (pick(0, 1) == 0) {
      fillAndDrain(call);
    } else {
      // 1F1B: stage s runs stages − s forward passes before its first backward pass.
      for (int s = 0; s < stages; ++s) {
        std::vector<Task>& tasks = call.orders.front().places[static_cast<std::size_t>(s)];
        const int ahead = std::min(stages - s, microBatches);
        int f = 0;
        for (; f < ahead; ++f) tasks.push_back({s, f, -1, Pass::forward});
        for (int b = 0; b < microBatches; ++b) {
          tasks.push_back({s, b, -1, Pass::backward});
          if (f < microBatches) tasks.push_back({s, f++, -1, Pass::forward});
        }
      }
    }
    for (int s = 0; s + 1 < stages; ++s) {
      if (pick(0, 2) == 0) continue;
      call.replicas[0].flows.push_back(flowOf(s, s + 1, pick(0, 15)));
      call.replicas[0].flows.push_back(flowOf(s + 1, s, pick(0, 15)));
    }
    Recursion recursion(call);
    const Timeline timeline = run(call);
    std::int64_t last = 0;
    for (const PlacedPiece& p : timeline.placements) {
      const std::int64_t end = recursion.end({p.work.stage, p.work.microBatch, -1, p.pass});
      ASSERT_EQ(p.end.count, end) << "draw " << draw;
      last = std::max(last, end);
    }
    EXPECT_EQ(runCall(call, {}, {})->computed.end.count, last);
  }
}

TEST(Clock, TheHostWorksBesideTheStepUnlessItReadsResults) {
  // A step takes 40. The host needs 50 for one.
  Call call = callOf({10}, {30}, 1);
  call.iterations = 3;
  fillAndDrain(call);
  Host host;
  host.step = Ticks(50);
  // It begins the next step when the devices begin this one: at 50, 100, 150.
  EXPECT_EQ(runCall(call, host, {})->end.count, 190);
  host.readsResults = true;
  EXPECT_EQ(runCall(call, host, {})->end.count, 270);
  host.readsResults = false;
  // The host of a second call has worked on the first step since the last call began.
  const auto first = runCall(call, host, {});
  const auto second = runCall(
      call, host, {.start = first->end, .contention = {}, .sink = nullptr, .hostState = first->hostState});
  EXPECT_EQ((second->end - first->end).count, 150);
  host.firstDelay = Ticks(5);
  EXPECT_EQ(runCall(call, host, {})->end.count, 5 + 50 + 50 + 40);
}

TEST(Clock, OnlyTheLastMicroBatchOfTheCallMayReturnItsOutput) {
  Call call = callOf({10}, {30}, 3);
  call.iterations = 2;
  fillAndDrain(call);
  call.replicas[0].stages[0].works[0].hostOut = {pieceOf(Pass::hostOut, 4)};
  call.output.mode = OutputRule::Mode::last;
  // The six forward passes take 10 each. The third one of the second iteration ends at 3·40 + 3·10.
  const Timeline timeline = run(call);
  EXPECT_THAT(spansOf(timeline, Pass::hostOut), ElementsAre(std::tuple(0, 2, 150, 154)));
  EXPECT_EQ(runCall(call, {}, {})->end.count, 2 * 3 * 40 + 4);
}

TEST(Clock, ReplicasWaitForEachOtherInCollectivesUnlessTheyWereMeasured) {
  Call call = callOf({10}, {30}, 1);
  fillAndDrain(call);
  call.replicas[0].stages[0].updates = {{pieceOf(Pass::collective, 7), pieceOf(Pass::update, 2)}};
  call.replicas.push_back(call.replicas[0]);
  call.replicas[1].stages[0].works[0].forward = {pieceOf(Pass::forward, 25)};
  EXPECT_EQ(runCall(call, {}, {})->end.count, 25 + 30 + 7 + 2);
  Timeline timeline;
  ASSERT_TRUE(runCall(call, {}, {.contention = {}, .sink = &timeline}).ok());
  const auto collectives = [&] {
    std::vector<std::pair<int, std::int64_t>> starts;
    for (const PlacedPiece& p : timeline.placements)
      if (p.pass == Pass::collective) starts.emplace_back(p.replica, p.start.count);
    return starts;
  };
  EXPECT_THAT(collectives(), ElementsAre(std::pair(0, 55), std::pair(1, 55)));
  call.measured = true;
  timeline = Timeline();
  ASSERT_TRUE(runCall(call, {}, {.contention = {}, .sink = &timeline}).ok());
  EXPECT_THAT(collectives(), ElementsAre(std::pair(0, 40), std::pair(1, 55)));
}

TEST(Clock, ACollectiveBesideTheBackwardPassFollowsItsPiece) {
  // Backward: recompute 5, then 10, then 20. A sum of 30 follows the piece of 10, at 10 + 5 + 10 = 25.
  Call call = callOf({10}, {0}, 1);
  fillAndDrain(call);
  StageCosts& stage = call.replicas[0].stages[0];
  stage.works[0].backward = {pieceOf(Pass::recompute, 5), pieceOf(Pass::backward, 10),
                             pieceOf(Pass::backward, 20)};
  stage.overlapped = {{pieceOf(Pass::collective, 30), 1}};
  stage.updates = {{pieceOf(Pass::update, 1)}};
  const Timeline timeline = run(call);
  EXPECT_EQ(timeline.placements[4].start.count, 25);
  EXPECT_EQ(timeline.placements.back().start.count, 55) << "the update waits for the sum";
}

TEST(Clock, PlacesWithCopiesOfAWeightMeetBeforeTheirSum) {
  // Forward passes end at 10, 20 and 30; backward passes end at 36, 42 and 48, from the last place to the
  // first. The outer places meet at 48 and add up for 7. The inner one updates at once.
  Call call = callOf({10, 10, 10}, {6, 6, 6}, 1);
  for (int s = 0; s < 2; ++s) {
    call.replicas[0].flows.push_back(flowOf(s, s + 1, 0));
    call.replicas[0].flows.push_back(flowOf(s + 1, s, 0));
  }
  fillAndDrain(call);
  for (StageCosts& stage : call.replicas[0].stages) stage.updates = {{pieceOf(Pass::update, 1)}};
  for (const std::size_t s : {0U, 2U}) call.replicas[0].stages[s].tied = {{pieceOf(Pass::collective, 7), 0}};
  const Timeline timeline = run(call);
  EXPECT_THAT(spansOf(timeline, Pass::collective),
              ElementsAre(std::tuple(0, -1, 48, 55), std::tuple(2, -1, 48, 55)));
  EXPECT_THAT(spansOf(timeline, Pass::update),
              ElementsAre(std::tuple(0, -1, 55, 56), std::tuple(1, -1, 42, 43), std::tuple(2, -1, 55, 56)));
  // A slower second replica keeps both replicas' places waiting: its first backward pass ends 4 later.
  call.replicas.push_back(call.replicas.front());
  call.replicas[1].number = 1;
  call.replicas[1].stages[0].works[0].backward = {pieceOf(Pass::backward, 10)};
  EXPECT_EQ(runCall(call, {}, {})->end.count, 52 + 7 + 1);
}

TEST(Clock, LearnsWhatItsRulesDoNotExplain) {
  // Recorded: forward 0 … 10, backward 17 … 47: seven ticks that no rule explains.
  Call call = callOf({10}, {30}, 1);
  call.measured = true;
  call.recordedMicroBatches = 1;
  fillAndDrain(call);
  call.replicas[0].stages[0].workOf = {0};
  RecordedStarts starts;
  starts.tasks = {{Ticks(0), Ticks(17), Ticks(INT64_MIN)}};
  starts.updates = {{{}}};
  ASSERT_TRUE(learnLags(call, {}, starts, Ticks(0)).ok());
  EXPECT_EQ(call.replicas[0].stages[0].works[0].lag[1].count, 7);
  EXPECT_EQ(runCall(call, {}, {})->end.count, 47);
}

TEST(Timeline, AWaitThatWorkEndsIsCutAndLaterOnesGo) {
  const auto waitOf = [](int replica, int place, std::int64_t start, std::int64_t end) {
    Wait wait;
    wait.replica = replica;
    wait.place = place;
    wait.start = Ticks(start);
    wait.end = Ticks(end);
    return wait;
  };
  Timeline timeline;
  for (const Wait& wait : {waitOf(1, 0, 0, 90), waitOf(0, 1, 10, 20), waitOf(0, 1, 20, 30)})
    timeline.waited(wait);
  timeline.waitedLess(0, 0, Ticks(5));
  timeline.waitedLess(1, 1, Ticks(5));
  ASSERT_EQ(timeline.waits.size(), 3U) << "others waited";
  timeline.waitedLess(0, 1, Ticks(15));
  ASSERT_EQ(timeline.waits.size(), 2U);
  EXPECT_EQ(timeline.waits[1].end.count, 15);
  timeline.waitedLess(0, 1, Ticks(5));
  ASSERT_EQ(timeline.waits.size(), 1U);
  EXPECT_EQ(timeline.waits[0].end.count, 90) << "the wait of another replica stays";
}

}  // namespace
}  // namespace pipescope::clock
