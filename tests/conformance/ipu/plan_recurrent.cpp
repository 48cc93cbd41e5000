// LSTM, GRU and plain recurrent layers: the Work of the operators that a user's model runs, forward and
// backward.
#include <algorithm>

#include "engine/ops/standard_operators.h"
#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {
namespace {

using graph::ElementType;
using graph::TensorType;
using model::Pass;

struct Recurrent {
  std::int64_t gates = 1, batch = 1, sequence = 1, input = 1, output = 1;
  ElementType type = ElementType::float16, partials = ElementType::float32;

  std::string op() const { return gates == 4 ? "LSTM" : gates == 3 ? "GRU" : "RNN"; }
};

/// The Work of the layer's operator, or of the one that computes its gradients.
std::vector<ops::Work> operatorWork(const Recurrent& r, bool gradients) {
  graph::Node node;
  node.op = (gradients ? "Grad" : "") + r.op();
  node.name = "layer";
  const std::int64_t width = r.gates * r.output;
  const TensorType x{r.type, {r.sequence, r.batch, r.input}}, w{r.type, {1, width, r.input}},
      hidden{r.type, {1, width, r.output}}, bias{r.type, {1, 2 * width}},
      y{r.type, {r.sequence, 1, r.batch, r.output}};
  ops::OperatorCall call{node, {&x, &w, &hidden, &bias}, {}, {}};
  if (gradients) {
    call.inputs.resize(8, nullptr);  // lengths, initial states and peepholes are left out
    call.inputs.push_back(&y);
  }
  call.constants.resize(call.inputs.size(), nullptr);
  std::vector<ops::Work> work = ops::standardOperators().find(node.op)->work(call);
  for (ops::Work& each : work) {
    if (auto* product = std::get_if<ops::Contraction>(&each.item)) product->accumulate = r.partials;
  }
  return work;
}

bool isWeightGradient(const ops::Work& work) {
  const auto* product = std::get_if<ops::Contraction>(&work.item);
  return product && product->phase == ops::Contraction::Phase::weightGradient;
}

}  // namespace

base::Result<LayerPlan> planRecurrent(LayerOptions& options, int gates) {
  for (const char* extent : {"sequence-size", "input-size", "output-size"}) options.require(extent);
  Recurrent r;
  r.gates = gates;
  r.type = typeOf(options, "data-type", ElementType::float16);
  r.partials = typeOf(options, "partials-type", ElementType::float32);
  r.batch = options.number("batch-size", 1);
  r.sequence = options.number("sequence-size", 1);
  r.input = options.number("input-size", 1);
  r.output = options.number("output-size", 1);
  options.checkShapes({{r.sequence, r.batch, r.input},
                       {r.sequence, gates + 1, r.batch, r.output},
                       {r.input + r.output, gates, r.output}});
  options.ignore({"cell-order"});  // an order of names in memory
  const Phases phases = phasesOf(options, false);
  PIPESCOPE_TRY(options.status());
  IrAssembler plan;
  const std::int64_t g = r.gates;
  const auto input = plan.kept("prevLayerAct", r.type, {r.sequence, r.batch, r.input}),
             weightsIn = plan.kept("weightsInput", r.type, {r.input, g * r.output}),
             weightsOut = plan.kept("weightsOutput", r.type, {r.output, g * r.output}),
             state = plan.kept("nextAct", r.type, {r.sequence, r.batch, r.output}),
             biases = plan.kept("biases", r.type, {g, r.output});
  plan.add(Pass::forward, "layer", r.op(), operatorWork(r, false), {input, weightsIn, weightsOut, biases},
           {state});
  if (!phases.backward && !phases.update) return LayerPlan{plan.finish(), 0};
  const auto deltas = plan.kept("nextLayerGrads", r.type, {r.sequence, r.batch, r.output}),
             gradient = plan.kept("prevLayerGrads", r.type, {r.sequence, r.batch, r.input});
  std::vector<ops::Work> work = operatorWork(r, true);
  if (!phases.update) std::erase_if(work, isWeightGradient);
  std::vector<compile::IrTensorId> made{gradient};
  if (phases.update) {
    made.push_back(plan.kept("weightsInputDeltas", r.type, {r.input, g * r.output}));
    made.push_back(plan.kept("weightsOutputDeltas", r.type, {r.output, g * r.output}));
  }
  plan.add(Pass::backward, "gradients", "Grad" + r.op(), std::move(work),
           {input, weightsIn, weightsOut, biases, deltas}, made);
  return LayerPlan{plan.finish(), 0};
}

}  // namespace pipescope::conformance
