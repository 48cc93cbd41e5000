#pragma once
// Helpers for tests that look at the nodes of a graph.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/gradients.h"
#include "engine/graph/graph.h"
#include "engine/ops/standard_operators.h"
#include "profiler/base/result.h"

namespace pipescope::numerics_test {

/// The graph with its backward pass; a failure ends the test program.
inline graph::Graph withGradients(base::Result<graph::Graph> forward) {
  PIPESCOPE_CHECK(forward.ok(), forward.error().message);
  auto graph = compile::addGradients(*forward, ops::standardOperators());
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  return *graph;
}

inline std::int64_t countOf(const std::vector<graph::Node>& nodes, const std::string& op) {
  return std::ranges::count(nodes, op, &graph::Node::op);
}

}  // namespace pipescope::numerics_test
