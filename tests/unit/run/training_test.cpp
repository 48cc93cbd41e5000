// Tests how the keys training.* and execution.* change a run: learning-rate schedules, precision, metrics,
// weights, validation and model builders.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/run/request/configuration_keys.h"
#include "engine/data/npy_file.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using Changes = std::map<std::string, std::string>;

class TrainingRun : public RunFixture {
 protected:
  static std::string path(const std::string& name) { return (folder() / name).string(); }

  static Changes with(Changes base, const Changes& more) {
    for (const auto& [key, value] : more) base[key] = value;
    return base;
  }
  /// Runs the MNIST sample with these changes and returns the values of one counter.
  static std::vector<double> values(const std::string& name, const Changes& changes) {
    const auto result = run(sample("pipelined", with({{"execution.record", "stages"}}, changes)));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), name);
  }
  static std::vector<nlohmann::json> lines(const std::string& file) {
    std::ifstream stream(file);
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(stream, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  static std::string why(const Changes& changes) { return refusal(sample("pipelined", changes)); }

  /// A configuration with a builder's model on synthetic data, in two stages.
  static config::Configuration model(const std::string& keys, const Changes& changes = {}) {
    auto parsed =
        app::parseConfiguration("[model]\n" + keys +
                                    "\n[training]\nmicro_batch_size = 2\ngradient_accumulation = "
                                    "4\nlearning_rate = 0.01\noptimizer = \"adam\"\n"
                                    "[inference]\nmicro_batch_size = 2\ndevice_iterations = 4\n"
                                    "[data]\ndataset = \"synthetic\"\nsamples = 16\ntest_samples = 8\n",
                                "model.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    for (const auto& [key, value] : changes) {
      const base::Status set = parsed->setText(key, value, config::Origin::flag);
      EXPECT_TRUE(set.ok()) << set.error().message;
    }
    return *parsed;
  }
};

TEST_F(TrainingRun, RecordsTheLearningRateOfTheSchedule) {
  // The run makes 6 updates in three calls. The counter records the rate of the last update of each call.
  const std::vector<double> linear = values("learning_rate", {{"training.lr_schedule", "linear"},
                                                              {"training.learning_rate", "0.006"},
                                                              {"execution.mode", "training"}});
  ASSERT_EQ(linear.size(), 3u);
  EXPECT_NEAR(linear[0], 0.005, 1e-12);
  EXPECT_NEAR(linear[1], 0.003, 1e-12);
  EXPECT_NEAR(linear[2], 0.001, 1e-12);
  const std::vector<double> epochs = values("learning_rate", {{"training.lr_schedule", "step"},
                                                              {"training.lr_unit", "epoch"},
                                                              {"training.lr_gamma", "0.5"},
                                                              {"training.epochs", "2"},
                                                              {"execution.mode", "training"}});
  EXPECT_EQ(epochs, (std::vector<double>{1e-3, 1e-3, 1e-3, 5e-4, 5e-4, 5e-4}));
}

TEST_F(TrainingRun, WritesMetricsAsJsonLines) {
  const std::string file = path("metrics.jsonl");
  const std::vector<double> losses = values("loss", {{"execution.metrics", file},
                                                     {"training.validation_interval", "1"},
                                                     {"training.clip_norm", "1"},
                                                     {"training.loss_scaling", "8"}});
  const std::vector<nlohmann::json> all = lines(file);
  ASSERT_EQ(all.size(), 3u + 5 + 5);
  for (std::size_t call = 0; call < 3; ++call) {
    EXPECT_EQ(all[call]["kind"], "training");
    EXPECT_EQ(all[call]["epoch"], 1);
    EXPECT_EQ(all[call]["call"], call + 1);
    EXPECT_EQ(all[call]["updates"], 2 * (call + 1));
    EXPECT_EQ(all[call]["samples"], 800);
    EXPECT_EQ(all[call]["loss"], losses[call]);
    EXPECT_EQ(all[call]["learning_rate"], 1e-3);
    EXPECT_EQ(all[call]["loss_scale"], 8);
    EXPECT_GT(all[call]["gradient_norm"], 0);
  }
  EXPECT_EQ(all[3]["kind"], "validation");
  EXPECT_EQ(all[12]["kind"], "inference");
  EXPECT_EQ(all[12]["samples"], 80);
  // The validation after the last epoch and the inference use the same weights.
  EXPECT_EQ(all[7]["accuracy"], all[12]["accuracy"]);
  EXPECT_EQ(all[7]["loss"], all[12]["loss"]);
  // Each line has all keys; what has no value is null.
  for (const nlohmann::json& line : all) {
    EXPECT_EQ(line.size(), all[0].size());
    EXPECT_EQ(line["learning_rate"].is_null(), line["kind"] != "training");
    EXPECT_EQ(line["updates"].is_null(), line["kind"] != "training");
    EXPECT_EQ(line["iteration_losses"].size(), line["kind"] == "training" ? 2u : 0u);
  }
}

TEST_F(TrainingRun, RecordsTheLossOfEachIteration) {
  // The same updates as calls of one iteration, whose losses are means over all micro-batches of an update.
  const Changes training{{"execution.mode", "training"}, {"training.gradient_accumulation", "8"}};
  const std::vector<double> single = values("loss", with(training, {{"training.device_iterations", "1"}}));
  EXPECT_TRUE(counter(read(), "iteration_loss").empty());  // would repeat the loss of the call
  ASSERT_EQ(single.size(), 7u);
  const std::string file = path("iterations.jsonl");
  const std::vector<double> iterations =
      values("iteration_loss", with(training, {{"training.device_iterations", "3"},
                                               {"training.output_mode", "final"},
                                               {"execution.metrics", file}}));
  ASSERT_EQ(iterations.size(), 6u);
  for (std::size_t i = 0; i < iterations.size(); ++i) EXPECT_EQ(iterations[i], single[i]);
  const std::vector<nlohmann::json> all = lines(file);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1]["iteration_losses"], (std::vector<double>{single[3], single[4], single[5]}));

  // Each value stands at the end of its weight update, the last one at the end of the call.
  const Read profile = read();
  const auto counters = profile.source->rows<model::Counter>();
  const auto samples = profile.source->rows<model::CounterSample>();
  const auto runs = profile.source->rows<model::Run>();
  ASSERT_TRUE(counters.ok() && samples.ok() && runs.ok());
  std::vector<std::int64_t> times;
  for (const model::CounterSample& row : **samples) {
    if ((**counters)[static_cast<std::size_t>(row.counter.value)].name == "iteration_loss")
      times.push_back(row.time.count);
  }
  ASSERT_EQ(times.size(), 6u);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_LT((**runs)[0].start.count, times[0]);
  EXPECT_EQ(times[2], (**runs)[0].end.count);
  EXPECT_EQ(times[5], (**runs)[1].end.count);
}

