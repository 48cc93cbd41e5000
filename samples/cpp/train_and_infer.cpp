// Shows the C++ interface: compiles a small model for two emulated IPUs, trains it on made-up samples,
// changes the learning rate between two calls, infers with the trained weights and writes a profile.
//
//   pipescope_cpp_sample PROFILE
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "app/run/interface/model_executable.h"

namespace {

using namespace pipescope;  // NOLINT: an example is easier to read without prefixes

constexpr const char* kModel = R"(
[model]
name = "two layers"
input = [16]
[[model.layers]]
type = "linear"
name = "hidden"
block = "A"
out_features = 32
[[model.layers]]
type = "relu"
name = "relu"
block = "A"
[[model.layers]]
type = "linear"
name = "scores"
block = "B"
out_features = 4
[training]
micro_batch_size = 8
gradient_accumulation = 4
device_iterations = 2
optimizer = "sgd"
learning_rate = 0.1
output_mode = "all"
[inference]
micro_batch_size = 8
device_iterations = 4
[execution]
threads = 1
)";

/// Samples of four classes: the feature whose number is the class is largest.
struct Samples {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
};

Samples makeSamples(std::int64_t rows) {
  Samples samples;
  std::uint32_t state = 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto label = static_cast<std::int32_t>(row % 4);
    samples.labels.push_back(label);
    for (std::int32_t i = 0; i < 16; ++i) {
      state = state * 1664525U + 1013904223U;
      samples.features.push_back(static_cast<float>(state >> 16U) / 65536.0F + (i == label ? 1.0F : 0.0F));
    }
  }
  return samples;
}

run::HostTensor features(const Samples& samples) {
  const auto rows = static_cast<std::int64_t>(samples.labels.size());
  return {{graph::ElementType::float32, {rows, 16}}, std::as_bytes(std::span(samples.features))};
}

run::HostTensor labels(const Samples& samples) {
  const auto rows = static_cast<std::int64_t>(samples.labels.size());
  return {{graph::ElementType::int32, {rows}}, std::as_bytes(std::span(samples.labels))};
}

double meanOf(const std::vector<float>& losses) {
  double sum = 0;
  for (const float loss : losses) sum += static_cast<double>(loss);
  return sum / static_cast<double>(losses.size());
}

base::Status train(run::ModelExecutable& training, run::EmulatedDevice& device, base::Progress& progress) {
  const Samples samples = makeSamples(training.info().rowsPerCall());
  for (int call = 1; call <= 6; ++call) {
    if (call == 4) PIPESCOPE_TRY(training.setOptimizer({{"learning_rate", 0.5}}));
    PIPESCOPE_ASSIGN(
        const run::CallResult result,
        training.call(device, {"training call " + std::to_string(call), {features(samples), labels(samples)}},
                      progress));
    std::printf("call %d: mean loss %.4f, %.1f us on the emulated devices\n", call,
                meanOf(result.returnedLosses), result.emulatedSeconds * 1e6);
  }
  return {};
}

base::Status infer(run::ModelExecutable& inference, run::EmulatedDevice& device, base::Progress& progress) {
  const Samples samples = makeSamples(inference.info().rowsPerCall());
  PIPESCOPE_ASSIGN(const run::CallResult result,
                   inference.call(device, {"inference", {features(samples)}}, progress));
  const std::span<const float> scores = result.outputs[0].values<float>();
  int right = 0;
  for (std::size_t row = 0; row < samples.labels.size(); ++row) {
    const auto best = std::max_element(scores.begin() + static_cast<std::ptrdiff_t>(4 * row),
                                       scores.begin() + static_cast<std::ptrdiff_t>(4 * row + 4));
    right += (best - scores.begin()) % 4 == samples.labels[row] ? 1 : 0;
  }
  std::printf("%d of %zu predictions are right\n", right, samples.labels.size());
  return {};
}

base::Status runSample(const std::string& profile) {
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(const run::ModelOptions options, run::ModelOptions::parse(kModel, "train_and_infer.cpp"));
  PIPESCOPE_ASSIGN(const auto program, run::CompiledModel::compile(options, progress));
  for (const run::ExecutableInfo& executable : program->executables())
    std::printf("%s: %zu stages, %lld samples a call\n", executable.name.c_str(), executable.stages.size(),
                static_cast<long long>(executable.rowsPerCall()));
  PIPESCOPE_ASSIGN(const auto training, run::ModelExecutable::create(program, 0));
  PIPESCOPE_ASSIGN(const auto inference, run::ModelExecutable::create(program, 1));
  PIPESCOPE_ASSIGN(const auto device, run::EmulatedDevice::create(program, {profile, "train_and_infer"}));
  PIPESCOPE_TRY(device->attach());
  PIPESCOPE_TRY(train(*training, *device, progress));
  PIPESCOPE_TRY(inference->copyWeights(*training));
  PIPESCOPE_TRY(infer(*inference, *device, progress));
  return device->finish();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: pipescope_cpp_sample PROFILE\n");
    return 2;
  }
  const base::Status status = runSample(arguments[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
