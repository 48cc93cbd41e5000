// Times of small calls that are computed by hand, and of drawn ones that a plain recursion computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "profiler/clock/run.h"
#include "profiler/clock/timeline.h"

namespace pipescope::clock {
namespace {

using model::Pass;
using testing::ElementsAre;
using testing::HasSubstr;

Piece pieceOf(Pass pass, std::int64_t ticks) {
  return {{}, pass, Ticks(ticks)};
}

/// One replica with a stage at each place, whose passes take so long.
Call callOf(const std::vector<std::int64_t>& forward, const std::vector<std::int64_t>& backward,
            int microBatches) {
  Call call;
  call.iterations = 1;
  call.microBatches = microBatches;
  ReplicaCosts& replica = call.replicas.emplace_back();
  for (std::size_t s = 0; s < forward.size(); ++s) {
    call.placeOfStage.push_back(static_cast<int>(s));
    StageWork& work = replica.stages.emplace_back().works.emplace_back();
    work.forward = {pieceOf(Pass::forward, forward[s])};
    work.backward = {pieceOf(Pass::backward, backward[s])};
  }
  Order& order = call.orders.emplace_back();
  order.places.resize(forward.size());
  replica.sync.resize(forward.size());
  return call;
}

/// All forward passes of each place, then all backward passes in the reverse order.
void fillAndDrain(Call& call) {
  for (int s = 0; s < call.stageCount(); ++s) {
    std::vector<Task>& tasks = call.orders.front().places[static_cast<std::size_t>(s)];
    for (int k = 0; k < call.microBatches; ++k) tasks.push_back({s, k, -1, Pass::forward});
    for (int k = call.microBatches; k-- > 0;) tasks.push_back({s, k, -1, Pass::backward});
  }
}

Flow flowOf(int from, int to, std::int64_t ticks) {
  Flow flow;
  flow.fromStage = from;
  flow.toStage = to;
  flow.kind = from < to ? model::TransferKind::activation : model::TransferKind::gradient;
  flow.ticks = Ticks(ticks);
  return flow;
}

std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> spansOf(const Timeline& timeline, Pass pass) {
  std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> spans;
  for (const PlacedPiece& p : timeline.placements)
    if (p.pass == pass) spans.emplace_back(p.work.stage, p.work.microBatch, p.start.count, p.end.count);
  std::sort(spans.begin(), spans.end());
  return spans;
}

Timeline run(const Call& call, const Host& host = {}, std::vector<Contention*> contention = {}) {
  Timeline timeline;
  const auto times = runCall(call, host, {.contention = std::move(contention), .sink = &timeline});
  EXPECT_TRUE(times.ok());
  // The rows must not change any time.
  EXPECT_EQ(times->end.count, runCall(call, host, {.contention = {}, .sink = nullptr})->end.count)
      << "only valid without contention";
  return timeline;
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

/// A link whose users share it in proportion to what they want of it: a flow all of it, a load its share in
/// thousandths. All take longer by the sum of the shares, if that is above one. A load of share 0 uses
/// another link.
class DividedLink : public Contention {
 public:
  DividedLink(std::vector<std::int64_t> flows, std::vector<std::int64_t> loads)
      : flows_(std::move(flows)), loads_(std::move(loads)) {}
  int groupOf(int index) const override { return shareOf(index) > 0 ? 0 : kAlone; }
  int groups() const override { return 1; }
  int flows() const override { return static_cast<int>(flows_.size()); }
  const std::vector<Ticks>& together(const std::vector<int>& all) override {
    std::int64_t sum = 0;
    for (const int index : all) sum += shareOf(index);
    ticks_.clear();
    for (const int index : all) {
      const std::int64_t alone = index < flows() ? flows_[static_cast<std::size_t>(index)] : kLoadAlone.count;
      ticks_.push_back(Ticks(alone * std::max<std::int64_t>(sum, 1000) / 1000));
    }
    return ticks_;
  }

 private:
  std::int64_t shareOf(int index) const {
    return index < flows() ? 1000 : loads_[static_cast<std::size_t>(index - flows())];
  }
  std::vector<std::int64_t> flows_, loads_;
  std::vector<Ticks> ticks_;
};

/// Two micro-batches of a stage of 30 ticks, each sent to the next stage, which takes 1 tick. The first stage
/// has a collective from 5 to 15 of its pass. A message takes 20 ticks alone.
Call callWithCollective(Ticks slack) {
  Call call = callOf({30, 1}, {0, 0}, 2);
  call.training = false;
  for (int s = 0; s < 2; ++s) call.orders.front().places[static_cast<std::size_t>(s)] = {{s, 0}, {s, 1}};
  ReplicaCosts& replica = call.replicas[0];
  replica.flows = {flowOf(0, 1, 20)};
  replica.linkUses = {{{Ticks(5), Ticks(15), slack, 0}}};
  replica.stages[0].works[0].forward[0].uses = 0;
  return call;
}

struct SharedTimes {
  std::vector<std::pair<std::int64_t, std::int64_t>> transfers, waits;  ///< waits of the first place
  std::vector<std::int64_t> starts;                                     ///< of the last place
  std::int64_t end = 0;
};
SharedTimes sharedTimes(const Call& call, Contention& link) {
  Timeline timeline;
  SharedTimes found;
  found.end = runCall(call, {}, {.contention = {&link}, .sink = &timeline})->end.count;
  for (const PlacedTransfer& t : timeline.transfers) found.transfers.emplace_back(t.start.count, t.end.count);
  for (const Wait& wait : timeline.waits)
    if (wait.place == 0 && wait.cause == model::WaitCause::collective)
      found.waits.emplace_back(wait.start.count, wait.end.count);
  for (const PlacedPiece& piece : timeline.placements)
    if (piece.place == 1) found.starts.push_back(piece.start.count);
  return found;
}

TEST(SharedLinks, ACollectiveInAPassAndATransferSlowEachOtherWhileBothAreUnderWay) {
  // The transfer of micro-batch 0 runs alone from 30 to 35, where 15 of its 20 ticks are left. Then both have
  // half the link. The collective takes 20 instead of 10, until 55, so the pass ends at 70 instead of 60. The
  // transfer has 5 ticks left at 55, and ends at 60. The second transfer runs alone from 70 to 90.
  DividedLink link({20}, {1000});
  const SharedTimes all = sharedTimes(callWithCollective(Ticks(0)), link);
  EXPECT_THAT(all.transfers, ElementsAre(std::pair(30, 60), std::pair(70, 90)));
  EXPECT_THAT(all.waits, ElementsAre(std::pair(60, 70)));
  EXPECT_THAT(all.starts, ElementsAre(60, 90));
  EXPECT_EQ(all.end, 91);
  // A collective that wants six tenths of the link: both take 1.6 times as long, it until 51, where 10 of the
  // transfer's 15 ticks are done.
  DividedLink some({20}, {600});
  const SharedTimes most = sharedTimes(callWithCollective(Ticks(0)), some);
  EXPECT_THAT(most.transfers, ElementsAre(std::pair(30, 56), std::pair(66, 86)));
  EXPECT_THAT(most.waits, ElementsAre(std::pair(60, 66)));
}

/// Two stages of 30 ticks on cores of which each pass fills six tenths. Micro-batch 0 computes alone on stage
/// 0. From 30 on both stages compute, 1.2 times as long, until 66. Then stage 1 computes alone until 96.
TEST(SharedLinks, PassesOnSharedCoresSlowEachOtherAndWaitForTheHost) {
  Call call = callOf({30, 30}, {0, 0}, 2);
  call.training = false;
  call.sharesHost = true;
  for (int s = 0; s < 2; ++s) call.orders.front().places[static_cast<std::size_t>(s)] = {{s, 0}, {s, 1}};
  ReplicaCosts& replica = call.replicas[0];
  replica.linkUses = {{{Ticks(0), Ticks(30), Ticks(0), 0}}};
  for (StageCosts& stage : replica.stages) stage.works[0].forward[0].uses = 0;
  DividedLink cores({}, {600});
  Timeline timeline;
  EXPECT_EQ(runCall(call, {}, {.contention = {&cores}, .sink = &timeline})->end.count, 96);
  std::vector<std::pair<int, std::int64_t>> waits;
  for (const Wait& wait : timeline.waits)
    if (wait.cause == model::WaitCause::host) waits.emplace_back(wait.place, (wait.end - wait.start).count);
  EXPECT_THAT(waits, ElementsAre(std::pair(0, 6), std::pair(1, 6)));
  for (const Wait& wait : timeline.waits) EXPECT_NE(wait.cause, model::WaitCause::collective);
}

TEST(SharedLinks, WhatIsHiddenMayBeLate) {
  // The rest of the pass waits for the collective only from 4 ticks after its end on, so that 6 of 10 count.
  DividedLink link({20}, {1000});
  EXPECT_THAT(sharedTimes(callWithCollective(Ticks(4)), link).waits, ElementsAre(std::pair(60, 66)));
  EXPECT_TRUE(sharedTimes(callWithCollective(Ticks(10)), link).waits.empty());
  EXPECT_EQ(sharedTimes(callWithCollective(Ticks(10)), link).end, 60 + 20 + 1);
}

TEST(SharedLinks, OtherLinksChangeNothing) {
  DividedLink other({20}, {0});
  const Call call = callWithCollective(Ticks(0));
  const SharedTimes apart = sharedTimes(call, other);
  EXPECT_THAT(apart.transfers, ElementsAre(std::pair(30, 50), std::pair(60, 80)));
  EXPECT_TRUE(apart.waits.empty());
  EXPECT_EQ(apart.end, runCall(call, {}, {})->end.count);
}

TEST(SharedLinks, CollectivesFollowEachOtherWhereTheyAreDelayed) {
  // Two collectives of 10 ticks without a gap, in a pass of 30, beside a transfer of 60. In the second
  // pass, each collective takes 20 ticks, from 35 to 55 and from 55 to 75, so that the pass ends at 80, 20
  // late. The transfer has 60 − 5 − 20 = 35 ticks left at 75, and 30 at 80, when the next one begins. Both
  // have half the link until 140; then 30 ticks of the second one are left.
  Call call = callWithCollective(Ticks(0));
  call.replicas[0].flows[0].ticks = Ticks(60);
  call.replicas[0].linkUses[0].push_back({Ticks(15), Ticks(25), Ticks(0), 0});
  DividedLink link({60}, {1000});
  const SharedTimes all = sharedTimes(call, link);
  EXPECT_THAT(all.waits, ElementsAre(std::pair(60, 80)));
  EXPECT_THAT(all.transfers, ElementsAre(std::pair(30, 140), std::pair(80, 170)));
}

/// Stages 0 and 1, a micro-batch, two pieces of 10 in each backward pass. Stage 1 has a collective of 15
/// after the first of them, stage 0 one of 15 on a link of its own. Gradients take 10 to stage 0.
Call callWithBucket() {
  Call call = callOf({10, 10}, {0, 0}, 1);
  fillAndDrain(call);
  ReplicaCosts& replica = call.replicas[0];
  replica.flows = {flowOf(0, 1, 0), flowOf(1, 0, 10)};
  for (int s = 0; s < 2; ++s) {
    StageCosts& stage = replica.stages[static_cast<std::size_t>(s)];
    stage.works[0].backward = {pieceOf(Pass::backward, 10), pieceOf(Pass::backward, 10)};
    stage.overlapped = {{pieceOf(Pass::collective, 15), 0}};
    stage.overlapped[0].piece.uses = s;
    stage.updates = {{pieceOf(Pass::update, 1)}};
  }
  replica.linkUses = {{{Ticks(0), Ticks(15), Ticks(0), 0}}, {{Ticks(0), Ticks(15), Ticks(0), 1}}};
  return call;
}

TEST(SharedLinks, ACollectiveBesideTheBackwardPassAndATransferSlowEachOther) {
  // Stage 1 works from 10 to 40. Its collective begins at 30; at 40, when 5 ticks are left, the gradients
  // leave, so it ends at 50, and they arrive at 55 instead of 50. Stage 0 works until 75; its collective
  // begins at 65 and ends at 80.
  Call call = callWithBucket();
  DividedLink link({0, 10}, {0, 1000});
  Timeline timeline;
  ASSERT_TRUE(runCall(call, {}, {.contention = {&link}, .sink = &timeline}).ok());
  EXPECT_THAT(spansOf(timeline, Pass::collective),
              ElementsAre(std::tuple(0, -1, 65, 80), std::tuple(1, -1, 35, 50)))
      << "a collective that others delay by 5 is placed 5 later";
  ASSERT_EQ(timeline.transfers.size(), 1u);
  EXPECT_EQ(timeline.transfers[0].end.count, 55);
  EXPECT_THAT(spansOf(timeline, Pass::update),
              ElementsAre(std::tuple(0, -1, 80, 81), std::tuple(1, -1, 50, 51)));
  // The delays of a recording give the same times.
  Call recorded = callWithBucket();
  for (StageCosts& stage : recorded.replicas[0].stages) stage.overlapped[0].piece.uses = -1;
  recorded.replicas[0].stages[1].overlapped[0].delays = {Ticks(5)};
  recorded.replicas[0].flows[1].recorded = {Ticks(15)};
  const Timeline replayed = run(recorded);
  EXPECT_EQ(spansOf(replayed, Pass::collective), spansOf(timeline, Pass::collective));
  EXPECT_EQ(spansOf(replayed, Pass::update), spansOf(timeline, Pass::update));
}

TEST(SharedLinks, ReplicasShareTheDelayOfACollective) {
  // The second replica's stage 1 takes 6 longer, so that both collectives begin at 36. In the first replica
  // the gradients leave at 40: 11 ticks are left, of which the transfer's 10 meet 10 until 60; it ends at 61.
  // In the second they leave at 46, when 5 are left, until 56. The collective ends in both at 61, when the
  // last does.
  Call call = callWithBucket();
  call.replicas.push_back(call.replicas[0]);
  call.replicas[1].number = 1;
  call.replicas[1].stages[1].works[0].backward[0] = pieceOf(Pass::backward, 16);
  DividedLink first({0, 10}, {0, 1000}), second({0, 10}, {0, 1000});
  Timeline timeline;
  ASSERT_TRUE(runCall(call, {}, {.contention = {&first, &second}, .sink = &timeline}).ok());
  std::vector<std::pair<int, std::int64_t>> ends;
  for (const PlacedPiece& piece : timeline.placements)
    if (piece.pass == Pass::collective && piece.place == 1) ends.emplace_back(piece.replica, piece.end.count);
  EXPECT_THAT(ends, ElementsAre(std::pair(0, 61), std::pair(1, 61)));
  std::vector<std::pair<int, std::int64_t>> arrivals;
  for (const PlacedTransfer& sent : timeline.transfers) arrivals.emplace_back(sent.replica, sent.end.count);
  std::sort(arrivals.begin(), arrivals.end());
  EXPECT_THAT(arrivals, ElementsAre(std::pair(0, 60), std::pair(1, 61)));
}

/// A drawn pipeline in which passes have collectives and stages have collectives beside the backward pass.
Call drawnSharedCall(std::mt19937& random) {
  const auto upTo = [&](int most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  const auto stages = static_cast<std::size_t>(2 + upTo(3));
  Call call = callOf(std::vector<std::int64_t>(stages, 0), std::vector<std::int64_t>(stages, 0),
                     static_cast<int>(1 + upTo(5)));
  call.iterations = 1 + static_cast<int>(upTo(2));
  fillAndDrain(call);
  ReplicaCosts& replica = call.replicas[0];
  const auto shared = [&](Pass pass) {
    Piece piece = pieceOf(pass, 20 + upTo(30));
    piece.uses = static_cast<int>(replica.linkUses.size());
    const std::int64_t start = upTo(6), middle = start + 1 + upTo(6), next = middle + upTo(4);
    replica.linkUses.push_back(
        {{Ticks(start), Ticks(middle), Ticks(next - middle), static_cast<int>(upTo(3))},
         {Ticks(next), Ticks(next + 1 + upTo(4)), Ticks(0), static_cast<int>(upTo(3))}});
    return piece;
  };
  for (std::size_t s = 0; s < stages; ++s) {
    StageCosts& stage = replica.stages[s];
    stage.works[0].forward = {shared(Pass::forward)};
    stage.works[0].backward = {shared(Pass::backward), pieceOf(Pass::backward, 1 + upTo(9))};
    const int from = static_cast<int>(s);
    if (s + 1 < stages) replica.flows.push_back(flowOf(from, from + 1, 5 + upTo(20)));
    if (s > 0) replica.flows.push_back(flowOf(from, from - 1, 5 + upTo(20)));
    for (int after = 0; after < 2; ++after) {
      OverlappedPiece& one = stage.overlapped.emplace_back();
      one.piece = pieceOf(Pass::collective, 1 + upTo(15));
      one.after = after;
      one.piece.uses = static_cast<int>(replica.linkUses.size());
      replica.linkUses.push_back({{Ticks(0), one.piece.ticks, Ticks(0), static_cast<int>(upTo(3))}});
    }
    stage.updates = {{pieceOf(Pass::update, 1)}};
  }
  return call;
}

std::vector<std::int64_t> flowTicks(const Call& call) {
  std::vector<std::int64_t> ticks;
  for (const Flow& flow : call.replicas[0].flows) ticks.push_back(flow.ticks.count);
  return ticks;
}

TEST(SharedLinks, EqualReplicasAreLikeOneAndLoadsOnOtherLinksAreNone) {
  std::mt19937 random(46);
  int delayed = 0;
  for (int draw = 0; draw < 300; ++draw) {
    SCOPED_TRACE(draw);
    Call call = drawnSharedCall(random);
    const std::vector<std::int64_t> alone = flowTicks(call);
    DividedLink link(alone, {300, 700, 1000}), same(alone, {300, 700, 1000});
    Timeline one, both;
    const std::int64_t end = runCall(call, {}, {.contention = {&link}, .sink = &one})->end.count;
    EXPECT_EQ(runCall(call, {}, {.contention = {&link}, .sink = nullptr})->end.count, end) << "without rows";
    // Loads that use no shared link leave the transfers' contention as it is.
    DividedLink apart(alone, {0, 0, 0});
    Call plain = call;
    plain.replicas[0].linkUses.clear();
    for (StageCosts& stage : plain.replicas[0].stages) {
      for (Pieces* pieces : {&stage.works[0].forward, &stage.works[0].backward})
        for (Piece& piece : *pieces) piece.uses = -1;
      for (OverlappedPiece& overlapped : stage.overlapped) overlapped.piece.uses = -1;
    }
    const std::int64_t without = runCall(plain, {}, {.contention = {&apart}})->end.count;
    EXPECT_EQ(runCall(call, {}, {.contention = {&apart}})->end.count, without);
    delayed += end > without ? 1 : 0;
    call.replicas.push_back(call.replicas[0]);
    call.replicas[1].number = 1;
    EXPECT_EQ(runCall(call, {}, {.contention = {&link, &same}, .sink = &both})->end.count, end);
    EXPECT_EQ(both.placements.size(), 2 * one.placements.size());
    std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> expected = spansOf(one, Pass::collective);
    const std::size_t single = expected.size();
    for (std::size_t i = 0; i < single; ++i) expected.push_back(expected[i]);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(spansOf(both, Pass::collective), expected);
  }
  EXPECT_GE(delayed, 200) << "most draws have collectives on shared links";
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
