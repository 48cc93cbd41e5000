#include "engine/ops/recurrent/recurrent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace pipescope::ops {
namespace {

using base::badInput;

struct KnownActivation {
  Activation::Kind kind;
  int parameters;  ///< number of parameters: 0, 1 (alpha) or 2 (alpha and beta)
  bool hasDefaults = true;
  double alpha = 0, beta = 0;
};

/// The defaults are the defaults of the ONNX operators with the same names.
const std::map<std::string, KnownActivation>& knownActivations() {
  using Kind = Activation::Kind;
  static const std::map<std::string, KnownActivation> known{
      {"Affine", {Kind::affine, 2, false}},
      {"Elu", {Kind::elu, 1, true, 1.0}},
      {"HardSigmoid", {Kind::hardSigmoid, 2, true, 0.2, 0.5}},
      {"LeakyRelu", {Kind::leakyRelu, 1, true, 0.01}},
      {"Relu", {Kind::relu, 0}},
      {"ScaledTanh", {Kind::scaledTanh, 2, false}},
      {"Sigmoid", {Kind::sigmoid, 0}},
      {"Softplus", {Kind::softplus, 0}},
      {"Softsign", {Kind::softsign, 0}},
      {"Tanh", {Kind::tanh, 0}},
      {"ThresholdedRelu", {Kind::thresholdedRelu, 1, true, 1.0}}};
  return known;
}

/// Each activation with an alpha or a beta takes the next unused value of the attribute.
Status readActivations(const OperatorCall& call, const std::vector<std::string>& defaults,
                       RecurrentSetup& setup) {
  std::vector<std::string> names;
  for (std::int64_t d = 0; d < setup.directions; ++d)
    names.insert(names.end(), defaults.begin(), defaults.end());
  const std::size_t count = names.size();
  names = graph::stringsAttribute(call.node, "activations", names);
  if (names.size() != count) {
    return badInput(
        fmt::format("{}: activations has {} names; it needs {}", call.title(), names.size(), count));
  }
  const std::vector<double> alphas = graph::floatsAttribute(call.node, "activation_alpha", {});
  const std::vector<double> betas = graph::floatsAttribute(call.node, "activation_beta", {});
  std::size_t nextAlpha = 0, nextBeta = 0;
  for (const std::string& name : names) {
    const auto found = knownActivations().find(name);
    if (found == knownActivations().end()) {
      std::vector<std::string> known;
      for (const auto& [each, unused] : knownActivations()) known.push_back(each);
      return badInput(fmt::format("{}: activation {} is not known; known are {}", call.title(), name,
                                  fmt::join(known, ", ")));
    }
    const KnownActivation& rule = found->second;
    const bool alphaGiven = nextAlpha < alphas.size(), betaGiven = nextBeta < betas.size();
    if (!rule.hasDefaults && !(alphaGiven && betaGiven)) {
      return badInput(fmt::format(
          "{}: activation {} needs its numbers in activation_alpha and activation_beta", call.title(), name));
    }
    Activation activation{rule.kind, rule.alpha, rule.beta};
    if (rule.parameters >= 1 && alphaGiven) activation.alpha = alphas[nextAlpha++];
    if (rule.parameters >= 2 && betaGiven) activation.beta = betas[nextBeta++];
    setup.activations.push_back(activation);
  }
  return {};
}

Status readDirection(const OperatorCall& call, RecurrentSetup& setup) {
  const std::string direction = graph::stringAttribute(call.node, "direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return badInput(fmt::format("{}: direction is {}; it must be forward, reverse or bidirectional",
                                call.title(), direction));
  }
  setup.directions = direction == "bidirectional" ? 2 : 1;
  setup.reverse = direction == "reverse";
  const std::int64_t layout = graph::intAttribute(call.node, "layout", 0);
  if (layout != 0 && layout != 1)
    return badInput(fmt::format("{}: layout is {}; it must be 0 or 1", call.title(), layout));
  setup.batchFirst = layout == 1;
  setup.clip = graph::floatAttribute(call.node, "clip", 0);
  if (!(setup.clip >= 0))
    return badInput(fmt::format("{}: clip is {}; it must be above 0", call.title(), setup.clip));
  setup.linearBeforeReset = graph::intAttribute(call.node, "linear_before_reset", 0) != 0;
  setup.coupled = graph::intAttribute(call.node, "input_forget", 0) != 0;
  return {};
}

