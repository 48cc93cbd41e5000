// Each rule is made to fire by figures that are worked out by hand, and must not fire just below its
// threshold.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "profiler/analysis/insights/insight.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {
namespace {

using Rules = std::set<std::string>;

StageReport stageOf(int index, const char* blocks) {
  StageReport stage;
  stage.index = stage.device = index;
  stage.deviceName = "D" + std::to_string(index);
  stage.blocks = blocks;
  stage.forward = 30;
  stage.backward = 60;
  stage.busy = 90;
  stage.occupied = 100;
  stage.stashEntries = 4;
  stage.memory = StageMemory{Bytes(2000), Bytes(1000), Bytes(300), 0, Bytes(400), Bytes(400), Bytes(600)};
  return stage;
}

DeviceMemory memoryOf(int index) {
  DeviceMemory memory;
  memory.index = index;
  memory.name = "D" + std::to_string(index);
  memory.units = 10;
  memory.bytesPerUnit = Bytes(1000);
  memory.total = memory.totalIncludingGaps = Bytes(3000);
  memory.maxUnit = memory.maxUnitIncludingGaps = Bytes(400);
  memory.alwaysLive = Bytes(2000);
  memory.notAlwaysLivePeak = Bytes(1000);
  return memory;
}

DeviceExecution executionOf(int index) {
  DeviceExecution device;
  device.index = index;
  device.name = "D" + std::to_string(index);
  device.holdsStage = device.placed = true;
  device.total = Ticks(2000);
  device.byKind[kindIndex(model::StepKind::compute)] = 1500;
  device.byLane[model::LaneRole::compute] = Ticks(1500);
  device.idle = Ticks(500);
  device.waits[model::WaitCause::slowerStage] = Ticks(500);
  device.tileBalance = 0.9;
  return device;
}

/// Two balanced stages on two devices of which no rule has anything to say.
InsightInput quiet() {
  InsightInput input;
  input.executable.kind = model::ExecutableKind::training;
  input.executable.recompute = "none";
  input.executable.microBatchSize = 8;
  input.executable.microBatches = 16;
  input.executable.deviceIterations = 1;
  input.executable.stages = 2;
  input.target.name = "test";
  input.target.devices = input.target.devicesUsed = 2;
  input.options = {{"execution.precision", "float16"}, {"execution.available_memory_proportion", "0.6"}};
  input.stages.stages = {stageOf(0, "a b"), stageOf(1, "c d")};
  input.stages.imbalance = 1.0;
  input.stages.slowestStage = input.stages.limitingStage = 0;
  input.stages.lost.step = 2000;
  input.stages.lost.fillAndDrain = 100;
  input.memory.devices = {memoryOf(0), memoryOf(1)};
  input.execution.devices = {executionOf(0), executionOf(1)};
  input.replicaOfDevice = {0, 0};
  input.peakUse = 0.5;
  input.bytesByType = {{"float16", 1000}};
  input.links.resize(1);
  input.links[0].share = 0.7;
  return input;
}

PredictedGain unknownGain(const InsightChanges&) {
  return {std::nullopt, "It was not asked."};
}

Rules fired(const InsightInput& input) {
  Rules rules;
  for (const RankedInsight& ranked : findInsights(input, unknownGain)) {
    rules.insert(ranked.insight.rule);
    EXPECT_TRUE(sections::findSection(ranked.insight.page).ok()) << ranked.insight.page;
    EXPECT_TRUE(ranked.insight.what.ends_with(".")) << ranked.insight.what;
    EXPECT_TRUE(ranked.insight.advice.ends_with(".")) << ranked.insight.advice;
    EXPECT_FALSE(ranked.gain.reason.empty());
  }
  return rules;
}

/// The only finding.
Insight only(const InsightInput& input) {
  const std::vector<RankedInsight> all = findInsights(input, unknownGain);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? Insight() : all.front().insight;
}

TEST(Insights, ASingleChangeIsToldUnlessAnotherFindingLeadsToIt) {
  InsightInput input = quiet();
  input.bestChange = TriedChange{{"execution.schedule", "1f1b"}, 0.25, 12};
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "single_change");
  EXPECT_DOUBLE_EQ(found.figure, 0.25);
  EXPECT_DOUBLE_EQ(found.share, 0.2);  // a rate of 1.25 takes 0.8 of the time
  EXPECT_NE(found.what.find("Of 12 single changes"), std::string::npos) << found.what;
  input.bestChange->tried = 1;
  EXPECT_NE(only(input).what.find("The only change"), std::string::npos);
  input.bestChange->gain = 0.0099;
  EXPECT_EQ(fired(input), Rules());
  // Fill and drain ask for the same change: it is told once.
  input.bestChange = TriedChange{{"training.gradient_accumulation", "32"}, 0.25, 12};
  EXPECT_EQ(fired(input), Rules{"single_change"});
  input.stages.lost.fillAndDrain = 400;
  EXPECT_EQ(fired(input), Rules{"fill_and_drain"});
  input.bestChange->change.value = "64";
  EXPECT_EQ(fired(input), (Rules{"fill_and_drain", "single_change"}));
}

