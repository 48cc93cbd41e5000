// Compares loss, gradients and one step of training of models exported from PyTorch with PyTorch's numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "engine/compile/gradients.h"
#include "engine/numerics/graph_program.h"
#include "engine/onnx/loss.h"
#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace pipescope {
namespace {

using Bytes = std::vector<std::byte>;
using Doubles = std::vector<double>;

struct Golden {
  std::string lossName;
  double loss = 0, learningRate = 0, lossAfter = 0;
  std::vector<std::string> frozen;
  std::map<std::string, Doubles> gradients;
};

std::string dataFile(const std::string& name) {
  return std::string(PIPESCOPE_TEST_DATA) + "/" + name;
}

Golden readGolden(const std::string& name) {
  std::ifstream file(dataFile(name + ".golden"));
  Golden golden;
  for (std::string word; file >> word;) {
    if (word == "model_loss") file >> golden.lossName;
    if (word == "loss") file >> golden.loss;
    if (word == "learning_rate") file >> golden.learningRate;
    if (word == "loss_after") file >> golden.lossAfter;
    if (word == "frozen") file >> golden.frozen.emplace_back();
    if (word != "gradient") continue;
    std::size_t count = 0;
    file >> word >> count;
    Doubles& values = golden.gradients[word];
    values.resize(count);
    for (double& value : values) file >> value;
  }
  EXPECT_TRUE(file.eof());
  return golden;
}

std::vector<std::string> modelNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PIPESCOPE_TEST_DATA)) {
    if (entry.path().extension() == ".golden") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

template <class T>
T valueOr(base::Result<T> result) {
  PIPESCOPE_CHECK(result.ok(), result.error().message);
  return std::move(*result);
}

/// A model that is ready to train, with its weights as floats.
class Trained {
 public:
  Trained(const std::string& name, const Golden& golden) {
    const ops::OperatorRegistry& registry = ops::standardOperators();
    const onnx::Model model = valueOr(onnx::readModel(dataFile(name + ".onnx"), registry));
    onnx::TrainingModelOptions options;
    options.instantiate.training = true;
    options.instantiate.frozen = golden.frozen;
    options.loss = golden.lossName;
    onnx::Instance instance = valueOr(onnx::instantiateWithLoss(model, registry, options));
    graph_ = valueOr(compile::addGradients(instance.graph, registry));
    program_.emplace(valueOr(numerics::GraphProgram::create(graph_, registry)));
    for (const std::string& each : {name + ".input.pb", name + ".labels.pb"})
      inputs_.push_back(valueOr(onnx::readTensorFile(dataFile(each))).bytes);
    for (const graph::TensorId id : program_->weights()) {
      const graph::Initializer& initializer = graph_.initializer(id);
      const auto bytes = static_cast<std::size_t>(graph_.tensor(id).type.bytes().count);
      Bytes& weight = weights_.emplace_back(bytes);
      if (initializer.values) weight = initializer.values->bytes;
      PIPESCOPE_CHECK(initializer.values || initializer.kind == graph::Initializer::Kind::zeros,
                      "a weight of the file has no value");
      names_[id] = instance.weightOf.contains(graph_.tensor(id).name)
                       ? instance.weightOf.at(graph_.tensor(id).name)
                       : graph_.tensor(id).name;
    }
    for (const graph::TensorId id : program_->gradients())
      gradients_.emplace_back(static_cast<std::size_t>(graph_.tensor(id).type.bytes().count));
  }

  /// Runs one forward and backward pass and returns the loss.
  double run() {
    const std::vector<std::span<const std::byte>> inputs(inputs_.begin(), inputs_.end());
    const std::vector<std::span<const std::byte>> weights(weights_.begin(), weights_.end());
    const std::vector<std::span<std::byte>> gradients(gradients_.begin(), gradients_.end());
    numerics::Bindings bindings;
    bindings.inputs = inputs;
    bindings.weights = weights;
    bindings.gradients = gradients;
    numerics::Workspace workspace = program_->makeWorkspace();
    const base::Status status = program_->run(bindings, workspace);
    PIPESCOPE_CHECK(status.ok(), status.error().message);
    return static_cast<double>(floats(program_->loss(workspace, bindings))[0]);
  }

  /// The gradients by the names of the parameters in the file.
  std::map<std::string, Doubles> gradients() const {
    std::map<std::string, Doubles> all;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const std::vector<float> values = floats(gradients_[i]);
      all[names_.at(program_->gradients()[i])] = Doubles(values.begin(), values.end());
    }
    return all;
  }

  void step(float learningRate) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const auto weight = std::ranges::find(program_->weights(), program_->gradients()[i]);
      Bytes& bytes = weights_[static_cast<std::size_t>(weight - program_->weights().begin())];
      std::vector<float> values = floats(bytes);
      const std::vector<float> gradient = floats(gradients_[i]);
      for (std::size_t j = 0; j < values.size(); ++j) values[j] -= learningRate * gradient[j];
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
  }

 private:
  static std::vector<float> floats(std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  graph::Graph graph_;
  std::optional<numerics::GraphProgram> program_;
  std::vector<Bytes> inputs_, weights_, gradients_;
  std::map<graph::TensorId, std::string> names_;
};

double largest(const Doubles& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

class GoldenModel : public testing::TestWithParam<std::string> {};

TEST_P(GoldenModel, TrainsAsInPyTorch) {
  const Golden golden = readGolden(GetParam());
  Trained model(GetParam(), golden);
  EXPECT_NEAR(model.run(), golden.loss, 1e-5 * (1 + std::abs(golden.loss)));
  const std::map<std::string, Doubles> gradients = model.gradients();
  double most = 0;
  for (const auto& [name, values] : golden.gradients) most = std::max(most, largest(values));
  for (const auto& [name, expected] : golden.gradients) {
    const auto found = gradients.find(name);
    ASSERT_NE(found, gradients.end()) << name << " has no gradient";
    ASSERT_EQ(found->second.size(), expected.size()) << name;
    const double tolerance = 2e-4 * std::max(largest(expected), 1e-3 * most);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(found->second[i], expected[i], tolerance) << name << " element " << i;
  }
  EXPECT_EQ(gradients.size(), golden.gradients.size());
  model.step(static_cast<float>(golden.learningRate));
  EXPECT_NEAR(model.run(), golden.lossAfter, 5e-5 * (1 + std::abs(golden.lossAfter)));
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenModel, testing::ValuesIn(modelNames()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace pipescope
