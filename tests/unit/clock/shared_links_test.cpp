// Collectives, passes and transfers that share links: small calls that are computed by hand, and drawn ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "profiler/clock/run.h"
#include "profiler/clock/timeline.h"
#include "tests/unit/clock/clock_calls.h"

namespace pipescope::clock {
namespace {

using testing::ElementsAre;

/// A link that its users divide. A flow wants the whole link, and a load wants a share in thousandths. If all
/// together want more than the whole link, everything on it takes longer by that factor. A load of share 0
/// uses another link.
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

}  // namespace
}  // namespace pipescope::clock
