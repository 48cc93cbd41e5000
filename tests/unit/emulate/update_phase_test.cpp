// Tests the work that follows a flush: collectives beside the backward pass as DDP overlaps them, loads
// during waits, stores after the results have left, and host copies on I/O tiles.
#include <gtest/gtest.h>

#include "bus_system.h"

namespace pipescope::tests {
namespace {

using devices::LoweredDevice;
using devices::LoweredPass;
using devices::LoweredSegment;
using model::LaneRole;
using model::Pass;

LoweredSegment segment(const std::string& name, std::int64_t ticks, LaneRole lane = LaneRole::compute) {
  devices::LoweredStep step;
  step.name = name;
  step.program = "OnTileExecute";
  step.ticks = Ticks(ticks);
  step.lane = lane;
  return {name, lane, Ticks(ticks), {step}};
}

/// Stages with given passes.
class GivenSystem : public BusSystem {
 public:
  GivenSystem(int devices, std::vector<std::vector<LoweredPass>> stages)
      : BusSystem(devices, {}, {}, [](const devices::Flow&) { return -1; }), stages_(std::move(stages)) {}
  base::Result<LoweredDevice> lower(const std::vector<const compile::StageIr*>& stages) const override {
    LoweredDevice lowered;
    for (const compile::StageIr* stage : stages) {
      lowered.device = stage->place;
      for (LoweredPass pass : stages_[static_cast<std::size_t>(stage->index)]) {
        pass.stage = stage->index;
        lowered.passes.push_back(std::move(pass));
      }
    }
    return lowered;
  }

 private:
  std::vector<std::vector<LoweredPass>> stages_;
};

LoweredPass pass(Pass kind, std::vector<LoweredSegment> segments) {
  LoweredPass made;
  made.pass = kind;
  made.segments = std::move(segments);
  return made;
}

TEST(UpdatePhase, BucketsRunBesideTheBackwardPass) {
  // Execution semantics §4.4: buckets are ready at 10, 20 and 30. If each takes 8, they end at 18, 28 and 38,
  // of which 8 are exposed. If each takes 15, they end at 25, 40 and 55, of which 25 are exposed.
  for (const auto& [each, ends, exposed] :
       {std::tuple<std::int64_t, std::vector<std::int64_t>, std::int64_t>{8, {18, 28, 38}, 8},
        {15, {25, 40, 55}, 25}}) {
    std::vector<LoweredSegment> backward, buckets;
    for (int k = 0; k < 3; ++k) {
      backward.push_back(segment("backward" + std::to_string(k), 10));
      buckets.push_back(segment("bucket" + std::to_string(k), each, LaneRole::exchange));
      buckets.back().after = k;
    }
    GivenSystem system(1, {{pass(Pass::forward, {segment("forward", 5)}), pass(Pass::backward, backward),
                            pass(Pass::collective, buckets), pass(Pass::update, {segment("update", 2)})}});
    BusRun run;
    emulateOn(system, "gpipe", 1, 3, true, 4, emulate::RecordLevel::stages, run);
    // Only the gradients of the last of three micro-batches are sums.
    const std::int64_t begin = 3 * 5 + 2 * 30;
    std::vector<std::int64_t> found;
    for (const model::Placement& p : run.placements) {
      if (p.pass == Pass::collective) found.push_back(p.end.count - begin);
      if (p.pass == Pass::update) {
        EXPECT_EQ(p.start.count, begin + 30 + exposed);
      }
    }
    EXPECT_EQ(found, ends);
    EXPECT_EQ(run.run.end.count, begin + 30 + exposed + 2);
    const auto waits = **run.profile.rows<model::Wait>();
    ASSERT_EQ(waits.size(), 1u);
    EXPECT_EQ(waits[0].cause, model::WaitCause::collective);
    EXPECT_EQ((waits[0].end - waits[0].start).count, exposed);
  }
}

LoweredSegment remote(const std::string& name, std::int64_t ticks) {
  LoweredSegment made = segment(name, ticks);
  made.pass = Pass::remote;
  return made;
}

TEST(UpdatePhase, LoadsComeBeforeInputsAndStoresAfterResults) {
  // Stage 1 loads for 6 ticks while stage 0 computes for 10. The store of stage 0, which takes 4, delays
  // nobody. A byte takes one tick.
  GivenSystem system(2, {{pass(Pass::forward, {segment("a", 10), remote("store", 4)})},
                         {pass(Pass::forward, {remote("load", 6), segment("b", 3)})}});
  BusRun run;
  emulateOn(system, "gpipe", 2, 1, false, 8, emulate::RecordLevel::stages, run);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> spans;
  const auto segments = **run.profile.rows<model::Segment>();
  for (const model::Placement& p : run.placements)
    spans[segments[static_cast<std::size_t>(p.segment.value)].name] = {p.start.count, p.end.count};
  EXPECT_EQ(spans["a"], std::pair(std::int64_t{0}, std::int64_t{10}));
  EXPECT_EQ(spans["store"], std::pair(std::int64_t{10}, std::int64_t{14}));
  EXPECT_EQ(spans["load"], std::pair(std::int64_t{0}, std::int64_t{6}));
  ASSERT_EQ(run.transfers.size(), 1u);
  EXPECT_EQ(run.transfers[0].start.count, 10);
  EXPECT_EQ(spans["b"].first, run.transfers[0].end.count);
}

/// Start and end of the placements of a pass in a run, in order.
std::vector<std::pair<std::int64_t, std::int64_t>> spansOf(const BusRun& run, Pass pass) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const model::Placement& p : run.placements) {
    if (p.pass == pass && p.run == run.run.id) spans.emplace_back(p.start.count, p.end.count);
  }
  return spans;
}

