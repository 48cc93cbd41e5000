// Collectives of ranks and of replicas that share links with transfers. Expected times are worked out by
// hand.
#include <gtest/gtest.h>

#include "bus_system.h"
#include "engine/emulate/link_uses.h"

namespace pipescope::tests {
namespace {

using emulate::LinkContention;
using emulate::LinkLoad;
using model::MeshAxis;

constexpr std::int64_t kAlone = clock::Contention::kLoadAlone.count;

std::vector<std::int64_t> ticksOf(LinkContention& links, const std::vector<int>& all) {
  std::vector<std::int64_t> ticks;
  for (const Ticks each : links.together(all)) ticks.push_back(each.count);
  return ticks;
}

TEST(LinkLoads, TakeTheirShareOfALink) {
  // The first message of a byte takes a tick, so of 101 ticks 100 move bytes that others slow down.
  const BusSystem system(2, {}, {}, [](const devices::Flow&) { return 0; });
  LinkContention links(system, {{0, 1, Bytes(101)}, {1, 0, Bytes(101)}});
  links.setLoads({LinkLoad{{{0, 1.0}}, MeshAxis::tensor}, LinkLoad{{{0, 0.5}}, MeshAxis::data}});
  EXPECT_EQ(ticksOf(links, {0}), (std::vector<std::int64_t>{101})) << "nothing else is under way";
  EXPECT_EQ(ticksOf(links, {0, 2}), (std::vector<std::int64_t>{201, 2 * kAlone}));
  EXPECT_EQ(ticksOf(links, {0, 3}), (std::vector<std::int64_t>{151, kAlone / 2 * 3}));
  EXPECT_EQ(ticksOf(links, {2, 3}), (std::vector<std::int64_t>{kAlone / 2 * 3, kAlone / 2 * 3}));
  EXPECT_EQ(ticksOf(links, {3}), (std::vector<std::int64_t>{kAlone}));
  // Two flows of 202 together leave a load a third of the link.
  EXPECT_EQ(ticksOf(links, {0, 1, 2}), (std::vector<std::int64_t>{303, 303, 3 * kAlone}));
}

TEST(LinkLoads, FitBesideEachOtherWhereTheLinkHasRoom) {
  const BusSystem system(2, {}, {}, [](const devices::Flow&) { return 0; });
  LinkContention links(system, {});
  links.setLoads({LinkLoad{{{7, 0.25}, {8, 0.75}}, MeshAxis::tensor}, LinkLoad{{{7, 0.75}}, MeshAxis::data},
                  LinkLoad{{{8, 0.75}}, MeshAxis::context}});
  EXPECT_EQ(ticksOf(links, {0, 1}), (std::vector<std::int64_t>{kAlone, kAlone}));
  EXPECT_EQ(ticksOf(links, {0, 1, 2}), (std::vector<std::int64_t>{kAlone / 2 * 3, kAlone, kAlone / 2 * 3}))
      << "the most loaded link of each counts";
}

TEST(LinkLoads, MatterWhereSeveralAxesMeet) {
  const BusSystem system(3, {}, {}, [](const devices::Flow& flow) { return flow.from; });
  LinkContention links(system, {{0, 1, Bytes(8)}, {1, 2, Bytes(8)}});
  links.setLoads({LinkLoad{{{5, 1}}, MeshAxis::tensor}, LinkLoad{{{0, 1}}, MeshAxis::tensor},
                  LinkLoad{{{6, 1}}, MeshAxis::data}, LinkLoad{{{6, 1}}, MeshAxis::data},
                  LinkLoad{{{1, 1}, {7, 1}}, MeshAxis::context}, LinkLoad{{{7, 1}}, MeshAxis::expert}});
  EXPECT_EQ(links.groups(), 2);
  EXPECT_EQ(links.groupOf(2), LinkContention::kAlone) << "its link is its own";
  EXPECT_EQ(links.groupOf(3), links.groupOf(0));
  EXPECT_EQ(links.groupOf(4), LinkContention::kAlone) << "one axis has the link";
  EXPECT_EQ(links.groupOf(5), LinkContention::kAlone);
  EXPECT_EQ(links.groupOf(6), links.groupOf(1));
  EXPECT_EQ(links.groupOf(7), links.groupOf(1)) << "through the load before it";
}

TEST(LinkUses, AreTheCollectivesOfASegmentWithWhatFollowsThem) {
  class Shares : public BusSystem {
   public:
    Shares() : BusSystem(1, {}, {}, [](const devices::Flow&) { return 0; }) {}
    std::vector<devices::LinkShare> linkShares(const ops::Collective& work, int device,
                                               const std::vector<int>&) const override {
      if (work.axis == MeshAxis::expert) return {};
      return {{device, work.elements == 4 ? 1.0 : 0.5}};
    }
  } system;
  devices::LoweredPass pass;
  const auto add = [&](MeshAxis axis, std::int64_t elements) {
    devices::LoweredOperator& op = pass.operators.emplace_back();
    op.collective = ops::Collective{.elements = elements, .axis = axis};
  };
  add(MeshAxis::tensor, 4);
  add(MeshAxis::expert, 4);
  add(MeshAxis::tensor, 8);
  devices::LoweredSegment segment;
  segment.ticks = Ticks(100);
  const auto step = [&](model::StepKind kind, int op, std::int64_t offset, std::int64_t ticks) {
    devices::LoweredStep& made = segment.steps.emplace_back();
    made.kind = kind;
    made.op = op;
    made.offset = Ticks(offset);
    made.ticks = Ticks(ticks);
  };
  step(model::StepKind::compute, -1, 0, 10);
  step(model::StepKind::globalExchange, 0, 10, 20);
  step(model::StepKind::compute, -1, 10, 25);
  step(model::StepKind::globalExchange, 1, 30, 5);
  step(model::StepKind::compute, -1, 37, 10);
  step(model::StepKind::globalExchange, 2, 50, 40);
  step(model::StepKind::globalExchange, 0, 90, 10);
  const compile::Mesh mesh;
  emulate::LinkUses uses(system, mesh);
  // The next beginning after the end of each is the exchange at 30, the one at 90, and the end of the
  // segment.
  EXPECT_EQ(uses.of(pass, segment, 0), (std::vector<clock::LinkUse>{{Ticks(10), Ticks(30), Ticks(0), 0},
                                                                    {Ticks(50), Ticks(90), Ticks(0), 1},
                                                                    {Ticks(90), Ticks(100), Ticks(0), 0}}));
  segment.steps.pop_back();
  EXPECT_EQ(uses.of(pass, segment, 0)[1].slack, Ticks(10)) << "until the end of the segment";
  ASSERT_EQ(uses.loads().size(), 2U);
  EXPECT_EQ(uses.loads()[1], (LinkLoad{{{0, 0.5}}, MeshAxis::tensor}));
}

/// Two stages. The first takes 30,000, and has a collective over tensor ranks from 5,000 to 15,000; the
/// second takes 1,000.
class SharedBus : public BusSystem {
 public:
  explicit SharedBus(std::int64_t bus)
      : BusSystem(2, {}, {}, [](const devices::Flow&) { return 0; }), bus_(bus) {}
  base::Result<devices::LoweredDevice> lower(
      const std::vector<const compile::StageIr*>& stages) const override {
    devices::LoweredDevice lowered;
    const compile::StageIr& stage = *stages.front();
    lowered.device = stage.place;
    devices::LoweredPass pass{stage.index, model::Pass::forward, {}, {}};
    pass.operators.emplace_back().collective = ops::Collective{.elements = 4, .axis = MeshAxis::tensor};
    devices::LoweredSegment& segment = pass.segments.emplace_back();
    segment.lane = model::LaneRole::compute;
    segment.ticks = Ticks(stage.index == 0 ? 30'000 : 1'000);
    if (stage.index == 0)
      for (const auto& [kind, offset, ticks, op] : {std::tuple{model::StepKind::compute, 0, 5'000, -1},
                                                    {model::StepKind::globalExchange, 5'000, 10'000, 0},
                                                    {model::StepKind::compute, 15'000, 15'000, -1}}) {
        devices::LoweredStep& step = segment.steps.emplace_back();
        step.kind = kind;
        step.lane = model::LaneRole::compute;
        step.offset = Ticks(offset);
        step.ticks = Ticks(ticks);
        step.op = op;
      }
    lowered.passes.push_back(pass);
    return lowered;
  }
  std::vector<devices::LinkShare> linkShares(const ops::Collective&, int,
                                             const std::vector<int>&) const override {
    return {{bus_, 1}};
  }

 private:
  std::int64_t bus_;
};

TEST(SharedBus, ACollectiveOfRanksAndATransferSlowEachOther) {
  const SharedBus shared(0), apart(1);
  BusRun run, other;
  emulateOn(shared, "gpipe", 2, 2, false, 20'000, emulate::RecordLevel::steps, run);
  emulateOn(apart, "gpipe", 2, 2, false, 20'000, emulate::RecordLevel::steps, other);
  // As in tests/unit/clock: from 35,000 on, when 15,000 of the transfer are left, both have half the bus
  // until 55,000; the transfer ends at 60,000, the pass at 70,000. Rounding takes some ticks.
  ASSERT_EQ(run.transfers.size(), 2U);
  EXPECT_NEAR(run.transfers[0].end.count, 60'000, 3);
  EXPECT_EQ(run.transfers[1].start.count, 70'000);
  EXPECT_EQ(run.run.end.count, 70'000 + 20'000 + 1'000);
  const auto waits = **run.profile.rows<model::Wait>();
  const auto slowed = std::ranges::find(waits, model::WaitCause::collective, &model::Wait::cause);
  ASSERT_NE(slowed, waits.end());
  EXPECT_EQ(slowed->start.count, 60'000);
  EXPECT_EQ(slowed->end.count, 70'000);
  EXPECT_EQ(slowed->waitedForDevice, slowed->device);
  EXPECT_EQ(run.placements[static_cast<std::size_t>(slowed->waitedFor.value)].end, slowed->start);
  // A collective on a bus of its own changes nothing.
  EXPECT_EQ(other.run.end.count, 60'000 + 20'000 + 1'000);
  EXPECT_TRUE(other.executable.call.replicas[0].linkUses.empty());
}

}  // namespace
}  // namespace pipescope::tests