TEST(Insights, AQuietRunHasNone) {
  EXPECT_EQ(fired(quiet()), Rules());
  EXPECT_GE(insightRegistry().all().size(), 16U);
}

TEST(Insights, AnEmptyProfileHasNone) {
  EXPECT_EQ(fired(InsightInput()), Rules());
}

TEST(Insights, Imbalance) {
  InsightInput input = quiet();
  input.stages.imbalance = 1.3;
  input.stages.lost.imbalance = 500;
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "imbalance");
  EXPECT_EQ(found.figure, 1.3);
  EXPECT_EQ(found.share, 0.25);  // 500 of 2000
  EXPECT_EQ(found.stage, 0);
  ASSERT_EQ(found.alternatives.size(), 1U);  // there is no stage before the first one
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"move", "b:1"}}));
  EXPECT_NE(found.what.find("Stage 0 (D0) computes 1.3 times as long"), std::string::npos) << found.what;
  // A split that moves several blocks is tried as well, where a search has found one.
  input.replanned = {{"move", "b:1"}, {"move", "c:2"}};
  ASSERT_EQ(only(input).alternatives.size(), 2U);
  EXPECT_EQ(only(input).alternatives[1], input.replanned);
  input.stages.imbalance = 1.1;
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, FillAndDrain) {
  InsightInput input = quiet();
  input.stages.lost.fillAndDrain = 300;
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "fill_and_drain");
  EXPECT_EQ(found.figure, 0.15);
  ASSERT_EQ(found.alternatives.size(), 2U);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"training.gradient_accumulation", "32"}}));
  EXPECT_EQ(found.alternatives[1],
            (InsightChanges{{"training.micro_batch_size", "4"}, {"training.gradient_accumulation", "32"}}));
  input.stages.lost.fillAndDrain = 200;
  EXPECT_EQ(fired(input), Rules());
  input.stages.lost.fillAndDrain = 300;
  input.executable.kind = model::ExecutableKind::inference;  // it accumulates nothing
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, HostCopies) {
  InsightInput input = quiet();
  input.stages.stages[0].hostIn = 20;
  input.options["execution.overlap_io"] = "false";
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "host_copies");
  EXPECT_EQ(found.figure, 0.2);
  EXPECT_EQ(found.lane, "host");
  ASSERT_EQ(found.alternatives.size(), 1U);
  EXPECT_EQ(found.alternatives[0][0], (InsightChange{"execution.overlap_io", "true"}));
  input.executable.strategy = "pipelined";  // cycles of this strategy have their copies at the begin and end
  EXPECT_TRUE(only(input).alternatives.empty());
  input.stages.stages[0].hostIn = 15;
  EXPECT_EQ(fired(input), Rules());
  input.stages.stages[1].hostOut = 90;  // not in the stage that holds the others up
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, OutputsThatNobodyNeeds) {
  InsightInput input = quiet();
  input.stages.stages[0].hostOut = 20;
  input.options["training.output_mode"] = "all";
  ASSERT_EQ(only(input).alternatives.size(), 1U);
  EXPECT_EQ(only(input).alternatives[0], (InsightChanges{{"training.output_mode", "final"}}));
}