using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(HostCopies, RunBesideTheComputeOnIoTiles) {
  // A load takes 10, the compute 5, a store 20. By hand: there is room for one load ahead, so loads follow
  // each other without a gap and the compute follows each load. Stores share a lane, so they run at 15, 35
  // and 55, and the call ends with the last store.
  GivenSystem system(1, {{pass(Pass::hostIn, {segment("load", 10, LaneRole::exchange)}),
                          pass(Pass::forward, {segment("forward", 5)}),
                          pass(Pass::hostOut, {segment("store", 20, LaneRole::exchange)})}});
  BusRun run;
  emulateOn(system, "gpipe", 1, 3, false, 4, emulate::RecordLevel::stages, run, {.overlapIo = true});
  EXPECT_EQ(spansOf(run, Pass::hostIn), (Spans{{0, 10}, {10, 20}, {20, 30}}));
  EXPECT_EQ(spansOf(run, Pass::forward), (Spans{{10, 15}, {20, 25}, {30, 35}}));
  EXPECT_EQ(spansOf(run, Pass::hostOut), (Spans{{15, 35}, {35, 55}, {55, 75}}));
  EXPECT_EQ(run.run.end.count, 75);
}

TEST(Loader, IsAtMostTwoMicroBatchesAheadOfACall) {
  // The input pipeline needs 100 ticks for a micro-batch, the device 1 + 5, the update 300. In the first call
  // micro-batches are ready at 100, 200, 300 and 400, and the call ends at 706. In the meantime the pipeline
  // prepares two micro-batches and then stops, so that further ones are ready at 806 and 906.
  GivenSystem system(
      1, {{pass(Pass::hostIn, {segment("load", 1, LaneRole::exchange)}),
           pass(Pass::forward, {segment("forward", 5)}), pass(Pass::update, {segment("update", 300)})}});
  BusRun run;
  emulateOn(system, "gpipe", 1, 4, true, 4, emulate::RecordLevel::stages, run,
            {.calls = 2, .host = {.loaderRate = 0.01}});
  EXPECT_EQ(run.run.start.count, 706);
  EXPECT_EQ(spansOf(run, Pass::hostIn), (Spans{{706, 707}, {712, 713}, {806, 807}, {906, 907}}));
  EXPECT_EQ(run.run.end.count, 906 + 6 + 300);
}

}  // namespace
}  // namespace pipescope::tests
