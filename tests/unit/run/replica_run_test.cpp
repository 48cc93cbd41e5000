// Runs replicas of the MNIST sample. The losses must not depend on how the global batch is divided into
// micro-batches, accumulation and replicas. Also tests every refused configuration.
#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/pipeline/execution.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using ReplicaRunTest = RunFixture;

std::map<std::string, std::string> globalBatch(int microBatch, int accumulation, int replicas) {
  return {{"training.micro_batch_size", std::to_string(microBatch)},
          {"training.gradient_accumulation", std::to_string(accumulation)},
          {"training.replication_factor", std::to_string(replicas)},
          {"execution.schedule", "gpipe"},
          {"execution.mode", "training"},
          {"execution.save_weights", ""},
          {"system.name", "pod64"}};
}

TEST_F(ReplicaRunTest, SixteenReplicasGiveTheLossesOfOne) {
  const auto run16 = [&](int accumulation, int replicas) {
    auto changes = globalBatch(10, accumulation, replicas);
    const auto result = run(sample("pipelined", changes));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::vector<double> one = run16(16, 1);
  ASSERT_EQ(one.size(), 7u);  // 2,400 rows in calls of 10 × 16 × 2
  EXPECT_EQ(run16(1, 16), one) << "gradients are added in the same order, so the same bits";
  const std::vector<double> four = run16(4, 4);
  ASSERT_EQ(four.size(), one.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(four[i], one[i], 1e-5);
}

TEST_F(ReplicaRunTest, WeightsAreEqualOnAllReplicas) {
  auto shared = globalBatch(10, 1, 16);
  ASSERT_TRUE(run(sample("pipelined", shared)).ok());
  const std::vector<double> losses = counter(read(), "loss");
  auto own = shared;
  own["training.check_replicas"] = "true";
  ASSERT_TRUE(run(sample("pipelined", own)).ok());
  const Read profile = read();
  EXPECT_EQ(counter(profile, "loss"), losses) << "weights of their own or shared, the numbers are the same";
  double equal = 0;
  for (const model::Outcome& outcome : profile.catalog->outcomes) {
    if (outcome.name == "replicas_with_equal_weights") equal = outcome.value;
  }
  EXPECT_EQ(equal, 16);
  EXPECT_NE(refusal(sample("pipelined", {{"training.check_replicas", "true"}}))
                .find("several replicas that compute"),
            std::string::npos);
}

TEST_F(ReplicaRunTest, RulesThatMeasureFirstMoveTheStateOfEveryReplica) {
  auto changes = globalBatch(20, 8, 2);
  changes["training.check_replicas"] = "true";
  changes["training.optimizer"] = "lamb";
  EXPECT_TRUE(run(sample("pipelined", changes)).ok());
}

TEST_F(ReplicaRunTest, ProfileSaysWhatReplicasDo) {
  ASSERT_TRUE(run(sample("pipelined", globalBatch(10, 4, 4))).ok());
  const Read profile = read();
  EXPECT_EQ(profile.catalog->executables.front().replicas, 4);
  EXPECT_EQ(profile.catalog->target.devicesUsed, 16);
  EXPECT_EQ(profile.catalog->runs.front().samples, 10 * 4 * 4 * 2);
  // Only the first replica is recorded. The twelve devices of the other three work too, so the report must
  // not list them as idle.
  const auto execution = analysis::execution(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(execution.ok());
  EXPECT_EQ(execution->replicasNotRecorded, 3);
  ASSERT_EQ(static_cast<std::int64_t>(execution->devices.size()), profile.catalog->target.devices - 12);
  EXPECT_LT(execution->devices[3].idle, execution->devices[3].total);
  EXPECT_EQ(execution->devices[4].index, 16);  // only the system's unused devices follow
  const auto placements = profile.source->rows<model::Placement>();
  ASSERT_TRUE(placements.ok());
  int collectives = 0, updates = 0;
  std::map<std::int64_t, base::Ticks> before;
  for (const model::Placement& p : **placements) {
    EXPECT_EQ(p.replica, 0);
    if (p.pass == model::Pass::update) {
      ++updates;
      EXPECT_EQ(before[p.device.value], p.start) << "the sum comes first";
    }
    if (p.pass != model::Pass::collective) continue;
    ++collectives;
    before[p.device.value] = p.end;
  }
  EXPECT_EQ(collectives, updates);
  EXPECT_EQ(collectives, static_cast<int>(profile.catalog->runs.size()) * 2 * 4);
  // The first stage has 260 float gradients. A ring of four replicas scatters their sums in three exchanges
  // and gathers them in three more, and each exchange sends a quarter of the bytes.
  const auto steps = profile.source->rows<model::Step>();
  ASSERT_TRUE(steps.ok());
  std::vector<std::int64_t> sent;
  for (const model::Step& step : **steps) {
    const model::Segment& segment = profile.catalog->segments[step.segment];
    if (segment.pass != model::Pass::collective || segment.stage != 0) continue;
    if (step.kind == model::StepKind::globalExchange) sent.push_back(step.bytesOut.count);
  }
  ASSERT_FALSE(sent.empty());
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(sent[i], 3 * 260) << i;
}

TEST_F(ReplicaRunTest, RowsReturnedByOutputMode) {
  // Execution semantics §6.2: b = 2, R = 2, D = 10, G = 3.
  const std::map<std::string, std::string> expected = {
      {"all", "all 120 samples"},
      {"every_n", "24 of the call's 120 samples"},
      {"final", "the last micro-batch's 4 of the call's 120 samples"},
      {"sum", "sum over the call's 60 micro-batches"}};
  for (const auto& [mode, basis] : expected) {
    auto changes = globalBatch(2, 3, 2);
    changes["training.device_iterations"] = "10";
    changes["training.output_mode"] = mode;
    changes["data.samples"] = "240";
    if (mode == "every_n") changes["training.output_period"] = "5";
    ASSERT_TRUE(run(sample("pipelined", changes)).ok());
    std::string found;
    const auto profile = read();
    for (const model::Outcome& outcome : profile.catalog->outcomes) {
      if (outcome.name == "final_loss") found = outcome.basis;
    }
    EXPECT_NE(found.find(basis), std::string::npos) << found;
  }
}

TEST_F(ReplicaRunTest, DevicesDecideReplicas) {
  const auto replicas = [&](std::map<std::string, std::string> changes) {
    changes["execution.numerics"] = "false";
    changes["data.samples"] = "2400";
    const auto result = run(sample("pipelined", changes));
    EXPECT_TRUE(result.ok()) << result.error().message;
    const Read profile = read();
    return std::vector<std::int64_t>{profile.catalog->executables.front().replicas,
                                     profile.catalog->target.devices};
  };
  EXPECT_EQ(replicas({{"system.name", "pod16"}}), (std::vector<std::int64_t>{1, 16}));
  EXPECT_EQ(replicas({{"system.name", "pod16"}, {"system.devices", "8"}}), (std::vector<std::int64_t>{2, 8}));
  EXPECT_EQ(
      replicas({{"system.name", "pod16"}, {"system.devices", "12"}, {"training.device_iterations", "1"}}),
      (std::vector<std::int64_t>{3, 16}))
      << "the smallest partition that holds twelve";
  EXPECT_EQ(
      replicas({{"system.name", "pod16"}, {"system.devices", "8"}, {"training.replication_factor", "1"}}),
      (std::vector<std::int64_t>{1, 8}));
}

TEST_F(ReplicaRunTest, RefusesWhatCannotBe) {
  const auto refused = [&](const std::map<std::string, std::string>& changes) {
    return refusal(sample("pipelined", changes));
  };
  EXPECT_EQ(refused({{"system.devices", "6"}, {"system.name", "pod16"}}),
            "system.devices is 6, which does not divide into replicas of 4 devices: use 4 or 8, or say with "
            "training.replication_factor how many replicas there are.");
  EXPECT_EQ(refused({{"system.devices", "3"}, {"system.name", "pod16"}}),
            "system.devices is 3, but the stages need 4: raise it, or use fewer stages.");
  EXPECT_EQ(
      refused({{"system.devices", "8"}, {"system.name", "pod16"}, {"training.replication_factor", "4"}}),
      "4 replicas of 4 devices need 16, but system.devices is 8: raise it, or lower "
      "training.replication_factor.");
  EXPECT_EQ(
      refused({{"training.replication_factor", "2"}}),
      "2 replicas of 4 devices use 8, but system pod4 has 4: choose a larger one with --system, or fewer "
      "replicas.");
  EXPECT_NE(refused({{"system.devices", "8"}}).find("has 4 IPUs, but 8 are wanted"), std::string::npos);
  EXPECT_EQ(refused({{"training.replication_factor", "4"},
                     {"training.input_replica_grouping", "3"},
                     {"system.name", "pod16"}}),
            "training.input_replica_grouping is 3, which does not divide the 4 replicas: neighbouring "
            "replicas make "
            "groups of that size.");
  EXPECT_NE(
      refused(
          {{"training.replication_factor", "4"}, {"training.norm_replicas", "3"}, {"system.name", "pod16"}})
          .find("training.norm_replicas is 3"),
      std::string::npos);
  EXPECT_EQ(refused({{"data.instances", "2"}, {"data.instance", "2"}}),
            "data.instance is 2, but data.instances is 2: parts are counted from 0.");
  EXPECT_EQ(
      refused({{"inference.replication_factor", "2"}}),
      "2 replicas of 4 devices use 8, but system pod4 has 4: choose a larger one with --system, or fewer "
      "replicas.");
}

TEST_F(ReplicaRunTest, TooManyReplicasAreEmulatedOnly) {
  auto changes = globalBatch(1, 1, 65);
  changes["system.name"] = "pod256";
  auto configuration = sample("two_stages", changes);
  EXPECT_EQ(refusal(configuration),
            "One process computes at most 64 replicas, but there are 65: use --no-numerics for time and "
            "memory only.");
  ASSERT_TRUE(configuration.setText("execution.numerics", "false", config::Origin::flag).ok());
  const auto result = run(configuration);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(read().catalog->target.devicesUsed, 130);
}

TEST_F(ReplicaRunTest, SameInputForNeighboursIsASmallerCall) {
  auto grouped = globalBatch(10, 4, 4);
  grouped["training.input_replica_grouping"] = "2";
  ASSERT_TRUE(run(sample("pipelined", grouped)).ok());
  const Read profile = read();
  EXPECT_EQ(profile.catalog->runs.front().samples, 10 * 4 * 2 * 2);
  // Without dropout both replicas of a group compute the same values. The mean over four replicas therefore
  // equals the mean over two.
  const std::vector<double> four = counter(profile, "loss");
  ASSERT_TRUE(run(sample("pipelined", globalBatch(10, 4, 2))).ok());
  const std::vector<double> two = counter(read(), "loss");
  ASSERT_EQ(four.size(), two.size());
  for (std::size_t i = 0; i < two.size(); ++i) EXPECT_NEAR(four[i], two[i], 1e-5);
}

TEST_F(ReplicaRunTest, InferenceSharesItsRows) {
  std::map<std::string, std::string> changes = {{"execution.mode", "inference"},
                                                {"inference.replication_factor", "2"},
                                                {"inference.device_iterations", "5"},
                                                {"system.name", "pod16"}};
  ASSERT_TRUE(run(sample("pipelined", changes)).ok());
  const Read two = read();
  EXPECT_EQ(two.catalog->runs.front().samples, 8 * 5 * 2);
  const auto accuracy = [](const Read& profile) {
    for (const model::Outcome& outcome : profile.catalog->outcomes) {
      if (outcome.name == "test_accuracy") return outcome.value;
    }
    return -1.0;
  };
  changes["inference.replication_factor"] = "1";
  changes["inference.device_iterations"] = "10";
  ASSERT_TRUE(run(sample("pipelined", changes)).ok());
  EXPECT_EQ(accuracy(two), accuracy(read()));
}

TEST_F(ReplicaRunTest, AnInstanceReadsItsPart) {
  auto changes = globalBatch(10, 4, 1);
  changes["data.instances"] = "3";
  const auto losses = [&](const char* instance) {
    changes["data.instance"] = instance;
    const auto result = run(sample("pipelined", changes));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::vector<double> first = losses("0"), second = losses("1");
  EXPECT_EQ(first.size(), 10u);  // 2,400 rows ÷ 3 in calls of 10 × 4 × 2
  EXPECT_EQ(second.size(), 10u);
  EXPECT_NE(first, second);
}

TEST_F(ReplicaRunTest, ScalesNameDevicesOnce) {
  const auto scaled = [&](const std::string& entries) {
    std::ifstream file(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/mnist/pipelined.toml");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    auto parsed = app::parseConfiguration(text + entries, "pipelined.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    for (const auto& [key, value] : globalBatch(10, 4, 2))
      EXPECT_TRUE(parsed->setText(key, value, config::Origin::flag).ok());
    EXPECT_TRUE(parsed->setText("data.directory", (folder() / "digits").string(), config::Origin::flag).ok());
    EXPECT_TRUE(parsed->setText("training.epochs", "1", config::Origin::flag).ok());
    EXPECT_TRUE(parsed->setText("training.device_iterations", "2", config::Origin::flag).ok());
    return std::move(parsed).value();
  };
  EXPECT_EQ(refusal(scaled("\n[[device_scale]]\ndevice = 3\n[[device_scale]]\ndevice = 3\n")),
            "[[device_scale]] names device 3 twice: leave one out.");
  EXPECT_EQ(refusal(scaled("\n[[device_scale]]\ndevice = 8\ncompute = 0.5\n")),
            "[[device_scale]] names device 8, but the run uses devices 0 to 7 only.");
  const auto result = run(scaled("\n[[device_scale]]\ndevice = 6\ncompute = 0.5\n"));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto waits = read().source->rows<model::Wait>();
  ASSERT_TRUE(waits.ok());
  EXPECT_TRUE(std::any_of((**waits).begin(), (**waits).end(),
                          [](const model::Wait& w) { return w.cause == model::WaitCause::collective; }));
}

}  // namespace
}  // namespace pipescope::app