TEST(Insights, Exchange) {
  InsightInput input = quiet();
  input.stages.stages[0].exchange = 30;
  input.stages.boundaries.resize(1);
  input.stages.boundaries[0].fromStage = 0;
  input.stages.boundaries[0].toStage = 1;
  input.stages.boundaries[0].bytes = Bytes(2'000'000);
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "exchange");
  EXPECT_EQ(found.figure, 0.3);
  EXPECT_NE(found.what.find("2 MB"), std::string::npos) << found.what;
  input.stages.stages[0].exchange = 20;
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, Stash) {
  InsightInput input = quiet();
  input.stages.stages[1].memory->stash = Bytes(1200);  // the device holds 2000 + 1000
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "stash");
  EXPECT_EQ(found.figure, 0.4);
  EXPECT_EQ(found.stage, 1);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"execution.recompute", "pipeline"}}));
  input.executable.recompute = "pipeline";
  EXPECT_EQ(only(input).alternatives[0][0], (InsightChange{"training.micro_batch_size", "4"}));
  input.stages.stages[1].memory->stash = Bytes(900);
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, WorstTile) {
  InsightInput input = quiet();
  input.memory.devices[1].maxUnit = input.memory.devices[1].maxUnitIncludingGaps = Bytes(900);
  input.memory.devices[1].worstUnit = 7;
  const Insight found = only(input);  // the mean is 3000 ÷ 10
  EXPECT_EQ(found.rule, "worst_tile");
  EXPECT_EQ(found.figure, 3.0);
  EXPECT_EQ(found.device, 1);
  EXPECT_NE(found.what.find("Tile 7 of D1"), std::string::npos);
  input.memory.devices[1].total = Bytes(6000);  // the mean is 600
  EXPECT_EQ(fired(input), Rules());
  input = quiet();
  input.memory.devices[1].total = Bytes(1000);  // four times the mean, but the tile is not half full
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, TileBalance) {
  InsightInput input = quiet();
  input.execution.devices[1].tileBalance = 0.4;
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "tile_balance");
  EXPECT_EQ(found.figure, 0.4);
  EXPECT_DOUBLE_EQ(found.share, 0.45);  // 0.6 of 1500 of 2000 ticks
  EXPECT_EQ(found.alternatives[0],
            (InsightChanges{{"training.micro_batch_size", "16"}, {"training.gradient_accumulation", "8"}}));
  input.execution.devices[1].tileBalance = 0.5;
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, SmallMicroBatch) {
  InsightInput input = quiet();
  input.peakUse = 0.2;
  EXPECT_EQ(only(input).rule, "small_micro_batch");
  input.peakUse = 0.3;
  EXPECT_EQ(fired(input), Rules());
  input.peakUse = 0.2;
  input.memory.devices[0].maxUnitIncludingGaps = Bytes(700);  // there is no room for more activations
  EXPECT_EQ(fired(input), Rules());
  input = quiet();
  input.peakUse = 0.2;
  input.executable.microBatches = 15;  // half as many do not exist
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, RecomputeThatIsNotNeeded) {
  InsightInput input = quiet();
  input.executable.recompute = "pipeline";
  input.stages.stages[0].recompute = 27;  // both compute 180
  // Data of a micro-batch take 1000 ÷ 10 on a unit; four of them fit into the 600 that are free.
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "recompute_unneeded");
  EXPECT_EQ(found.figure, 0.15);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"execution.recompute", "none"}}));
  input.stages.stages[0].stashEntries = 7;
  EXPECT_EQ(fired(input), Rules());
  input.stages.stages[0].stashEntries = 4;
  input.stages.stages[0].recompute = 9;
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, RecomputeThatIsWanted) {
  InsightInput input = quiet();
  input.memory.devices[0].maxUnitIncludingGaps = Bytes(980);
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "recompute_wanted");
  EXPECT_EQ(found.figure, 0.98);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"execution.recompute", "pipeline"}}));
  EXPECT_NE(found.what.find("activations take 33.3 %"), std::string::npos) << found.what;
  // A stash of 1,700 bytes is always live. 300 of 3,000 bytes are weights and their states.
  InsightInput stash = input;
  stash.alwaysLive[stash.memory.devices[0].space] = {
      {"stash", Bytes(1'700)}, {"optimizer_state", Bytes(200)}, {"weight", Bytes(100)}};
  EXPECT_NE(only(stash).what.find("activations take 90 %"), std::string::npos) << only(stash).what;
  // A single stage has nothing that a pipeline would compute again.
  InsightInput single = input;
  single.stages.stages.resize(1);
  const Insight alone = only(single);
  EXPECT_EQ(alone.rule, "recompute_wanted");
  EXPECT_TRUE(alone.alternatives.empty());
  EXPECT_NE(alone.noAlternative.find("execution.checkpoints"), std::string::npos);
  // Changes that the compiler tried are known to help, and no others are.
  single.triedForMemory["execution.checkpoints"] = {"[\"a\"]", "saves 1 MiB of 2 MiB"};
  EXPECT_EQ(only(single).alternatives[0], (InsightChanges{{"execution.checkpoints", "[\"a\"]"}}));
  single.triedForMemory = {{"training.micro_batch_size", {"8", "everything fits"}}};
  EXPECT_EQ(fired(single), Rules());
  input.memory.devices[0].maxUnitIncludingGaps = Bytes(950);
  EXPECT_EQ(fired(input), Rules());
  input.memory.devices[0].maxUnitIncludingGaps = Bytes(980);
  input.memory.devices[0].notAlwaysLivePeak = Bytes(700);  // weights fill it
  EXPECT_EQ(fired(input), Rules());
  input = quiet();
  input.memory.devices[0].maxUnitIncludingGaps = Bytes(980);
  input.executable.recompute = "pipeline";
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, Offload) {
  InsightInput input = quiet();
  input.execution.devices[1].byKind[kindIndex(model::StepKind::remoteCopy)] = 200;
  input.options["execution.offload_optimizer"] = "true";
  input.memory.others.push_back(memoryOf(1));
  input.memory.others[0].total = Bytes(11'200);  // 0.8 of the 2 · (10 · 1000 − 3000) that are free
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "offload");
  EXPECT_EQ(found.figure, 0.1);
  EXPECT_EQ(found.device, 1);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"execution.offload_optimizer", "false"}}));
  input.memory.others[0].total = Bytes(11'201);
  EXPECT_EQ(fired(input), Rules());
  input.memory.others[0].total = Bytes(5000);
  input.execution.devices[1].byKind[kindIndex(model::StepKind::remoteCopy)] = 100;
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, WideTypes) {
  InsightInput input = quiet();
  input.options["execution.precision"] = "float32";
  input.bytesByType = {{"float32", 900}, {"int32", 100}};
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "wide_types");
  EXPECT_EQ(found.figure, 0.9);
  EXPECT_EQ(found.alternatives[0][0], (InsightChange{"execution.precision", "float16"}));
  input.bytesByType = {{"float32", 500}, {"int32", 500}};
  EXPECT_EQ(fired(input), Rules());
  input.bytesByType = {{"float32", 900}};
  input.options["execution.precision"] = "float16";  // the optimizer's state is meant to be float32
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, MemoryProportion) {
  InsightInput input = quiet();
  input.executable.recompute = "pipeline";
  input.memory.devices[0].fits = false;
  input.memory.devices[0].maxUnitIncludingGaps = Bytes(1000);
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "memory_proportion");
  EXPECT_DOUBLE_EQ(found.figure, 1.0 / 3);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"execution.available_memory_proportion", "0.3"}}));
  // A value that the compiler has tried out is better advice than half of the present value.
  input.triedForMemory["execution.available_memory_proportion"] = {"0.15", "saves 1 MiB of 2 MiB"};
  const Insight tried = only(input);
  EXPECT_EQ(tried.alternatives[0], (InsightChanges{{"execution.available_memory_proportion", "0.15"}}));
  EXPECT_NE(tried.advice.find("saves 1 MiB of 2 MiB"), std::string::npos) << tried.advice;
  input.triedForMemory = {{"training.micro_batch_size", {"8", "everything fits"}}};
  EXPECT_EQ(fired(input), Rules()) << "it was tried, and others save more";
  input.triedForMemory.clear();
  input.memory.devices[0].notAlwaysLivePeak = Bytes(750);
  EXPECT_EQ(fired(input), Rules());
  input.memory.devices[0].notAlwaysLivePeak = Bytes(1000);
  input.options["execution.available_memory_proportion"] = "0.1";
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, MemoryOverflow) {
  InsightInput input = quiet();
  input.executable.recompute = "pipeline";
  input.memory.devices[1].maxUnitIncludingGaps = Bytes(1200);
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "memory_overflow");
  EXPECT_EQ(found.figure, 1.2);
  EXPECT_TRUE(found.severe);
  EXPECT_NE(found.noAlternative.find("What would help"), std::string::npos)
      << "what can be done where the micro-batch cannot be halved";
  // The compiler tried these and found the second to be enough.
  input.triedForMemory = {
      {"execution.offload_optimizer", {"true", "saves 1 MiB of the 2 MiB that are missing"}},
      {"execution.stages", {"4", "everything fits"}}};
  const Insight tried = only(input);
  EXPECT_EQ(tried.alternatives, (std::vector<InsightChanges>{{{"execution.stages", "4"}}}));
  EXPECT_NE(tried.advice.find("execution.stages = 4: everything fits"), std::string::npos) << tried.advice;
  // More stages need more micro-batches, and were tried with them.
  InsightInput together = input;
  together.triedForMemory.clear();
  together.triedTogether = {
      {{{"execution.stages", "4"}, {"training.gradient_accumulation", "8"}}, "everything fits"}};
  EXPECT_EQ(only(together).alternatives[0], together.triedTogether[0].changes);
  EXPECT_NE(only(together).advice.find(
                "execution.stages = 4 and training.gradient_accumulation = 8: everything fits"),
            std::string::npos)
      << only(together).advice;
  // A trial keeps the stages that a search has found, and a run searches again.
  input.searchedStages = 2;
  input.triedForMemory = {{"execution.recompute", {"pipeline", "everything fits"}}};
  EXPECT_NE(only(input).advice.find("the stages as they are, which a run divides anew: everything fits"),
            std::string::npos);
  input.searchedStages = 0;
  input.triedForMemory.clear();
  input.memory.devices[1].maxUnitIncludingGaps = Bytes(1000);
  EXPECT_EQ(fired(input), Rules());
}

