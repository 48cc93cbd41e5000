// Runs every schedule with computed numbers. Also tests which fixed-cost configurations the schedules accept.
#include <fstream>
#include <sstream>

#include "app/plan/plan_request.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/sections/frame/section.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using ScheduleRunTest = RunFixture;

/// The MNIST sample on small data. The schedule decides on which device each stage runs.
config::Configuration laidOut(const std::string& data, const std::string& schedule,
                              const std::string& chunks = "0") {
  std::ifstream file(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/mnist/pipelined.toml");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("device =", 0) != 0) text += line + "\n";
  }
  auto parsed = app::parseConfiguration(text, "pipelined.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  const std::map<std::string, std::string> changes = {{"data.directory", data},
                                                      {"execution.schedule", schedule},
                                                      {"execution.chunks", chunks},
                                                      {"execution.mode", "training"},
                                                      {"training.micro_batch_size", "16"},
                                                      {"training.gradient_accumulation", "16"},
                                                      {"training.device_iterations", "2"},
                                                      {"training.epochs", "1"}};
  for (const auto& [key, value] : changes) {
    const base::Status set = parsed->setText(key, value, config::Origin::flag);
    EXPECT_TRUE(set.ok()) << set.error().message;
  }
  return std::move(parsed).value();
}

TEST_F(ScheduleRunTest, LossesAreBitEqualUnderEverySchedule) {
  const std::string data = (folder() / "digits").string();
  std::vector<double> reference;
  for (const char* schedule : {"popart", "tf-grouped", "tf-interleaved", "tf-sequential", "gpipe", "1f1b",
                               "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "dualpipe"}) {
    SCOPED_TRACE(schedule);
    const auto result = run(laidOut(data, schedule));
    ASSERT_TRUE(result.ok()) << result.error().message;
    const Read profile = read();
    const std::vector<double> losses = counter(profile, "loss");
    ASSERT_EQ(losses.size(), 4u);  // 2,400 rows in calls of 16 × 16 × 2
    if (reference.empty()) reference = losses;
    EXPECT_EQ(losses, reference);
    EXPECT_EQ(profile.catalog->executables.front().schedule, schedule);
    const std::string name = schedule;
    const model::ScheduleKind kind = name == "tf-sequential" ? model::ScheduleKind::oneAtATime
                                     : name == "popart" || name == "tf-grouped" || name == "tf-interleaved"
                                         ? model::ScheduleKind::barrier
                                         : model::ScheduleKind::dependency;
    EXPECT_EQ(profile.catalog->executables.front().scheduleKind, kind);
    const int devices = name == "interleaved-1f1b" || name == "zb-v" ? 2 : 4;
    EXPECT_EQ(profile.catalog->target.devicesUsed, devices);
    const auto placements = profile.source->rows<model::Placement>();
    ASSERT_TRUE(placements.ok());
    const bool split =
        std::any_of((**placements).begin(), (**placements).end(),
                    [](const model::Placement& p) { return p.pass == model::Pass::weightGradient; });
    EXPECT_EQ(split, name.rfind("zb-", 0) == 0 || name == "dualpipe");
  }
}

/// Four equal stages of 1 + 2 without anything else: each device works for 24 of 26 units, and half of the
/// micro-batches go through each of its two stages.
TEST_F(ScheduleRunTest, StagesOfTwoPipesTakeTheirMicroBatchesOnly) {
  std::string text =
      "[system]\nname = \"fixed\"\n[execution]\nmode = \"training\"\nschedule = \"dualpipe\"\n"
      "[training]\ngradient_accumulation = 8\n";
  for (int stage = 0; stage < 4; ++stage) text += "[[fixed.stages]]\nforward = 1\nbackward = 2\n";
  const auto configuration = app::parseConfiguration(text, "dualpipe.toml");
  ASSERT_TRUE(configuration.ok()) << configuration.error().message;
  const auto result = run(*configuration);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  const auto stages = analysis::stagesReport(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(stages.ok()) << stages.error().message;
  const double unit = stages->lost.step / 26;
  for (const analysis::StageReport& stage : stages->stages) {
    EXPECT_NEAR(stage.forward, unit, 1e-6 * unit);
    EXPECT_NEAR(stage.backward + stage.weightGradient, 2 * unit, 1e-6 * unit);
  }
  EXPECT_NEAR(stages->lost.useful, 24 * unit, 1e-6 * unit);
  EXPECT_NEAR(stages->lost.imbalance, 0, 1e-6 * unit);
  // The replay does not know which passes start together as a block, so that waits for these count as
  // exchange.
  EXPECT_GT(stages->lost.fillAndDrain, 0);
  EXPECT_GE(stages->lost.exchangeUpdateHost, 0);
  EXPECT_NEAR(stages->lost.fillAndDrain + stages->lost.exchangeUpdateHost, 2 * unit, 1e-6 * unit);
}

TEST_F(ScheduleRunTest, DualPipeHoldsTheModelTwiceAndSumsBothCopies) {
  const std::string data = (folder() / "digits").string();
  const auto result = run(laidOut(data, "dualpipe"));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  EXPECT_EQ(profile.catalog->target.devicesUsed, 4);
  ASSERT_EQ(profile.catalog->stages.size(), 8u);
  for (std::size_t s = 0; s < 8; ++s)
    EXPECT_EQ(profile.catalog->stages[s].device.value, static_cast<std::int64_t>(s < 4 ? s : 7 - s));
  // Two devices hold the same two stages. They sum the gradients of both stages with each other, and each
  // updates both.
  const auto placements = profile.source->rows<model::Placement>();
  ASSERT_TRUE(placements.ok());
  std::map<std::int64_t, int> collectives, updates;
  std::map<std::int64_t, base::Ticks> first;
  for (const model::Placement& p : **placements) {
    if (p.run.value != 0 || p.iteration != 0) continue;
    if (p.pass == model::Pass::collective && collectives[p.device.value]++ == 0)
      first[p.device.value] = p.start;
    updates[p.device.value] += p.pass == model::Pass::update ? 1 : 0;
  }
  for (std::int64_t device = 0; device < 4; ++device) {
    EXPECT_EQ(collectives[device], 2);
    EXPECT_EQ(updates[device], 2);
    EXPECT_EQ(first[device], first[3 - device]) << "both begin together";
  }
  const auto weights = profile.source->rows<model::Variable>();
  ASSERT_TRUE(weights.ok());
  const auto copies = std::count_if((**weights).begin(), (**weights).end(), [](const model::Variable& v) {
    return v.category == "weight" && v.shape.find("10x1x5x5") != std::string::npos;
  });
  EXPECT_EQ(copies, 2);
  EXPECT_NE(refusal(sample("pipelined",
                           {{"execution.schedule", "dualpipe"}, {"training.gradient_accumulation", "5"}}))
                .find("even number of micro-batches"),
            std::string::npos);
}

TEST_F(ScheduleRunTest, ChunksAndDevicesExcludeEachOther) {
  EXPECT_NE(refusal(sample("pipelined", {{"execution.chunks", "2"}})).find("leave one out"),
            std::string::npos);
  EXPECT_NE(refusal(laidOut((folder() / "digits").string(), "popart", "2")).find("use interleaved-1f1b"),
            std::string::npos);
}

/// The live bytes over time must follow from the profile's programs, memory rows and placements.
TEST_F(ScheduleRunTest, LiveBytesEqualAReplay) {
  for (const char* schedule : {"popart", "1f1b"}) {
    const auto result = run(laidOut((folder() / "digits").string(), schedule));
    ASSERT_TRUE(result.ok()) << result.error().message;
    const Read profile = read();
    const auto variables = profile.source->rows<model::Variable>();
    const auto steps = profile.source->rows<model::LivenessStep>();
    const auto placements = profile.source->rows<model::Placement>();
    const auto counters = profile.source->rows<model::Counter>();
    const auto samples = profile.source->rows<model::CounterSample>();
    ASSERT_TRUE(variables.ok() && steps.ok() && placements.ok() && counters.ok() && samples.ok());
    int compared = 0;
    for (const model::Counter& counter : **counters) {
      if (counter.name != "live_bytes") continue;
      const model::Stage& stage = profile.catalog->stages[static_cast<std::size_t>(counter.device.value)];
      const auto own = [&](model::MemorySpaceId space) {
        return profile.catalog->memorySpaces[space].device == counter.device;
      };
      std::int64_t always = 0;
      for (const model::Variable& variable : **variables)
        always += own(variable.space) && variable.alwaysLive ? variable.bytes.count : 0;
      always -= stage.stashEntries * stage.stashBytesPerEntry.count;
      std::map<model::Pass, std::int64_t> peaks;
      for (const model::LivenessStep& step : **steps) {
        if (own(step.space)) peaks[step.pass] = std::max(peaks[step.pass], step.notAlwaysLive.count);
      }
      std::map<std::int64_t, double> counted;
      for (const model::CounterSample& sample : **samples) {
        if (sample.counter == counter.id) counted[sample.time.count] = sample.value;
      }
      ASSERT_FALSE(counted.empty());
      int live = 0;
      for (const model::Placement& p : **placements) {  // placements of one device, by start time
        if (p.device != counter.device || !model::isComputePass(p.pass)) continue;
        if (p.pass == model::Pass::forward) ++live;
        const std::int64_t expected =
            always + live * (stage.stashEntries > 0 ? stage.stashBytesPerEntry.count : 0) + peaks[p.pass];
        const auto at = counted.upper_bound(p.start.count);
        ASSERT_NE(at, counted.begin());
        EXPECT_EQ(std::prev(at)->second, static_cast<double>(expected))
            << schedule << " " << model::toString(p.pass);
        if (p.pass == model::Pass::backward) --live;
        ++compared;
      }
    }
    EXPECT_GT(compared, 100);
  }
}

/// On a card, the entry of the micro-batch that runs is no part of the ring: it lives like other activations.
TEST_F(ScheduleRunTest, LiveBytesOfACardCountTheRunningEntryOnce) {
  config::Configuration configuration = laidOut((folder() / "digits").string(), "1f1b");
  ASSERT_TRUE(configuration.setText("system.name", "dgx-h100", config::Origin::flag).ok());
  const auto result = run(configuration);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  const auto variables = profile.source->rows<model::Variable>();
  const auto steps = profile.source->rows<model::LivenessStep>();
  const auto placements = profile.source->rows<model::Placement>();
  const auto counters = profile.source->rows<model::Counter>();
  const auto samples = profile.source->rows<model::CounterSample>();
  ASSERT_TRUE(variables.ok() && steps.ok() && placements.ok() && counters.ok() && samples.ok());
  int compared = 0, stashes = 0;
  for (const model::Counter& counter : **counters) {
    if (counter.name != "live_bytes") continue;
    const auto found = std::ranges::find(profile.catalog->stages, counter.device, &model::Stage::device);
    ASSERT_NE(found, profile.catalog->stages.end());
    const model::Stage& stage = *found;
    stashes += stage.stashEntries > 1 ? 1 : 0;
    const auto own = [&](model::MemorySpaceId space) {
      return profile.catalog->memorySpaces[space].device == counter.device;
    };
    std::int64_t kept = 0, always = 0, most = 0;
    for (const model::Variable& variable : **variables) {
      if (!own(variable.space) || !variable.alwaysLive) continue;
      always += variable.bytes.count;
      kept += variable.category == "stash" ? 0 : variable.bytes.count;
    }
    std::map<model::Pass, std::int64_t> peaks;
    for (const model::LivenessStep& step : **steps) {
      if (own(step.space)) peaks[step.pass] = std::max(peaks[step.pass], step.notAlwaysLive.count);
    }
    for (const auto& [pass, bytes] : peaks) most = std::max(most, bytes);
    std::map<std::int64_t, double> counted;
    for (const model::CounterSample& sample : **samples) {
      if (sample.counter != counter.id) continue;
      counted[sample.time.count] = sample.value;
      EXPECT_GE(sample.value, static_cast<double>(kept)) << "weights stay";
      EXPECT_LE(sample.value, static_cast<double>(always + most)) << "the device is never fuller";
    }
    int live = 0;
    for (const model::Placement& p : **placements) {
      if (p.device != counter.device || !model::isComputePass(p.pass)) continue;
      if (p.pass == model::Pass::forward) ++live;
      const std::int64_t waiting = stage.stashEntries > 0 ? (live - 1) * stage.stashBytesPerEntry.count : 0;
      const auto at = counted.upper_bound(p.start.count);
      ASSERT_NE(at, counted.begin());
      EXPECT_EQ(std::prev(at)->second, static_cast<double>(kept + waiting + peaks[p.pass]))
          << model::toString(p.pass) << " with " << live;
      if (p.pass == model::Pass::backward) --live;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(stashes, 0) << "else there is nothing to count twice";
}

std::string fixedRefusal(const std::string& text) {
  auto parsed = app::parseConfiguration("[system]\nname = \"fixed\"\n" + text, "fixed.toml");
  if (!parsed.ok()) return parsed.error().message;
  base::SilentProgress progress;
  const auto result = runConfiguration(*parsed, {testing::TempDir() + "/refused.pop", ""}, progress);
  return result.ok() ? "" : result.error().message;
}

TEST(FixedSchedules, AreRefusedWithTheKey) {
  const std::string two =
      "[[fixed.stages]]\nforward = 1\nbackward = 2\n[[fixed.stages]]\nforward = 1\nbackward = 2\n";
  EXPECT_NE(
      fixedRefusal("[[fixed.stages]]\nforward = 1\nbackward = 2\nweight = 3\n").find("weight cost of 3"),
      std::string::npos);
  const std::string stages =
      "[[stages]]\nblocks = [\"a\"]\ndevice = 1\n[[stages]]\nblocks = [\"b\"]\ndevice = 0\n";
  EXPECT_NE(fixedRefusal("[execution]\nschedule = \"dualpipe\"\n" + two + stages)
                .find("lays out its stages itself"),
            std::string::npos);
  EXPECT_NE(
      fixedRefusal("[execution]\nschedule = \"gpipe\"\nchunks = 1\n" + two + stages).find("leave one out"),
      std::string::npos);
  EXPECT_NE(
      fixedRefusal("[execution]\nschedule = \"interleaved-1f1b\"\nchunks = 3\n" + two).find("multiple of 3"),
      std::string::npos);
}

TEST(FixedSchedules, RefuseWhatOnlyAModelHas) {
  const std::string stage = "[[fixed.stages]]\nforward = 1\nbackward = 2\n";
  const auto refused = [](const std::string& key) {
    return key + " is for models, but system fixed has costs that are given and no tensors: leave it out.";
  };
  EXPECT_EQ(fixedRefusal("[model]\nbuilder = \"bert\"\nlayers = 24\n" + stage), refused("model.builder"));
  EXPECT_EQ(fixedRefusal("[[model.layers]]\ntype = \"relu\"\nname = \"a\"\nblock = \"a\"\n" + stage),
            refused("[[model.layers]]"));
  EXPECT_EQ(fixedRefusal("[training]\nepochs = 2\n" + stage), refused("training.epochs"));
  EXPECT_EQ(fixedRefusal("[training]\nmicro_batch_size = 2\n" + stage), refused("training.micro_batch_size"));
  EXPECT_EQ(fixedRefusal("[execution]\nprecision = \"float16\"\n" + stage), refused("execution.precision"));
  EXPECT_EQ(fixedRefusal("[data]\nsamples = 5\n" + stage), refused("data.samples"));
}

TEST_F(ScheduleRunTest, WaitsAreToldInSentences) {
  auto parsed = app::readConfiguration(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/fixed/imbalanced.toml");
  ASSERT_TRUE(parsed.ok());
  ASSERT_TRUE(run(*parsed).ok());
  const Read profile = read();
  const sections::Context context{*profile.source, *profile.catalog, profile.catalog->executables.front().id};
  const auto section = sections::makeSection(*sections::sectionRegistry().find("waits"), context);
  ASSERT_TRUE(section.ok()) << section.error().message;
  const std::string text = sections::toText(*section);
  // The table of waits says that device 0 waits 29 units an iteration for stage 2, the slowest stage.
  EXPECT_NE(text.find("Device 0 waits 29 cost units per iteration because stage 2 is slower."),
            std::string::npos)
      << text;
  const std::string json = sections::toJson(*section);
  EXPECT_NE(json.find("Device 0 waits 0.5 cost units per iteration for the host's call."), std::string::npos)
      << json;
  // The next checks are about the bubble fraction. The slowest of four stages takes 6 units for each of
  // 8 micro-batches, and an exchange takes 0.25 units.
  const auto stages = sections::makeSection(*sections::sectionRegistry().find("stages"), context);
  ASSERT_TRUE(stages.ok());
  std::map<std::string, double> facts;
  for (const sections::Fact& fact : stages->facts) {
    if (const double* value = std::get_if<double>(&fact.value)) facts[fact.key] = *value;
  }
  // A cycle of the steady state takes 6.25 units, which is 25 for four devices. They compute for 15 of them.
  EXPECT_NEAR(facts.at("bubble_fraction_limit"), 1 - 15 / 25.0, 1e-12);
  EXPECT_LT(facts.at("bubble_fraction_4g"), facts.at("bubble_fraction_2g"));
  EXPECT_LT(facts.at("bubble_fraction_2g"), facts.at("bubble_fraction"));
}

/// Figures of a plan for each stage are those that a profile of the run shows, whatever keeps the devices
/// busy.
TEST_F(ScheduleRunTest, APlanHasTheStageTimesOfTheRun) {
  base::SerialExecutor executor;
  for (const auto& [schedule, system] : {std::pair("popart", "pod4"),
                                         {"tf-grouped", "pod4"},
                                         {"tf-sequential", "pod4"},
                                         {"1f1b", "pod4"},
                                         {"dualpipe", "pod4"},
                                         {"popart", "hls-gaudi2"},
                                         {"zb-v", "hls-gaudi2"}}) {
    SCOPED_TRACE(std::string(schedule) + " on " + system);
    config::Configuration configuration = laidOut((folder() / "digits").string(), schedule);
    for (const auto& [key, value] : {std::pair("system.name", system), {"execution.numerics", "false"}})
      ASSERT_TRUE(configuration.setText(key, value, config::Origin::flag).ok());
    const auto present = presentPlan(configuration, executor);
    ASSERT_TRUE(present.ok()) << present.error().message;
    const plan::TriedPlan& plan = present->tried;
    ASSERT_TRUE(run(configuration).ok());
    const Read profile = read();
    const auto report = analysis::stagesReport(*profile.source, *profile.catalog, model::ExecutableId(0));
    ASSERT_TRUE(report.ok()) << report.error().message;
    ASSERT_LE(plan.stages.size(), report->stages.size()) << "with two pipes, each stage exists once more";
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      EXPECT_NEAR(static_cast<double>(plan.stages[s].exchange), report->stages[s].exchange, 1) << s;
      EXPECT_NEAR(static_cast<double>(plan.stages[s].occupied), report->stages[s].occupied, 2) << s;
      EXPECT_GT(plan.stages[s].occupied, 0);
    }
    const auto longest = std::ranges::max_element(plan.stages, {}, &plan::TriedStage::occupied);
    EXPECT_EQ(longest - plan.stages.begin(), report->limitingStage % std::ssize(plan.stages));
  }
}

}  // namespace
}  // namespace pipescope::app