TEST_F(TrainingRun, ValidatesBetweenEpochs) {
  const Changes changes{{"training.validation_interval", "2"}, {"training.epochs", "4"}};
  const std::vector<double> accuracies = values("validation_accuracy", changes);
  ASSERT_EQ(accuracies.size(), 2u);
  EXPECT_GT(accuracies[1], 0.2);
  EXPECT_EQ(counter(read(), "validation_loss").size(), 2u);
  // A run without inference compiles an executable for validation alone. The losses must stay the same.
  const std::vector<double> losses = counter(read(), "loss");
  EXPECT_EQ(values("validation_accuracy", with(changes, {{"execution.mode", "training"}})), accuracies);
  const Read profile = read();
  EXPECT_EQ(counter(profile, "loss"), losses);
  ASSERT_EQ(profile.catalog->executables.size(), 2u);
  EXPECT_EQ(profile.catalog->executables[model::ExecutableId(1)].name, "validation");
  EXPECT_EQ(profile.catalog->runsOf(profile.catalog->executables[model::ExecutableId(1)].id)[0]->name,
            "validation epoch 2 call 1");
  EXPECT_TRUE(values("validation_accuracy", with(changes, {{"execution.numerics", "false"}})).empty());
}

TEST_F(TrainingRun, SaysHowManyCallsItPlans) {
  for (const char* numerics : {"true", "false"}) {
    for (const char* interval : {"0", "1"}) {
      (void)values("loss", {{"execution.numerics", numerics},
                            {"training.validation_interval", interval},
                            {"training.epochs", "2"}});
      const Read profile = read();
      ASSERT_EQ(profile.catalog->executables.size(), 2u);
      for (const int executable : {0, 1}) {
        const model::ExecutableId id(executable);
        EXPECT_EQ(profile.catalog->plannedCalls(id),
                  static_cast<std::int64_t>(profile.catalog->runsOf(id).size()))
            << numerics << " " << interval << " " << executable;
      }
    }
  }
}