/// Two devices with room for 1,000 bytes on each of their units hold what five and a half of them could.
TEST(Insights, MemoryOverflowNamesTheDevicesThatTheModelNeeds) {
  InsightInput input = quiet();
  input.executable.recompute = "pipeline";
  const std::int64_t room = input.memory.devices[0].units * input.memory.devices[0].bytesPerUnit.count;
  for (DeviceMemory& device : input.memory.devices) {
    device.maxUnitIncludingGaps = Bytes(2750);
    device.total = Bytes(room * 275 / 100);
  }
  const Insight found = only(input);
  EXPECT_NE(found.advice.find("6 or more stages"), std::string::npos) << found.advice;
  EXPECT_NE(found.advice.find("--stages 6"), std::string::npos) << found.advice;
  // Each holds 1.5 of 2.75 rooms as weights. Activations alone then take more than a device has.
  for (DeviceMemory& device : input.memory.devices)
    input.alwaysLive[device.space] = {{"weight", Bytes(room * 3 / 2)}, {"stash", Bytes(room / 4)}};
  const Insight activations = only(input);
  EXPECT_EQ(activations.advice.find("--stages"), std::string::npos) << activations.advice;
  EXPECT_NE(activations.advice.find("recompute activations"), std::string::npos) << activations.advice;
  // Activations take half a room of each device, so that three rooms of weights need the other halves of six.
  for (DeviceMemory& device : input.memory.devices) device.total = Bytes(room * 2);
  EXPECT_NE(only(input).advice.find("--stages 6 on a system that has devices for them"), std::string::npos);
  // Four more devices of the system are idle.
  input.target.devices = 6;
  for (const RankedInsight& ranked : findInsights(input, unknownGain)) {
    if (ranked.insight.rule != "memory_overflow") continue;
    EXPECT_NE(ranked.insight.advice.find("--stages 6, or with"), std::string::npos) << ranked.insight.advice;
  }
}

