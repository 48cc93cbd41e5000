// A replay with changes equals an emulation of the changed configuration within 2 %, where both can be had.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>

#include "emulated.h"
#include "profiler/replay/best_move.h"

namespace pipescope::conformance {
namespace {

constexpr double kClose = 0.02;

class ReplayDice {
 public:
  explicit ReplayDice(std::uint64_t seed) : random_(seed) {}
  int pick(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool coin() { return pick(0, 1) == 1; }
  template <class T>
  const T& oneOf(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(pick(0, static_cast<int>(all.size()) - 1))];
  }

 private:
  std::mt19937_64 random_;
};

struct FixedStage {
  double forward = 1, recompute = 0, backward = 2, weight = 1, update = 0;
};
struct FixedPipeline {
  std::vector<FixedStage> stages;
  std::string schedule;
  int microBatches = 1, iterations = 1, replicas = 1;
  double exchange = 0, call = 0, collective = 0;
};

ReplayedSetup setupOf(const FixedPipeline& p) {
  ReplayedSetup setup;
  for (const FixedStage& s : p.stages)
    setup.tables += fmt::format(
        "[[fixed.stages]]\nforward = {}\nrecompute = {}\nbackward = {}\nweight = {}\nupdate = {}\n",
        s.forward, s.recompute, s.backward, s.weight, s.update);
  setup.keys = {{"system.name", "fixed"},
                {"execution.mode", "training"},
                {"execution.schedule", p.schedule},
                {"training.gradient_accumulation", std::to_string(p.microBatches)},
                {"training.device_iterations", std::to_string(p.iterations)},
                {"training.replication_factor", std::to_string(p.replicas)},
                {"fixed.exchange", fmt::format("{}", p.exchange)},
                {"fixed.call", fmt::format("{}", p.call)},
                {"fixed.collective", fmt::format("{}", p.collective)}};
  return setup;
}

/// A number of micro-batches that all schedules accept.
int someMicroBatches(ReplayDice& dice, int stages) {
  return 4 * stages * dice.pick(1, 3);
}

FixedPipeline randomPipeline(ReplayDice& dice, const std::string& schedule) {
  FixedPipeline p;
  p.schedule = schedule;
  int stages = dice.pick(2, 5);
  if (schedule == "dualpipe") stages = 2 * dice.pick(1, 2);
  if (schedule == "interleaved-1f1b" || schedule == "zb-v") stages *= 2;
  for (int s = 0; s < stages; ++s) {
    FixedStage stage;
    stage.forward = 0.25 * dice.pick(1, 12);
    stage.recompute = dice.coin() ? 0 : 0.25 * dice.pick(1, 8);
    stage.backward = 0.5 * dice.pick(1, 12);
    stage.weight = stage.backward / 2;
    stage.update = dice.coin() ? 0 : 0.5 * dice.pick(1, 6);
    p.stages.push_back(stage);
  }
  p.microBatches = someMicroBatches(dice, stages);
  p.iterations = dice.pick(1, 3);
  p.replicas = dice.pick(1, 2);
  p.exchange = 0.125 * dice.pick(0, 8);
  p.call = 0.5 * dice.pick(0, 4);
  p.collective = 0.5 * dice.pick(0, 6);
  return p;
}

const std::vector<std::string> kOneStageADevice = {"popart", "gpipe",      "1f1b",           "zb-h1",
                                                   "zb-h2",  "tf-grouped", "tf-interleaved", "tf-sequential"};

bool splits(const std::string& schedule) {
  return schedule.starts_with("zb-") || schedule == "dualpipe";
}

/// Changes the pipeline at random, and returns the same changes as a what-if takes them.
std::vector<std::string> changeAtRandom(ReplayDice& dice, FixedPipeline& p) {
  std::vector<std::string> changes;
  const std::size_t s = static_cast<std::size_t>(dice.pick(0, static_cast<int>(p.stages.size()) - 1));
  FixedStage& stage = p.stages[s];
  const bool twice = p.schedule == "dualpipe";  // the second pipe has the stages again
  const auto add = [&](const char* pass, const std::string& value) {
    changes.push_back(fmt::format("stages.{}.{}={}", s, pass, value));
    if (twice) changes.push_back(fmt::format("stages.{}.{}={}", s + p.stages.size(), pass, value));
  };
  if (dice.coin()) {
    stage.forward *= 1.5;
    add("forward", "*1.5");
  }
  if (dice.coin()) {
    stage.backward *= 0.5;
    stage.weight *= 0.5;
    add("backward", "-50%");
  }
  if (stage.recompute > 0 && dice.coin()) {
    stage.recompute = 3.5;
    add("recompute", "3.5");
  }
  if (stage.update > 0 && dice.coin()) {
    stage.update *= 2;
    add("update", "+100%");
  }
  if (dice.coin()) {
    p.microBatches = someMicroBatches(dice, static_cast<int>(p.stages.size()));
    changes.push_back(fmt::format("gradient_accumulation={}", p.microBatches));
  }
  if (p.exchange > 0 && dice.coin()) {
    p.exchange /= 4;
    if (p.replicas > 1) p.collective /= 4;
    changes.push_back("links.bandwidth=*4");
  }
  const bool movable =
      std::find(kOneStageADevice.begin(), kOneStageADevice.end(), p.schedule) != kOneStageADevice.end();
  if (movable && dice.coin()) {
    p.schedule = dice.oneOf(kOneStageADevice);
    changes.push_back("schedule=" + p.schedule);
  }
  return changes;
}

TEST(ReEmulation, RandomFixedPipelinesOfAllSchedulesAgree) {
  std::vector<std::string> all = kOneStageADevice;
  all.insert(all.end(), {"interleaved-1f1b", "zb-v", "dualpipe"});
  EXPECT_EQ(all.size(), engineSchedules().names.size());
  const int rounds = std::getenv("PIPESCOPE_FULL_TESTS") != nullptr ? 60 : 12;
  int compared = 0, refused = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (int round = 0; round < rounds; ++round) {
      ReplayDice dice(1000 * n + static_cast<std::uint64_t>(round));
      const FixedPipeline before = randomPipeline(dice, all[n]);
      FixedPipeline after = before;
      const std::vector<std::string> changes = changeAtRandom(dice, after);
      SCOPED_TRACE(testing::Message()
                   << setupOf(before).describe() << fmt::format("{}", fmt::join(changes, " ")));
      const auto recorded = emulateSetup(setupOf(before));
      ASSERT_TRUE(recorded.ok()) << recorded.error().message;
      const auto again = emulateSetup(setupOf(after));
      ASSERT_TRUE(again.ok()) << again.error().message;
      const auto replayed = replayedStep(*recorded, changes);
      if (splits(after.schedule) && !splits(before.schedule)) {
        ASSERT_FALSE(replayed.ok());
        EXPECT_NE(replayed.error().message.find("weight gradients"), std::string::npos);
        ++refused;
        continue;
      }
      ASSERT_TRUE(replayed.ok()) << replayed.error().message;
      // Costs are rounded to ticks, so the times differ by single ticks only.
      EXPECT_NEAR(*replayed / again->stepTicks(), 1, 1e-5);
      ++compared;
    }
  }
  EXPECT_GT(compared, 8 * rounds);
  EXPECT_GT(refused, 0);
}

constexpr const char* kMnistStages =
    "[[model.layers]]\nname = \"layer1\"\ntype = \"conv\"\nblock = \"B1\"\nout_channels = 10\nkernel_size = "
    "5\n"
    "[[model.layers]]\nname = \"layer2\"\ntype = \"maxpool\"\nblock = \"B1\"\nkernel_size = 2\n"
    "[[model.layers]]\nname = \"layer3\"\ntype = \"relu\"\nblock = \"B1\"\n"
    "[[model.layers]]\nname = \"layer4\"\ntype = \"conv\"\nblock = \"B2\"\nout_channels = 20\nkernel_size = "
    "5\n"
    "[[model.layers]]\nname = \"layer5\"\ntype = \"maxpool\"\nblock = \"B2\"\nkernel_size = 2\n"
    "[[model.layers]]\nname = \"layer6\"\ntype = \"relu\"\nblock = \"B2\"\n"
    "[[model.layers]]\nname = \"layer7\"\ntype = \"flatten\"\nblock = \"B3\"\n"
    "[[model.layers]]\nname = \"layer8\"\ntype = \"linear\"\nblock = \"B3\"\nout_features = 256\n"
    "[[model.layers]]\nname = \"layer9\"\ntype = \"relu\"\nblock = \"B3\"\n"
    "[[model.layers]]\nname = \"layer10\"\ntype = \"linear\"\nblock = \"B4\"\nout_features = 10\n"
    "[[stages]]\nblocks = [\"B1\"]\n[[stages]]\nblocks = [\"B2\"]\n[[stages]]\nblocks = [\"B3\"]\n"
    "[[stages]]\nblocks = [\"B4\"]\n";

ReplayedSetup mnist(const char* system, const char* schedule) {
  return {kMnistStages,
          {{"system.name", system},
           {"model.input", "[1,28,28]"},
           {"execution.numerics", "false"},
           {"execution.mode", "training"},
           {"execution.schedule", schedule},
           {"data.dataset", "synthetic"},
           {"training.loss", "cross_entropy"},
           {"training.micro_batch_size", "40"},
           {"training.gradient_accumulation", "12"},
           {"training.device_iterations", "3"},
           {"training.optimizer", "adamw"}}};
}

/// Compares a replay with an emulation of the setup that has the key changed.
void expectClose(const ReplayedSetup& before, const std::vector<std::string>& changes,
                 const ReplayedSetup& after, double close = kClose) {
  SCOPED_TRACE(testing::Message() << before.describe() << fmt::format("{}", fmt::join(changes, " ")));
  const auto recorded = emulateSetup(before);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  const auto again = emulateSetup(after);
  ASSERT_TRUE(again.ok()) << again.error().message;
  const auto replayed = replayedStep(*recorded, changes);
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  EXPECT_NEAR(*replayed / again->stepTicks(), 1, close);
}

class MnistLike : public testing::TestWithParam<const char*> {};

TEST_P(MnistLike, MicroBatchesAgree) {
  for (const char* schedule : {"popart", "1f1b", "gpipe"}) {
    const ReplayedSetup before = mnist(GetParam(), schedule);
    for (const char* count : {"8", "24", "48"})
      expectClose(before, {fmt::format("gradient_accumulation={}", count)},
                  before.with("training.gradient_accumulation", count));
  }
}

/// A step of one micro-batch adds no gradients up, so that its recording does not tell the time of additions.
TEST_P(MnistLike, SumsOfGradientsAgree) {
  const ReplayedSetup four = mnist(GetParam(), "1f1b").with("training.gradient_accumulation", "4");
  const ReplayedSetup one = four.with("training.gradient_accumulation", "1");
  expectClose(four, {"gradient_accumulation=1"}, one);
  const auto recorded = emulateSetup(one);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  const auto refused = replayedStep(*recorded, {"gradient_accumulation=4"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("no sums of gradients, whose time is not known"));
  // The time of sums over replicas is not known for a single micro-batch, and matters if the sums take long.
  const ReplayedSetup two = mnist(std::string(GetParam()) == "pod4" ? "pod16" : "hls-gaudi2", "1f1b")
                                .with("training.gradient_accumulation", "4")
                                .with("training.replication_factor", "2");
  const auto replicas = emulateSetup(two);
  ASSERT_TRUE(replicas.ok()) << replicas.error().message;
  const auto single = replayedStep(*replicas, {"gradient_accumulation=1"});
  if (single.ok())
    return expectClose(two, {"gradient_accumulation=1"}, two.with("training.gradient_accumulation", "1"));
  EXPECT_THAT(single.error().message, testing::HasSubstr("those of a single micro-batch take another time"));
}

TEST_P(MnistLike, SchedulesAgree) {
  for (const char* from : {"popart", "1f1b", "gpipe"}) {
    for (const char* to : {"popart", "1f1b", "gpipe", "tf-grouped", "tf-sequential"}) {
      const ReplayedSetup before = mnist(GetParam(), from).with("training.gradient_accumulation", "16");
      expectClose(before, {fmt::format("schedule={}", to)}, before.with("execution.schedule", to));
    }
  }
}

/// A device that is slower by a factor has passes that are longer by it; only host copies stay.
TEST_P(MnistLike, CostsAgree) {
  for (const char* schedule : {"popart", "1f1b"}) {
    const ReplayedSetup before = mnist(GetParam(), schedule);
    ReplayedSetup after = before;
    after.tables += "[[device_scale]]\ndevice = 1\ncompute = 0.5\n";
    expectClose(
        before,
        {"stages.1.forward=*2", "stages.1.recompute=*2", "stages.1.backward=*2", "stages.1.update=*2"},
        after);
  }
}

/// Recomputed passes of a stage take as long as its forward pass, as far as a recording without them tells;
/// results that are then not kept are not copied to the stash. On a card, they need not be written to HBM
/// either, which a recording does not tell.
TEST_P(MnistLike, RecomputeAgrees) {
  const double close = GetParam() == std::string("hls-gaudi2") ? 0.02 : 0.01;
  for (const char* schedule : {"popart", "1f1b"}) {
    const ReplayedSetup on = mnist(GetParam(), schedule).with("execution.recompute", "pipeline");
    const ReplayedSetup off = on.with("execution.recompute", "none");
    expectClose(off, {"recompute=on"}, on, close);
    expectClose(on, {"recompute=off"}, off);
  }
}

/// An entry of the stash holds what the emulation of the changed configuration puts into it.
TEST_P(MnistLike, RecomputeChangesTheStashAsEmulated) {
  const ReplayedSetup setup = mnist(GetParam(), "1f1b");
  const auto on = emulateSetup(setup.with("execution.recompute", "pipeline"));
  const auto off = emulateSetup(setup.with("execution.recompute", "none"));
  ASSERT_TRUE(on.ok() && off.ok());
  const auto expectStashes = [](const EmulatedProfile& from, const std::string& value,
                                const EmulatedProfile& to) {
    const auto recording = recordingOf(from);
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const replay::ChangeContext context{*from.profile, *from.catalog, &engineSchedules()};
    const auto changed = replay::applyChanges(context, *recording, {{"recompute", value}});
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    EXPECT_FALSE(changed->stashUnknown);
    ASSERT_EQ(changed->recording.stages.size(), to.catalog->stages.size());
    for (std::size_t s = 0; s < changed->recording.stages.size(); ++s) {
      const model::Stage& stage = changed->recording.stages[s];
      const model::Stage& emulated = to.catalog->stages[s];
      EXPECT_EQ(stage.stashBytesPerEntry.count, emulated.stashBytesPerEntry.count)
          << "stage " << stage.index << ", recompute " << value;
    }
  };
  expectStashes(*on, "off", *off);
  expectStashes(*off, "on", *on);
}

/// The head of a decoder computes results that its backward pass does not need. A schedule that lets it keep
/// micro-batches back computes only the others again.
TEST(Decoder, SchedulesAndRecomputeAgree) {
  const ReplayedSetup decoder = {
      "[[stages]]\nblocks = [\"embeddings\", \"decoder/layer0\"]\n"
      "[[stages]]\nblocks = [\"decoder/layer1\", \"head\"]\n",
      {{"model.builder", "decoder"},
       {"model.layers", "2"},
       {"model.hidden", "128"},
       {"model.heads", "2"},
       {"model.feed_forward", "512"},
       {"model.sequence", "64"},
       {"model.vocabulary", "8192"},
       {"execution.numerics", "false"},
       {"execution.mode", "training"},
       {"execution.schedule", "1f1b"},
       {"data.dataset", "synthetic"},
       {"training.micro_batch_size", "2"},
       {"training.gradient_accumulation", "8"}}};
  for (const char* system : {"pod4", "hls-gaudi2"}) {
    const ReplayedSetup one = decoder.with("system.name", system);
    expectClose(one, {"schedule=gpipe"}, one.with("execution.schedule", "gpipe"));
    const ReplayedSetup all = one.with("execution.schedule", "gpipe");
    expectClose(all, {"schedule=1f1b"}, one);
    // A Gaudi fuses elementwise operators in other ways if it keeps their results, which no recording tells.
    expectClose(all.with("execution.recompute", "none"), {"recompute=on"},
                all.with("execution.recompute", "pipeline"), 0.03);
  }
}

/// The systems hold four replicas of two stages; a Gaudi box holds them without links to other boxes.
TEST_P(MnistLike, ReplicasAgree) {
  const bool ipus = std::string(GetParam()) == "pod4";
  ReplayedSetup two = mnist(ipus ? "pod8" : "hls-gaudi2", "1f1b")
                          .with("training.replication_factor", "2")
                          .with("training.gradient_accumulation", "48");  // sums of gradients take little
  two.tables = two.tables.substr(0, two.tables.find("[[stages]]")) +
               "[[stages]]\nblocks = [\"B1\"]\n[[stages]]\nblocks = [\"B2\", \"B3\", \"B4\"]\n";
  const ReplayedSetup four = two.with("training.replication_factor", "4");
  expectClose(two, {"replication_factor=4"}, four);
  expectClose(four, {"replication_factor=2"}, two);
  // A single replica has no sums of gradients, so its gradients are not packed for them either.
  const ReplayedSetup one = two.with("training.replication_factor", "1");
  expectClose(two, {"replication_factor=1"}, one, 0.01);
  expectClose(four, {"replication_factor=1"}, one, 0.01);
}

/// Micro-batches beyond those of the recording have the costs with which the list goes on.
TEST(MicroBatches, OfDifferentCostsGoOnAsTheirListSays) {
  const ReplayedSetup setup = mnist("pod4", "gpipe")
                                  .with("training.micro_batch_costs", "1,0.5,2")
                                  .with("training.gradient_accumulation", "16");
  expectClose(setup, {"gradient_accumulation=40"}, setup.with("training.gradient_accumulation", "40"), 0.002);
}

TEST(OffloadedActivations, OfAStageThatGetsAStashAreRefused) {
  const ReplayedSetup setup = mnist("pod4", "1f1b").with("execution.offload_activations", "true");
  const auto recorded = emulateSetup(setup);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  const auto replayed = replayedStep(*recorded, {"schedule=gpipe"});
  ASSERT_FALSE(replayed.ok());
  EXPECT_NE(replayed.error().message.find("would keep activations in streaming memory"), std::string::npos);
}

TEST(Replicas, AreRefusedWhereTheirSumsMatter) {
  // Sums of gradients take a large part of the step if there is one micro-batch of one sample.
  const ReplayedSetup two = mnist("hls-gaudi2", "gpipe")
                                .with("training.replication_factor", "2")
                                .with("training.micro_batch_size", "1")
                                .with("training.gradient_accumulation", "1");
  const auto recorded = emulateSetup(two);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  const auto four = replayedStep(*recorded, {"replication_factor=4"});
  ASSERT_FALSE(four.ok());
  EXPECT_NE(four.error().message.find("depends on links that the recording does not tell"), std::string::npos)
      << four.error().message;
  EXPECT_TRUE(replayedStep(*recorded, {"replication_factor=1"}).ok());
}

/// Weight gradients that become part of the backward pass need no launch of their own on a Gaudi.
TEST(WeightGradients, AgreeInTheBackwardPass) {
  for (const char* system : {"pod4", "hls-gaudi2"}) {
    const ReplayedSetup setup = mnist(system, "zb-h1");
    for (const char* to : {"1f1b", "gpipe"})
      expectClose(setup, {fmt::format("schedule={}", to)}, setup.with("execution.schedule", to), 0.04);
  }
}

/// IPUs that update at the same time share links in their sums of gradients; one after another, they do not.
TEST(Updates, AreRefusedInAnotherOrderWhereTheirSumsMatter) {
  ReplayedSetup few = mnist("pod8", "1f1b")
                          .with("training.replication_factor", "2")
                          .with("training.micro_batch_size", "1")
                          .with("training.gradient_accumulation", "8");
  const auto recorded = emulateSetup(few);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  const auto popart = replayedStep(*recorded, {"schedule=popart"});
  ASSERT_FALSE(popart.ok());
  EXPECT_NE(popart.error().message.find("With the schedule popart the devices do this one after another"),
            std::string::npos)
      << popart.error().message;
  // The order of updates stays, or the sums take little.
  expectClose(few, {"schedule=gpipe"}, few.with("execution.schedule", "gpipe"));
  const ReplayedSetup many =
      few.with("training.micro_batch_size", "40").with("training.gradient_accumulation", "96");
  expectClose(many, {"schedule=popart"}, many.with("execution.schedule", "popart"));
}

TEST_P(MnistLike, HostRatesAgree) {
  const ReplayedSetup setup = mnist(GetParam(), "1f1b").with("host.seconds_per_step", "2e-3");
  expectClose(setup, {"host_rate=*2"}, setup.with("host.seconds_per_step", "1e-3"));
  expectClose(setup, {"host_rate=*0.5"}, setup.with("host.seconds_per_step", "4e-3"));
  const ReplayedSetup read = setup.with("host.reads_results", "true");
  expectClose(read, {"host_rate=*2"}, read.with("host.seconds_per_step", "1e-3"));
  // 480 samples of a step take 24 ms, so that the devices wait for them.
  const ReplayedSetup loads = mnist(GetParam(), "1f1b").with("data.loader_rate", "20000");
  expectClose(loads, {"host_rate=*4"}, loads.with("data.loader_rate", "80000"));
}

TEST(StashMemory, WhatDoesNotFitIsMarked) {
  // Each stash entry of stage 0 takes 40 × 28 × 28 floats; the memory of an IPU holds about 7,000 of them.
  const ReplayedSetup setup = mnist("pod4", "gpipe");
  const auto recorded = emulateSetup(setup);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  const auto recording = recordingOf(*recorded);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const replay::ChangeContext context{*recorded->profile, *recorded->catalog, &engineSchedules()};
  for (const bool fits : {true, false}) {
    const std::string count = fits ? "24" : "9000";
    const auto answer = replay::whatIf(context, *recording, {{"gradient_accumulation", count}});
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    ASSERT_TRUE(answer->memory.front().fits);
    EXPECT_EQ(*answer->memory.front().fits, fits);
    EXPECT_EQ(answer->memory.front().stashAfter, std::stoll(count));
    const bool said =
        std::any_of(answer->remarks.begin(), answer->remarks.end(), [](const std::string& text) {
          return text.find("Stage 0 would not fit: its stash would hold 9000 micro-batches") == 0;
        });
    EXPECT_EQ(said, !fits);
    // The memory of the changed configuration says the same.
    const auto again = emulateSetup(setup.with("training.gradient_accumulation", count));
    ASSERT_TRUE(again.ok()) << again.error().message;
    const auto& found = again->catalog->diagnostics;
    EXPECT_EQ(std::any_of(found.begin(), found.end(),
                          [](const model::Diagnostic& one) { return one.code == "out_of_memory"; }),
              !fits);
  }
}

/// Blocks take their times along, and another tensor crosses the border. Engines of a Gaudi work at the same
/// time, so that the part of a block in a pass is an estimate there.
TEST_P(MnistLike, MovedBlocksAgree) {
  const auto split = [](const char* first, const char* second) {
    std::string layers = kMnistStages;
    return layers.substr(0, layers.find("[[stages]]")) +
           fmt::format("[[stages]]\nblocks = [{}]\n[[stages]]\nblocks = [{}]\n", first, second);
  };
  for (const char* schedule : {"popart", "1f1b"}) {
    ReplayedSetup early = mnist(GetParam(), schedule), late = early;
    early.tables = split("\"B1\"", "\"B2\", \"B3\", \"B4\"");
    late.tables = split("\"B1\", \"B2\"", "\"B3\", \"B4\"");
    expectClose(early, {"move=B2:0"}, late);
    expectClose(late, {"move=B2:1"}, early);
    ReplayedSetup later = early;
    later.tables = split("\"B1\", \"B2\", \"B3\"", "\"B4\"");
    expectClose(early, {"move=B2:0", "move=B3:0"}, later);
  }
}

TEST(BlockMoves, ASearchFindsTheBestSplitAndABlockMovesOnce) {
  ReplayedSetup setup = mnist("pod4", "1f1b");
  setup.tables = setup.tables.substr(0, setup.tables.find("[[stages]]")) +
                 "[[stages]]\nblocks = [\"B1\", \"B2\", \"B3\"]\n[[stages]]\nblocks = [\"B4\"]\n";
  const auto recorded = emulateSetup(setup);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  const auto recording = recordingOf(*recorded);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const replay::ChangeContext context{*recorded->profile, *recorded->catalog, &engineSchedules()};
  // Four blocks can be split into two stages in three ways, so the test tries all of them.
  const std::vector<replay::Change> moves = replay::replannedSplit(context, *recording);
  std::vector<std::string> texts;
  for (const replay::Change& move : moves) texts.push_back(move.text());
  double best = recorded->stepTicks();
  for (const std::vector<std::string>& tried :
       {std::vector<std::string>{"move=B3:1"}, std::vector<std::string>{"move=B3:1", "move=B2:1"}})
    best = std::min(best, replayedStep(*recorded, tried).value());
  ASSERT_FALSE(moves.empty());
  EXPECT_DOUBLE_EQ(replayedStep(*recorded, texts).value(), best);
  const auto back = replayedStep(*recorded, {"move=B3:1", "move=B3:0"});
  ASSERT_FALSE(back.ok());
  EXPECT_NE(back.error().message.find("has already been moved to stage 1"), std::string::npos);
}

/// A user's folder in which all links between devices are twice as fast; latencies stay.
class FasterLinks {
 public:
  FasterLinks()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("pipescope-links-{}", ::getpid())) {
    static const std::regex figure("(link_lane|port_rate) = \\{ value = ([-+0-9.e]+)");
    for (const char* kind : {"devices", "systems"}) {
      std::filesystem::create_directories(folder_ / "pipescope" / kind);
      for (const auto& entry :
           std::filesystem::directory_iterator(std::string(PIPESCOPE_SOURCE_DIR "/resources/") + kind)) {
        std::ifstream file(entry.path());
        std::ofstream copy(folder_ / "pipescope" / kind / entry.path().filename());
        for (std::string line; std::getline(file, line);) {
          std::smatch found;
          if (std::regex_search(line, found, figure))
            line = found.prefix().str() +
                   fmt::format("{} = {{ value = {}", found[1].str(), 2 * std::stod(found[2])) +
                   found.suffix().str();
          copy << line << '\n';
        }
      }
    }
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  }
  ~FasterLinks() {
    ::unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path folder_;
};

TEST_P(MnistLike, LinksAgree) {
  for (const char* schedule : {"popart", "1f1b"}) {
    // Large micro-batches, so that the transfers matter.
    const ReplayedSetup setup = mnist(GetParam(), schedule).with("training.micro_batch_size", "400");
    const auto recorded = emulateSetup(setup);
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
    const auto replayed = replayedStep(*recorded, {"links.bandwidth=*2"});
    ASSERT_TRUE(replayed.ok()) << replayed.error().message;
    const FasterLinks faster;
    const auto again = emulateSetup(setup);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_LT(again->stepTicks(), recorded->stepTicks());
    EXPECT_NEAR(*replayed / again->stepTicks(), 1, kClose) << schedule;
    // The effect of the change itself agrees, not only the whole.
    const double change = recorded->stepTicks() - again->stepTicks();
    EXPECT_NEAR(recorded->stepTicks() - *replayed, change, 0.1 * change) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, MnistLike, testing::Values("pod4", "hls-gaudi2"));

}  // namespace
}  // namespace pipescope::conformance
