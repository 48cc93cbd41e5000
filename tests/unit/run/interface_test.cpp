// The C++ interface. Expected values are computed by hand: models have one linear layer with given weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/run/interface/model_executable.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::run {
namespace {

using graph::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

/// A linear layer of two features and two classes on one IPU.
std::string linearModel(const std::string& training, const std::string& rest = "") {
  return "[model]\ninput = [2]\n[[model.layers]]\ntype = \"linear\"\nname = \"scores\"\nblock = \"A\"\n"
         "out_features = 2\n[training]\noptimizer = \"sgd\"\n" +
         training + "\n[execution]\nthreads = 1\n" + rest;
}

struct Made {
  std::shared_ptr<const CompiledModel> program;
  std::unique_ptr<ModelExecutable> executable;
  std::unique_ptr<EmulatedDevice> device;
};

template <class T>
HostTensor tensorOf(ElementType type, const std::vector<T>& values, graph::Shape shape) {
  return {{type, std::move(shape)}, std::as_bytes(std::span(values))};
}

Made make(const std::string& toml, std::size_t index = 0, const std::string& profile = "") {
  Made made;
  base::SilentProgress progress;
  const auto options = ModelOptions::parse(toml, "test");
  EXPECT_TRUE(options.ok()) << options.error().message;
  auto program = CompiledModel::compile(*options, progress);
  EXPECT_TRUE(program.ok()) << program.error().message;
  made.program = *program;
  auto executable = ModelExecutable::create(made.program, index);
  EXPECT_TRUE(executable.ok()) << executable.error().message;
  made.executable = std::move(*executable);
  auto device = EmulatedDevice::create(made.program, {profile, "test"});
  EXPECT_TRUE(device.ok()) << device.error().message;
  made.device = std::move(*device);
  EXPECT_TRUE(made.device->attach().ok());
  return made;
}

void setWeights(ModelExecutable& executable, const std::vector<float>& matrix,
                const std::vector<float>& bias) {
  for (const TensorInfo& weight : executable.weights()) {
    const bool isMatrix = weight.type.shape.size() == 2;
    const auto status = executable.setWeight(
        weight.name, tensorOf(ElementType::float32, isMatrix ? matrix : bias, weight.type.shape));
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
}

std::vector<float> valuesOf(const ModelExecutable& executable, std::size_t axes) {
  for (const TensorInfo& weight : executable.weights()) {
    if (weight.type.shape.size() != axes) continue;
    const auto values = executable.weight(weight.name)->values<float>();
    return {values.begin(), values.end()};
  }
  return {};
}

const std::vector<float> kIdentity = {1, 0, 0, 1}, kNothing = {0, 0, 0, 0};

/// The features of row r are r and −r.
std::vector<float> countedRows(std::int64_t rows) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < rows; ++row)
    values.insert(values.end(), {static_cast<float>(row), static_cast<float>(-row)});
  return values;
}

base::Result<CallResult> call(Made& made, const std::vector<float>& features,
                              const std::vector<std::int32_t>& labels) {
  base::SilentProgress progress;
  const auto rows = static_cast<std::int64_t>(labels.size());
  return made.executable->call(
      *made.device,
      {"call",
       {tensorOf(ElementType::float32, features, {rows, 2}), tensorOf(ElementType::int32, labels, {rows})}},
      progress);
}

TEST(Interface, ALossAndAnUpdateAreThoseComputedByHand) {
  Made made = make(linearModel("micro_batch_size = 2\nlearning_rate = 0.5"));
  setWeights(*made.executable, kNothing, {0, 0});
  const std::vector<float> zeros(4);
  const auto first = call(made, zeros, {0, 0});
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_NEAR(static_cast<double>(first->losses[0]), std::log(2.0), 1e-6);
  // The gradient of the bias is p − onehot = (−½, ½); features of 0 leave the matrix as it is.
  EXPECT_THAT(valuesOf(*made.executable, 1), ElementsAre(0.25F, -0.25F));
  EXPECT_THAT(valuesOf(*made.executable, 2), ElementsAre(0, 0, 0, 0));
  ASSERT_TRUE(made.executable->setOptimizer({{"learning_rate", 0}}).ok());
  const auto second = call(made, zeros, {0, 0});
  EXPECT_NEAR(static_cast<double>(second->losses[0]), std::log(1 + std::exp(-0.5)), 1e-6);
  EXPECT_THAT(valuesOf(*made.executable, 1), ElementsAre(0.25F, -0.25F));
  EXPECT_EQ(made.executable->updates(), 2);
}