TEST(Insights, ReplicaSpeeds) {
  InsightInput input = quiet();
  input.executable.replicas = 2;
  input.target.devices = input.target.devicesUsed = 4;
  input.execution.devices = {executionOf(0), executionOf(1), executionOf(2), executionOf(3)};
  input.replicaOfDevice = {0, 0, 1, 1};
  input.execution.devices[3].byKind[kindIndex(model::StepKind::compute)] = 1800;
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "replica_speeds");
  EXPECT_EQ(found.figure, 1.2);
  EXPECT_EQ(found.device, 3);
  EXPECT_NE(found.what.find("D3 of replica 1"), std::string::npos) << found.what;
  input.execution.devices[3].byKind[kindIndex(model::StepKind::compute)] = 1530;
  EXPECT_EQ(fired(input), Rules());
  // Another place of the pipeline may take longer.
  input.execution.devices[3].byKind[kindIndex(model::StepKind::compute)] = 1800;
  input.execution.devices[1].byKind[kindIndex(model::StepKind::compute)] = 1800;
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, SaturatedLinks) {
  InsightInput input = quiet();
  input.links[0].share = 0.8;
  input.links[0].from = "D0";
  input.links[0].to = "D1";
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "saturated_links");
  EXPECT_EQ(found.figure, 0.8);
  EXPECT_NE(found.what.find("D0 to D1"), std::string::npos);
}

