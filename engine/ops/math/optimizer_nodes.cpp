// Adagrad, Adam and Momentum of ONNX's preview training domain, for models that hold their optimizer. Inputs
// are the learning rate, the count of updates, n tensors X, n gradients G and the states; outputs are the new
// X and states. (The optimizers of a configuration are in engine/optimizers.)
#include <fmt/format.h>

#include <cmath>

#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr std::size_t kMostOptimizerInputs = 1 << 20;

/// The numbers of one update that all tensors share.
struct Step {
  double rate = 0;
  std::int64_t count = 0;
  double alpha = 0, beta = 0, epsilon = 0, decay = 0, norm = 0, normPost = 0;
  bool nesterov = false;
};

struct Momentum {
  static constexpr const char* kType = "Momentum";
  static constexpr std::size_t kStates = 1;
  static std::vector<AttributeRule> attributes() {
    return {{"alpha", AttributeKind::real},
            {"beta", AttributeKind::real},
            {"mode", AttributeKind::text},
            {"norm_coefficient", AttributeKind::real}};
  }
  static std::vector<Work> work(std::int64_t n, ElementType type) {
    return {{Map{MapFunction::scaledAdd, n, 2, type, true}, 2, "Velocity"},
            {Map{MapFunction::scaledAdd, n, 2, type, true}, 1, "Step"}};
  }
  template <class T>
  static T update(const Step& s, T x, T g, const T* old, T* state) {
    const T slope = static_cast<T>(s.norm) * x + g;
    const T beta = s.count > 0 ? static_cast<T>(s.beta) : T(1);
    state[0] = static_cast<T>(s.alpha) * old[0] + beta * slope;
    return x - static_cast<T>(s.rate) * (s.nesterov ? slope + static_cast<T>(s.alpha) * state[0] : state[0]);
  }
};

struct Adagrad {
  static constexpr const char* kType = "Adagrad";
  static constexpr std::size_t kStates = 1;
  static std::vector<AttributeRule> attributes() {
    return {{"decay_factor", AttributeKind::real},
            {"epsilon", AttributeKind::real},
            {"norm_coefficient", AttributeKind::real}};
  }
  static std::vector<Work> work(std::int64_t n, ElementType type) {
    return {{Map{MapFunction::squareScaledAdd, n, 2, type, true}, 1, "Squares"},
            {Map{MapFunction::sqrt, n, 1, type, false}, 1, "Sqrt"},
            {Map{MapFunction::divide, n, 2, type, true}, 1, "Divide"},
            {Map{MapFunction::scaledAdd, n, 2, type, true}, 1, "Step"}};
  }
  template <class T>
  static T update(const Step& s, T x, T g, const T* old, T* state) {
    const T slope = static_cast<T>(s.norm) * x + g;
    state[0] = old[0] + slope * slope;
    const T rate = static_cast<T>(s.rate / (1 + static_cast<double>(s.count) * s.decay));
    return x - rate * slope / (std::sqrt(state[0]) + static_cast<T>(s.epsilon));
  }
};

struct Adam {
  static constexpr const char* kType = "Adam";
  static constexpr std::size_t kStates = 2;
  static std::vector<AttributeRule> attributes() {
    return {{"alpha", AttributeKind::real},
            {"beta", AttributeKind::real},
            {"epsilon", AttributeKind::real},
            {"norm_coefficient", AttributeKind::real},
            {"norm_coefficient_post", AttributeKind::real}};
  }
  static std::vector<Work> work(std::int64_t n, ElementType type) {
    return {{Map{MapFunction::adam, n, 4, type, true}, 1, ""}};
  }
  template <class T>
  static T update(const Step& s, T x, T g, const T* old, T* state) {
    const T slope = static_cast<T>(s.norm) * x + g;
    const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);
    state[0] = alpha * old[0] + (T(1) - alpha) * slope;
    state[1] = beta * old[1] + (T(1) - beta) * slope * slope;
    const double count = static_cast<double>(s.count);
    const double corrected =
        s.count > 0 ? s.rate * std::sqrt(1 - std::pow(s.beta, count)) / (1 - std::pow(s.alpha, count))
                    : s.rate;
    const T stepped =
        x - static_cast<T>(corrected) * state[0] / (std::sqrt(state[1]) + static_cast<T>(s.epsilon));
    return (T(1) - static_cast<T>(s.normPost)) * stepped;
  }
};

/// The number of tensors X. Inputs are rate, count, X…, G…, states….
template <class Op>
std::size_t tensorsOf(const OperatorCall& call) {
  return (call.inputs.size() - 2) / (Op::kStates + 2);
}