Status checkInputs(const OperatorCall& call, const RecurrentSetup& setup) {
  const Shape state = setup.batchFirst ? Shape{setup.batch, setup.directions, setup.hidden}
                                       : Shape{setup.directions, setup.batch, setup.hidden};
  const Shape wanted[] = {call.input(0).shape,
                          {setup.directions, setup.width(), setup.input},
                          {setup.directions, setup.width(), setup.hidden},
                          {setup.directions, 2 * setup.width()},
                          {setup.batch},
                          state,
                          state,
                          {setup.directions, 3 * setup.hidden}};
  static constexpr const char* names[] = {"X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"};
  for (std::size_t i = 0; i < std::size(wanted); ++i) {
    if (!call.has(i)) continue;
    const TensorType expected{i == 4 ? ElementType::int32 : call.input(0).element, wanted[i]};
    if (call.input(i) == expected) continue;
    return badInput(fmt::format("{}: {} (input {}) is {}; it must be {}", call.title(), names[i], i,
                                graph::toString(call.input(i)), graph::toString(expected)));
  }
  return {};
}

Contraction productOf(std::int64_t rows, std::int64_t in, std::int64_t out, ElementType type,
                      Contraction::Phase phase) {
  Contraction c;
  c.phase = phase;
  c.inputChannels = in;
  c.outputChannels = out;
  c.field = {rows};
  c.kernel = {1};
  c.output = {rows};
  c.stride = {1};
  c.dilation = {1};
  c.padding = {0, 0};
  c.type = type;
  return c;
}

}  // namespace

Result<RecurrentSetup> recurrentSetup(const OperatorCall& call, std::int64_t gates,
                                      const std::vector<std::string>& defaults) {
  RecurrentSetup setup;
  setup.gates = gates;
  setup.title = call.title();
  PIPESCOPE_TRY(readDirection(call, setup));
  PIPESCOPE_TRY(readActivations(call, defaults, setup));
  const Shape& x = call.input(0).shape;
  const Shape& r = call.input(2).shape;
  if (x.size() != 3 || r.size() != 3) {
    return badInput(fmt::format("{}: X is {} and R {}; both must have 3 axes", call.title(), extentsText(x),
                                extentsText(r)));
  }
  setup.time = x[setup.batchFirst ? 1 : 0];
  setup.batch = x[setup.batchFirst ? 0 : 1];
  setup.input = x[2];
  setup.hidden = r[2];
  setup.hasLengths = call.has(4);
  const std::int64_t said = graph::intAttribute(call.node, "hidden_size", setup.hidden);
  if (said != setup.hidden) {
    return badInput(fmt::format("{}: hidden_size is {}, but R is {}", call.title(), said, extentsText(r)));
  }
  PIPESCOPE_TRY(checkInputs(call, setup));
  return setup;
}

std::vector<TensorType> recurrentTypes(const OperatorCall& call, const RecurrentSetup& setup) {
  const ElementType element = call.input(0).element;
  const Shape y = setup.batchFirst ? Shape{setup.batch, setup.time, setup.directions, setup.hidden}
                                   : Shape{setup.time, setup.directions, setup.batch, setup.hidden};
  const Shape state = setup.batchFirst ? Shape{setup.batch, setup.directions, setup.hidden}
                                       : Shape{setup.directions, setup.batch, setup.hidden};
  return {{element, y}, {element, state}, {element, state}};
}