TEST(Insights, ExposedCommunication) {
  InsightInput input = quiet();
  input.executable.replicas = 2;
  input.execution.devices[1].exposed = Ticks(400);
  EXPECT_EQ(fired(input), Rules());  // the device cannot communicate beside its work
  input.execution.devices[1].byLane[model::LaneRole::network] = Ticks(500);
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "exposed_communication");
  EXPECT_EQ(found.figure, 0.2);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"training.gradient_accumulation", "32"}}));
  input.exposedByAxis = {{model::MeshAxis::data, 0.05}, {model::MeshAxis::tensor, 0.15}};
  const Insight ofTensor = only(input);
  EXPECT_NE(ofTensor.what.find("most of it along axis tensor"), std::string::npos) << ofTensor.what;
  EXPECT_TRUE(ofTensor.advice.starts_with("Tensor ranks sum")) << ofTensor.advice;
  EXPECT_TRUE(ofTensor.alternatives.empty()) << "gradients are not what it waits for";
  input.exposedByAxis = {{model::MeshAxis::data, 0.15}};
  EXPECT_TRUE(only(input).advice.starts_with("Sum gradients")) << only(input).advice;
  input.executable.kind = model::ExecutableKind::inference;
  EXPECT_TRUE(only(input).advice.starts_with("Each pass gathers the weights")) << only(input).advice;
  input.execution.devices[1].exposed = Ticks(200);
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, VectorBound) {
  InsightInput input = quiet();
  input.laneTitles = {{model::LaneRole::vector, "TPC"}, {model::LaneRole::matrix, "MME"}};
  input.execution.devices[0].byLane[model::LaneRole::vector] = Ticks(1000);
  input.execution.devices[0].byLane[model::LaneRole::matrix] = Ticks(600);
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "tpc_bound");
  EXPECT_EQ(found.figure, 0.5);
  EXPECT_EQ(found.lane, "TPC");
  EXPECT_TRUE(found.what.starts_with("D0: TPC works for 50 % of the call, MME for 30 %, so")) << found.what;
  input.laneTitles.clear();  // as in a profile that lacks titles
  EXPECT_EQ(only(input).lane, "vector");
  input.execution.devices[0].byLane[model::LaneRole::matrix] = Ticks(1200);
  EXPECT_EQ(fired(input), Rules());
  input.execution.devices[0].byLane = {{model::LaneRole::vector, Ticks(800)}};
  EXPECT_EQ(fired(input), Rules());
}

// A profile may lack anything. Figures that are not there are no reason to advise.
TEST(Insights, NothingIsSaidAboutWhatIsNotKnown) {
  InsightInput input = quiet();
  for (DeviceExecution& device : input.execution.devices) {
    device = {};
    device.holdsStage = true;
  }
  for (StageReport& stage : input.stages.stages) {
    stage.occupied = stage.recompute = 0;
    stage.memory = StageMemory{};
  }
  EXPECT_EQ(fired(input), Rules{});
  input.memory.devices.clear();
  input.executable.microBatches = 0;
  EXPECT_EQ(fired(input), Rules{});
  EXPECT_EQ(fired(InsightInput()), Rules{});
}

TEST(Insights, IdleDevices) {
  InsightInput input = quiet();
  input.target.devices = 4;
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "idle_devices");
  EXPECT_EQ(found.figure, 0.5);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"training.replication_factor", "2"}}));
  InsightInput full = input;  // nor would its replicas fit
  full.memory.devices[0].maxUnitIncludingGaps = Bytes(1200);
  full.triedForMemory = {{"execution.stages", {"4", "everything fits"}}};
  for (const RankedInsight& ranked :
       findInsights(full, [](const InsightChanges&) { return PredictedGain(); })) {
    if (ranked.insight.rule != "idle_devices") continue;
    EXPECT_TRUE(ranked.changes.empty());
  }
  EXPECT_EQ(fired(full), (Rules{"idle_devices", "memory_overflow"}));
  InsightInput replicas = input;  // two replicas of one device each
  replicas.executable.replicas = 2;
  EXPECT_EQ(only(replicas).alternatives[0], (InsightChanges{{"training.replication_factor", "4"}}));
  input.target.devices = 3;  // no further replica fits
  EXPECT_TRUE(only(input).alternatives.empty());
}

