// Convolutions.
#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {
namespace {

using compile::IrTensorId;
using graph::ElementType;
using Phase = ops::Contraction::Phase;

ops::Contraction planConvolutionsInPhase(ops::Contraction c, Phase phase) {
  c.phase = phase;
  return c;
}

}  // namespace

graph::Shape inputShape(const ops::Contraction& c) {
  graph::Shape shape{c.batch, c.groups * c.inputChannels};
  shape.insert(shape.end(), c.field.begin(), c.field.end());
  return shape;
}
graph::Shape outputShape(const ops::Contraction& c) {
  graph::Shape shape{c.batch, c.groups * c.outputChannels};
  shape.insert(shape.end(), c.output.begin(), c.output.end());
  return shape;
}
graph::Shape weightShape(const ops::Contraction& c) {
  graph::Shape shape{c.groups * c.outputChannels, c.inputChannels};
  shape.insert(shape.end(), c.kernel.begin(), c.kernel.end());
  return shape;
}

void setOutput(ops::Contraction& c) {
  const std::size_t n = c.field.size();
  c.output.assign(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t room =
        c.field[i] + c.padding[i] + c.padding[i + n] - (c.kernel[i] - 1) * c.dilation[i] - 1;
    c.output[i] = room < 0 ? 0 : room / c.stride[i] + 1;
  }
}

ops::Contraction convolutionOf(LayerOptions& options) {
  for (const char* extent : {"field", "input-channels", "output-channels"}) options.require(extent);
  ops::Contraction c;
  c.type = typeOf(options, "data-type", ElementType::float16);
  c.accumulate = typeOf(options, "partials-type", ElementType::float32);
  c.field = options.list("field");
  const std::size_t n = c.field.size();
  c.kernel = options.list("kernel-size", n, 1);
  c.stride = options.list("stride", n, 1);
  c.dilation = options.list("kernel-dilation", n, 1);
  const auto both = options.list("padding", n, 0, 0);
  const auto lower = options.has("padding-lower") ? options.list("padding-lower", n, 0, 0) : both,
             upper = options.has("padding-upper") ? options.list("padding-upper", n, 0, 0) : both;
  c.padding = lower;
  c.padding.insert(c.padding.end(), upper.begin(), upper.end());
  c.batch = options.number("batch-size", 1);
  c.groups = options.number("conv-groups", 1);
  c.inputChannels = options.number("input-channels", 1);
  c.outputChannels = options.number("output-channels", 1);
  setOutput(c);
  options.checkShapes({inputShape(c), weightShape(c), outputShape(c)});
  return c;
}

void addConvolution(IrAssembler& plan, const std::string& name, const ops::Contraction& forward,
                    const Phases& phases, IrTensorId input, IrTensorId weights, IrTensorId output,
                    IrTensorId outputGradient, IrTensorId inputGradient) {
  if (phases.forward) {
    plan.add(model::Pass::forward, name + "fwd", "Conv", {{forward, 1, ""}}, {input, weights}, {output});
  }
  if (phases.backward) {
    plan.add(model::Pass::backward, name + "bwd", "Conv",
             {{planConvolutionsInPhase(forward, Phase::inputGradient), 1, ""}}, {outputGradient, weights},
             {inputGradient});
  }
  if (phases.update) {
    const auto gradient = plan.temporary(name + "weightDeltas", forward.type, weightShape(forward));
    plan.add(model::Pass::backward, name + "wu", "Conv",
             {{planConvolutionsInPhase(forward, Phase::weightGradient), 1, ""}}, {input, outputGradient},
             {gradient});
    const std::int64_t count = graph::elementCount(weightShape(forward));
    plan.add(model::Pass::backward, name + "update", "ScaledAdd",
             {{ops::Map{ops::MapFunction::scaledAdd, count, 2, forward.type, true}, 1, ""}},
             {weights, gradient}, {weights});
  }
}

base::Result<LayerPlan> planConvolution(LayerOptions& options) {
  const ops::Contraction forward = convolutionOf(options);
  const bool bias = options.flag("bias", true);
  const Phases phases = phasesOf(options, true);
  PIPESCOPE_TRY(options.status());
  IrAssembler plan;
  const auto input = plan.kept("prevAct", forward.type, inputShape(forward)),
             weights = plan.kept("weights", forward.type, weightShape(forward)),
             output = plan.kept("nextAct", forward.type, outputShape(forward));
  IrTensorId deltas, gradient;
  if (phases.backward || phases.update) deltas = plan.kept("zDeltas", forward.type, outputShape(forward));
  if (phases.backward) gradient = plan.kept("prevDeltas", forward.type, inputShape(forward));
  addConvolution(plan, "", forward, phases, input, weights, output, deltas, gradient);
  if (bias) {
    const std::int64_t channels = forward.groups * forward.outputChannels,
                       count = graph::elementCount(outputShape(forward));
    const auto biases = plan.kept("biases", forward.type, {channels});
    if (phases.forward) {
      plan.add(model::Pass::forward, "bias", "Add",
               {{ops::Map{ops::MapFunction::add, count, 2, forward.type, true}, 1, ""}}, {output, biases},
               {output});
    }
    if (phases.update) {
      plan.add(
          model::Pass::backward, "biasUpdate", "ReduceSum",
          {{ops::Reduce{ops::ReduceFunction::sum, channels, count / channels, false, forward.type}, 1, ""},
           {ops::Map{ops::MapFunction::scaledAdd, channels, 2, forward.type, true}, 1, "Update"}},
          {deltas}, {biases});
    }
  }
  return LayerPlan{plan.finish(), 0};
}

}  // namespace pipescope::conformance
