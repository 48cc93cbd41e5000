// Losses between predictions and targets of one shape that ONNX has no operators for: MeanSquaredErrorLoss (x
// − t)²; BinaryCrossEntropyLoss of probabilities −(t·ln x + (1 − t)·ln(1 − x)), with logarithms of at least
// −100; BinaryCrossEntropyWithLogitsLoss of scores before their sigmoid. The attribute `reduction` is none,
// sum or mean (the default). GradPairLoss: [dloss], x, t → dx (or dt if `by` is "target"); without dloss it
// is 1.
#include <fmt/format.h>

#include <cmath>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/lane_math.h"
#include "engine/ops/losses/class_loss.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr double kLeastLog = -100;

template <class T>
T leastLog(T log) {
  return log < static_cast<T>(kLeastLog) ? static_cast<T>(kLeastLog) : log;
}

struct Squared {
  static constexpr const char* kType = "MeanSquaredErrorLoss";
  static constexpr bool kTarget = true;  ///< the target may be trained
  template <class T>
  static T value(T x, T t) {
    return (x - t) * (x - t);
  }
  template <class T>
  static T slope(T x, T t) {
    return T(2) * (x - t);
  }
  static std::vector<Work> work(std::int64_t n, ElementType type) {
    return {{Map{MapFunction::subtract, n, 2, type, false}, 1, "Difference"},
            {Map{MapFunction::square, n, 1, type, true}, 1, "Square"}};
  }
};
struct Probabilities {
  static constexpr const char* kType = "BinaryCrossEntropyLoss";
  static constexpr bool kTarget = false;
  template <class T>
  static T value(T x, T t) {
    return -(t * leastLog(lanes::log(x)) + (T(1) - t) * leastLog(lanes::log(T(1) - x)));
  }
  template <class T>
  static T slope(T x, T t) {
    const T spread = x * (T(1) - x);
    return (x - t) / (spread < T(1e-12) ? T(1e-12) : spread);
  }
  static std::vector<Work> work(std::int64_t n, ElementType type) {
    return {{Map{MapFunction::log, n, 1, type, false}, 2, "Log"},
            {Map{MapFunction::multiply, n, 2, type, true}, 2, "Weigh"},
            {Map{MapFunction::add, n, 2, type, true}, 1, "Add"}};
  }
};
struct Logits {
  static constexpr const char* kType = "BinaryCrossEntropyWithLogitsLoss";
  static constexpr bool kTarget = false;
  template <class T>
  static T value(T x, T t) {
    return (x > T(0) ? x : T(0)) - x * t + (x != x ? x : std::log1p(lanes::exp(-std::fabs(x))));
  }
  template <class T>
  static T slope(T x, T t) {
    return lanes::sigmoid(x) - t;
  }
  static std::vector<Work> work(std::int64_t n, ElementType type) {
    return {{Map{MapFunction::softplus, n, 1, type, false}, 1, "Softplus"},
            {Map{MapFunction::multiply, n, 2, type, false}, 1, "Target"},
            {Map{MapFunction::subtract, n, 2, type, true}, 1, "Subtract"}};
  }
};

template <class Op>
Result<std::vector<TensorType>> inferPairLoss(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  PIPESCOPE_ASSIGN(const Reduction reduction, reductionOf(call));
  if (call.input(0).elements() < 1)
    return badInput(fmt::format("{}: its predictions are {}; there is nothing to take a loss of",
                                call.title(), graph::toString(call.input(0))));
  return std::vector<TensorType>{
      {call.input(0).element, reduction == Reduction::none ? call.input(0).shape : Shape()}};
}

template <class Op>
Result<Kernel> lossKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Reduction reduction, reductionOf(call));
  const std::int64_t count = call.input(0).elements();
  const Broadcast setup({count}, {{count}, {count}});
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    const T *x = a.input<T>(0), *t = a.input<T>(1);
                    T* y = a.output<T>(0);
                    if (reduction == Reduction::none) {
                      mapTwo(setup, x, t, y, [](T p, T q) { return Op::value(p, q); });
                      return {};
                    }
                    const T sum = laneSum<T>(count, [=](std::int64_t i) { return Op::value(x[i], t[i]); });
                    *y = reduction == Reduction::mean ? sum / static_cast<T>(count) : sum;
                    return {};
                  },
                  0};
  });
}

template <class Op>
std::vector<Work> pairLossWork(const OperatorCall& call) {
  const ElementType type = call.input(0).element;
  const std::int64_t count = call.input(0).elements();
  std::vector<Work> work = Op::work(count, type);
  const Result<Reduction> reduction = reductionOf(call);
  if (*reduction != Reduction::none)
    work.push_back({Reduce{*reduction == Reduction::mean ? ReduceFunction::mean : ReduceFunction::sum, 1,
                           count, true, type},
                    1, "Reduce"});
  return work;
}