TEST_F(TrainingRun, GoesOnWhereItStopped) {
  for (const Changes& how : {Changes{{"training.optimizer", "adamw"}},
                             Changes{{"training.optimizer", "sgd"},
                                     {"training.momentum", "0.9"},
                                     {"training.lr_schedule", "step"},
                                     {"training.lr_step_size", "3"}},
                             Changes{{"execution.precision", "float16"},
                                     {"execution.stochastic_rounding", "true"},
                                     {"training.automatic_loss_scaling", "true"}}}) {
    const Changes whole = with(how, {{"execution.mode", "training"},
                                     {"training.epochs", "2"},
                                     {"training.micro_batch_size", "10"},
                                     {"data.samples", "400"}});
    const std::vector<double> together = values("loss", whole);
    ASSERT_EQ(together.size(), 4u);
    const Changes first =
        with(whole, {{"training.epochs", "1"}, {"execution.save_weights", path("half.npz")}});
    std::vector<double> apart = values("loss", first);
    const Changes second =
        with(whole, {{"training.epochs", "1"}, {"execution.load_weights", path("half.npz")}});
    const std::vector<double> rest = values("loss", second);
    apart.insert(apart.end(), rest.begin(), rest.end());
    EXPECT_EQ(apart, together);
  }
}

TEST_F(TrainingRun, InfersWithLoadedWeights) {
  const auto trained = run(sample("pipelined", {{"execution.save_weights", path("w.npz")}}));
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const auto loaded =
      run(sample("pipelined", {{"execution.load_weights", path("w.npz")}, {"execution.mode", "inference"}}));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(*loaded->testAccuracy, *trained->testAccuracy);
}

TEST_F(TrainingRun, ComputesInHalfPrecision) {
  const std::vector<double> reference = values("loss", {{"execution.mode", "training"}});
  const std::vector<double> losses = values("loss", {{"execution.precision", "float16"},
                                                     {"training.loss_scaling", "64"},
                                                     {"training.master_weights", "true"}});
  ASSERT_EQ(losses.size(), reference.size());
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], reference[i], 0.1);
  EXPECT_NE(losses, reference);
  EXPECT_EQ(counter(read(), "loss_scale"), std::vector<double>(3, 64));
  // A float16 operator computes in float32 and rounds the result. A float32 operator between casts must
  // therefore give the same bits.
  const std::vector<double> wide = values("loss", {{"execution.precision", "float16"},
                                                   {"training.loss_scaling", "64"},
                                                   {"training.master_weights", "true"},
                                                   {"execution.float32_operators", "[\"Gemm\", \"Relu\"]"}});
  EXPECT_EQ(wide, losses);
  // The device model itself refuses what the device cannot do.
  EXPECT_NE(why({{"execution.precision", "bfloat16"}}).find("an IPU cannot multiply bfloat16"),
            std::string::npos);
}

TEST_F(TrainingRun, MultipliesFloat8) {
  const Changes gaudi{{"execution.mode", "training"}, {"system.name", "hls-gaudi2"}};
  const std::vector<double> wide = values("loss", with(gaudi, {{"execution.precision", "bfloat16"}}));
  const Changes float8 = with(gaudi, {{"execution.precision", "float8"}});
  const std::vector<double> losses = values("loss", float8);
  ASSERT_EQ(losses.size(), wide.size());
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], wide[i], 0.1);
  EXPECT_NE(losses, wide);
  // Gaudi3 has another largest number, so the scales differ, and so do the products.
  EXPECT_NE(values("loss", with(float8, {{"system.name", "hls-3"}})), losses);
  // Every number becomes the largest one with a scale of 2³¹, and nothing is learnt.
  const std::vector<double> useless = values(
      "loss",
      with(float8, {{"execution.float8_scaling", "fixed"}, {"execution.float8_scales", "[31, 31, 31]"}}));
  EXPECT_GT(useless.back(), losses.back());
  EXPECT_NEAR(useless.back(), std::log(10.0), 1e-3);
  // Inference takes the trained weights and casts them itself.
  const auto whole =
      run(sample("pipelined", {{"execution.precision", "float8"}, {"system.name", "hls-gaudi2"}}));
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_GT(*whole->testAccuracy, 0.3);  // 0.1 by chance
}

