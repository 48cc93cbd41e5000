#include "app/run/execute/routed_load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/run/execute/feeder.h"
#include "app/run/interface/compiled_model.h"
#include "app/run/interface/host_inputs.h"
#include "app/run/io/data_source.h"
#include "app/run/io/host_memory.h"
#include "app/run/io/weights_file.h"
#include "app/run/request/accelerator.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/training_options.h"
#include "engine/compile/sharding/expert_load.h"
#include "engine/data/loader.h"
#include "engine/ops/standard_operators.h"
#include "profiler/record/host_span.h"

namespace pipescope::app {
namespace {

constexpr const char* kExpertLoad = "execution.expert_load";
constexpr std::int64_t kMostMicroBatches = 8;

/// The forward graph with the choices of each layer's experts as its outputs.
graph::Graph countingGraph(const graph::Graph& forward) {
  graph::Graph counting = forward;
  counting.outputs.clear();
  constexpr std::size_t kKept = 1, kChosen = 3;  // without a limit of capacity
  for (const graph::Node& node : forward.nodes()) {
    if (node.op != "ExpertDispatch") continue;
    const bool tellsChosen = node.outputs.size() > kChosen && node.outputs[kChosen].valid();
    counting.outputs.push_back(node.outputs[tellsChosen ? kChosen : kKept]);
  }
  return counting;
}

/// Sums over micro-batches of whole numbers for each expert.
std::vector<std::int64_t> sumsOf(const std::vector<std::byte>& bytes, const graph::TensorType& type) {
  const auto experts = static_cast<std::size_t>(type.elements());
  std::vector<std::int64_t> sums(experts, 0);
  const auto add = [&](const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) sums[i % experts] += static_cast<std::int64_t>(values[i]);
  };
  const std::span<const std::byte> all(bytes);
  if (type.element == graph::ElementType::int64)
    add(numerics::valuesOf<std::int64_t>(all));
  else
    add(numerics::valuesOf<std::int32_t>(all));
  return sums;
}

class RoutedLoad {
 public:
  RoutedLoad(const config::Configuration& configuration, base::Progress& progress)
      : c_(configuration),
        progress_(progress),
        threads_(run::makeThreads(configuration.integer("execution.threads"))) {}

  /// Tokens of each expert, for each layer with experts.
  base::Result<std::string> count() {
    PIPESCOPE_ASSIGN(const compile::ModelRequest request, requestOfRun(c_));
    const compile::ExecutableRequest& executable = request.executables.front();
    const bool training = executable.kind == model::ExecutableKind::training;
    const graph::Graph counting = countingGraph(*executable.forward);
    if (counting.outputs.empty())
      return base::badInput(
          "execution.expert_load is routed, but the model has no experts: leave it out, or choose a model "
          "with "
          "experts (model.experts of the builder decoder).");
    PIPESCOPE_TRY(checkHostMemory(counting, 0));
    PIPESCOPE_ASSIGN(DataNeeds needs, dataNeeds(*executable.forward, executable.microBatchSize));
    const std::int64_t asked = training ? executable.microBatches : executable.deviceIterations;
    std::int64_t microBatches = std::min(kMostMicroBatches, asked);
    needs.callRows = executable.microBatchSize * asked;
    PIPESCOPE_ASSIGN(
        const std::shared_ptr<const data::Dataset> dataset,
        openData(c_, training ? data::DataSplit::train : data::DataSplit::test, needs, progress_, *threads_));
    microBatches = std::clamp<std::int64_t>(dataset->size() / executable.microBatchSize, 1, microBatches);
    PIPESCOPE_ASSIGN(
        const std::unique_ptr<data::Loader> loader,
        data::Loader::create(dataset, optionsOf({executable.microBatchSize, 1, microBatches, 1}, training)));
    PIPESCOPE_ASSIGN(const std::optional<data::Batch> batch, loader->next(progress_));
    PIPESCOPE_ASSIGN(const Feeder feeder, Feeder::create(needs, *dataset));
    run::ExecutableInfo info;
    info.microBatchSize = executable.microBatchSize;
    info.microBatches = microBatches;
    for (const graph::TensorId id : counting.inputs)
      info.inputs.push_back({counting.tensor(id).name, counting.tensor(id).type});
    run::HostInputs inputs(info);
    PIPESCOPE_ASSIGN(const std::unique_ptr<numerics::Session> session,
                     numerics::Session::create(counting, ops::standardOperators(), nullptr, *threads_,
                                               inferenceOptions(c_)));
    const std::string& weights = c_.text("execution.load_weights");
    if (!weights.empty()) PIPESCOPE_TRY(loadWeights(weights, *session));
    numerics::Results results;
    PIPESCOPE_TRY(session->infer(inputs.rows(feeder.inputs(*batch), 0), numerics::Keep::all, results));
    std::vector<std::string> layers;
    for (std::size_t i = 0; i < counting.outputs.size(); ++i)
      layers.push_back(fmt::format(
          "{}", fmt::join(sumsOf(results.outputs[i], counting.tensor(counting.outputs[i]).type), ", ")));
    return fmt::format("{}", fmt::join(layers, "; "));
  }

 private:
  data::LoaderOptions optionsOf(const data::BatchShape& shape, bool training) const {
    data::LoaderOptions options;
    options.shape = shape;
    options.seed = static_cast<std::uint64_t>(c_.integer("execution.seed"));
    options.shuffle = training && c_.boolean("training.shuffle");
    return options;
  }

  const config::Configuration& c_;
  base::Progress& progress_;
  std::shared_ptr<base::Executor> threads_;
};

}  // namespace

base::Result<config::Configuration> withRoutedLoad(const config::Configuration& configuration,
                                                   base::Progress& progress) {
  config::Configuration counted = configuration;
  if (configuration.text(kExpertLoad) != "routed" || configuration.integer("execution.expert_parallel") == 1)
    return counted;
  if (!configuration.boolean("execution.numerics"))
    return base::badInput(
        "execution.expert_load is routed, which computes the numbers of the model, but execution.numerics is "
        "false: leave it on, or give a number for each expert.");
  PIPESCOPE_HOST_SPAN(span, "numerics", "count the tokens of experts");
  progress.report(0, "counting the tokens of experts");
  PIPESCOPE_ASSIGN(const std::string load, RoutedLoad(configuration, progress).count());
  PIPESCOPE_TRY(counted.replace(kExpertLoad, load));
  return counted;
}

}  // namespace pipescope::app