TEST(Interface, EachUpdateOfACallMayHaveItsLearningRate) {
  Made made = make(linearModel("micro_batch_size = 1\ndevice_iterations = 2\nlearning_rate = 9"));
  setWeights(*made.executable, kNothing, {0, 0});
  const std::vector<float> zeros(4);
  const std::vector<std::int32_t> labels = {0, 0};
  base::SilentProgress progress;
  CallRequest request{
      "call",
      {tensorOf(ElementType::float32, zeros, {2, 2}), tensorOf(ElementType::int32, labels, {2})},
      {0, 0.5}};
  ASSERT_TRUE(made.executable->call(*made.device, request, progress).ok());
  EXPECT_THAT(valuesOf(*made.executable, 1), ElementsAre(0.25F, -0.25F));
  EXPECT_EQ(made.executable->optimizerSettings().at("learning_rate"), 0.5);
  request.learningRates = {0.5};
  EXPECT_THAT(made.executable->call(*made.device, request, progress).error().message,
              HasSubstr("The call has 2 weight updates, but 1 learning rates were given."));
}

struct ModeRows {
  const char* mode;
  std::int64_t rows;
  std::vector<float> firstRows;  ///< first feature of the first row of the first returned micro-batches
};

// Rows come in the order [iteration][step][replica][sample]. With 2 samples, 2 replicas, 3 steps and 10
// iterations there are 120; every 5th micro-batch of a replica begins with step 4, whose rows start at 16.
TEST(Interface, OutputModesReturnTheRowsThatPopTorchReturns) {
  const ModeRows modes[] = {{"output_mode = \"all\"", 120, {0, 2, 4}},
                            {"output_mode = \"every_n\"\noutput_period = 5", 24, {16, 18, 36}},
                            {"output_mode = \"final\"", 4, {116, 118}},
                            {"output_mode = \"sum\"", 4, {0 + 4 * 435, 2 * 30 + 4 * 435}}};
  for (const ModeRows& mode : modes) {
    Made made = make(linearModel(std::string(mode.mode) +
                                 "\nmicro_batch_size = 2\ngradient_accumulation = 3\ndevice_iterations = 10\n"
                                 "replication_factor = 2\nlearning_rate = 0"));
    setWeights(*made.executable, kIdentity, {0, 0});
    const auto result = call(made, countedRows(120), std::vector<std::int32_t>(120));
    ASSERT_TRUE(result.ok()) << result.error().message;
    const OutputTensor& output = result->outputs[0];
    EXPECT_EQ(output.type.shape, (graph::Shape{mode.rows, 2})) << mode.mode;
    EXPECT_EQ(static_cast<std::int64_t>(result->returnedLosses.size()), mode.rows / 2) << mode.mode;
    EXPECT_EQ(result->losses.size(), 60U);
    for (std::size_t i = 0; i < mode.firstRows.size(); ++i)
      EXPECT_EQ(output.values<float>()[4 * i], mode.firstRows[i]) << mode.mode << " " << i;
  }
}

TEST(Interface, InputsOfOtherTypesAreConverted) {
  Made made = make(linearModel("micro_batch_size = 2\nlearning_rate = 0"));
  setWeights(*made.executable, kIdentity, {0, 0});
  const std::vector<double> features = {0, 0, 3, -3};
  const std::vector<std::int64_t> labels = {0, 1};
  base::SilentProgress progress;
  const auto result = made.executable->call(
      *made.device,
      {"call",
       {tensorOf(ElementType::float64, features, {2, 2}), tensorOf(ElementType::int64, labels, {2, 1})}},
      progress);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const double expected = (std::log(2.0) + std::log(1 + std::exp(6.0))) / 2;
  EXPECT_NEAR(static_cast<double>(result->losses[0]), expected, 1e-5);
}

TEST(Interface, InputsThatDoNotFitAreRefused) {
  Made made = make(linearModel("micro_batch_size = 2"));
  const std::vector<float> features(8);
  const std::vector<std::int32_t> labels(2);
  const auto refusal = [&](std::vector<HostTensor> inputs) {
    base::SilentProgress progress;
    const auto result = made.executable->call(*made.device, {"call", std::move(inputs)}, progress);
    return result.ok() ? "" : result.error().message;
  };
  const HostTensor good = tensorOf(ElementType::float32, features, {2, 2});
  EXPECT_THAT(refusal({good}), HasSubstr("takes 2 inputs, but 1 were given"));
  EXPECT_THAT(refusal({tensorOf(ElementType::float32, features, {4, 2}), good}),
              HasSubstr("is 4x2 float32, but the call takes 2x2 float32"));
  HostTensor cut = tensorOf(ElementType::float32, features, {2, 2});
  EXPECT_THAT(refusal({cut, tensorOf(ElementType::int32, labels, {2})}), HasSubstr("but has 32 bytes"));
  cut.bytes = cut.bytes.first(16);
  EXPECT_THAT(refusal({cut, tensorOf(ElementType::float32, features, {2})}), HasSubstr("give whole numbers"));
}