TEST_F(TrainingRun, TrainsInBlocksWithScales) {
  const auto losses = [&](const Changes& changes) {
    return values("loss", with({{"system.name", "dgx-b200"}}, changes));
  };
  const std::vector<double> wide = losses({{"execution.precision", "bfloat16"}});
  for (const Changes& changes :
       {Changes{{"execution.precision", "float8"}, {"execution.float8_scaling", "blocks"}},
        Changes{{"execution.precision", "float4"}}}) {
    const std::vector<double> narrow = losses(changes);
    ASSERT_EQ(narrow.size(), wide.size());
    EXPECT_NE(narrow, wide) << "numbers are rounded";
    EXPECT_LT(narrow.back(), narrow.front() - 0.1) << "the network learns";
    EXPECT_NEAR(narrow.back(), wide.back(), 0.1);
  }
}

TEST_F(TrainingRun, RefusesOperatorsToRecomputeThatAreNotThere) {
  EXPECT_EQ(
      why({{"execution.recompute_operators", "[\"*/relu\"]"}}),
      "execution.recompute_operators needs execution.recompute selective: set that, or leave this out.");
  EXPECT_NE(
      why({{"execution.recompute_operators", "[\"nowhere\"]"}, {"execution.recompute", "selective"}})
          .find("execution.recompute_operators names \"nowhere\", but no operator of the model is called "
                "so"),
      std::string::npos);
}

TEST_F(TrainingRun, RefusesBlocksWhereNothingMultipliesThem) {
  EXPECT_EQ(why({{"execution.precision", "float4"}, {"system.name", "dgx-h100"}}),
            "execution.precision is float4, but the devices of system dgx-h100 do not multiply float4; b200, "
            "b300, gb200 and gb300 do. Choose one of them with --system, or --precision float8 with current "
            "scaling.");
  EXPECT_EQ(
      why({{"execution.precision", "float4"}, {"system.name", "pod4"}}),
      "execution.precision is float4, but the devices of system pod4 do not multiply float4; b200, "
      "b300, gb200 and gb300 do. Choose one of them with --system, or --precision float16 or bfloat16.");
  const Changes blocks{{"execution.precision", "float8"}, {"execution.float8_scaling", "blocks"}};
  EXPECT_NE(
      why(with(blocks, {{"system.name", "hls-gaudi2"}}))
          .find("execution.float8_scaling is blocks, but the devices of system hls-gaudi2 do not multiply "
                "blocks of float8; b200, b300, gb200 and gb300 do."),
      std::string::npos);
  EXPECT_NE(why(with(blocks, {{"system.name", "dgx-b200"}, {"execution.float8_products", "all"}}))
                .find("products of two activations have no blocks"),
            std::string::npos);
  EXPECT_NE(why({{"execution.precision", "float4"},
                 {"system.name", "dgx-b200"},
                 {"execution.float8_format", "float8_143"}})
                .find("execution.float8_format needs execution.precision float8"),
            std::string::npos);
}

TEST_F(TrainingRun, RefusesFloat8WhereNothingMultipliesIt) {
  const auto on = [](const std::string& system, const Changes& more = {}) {
    return why(with({{"execution.precision", "float8"}, {"system.name", system}}, more));
  };
  EXPECT_EQ(
      on("pod4"),
      "execution.precision is float8, but the devices of system pod4 do not multiply float8; b200, b300, "
      "c600, gaudi2, gaudi3, gb200, gb300, h100 and mi300x do. Choose one of them with --system, or "
      "--precision float16 or bfloat16.");
  EXPECT_NE(on("hls-1").find("the devices of system hls-1 do not multiply float8"), std::string::npos);
  EXPECT_NE(on("hls-gaudi2", {{"execution.float8_scales", "[0, 0, 0]"}})
                .find("execution.float8_scales needs execution.float8_scaling fixed"),
            std::string::npos);
  EXPECT_NE(on("hls-gaudi2", {{"execution.float8_scaling", "fixed"}, {"execution.float8_scales", "[1]"}})
                .find("execution.float8_scales has 1 numbers; give three"),
            std::string::npos);
  EXPECT_NE(on("hls-gaudi2", {{"execution.float8_except", "[\"no such product\"]"}})
                .find("execution.float8_except names \"no such product\""),
            std::string::npos);
  EXPECT_NE(why({{"execution.float8_format", "float8_143"}}).find("needs execution.precision float8"),
            std::string::npos);
}

