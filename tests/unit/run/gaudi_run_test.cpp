// Runs the MNIST sample on Gaudis. Data-parallel runs must give the same numbers as one card, collectives
// must overlap the backward pass, and every schedule must run. Also tests refused configurations.
#include <gmock/gmock.h>

#include "app/run/request/accelerator.h"
#include "profiler/sections/frame/section.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using GaudiRunTest = RunFixture;
using ::testing::HasSubstr;

/// Every call reads 160 digits: 20 × accumulation × cards.
std::map<std::string, std::string> cards(const std::string& system, int accumulation, int replicas) {
  return {{"system.name", system},
          {"system.devices", std::to_string(replicas)},
          {"training.micro_batch_size", "20"},
          {"training.gradient_accumulation", std::to_string(accumulation)},
          {"training.device_iterations", "1"},
          {"execution.mode", "training"}};
}

TEST_F(GaudiRunTest, EightCardsGiveTheLossesOfOneThatAccumulates) {
  const auto losses = [&](const std::string& system, int accumulation, int replicas) {
    const auto result = run(sample("eight_gaudis", cards(system, accumulation, replicas)));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::vector<double> one = losses("gaudi2", 8, 1);
  ASSERT_EQ(one.size(), 15U);  // 2,400 digits in calls of 160
  EXPECT_EQ(losses("hls-gaudi2", 1, 8), one) << "gradients are added in the same order, so the same bits";
  EXPECT_EQ(losses("hls-1x2", 1, 8), one) << "devices do not change numbers";
}

/// The ticks of a card are picoseconds, which are no cycles of a clock of 1,000 GHz.
TEST_F(GaudiRunTest, ACardWithoutAClockStatesNone) {
  auto changes = cards("dgx-h100", 1, 8);
  changes["system.accelerator"] = "auto";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const Read profile = read();
  EXPECT_EQ(profile.catalog->target.tickMeaning, model::TickMeaning::time);
  EXPECT_EQ(profile.catalog->devices.front().clock, "");
}

TEST_F(GaudiRunTest, AutoTakesWhatTheSystemHas) {
  auto changes = cards("hls-gaudi2", 1, 8);
  changes["system.devices"] = "auto";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const Read profile = read();
  EXPECT_EQ(profile.catalog->target.family, "gaudi");
  EXPECT_EQ(profile.catalog->target.tickMeaning, model::TickMeaning::time);
  EXPECT_EQ(profile.catalog->devices.front().clock, "MME 1.65 GHz, TPC 1.8 GHz");
  EXPECT_EQ(profile.catalog->target.devicesUsed, 8);
  EXPECT_EQ(profile.catalog->executables.front().replicas, 8);
  for (const model::ConfigurationEntry& row : profile.catalog->configuration) {
    if (row.path == "system.devices") {
      EXPECT_EQ(row.value + " from " + row.origin, "\"auto\" from flag");
    }
  }
}

TEST_F(GaudiRunTest, CollectivesRunBesideTheBackwardPass) {
  auto changes = cards("hls-gaudi2", 3, 8);
  changes["execution.numerics"] = "false";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const Read profile = read();
  const auto placements = profile.source->rows<model::Placement>();
  ASSERT_TRUE(placements.ok());
  int collectives = 0;
  for (const model::Placement& p : **placements) {
    if (p.pass != model::Pass::collective) continue;
    ++collectives;
    const model::Segment& segment = profile.catalog->segments[p.segment];
    EXPECT_EQ(profile.catalog->lanes[segment.lane].role, model::LaneRole::network);
  }
  // One bucket holds all 324,000 gradients. With accumulation, the cards sum them only after the last
  // micro-batch.
  EXPECT_GT(collectives, 0);
  EXPECT_EQ(collectives % static_cast<int>(profile.catalog->runs.size()), 0);
}

TEST_F(GaudiRunTest, AnyScheduleRunsOnGaudis) {
  for (const char* schedule : {"popart", "gpipe", "1f1b", "zb-h1"}) {
    std::map<std::string, std::string> changes = {{"system.name", "hls-1"},
                                                  {"execution.schedule", schedule},
                                                  {"execution.numerics", "false"},
                                                  {"execution.mode", "training"}};
    const auto result = run(sample("pipelined", changes));
    ASSERT_TRUE(result.ok()) << schedule << ": " << result.error().message;
    const Read profile = read();
    EXPECT_EQ(profile.catalog->target.devicesUsed, 4) << schedule;
  }
}

TEST_F(GaudiRunTest, DevicesWaitForTheHostsInputPipeline) {
  // A call reads 20 digits on each of 8 cards. From the second call on, the host has no samples in stock, so
  // the loader's rate limits the call.
  auto changes = cards("hls-gaudi2", 1, 8);
  changes["execution.numerics"] = "false";
  changes["data.loader_rate"] = "2000";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const Read profile = read();
  const auto& runs = profile.catalog->runs.items();
  ASSERT_GE(runs.size(), 4U);
  // Each replica's loader takes 10 ms for 20 digits. The cards would finish a call in less.
  for (std::size_t i = 1; i < runs.size(); ++i)
    EXPECT_NEAR(static_cast<double>((runs[i].end - runs[i].start).count) * 1e-12, 0.010, 1e-9) << i;
  std::int64_t waited = 0;
  for (const model::Wait& wait : **profile.source->rows<model::Wait>()) {
    if (wait.cause == model::WaitCause::host && wait.run == runs.back().id)
      waited += (wait.end - wait.start).count;
  }
  EXPECT_GT(waited, 8'000'000'000) << "most of a call is waiting";
  // An input pipeline that is faster than the cards delays only the first micro-batch.
  changes["data.loader_rate"] = "0";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const auto unbound = read().catalog->runs.back();
  changes["data.loader_rate"] = "1e9";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const auto fast = read().catalog->runs.back();
  EXPECT_EQ((fast.end - fast.start).count, (unbound.end - unbound.start).count);
  changes["data.loader_rate"] = "0.0001";
  EXPECT_EQ(refusal(sample("eight_gaudis", changes)),
            "data.loader_rate is 0.0001 samples/s; give at least 0.001, or 0 for a pipeline that never holds "
            "devices up.");
}

TEST_F(GaudiRunTest, TheHostsOwnWorkIsPartOfAStep) {
  // A call is one step, and the cards alone need far less than 45 ms for it. The host reads the loss of each
  // step, so its work follows the step.
  auto changes = cards("hls-gaudi2", 1, 8);
  changes["execution.numerics"] = "false";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const model::Run alone = read().catalog->runs.back();
  changes["host.seconds_per_step"] = "0.045";
  changes["host.reads_results"] = "true";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const Read profile = read();
  const model::Run both = profile.catalog->runs.back();
  EXPECT_EQ((both.end - both.start).count, (alone.end - alone.start).count + 45'000'000'000);
  const sections::Context context{*profile.source, *profile.catalog, profile.catalog->executables.front().id};
  const auto summary = sections::makeSection(*sections::sectionRegistry().find("summary"), context);
  ASSERT_TRUE(summary.ok());
  EXPECT_THAT(summary->remarks, ::testing::Contains(::testing::StartsWith("host-bound: 45")));
}

TEST_F(GaudiRunTest, RefusesContradictionsAboutTheHost) {
  auto changes = cards("hls-gaudi2", 1, 8);
  changes["data.loader_rate"] = "2000";
  changes["host.seconds_per_load"] = "0.001";
  EXPECT_EQ(
      refusal(sample("eight_gaudis", changes)),
      "data.loader_rate says how many samples the host's workers prepare, and so do host.seconds_per_load "
      "and host.loader_workers: leave one of them out.");
  changes.erase("data.loader_rate");
  changes.erase("host.seconds_per_load");
  changes["host.loader_workers"] = "4";
  EXPECT_EQ(
      refusal(sample("eight_gaudis", changes)),
      "host.loader_workers is given, but host.seconds_per_load is 0, so that workers have nothing to do: "
      "set the time that a sample takes, or leave the workers out.");
  changes.erase("host.loader_workers");
  changes["host.copies"] = "overlapped";
  EXPECT_TRUE(run(sample("eight_gaudis", changes)).ok());
  EXPECT_EQ(refusal(sample("pipelined", {{"host.copies", "overlapped"}})),
            "host.copies is overlapped, but system pod4 overlaps copies with I/O tiles: set "
            "execution.overlap_io and execution.io_tiles instead.");
}

TEST_F(GaudiRunTest, PrecisionsAreThoseOfTheCard) {
  auto changes = cards("gaudi", 1, 1);
  changes["execution.precision"] = "bfloat16";
  EXPECT_TRUE(run(sample("eight_gaudis", changes)).ok());
  const std::vector<double> losses = counter(read(), "loss");
  changes["execution.precision"] = "bf16";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  EXPECT_EQ(counter(read(), "loss"), losses) << "other words for the same";
  changes["execution.precision"] = "32";
  ASSERT_TRUE(run(sample("eight_gaudis", changes)).ok());
  EXPECT_NE(counter(read(), "loss"), losses);
  changes["execution.precision"] = "float16";
  EXPECT_THAT(refusal(sample("eight_gaudis", changes)),
              HasSubstr("gaudi does not compute in float16; use --precision bfloat16 or float32."));
}

TEST_F(GaudiRunTest, AnAcceleratorOfAStrongerOriginOutranksTheSystem) {
  using config::Origin;
  const auto chosen = [](const char* system, Origin systemFrom, const char* accelerator, Origin from) {
    config::Configuration c(configurationKeys());
    EXPECT_TRUE(c.setText("system.name", system, systemFrom).ok());
    EXPECT_TRUE(c.setText("system.accelerator", accelerator, from).ok());
    const auto result = chooseSystem(c);
    if (!result.ok()) return result.error().message;
    if (result->notice) {
      EXPECT_EQ(toString(result->configuration.origin("system.name")), "derived") << "nobody gave this name";
    }
    return result->configuration.text("system.name") + (result->notice ? "; " + *result->notice : "");
  };
  EXPECT_EQ(chosen("pod16", Origin::file, "hpu", Origin::flag),
            "hls-gaudi2; The system is hls-gaudi2 instead of pod16, because system.accelerator is hpu.");
  EXPECT_EQ(chosen("hls-1", Origin::file, "ipu", Origin::environment),
            "pod4; The system is pod4 instead of hls-1, because system.accelerator is ipu.");
  EXPECT_EQ(chosen("hls-1", Origin::file, "hpu", Origin::flag), "hls-1") << "it has that accelerator";
  EXPECT_THAT(chosen("pod4", Origin::file, "hpu", Origin::file), HasSubstr("leave one of them out"));
  EXPECT_THAT(chosen("pod4", Origin::flag, "hpu", Origin::environment), HasSubstr("leave one of them out"));
  EXPECT_THAT(chosen("fixed", Origin::file, "hpu", Origin::flag), HasSubstr("costs instead of devices"));
}

TEST_F(GaudiRunTest, AcceleratorsAreChecked) {
  auto changes = cards("pod4", 1, 1);
  changes["system.accelerator"] = "hpu";
  EXPECT_EQ(refusal(sample("eight_gaudis", changes)),
            "system.accelerator is hpu, but system.name is pod4, whose devices are of kind ipu: leave one of "
            "them out, or choose a system such as hls-gaudi2.");
  changes["system.name"] = "hls-1";
  changes["system.accelerator"] = "ipu";
  EXPECT_EQ(
      refusal(sample("eight_gaudis", changes)),
      "system.accelerator is ipu, but system.name is hls-1, whose devices are of kind hpu: leave one of "
      "them out, or choose a system such as pod4.");
  changes["system.name"] = "fixed";
  EXPECT_EQ(
      refusal(sample("eight_gaudis", changes)),
      "system.accelerator is ipu, but system fixed has costs instead of devices: leave the accelerator out.");
  changes["system.accelerator"] = "auto";
  changes["system.devices"] = "auto";
  EXPECT_EQ(refusal(sample("eight_gaudis", changes)),
            "system.devices is auto, but system fixed has as many devices as its stages take: leave it out.");
}

}  // namespace
}  // namespace pipescope::app
