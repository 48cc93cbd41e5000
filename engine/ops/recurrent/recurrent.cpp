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
                       RecurrentPlan& plan) {
  std::vector<std::string> names;
  for (std::int64_t d = 0; d < plan.directions; ++d)
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
    plan.activations.push_back(activation);
  }
  return {};
}

Status readDirection(const OperatorCall& call, RecurrentPlan& plan) {
  const std::string direction = graph::stringAttribute(call.node, "direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return badInput(fmt::format("{}: direction is {}; it must be forward, reverse or bidirectional",
                                call.title(), direction));
  }
  plan.directions = direction == "bidirectional" ? 2 : 1;
  plan.reverse = direction == "reverse";
  const std::int64_t layout = graph::intAttribute(call.node, "layout", 0);
  if (layout != 0 && layout != 1)
    return badInput(fmt::format("{}: layout is {}; it must be 0 or 1", call.title(), layout));
  plan.batchFirst = layout == 1;
  plan.clip = graph::floatAttribute(call.node, "clip", 0);
  if (!(plan.clip >= 0))
    return badInput(fmt::format("{}: clip is {}; it must be above 0", call.title(), plan.clip));
  plan.linearBeforeReset = graph::intAttribute(call.node, "linear_before_reset", 0) != 0;
  plan.coupled = graph::intAttribute(call.node, "input_forget", 0) != 0;
  return {};
}