TEST_F(TrainingRun, RefusesSettingsThatDoNothing) {
  const std::pair<Changes, const char*> cases[] = {
      {{{"execution.stochastic_rounding", "true"}}, "needs execution.precision float16 or bfloat16"},
      {{{"training.master_weights", "true"}}, "training.master_weights needs execution.precision"},
      {{{"execution.float32_operators", "[\"Gelu\"]"}}, "all operators are float32"},
      {{{"execution.float32_operators", "[\"gelu\"]"}, {"execution.precision", "float16"}},
       "\"gelu\", which is no operator"},
      {{{"training.automatic_loss_scaling", "true"}}, "needs execution.precision float16"},
      {{{"training.loss_scaling_period", "2"}}, "automatic_loss_scaling is off"},
      {{{"training.reduction", "sum"}, {"training.mean_strategy", "post"}}, "leave one of them out"},
      {{{"training.lr_gamma", "0.5"}}, "training.lr_schedule constant has no such setting"},
      {{{"training.nesterov", "true"}},
       "training.nesterov is given, but training.optimizer adamw has no such setting"},
      {{{"training.optimizer", "sgd"}, {"training.nesterov", "true"}}, "nesterov needs momentum"},
      {{{"execution.save_weights", "w.bin"}}, "saved in an .npz file"},
      {{{"execution.load_weights", "w.onnx"}}, "loaded from an .npz file"},
      {{{"execution.save_weights", "w.npz"}, {"execution.mode", "inference"}},
       "inference changes no weights"},
      {{{"execution.save_weights", "w.npz"}, {"execution.numerics", "false"}},
       "without numerics there are no weights"},
      {{{"execution.metrics", "/nowhere/at/all.jsonl"}}, "/nowhere/at is not a folder"},
      {{{"model.hidden", "3"}}, "model.hidden is given, but model.builder is not"},
      {{{"model.builder", "bert"}}, "exclude each other"},
      {{{"execution.layers_per_stage", "[2, 2]"}}, "exclude each other"},
  };
  for (const auto& [changes, part] : cases) {
    const std::string sentence = why(changes);
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence << "\nlacks " << part;
    EXPECT_FALSE(std::filesystem::exists(profile()));
  }
}

TEST_F(TrainingRun, RefusesWeightsOfAnotherModel) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.save_weights", path("adamw.npz")}})).ok());
  EXPECT_NE(why({{"execution.load_weights", path("adamw.npz")},
                 {"training.optimizer", "sgd"},
                 {"training.momentum", "0.5"}})
                .find("it was saved with another optimizer than sgd"),
            std::string::npos);
  EXPECT_NE(why({{"execution.load_weights", path("missing.npz")}}).find("no such file"), std::string::npos);
  auto arrays = data::readNpz(path("adamw.npz"));
  ASSERT_TRUE(arrays.ok()) << arrays.error().message;
  const std::int64_t below = -3;
  std::vector<data::NpzMember> members;
  for (const auto& [name, array] : *arrays) {
    members.push_back({name, array.type, array.bytes});
    if (name == "optimizer/updates") members.back().values = std::as_bytes(std::span(&below, 1));
  }
  ASSERT_TRUE(data::writeNpz(path("negative.npz"), members).ok());
  EXPECT_NE(why({{"execution.load_weights", path("negative.npz")}}).find("optimizer/updates is -3"),
            std::string::npos);
  const std::string other =
      "builder = \"resnet\"\ndepth = 18\nimage_size = 32\nstem = \"cifar\"\nclasses = 10\n";
  EXPECT_NE(refusal(model(other, {{"execution.load_weights", path("adamw.npz")},
                                  {"execution.layers_per_stage", "[8]"}}))
                .find("has no weight stem/conv/weight"),
            std::string::npos);
}

