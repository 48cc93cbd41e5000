// Buckets of gradients that are summed beside the backward pass. With ready times r and lengths c, the ends
// are e_k = max(r_k, e_{k−1}) + c_k, and max(0, e_last − T_bwd) is exposed.
#include <gtest/gtest.h>

#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::emulate {
namespace {

/// A card whose gradients are ready at 10, 20 and 30 ticks of its backward pass. Each bucket has a collective
/// of `each` ticks.
class BucketSystem : public devices::System {
 public:
  explicit BucketSystem(std::int64_t each) : each_(each) {
    for (int i = 0; i < 2; ++i) {
      devices::DeviceInfo info;
      info.kind = "test";
      info.name = "Card " + std::to_string(i);
      info.unitName = "card";
      info.lanes = {model::LaneRole::matrix, model::LaneRole::network};
      info.transferLane = model::LaneRole::network;
      devices_.push_back(info);
    }
  }
  std::string family() const override { return "test"; }
  devices::SystemFacts facts() const override { return {.deviceNoun = "device", .tickNoun = "cycles"}; }
  std::string name() const override { return "buckets"; }
  std::string description() const override { return "two cards"; }
  const std::vector<devices::DeviceInfo>& devices() const override { return devices_; }
  const std::vector<devices::LinkInfo>& links() const override { return links_; }
  std::vector<devices::Figure> figures() const override { return {}; }
  base::Result<devices::LoweredDevice> lower(
      const std::vector<const compile::StageIr*>& stages) const override {
    const auto segment = [](const char* name, model::LaneRole lane, std::int64_t ticks, int after) {
      devices::LoweredSegment made{name, lane, Ticks(ticks), {}};
      made.after = after;
      return made;
    };
    devices::LoweredDevice lowered;
    for (const compile::StageIr* stage : stages) {
      const int s = stage->index;
      lowered.passes.push_back(
          {s, model::Pass::forward, {}, {segment("forward", model::LaneRole::matrix, 5, -1)}});
      devices::LoweredPass backward{s, model::Pass::backward, {}, {}},
          collective{s, model::Pass::collective, {}, {}};
      for (int k = 0; k < 3; ++k) {
        backward.segments.push_back(segment("backward", model::LaneRole::matrix, 10, -1));
        collective.segments.push_back(segment("all_reduce", model::LaneRole::network, each_, k));
      }
      lowered.passes.push_back(backward);
      lowered.passes.push_back(collective);
    }
    return lowered;
  }
  std::vector<Ticks> transferTicks(const std::vector<devices::Flow>& flows) const override {
    return std::vector<Ticks>(flows.size(), Ticks(0));
  }
  Ticks syncTicks(int) const override { return Ticks(0); }
  Ticks callTicks() const override { return Ticks(0); }

 private:
  std::int64_t each_;
  std::vector<devices::DeviceInfo> devices_;
  std::vector<devices::LinkInfo> links_;
};

struct Overlap {
  /// Ends of the collectives, counted from the start of the last backward pass.
  std::vector<std::int64_t> ends;
  std::int64_t exposed = 0;  ///< time spent waiting for them
  std::int64_t total = 0;
};

Overlap overlapOf(std::int64_t each, int microBatches, int stages = 1) {
  const BucketSystem system(each);
  schedules::Shape shape{stages, microBatches, true, std::vector<int>(static_cast<std::size_t>(stages), 0)};
  auto order = schedules::makeOrder("gpipe", shape);
  compile::ExecutableIr ir;
  ir.name = "training";
  ir.kind = model::ExecutableKind::training;
  ir.mesh.replicas = 2;
  for (int s = 0; s < stages; ++s) {
    compile::StageIr stage;
    stage.index = s;
    stage.mesh = ir.mesh;
    ir.stages.push_back(stage);
  }
  std::vector<const compile::StageIr*> all;
  for (const compile::StageIr& stage : ir.stages) all.push_back(&stage);
  ExecutableFacts facts;
  facts.schedule = "gpipe";
  facts.microBatches = microBatches;
  facts.replicas = 2;
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  SystemIds ids = recordSystem(recorder, system, 2);
  const EmulatedExecutable executable =
      recordExecutable(recorder, system, ids, ir, {*system.lower(all)}, *order, facts, RecordLevel::stages);
  Emulator emulator(recorder, system, ids, RecordLevel::stages);
  const model::Run run = emulator.call(executable, {});
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  Overlap result;
  result.total = run.end.count - run.start.count;
  std::int64_t backward = -1;
  for (const model::Placement& p : **profile.rows<model::Placement>()) {
    if (p.device.value != 0) continue;
    if (p.pass == model::Pass::backward && p.microBatch == microBatches - 1 &&
        (backward < 0 || p.start.count < backward))
      backward = p.start.count;
  }
  for (const model::Placement& p : **profile.rows<model::Placement>()) {
    if (p.device.value == 0 && p.pass == model::Pass::collective)
      result.ends.push_back(p.end.count - backward);
  }
  for (const model::Wait& wait : **profile.rows<model::Wait>()) {
    if (wait.device.value == 0 && wait.cause == model::WaitCause::collective)
      result.exposed += wait.end.count - wait.start.count;
  }
  return result;
}

TEST(BucketOverlap, WorkedExamples) {
  const Overlap fast = overlapOf(8, 1);
  EXPECT_EQ(fast.ends, (std::vector<std::int64_t>{18, 28, 38}));
  EXPECT_EQ(fast.exposed, 8);
  EXPECT_EQ(fast.total, 5 + 30 + 8);
  const Overlap slow = overlapOf(15, 1);
  EXPECT_EQ(slow.ends, (std::vector<std::int64_t>{25, 40, 55}));
  EXPECT_EQ(slow.exposed, 25);
}

TEST(BucketOverlap, FollowsTheFormula) {
  for (std::int64_t each = 1; each < 40; each += 3) {
    std::int64_t end = 0;
    std::vector<std::int64_t> ends;
    for (int k = 1; k <= 3; ++k) ends.push_back(end = std::max<std::int64_t>(10 * k, end) + each);
    const Overlap found = overlapOf(each, 1);
    EXPECT_EQ(found.ends, ends) << each;
    EXPECT_EQ(found.exposed, std::max<std::int64_t>(0, end - 30)) << each;
  }
}

TEST(BucketOverlap, TwoStagesOfADeviceShareItsLane) {
  // The gradients of stage 1 are ready at 10, 20 and 30, those of stage 0 at 40, 50 and 60. Each collective
  // takes 15.
  const Overlap found = overlapOf(15, 1, 2);
  EXPECT_EQ(found.ends, (std::vector<std::int64_t>{25, 40, 55, 70, 85, 100}));
  EXPECT_EQ(found.exposed, 100 - 60);
  // Short collectives end before the next gradients are ready.
  EXPECT_EQ(overlapOf(8, 1, 2).ends, (std::vector<std::int64_t>{18, 28, 38, 48, 58, 68}));
}

TEST(BucketOverlap, AccumulationReducesAfterTheLastMicroBatchOnly) {
  const Overlap found = overlapOf(8, 4);
  EXPECT_EQ(found.ends, (std::vector<std::int64_t>{18, 28, 38}));
  EXPECT_EQ(found.total, 4 * 35 + 8);
}

}  // namespace
}  // namespace pipescope::emulate