TEST(Insights, PrecisionLoss) {
  InsightInput input = quiet();
  input.loss = SeriesEnds{2.3, std::nan(""), false};
  input.options["training.automatic_loss_scaling"] = "false";
  EXPECT_TRUE(only(input).severe);
  EXPECT_EQ(only(input).alternatives[0], (InsightChanges{{"training.automatic_loss_scaling", "true"}}));
  input.loss = SeriesEnds{2.3, 0.1, true};
  EXPECT_EQ(fired(input), Rules());
  input.lossScale = SeriesEnds{1024, 128, true};
  EXPECT_EQ(only(input).rule, "precision_loss");
  EXPECT_EQ(only(input).figure, 0.125);
  input.lossScale = SeriesEnds{1024, 256, true};
  EXPECT_EQ(fired(input), Rules());
}

TEST(Insights, HostWaits) {
  InsightInput input = quiet();
  for (DeviceExecution& device : input.execution.devices)
    device.waits = {{model::WaitCause::slowerStage, Ticks(100)}, {model::WaitCause::host, Ticks(400)}};
  const Insight found = only(input);
  EXPECT_EQ(found.rule, "host_waits");
  EXPECT_DOUBLE_EQ(found.figure, 0.2);
  EXPECT_EQ(found.alternatives[0], (InsightChanges{{"training.device_iterations", "10"}}));
  // Longer calls do not help where the host works for each update.
  input.options["host.seconds_per_step"] = "0.0487";
  const Insight each = only(input);
  EXPECT_EQ(each.alternatives[0][0].key, "training.gradient_accumulation");
  EXPECT_EQ(each.advice.find("iterations"), std::string::npos) << each.advice;
  input.options.clear();
  for (DeviceExecution& device : input.execution.devices)
    device.waits = {{model::WaitCause::slowerStage, Ticks(300)}, {model::WaitCause::host, Ticks(200)}};
  EXPECT_EQ(fired(input), Rules());
}

/// Two accelerators with kernels from 0 to 1,000. The second one communicates alone for 300 and waits for its
/// host for 200; of two collectives, it is the last at both, and the other one waits 150 for it.
TEST(Insights, RecordedAccelerators) {
  InsightInput input = quiet();
  input.recorded.devices.resize(2);
  for (int i : {0, 1}) {
    input.recorded.devices[static_cast<std::size_t>(i)].device = model::DeviceId(i);
    input.recorded.devices[static_cast<std::size_t>(i)].end = Ticks(1000);
  }
  EXPECT_EQ(fired(input), Rules());
  input.recorded.devices[1].exposedCommunication = Ticks(300);
  Insight found = only(input);
  EXPECT_EQ(found.rule, "recorded_communication");
  EXPECT_DOUBLE_EQ(found.figure, 0.3);
  EXPECT_EQ(found.device, 1);
  EXPECT_DOUBLE_EQ(found.bound, 3.0 / 7);
  input.recorded.devices[1].exposedCommunication = {};
  input.recorded.devices[1].hostIdle = Ticks(200);
  found = only(input);
  EXPECT_EQ(found.rule, "late_launches");
  EXPECT_DOUBLE_EQ(found.figure, 0.2);
  input.recorded.devices[1].hostIdle = {};
  input.recorded.collectives.resize(2);
  for (MatchedCollective& collective : input.recorded.collectives) {
    collective.last = model::DeviceId(1);
    collective.waited = Ticks(75);
  }
  found = only(input);
  EXPECT_EQ(found.rule, "late_ranks");
  EXPECT_DOUBLE_EQ(found.figure, 150.0 / 2000);
  EXPECT_NE(found.what.find(" at 2 of 2."), std::string::npos) << found.what;
}

