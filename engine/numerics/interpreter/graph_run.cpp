#include "engine/numerics/interpreter/graph_run.h"

#include <algorithm>

namespace pipescope::numerics {

using base::Result;
using base::Status;
using onnx::OnnxGraph;
using onnx::OnnxNode;
using onnx::ValueId;
using onnx::Values;

NodeOrder::NodeOrder(const OnnxGraph& graph)
    : missing(graph.nodes.size()), readers(graph.nodes.size()), uses(graph.values.size()) {
  const std::size_t noNode = graph.nodes.size();
  base::IdVector<ValueId, std::size_t> maker(graph.values.size(), noNode);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto read = [&](ValueId id) {
      if (!id.valid()) return;
      ++uses[id];
      const std::size_t from = maker[id];
      if (from == noNode) return;
      ++missing[i];
      readers[from].push_back(i);
    };
    for (const ValueId id : graph.nodes[i].inputs) read(id);
    for (const auto& [name, body] : graph.nodes[i].bodies) {
      for (const auto& [outer, inner] : body->captured) read(outer);
    }
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id.valid()) maker[id] = i;
    }
    if (missing[i] == 0) ready.push_back(i);
  }
  for (const ValueId id : graph.outputs) ++uses[id];
}

GraphRun::GraphRun(const OnnxGraph& graph, const NodeOrder& order, base::Executor& executor)
    : graph_(graph),
      order_(order),
      executor_(executor),
      missing_(order.missing),
      uses_(order.uses),
      values_(graph.values.size()) {
  for (const auto& [id, value] : graph.constants) set(id, value);
}

void GraphRun::set(ValueId id, std::shared_ptr<const graph::TensorValue> value) {
  values_[id] = std::move(value);
}

Result<Values> GraphRun::run(const NodeFunction& runNode) {
  std::vector<std::size_t> wave = order_.ready;
  while (!wave.empty()) {
    PIPESCOPE_TRY(runWave(wave, runNode));
    std::vector<std::size_t> next;
    for (const std::size_t node : wave) {
      for (const std::size_t reader : order_.readers[node]) {
        if (--missing_[reader] == 0) next.push_back(reader);
      }
    }
    std::ranges::sort(next);
    wave = std::move(next);
  }
  Values outputs;
  for (const ValueId id : graph_.outputs) outputs.push_back(values_[id]);
  return outputs;
}

Status GraphRun::runWave(const std::vector<std::size_t>& wave, const NodeFunction& runNode) {
  std::vector<Result<Values>> results(wave.size(), Values());
  const auto body = [&](std::size_t i) { results[i] = runNode(graph_.nodes[wave[i]], values_); };
  if (wave.size() == 1) {
    body(0);
  } else {
    executor_.parallelFor(wave.size(), body);
  }
  for (std::size_t i = 0; i < wave.size(); ++i) {
    if (!results[i].ok()) return results[i].error();
    const OnnxNode& node = graph_.nodes[wave[i]];
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const ValueId id = node.outputs[o];
      if (id.valid() && uses_[id] > 0) values_[id] = (*results[i])[o];
    }
  }
  for (const std::size_t index : wave) release(graph_.nodes[index]);
  return {};
}

void GraphRun::release(const OnnxNode& node) {
  const auto drop = [this](ValueId id) {
    if (id.valid() && --uses_[id] == 0) values_[id].reset();
  };
  for (const ValueId id : node.inputs) drop(id);
  for (const auto& [name, body] : node.bodies) {
    for (const auto& [outer, inner] : body->captured) drop(outer);
  }
}

}  // namespace pipescope::numerics
