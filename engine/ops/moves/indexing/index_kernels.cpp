#include "engine/ops/moves/indexing/index_kernels.h"

#include <fmt/format.h>

#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {

Result<ScatterReduction> scatterReduction(const OperatorCall& call) {
  const std::string name = graph::stringAttribute(call.node, "reduction", "none");
  if (name == "none") return ScatterReduction::none;
  if (name == "add") return ScatterReduction::add;
  if (name == "mul") return ScatterReduction::mul;
  if (name == "min") return ScatterReduction::min;
  if (name == "max") return ScatterReduction::max;
  return base::badInput(
      fmt::format("{}: reduction is {}; it must be none, add, mul, min or max", call.title(), name));
}

Status addScatterGradients(GradientBuilder& builder, const std::string& gather,
                           const graph::Attributes& attributes) {
  PIPESCOPE_ASSIGN(const ScatterReduction reduction, scatterReduction(builder.call()));
  if (reduction != ScatterReduction::none && reduction != ScatterReduction::add) {
    return base::badInput(fmt::format("{}: cannot train through reduction {}; only through none and add",
                                      builder.call().title(),
                                      graph::stringAttribute(builder.node(), "reduction", "")));
  }
  const std::string op = builder.node().op == "Scatter" ? "ScatterElements" : builder.node().op;
  const graph::TensorId indices = builder.node().inputs[1], dy = builder.outputGradient(0);
  if (builder.wants(0) && reduction == ScatterReduction::add) builder.setInputGradient(0, dy);
  if (builder.wants(0) && reduction == ScatterReduction::none)
    PIPESCOPE_TRY(builder.addFor(0, "Grad" + op, "grad_input", {indices, dy}, attributes));
  if (builder.wants(2)) PIPESCOPE_TRY(builder.addFor(2, gather, "grad_updates", {dy, indices}, attributes));
  return {};
}

}  // namespace pipescope::ops
