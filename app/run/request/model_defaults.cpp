#include "app/run/request/model_defaults.h"

#include <fmt/format.h>

#include "app/run/request/host_defaults.h"
#include "app/run/request/onnx_model.h"
#include "engine/onnx/own_loss.h"

namespace pipescope::app {
namespace {

using config::Configuration;

/// The extent of the first axis of all inputs, if the file fixes it.
std::optional<std::int64_t> fixedRows(const onnx::OnnxGraph& graph) {
  std::optional<std::int64_t> rows;
  for (const onnx::ValueId id : graph.inputs) {
    const onnx::ModelValue& value = graph.value(id);
    if (!value.shape || value.shape->empty()) return std::nullopt;
    const std::optional<std::int64_t> own = value.shape->front().extent;
    if (!own || *own < 1 || (rows && *rows != *own)) return std::nullopt;
    rows = own;
  }
  return rows;
}

base::Result<Configuration> withOnnxDefaults(const Configuration& given) {
  if (given.text("model.onnx").empty()) return given;
  // A framework that passes its model in memory names the loss itself, and in inference takes all outputs.
  const bool asksForLoss = !given.given("training.loss") && !given.content("model.onnx");
  constexpr const char* kSizes[] = {"training.micro_batch_size", "inference.micro_batch_size"};
  if (!asksForLoss && given.given(kSizes[0]) && given.given(kSizes[1])) return given;
  PIPESCOPE_ASSIGN(const onnx::Model model, readOnnxModel(given, onnx::Weights::small));
  Configuration c = given;
  if (asksForLoss && onnx::hasOwnLoss(model))
    PIPESCOPE_TRY(c.set("training.loss", std::string("model"), config::Origin::model));
  if (const std::optional<std::int64_t> rows = fixedRows(model.graph)) {
    for (const char* key : kSizes) {
      if (!given.given(key)) PIPESCOPE_TRY(c.set(key, *rows, config::Origin::model));
    }
  }
  return c;
}

/// Twice as many micro-batches as stages fill every schedule, so that a model which is split by the number of
/// stages alone can run.
base::Status fillStages(Configuration& c) {
  const std::int64_t stages = c.integer("execution.stages");
  if (stages < 2 || c.text("execution.strategy") != "pipelined") return {};
  for (const char* key : {"training.gradient_accumulation", "inference.device_iterations"}) {
    if (!c.given(key)) PIPESCOPE_TRY(c.set(key, 2 * stages, config::Origin::derived));
  }
  return {};
}

/// Says in the keys of shares what execution.zero means.
base::Status expandZero(Configuration& c) {
  const std::int64_t stage = c.integer("execution.zero");
  if (stage == 0) return {};
  const std::pair<const char*, const char*> kinds[] = {{"execution.shard_optimizer", "optimizer's state"},
                                                       {"execution.shard_accumulators", "sums of gradients"},
                                                       {"execution.shard_weights", "weights"}};
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto& [key, what] = kinds[i];
    const bool shares = i < stage;
    if (c.given(key) && c.boolean(key) != shares) {
      return base::badInput(
          fmt::format("execution.zero is {}, which {} the {}, but {} is {}: leave one of them out.", stage,
                      shares ? "shares out" : "does not share out", what, key, c.boolean(key)));
    }
    if (shares && !c.given(key)) PIPESCOPE_TRY(c.set(key, true, config::Origin::derived));
  }
  return {};
}

}  // namespace

base::Result<Configuration> withModelDefaults(const Configuration& given) {
  PIPESCOPE_ASSIGN(const Configuration hosted, withHostDefaults(given));
  PIPESCOPE_ASSIGN(Configuration c, withOnnxDefaults(hosted));
  PIPESCOPE_TRY(fillStages(c));
  PIPESCOPE_TRY(expandZero(c));
  return c;
}

}  // namespace pipescope::app