Status checkInputs(const OperatorCall& call, const RecurrentPlan& plan) {
  const Shape state = plan.batchFirst ? Shape{plan.batch, plan.directions, plan.hidden}
                                      : Shape{plan.directions, plan.batch, plan.hidden};
  const Shape wanted[] = {call.input(0).shape,
                          {plan.directions, plan.width(), plan.input},
                          {plan.directions, plan.width(), plan.hidden},
                          {plan.directions, 2 * plan.width()},
                          {plan.batch},
                          state,
                          state,
                          {plan.directions, 3 * plan.hidden}};
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

Result<RecurrentPlan> recurrentPlan(const OperatorCall& call, std::int64_t gates,
                                    const std::vector<std::string>& defaults) {
  RecurrentPlan plan;
  plan.gates = gates;
  plan.title = call.title();
  PIPESCOPE_TRY(readDirection(call, plan));
  PIPESCOPE_TRY(readActivations(call, defaults, plan));
  const Shape& x = call.input(0).shape;
  const Shape& r = call.input(2).shape;
  if (x.size() != 3 || r.size() != 3) {
    return badInput(fmt::format("{}: X is {} and R {}; both must have 3 axes", call.title(), extentsText(x),
                                extentsText(r)));
  }
  plan.time = x[plan.batchFirst ? 1 : 0];
  plan.batch = x[plan.batchFirst ? 0 : 1];
  plan.input = x[2];
  plan.hidden = r[2];
  plan.hasLengths = call.has(4);
  const std::int64_t said = graph::intAttribute(call.node, "hidden_size", plan.hidden);
  if (said != plan.hidden) {
    return badInput(fmt::format("{}: hidden_size is {}, but R is {}", call.title(), said, extentsText(r)));
  }
  PIPESCOPE_TRY(checkInputs(call, plan));
  return plan;
}

std::vector<TensorType> recurrentTypes(const OperatorCall& call, const RecurrentPlan& plan) {
  const ElementType element = call.input(0).element;
  const Shape y = plan.batchFirst ? Shape{plan.batch, plan.time, plan.directions, plan.hidden}
                                  : Shape{plan.time, plan.directions, plan.batch, plan.hidden};
  const Shape state = plan.batchFirst ? Shape{plan.batch, plan.directions, plan.hidden}
                                      : Shape{plan.directions, plan.batch, plan.hidden};
  return {{element, y}, {element, state}, {element, state}};
}

std::vector<AttributeRule> recurrentAttributes() {
  return {{"activation_alpha", AttributeKind::reals}, {"activation_beta", AttributeKind::reals},
          {"activations", AttributeKind::texts},      {"clip", AttributeKind::real},
          {"direction", AttributeKind::text},         {"hidden_size", AttributeKind::integer},
          {"layout", AttributeKind::integer}};
}

Status checkLengths(const RecurrentPlan& plan, const std::int32_t* lengths) {
  for (std::int64_t b = 0; lengths && b < plan.batch; ++b) {
    if (lengths[b] >= 0 && lengths[b] <= plan.time) continue;
    return badInput(fmt::format("{}: sequence {} is said to be {} long; X has {} steps", plan.title, b,
                                lengths[b], plan.time));
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

Status recurrentGradient(GradientBuilder& builder, const RecurrentPlan& plan) {
  const OperatorCall& call = builder.call();
  for (const Activation& activation : plan.activations) {
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

Result<std::vector<TensorType>> recurrentGradientTypes(const OperatorCall& call, const RecurrentPlan& plan) {
  const std::vector<TensorType> forward = recurrentTypes(call, plan);
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
std::int64_t candidateOf(const RecurrentPlan& plan) {
  return plan.gates == 3 ? plan.hidden : 0;
}

/// The products of one step: input and state before it by their weights, at once. The candidate of a GRU
/// waits for the reset gate. (C: popnn, Lstm.cpp and Gru.cpp without preCalcWeights.)
std::vector<Work> stepProducts(const RecurrentPlan& plan, ElementType type, Contraction::Phase phase,
                               const std::string& label) {
  const std::int64_t in = plan.input + plan.hidden, steps = plan.time * plan.directions,
                     candidate = candidateOf(plan);
  std::vector<Work> work{{productOf(plan.batch, in, plan.width() - candidate, type, phase), steps, label}};
  if (candidate > 0)
    work.push_back({productOf(plan.batch, in, candidate, type, phase), steps, label + "Candidate"});
  return work;
}

}  // namespace

namespace {

/// Takes the part of each step out of a sequence, or puts it there, with `each` elements. (C: popnn, Lstm.cpp
/// and Gru.cpp slice and update the sequences dynamically in their loop over time.)
Work sliceOfSteps(const RecurrentPlan& plan, ElementType type, std::int64_t each, const std::string& label) {
  return {Gather{1, each, plan.time, type}, plan.time * plan.directions, label};
}
Work updateOfSteps(const RecurrentPlan& plan, ElementType type, std::int64_t each, const std::string& label) {
  return {Scatter{1, each, plan.time, false, type}, plan.time * plan.directions, label};
}

}  // namespace

std::vector<Work> recurrentWork(const OperatorCall& call, const RecurrentPlan& plan,
                                const std::vector<Work>& cell) {
  const ElementType type = call.input(0).element;
  const std::int64_t steps = plan.time * plan.directions;
  std::vector<Work> work{sliceOfSteps(plan, type, plan.batch * plan.input, "Input")};
  for (Work& product : stepProducts(plan, type, Contraction::Phase::forward, "Product"))
    work.push_back(std::move(product));
  if (call.has(3)) {
    const std::int64_t all = plan.batch * plan.width(), candidate = plan.batch * candidateOf(plan);
    work.push_back({Map{MapFunction::add, all - candidate, 2, type, true}, steps, "Bias"});
    if (candidate > 0)
      work.push_back({Map{MapFunction::add, candidate, 2, type, true}, steps, "CandidateBias"});
  }
  for (Work each : cell) {
    each.repeat = steps;
    work.push_back(std::move(each));
  }
  work.push_back(updateOfSteps(plan, type, plan.batch * plan.hidden, "Output"));
  return work;
}

/// The activated gates, and the state before and after each step, are kept from the forward pass (C: popnn's
/// intermediates). The kernel computes them again instead, which takes less memory.
std::vector<Work> recurrentGradientWork(const OperatorCall& call, const RecurrentPlan& plan,
                                        const std::vector<Work>& cell) {
  using Phase = Contraction::Phase;
  const ElementType type = call.input(0).element;
  const std::int64_t steps = plan.time * plan.directions, width = plan.width();
  std::vector<Work> work{sliceOfSteps(plan, type, plan.batch * plan.hidden, "OutputGradient"),
                         sliceOfSteps(plan, type, plan.batch * (width + 2 * plan.hidden), "Intermediates"),
                         sliceOfSteps(plan, type, plan.batch * plan.input, "Input")};
  for (Work each : cell) {
    each.repeat = steps;
    each.label += "Gradient";
    work.push_back(std::move(each));
  }
  for (Work& product : stepProducts(plan, type, Phase::inputGradient, "InputGradient"))
    work.push_back(std::move(product));
  work.push_back(updateOfSteps(plan, type, plan.batch * plan.input, "InputGradientOfStep"));
  // Each step adds to the gradients of the weights.
  for (Work& product : stepProducts(plan, type, Phase::weightGradient, "WeightGradient"))
    work.push_back(std::move(product));
  work.push_back(
      {Map{MapFunction::scaledAdd, (plan.input + plan.hidden) * width, 2, type, true}, steps, "Accumulate"});
  if (call.has(3)) {
    // The gradients of biases are summed over the batch once, at the end.
    work.push_back({Map{MapFunction::add, plan.batch * width, 2, type, true}, steps, "BiasOfStep"});
    work.push_back(
        {Reduce{ReduceFunction::sum, width, plan.batch, false, type}, plan.directions, "BiasGradient"});
  }
  return work;
}

}  // namespace pipescope::ops
