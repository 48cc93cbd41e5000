// Convolutions, and octave convolutions.
#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {
namespace {

using compile::PlanTensorId;
using graph::ElementType;
using Phase = ops::Contraction::Phase;

ops::Contraction planConvolutionsInPhase(ops::Contraction c, Phase phase) {
  c.phase = phase;
  return c;
}

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

}  // namespace

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

void addConvolution(PlanAssembler& plan, const std::string& name, const ops::Contraction& forward,
                    const Phases& phases, PlanTensorId input, PlanTensorId weights, PlanTensorId output,
                    PlanTensorId outputGradient, PlanTensorId inputGradient) {
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
  PlanAssembler plan;
  const auto input = plan.kept("prevAct", forward.type, inputShape(forward)),
             weights = plan.kept("weights", forward.type, weightShape(forward)),
             output = plan.temporary("nextAct", forward.type, outputShape(forward));
  PlanTensorId deltas, gradient;
  if (phases.backward || phases.update) deltas = plan.kept("zDeltas", forward.type, outputShape(forward));
  if (phases.backward) gradient = plan.temporary("prevDeltas", forward.type, inputShape(forward));
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

/// Four convolutions between a high frequency and a low one of half the field: high → low is pooled before,
/// low → high is enlarged after, and the results are added.
base::Result<LayerPlan> planOctaveConvolution(LayerOptions& options) {
  const ops::Contraction whole = convolutionOf(options);
  const double alpha = options.real("alpha", 0), alphaIn = options.real("alpha-in", alpha),
               alphaOut = options.real("alpha-out", alpha);
  options.ignore({"pool-optimize-for-speed"});
  const Phases phases = phasesOf(options, true);
  PIPESCOPE_TRY(options.status());
  for (const double part : {alphaIn, alphaOut}) {
    if (!(part >= 0 && part <= 1))
      return base::badInput("options --alpha, --alpha-in and --alpha-out are shares, 0 to 1");
  }
  PlanAssembler plan;
  const auto share = [](double part, std::int64_t channels) {
    return static_cast<std::int64_t>(part * static_cast<double>(channels));
  };
  // Index 0: high, 1: low.
  const std::int64_t lowIn = share(alphaIn, whole.inputChannels),
                     lowOut = share(alphaOut, whole.outputChannels);
  const std::int64_t in[] = {whole.inputChannels - lowIn, lowIn},
                     out[] = {whole.outputChannels - lowOut, lowOut};
  const char* names[] = {"hi", "lo"};
  PlanTensorId inputs[2], outputs[2], deltas[2], gradients[2];
  ops::Contraction level[2] = {whole, whole};
  for (std::int64_t& extent : level[1].field) extent /= 2;
  setOutput(level[1]);
  if (lowIn > 0 || lowOut > 0) {
    options.checkShapes({inputShape(level[1]), outputShape(level[1])});
    PIPESCOPE_TRY(options.status());
  }
  for (std::size_t f = 0; f < 2; ++f) {
    level[f].inputChannels = in[f];
    level[f].outputChannels = out[f];
    const std::string suffix = names[f];
    if (in[f] > 0) {
      inputs[f] = plan.kept("prevAct/" + suffix, whole.type, inputShape(level[f]));
      gradients[f] = plan.temporary("prevDeltas/" + suffix, whole.type, inputShape(level[f]));
    }
    if (out[f] > 0) {
      outputs[f] = plan.temporary("nextAct/" + suffix, whole.type, outputShape(level[f]));
      deltas[f] = plan.kept("zDeltas/" + suffix, whole.type, outputShape(level[f]));
    }
  }
  std::vector<ops::Contraction> parts;
  std::vector<std::pair<std::size_t, std::size_t>> ways;
  for (std::size_t from = 0; from < 2; ++from) {
    for (std::size_t to = 0; to < 2; ++to) {
      if (in[from] == 0 || out[to] == 0) continue;
      ops::Contraction c = from == 0 && to == 0 ? level[0] : level[1];
      c.inputChannels = in[from];
      c.outputChannels = out[to];
      parts.push_back(c);
      ways.emplace_back(from, to);
    }
  }
  const auto nameOf = [&](std::size_t i) {
    return std::string(names[ways[i].first]) + "_" + names[ways[i].second] + "/";
  };
  const auto averaged = [&](std::size_t i, bool backward) {
    const ops::Contraction& c = parts[i];
    ops::Pool pool;
    pool.function = ops::PoolFunction::average;
    pool.backward = backward;
    pool.batch = c.batch;
    pool.type = c.type;
    pool.kernel.assign(c.field.size(), 2);
    pool.stride = pool.kernel;
    const bool down = ways[i].first == 0;  // high → low pools its input; low → high enlarges its output
    pool.channels = down ? c.inputChannels : c.outputChannels;
    pool.output = down ? c.field : c.output;
    for (const std::int64_t extent : pool.output) pool.field.push_back(2 * extent);
    return pool;
  };
  using Pass = model::Pass;
  std::vector<PlanTensorId> weights;
  for (std::size_t i = 0; i < parts.size(); ++i)
    weights.push_back(plan.kept(nameOf(i) + "weights", whole.type, weightShape(parts[i])));
  // First come the poolings, then the convolutions side by side, then the enlargements.
  std::vector<PlanTensorId> ins(parts.size()), outs(parts.size()), deltaOf(parts.size()),
      gradientOf(parts.size());
  const auto together = [&](Phase phase) {
    std::vector<ops::Work> work;
    for (const ops::Contraction& part : parts)
      work.push_back({planConvolutionsInPhase(part, phase), 1, "", 1});
    return work;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [from, to] = ways[i];
    ins[i] = inputs[from];
    outs[i] = outputs[to];
    if (from < to) {
      ins[i] = plan.temporary(nameOf(i) + "pooled", whole.type, inputShape(parts[i]));
      plan.add(Pass::forward, nameOf(i) + "pool", "AveragePool", {{averaged(i, false), 1, ""}},
               {inputs[from]}, {ins[i]});
    }
    if (from > to) outs[i] = plan.temporary(nameOf(i) + "small", whole.type, outputShape(parts[i]));
  }
  const auto joined = [](std::vector<PlanTensorId> list, const std::vector<PlanTensorId>& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  if (phases.forward)
    plan.add(Pass::forward, "fwd", "MultiConv", together(Phase::forward), joined(ins, weights), outs);
  for (std::size_t i = 0; i < parts.size() && phases.forward; ++i) {
    if (ways[i].first <= ways[i].second) continue;
    const std::int64_t count =
        graph::elementCount(outputShape(level[0])) / level[0].outputChannels * parts[i].outputChannels;
    plan.add(Pass::forward, nameOf(i) + "enlarge", "Resize",
             {{ops::Rearrange{count, 4, whole.type}, 1, ""},
              {ops::Map{ops::MapFunction::add, count, 2, whole.type, true}, 1, "Add"}},
             {outs[i]}, {outputs[0]});
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [from, to] = ways[i];
    deltaOf[i] = deltas[to];
    gradientOf[i] = gradients[from];
    if (from > to) {
      deltaOf[i] = plan.temporary(nameOf(i) + "smallDeltas", whole.type, outputShape(parts[i]));
      plan.add(Pass::backward, nameOf(i) + "shrink", "AveragePool", {{averaged(i, false), 1, ""}},
               {deltas[to]}, {deltaOf[i]});
    }
    if (from < to)
      gradientOf[i] = plan.temporary(nameOf(i) + "pooledDeltas", whole.type, inputShape(parts[i]));
  }
  if (phases.backward) {
    plan.add(Pass::backward, "bwd", "MultiConv", together(Phase::inputGradient), joined(deltaOf, weights),
             gradientOf);
  }
  for (std::size_t i = 0; i < parts.size() && phases.backward; ++i) {
    if (ways[i].first >= ways[i].second) continue;
    plan.add(Pass::backward, nameOf(i) + "unpool", "AveragePoolGradient", {{averaged(i, true), 1, ""}},
             {gradientOf[i]}, {gradients[0]});
  }
  if (phases.update) {
    std::vector<PlanTensorId> changes;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      changes.push_back(plan.temporary(nameOf(i) + "weightDeltas", whole.type, weightShape(parts[i])));
      count += graph::elementCount(weightShape(parts[i]));
    }
    plan.add(Pass::backward, "wu", "MultiConv", together(Phase::weightGradient), joined(ins, deltaOf),
             changes);
    plan.add(Pass::backward, "update", "ScaledAdd",
             {{ops::Map{ops::MapFunction::scaledAdd, count, 2, whole.type, true}, 1, ""}},
             joined(weights, changes), weights);
  }
  return LayerPlan{plan.finish(), 0};
}

}  // namespace pipescope::conformance