TEST(Interface, ACallNeedsItsOwnAttachedDevice) {
  Made made = make(linearModel("micro_batch_size = 1")), other = make(linearModel("micro_batch_size = 1"));
  EXPECT_THAT(made.device->attach().error().message, HasSubstr("attached to its devices already"));
  ASSERT_TRUE(made.device->detach().ok());
  EXPECT_THAT(call(made, {0, 0}, {0}).error().message, HasSubstr("attach it before a call"));
  EXPECT_THAT(made.device->emulate(0, "call").error().message, HasSubstr("attach it before a call"));
  EXPECT_THAT(made.device->detach().error().message, HasSubstr("not attached"));
  ASSERT_TRUE(made.device->attach().ok());
  EXPECT_TRUE(call(made, {0, 0}, {0}).ok());
  std::swap(made.device, other.device);
  EXPECT_THAT(call(made, {0, 0}, {0}).error().message, HasSubstr("run another program"));
  ASSERT_TRUE(made.device->finish().ok());
  EXPECT_THAT(made.device->attach().error().message, HasSubstr("has ended"));
  EXPECT_THAT(ModelExecutable::create(made.program, 2).error().message,
              HasSubstr("there is none with the number 2"));
  EXPECT_THAT(made.program->callSeconds(2).error().message, HasSubstr("there is none with the number 2"));
}

TEST(Interface, WeightsAndSettingsThatDoNotFitAreRefused) {
  Made made = make(linearModel("micro_batch_size = 1"));
  ModelExecutable& executable = *made.executable;
  const std::vector<float> values(6);
  const HostTensor wrong = tensorOf(ElementType::float32, values, {6});
  EXPECT_THAT(executable.weight("none").error().message, HasSubstr("has no weight \"none\""));
  EXPECT_THAT(executable.setWeight(executable.weights()[0].name, wrong).error().message,
              HasSubstr("but 6 float32 was given"));
  EXPECT_THAT(executable.setOptimizer({{"learning_rat", 1}}).error().message, HasSubstr("learning_rate"));
  EXPECT_THAT(executable.setOptimizer({{"momentum", 0.9}}).error().message, HasSubstr("other state"));
  EXPECT_THAT(executable.setOptimizer({{"weight_decay", 0.1}}).error().message,
              HasSubstr("other work on the device"));
  EXPECT_THAT(executable.setLossScale(8).error().message, HasSubstr("compiled without one"));
  EXPECT_TRUE(executable.setLossScale(1).ok());
  Made inference = make(linearModel("micro_batch_size = 1"), 1);
  EXPECT_THAT(inference.executable->setOptimizer({}).error().message,
              HasSubstr("Inference has no optimizer"));
  Made emulated = make(linearModel("micro_batch_size = 1", "numerics = false"));
  EXPECT_THAT(emulated.executable->weight("scores").error().message, HasSubstr("computes no numbers"));
  EXPECT_TRUE(call(emulated, {}, {}).ok());
}

TEST(Interface, ALossScaleLeavesTheUpdateAsItIs) {
  Made made = make(linearModel("micro_batch_size = 1\nlearning_rate = 0.5\nloss_scaling = 16"));
  setWeights(*made.executable, kNothing, {0, 0});
  ASSERT_TRUE(made.executable->setLossScale(64).ok());
  EXPECT_THAT(made.executable->setLossScale(0).error().message, HasSubstr("must be above 0"));
  const auto result = call(made, {0, 0}, {0});
  EXPECT_EQ(result->lossScale, 64);
  EXPECT_THAT(valuesOf(*made.executable, 1), ElementsAre(0.25F, -0.25F));
}

TEST(Interface, ADivergedCallEndsAndIsNotRecordedWhereThatIsAskedFor) {
  Made made = make(linearModel("micro_batch_size = 1\ndevice_iterations = 2"));
  const std::vector<float> features = {0, 0, std::nanf(""), 0};
  const std::vector<std::int32_t> labels = {0, 0};
  const std::vector<HostTensor> inputs = {tensorOf(ElementType::float32, features, {2, 2}),
                                          tensorOf(ElementType::int32, labels, {2})};
  base::SilentProgress progress;
  const auto goesOn = made.executable->call(*made.device, {"call", inputs}, progress);
  EXPECT_FALSE(goesOn->diverged);
  EXPECT_TRUE(std::isnan(goesOn->losses[1]));
  const auto stops = made.executable->call(*made.device, {"call", inputs, {}, true}, progress);
  EXPECT_EQ(stops->diverged, 0);  // the first call has spoilt the weights
  EXPECT_FALSE(stops->run.id.valid());
}

