// Tests runs of ONNX models: configuration, blocks, losses, saved weights and `pipescope infer`.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/run/execute/infer_model.h"
#include "app/run/io/host_memory.h"
#include "app/run/request/configuration_keys.h"
#include "engine/data/npy_file.h"
#include "profiler/analysis/run_folder.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;
const fs::path kModels = fs::path(PIPESCOPE_SOURCE_DIR) / "tests/conformance/onnx/data";

class OnnxRun : public RunFixture {
 protected:
  static config::Configuration of(const std::string& model, const std::string& toml = "",
                                  const std::map<std::string, std::string>& changes = {}) {
    auto read = app::parseConfiguration(toml, "test.toml");
    EXPECT_TRUE(read.ok()) << read.error().message;
    config::Configuration configuration = std::move(read).value();
    std::map<std::string, std::string> all = {{"data.directory", (folder() / "digits").string()},
                                              {"data.samples", "400"},
                                              {"data.test_samples", "80"},
                                              {"training.micro_batch_size", "10"},
                                              {"training.gradient_accumulation", "4"},
                                              {"training.learning_rate", "0.01"},
                                              {"inference.micro_batch_size", "10"},
                                              {"inference.device_iterations", "4"}};
    if (!model.empty()) all["model.onnx"] = (kModels / model / "model.onnx").string();
    for (const auto& [key, value] : changes) all[key] = value;
    for (const auto& [key, value] : all) {
      const base::Status set = configuration.setText(key, value, config::Origin::flag);
      EXPECT_TRUE(set.ok()) << set.error().message;
    }
    return configuration;
  }
  static std::string bytesOf(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
};

TEST_F(OnnxRun, TrainsInTwoStagesAndSavesWeights) {
  const auto configuration =
      of("lenet_training", R"(
    [[model.blocks]]
    name = "front"
    prefix = "features"
    [[model.blocks]]
    name = "back"
    nodes = ["classifier/*"]
    [[stages]]
    blocks = ["front"]
    [[stages]]
    blocks = ["back"]
  )",
         {{"training.epochs", "3"}, {"execution.save_weights", (folder() / "trained.onnx").string()}});
  const fs::path saved = folder() / "trained.onnx";
  const auto result = run(configuration);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const std::vector<double> losses = counter(read(), "loss");
  ASSERT_GE(losses.size(), 6U);
  EXPECT_LT(losses.back(), losses.front());
  // The saved model must run, and its predictions must differ from those of the untrained model.
  const fs::path data = kModels / "lenet";
  ASSERT_TRUE(inferModel({saved, data, folder() / "trained"}).ok());
  ASSERT_TRUE(inferModel({kModels / "lenet_training" / "model.onnx", data, folder() / "untrained"}).ok());
  EXPECT_NE(bytesOf(folder() / "trained/output_0.pb"), bytesOf(folder() / "untrained/output_0.pb"));
}

TEST_F(OnnxRun, TheSampleTrainsInStagesAndItsWeightsInfer) {
  auto read = app::readConfiguration(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/onnx/train.toml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  config::Configuration sample = std::move(read).value();
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"data.directory", (folder() / "digits").string()},
                                          {"data.samples", "2400"},
                                          {"data.test_samples", "400"},
                                          {"training.gradient_accumulation", "6"},
                                          {"inference.device_iterations", "10"},
                                          {"execution.save_weights", (folder() / "sample.onnx").string()}}) {
    const base::Status set = sample.setText(key, value, config::Origin::flag);
    ASSERT_TRUE(set.ok()) << set.error().message;
  }
  const auto result = run(sample);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(*result->testAccuracy, 0.5) << "of ten classes, after 40 updates";
  EXPECT_EQ(counter(RunFixture::read(), "validation_accuracy").size(), 2U);
  const auto written = inferModel({folder() / "sample.onnx", kModels / "lenet", folder() / "sample_out"});
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ((*written)[0].type, "3x10 float32");
}