std::vector<AttributeRule> recurrentAttributes() {
  return {{"activation_alpha", AttributeKind::reals}, {"activation_beta", AttributeKind::reals},
          {"activations", AttributeKind::texts},      {"clip", AttributeKind::real},
          {"direction", AttributeKind::text},         {"hidden_size", AttributeKind::integer},
          {"layout", AttributeKind::integer}};
}

Status checkLengths(const RecurrentSetup& setup, const std::int32_t* lengths) {
  for (std::int64_t b = 0; lengths && b < setup.batch; ++b) {
    if (lengths[b] >= 0 && lengths[b] <= setup.time) continue;
    return badInput(fmt::format("{}: sequence {} is said to be {} long; X has {} steps", setup.title, b,
                                lengths[b], setup.time));
  }
  return {};
}

std::vector<std::size_t> differentiableInputs(const OperatorCall& call) {
  std::vector<std::size_t> inputs;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6, 7}) {
    if (call.has(i)) inputs.push_back(i);
  }
  return inputs;
}

Status recurrentGradient(GradientBuilder& builder, const RecurrentSetup& setup) {
  const OperatorCall& call = builder.call();
  for (const Activation& activation : setup.activations) {
    // The result does not determine the slope with other values of alpha.
    const bool needsPositive = activation.kind == Activation::Kind::elu ||
                               activation.kind == Activation::Kind::leakyRelu ||
                               activation.kind == Activation::Kind::scaledTanh;
    const bool bad = (needsPositive && !(activation.alpha > 0)) ||
                     (activation.kind == Activation::Kind::thresholdedRelu && !(activation.alpha >= 0));
    if (bad) {
      return badInput(fmt::format("{}: cannot train with an activation_alpha of {}; it must be above 0",
                                  call.title(), activation.alpha));
    }
  }
  std::vector<graph::TensorId> inputs = builder.node().inputs;
  inputs.resize(8);
  for (std::size_t output = 0; output < 3; ++output) {
    const bool there = output < builder.node().outputs.size() && builder.node().outputs[output].valid();
    inputs.push_back(there ? builder.outputGradient(output) : graph::TensorId());
  }
  const std::vector<std::size_t> targets = differentiableInputs(call);
  PIPESCOPE_ASSIGN(const std::vector<graph::TensorId> gradients,
                   builder.addMany("Grad" + builder.node().op, "grad", std::move(inputs),
                                   builder.node().attributes, targets.size()));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (builder.wants(targets[i])) builder.setInputGradient(targets[i], gradients[i]);
  }
  return {};
}

Result<std::vector<TensorType>> recurrentGradientTypes(const OperatorCall& call,
                                                       const RecurrentSetup& setup) {
  const std::vector<TensorType> forward = recurrentTypes(call, setup);
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (!call.has(8 + i) || call.input(8 + i) == forward[i]) continue;
    return badInput(fmt::format("{}: the gradient by output {} is {}, but the output is {}", call.title(), i,
                                graph::toString(call.input(8 + i)), graph::toString(forward[i])));
  }
  std::vector<TensorType> types;
  for (const std::size_t input : differentiableInputs(call)) types.push_back(call.input(input));
  return types;
}

namespace {

/// The width of a GRU's candidate, which waits for the reset gate; 0 for other layers.
std::int64_t candidateOf(const RecurrentSetup& setup) {
  return setup.gates == 3 ? setup.hidden : 0;
}

/// The products of one step: input and state before it by their weights, at once. The candidate of a GRU
/// waits for the reset gate. (C: popnn, Lstm.cpp and Gru.cpp without preCalcWeights.)
std::vector<Work> stepProducts(const RecurrentSetup& setup, ElementType type, Contraction::Phase phase,
                               const std::string& label) {
  const std::int64_t in = setup.input + setup.hidden, steps = setup.time * setup.directions,
                     candidate = candidateOf(setup);
  std::vector<Work> work{{productOf(setup.batch, in, setup.width() - candidate, type, phase), steps, label}};
  if (candidate > 0)
    work.push_back({productOf(setup.batch, in, candidate, type, phase), steps, label + "Candidate"});
  return work;
}

}  // namespace

