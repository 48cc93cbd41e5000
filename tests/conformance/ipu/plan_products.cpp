// Matrix products and fully connected layers.
#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {
namespace {

using graph::ElementType;
using Phase = ops::Contraction::Phase;

/// groups × [rows, in]·[in, out]
ops::Contraction product(std::int64_t groups, std::int64_t rows, std::int64_t in, std::int64_t out,
                         ElementType type, ElementType partials) {
  ops::Contraction c;
  c.groups = groups;
  c.field = c.output = {rows};
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.inputChannels = in;
  c.outputChannels = out;
  c.type = type;
  c.accumulate = partials;
  return c;
}

ops::Contraction planProductsInPhase(ops::Contraction c, Phase phase) {
  c.phase = phase;
  return c;
}

}  // namespace

base::Result<LayerPlan> planProduct(LayerOptions& options) {
  for (const char* extent : {"m", "k", "n"}) options.require(extent);
  const ElementType type = typeOf(options, "data-type", ElementType::float16);
  const ElementType partials = typeOf(options, "partials-type", ElementType::float32);
  const std::int64_t m = options.number("m", 1), k = options.number("k", 1), n = options.number("n", 1);
  options.checkShapes({{m, k}, {k, n}, {m, n}});
  PIPESCOPE_TRY(options.status());
  IrAssembler plan;
  const auto left = plan.kept("matA", type, {m, k}), right = plan.kept("matB", type, {k, n}),
             sum = plan.kept("matC", type, {m, n}), result = plan.temporary("matAxB", type, {m, n});
  plan.add(model::Pass::forward, "matmul", "MatMul", {{product(1, m, k, n, type, partials), 1, ""}},
           {left, right}, {result});
  plan.add(model::Pass::forward, "accumulate", "ScaledAdd",
           {{ops::Map{ops::MapFunction::scaledAdd, m * n, 2, type, true}, 1, ""}}, {sum, result}, {sum});
  return LayerPlan{plan.finish(), 0};
}

base::Result<LayerPlan> planFullyConnected(LayerOptions& options) {
  for (const char* extent : {"input-size", "output-size"}) options.require(extent);
  const ElementType type = typeOf(options, "data-type", ElementType::float16);
  const ElementType partials = typeOf(options, "partials-type", ElementType::float32);
  const std::int64_t groups = options.number("num-groups", 1), batch = options.number("batch-size", 1),
                     in = options.number("input-size", 1), out = options.number("output-size", 1);
  options.checkShapes({{groups, batch, in}, {groups, in, out}, {groups, batch, out}});
  const bool bias = options.flag("bias", true);
  const Phases phases = phasesOf(options, true);
  PIPESCOPE_TRY(options.status());
  IrAssembler plan;
  const bool training = phases.backward || phases.update;
  ops::Contraction forward = product(groups, batch, in, out, type, partials);
  forward.trained = training;
  const auto input = plan.kept("prevAct", type, {groups, batch, in}),
             weights = plan.kept("weights", type, {groups, in, out}),
             output = plan.kept("nextAct", type, {groups, batch, out});
  compile::IrTensorId biases, deltas;
  if (bias) biases = plan.kept("biases", type, {groups, out});
  if (phases.forward) {
    plan.add(model::Pass::forward, "fwd", "MatMul", {{forward, 1, ""}}, {input, weights}, {output});
    if (bias) {
      plan.add(model::Pass::forward, "bias", "Add",
               {{ops::Map{ops::MapFunction::add, groups * batch * out, 2, type, true}, 1, ""}},
               {output, biases}, {output});
    }
  }
  if (training) deltas = plan.kept("zDeltas", type, {groups, batch, out});
  if (phases.backward) {
    const auto gradient = plan.kept("prevDeltas", type, {groups, batch, in});
    plan.add(model::Pass::backward, "bwd", "MatMul",
             {{planProductsInPhase(forward, Phase::inputGradient), 1, ""}}, {deltas, weights}, {gradient});
  }
  if (phases.update) {
    const auto gradient = plan.temporary("weightDeltas", type, {groups, in, out});
    plan.add(model::Pass::backward, "wu", "MatMul",
             {{planProductsInPhase(forward, Phase::weightGradient), 1, ""}}, {input, deltas}, {gradient});
    plan.add(model::Pass::backward, "update", "ScaledAdd",
             {{ops::Map{ops::MapFunction::scaledAdd, groups * in * out, 2, type, true}, 1, ""}},
             {weights, gradient}, {weights});
    if (bias) {
      plan.add(model::Pass::backward, "biasUpdate", "ReduceSum",
               {{ops::Reduce{ops::ReduceFunction::sum, groups * out, batch, false, type}, 1, ""},
                {ops::Map{ops::MapFunction::scaledAdd, groups * out, 2, type, true}, 1, "Update"}},
               {deltas}, {biases});
    }
  }
  return LayerPlan{plan.finish(), 0};
}

}  // namespace pipescope::conformance
