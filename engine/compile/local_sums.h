#pragma once
// Gradients that several stages contribute to one tensor are added up before they cross to the next stage.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/stage_division.h"

namespace pipescope::compile {

/// Contribution of one stage to the gradient of a parameter that several stages use.
struct PartialGradient {
  graph::TensorId parameter, gradient;
  /// The stage updates the parameter. The others at its place only add to its accumulator.
  bool updates = false;
  int place = 0;  ///< place of the stage
};

struct LocalSums {
  graph::Graph graph;
  std::vector<PartialGradient> partial;
};

/// addGradients adds all contributions to a tensor's gradient in the stage that made the tensor. Here each
/// stage adds what it contributes to the sum of the stages behind it, and sends one tensor on. PopART orders
/// these additions by pipeline stage too (class TensorMergePriority of willow/src/transforms/
/// decomposegradsum.cpp).
///
/// A parameter that stages on one device share has one accumulator there, to which each of these stages adds
/// its own gradient, as PopART does with tied weights. Stages on different devices each have a copy of the
/// parameter and an accumulator (ir_builder.h). Such a gradient crosses no boundary;
/// `parameterGradients` of the result has no entry for the parameter, but `partial` has one for each stage.
///
/// The IR takes the result. Numerics keeps the one sum in its canonical order. None: no gradient is made by
/// several stages, so the graph is planned as it is.
std::optional<LocalSums> withLocalSums(const graph::Graph& graph, const std::vector<StageSpec>& stages);

}  // namespace pipescope::compile
