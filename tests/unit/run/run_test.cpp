#include <limits>

#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/pipeline/execution.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using RunTest = RunFixture;

TEST_F(RunTest, LossesAreBitEqualWhateverTheSplitScheduleAndThreads) {
  const auto losses = [](const std::string& name, const std::map<std::string, std::string>& changes) {
    const auto result = run(sample(name, changes));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::vector<double> reference = losses("pipelined", {{"execution.threads", "1"}});
  ASSERT_EQ(reference.size(), 3u);  // 2,400 rows in calls of 40 × 10 × 2
  EXPECT_LT(reference.back(), reference.front());
  EXPECT_EQ(losses("two_stages", {{"execution.threads", "2"}}), reference);
  EXPECT_EQ(losses("sharded", {{"execution.threads", "3"}}), reference);
  EXPECT_EQ(losses("pipelined", {{"execution.schedule", "gpipe"}, {"execution.recompute", "none"}}),
            reference);
  EXPECT_NE(losses("pipelined", {{"execution.seed", "43"}}), reference);
}

TEST_F(RunTest, ProfileHoldsTrainingAndInference) {
  const auto result = run(sample("pipelined"));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  EXPECT_EQ(profile.catalog->state.state, model::ProfileState::complete);
  ASSERT_EQ(profile.catalog->executables.size(), 2u);
  EXPECT_EQ(profile.catalog->executables.front().name, "training");
  EXPECT_EQ(profile.catalog->devices.front().clock, "1.33 GHz");
  EXPECT_EQ(profile.catalog->target.tickMeaning, model::TickMeaning::clockCycle);
  EXPECT_EQ(profile.catalog->executables[model::ExecutableId(1)].name, "inference");
  const auto training = profile.catalog->runsOf(profile.catalog->executables.front().id),
             inference = profile.catalog->runsOf(profile.catalog->executables[model::ExecutableId(1)].id);
  ASSERT_EQ(training.size(), 3u);
  EXPECT_EQ(training[0]->samples, 40 * 10 * 2);
  ASSERT_EQ(inference.size(), 5u);  // 400 rows in calls of 8 × 10
  EXPECT_EQ(inference[0]->samples, 80);
  EXPECT_EQ(profile.catalog->target.name, "pod4");
  EXPECT_EQ(profile.catalog->stages.size(), 8u);
  for (std::size_t i = 1; i < profile.catalog->runs.size(); ++i)
    EXPECT_EQ(profile.catalog->runs.items()[i].start, profile.catalog->runs.items()[i - 1].end);
}

TEST_F(RunTest, EmulatedTimeNeitherNeedsNorFeelsNumbers) {
  ASSERT_TRUE(run(sample("pipelined")).ok());
  const auto placements = [](const Read& profile) {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> list;
    const auto rows = profile.source->rows<model::Placement>();
    EXPECT_TRUE(rows.ok());
    for (const model::Placement& p : **rows) list.emplace_back(p.device.value, p.start.count, p.end.count);
    return list;
  };
  const auto computed = placements(read());
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read emulated = read();
  EXPECT_EQ(placements(emulated), computed);
  EXPECT_TRUE(counter(emulated, "loss").empty());
}

TEST_F(RunTest, MetricsComeFromTheRowsReturnedAndSaySo) {
  const auto basis = [](const std::map<std::string, std::string>& changes) {
    EXPECT_TRUE(run(sample("pipelined", changes)).ok());
    std::map<std::string, std::string> found;
    const Read profile = read();
    for (const model::Outcome& outcome : profile.catalog->outcomes) found[outcome.name] = outcome.basis;
    return found;
  };
  EXPECT_EQ(basis({{"training.output_mode", "all"}})["final_loss"],
            "last training call: all 800 samples of the call (output mode all)");
  EXPECT_EQ(basis({{"training.output_mode", "final"}})["final_accuracy"],
            "last training call: the last micro-batch's 40 of the call's 800 samples (output mode final)");
  EXPECT_EQ(basis({{"training.micro_batch_size", "1"},
                   {"training.gradient_accumulation", "1"},
                   {"training.device_iterations", "1"},
                   {"data.samples", "2"},
                   {"execution.mode", "training"},
                   {"execution.strategy", "sharded"}})["final_loss"],
            "last training call: the only sample of the call");
  auto everyFive = basis({{"training.output_mode", "every_n"}, {"training.output_period", "5"}});
  EXPECT_EQ(everyFive["final_accuracy"],
            "last training call: 160 of the call's 800 samples (output mode every_n, period 5)");
  EXPECT_EQ(everyFive["test_accuracy"], "400 of 400 test samples");
  auto sum = basis({{"training.output_mode", "sum"}});
  EXPECT_EQ(sum["final_loss"], "last training call: sum over the call's 20 micro-batches (output mode sum)");
  EXPECT_EQ(sum.count("final_accuracy"), 0u);
  EXPECT_EQ(basis({{"data.test_samples", "150"}})["test_accuracy"],
            "80 of 150 test samples; the last 70 fill no call and were dropped");
}

TEST_F(RunTest, FinalLossIsTheLastMicroBatchesOnly) {
  const auto finalLoss = [](const std::string& mode) {
    const auto result =
        run(sample("pipelined", {{"training.output_mode", mode}, {"execution.mode", "training"}}));
    EXPECT_TRUE(result.ok());
    return *result->finalLoss;
  };
  const double all = finalLoss("all"), sum = finalLoss("sum");
  EXPECT_NEAR(sum, all * 20, 1e-4);
  EXPECT_NE(finalLoss("final"), all);
}

TEST_F(RunTest, DivergedTrainingIsRefusedAndTheProfileSaysWhy) {
  const auto result =
      run(sample("pipelined", {{"training.optimizer", "sgd"}, {"training.learning_rate", "1e6"}}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, base::ErrorKind::refused);
  EXPECT_NE(result.error().message.find("The loss is not a number in epoch 1, call "), std::string::npos)
      << result.error().message;
  const Read profile = read();
  EXPECT_EQ(profile.catalog->state.state, model::ProfileState::incomplete);
  EXPECT_EQ(profile.catalog->state.reason + " The profile holds what ran before.", result.error().message);
}

TEST_F(RunTest, TrainingThatDivergesAtOnceKeepsTheOlderProfileAndSaysSo) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.mode", "training"}})).ok());
  const auto bytes = [] {
    std::ifstream stream(profile(), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  };
  const std::string before = bytes();
  base::SilentProgress silent;
  const auto result = runConfiguration(sample("pipelined", {{"training.optimizer", "sgd"},
                                                            {"training.learning_rate", "1e6"},
                                                            {"training.device_iterations", "5"}}),
                                       {profile(), "test"}, silent);
  ASSERT_FALSE(result.ok());
  const std::string& said = result.error().message;
  EXPECT_NE(said.find("is not a number in epoch 1, call 1,"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with(" No call was recorded, so " + profile() + " is as it was.")) << said;
  EXPECT_TRUE(bytes() == before);
}

/// A progress listener that asks the run to stop at the n-th report.
class StopAt : public base::Progress {
 public:
  explicit StopAt(int n) : left_(n) {}
  void report(double, std::string_view) override { --left_; }
  bool cancelled() const override { return left_ <= 0; }

 private:
  int left_;
};

TEST_F(RunTest, CancellingLeavesAReadableProfile) {
  for (const int reports : {1, 3, 5, 7}) {
    StopAt progress(reports);
    const auto result = run(sample("pipelined"), &progress);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_TRUE(result->cancelled);
    EXPECT_EQ(read().catalog->state.state, model::ProfileState::cancelled);
  }
}

TEST_F(RunTest, BadDataIsNamed) {
  EXPECT_NE(
      refusal(sample("pipelined", {{"data.directory", (folder() / "nowhere").string()}})).find("nowhere"),
      std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(profile()));
  std::filesystem::create_directories(folder() / "cut");
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "digits"))
    std::filesystem::copy(entry, folder() / "cut", std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(folder() / "cut" / "train-images-idx3-ubyte", 5000);
  EXPECT_NE(refusal(sample("pipelined", {{"data.directory", (folder() / "cut").string()}}))
                .find("train-images-idx3-ubyte"),
            std::string::npos);
  EXPECT_NE(refusal(sample("pipelined", {{"data.samples", "100"}})).find("800"), std::string::npos);
  EXPECT_NE(refusal(sample("pipelined", {{"data.samples", "99999"}})).find("99,999"), std::string::npos);
  EXPECT_NE(refusal(sample("pipelined", {{"data.dataset", "synthetic"}, {"model.input", "[1, 28, 28]"}}))
                .find("data.samples is missing"),
            std::string::npos);
}

TEST_F(RunTest, SyntheticDataNeedsNoFiles) {
  const auto result = run(sample("pipelined", {{"data.dataset", "synthetic"},
                                               {"model.input", "[1, 28, 28]"},
                                               {"data.samples", "800"},
                                               {"data.test_samples", "80"}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
}

TEST_F(RunTest, RefusalsComeBeforeAnythingIsWritten) {
  const auto refused = [&](const std::map<std::string, std::string>& changes, const std::string& part) {
    const std::string sentence = refusal(sample("pipelined", changes));
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    EXPECT_FALSE(std::filesystem::exists(profile()));
  };
  refused({{"training.gradient_accumulation", "6"}}, "at least 7");
  refused({{"inference.device_iterations", "3"}}, "at least 4");
  refused({{"inference.gradient_accumulation", "2"}}, "must be 1");
  refused({{"training.output_period", "5"}}, "every_n");
  refused({{"system.name", "pod5"}}, "pod4");
  refused({{"system.name", "mk2"}}, "mk2");
  refused({{"execution.schedule", "sharded"}}, "strategy");
  refused({{"training.optimizer", "sgd"}, {"training.beta1", "0.5"}}, "training.beta1");
  refused({{"model.input", "[1, 27, 28]"}}, "layer3/linear");
}

std::string refusalOf(const std::string& toml, const std::string& folder = testing::TempDir()) {
  const auto parsed = app::parseConfiguration(toml, "run.toml");
  if (!parsed.ok()) return parsed.error().message;
  base::SilentProgress progress;
  const auto result = runConfiguration(*parsed, {folder + "/refused.pop", ""}, progress);
  return result.ok() ? "" : result.error().message;
}

TEST(RunConfiguration, ModelsThatMakeNoSenseAreNamed) {
  EXPECT_NE(refusalOf("").find("no model"), std::string::npos);
  EXPECT_NE(refusalOf("[execution]\nschedule = \"popar\"\n").find("did you mean \"popart\"?"),
            std::string::npos);
  EXPECT_NE(refusalOf("[system]\nname = \"fixed\"\n").find("[[fixed.stages]]"), std::string::npos);
  EXPECT_NE(refusalOf("[[fixed.stages]]\nforward = 1\n").find("belongs to system.name"), std::string::npos);
  EXPECT_NE(refusalOf("[[model.layers]]\ntype = \"con\"\nname = \"a\"\nblock = \"B\"\n").find("conv"),
            std::string::npos);
  EXPECT_NE(refusalOf("[[model.layers]]\ntype = \"linear\"\nname = \"a\"\nblock = \"B\"\nout_features = "
                      "10\nkernel_size = 3\n")
                .find("kernel_size"),
            std::string::npos);
  EXPECT_NE(
      refusalOf(
          "[data]\ndataset = \"synthetic\"\n[[model.layers]]\ntype = \"relu\"\nname = \"a\"\nblock = \"B\"\n")
          .find("model.input is missing"),
      std::string::npos);
  const std::string twice =
      "[[stages]]\nblocks = [\"B\"]\n[[stages]]\nblocks = [\"B\"]\n[[model.layers]]\ntype = \"linear\"\nname "
      "= \"a\"\nblock = \"B\"\nout_features = 10\n[model]\ninput = [4]\n";
  EXPECT_NE(refusalOf(twice).find("Block \"B\" is in stage 0 and in stage 1"), std::string::npos);
  const std::string fits = "[system]\nname = \"fixed\"\n[[fixed.stages]]\nforward = 1\n";
  EXPECT_NE(refusalOf(fits, "/nonexistent-folder").find("/nonexistent-folder"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::app
