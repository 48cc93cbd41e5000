#include "engine/graph/validate.h"

#include <fmt/format.h>

#include <limits>
#include <set>

namespace pipescope::graph {
namespace {

using base::badInput;
using base::Status;

bool isProduced(TensorRole role) {
  return role == TensorRole::activation || role == TensorRole::gradient;
}

/// Checks that extents are not negative and that the bytes stay below 2⁶², so that sums of a few sizes fit 64
/// bits.
Status checkType(const Tensor& tensor) {
  std::int64_t bytes = sizeOf(tensor.type.element);
  for (const std::int64_t extent : tensor.type.shape) {
    if (extent < 0) {
      return badInput(fmt::format("tensor {} has the negative extent {}; give every extent as 0 or more",
                                  tensor.name, extent));
    }
    if (extent > 0 && bytes > (std::numeric_limits<std::int64_t>::max() / 2) / extent) {
      return badInput(fmt::format("tensor {} ({}) is too large to address; check its extents", tensor.name,
                                  toString(tensor.type)));
    }
    bytes *= extent;
  }
  return {};
}

Status checkTensors(const Graph& graph) {
  std::set<std::string> names;
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.name.empty()) return badInput(fmt::format("tensor {} has no name", tensor.id.value));
    if (!names.insert(tensor.name).second) {
      return badInput(fmt::format("two tensors are called {}; give each its own name", tensor.name));
    }
    PIPESCOPE_TRY(checkType(tensor));
    if (isProduced(tensor.role) != tensor.producer.valid()) {
      return badInput(
          isProduced(tensor.role)
              ? fmt::format("no node makes tensor {}", tensor.name)
              : fmt::format("tensor {} is an input or a weight, yet a node writes it", tensor.name));
    }
  }
  return {};
}

Status checkNode(const Graph& graph, const Node& node) {
  for (const TensorId input : node.inputs) {
    if (!input.valid()) continue;
    const Tensor& tensor = graph.tensor(input);
    if (!tensor.producer.valid()) continue;
    if (tensor.producer >= node.id) {
      return badInput(fmt::format("node {} reads {} before a node has made it", node.name, tensor.name));
    }
    if (node.pass == model::Pass::forward && graph.node(tensor.producer).pass != model::Pass::forward) {
      return badInput(
          fmt::format("forward node {} reads {}, which the backward pass makes", node.name, tensor.name));
    }
  }
  for (const TensorId output : node.outputs) {
    if (output.valid() && graph.tensor(output).producer != node.id) {
      return badInput(fmt::format("tensor {} is made twice, by nodes {} and {}", graph.tensor(output).name,
                                  node.name, graph.node(graph.tensor(output).producer).name));
    }
  }
  return {};
}

Status checkNodes(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.name.empty()) return badInput(fmt::format("node {} ({}) has no name", node.id.value, node.op));
    if (!names.insert(node.name).second) {
      return badInput(fmt::format("two nodes are called {}; give each its own name", node.name));
    }
    PIPESCOPE_TRY(checkNode(graph, node));
  }
  return {};
}

Status checkEnds(const Graph& graph) {
  for (const TensorId input : graph.inputs) {
    if (graph.tensor(input).role != TensorRole::input) {
      return badInput(
          fmt::format("{} is listed as an input of the graph, but is none", graph.tensor(input).name));
    }
  }
  if (graph.loss && graph.tensor(*graph.loss).type.elements() != 1) {
    return badInput(fmt::format("the loss {} is {}; it must be one number: reduce it to its mean or sum",
                                graph.tensor(*graph.loss).name, toString(graph.tensor(*graph.loss).type)));
  }
  for (const auto& [parameter, gradient] : graph.parameterGradients) {
    if (graph.tensor(parameter).type != graph.tensor(gradient).type) {
      return badInput(fmt::format("gradient {} is {}, but {} is {}", graph.tensor(gradient).name,
                                  toString(graph.tensor(gradient).type), graph.tensor(parameter).name,
                                  toString(graph.tensor(parameter).type)));
    }
  }
  return {};
}

}  // namespace

Status validate(const Graph& graph) {
  PIPESCOPE_TRY(checkTensors(graph));
  PIPESCOPE_TRY(checkNodes(graph));
  return checkEnds(graph);
}

}  // namespace pipescope::graph
