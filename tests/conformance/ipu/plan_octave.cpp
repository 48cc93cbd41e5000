// Octave convolutions: the operators that a user's model runs, with their convolutions as a
// multi-convolution.
#include <algorithm>
#include <span>

#include "engine/compile/passes/pass.h"
#include "engine/ops/standard_operators.h"
#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {
namespace {

using compile::IrTensorId;
using graph::ElementType;
using Phase = ops::Contraction::Phase;

/// An operator of the standard set, as the compiler gets it from a user's model: its cost is that of the
/// user.
struct OctaveOperator {
  std::string op;
  graph::Attributes attributes;
  std::vector<graph::TensorType> inputs;
  std::vector<std::vector<std::byte>> constants = {};  ///< constant of each input; empty: no constant
};

std::vector<ops::Work> workOf(const OctaveOperator& o) {
  graph::Node node;
  node.op = o.op;
  node.name = "layer";
  node.attributes = o.attributes;
  ops::OperatorCall call{node, {}, {}, {}};
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    call.inputs.push_back(&o.inputs[i]);
    const bool known = i < o.constants.size() && !o.constants[i].empty();
    call.constants.push_back(known ? &o.constants[i] : nullptr);
  }
  const auto types = ops::inferCall(call, ops::standardOperators());
  PIPESCOPE_CHECK(types.ok(), types.error().message);
  call.outputs = *types;
  return ops::standardOperators().find(o.op)->work(call);
}

/// The Work of one product of a convolution's operator.
std::vector<ops::Work> convolutionWork(const ops::Contraction& c, Phase phase) {
  graph::Attributes attributes{{"kernel_shape", c.kernel},
                               {"strides", c.stride},
                               {"dilations", c.dilation},
                               {"pads", c.padding},
                               {"group", c.groups}};
  const graph::TensorType x{c.type, inputShape(c)}, w{c.type, weightShape(c)}, y{c.type, outputShape(c)};
  OctaveOperator o{"Conv", attributes, {x, w}};
  if (phase == Phase::inputGradient) {
    attributes["input_shape"] = x.shape;
    o = {"GradConvInput", attributes, {y, w}};
  } else if (phase == Phase::weightGradient) {
    attributes["weight_shape"] = w.shape;
    o = {"GradConvWeight", attributes, {x, y}};
  }
  std::vector<ops::Work> work = workOf(o);
  std::get<ops::Contraction>(work.front().item).accumulate = c.accumulate;
  return work;
}

/// One of the convolutions between a high frequency and a low one of half the field.
struct OctaveWay {
  std::size_t from = 0, to = 0;  ///< 0: high, 1: low
  ops::Contraction convolution;
  IrTensorId weights, input, output, deltas;
  std::string name;
};

/// The layer as PopLibs' tool builds it (C: tools/oct_conv_layer.cpp): high → low is pooled before, low →
/// high is enlarged after, and the results are added. The gradient by the result is given for each
/// convolution.
class OctaveLayer {
 public:
  OctaveLayer(const ops::Contraction& whole, const std::int64_t (&in)[2], const std::int64_t (&out)[2])
      : whole_(whole) {
    ops::Contraction level[2] = {whole, whole};
    for (std::int64_t& extent : level[1].field) extent /= 2;
    setOutput(level[1]);
    for (std::size_t f = 0; f < 2; ++f) {
      level[f].inputChannels = in[f];
      if (in[f] > 0)
        inputs_[f] = plan_.kept(std::string("prevAct/") + kNames[f], whole.type, inputShape(level[f]));
    }
    for (std::size_t from = 0; from < 2; ++from) {
      for (std::size_t to = 0; to < 2; ++to) {
        if (in[from] == 0 || out[to] == 0) continue;
        OctaveWay way;
        way.from = from;
        way.to = to;
        way.convolution = from == 0 && to == 0 ? level[0] : level[1];
        way.convolution.inputChannels = in[from];
        way.convolution.outputChannels = out[to];
        way.name = std::string(kNames[from]) + "_" + kNames[to];
        way.weights = plan_.kept(way.name + "/weights", whole.type, weightShape(way.convolution));
        ways_.push_back(std::move(way));
      }
    }
  }

  compile::StageIr build(const Phases& phases) {
    pool();
    if (phases.forward) forward();
    if (phases.backward || phases.update) {
      for (OctaveWay& way : ways_)
        way.deltas = plan_.kept(way.name + "/zDeltas", whole_.type, outputShape(way.convolution));
    }
    if (phases.backward) backward();
    if (phases.update) update();
    return joined(plan_.finish());
  }

 private:
  static constexpr const char* kNames[] = {"hi", "lo"};
  using Pass = model::Pass;

  void pool() {
    for (OctaveWay& way : ways_) {
      way.input = inputs_[way.from];
      if (way.from >= way.to) continue;
      graph::Shape shape = inputShape(way.convolution);
      for (std::size_t axis = 2; axis < shape.size(); ++axis) shape[axis] *= 2;
      const std::vector<std::int64_t> two(shape.size() - 2, 2);
      way.input = plan_.temporary(way.name + "/pooled", whole_.type, inputShape(way.convolution));
      plan_.add(Pass::forward, way.name + "/pool", "AveragePool",
                workOf({"AveragePool", {{"kernel_shape", two}, {"strides", two}}, {{whole_.type, shape}}}),
                {inputs_[way.from]}, {way.input});
    }
  }