class CancelsAtOnce : public base::SilentProgress {
  bool cancelled() const override { return true; }
};

TEST(Interface, CallsAreRecordedUnlessTheyWereCancelled) {
  const std::string path = std::filesystem::temp_directory_path() / "pipescope_interface_test.pop";
  std::filesystem::remove(path);
  Made made = make(linearModel("micro_batch_size = 1"), 0, path);
  const auto first = call(made, {0, 0}, {0});
  ASSERT_TRUE(first.ok());
  // The emulated clock starts at 0, so that the forecast of an idle device is the first call's length.
  EXPECT_DOUBLE_EQ(*made.program->callSeconds(0), first->emulatedSeconds);
  const std::vector<float> features = {0, 0};
  const std::vector<std::int32_t> labels = {0};
  CancelsAtOnce progress;
  const auto cancelled = made.executable->call(
      *made.device,
      {"call", {tensorOf(ElementType::float32, features, {1, 2}), tensorOf(ElementType::int32, labels, {1})}},
      progress);
  EXPECT_EQ(cancelled.error().kind, base::ErrorKind::cancelled);
  ASSERT_TRUE(call(made, {0, 0}, {0}).ok());
  ASSERT_TRUE(made.device->detach().ok());
  const auto running = store::ProfileReader::open(path);
  ASSERT_TRUE(running.ok()) << running.error().message;
  const auto runs = (*running)->rows<model::Run>();
  EXPECT_EQ((*runs)->size(), 2U);
  ASSERT_TRUE(made.device->finish().ok());
  EXPECT_TRUE(made.device->isWritten());
  const auto ended = store::ProfileReader::open(path);
  EXPECT_EQ((*ended)->state()->state, model::ProfileState::complete);
  std::filesystem::remove(path);
}

TEST(Interface, WeightsAreSavedLoadedAndCopied) {
  const std::string path = std::filesystem::temp_directory_path() / "pipescope_interface_test.npz";
  std::filesystem::remove(path);
  Made made = make(linearModel("micro_batch_size = 1"));
  setWeights(*made.executable, {1, 2, 3, 4}, {5, 6});
  ASSERT_TRUE(made.executable->save(path).ok());
  const auto copy = made.executable->weightValues();
  setWeights(*made.executable, kNothing, {0, 0});
  ASSERT_TRUE(made.executable->load(path).ok());
  EXPECT_THAT(valuesOf(*made.executable, 2), ElementsAre(1, 2, 3, 4));
  Made other = make(linearModel("micro_batch_size = 1"), 1);
  ASSERT_TRUE(other.executable->copyWeights(*made.executable).ok());
  EXPECT_THAT(valuesOf(*other.executable, 1), ElementsAre(5, 6));
  EXPECT_EQ(other.executable->weightHashes(), made.executable->weightHashes());
  setWeights(*other.executable, kNothing, {0, 0});
  ASSERT_TRUE(other.executable->setWeights(**copy).ok());
  EXPECT_THAT(valuesOf(*other.executable, 1), ElementsAre(5, 6));
  EXPECT_THAT(made.executable->save("/nonexistent/w.onnx").error().message, HasSubstr("the model is none"));
  std::filesystem::remove(path);
}

TEST(Interface, ThePlanSaysStagesMemoryInputsAndOutputs) {
  Made made = make(linearModel("micro_batch_size = 4\ngradient_accumulation = 3\ndevice_iterations = 5"));
  const ExecutableInfo& info = made.executable->info();
  EXPECT_EQ(info.rowsPerCall(), 60);
  EXPECT_EQ(info.inputs[0].type.shape, (graph::Shape{4, 2}));
  EXPECT_EQ(info.outputs[0].type.shape, (graph::Shape{4, 2}));
  EXPECT_TRUE(info.hasLoss);
  ASSERT_EQ(info.stages.size(), 1U);
  EXPECT_THAT(info.stages[0].blocks, ElementsAre("A"));
  EXPECT_GT(info.stages[0].forwardSeconds, 0);
  EXPECT_GT(info.stages[0].backwardSeconds, 0);
  ASSERT_FALSE(info.memory.empty());
  // Weights and accumulators of 6 float32 elements, among others.
  EXPECT_GT(info.memory[0].bytes.count, 2 * 6 * 4);
  EXPECT_LE(info.memory[0].mostBytes.count, info.memory[0].capacity.count);
  EXPECT_TRUE(made.program->fits());
}

}  // namespace
}  // namespace pipescope::run
