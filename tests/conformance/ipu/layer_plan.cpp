#include "tests/conformance/ipu/layer_plan.h"

#include <fmt/format.h>

#include <functional>
#include <map>

namespace pipescope::conformance {

IrAssembler::IrAssembler() = default;

compile::IrTensorId IrAssembler::kept(const std::string& name, graph::ElementType type, graph::Shape shape) {
  stage_.tensors.push_back({name, {type, std::move(shape)}, compile::TensorUse::weight, 1});
  return compile::IrTensorId(static_cast<std::int64_t>(stage_.tensors.size()) - 1);
}

compile::IrTensorId IrAssembler::temporary(const std::string& name, graph::ElementType type,
                                           graph::Shape shape) {
  stage_.tensors.push_back({name, {type, std::move(shape)}, compile::TensorUse::activation, 1});
  return compile::IrTensorId(static_cast<std::int64_t>(stage_.tensors.size()) - 1);
}

compile::IrOperator& IrAssembler::add(model::Pass pass, const std::string& name, const std::string& kind,
                                      std::vector<ops::Work> work, std::vector<compile::IrTensorId> inputs,
                                      std::vector<compile::IrTensorId> outputs) {
  if (stage_.passes.empty() || stage_.passes.back().pass != pass) stage_.passes.push_back({pass, {}});
  stage_.passes.back().operators.push_back(
      {name, kind, std::move(work), std::move(inputs), std::move(outputs)});
  return stage_.passes.back().operators.back();
}

compile::StageIr IrAssembler::finish() {
  return std::move(stage_);
}

Phases phasesOf(LayerOptions& options, bool allByDefault) {
  const std::vector<std::string> known{"all", "fwd", "bwd", "wu"};
  std::string phase = options.choice("phase", known, allByDefault ? "all" : "fwd");
  phase = options.choice("single-phase", known, phase);
  Phases phases{phase == "all" || phase == "fwd", phase == "all" || phase == "bwd",
                phase == "all" || phase == "wu"};
  if (options.has("inference-only")) {
    options.ignore({"inference-only"});
    phases.backward = phases.update = false;
  }
  return phases;
}

graph::ElementType typeOf(LayerOptions& options, const std::string& name, graph::ElementType fallback) {
  const std::string text =
      options.choice(name, {"half", "float"}, fallback == graph::ElementType::float16 ? "half" : "float");
  return text == "float" ? graph::ElementType::float32 : graph::ElementType::float16;
}

bool isModelled(const std::string& tool) {
  return tool != "matrix_solver" && tool != "ctc_loss";
}

base::Result<LayerPlan> planLayer(const LayerRow& row) {
  using Builder = std::function<base::Result<LayerPlan>(LayerOptions&)>;
  static const std::map<std::string, Builder> builders{
      {"general_matrix_multiply", planProduct},
      {"fully_connected_layer", planFullyConnected},
      {"single_conv_layer", planConvolution},
      {"oct_conv_layer", planOctaveConvolution},
      {"pooling_layer", planPooling},
      {"reduce_op", planReduction},
      {"embedding_layer", planEmbedding},
      {"lstm_layer", [](LayerOptions& options) { return planRecurrent(options, 4); }},
      {"gru_layer", [](LayerOptions& options) { return planRecurrent(options, 3); }},
      {"rnn_layer", [](LayerOptions& options) { return planRecurrent(options, 1); }},
  };
  const auto found = builders.find(row.tool);
  if (found == builders.end()) {
    return base::badInput(fmt::format("{}: tool \"{}\" is not known, and not modelled.", row.name, row.tool));
  }
  const auto named = [&](const base::Error& error) {
    return base::Error{error.kind, fmt::format("{}: {}.", row.name, error.message)};
  };
  base::Result<LayerOptions> options = LayerOptions::parse(row.params);
  if (!options) return named(options.error());
  options->ignore({"profile", "ignore-data", "report-plan", "compile-only", "device-type", "tolerance"});
  const std::int64_t tiles = options->number("tiles-per-ipu", 0);
  base::Result<LayerPlan> plan = found->second(*options);
  if (!plan) return named(plan.error());
  if (const base::Status status = options->status(); !status) return named(status.error());
  plan->tiles = tiles;
  return plan;
}

}  // namespace pipescope::conformance