// Severe findings come first, then gains, then what is not known by its share, then what gains nothing.
TEST(Insights, AreRankedByGain) {
  InsightInput input = quiet();
  input.loss = SeriesEnds{1, 1, false};
  input.stages.imbalance = 1.5;
  input.stages.lost.fillAndDrain = 300;
  input.target.devices = 4;
  input.stages.stages[0].hostIn = 20;
  input.execution.devices[1].tileBalance = 0.4;
  const auto all = findInsights(input, [](const InsightChanges& changes) -> PredictedGain {
    if (changes[0].key == "move") return {0.25, ""};
    if (changes[0].value == "2") return {0.0, "The replicas share the samples."};
    if (changes.size() == 2) return {0.5, ""};
    if (changes[0].value == "32") return {0.1, ""};
    return {std::nullopt, "not known"};
  });
  std::vector<std::string> order;
  for (const RankedInsight& ranked : all) order.push_back(ranked.insight.rule);
  const std::vector<std::string> expected{"precision_loss", "fill_and_drain", "tile_balance",
                                          "imbalance",      "host_copies",    "idle_devices"};
  EXPECT_EQ(order, expected);
  // The better one of two alternatives is taken.
  EXPECT_EQ(all[1].gain.gain, 0.5);
  EXPECT_EQ(all[1].changes.size(), 2U);
}

/// A step takes 2000 ticks, of which imbalance costs 500. So a balanced split takes 1500, and moving layers
/// can raise the rate by at most a third.
TEST(Insights, ABoundStandsForAGainThatIsNotKnownOrNotReached) {
  InsightInput input = quiet();
  input.stages.imbalance = 1.5;
  input.stages.lost.imbalance = 500;
  input.stages.lost.fillAndDrain = 300;
  const auto rulesWith = [&](PredictedGain ofMove) {
    std::vector<RankedInsight> all = findInsights(input, [&](const InsightChanges& changes) -> PredictedGain {
      return changes[0].key == "move" ? ofMove : PredictedGain{0.2, ""};
    });
    EXPECT_EQ(all.size(), 2U);
    return all;
  };
  const auto unknown = rulesWith({std::nullopt, "not known"});
  EXPECT_EQ(unknown[0].insight.rule, "imbalance");
  EXPECT_NEAR(unknown[0].insight.bound, 1.0 / 3, 1e-12);
  EXPECT_EQ(unknown[0].insight.boundText, "if all stages computed equally long");
  const auto losing = rulesWith({-0.001, ""});
  EXPECT_EQ(losing[0].insight.rule, "imbalance");
  EXPECT_EQ(losing[0].insight.advice,
            "The change that was replayed does not help: it makes the run 0.1 % slower.");
  const auto gaining = rulesWith({0.1, ""});
  EXPECT_EQ(gaining[0].insight.rule, "fill_and_drain") << "a known gain counts as what it is";
  EXPECT_EQ(gaining[1].insight.advice.find("replayed"), std::string::npos) << gaining[1].insight.advice;
  // A bound that is smaller than another gain stands below it.
  input.stages.lost.imbalance = 200;
  EXPECT_EQ(rulesWith({std::nullopt, ""})[0].insight.rule, "fill_and_drain");
}

// An alternative that is refused is not proposed, and the reason stands where the gain would.
TEST(Insights, DoNotProposeWhatIsRefused) {
  InsightInput input = quiet();
  input.stages.lost.fillAndDrain = 300;
  const auto all = findInsights(input, [](const InsightChanges& changes) -> PredictedGain {
    if (changes.size() == 1) return {std::nullopt, "The schedule refuses it.", false};
    return {std::nullopt, "It was not asked."};
  });
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].changes.size(), 2U);
  const auto first = findInsights(input, [](const InsightChanges& changes) -> PredictedGain {
    if (changes.size() == 1) return {0.1, ""};
    return {std::nullopt, "The schedule refuses it.", false};
  });
  EXPECT_EQ(first[0].gain.gain, 0.1);
  EXPECT_EQ(first[0].changes.size(), 1U);
  const auto none = findInsights(input, [](const InsightChanges&) {
    return PredictedGain{std::nullopt, "The schedule refuses it.", false};
  });
  EXPECT_TRUE(none[0].changes.empty());
  EXPECT_EQ(none[0].gain.reason, "The schedule refuses it.");
}

TEST(Insights, NameThe16BitTypeOfTheDevices) {
  InsightInput input = quiet();
  input.options["execution.precision"] = "float32";
  input.bytesByType = {{"float32", 900}};
  input.halfType = "bfloat16";  // it has the range of float32, so it needs no loss scale
  EXPECT_EQ(only(input).alternatives[0], (InsightChanges{{"execution.precision", "bfloat16"}}));
}

}  // namespace
}  // namespace pipescope::analysis
