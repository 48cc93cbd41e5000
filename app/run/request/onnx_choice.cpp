#include "app/run/request/onnx_choice.h"

#include <fmt/format.h>

#include <charconv>

#include "app/run/request/onnx_model.h"
#include "engine/onnx/blocks.h"
#include "engine/onnx/loss.h"
#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {
namespace {

using config::Configuration;

base::Result<std::int64_t> wholeNumber(std::string_view text, const std::string& entry) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return base::badInput(
      fmt::format("model.assume: \"{}\" must be \"name = 128\" or \"name = [1, 128]\".", entry));
}

/// A key and its value as text, such as "sequence = 128" or "shape = [1, 128]".
base::Result<std::map<std::string, std::vector<std::int64_t>>> assumptions(const Configuration& c) {
  std::map<std::string, std::vector<std::int64_t>> assumed;
  std::vector<std::string> entries;
  for (const std::string& entry : c.texts("model.assume")) {
    // "h = 64, w = 64" gives two, and "shape = 1, 128" one.
    for (std::size_t at = 0; at <= entry.size();) {
      const std::size_t comma = std::min(entry.find(',', at), entry.size());
      const std::string part = entry.substr(at, comma - at);
      const bool names = part.find('=') != std::string::npos || entries.empty() || at == 0;
      if (names)
        entries.push_back(part.substr(std::min(part.find_first_not_of(' '), part.size())));
      else
        entries.back() += "," + part;
      at = comma + 1;
    }
  }
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.rfind('=');
    std::string name = entry.substr(0, equals);
    while (!name.empty() && name.back() == ' ') name.pop_back();
    std::string list = equals == std::string::npos ? "" : entry.substr(equals + 1);
    std::erase_if(list, [](char ch) { return ch == '[' || ch == ']'; });
    if (name.empty() || assumed.contains(name))
      return base::badInput(
          fmt::format("model.assume: \"{}\" {}.", entry,
                      name.empty() ? "names nothing" : "gives a name that is given before"));
    std::vector<std::int64_t>& values = assumed[name];
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t comma = std::min(list.find(',', at), list.size());
      PIPESCOPE_ASSIGN(const std::int64_t value,
                       wholeNumber(std::string_view(list).substr(at, comma - at), entry));
      values.push_back(value);
      at = comma + 1;
    }
  }
  return assumed;
}

std::vector<onnx::BlockRule> blockRules(const Configuration& c) {
  std::vector<onnx::BlockRule> rules;
  for (const config::Settings& block : c.tables("model.blocks")) {
    rules.push_back({block.text("name"), block.texts("nodes"), block.text("prefix"), block.text("matching"),
                     block.integer("every")});
  }
  return rules;
}

base::Result<onnx::Instance> instanceOf(const Configuration& c, const onnx::Model& model, bool training) {
  onnx::TrainingModelOptions options;
  options.loss = c.text("training.loss");
  options.lossOutput = c.text("training.loss_output");
  options.ignoredLabel = c.integer("training.ignore_index");
  options.instantiate.training = training;
  options.instantiate.untied = c.text("execution.mode") == "inference";
  options.instantiate.microBatch =
      c.integer(training ? "training.micro_batch_size" : "inference.micro_batch_size");
  options.instantiate.frozen = c.texts("model.frozen");
  options.instantiate.scalarWeights = c.texts("model.scalar_weights");
  PIPESCOPE_ASSIGN(options.instantiate.assumed, assumptions(c));
  PIPESCOPE_ASSIGN(onnx::Instance instance,
                   onnx::instantiateWithLoss(model, ops::standardOperators(), options));
  if (!instance.graph.nodes().empty()) return instance;
  return base::badInput(
      fmt::format("{}: there is nothing to run: no operator stands between its inputs and outputs.",
                  c.text("model.onnx")));
}

/// Checks that along axis 0 the inputs hold one row for each sample of the micro-batch, and the first output
/// one or several.
base::Status checkRows(const Configuration& c, const graph::Graph& graph, bool training) {
  if (!c.boolean("execution.numerics")) return {};
  const std::string& file = c.text("model.onnx");
  const std::int64_t rows = c.integer(training ? "training.micro_batch_size" : "inference.micro_batch_size");
  const auto holdsRows = [rows](const graph::TensorType& type) {
    return !type.shape.empty() && type.shape[0] == rows;
  };
  for (const graph::TensorId id : graph.inputs) {
    const graph::Tensor& input = graph.tensor(id);
    if (holdsRows(input.type)) continue;
    return base::badInput(fmt::format(
        "{} takes {} as input {}: its first axis is not the micro-batch size {}. Set the "
        "size to it, export the model with a dynamic batch axis, or give the values of a whole-number "
        "input that has no rows in model.assume.",
        file, graph::toString(input.type), input.name, rows));
  }
  // A framework that passes its model in memory takes outputs of any shape.
  if (c.content("model.onnx")) return {};
  const graph::TensorType& output = graph.tensor(graph.outputs[0]).type;
  if (!output.shape.empty() && output.shape[0] >= rows && output.shape[0] % rows == 0) return {};
  return base::badInput(
      fmt::format("{}: its first output is {}; to be measured it must hold rows for each of the {} "
                  "samples: run the model with --no-numerics, or compute it with `pipescope infer`.",
                  file, graph::toString(output), rows));
}

}  // namespace

base::Result<graph::Graph> buildFromOnnx(const Configuration& c, bool training) {
  PIPESCOPE_ASSIGN(const onnx::Model model, readOnnxModel(c));
  PIPESCOPE_ASSIGN(const onnx::Instance instance, instanceOf(c, model, training));
  PIPESCOPE_TRY(checkRows(c, instance.graph, training));
  return onnx::assignBlocks(instance.graph, blockRules(c));
}

base::Status checkSaveWeights(const Configuration& c) {
  const auto refuse = [](const std::string& why) { return base::badInput("--save-weights: " + why); };
  if (c.text("model.onnx").empty())
    return refuse("weights are saved into an ONNX file, but the model is none.");
  if (c.content("model.onnx"))
    return refuse("the model was given in memory, so there is no ONNX file to copy: save weights as .npz.");
  if (c.text("execution.mode") == "inference")
    return refuse("inference changes no weights; run with training.");
  if (!c.boolean("execution.numerics")) return refuse("without numerics there are no weights to save.");
  return {};
}

base::Status saveOnnxWeights(const Configuration& c, const numerics::Parameters& weights,
                             const std::filesystem::path& file) {
  PIPESCOPE_TRY(checkSaveWeights(c));
  PIPESCOPE_ASSIGN(const onnx::Model model, readOnnxModel(c));
  PIPESCOPE_ASSIGN(const onnx::Instance instance, instanceOf(c, model, true));
  std::map<std::string, std::pair<graph::TensorType, std::span<const std::byte>>> values;
  for (const auto& [parameter, initializer] : instance.weightOf) {
    const std::size_t index = weights.find(parameter);
    if (index < weights.count()) values[initializer] = {weights.type(index), weights.bytes(index)};
  }
  return onnx::writeWithWeights(c.text("model.onnx"), file, values);
}

}  // namespace pipescope::app