template <class Op>
Status lossGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  if (builder.wants(1) && !Op::kTarget)
    return badInput(fmt::format("{}: cannot train its targets; make them constants", builder.call().title()));
  const graph::TensorId up = builder.isLoss(0) ? graph::TensorId() : builder.outputGradient(0);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!builder.wants(i)) continue;
    graph::Attributes attributes = node.attributes;
    attributes["loss"] = std::string(Op::kType);
    attributes["by"] = std::string(i == 0 ? "prediction" : "target");
    PIPESCOPE_TRY(builder.addFor(i, "GradPairLoss", i == 0 ? "grad_input" : "grad_target",
                                 {up, node.inputs[0], node.inputs[1]}, std::move(attributes)));
  }
  return {};
}

// --- GradPairLoss ------------------------------------------------------------------------------------------

Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
  if (!call.has(1) || !call.has(2))
    return badInput(fmt::format("{}: it needs predictions and targets", call.title()));
  PIPESCOPE_TRY(requireSameTypes(call, 1, 2));
  PIPESCOPE_ASSIGN(const Reduction reduction, reductionOf(call));
  const TensorType loss{call.input(1).element, reduction == Reduction::none ? call.input(1).shape : Shape()};
  if (call.has(0) && call.input(0) != loss) {
    return badInput(fmt::format("{}: the gradient by the loss is {}; it must be {}", call.title(),
                                graph::toString(call.input(0)), graph::toString(loss)));
  }
  return std::vector<TensorType>{call.input(1)};
}

template <class Op>
Result<Kernel> gradientKernelOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Reduction reduction, reductionOf(call));
  const std::int64_t count = call.input(1).elements();
  const double sign = graph::stringAttribute(call.node, "by", "prediction") == "target" ? -1 : 1;
  const double share = reduction == Reduction::mean ? sign / static_cast<double>(count) : sign;
  return kernelForFloats(call, call.input(1).element, [&]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    const T *up = a.input<T>(0), *x = a.input<T>(1), *t = a.input<T>(2);
                    T* dx = a.output<T>(0);
                    if (up && reduction == Reduction::none) {
                      for (std::int64_t i = 0; i < count; ++i)
                        dx[i] = Op::slope(x[i], t[i]) * (static_cast<T>(share) * up[i]);
                      return {};
                    }
                    const T factor = static_cast<T>(share) * (up ? *up : T(1));
                    for (std::int64_t i = 0; i < count; ++i) dx[i] = Op::slope(x[i], t[i]) * factor;
                    return {};
                  },
                  0};
  });
}

Result<Kernel> pairLossGradientKernel(const OperatorCall& call) {
  const std::string loss = graph::stringAttribute(call.node, "loss", Squared::kType);
  if (loss == Probabilities::kType) return gradientKernelOf<Probabilities>(call);
  if (loss == Logits::kType) return gradientKernelOf<Logits>(call);
  return gradientKernelOf<Squared>(call);
}

std::vector<Work> pairLossGradientWork(const OperatorCall& call) {
  const ElementType type = call.input(1).element;
  const std::int64_t count = call.input(1).elements();
  const std::string loss = graph::stringAttribute(call.node, "loss", Squared::kType);
  std::vector<Work> work;
  if (loss == Logits::kType) work.push_back({Map{MapFunction::sigmoid, count, 1, type, false}, 1, "Sigmoid"});
  work.push_back({Map{MapFunction::subtract, count, 2, type, false}, 1, "Difference"});
  if (loss == Probabilities::kType)
    work.push_back({Map{MapFunction::divide, count, 2, type, true}, 1, "Divide"});
  work.push_back({Map{MapFunction::multiply, count, 1, type, true}, 1, "Scale"});
  return work;
}

template <class Op>
void addLoss(OperatorRegistry& registry) {
  registry.add({.type = Op::kType,
                .attributes = {{"reduction", AttributeKind::text}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferPairLoss<Op>,
                .kernel = lossKernel<Op>,
                .work = pairLossWork<Op>,
                .gradient = lossGradient<Op>});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(pair_losses) {
  addLoss<Squared>(registry);
  addLoss<Probabilities>(registry);
  addLoss<Logits>(registry);
  registry.add({.type = "GradPairLoss",
                .attributes = {{"by", AttributeKind::text},
                               {"loss", AttributeKind::text},
                               {"reduction", AttributeKind::text}},
                .minInputs = 0,
                .maxInputs = 3,
                .infer = inferGradient,
                .kernel = pairLossGradientKernel,
                .work = pairLossGradientWork});
}

}  // namespace pipescope::ops
