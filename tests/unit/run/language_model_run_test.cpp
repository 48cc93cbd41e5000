// Trains small language models as PyTorch exports them, and compares the losses with PyTorch's.
// data/make_language_models.py made the models, their data and the losses.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "run_fixture.h"

namespace pipescope::app {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
const fs::path kLanguageModels = fs::path(PIPESCOPE_SOURCE_DIR) / "tests/unit/run/data/language_models";

using Changes = std::map<std::string, std::string>;

class LanguageModelRun : public RunFixture {
 protected:
  static config::Configuration of(const std::string& name, const Changes& changes = {}) {
    auto read = app::parseConfiguration("", "test.toml");
    EXPECT_TRUE(read.ok()) << read.error().message;
    config::Configuration configuration = std::move(read).value();
    Changes all = {{"model.onnx", (kLanguageModels / name / "model.onnx").string()},
                   {"data.dataset", "numpy"},
                   {"data.directory", (kLanguageModels / name).string()},
                   {"execution.mode", "training"},
                   {"training.micro_batch_size", "4"},
                   {"training.shuffle", "false"},
                   {"training.optimizer", "sgd"},
                   {"training.learning_rate", "0.1"}};
    for (const auto& [key, value] : changes) all[key] = value;
    for (const auto& [key, value] : all) {
      const base::Status set = configuration.setText(key, value, config::Origin::flag);
      EXPECT_TRUE(set.ok()) << set.error().message;
    }
    return configuration;
  }

  static nlohmann::json golden() {
    std::ifstream file(kLanguageModels / "golden.json");
    return nlohmann::json::parse(file);
  }

  static void expectLosses(const std::string& name, const Changes& changes = {}) {
    const auto result = run(of(name, changes));
    ASSERT_TRUE(result.ok()) << name << ": " << result.error().message;
    const nlohmann::json expected = golden()[name];
    const Read profile = read();
    const std::vector<double> losses = counter(profile, "loss"), accuracy = counter(profile, "accuracy");
    ASSERT_EQ(losses.size(), expected["losses"].size()) << name;
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected["losses"][i].get<double>(), 2e-5 * losses[i]) << name << " " << i;
    if (name == "gpt_self" || name == "gpt_shifted") return;  // there is no label for each prediction
    ASSERT_EQ(accuracy.size(), losses.size()) << name;
    // Each call compares as many labels.
    double sum = 0;
    for (const double each : accuracy) sum += each;
    EXPECT_NEAR(sum / static_cast<double>(accuracy.size()), expected["accuracy"].get<double>(), 1e-12)
        << name;
  }
};

TEST_F(LanguageModelRun, TrainsAsPyTorchDoes) {
  const nlohmann::json models = golden();
  for (const auto& [name, expected] : models.items()) expectLosses(name);
}

TEST_F(LanguageModelRun, TrainsInStagesAsPyTorchDoes) {
  for (const char* name : {"gpt", "gpt_reshaped", "bert", "translator"})
    expectLosses(name, {{"execution.stages", "3"}, {"execution.strategy", "sharded"}});
}

TEST_F(LanguageModelRun, InfersWithoutTheLossInTheFile) {
  for (const char* name : {"gpt_reshaped", "gpt_self", "gpt_chosen", "bert", "translator"}) {
    const std::string data = (kLanguageModels / name).string();
    const auto result = run(of(name, {{"execution.mode", "inference"},
                                      {"inference.micro_batch_size", "4"},
                                      {"data.dataset", "synthetic"},
                                      {"data.directory", ""},
                                      {"data.test_samples", "8"}}));
    EXPECT_TRUE(result.ok()) << name << ": " << result.error().message;
  }
}

TEST_F(LanguageModelRun, AreValidatedWithTheLossOfTheFile) {
  // Without a step, validation over the training data gives the mean of the losses.
  const fs::path data = folder() / "validation";
  fs::create_directories(data);
  for (const char* split : {"train.npz", "test.npz"})
    fs::copy_file(kLanguageModels / "gpt_reshaped" / "train.npz", data / split,
                  fs::copy_options::overwrite_existing);
  const auto result = run(of("gpt_reshaped", {{"data.directory", data.string()},
                                              {"training.learning_rate", "0"},
                                              {"training.validation_interval", "1"},
                                              {"inference.micro_batch_size", "4"}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  const std::vector<double> losses = counter(profile, "loss"),
                            validation = counter(profile, "validation_loss");
  ASSERT_EQ(validation.size(), 1U);
  double mean = 0;
  for (const double loss : losses) mean += loss / static_cast<double>(losses.size());
  EXPECT_NEAR(validation[0], mean, 1e-5);
}

TEST_F(LanguageModelRun, AFileDecidesWhatTheConfigurationLeavesOpen) {
  const auto result = run(of("gpt_reshaped", {{"execution.numerics", "false"}}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto rows = read().source->rows<model::ConfigurationEntry>();
  ASSERT_TRUE(rows.ok());
  std::string loss;
  for (const model::ConfigurationEntry& row : **rows) {
    if (row.path == "training.loss") loss = row.value + " from " + row.origin;
  }
  EXPECT_EQ(loss, "\"model\" from model");
}

TEST_F(LanguageModelRun, AFixedBatchIsTheMicroBatch) {
  auto read = app::parseConfiguration("", "test.toml");
  ASSERT_TRUE(read.ok());
  const fs::path model = fs::path(PIPESCOPE_SOURCE_DIR) / "tests/conformance/onnx/data/gru/model.onnx";
  for (const auto& [key, value] : Changes{{"model.onnx", model.string()}, {"execution.mode", "inference"}})
    ASSERT_TRUE(read->setText(key, value, config::Origin::flag).ok());
  const auto result = run(*read);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto runs = RunFixture::read().source->rows<model::Run>();
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ((*runs)->front().samples, 3) << "the file's input is 3x5x6";
}

TEST_F(LanguageModelRun, AnotherLabelMayBeIgnored) {
  // Token 1 stands in the labels of this model, so leaving it out changes the loss.
  const auto all = run(of("gpt"));
  ASSERT_TRUE(all.ok()) << all.error().message;
  const auto some = run(of("gpt", {{"training.ignore_index", "1"}}));
  ASSERT_TRUE(some.ok()) << some.error().message;
  EXPECT_NE(*all->finalLoss, *some->finalLoss);
  EXPECT_THAT(refusal(of("gpt_ignored", {{"training.ignore_index", "1"}})),
              HasSubstr("label -100 of sample 0 is no class; labels are whole numbers from 0, unless"));
  auto builder = app::parseConfiguration("[model]\nbuilder = \"bert\"\n[training]\nignore_index = 0\n", "t");
  ASSERT_TRUE(builder.ok());
  EXPECT_THAT(refusal(*builder), HasSubstr("training.ignore_index belongs to an ONNX model"));
}

}  // namespace
}  // namespace pipescope::app
