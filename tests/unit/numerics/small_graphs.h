#pragma once
// Small graphs that several tests of numerics build.
#include <string>
#include <utility>
#include <vector>

#include "engine/builders/builder.h"
#include "engine/ops/core/operator.h"
#include "engine/ops/standard_operators.h"
#include "profiler/base/check.h"

namespace pipescope::numerics_test {

/// Adds a node of block "B" with so many outputs, and returns them.
inline std::vector<graph::TensorId> appendStep(graph::Graph& graph, const std::string& op,
                                               const std::string& name, std::vector<graph::TensorId> inputs,
                                               graph::Attributes attributes = {}, std::size_t outputs = 1) {
  graph::Node node;
  node.op = op;
  node.name = name;
  node.block = "B";
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(name + "/out" + std::to_string(i));
  auto made =
      ops::appendNode(graph, std::move(node), names, graph::TensorRole::activation, ops::standardOperators());
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  return *made;
}

/// A BERT with dropout, 4 tokens and 9 words.
inline graph::Graph bertWithDropout(std::int64_t layers) {
  auto forward = builders::buildModel({"bert",
                                       {{"layers", layers},
                                        {"hidden", std::int64_t{8}},
                                        {"heads", std::int64_t{2}},
                                        {"feed_forward", std::int64_t{8}},
                                        {"sequence", std::int64_t{4}},
                                        {"vocabulary", std::int64_t{9}},
                                        {"dropout", 0.5}},
                                       1,
                                       true},
                                      ops::standardOperators());
  PIPESCOPE_CHECK(forward.ok(), forward.error().message);
  return *forward;
}

}  // namespace pipescope::numerics_test