TEST_F(OnnxRun, AProfileTellsWhereTheModelIsFromAnyFolder) {
  const fs::path model = kModels / "lenet_training/model.onnx", typed = fs::relative(model);
  ASSERT_TRUE(typed.is_relative());
  const auto result = run(of("", "", {{"model.onnx", typed.string()}, {"execution.numerics", "false"}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  EXPECT_EQ(profile.catalog->property("run_folder"), fs::current_path().string());
  const auto optionIn = [](const std::vector<model::ConfigurationEntry>& options) {
    const auto row = std::ranges::find(options, "model.onnx", &model::ConfigurationEntry::path);
    return row == options.end() ? fs::path() : fs::path(row->value.substr(1, row->value.size() - 2));
  };
  EXPECT_EQ(optionIn(profile.catalog->configuration), typed) << "as it was typed";
  const fs::path found = optionIn(analysis::optionsForAnyFolder(*profile.catalog));
  EXPECT_TRUE(found.is_absolute());
  EXPECT_TRUE(fs::equivalent(found, model)) << found;
}

TEST_F(OnnxRun, StagesDoNotChangeTheLoss) {
  const std::map<std::string, std::string> more{{"training.gradient_accumulation", "10"}};
  const auto one = run(of("lenet_training", "", more));
  ASSERT_TRUE(one.ok()) << one.error().message;
  const auto two = run(of("lenet_training", R"(
    [[model.blocks]]
    name = "L"
    matching = "*"
    every = 1
  )",
                          more));
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(*one->finalLoss, *two->finalLoss);
}

TEST_F(OnnxRun, TokensAreFedAsWholeNumbers) {
  const auto result =
      run(of("encoder", "", {{"execution.mode", "inference"}, {"data.dataset", "synthetic"}}));
  EXPECT_TRUE(result.ok()) << result.error().message;
}

TEST_F(OnnxRun, OtherLossesTrain) {
  const auto result =
      run(of("lenet_training", "", {{"training.loss", "mse"}, {"data.dataset", "synthetic"}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(*result->finalLoss, 0);
}

/// A model with two inputs whose data is found by name. data/make_named_inputs.py made PyTorch's losses.
class NamedInputs : public OnnxRun {
 protected:
  static fs::path data() { return fs::path(PIPESCOPE_SOURCE_DIR) / "tests/unit/run/data/named_inputs"; }
  static config::Configuration with(const std::map<std::string, std::string>& changes) {
    std::map<std::string, std::string> all = {{"model.onnx", (data() / "model.onnx").string()},
                                              {"data.dataset", "numpy"},
                                              {"training.loss", "mse"},
                                              {"training.shuffle", "false"},
                                              {"training.micro_batch_size", "4"},
                                              {"training.gradient_accumulation", "1"},
                                              {"training.device_iterations", "1"},
                                              {"training.learning_rate", "0.5"},
                                              {"training.optimizer", "sgd"},
                                              {"training.validation_interval", "1"},
                                              {"inference.micro_batch_size", "4"},
                                              {"inference.device_iterations", "2"},
                                              {"data.samples", "0"},
                                              {"data.test_samples", "0"}};
    for (const auto& [key, value] : changes) all[key] = value;
    return of("", "", all);
  }
  /// Writes train.npz and test.npz with these members.
  static fs::path archive(const std::string& name, const std::vector<data::NpzMember>& members) {
    fs::create_directories(folder() / name);
    for (const char* split : {"train.npz", "test.npz"})
      EXPECT_TRUE(data::writeNpz(folder() / name / split, members).ok());
    return folder() / name;
  }
};

TEST_F(NamedInputs, TrainAsPyTorchDoes) {
  std::ifstream file(data() / "golden.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const std::string loss : {"cross_entropy", "mse"}) {
    const auto result = run(with({{"training.loss", loss}, {"data.directory", (data() / loss).string()}}));
    ASSERT_TRUE(result.ok()) << result.error().message;
    const std::vector<double> losses = counter(read(), "loss"),
                              validation = counter(read(), "validation_loss");
    ASSERT_EQ(losses.size(), golden[loss]["losses"].size());
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], golden[loss]["losses"][i].get<double>(), 2e-6) << loss << " " << i;
    ASSERT_EQ(validation.size(), 1U);
    EXPECT_NEAR(validation[0], golden[loss]["validation"].get<double>(), 2e-6);
    EXPECT_EQ(counter(read(), "accuracy").empty(), loss == "mse");
  }
}

TEST_F(NamedInputs, SayWhatTheDataHasAndTheModelWants) {
  using graph::ElementType;
  const std::vector<std::int64_t> ids(16, 1);
  const std::vector<float> reals(16, 0.5F);
  const data::NpzMember input{"input_ids", {ElementType::int64, {4, 4}}, std::as_bytes(std::span(ids))},
      mask{"attention_mask", {ElementType::int64, {4, 4}}, std::as_bytes(std::span(ids))},
      labels{"labels", {ElementType::float32, {4, 2}}, std::as_bytes(std::span(reals)).first(32)};
  const auto refused = [&](const std::vector<data::NpzMember>& members) {
    return refusal(with({{"data.directory", archive("named", members).string()},
                         {"execution.mode", "training"},
                         {"training.validation_interval", "0"}}));
  };
  EXPECT_EQ(refused({input, mask, labels}), "");
  EXPECT_THAT(
      refused({input, labels}),
      AllOf(HasSubstr(
                "The model takes input_ids (4 int64), attention_mask (4 int64) and labels (2 float32), but"),
            HasSubstr("has input_ids (4 int64) and labels (2 float32): give attention_mask by that name.")));
  data::NpzMember wrong = mask;
  wrong.type.shape = {4, 2, 2};
  EXPECT_THAT(refused({input, wrong, labels}), AllOf(HasSubstr("takes attention_mask of 4 int64"),
                                                     HasSubstr("has attention_mask of 2x2 int64")));
  wrong = {"attention_mask", {ElementType::float32, {4, 4}}, std::as_bytes(std::span(reals))};
  EXPECT_THAT(refused({input, wrong, labels}),
              HasSubstr("has attention_mask of 4 float32: store whole numbers there"));
  wrong = labels;
  wrong.type.shape = {4, 1, 2};
  EXPECT_EQ(refused({input, mask, wrong}), "") << "as many labels in another shape";
  wrong = {"labels", {ElementType::float32, {4, 4}}, std::as_bytes(std::span(reals))};
  EXPECT_THAT(refused({input, mask, wrong}), HasSubstr("takes labels of 2 float32"));
}

TEST_F(NamedInputs, WithoutADataSetSamplesAreMadeUpVisibly) {
  auto read = app::parseConfiguration("", "test.toml");
  ASSERT_TRUE(read.ok());
  const auto of = [&](const fs::path& model) {
    config::Configuration configuration = *read;
    for (const auto& [key, value] : std::map<std::string, std::string>{{"model.onnx", model.string()},
                                                                       {"training.micro_batch_size", "4"},
                                                                       {"inference.micro_batch_size", "4"},
                                                                       {"execution.mode", "training"}})
      EXPECT_TRUE(configuration.setText(key, value, config::Origin::flag).ok());
    return configuration;
  };
  config::Configuration made = of(data() / "model.onnx");
  const auto result = run(made);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->notices, ::testing::Contains(HasSubstr("Training on random data")));
  EXPECT_EQ(counter(RunFixture::read(), "loss").size(), 1U) << "one call's worth";
  ASSERT_TRUE(made.setText("execution.numerics", "false", config::Origin::flag).ok());
  EXPECT_TRUE(run(made).ok());
  // The model's input has the shape of digits, so the run uses digits rather than synthetic data.
  config::Configuration digits = of(kModels / "lenet_training" / "model.onnx");
  ASSERT_TRUE(digits.setText("execution.numerics", "false", config::Origin::flag).ok());
  const auto fits = run(digits);
  ASSERT_TRUE(fits.ok()) << fits.error().message;
  EXPECT_THAT(fits->notices, ::testing::Not(::testing::Contains(HasSubstr("random data"))));
  // If the configuration asks for digits and they do not fit, the run is refused.
  made = with({{"data.dataset", "mnist"}, {"data.directory", (folder() / "digits").string()}});
  EXPECT_THAT(refusal(made), HasSubstr("the model takes 2 float32"));
  made = with({{"data.dataset", "mnist"},
               {"training.loss", "cross_entropy"},
               {"data.directory", (folder() / "digits").string()}});
  EXPECT_THAT(refusal(made), AllOf(HasSubstr("The model takes input_ids (4 int64)"),
                                   HasSubstr("has samples (1x28x28 float32) and labels (int32)")));
}

TEST_F(OnnxRun, RefusesWhatDoesNotFitTheModel) {
  EXPECT_THAT(refusal(of("lenet_training", "", {{"training.loss", "model"}})),
              HasSubstr("no loss of its own"));
  EXPECT_THAT(refusal(of("lenet_training", "", {{"model.assume", "[\"x = y\"]"}})),
              HasSubstr("model.assume: \"x = y\" must be"));
  EXPECT_THAT(refusal(of("lenet_training", "[model.assume]\nwidth = 3\n")),
              HasSubstr("model.assume gives width"));
  EXPECT_THAT(refusal(of("lenet_training", "[model]\ninput = [1, 28, 28]\n")),
              HasSubstr("the ONNX file decides the shape"));
  EXPECT_THAT(refusal(of("lenet_training", "[model]\nbuilder = \"resnet\"\n")),
              HasSubstr("exclude each other"));
  EXPECT_THAT(refusal(of("gru", "", {{"execution.mode", "inference"}})),
              HasSubstr("its first axis is not the micro-batch size 10"));
  EXPECT_THAT(
      refusal(of("gru", "",
                 {{"execution.mode", "inference"},
                  {"execution.numerics", "false"},
                  {"inference.micro_batch_size", "7"}})),
      HasSubstr("Input x is 3x5x6 float32, which does not divide into 7 samples: set the micro-batch size"));
  EXPECT_THAT(refusal(of("absent")), HasSubstr("no such file"));
}

TEST_F(OnnxRun, AModelWithoutOperatorsIsRefused) {
  // The bytes of an opset and of a graph whose output is its input x, 10 × 4 float32.
  const std::string type{"\x0a\x0c\x08\x01\x12\x08\x0a\x02\x08\x0a\x0a\x02\x08\x04", 14};
  const std::string value = std::string("\x0a\x01x\x12\x0e") + type;
  const std::string model =
      std::string("\x08\x08\x42\x02\x10\x11\x3a\x2d\x12\x01g\x5a\x13") + value + "\x62\x13" + value;
  const fs::path file = folder() / "empty.onnx";
  std::ofstream(file, std::ios::binary) << model;
  for (const char* numerics : {"true", "false"}) {
    EXPECT_THAT(
        refusal(of("", "",
                   {{"model.onnx", file.string()},
                    {"execution.mode", "inference"},
                    {"execution.numerics", numerics}})),
        HasSubstr("empty.onnx: there is nothing to run: no operator stands between its inputs and outputs"));
  }
}

TEST_F(OnnxRun, WhatThisMachineCannotHoldIsRefusedBeforeItIsTaken) {
  graph::Graph graph;
  const graph::TensorId weight =
      graph.addParameter("w", {graph::ElementType::float32, {1 << 20, 1 << 20}}, {});
  EXPECT_THAT(
      checkHostMemory(graph, 0).error().message,
      AllOf(HasSubstr("takes 4096.0 GiB for weights and their gradients alone"), HasSubstr("--no-numerics")));
  graph.parameterGradients[weight] = weight;
  EXPECT_THAT(checkHostMemory(graph, 0).error().message, HasSubstr("takes 8192.0 GiB for weights"));
  EXPECT_THAT(checkHostMemory(graph::Graph(), std::int64_t{1} << 50).error().message,
              HasSubstr("takes 1048576.0 GiB for one micro-batch's results alone"));
  EXPECT_TRUE(checkHostMemory(graph::Graph(), 1 << 20).ok());
}

TEST_F(OnnxRun, KeysOfOnnxModelsNeedOne) {
  const std::string layers = "[[model.layers]]\ntype = \"flatten\"\nname = \"f\"\nblock = \"B\"\n";
  EXPECT_THAT(refusal(of("", "model.frozen = [\"a\"]\n" + layers)),
              HasSubstr("model.frozen belongs to an ONNX model"));
  EXPECT_THAT(refusal(of("", "model.assume = [\"a = 1\"]\n" + layers)),
              HasSubstr("model.assume belongs to an ONNX model"));
  EXPECT_THAT(refusal(of("", "[[model.blocks]]\nname = \"a\"\nprefix = \"b\"\n" + layers)),
              HasSubstr("[[model.blocks]] belong to an ONNX model"));
  EXPECT_THAT(refusal(of("", layers, {{"training.loss", "mse"}})),
              HasSubstr("training.loss = \"mse\" is for ONNX models"));
}

TEST_F(OnnxRun, SavesWeightsOnlyWhereThereAreSome) {
  const std::pair<std::string, std::string> file{"execution.save_weights", (folder() / "w.onnx").string()};
  EXPECT_THAT(refusal(sample("two_stages", {file})), HasSubstr("the model is none"));
  EXPECT_THAT(refusal(of("lenet_training", "", {file, {"execution.mode", "inference"}})),
              HasSubstr("inference changes no weights"));
  EXPECT_THAT(refusal(of("lenet_training", "", {file, {"execution.numerics", "false"}})),
              HasSubstr("without numerics there are no weights"));
}

TEST_F(OnnxRun, InferWritesAFileForEachOutput) {
  const fs::path data = kModels / "lenet";
  const auto written = inferModel({data / "model.onnx", data, folder() / "out", 2});
  ASSERT_TRUE(written.ok()) << written.error().message;
  ASSERT_EQ(written->size(), 1U);
  EXPECT_EQ((*written)[0].type, "3x10 float32");
  EXPECT_EQ((*written)[0].name, "y");
}

TEST_F(OnnxRun, InferSaysWhatIsMissing) {
  const fs::path data = kModels / "lenet";
  EXPECT_THAT(inferModel({data / "model.onnx", "/nonexistent", folder() / "out"}).error().message,
              HasSubstr("/nonexistent is no folder"));
  EXPECT_THAT(inferModel({data / "model.onnx", folder(), folder() / "out"}).error().message,
              HasSubstr("input_0.pb is missing"));
  std::ofstream(folder() / "plain") << "in the way";
  EXPECT_THAT(inferModel({data / "model.onnx", data, folder() / "plain" / "out"}).error().message,
              HasSubstr("Cannot make the folder"));
}

}  // namespace
}  // namespace pipescope::app
