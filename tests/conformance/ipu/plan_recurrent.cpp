// LSTM, GRU and plain recurrent layers: for each step of the sequence a product for the input, one for the
// state, and elementwise work.
#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {
namespace {

using graph::ElementType;
using model::Pass;
using Phase = ops::Contraction::Phase;

struct Recurrent {
  std::int64_t gates = 1, batch = 1, sequence = 1, input = 1, output = 1;
  ElementType type = ElementType::float16, partials = ElementType::float32;

  ops::Contraction product(std::int64_t rows, std::int64_t in, std::int64_t out, Phase phase) const {
    ops::Contraction c;
    c.field = c.output = {rows};
    c.kernel = c.stride = c.dilation = {1};
    c.padding = {0, 0};
    c.inputChannels = in;
    c.outputChannels = out;
    c.type = type;
    c.accumulate = partials;
    c.phase = phase;
    return c;
  }
  /// Moves a step's part of a sequence, or a product's result, to where the step computes, or back.
  ops::Work move(std::int64_t columns, const char* label) const {
    return {ops::Rearrange{batch * columns, columns < 16 ? columns : 16, type}, sequence, label};
  }
  ops::Work map(ops::MapFunction function, std::int64_t count, std::int64_t operands,
                const char* label) const {
    return {ops::Map{function, count * batch * output, operands, type, true}, sequence, label};
  }
};

/// The nonlinearities of the gates and the arithmetic of the cell.
std::vector<ops::Work> cellWork(const Recurrent& r) {
  std::vector<ops::Work> work;
  work.push_back(r.move(r.gates * r.output, "Product"));
  work.push_back(r.map(ops::MapFunction::add, r.gates, 2, "Bias"));
  if (r.gates == 1) {
    work.push_back(r.map(ops::MapFunction::tanh, 1, 1, "Tanh"));
    return work;
  }
  work.push_back(r.map(ops::MapFunction::sigmoid, r.gates - 1, 1, "Gates"));
  work.push_back(r.map(ops::MapFunction::tanh, 1, 1, "Candidate"));
  work.push_back(r.map(ops::MapFunction::multiply, r.gates == 4 ? 2 : 1, 2, "Multiply"));
  work.push_back(r.map(ops::MapFunction::add, 1, 2, "Cell"));
  if (r.gates == 4) work.push_back(r.map(ops::MapFunction::tanh, 1, 1, "Output"));
  work.push_back(r.map(ops::MapFunction::multiply, 1, 2, "State"));
  if (r.gates == 3) work.push_back(r.move(r.output, "Reset"));
  work.push_back(r.move(r.output, "Save"));
  return work;
}

std::vector<ops::Work> cellGradient(const Recurrent& r) {
  std::vector<ops::Work> work;
  work.push_back(r.move((r.gates + 1) * r.output, "Restore"));
  work.push_back(r.move(r.output, "Gradient"));
  work.push_back(r.map(ops::MapFunction::multiply, r.gates, 2, "Gates"));
  work.push_back(r.map(ops::MapFunction::multiply, r.gates, 2, "NonLinearity"));
  work.push_back(r.map(ops::MapFunction::add, 2, 2, "Cell"));
  work.push_back(r.move(r.gates * r.output, "Product"));
  work.push_back(r.move(r.input, "Save"));
  return work;
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
  PlanAssembler plan;
  const std::int64_t g = r.gates;
  const auto input = plan.kept("prevLayerAct", r.type, {r.sequence, r.batch, r.input}),
             weightsIn = plan.kept("weightsInput", r.type, {r.input, g * r.output}),
             weightsOut = plan.kept("weightsOutput", r.type, {r.output, g * r.output}),
             state = plan.kept("nextAct", r.type, {r.sequence, r.batch, r.output}),
             biases = plan.kept("biases", r.type, {g, r.output});
  const bool training = phases.backward || phases.update;
  const auto work = [&](std::int64_t rows, std::int64_t in, std::int64_t out, Phase phase,
                        std::int64_t repeat) {
    return ops::Work{r.product(rows, in, out, phase), repeat, ""};
  };
  // One product a step multiplies input and state by their weights; the candidate of a GRU waits for its
  // reset gate.
  const std::int64_t in = r.input + r.output;
  const auto products = [&](Phase phase) {
    if (r.gates == 3)
      return std::vector<ops::Work>{work(r.batch, in, 2 * r.output, phase, r.sequence),
                                    work(r.batch, in, r.output, phase, r.sequence)};
    return std::vector<ops::Work>{work(r.batch, in, g * r.output, phase, r.sequence)};
  };
  plan.add(Pass::forward, "step/slice", "Slice", {r.move(r.input, "Input")}, {input}, {});
  plan.add(Pass::forward, "step/product", "MatMul", products(Phase::forward), {input, weightsIn, weightsOut},
           {state});
  plan.add(Pass::forward, "step/cell", "Cell", cellWork(r), {state, biases}, {state});
  if (training) {
    const auto saved = plan.kept("intermediates", r.type, {r.sequence, g + 1, r.batch, r.output});
    const auto deltas = plan.kept("nextLayerGrads", r.type, {r.sequence, r.batch, r.output}),
               gradient = plan.kept("prevLayerGrads", r.type, {r.sequence, r.batch, r.input});
    plan.add(Pass::backward, "bwd/cell", "CellGradient", cellGradient(r), {saved, deltas}, {saved});
    plan.add(Pass::backward, "bwd/product", "MatMul", products(Phase::inputGradient),
             {saved, weightsIn, weightsOut}, {gradient});
    if (phases.update) {
      const auto deltasIn = plan.kept("weightsInputDeltas", r.type, {r.input, g * r.output}),
                 deltasOut = plan.kept("weightsOutputDeltas", r.type, {r.output, g * r.output});
      // Each step adds to the gradients of the weights.
      plan.add(Pass::backward, "wu", "MatMul",
               {work(r.batch, in, g * r.output, Phase::weightGradient, r.sequence),
                {ops::Map{ops::MapFunction::scaledAdd, in * g * r.output, 2, r.type, true}, r.sequence,
                 "Accumulate"}},
               {input, saved}, {deltasIn, deltasOut});
    }
  }
  return LayerPlan{plan.finish(), 0};
}

}  // namespace pipescope::conformance