namespace {

/// Takes the part of each step out of a sequence, or puts it there, with `each` elements. (C: popnn, Lstm.cpp
/// and Gru.cpp slice and update the sequences dynamically in their loop over time.)
Work sliceOfSteps(const RecurrentSetup& setup, ElementType type, std::int64_t each,
                  const std::string& label) {
  return {Gather{1, each, setup.time, type}, setup.time * setup.directions, label};
}
Work updateOfSteps(const RecurrentSetup& setup, ElementType type, std::int64_t each,
                   const std::string& label) {
  return {Scatter{1, each, setup.time, false, type}, setup.time * setup.directions, label};
}

}  // namespace

std::vector<Work> recurrentWork(const OperatorCall& call, const RecurrentSetup& setup,
                                const std::vector<Work>& cell) {
  const ElementType type = call.input(0).element;
  const std::int64_t steps = setup.time * setup.directions;
  std::vector<Work> work{sliceOfSteps(setup, type, setup.batch * setup.input, "Input")};
  for (Work& product : stepProducts(setup, type, Contraction::Phase::forward, "Product"))
    work.push_back(std::move(product));
  if (call.has(3)) {
    const std::int64_t all = setup.batch * setup.width(), candidate = setup.batch * candidateOf(setup);
    work.push_back({Map{MapFunction::add, all - candidate, 2, type, true}, steps, "Bias"});
    if (candidate > 0)
      work.push_back({Map{MapFunction::add, candidate, 2, type, true}, steps, "CandidateBias"});
  }
  for (Work each : cell) {
    each.repeat = steps;
    work.push_back(std::move(each));
  }
  work.push_back(updateOfSteps(setup, type, setup.batch * setup.hidden, "Output"));
  return work;
}

/// The activated gates, and the state before and after each step, are kept from the forward pass (C: popnn's
/// intermediates). The kernel computes them again instead, which takes less memory.
std::vector<Work> recurrentGradientWork(const OperatorCall& call, const RecurrentSetup& setup,
                                        const std::vector<Work>& cell) {
  using Phase = Contraction::Phase;
  const ElementType type = call.input(0).element;
  const std::int64_t steps = setup.time * setup.directions, width = setup.width();
  std::vector<Work> work{sliceOfSteps(setup, type, setup.batch * setup.hidden, "OutputGradient"),
                         sliceOfSteps(setup, type, setup.batch * (width + 2 * setup.hidden), "Intermediates"),
                         sliceOfSteps(setup, type, setup.batch * setup.input, "Input")};
  for (Work each : cell) {
    each.repeat = steps;
    each.label += "Gradient";
    work.push_back(std::move(each));
  }
  for (Work& product : stepProducts(setup, type, Phase::inputGradient, "InputGradient"))
    work.push_back(std::move(product));
  work.push_back(updateOfSteps(setup, type, setup.batch * setup.input, "InputGradientOfStep"));
  // Each step adds to the gradients of the weights.
  for (Work& product : stepProducts(setup, type, Phase::weightGradient, "WeightGradient"))
    work.push_back(std::move(product));
  work.push_back({Map{MapFunction::scaledAdd, (setup.input + setup.hidden) * width, 2, type, true}, steps,
                  "Accumulate"});
  if (call.has(3)) {
    // The gradients of biases are summed over the batch once, at the end.
    work.push_back({Map{MapFunction::add, setup.batch * width, 2, type, true}, steps, "BiasOfStep"});
    work.push_back(
        {Reduce{ReduceFunction::sum, width, setup.batch, false, type}, setup.directions, "BiasGradient"});
  }
  return work;
}

}  // namespace pipescope::ops
