#include "random_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare.h"

namespace pipescope::conformance {
namespace {

using Doubles = std::vector<double>;
using graph::TensorValue;

const onnx::OnnxNode* dropoutOf(const onnx::OnnxGraph& graph) {
  const auto found = std::ranges::find(graph.nodes, "Dropout", &onnx::OnnxNode::op);
  return found == graph.nodes.end() ? nullptr : &*found;
}

/// The value of an input of a node, which is a constant of the model or an input of the call.
double scalarInput(const onnx::OnnxGraph& graph, const onnx::OnnxNode& node, std::size_t index,
                   const std::vector<TensorValue>& inputs, double fallback) {
  if (index >= node.inputs.size() || !node.inputs[index].valid()) return fallback;
  const onnx::ValueId id = node.inputs[index];
  if (const auto found = graph.constants.find(id); found != graph.constants.end())
    return doublesOf(*found->second).at(0);
  const auto place = std::ranges::find(graph.inputs, id) - graph.inputs.begin();
  return doublesOf(inputs.at(static_cast<std::size_t>(place))).at(0);
}

/// True if |Σ(x − p)| is within six standard deviations of a sum of Bernoulli draws.
bool plausibleCount(const Doubles& draws, const Doubles& probabilities) {
  double excess = 0, variance = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    excess += draws[i] - probabilities[i];
    variance += probabilities[i] * (1 - probabilities[i]);
  }
  return std::abs(excess) <= 6 * std::sqrt(variance) + 1e-9;
}

std::string judgeDropout(const Doubles& x, const Doubles& y, const TensorValue* mask, double ratio) {
  Doubles kept;
  const Doubles given = mask ? doublesOf(*mask) : Doubles();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool isKept = y[i] != 0 || (x[i] == 0 && mask && given[i] != 0);
    kept.push_back(isKept ? 1 : 0);
    if (mask && (given[i] != 0) != isKept) return fmt::format("element {} does not follow the mask", i);
    const double whole = x[i] / (1 - ratio);
    if (isKept && std::abs(y[i] - whole) > 1e-5 * std::abs(whole))
      return fmt::format("element {} is {}; it must be 0 or {}", i, y[i], whole);
  }
  return plausibleCount(kept, Doubles(x.size(), 1 - ratio)) ? ""
                                                            : "an implausible number of elements is kept";
}

}  // namespace

bool isRandomCase(const onnx::OnnxGraph& graph, const std::vector<TensorValue>& inputs) {
  if (const onnx::OnnxNode* node = dropoutOf(graph)) {
    return scalarInput(graph, *node, 2, inputs, 0) != 0 && scalarInput(graph, *node, 1, inputs, 0.5) != 0;
  }
  return std::ranges::any_of(graph.nodes, [](const onnx::OnnxNode& node) { return onnx::isRandom(node.op); });
}

std::string judgeRandom(const onnx::OnnxGraph& graph, const std::vector<TensorValue>& inputs,
                        const std::vector<TensorValue>& outputs, const std::vector<TensorValue>& expected) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type != expected[i].type)
      return fmt::format("output {} is {}, expected {}", i, graph::toString(outputs[i].type),
                         graph::toString(expected[i].type));
  }
  const Doubles x = doublesOf(inputs.at(0)), y = doublesOf(outputs.at(0));
  if (const onnx::OnnxNode* node = dropoutOf(graph)) {
    return judgeDropout(x, y, outputs.size() > 1 ? &outputs[1] : nullptr,
                        scalarInput(graph, *node, 1, inputs, 0.5));
  }
  for (const double draw : y) {
    if (draw != 0 && draw != 1) return fmt::format("a draw is {}; it must be 0 or 1", draw);
  }
  return plausibleCount(y, x) ? "" : "an implausible number of draws is 1";
}

}  // namespace pipescope::conformance