  void forward() {
    for (OctaveWay& way : ways_) {
      const bool alone = std::ranges::count(ways_, way.to, &OctaveWay::to) == 1;
      way.output = result(alone, way.name + "/out", outputShape(way.convolution));
      add(Pass::forward, way.name, "Conv", convolutionWork(way.convolution, Phase::forward),
          {way.input, way.weights}, way.output);
    }
    IrTensorId sums[2];
    for (const OctaveWay& way : ways_) {
      graph::Shape shape = outputShape(way.convolution);
      IrTensorId part = way.output;
      if (way.from > way.to) part = enlarge(way, shape);
      if (!sums[way.to].valid()) {
        sums[way.to] = part;
        continue;
      }
      const IrTensorId sum = result(true, way.name + "/sum", shape);
      const graph::TensorType type{whole_.type, shape};
      plan_.add(Pass::forward, way.name + "/add", "Add", workOf({"Add", {}, {type, type}}),
                {sums[way.to], part}, {sum});
      sums[way.to] = sum;
    }
  }

  /// A result of the layer is read by another program, and so kept; other tensors are not.
  IrTensorId result(bool ofLayer, const std::string& name, const graph::Shape& shape) {
    return ofLayer ? plan_.kept(name, whole_.type, shape) : plan_.temporary(name, whole_.type, shape);
  }

  /// Doubles the spatial axes, whose new extents are put into `shape`.
  IrTensorId enlarge(const OctaveWay& way, graph::Shape& shape) {
    const graph::TensorType small{whole_.type, shape};
    std::vector<float> scales(shape.size(), 2);
    scales[0] = scales[1] = 1;
    for (std::size_t axis = 2; axis < shape.size(); ++axis) shape[axis] *= 2;
    const auto bytes = std::as_bytes(std::span(scales));
    const graph::TensorType none{ElementType::float32, {0}},
        list{ElementType::float32, {static_cast<std::int64_t>(scales.size())}};
    const IrTensorId large = plan_.temporary(way.name + "/large", whole_.type, shape);
    plan_.add(Pass::forward, way.name + "/enlarge", "Resize",
              workOf({"Resize",
                      {{"mode", std::string("nearest")},
                       {"coordinate_transformation_mode", std::string("asymmetric")},
                       {"nearest_mode", std::string("floor")}},
                      {small, none, list},
                      {{}, {}, {bytes.begin(), bytes.end()}}}),
              {way.output}, {large});
    return large;
  }

  void backward() {
    for (const OctaveWay& way : ways_) {
      add(Pass::backward, way.name + "/grad_input", "GradConvInput",
          convolutionWork(way.convolution, Phase::inputGradient), {way.deltas, way.weights},
          plan_.kept(way.name + "/prevDeltas", whole_.type, inputShape(way.convolution)));
    }
  }

  void update() {
    std::vector<IrTensorId> changes;
    for (const OctaveWay& way : ways_) {
      changes.push_back(
          plan_.temporary(way.name + "/weightDeltas", whole_.type, weightShape(way.convolution)));
      add(Pass::backward, way.name + "/grad_weight", "GradConvWeight",
          convolutionWork(way.convolution, Phase::weightGradient), {way.input, way.deltas}, changes.back());
    }
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      const std::int64_t count = graph::elementCount(weightShape(ways_[i].convolution));
      plan_.add(Pass::backward, ways_[i].name + "/update", "ScaledAdd",
                {{ops::Map{ops::MapFunction::scaledAdd, count, 2, whole_.type, true}, 1, ""}},
                {ways_[i].weights, changes[i]}, {ways_[i].weights});
    }
  }

  /// Adds an operator of the group.
  void add(Pass pass, const std::string& name, const std::string& kind, std::vector<ops::Work> work,
           std::vector<IrTensorId> inputs, IrTensorId output) {
    plan_.add(pass, name, kind, std::move(work), std::move(inputs), {output}).group = "octave";
  }

  /// The convolutions of the group become one operator, as in a user's model.
  static compile::StageIr joined(compile::StageIr stage) {
    compile::ExecutableIr ir;
    ir.runsSideBySide = true;
    ir.stages.push_back(std::move(stage));
    compile::PassRunner runner({ops::standardOperators(), {}, false},
                               [](const std::string& name) { return name == "join_convolutions"; });
    runner.runOn(ir);
    return std::move(ir.stages.front());
  }

  ops::Contraction whole_;
  IrAssembler plan_;
  IrTensorId inputs_[2];
  std::vector<OctaveWay> ways_;
};

}  // namespace

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
  const auto share = [](double part, std::int64_t channels) {
    return static_cast<std::int64_t>(part * static_cast<double>(channels));
  };
  const std::int64_t lowIn = share(alphaIn, whole.inputChannels),
                     lowOut = share(alphaOut, whole.outputChannels);
  if (lowIn > 0 || lowOut > 0) {
    ops::Contraction low = whole;
    for (std::int64_t& extent : low.field) extent /= 2;
    setOutput(low);
    options.checkShapes({inputShape(low), outputShape(low)});
    PIPESCOPE_TRY(options.status());
  }
  OctaveLayer layer(whole, {whole.inputChannels - lowIn, lowIn}, {whole.outputChannels - lowOut, lowOut});
  return LayerPlan{layer.build(phases), 0};
}

}  // namespace pipescope::conformance