TEST_F(TrainingRun, BuildersTrainAndInfer) {
  const std::pair<const char*, const char*> models[] = {
      {"builder = \"resnet\"\ndepth = 18\nimage_size = 16\nstem = \"cifar\"\nclasses = 4\n", "[4, 4]"},
      {"builder = \"bert\"\nlayers = 2\nhidden = 16\nheads = 2\nfeed_forward = 32\nsequence = 8\npositions = "
       "8\n"
       "vocabulary = 20\ndropout = 0.1\n",
       "[1, 1]"},
      {"builder = \"bert\"\nlayers = 2\nhidden = 16\nheads = 2\nfeed_forward = 32\nsequence = 8\nvocabulary "
       "= 20\n"
       "head = \"mlm\"\n",
       "[1, 1]"},
      {"builder = \"vit\"\nlayers = 2\nhidden = 16\nheads = 2\nfeed_forward = 32\nimage_size = 8\npatch_size "
       "= 4\n"
       "classes = 4\n",
       "[1, 1]"},
      {"builder = \"decoder\"\nlayers = 2\nhidden = 16\nheads = 4\nkey_heads = 2\nfeed_forward = "
       "32\nsequence = 8\n"
       "vocabulary = 20\nnorm = \"rms\"\ngated = true\nactivation = \"silu\"\n",
       "[1, 1]"}};
  for (const auto& [keys, stages] : models) {
    const bool large = std::string(keys).starts_with("builder = \"resnet\"");
    const Changes changes{{"execution.layers_per_stage", stages},
                          {"training.epochs", large ? "1" : "12"},
                          {"execution.record", "stages"}};
    const auto computed = run(model(keys, changes));
    ASSERT_TRUE(computed.ok()) << keys << computed.error().message;
    const std::vector<double> losses = counter(read(), "loss");
    ASSERT_EQ(losses.size(), large ? 2u : 24u);
    // The labels are random, so the loss can only fall if the model memorises them.
    if (!large) {
      EXPECT_LT(losses[22] + losses[23], 0.8 * (losses[0] + losses[1])) << keys;
    }
    const auto emulated = run(model(keys, with(changes, {{"execution.numerics", "false"}})));
    ASSERT_TRUE(emulated.ok()) << emulated.error().message;
    EXPECT_EQ(emulated->emulatedSeconds, computed->emulatedSeconds) << "emulated time needs no numbers";
  }
}

/// Pseudo-random multiples of 2⁻²⁴ in [0, 1). data/make_builder_golden.py generates the same sequence.
std::vector<double> lcg(std::uint32_t seed, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(static_cast<double>(seed >> 8) / 16777216.0);
  }
  return values;
}

TEST_F(TrainingRun, DecodingComputesWhereCachesAreInputs) {
  const std::string decoder =
      "builder = \"decoder\"\nlayers = 2\nhidden = 16\nheads = 4\nkey_heads = 2\nfeed_forward = 32\n"
      "vocabulary = 20\nphase = \"decode\"\ncache = 5\n";
  const Changes inference{{"execution.mode", "inference"}, {"execution.layers_per_stage", "[1, 1]"}};
  EXPECT_NE(refusal(model(decoder, inference)).find("or set model.cache_at = \"host\""), std::string::npos);
  const auto emulated = run(model(decoder, with(inference, {{"execution.numerics", "false"}})));
  EXPECT_TRUE(emulated.ok()) << emulated.error().message;
  // The host sends the token and two caches for each layer. Each of them is a separate input field.
  const auto computed = run(model(decoder + "cache_at = \"host\"\n", inference));
  EXPECT_TRUE(computed.ok()) << computed.error().message;
}

