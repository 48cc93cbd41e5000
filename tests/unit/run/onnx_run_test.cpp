// Runs of ONNX models: configuration, blocks, losses, saved weights, and `pipescope infer`.
#include <gmock/gmock.h>

#include "app/run/infer_model.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
const fs::path kModels = fs::path(PIPESCOPE_SOURCE_DIR) / "tests/conformance/onnx/data";

class OnnxRun : public RunFixture {
 protected:
  static config::Configuration of(const std::string& model, const std::string& toml = "",
                                  const std::map<std::string, std::string>& changes = {}) {
    auto read = config::Configuration::parse(toml, "test.toml");
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
  const auto configuration = of("lenet_training", R"(
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
  )", {{"training.epochs", "3"}, {"execution.save_weights", (folder() / "trained.onnx").string()}});
  const fs::path saved = folder() / "trained.onnx";
  const auto result = run(configuration);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const std::vector<double> losses = counter(read(), "loss");
  ASSERT_GE(losses.size(), 6U);
  EXPECT_LT(losses.back(), losses.front());
  // The saved model infers, and otherwise than the untrained one.
  const fs::path data = kModels / "lenet";
  ASSERT_TRUE(inferModel({saved, data, folder() / "trained"}).ok());
  ASSERT_TRUE(inferModel({kModels / "lenet_training" / "model.onnx", data, folder() / "untrained"}).ok());
  EXPECT_NE(bytesOf(folder() / "trained/output_0.pb"), bytesOf(folder() / "untrained/output_0.pb"));
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
  )", more));
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(*one->finalLoss, *two->finalLoss);
}

TEST_F(OnnxRun, TokensAreFedAsWholeNumbers) {
  const auto result = run(of("encoder", "", {{"execution.mode", "inference"}, {"data.dataset", "synthetic"}}));
  EXPECT_TRUE(result.ok()) << result.error().message;
}

TEST_F(OnnxRun, OtherLossesTrain) {
  const auto result = run(of("lenet_training", "", {{"training.loss", "mse"}, {"data.dataset", "synthetic"}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(*result->finalLoss, 0);
}

TEST_F(OnnxRun, RefusesWhatDoesNotFitTheModel) {
  EXPECT_THAT(refusal(of("lenet_training", "", {{"training.loss", "model"}})), HasSubstr("no loss of its own"));
  EXPECT_THAT(refusal(of("lenet_training", "", {{"model.assume", "[\"x = y\"]"}})), HasSubstr("model.assume: \"x = y\" must be"));
  EXPECT_THAT(refusal(of("lenet_training", "[model.assume]\nwidth = 3\n")), HasSubstr("[model.assume] gives width"));
  EXPECT_THAT(refusal(of("lenet_training", "[model]\ninput = [1, 28, 28]\n")), HasSubstr("the ONNX file decides the shape"));
  EXPECT_THAT(refusal(of("lenet_training", "[model]\nbuilder = \"resnet\"\n")), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal(of("gru", "", {{"execution.mode", "inference"}})), HasSubstr("its first axis is not the micro-batch size 10"));
  EXPECT_THAT(refusal(of("absent")), HasSubstr("no such file"));
}

TEST_F(OnnxRun, KeysOfOnnxModelsNeedOne) {
  const std::string layers = "[[model.layers]]\ntype = \"flatten\"\nname = \"f\"\nblock = \"B\"\n";
  EXPECT_THAT(refusal(of("", "model.frozen = [\"a\"]\n" + layers)), HasSubstr("model.frozen belongs to an ONNX model"));
  EXPECT_THAT(refusal(of("", "model.assume = [\"a = 1\"]\n" + layers)), HasSubstr("model.assume belongs to an ONNX model"));
  EXPECT_THAT(refusal(of("", "[[model.blocks]]\nname = \"a\"\nprefix = \"b\"\n" + layers)), HasSubstr("[[model.blocks]] belong to an ONNX model"));
  EXPECT_THAT(refusal(of("", layers, {{"training.loss", "mse"}})), HasSubstr("training.loss = \"mse\" is for ONNX models"));
}

TEST_F(OnnxRun, SavesWeightsOnlyWhereThereAreSome) {
  const std::pair<std::string, std::string> file{"execution.save_weights", (folder() / "w.onnx").string()};
  EXPECT_THAT(refusal(sample("two_stages", {file})), HasSubstr("the model is none"));
  EXPECT_THAT(refusal(of("lenet_training", "", {file, {"execution.mode", "inference"}})), HasSubstr("inference changes no weights"));
  EXPECT_THAT(refusal(of("lenet_training", "", {file, {"execution.numerics", "false"}})), HasSubstr("without numerics there are no weights"));
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
  EXPECT_THAT(inferModel({data / "model.onnx", "/nonexistent", folder() / "out"}).error().message, HasSubstr("/nonexistent is no folder"));
  EXPECT_THAT(inferModel({data / "model.onnx", folder(), folder() / "out"}).error().message, HasSubstr("input_0.pb is missing"));
  std::ofstream(folder() / "plain") << "in the way";
  EXPECT_THAT(inferModel({data / "model.onnx", data, folder() / "plain" / "out"}).error().message, HasSubstr("Cannot make the folder"));
}

}  // namespace
}  // namespace pipescope::app
