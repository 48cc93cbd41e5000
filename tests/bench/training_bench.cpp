// Measures training steps of an ONNX model: training_bench MODEL.onnx BATCH THREADS OPTIMIZER [key=value …].
// The pairs are settings of the optimizer; accumulation=N makes one update from N batches. It reads numbers
// of seconds from standard input, trains for that long each time and answers with a line "SAMPLES WALL CPU
// LOSS": the trained samples, the wall and processor seconds, and the loss of the very first batch.
// training_bench.py runs it in turn with PyTorch. Inputs are (i·7919 mod 1009) ÷ 1009, labels are i mod
// classes.
#include <fmt/format.h>

#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "engine/compile/gradients.h"
#include "engine/numerics/session.h"
#include "engine/numerics/thread_pool.h"
#include "engine/onnx/loss.h"
#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace {

using namespace pipescope;

template <class T>
T valueOrExit(base::Result<T> result) {
  if (result.ok()) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(2);
}

double secondsOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

graph::Graph trainingGraph(const char* file, std::int64_t batch) {
  const onnx::Model model = valueOrExit(onnx::readModel(file, ops::standardOperators()));
  onnx::TrainingModelOptions options;
  options.instantiate.training = true;
  options.instantiate.microBatch = batch;
  const onnx::Instance instance =
      valueOrExit(onnx::instantiateWithLoss(model, ops::standardOperators(), options));
  return valueOrExit(compile::addGradients(instance.graph, ops::standardOperators()));
}

std::map<std::string, double> settingsOf(int count, char** texts) {
  std::map<std::string, double> settings;
  for (int i = 0; i < count; ++i) {
    const std::string text = texts[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      fmt::print(stderr, "{}: settings are key=value\n", text);
      std::exit(2);
    }
    settings[text.substr(0, equals)] = std::atof(text.c_str() + equals + 1);
  }
  return settings;
}

class Trainer {
 public:
  Trainer(const graph::Graph& graph, std::unique_ptr<optimizers::Optimizer> optimizer, std::size_t threads,
          std::size_t accumulation)
      : pool_(threads),
        session_(valueOrExit(
            numerics::Session::create(graph, ops::standardOperators(), std::move(optimizer), pool_))) {
    const std::int64_t classes = graph.tensor(graph.outputs[0]).type.shape.back();
    for (std::size_t i = 0; i + 1 < graph.inputs.size(); ++i) {
      std::vector<float>& values = values_.emplace_back(
          accumulation * static_cast<std::size_t>(graph.tensor(graph.inputs[i]).type.elements()));
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>((k * 7919) % 1009) / 1009.0F;
    }
    labels_.resize(accumulation *
                   static_cast<std::size_t>(graph.tensor(graph.inputs.back()).type.elements()));
    for (std::size_t i = 0; i < labels_.size(); ++i)
      labels_[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % classes);
    for (const std::vector<float>& values : values_)
      rows_.push_back(numerics::rowsOf(std::span<const float>(values)));
    rows_.push_back(numerics::rowsOf(std::span<const std::int32_t>(labels_)));
  }

  double step() {
    const base::Status status = session_->trainStep(rows_, numerics::Keep::none, results_);
    if (!status.ok()) {
      fmt::print(stderr, "{}\n", status.error().message);
      std::exit(2);
    }
    return static_cast<double>(results_.losses.at(0));
  }

 private:
  numerics::ThreadPool pool_;
  std::unique_ptr<numerics::Session> session_;
  std::vector<std::vector<float>> values_;
  std::vector<std::int32_t> labels_;
  numerics::Rows rows_;
  numerics::Results results_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: training_bench MODEL.onnx BATCH THREADS OPTIMIZER [key=value …]\n");
    return 2;
  }
  const std::int64_t batch = std::atoll(argv[2]);
  std::map<std::string, double> settings = settingsOf(argc - 5, argv + 5);
  const auto given = settings.find("accumulation");
  const std::int64_t accumulation =
      given == settings.end() ? 1 : std::max<std::int64_t>(1, std::llround(given->second));
  settings.erase("accumulation");
  Trainer trainer(trainingGraph(argv[1], batch), valueOrExit(optimizers::createOptimizer(argv[4], settings)),
                  static_cast<std::size_t>(std::max(1, std::atoi(argv[3]))),
                  static_cast<std::size_t>(accumulation));
  const double loss = trainer.step();
  for (double seconds = 0; std::scanf("%lf", &seconds) == 1;) {
    const double wall = secondsOf(CLOCK_MONOTONIC), cpu = secondsOf(CLOCK_PROCESS_CPUTIME_ID);
    std::int64_t samples = 0;
    do {
      trainer.step();
      samples += batch * accumulation;
    } while (secondsOf(CLOCK_MONOTONIC) - wall < seconds);
    fmt::print("{} {:.9f} {:.9f} {:.9g}\n", samples, secondsOf(CLOCK_MONOTONIC) - wall,
               secondsOf(CLOCK_PROCESS_CPUTIME_ID) - cpu, loss);
    std::fflush(stdout);
  }
  return 0;
}