TEST_F(TrainingRun, BuildersEqualPyTorch) {
  std::vector<float> images;
  for (const double v : lcg(7, 8 * 3 * 256)) images.push_back(static_cast<float>(v * 4 - 2));
  std::vector<std::int32_t> tokens, labels;
  for (const double v : lcg(8, 8 * 6)) tokens.push_back(static_cast<std::int32_t>(v * 20));
  for (std::int32_t i = 0; i < 8; ++i) labels.push_back(i % 5);
  const auto write = [&](const std::string& name, const graph::TensorType& type,
                         std::span<const std::byte> samples) {
    std::filesystem::create_directories(folder() / name);
    const std::vector<data::NpzMember> members{
        {"samples", type, samples},
        {"labels", {graph::ElementType::int32, {8}}, std::as_bytes(std::span(labels))}};
    ASSERT_TRUE(data::writeNpz(folder() / name / "train.npz", members).ok());
  };
  write("images", {graph::ElementType::float32, {8, 3, 16, 16}}, std::as_bytes(std::span(images)));
  write("tokens", {graph::ElementType::int32, {8, 6}}, std::as_bytes(std::span(tokens)));
  const std::map<std::string, std::string> models{
      {"resnet", "builder = \"resnet\"\ndepth = 18\nimage_size = 16\nclasses = 5\nstem = \"cifar\"\n"},
      {"vit",
       "builder = \"vit\"\nlayers = 2\nhidden = 16\nheads = 4\nfeed_forward = 24\nimage_size = 16\n"
       "patch_size = 4\nclasses = 5\n"},
      {"bert",
       "builder = \"bert\"\nlayers = 2\nhidden = 16\nheads = 4\nfeed_forward = 24\nsequence = 6\n"
       "positions = 8\nvocabulary = 20\nhead = \"classification\"\nclasses = 5\n"}};
  std::ifstream golden(std::string(PIPESCOPE_TEST_DATA) + "/builders.golden");
  int checked = 0;
  for (std::string line; std::getline(golden, line); ++checked) {
    std::istringstream words(line);
    std::string name, colon;
    words >> name >> colon;
    const Changes changes{{"training.micro_batch_size", "4"},
                          {"training.gradient_accumulation", "1"},
                          {"training.optimizer", "sgd"},
                          {"training.shuffle", "false"},
                          {"training.epochs", "3"},
                          {"training.output_mode", "all"},
                          {"execution.mode", "training"},
                          {"execution.strategy", "sharded"},
                          {"data.dataset", "numpy"},
                          {"data.samples", "0"},
                          {"data.directory", path(name == "bert" ? "tokens" : "images")},
                          {"system.name", "pod16"}};
    const auto trained = run(model(models.at(name), changes));
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    const std::vector<double> losses = counter(read(), "loss");
    ASSERT_EQ(losses.size(), 6u);
    for (const double loss : losses) {
      double expected = 0;
      words >> expected;
      EXPECT_NEAR(loss, expected, 2e-4 * expected) << name;
    }
  }
  EXPECT_EQ(checked, 3);
}

TEST_F(TrainingRun, LayersPerStageAddUp) {
  const std::string bert = "builder = \"bert\"\nlayers = 4\n";
  EXPECT_EQ(refusal(model(bert, {{"execution.layers_per_stage", "[2, 3]"}})),
            "execution.layers_per_stage is [2, 3], 5 layers in all, but the model has 4: give every stage at "
            "least one, "
            "and all of them a stage.");
  EXPECT_EQ(refusal(model("builder = \"bert\"\ninput = [4]\n")),
            "model.input is given, but the builder bert decides the shape of its samples: leave it out.");
  EXPECT_NE(refusal(model("builder = \"bret\"\n")).find("did you mean bert?"), std::string::npos);
}

TEST_F(TrainingRun, BillionsOfParametersRunWithoutNumerics) {
  // The weights of three layers of Llama-3-8B take gigabytes. An emulated run must not allocate them.
  const auto result =
      run(model("builder = \"decoder\"\nlayers = 3\nhidden = 4096\nheads = 32\nkey_heads = 8\n"
                "feed_forward = 14336\nsequence = 128\nvocabulary = 128256\nnorm = \"rms\"\ngated = true\n"
                "activation = \"silu\"\n",
                {{"execution.numerics", "false"},
                 {"execution.mode", "inference"},
                 {"execution.layers_per_stage", "[1, 1, 1]"}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->fits);
}

}  // namespace
}  // namespace pipescope::app
