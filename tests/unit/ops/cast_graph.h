#pragma once
// A graph that a test writes node by node, with its inputs, and runs.
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "op_runner.h"

namespace pipescope::ops_test {

class CastGraph {
 public:
  /// Adds an input. Numbers of other types than int64 become float32.
  TensorId input(const std::string& name, const Value& value) {
    const ElementType type = value.element == ElementType::int64 ? value.element : ElementType::float32;
    const auto id = graph_.addTensor(name, {type, value.shape}, graph::TensorRole::input);
    graph_.inputs.push_back(id);
    bytes_.push_back(encode(value, type));
    return id;
  }

  std::vector<TensorId> append(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                               Attributes attributes, std::size_t outputs) {
    graph::Node node;
    node.op = op;
    node.name = name;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs; ++i) names.push_back(name + std::to_string(i));
    auto made = ops::appendNode(graph_, std::move(node), names, graph::TensorRole::activation,
                                ops::standardOperators());
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    return *made;
  }

  /// The numbers of a tensor after all nodes have run.
  std::vector<double> run(TensorId output) {
    graph_.outputs = {output};
    const auto program = numerics::GraphProgram::create(graph_, ops::standardOperators());
    PIPESCOPE_CHECK(program.ok(), program.error().message);
    numerics::Workspace workspace = program->makeWorkspace();
    const std::vector<std::span<const std::byte>> spans(bytes_.begin(), bytes_.end());
    const numerics::Bindings bindings{spans, {}, {}, {}};
    EXPECT_TRUE(program->run(bindings, workspace).ok());
    return decode(graph_.tensor(output).type, program->output(workspace, bindings, 0)).data;
  }

 private:
  graph::Graph graph_;
  std::vector<std::vector<std::byte>> bytes_;
};

}  // namespace pipescope::ops_test