template <class Op>
Result<std::vector<TensorType>> inferUpdate(const OperatorCall& call) {
  const std::size_t each = Op::kStates + 2, tensors = tensorsOf<Op>(call);
  if ((call.inputs.size() - 2) % each != 0) {
    return badInput(fmt::format("{}: it has {} inputs; beside rate and count it takes {} for each tensor",
                                call.title(), call.inputs.size(), each));
  }
  const TensorType &rate = call.input(0), &count = call.input(1);
  const bool real = rate.element == ElementType::float32 || rate.element == ElementType::float64;
  if (!real || rate.elements() != 1 || count.element != ElementType::int64 || count.elements() != 1) {
    return badInput(
        fmt::format("{}: rate and count are {} and {}; they must be one float32 or float64 and one int64",
                    call.title(), graph::toString(rate), graph::toString(count)));
  }
  std::vector<TensorType> types;
  for (std::size_t kind = 0; kind < each; ++kind) {
    for (std::size_t i = 0; i < tensors; ++i) {
      const std::size_t at = 2 + kind * tensors + i;
      if (!call.has(at))
        return badInput(fmt::format("{}: input {} is left out, but is needed", call.title(), at));
      PIPESCOPE_TRY(requireSameTypes(call, 2 + i, at));
      PIPESCOPE_TRY(requireSameElementTypes(call, {2, at}));
      if (kind != 1) types.push_back(call.input(at));
    }
  }
  if (call.requestedOutputs > types.size()) {
    return badInput(
        fmt::format("{}: it has {} outputs; it makes {}", call.title(), call.requestedOutputs, types.size()));
  }
  if (Op::kType == Momentum::kType) {
    const std::string mode = graph::stringAttribute(call.node, "mode", "standard");
    if (mode != "standard" && mode != "nesterov")
      return badInput(fmt::format("{}: mode is {}; it must be standard or nesterov", call.title(), mode));
  }
  return types;
}

Step stepOf(const Node& node) {
  Step step;
  step.alpha = graph::floatAttribute(node, "alpha", double(0.9F));
  step.beta = graph::floatAttribute(node, "beta", double(0.999F));
  step.epsilon = graph::floatAttribute(node, "epsilon", double(1e-6F));
  step.decay = graph::floatAttribute(node, "decay_factor", 0);
  step.norm = graph::floatAttribute(node, "norm_coefficient", 0);
  step.normPost = graph::floatAttribute(node, "norm_coefficient_post", 0);
  step.nesterov = graph::stringAttribute(node, "mode", "standard") == "nesterov";
  return step;
}

template <class Op, class T>
void updateTensor(const Step& step, const KernelArguments& a, std::size_t i, std::size_t tensors,
                  std::int64_t count) {
  const T *x = a.input<T>(2 + i), *g = a.input<T>(2 + tensors + i);
  for (std::int64_t at = 0; at < count; ++at) {
    T old[Op::kStates], fresh[Op::kStates];
    for (std::size_t s = 0; s < Op::kStates; ++s) old[s] = a.input<T>(2 + (2 + s) * tensors + i)[at];
    const T next = Op::template update<T>(step, x[at], g[at], old, fresh);
    if (T* to = a.output<T>(i)) to[at] = next;
    for (std::size_t s = 0; s < Op::kStates; ++s) {
      if (T* to = a.output<T>((1 + s) * tensors + i)) to[at] = fresh[s];
    }
  }
}

template <class Op>
Result<Kernel> updateKernel(const OperatorCall& call) {
  const std::size_t tensors = tensorsOf<Op>(call);
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < tensors; ++i) counts.push_back(call.input(2 + i).elements());
  const bool wide = call.input(0).element == ElementType::float64;
  return kernelForFloats(call, call.input(2).element, [&]<class T>(T) {
    return Kernel{[counts, wide, tensors, fixed = stepOf(call.node)](const KernelArguments& a) -> Status {
                    Step step = fixed;
                    step.rate = wide ? *a.input<double>(0) : static_cast<double>(*a.input<float>(0));
                    step.count = *a.input<std::int64_t>(1);
                    for (std::size_t i = 0; i < tensors; ++i)
                      updateTensor<Op, T>(step, a, i, tensors, counts[i]);
                    return {};
                  },
                  0};
  });
}

template <class Op>
std::vector<Work> updateWork(const OperatorCall& call) {
  std::vector<Work> work;
  for (std::size_t i = 0; i < tensorsOf<Op>(call); ++i) {
    for (Work& each : Op::work(call.input(2 + i).elements(), call.input(2 + i).element))
      work.push_back(std::move(each));
  }
  return work;
}

template <class Op>
void addOptimizer(OperatorRegistry& registry) {
  registry.add({.type = Op::kType,
                .attributes = Op::attributes(),
                .minInputs = Op::kStates + 4,
                .maxInputs = kMostOptimizerInputs,
                .maxOutputs = kMostOptimizerInputs,
                .infer = inferUpdate<Op>,
                .kernel = updateKernel<Op>,
                .work = updateWork<Op>});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(optimizer_nodes) {
  addOptimizer<Adagrad>(registry);
  addOptimizer<Adam>(registry);
  addOptimizer<Momentum>(registry);
}

}  // namespace pipescope::ops
