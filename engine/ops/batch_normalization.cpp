// BatchNormalization: x, scale, bias, mean, variance → y, and in training (training_mode = 1, statistics of
// the batch) the running mean and variance: running·momentum + batch·(1 − momentum). The variance is the
// population's, as ONNX says; with the own attribute `unbiased` = 1 the running one is the sample's, as
// PyTorch's. GradBatchNormalization: x, scale, dy, [mean, variance] → dx, dscale, dbias.
#include <fmt/format.h>

#include <cmath>

#include "engine/ops/broadcast.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/rows.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct NormPlan {
  Rows rows;  ///< batch, channels, positions
  double epsilon = 1e-5, momentum = 0.9;
  bool training = false, unbiased = false;

  std::int64_t perChannel() const { return rows.outer * rows.inner; }
};

bool isHalfType(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Inputs `first` … hold one number for each channel, of x's type, or float32 beside a half-precision x.
Status checkVectors(const OperatorCall& call, std::int64_t channels,
                    std::initializer_list<std::size_t> inputs) {
  const ElementType own = call.input(0).element;
  for (const std::size_t i : inputs) {
    const TensorType& type = call.input(i);
    const bool fits = type.element == own || (isHalfType(own) && type.element == ElementType::float32);
    if (fits && type.shape == Shape{channels}) continue;
    return badInput(fmt::format("{}: input {} is {}; it must hold one {} for each of the {} channels",
                                call.title(), i, graph::toString(type), graph::toString(own), channels));
  }
  return {};
}

Result<NormPlan> planOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() < 2) {
    return badInput(fmt::format("{}: its input is {}; it needs a batch and channels", call.title(),
                                graph::toString(call.input(0))));
  }
  NormPlan plan;
  plan.rows = Rows::around(x, 1, 2);
  plan.epsilon = graph::floatAttribute(call.node, "epsilon", double(1e-5F));
  plan.momentum = graph::floatAttribute(call.node, "momentum", double(0.9F));
  plan.training = graph::intAttribute(call.node, "training_mode", 0) != 0;
  plan.unbiased = graph::intAttribute(call.node, "unbiased", 0) != 0;
  return plan;
}

/// Mean and variance of one channel, in two passes.
template <class T>
struct Statistics {
  T mean = 0, variance = 0;

  Statistics(const Rows& rows, const T* x) {
    const std::int64_t step = rows.depth * rows.inner;
    const T count = static_cast<T>(rows.outer * rows.inner);
    T sum = 0, squares = 0;
    for (std::int64_t n = 0; n < rows.outer; ++n)
      sum += laneSum<T>(rows.inner, [from = x + n * step](std::int64_t i) { return from[i]; });
    const T centre = sum / count;
    for (std::int64_t n = 0; n < rows.outer; ++n) {
      squares += laneSum<T>(rows.inner, [from = x + n * step, centre](std::int64_t i) {
        return (from[i] - centre) * (from[i] - centre);
      });
    }
    mean = centre;
    variance = squares / count;
  }
};

// --- BatchNormalization ------------------------------------------------------------------------

Result<std::vector<TensorType>> inferNorm(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const NormPlan plan, planOf(call));
  PIPESCOPE_TRY(checkVectors(call, plan.rows.depth, {1, 2, 3, 4}));
  if (!plan.training && call.requestedOutputs > 1) {
    return badInput(
        fmt::format("{}: it has {} outputs, but running statistics exist only with training_mode 1",
                    call.title(), call.requestedOutputs));
  }
  return std::vector<TensorType>{call.input(0), call.input(3), call.input(4)};
}

template <class T>
void normalise(const NormPlan& plan, const KernelArguments& a) {
  const Rows& rows = plan.rows;
  const std::int64_t step = rows.depth * rows.inner;
  for (std::int64_t c = 0; c < rows.depth; ++c) {
    const T* x = a.input<T>(0) + c * rows.inner;
    T* y = a.output<T>(0) + c * rows.inner;
    T mean = a.input<T>(3)[c], variance = a.input<T>(4)[c];
    if (plan.training) {
      const T oldMean = mean, oldVariance = variance, keep = static_cast<T>(plan.momentum);
      const Statistics<T> own(rows, x);
      mean = own.mean;
      variance = own.variance;
      const T count = static_cast<T>(plan.perChannel());
      const T sample =
          plan.unbiased && plan.perChannel() > 1 ? variance * (count / (count - T(1))) : variance;
      if (T* running = a.output<T>(1)) running[c] = oldMean * keep + mean * (T(1) - keep);
      if (T* running = a.output<T>(2)) running[c] = oldVariance * keep + sample * (T(1) - keep);
    }
    const T factor = a.input<T>(1)[c] / std::sqrt(variance + static_cast<T>(plan.epsilon));
    const T bias = a.input<T>(2)[c];
    for (std::int64_t n = 0; n < rows.outer; ++n) {
      mapOne(x + n * step, y + n * step, rows.inner, [=](T value) { return (value - mean) * factor + bias; });
    }
  }
}

Result<Kernel> normKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const NormPlan plan, planOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) -> Status {
                    normalise<T>(plan, a);
                    return {};
                  },
                  0};
  });
}

std::vector<Work> normWork(const OperatorCall& call) {
  const NormPlan plan = *planOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), channels = plan.rows.depth;
  std::vector<Work> work;
  if (plan.training) {
    work.push_back({Reduce{"mean", channels, plan.perChannel(), false, type}, 1, "Mean"});
    work.push_back({Reduce{"square_sum", channels, plan.perChannel(), false, type}, 1, "Variance"});
    work.push_back({Map{"scaled_add", channels, 2, type, false}, 2, "Running"});
  }
  work.push_back({Map{"rsqrt", channels, 1, type, false}, 1, "InverseDeviation"});
  work.push_back({Map{"multiply", channels, 2, type, true}, 1, "Factor"});
  work.push_back({Map{"subtract", all, 2, type, true}, 1, "Centre"});
  work.push_back({Map{"multiply", all, 2, type, true}, 1, "Scale"});
  work.push_back({Map{"add", all, 2, type, true}, 1, "Bias"});
  return work;
}

Status normGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const OperatorCall& call = builder.call();
  PIPESCOPE_ASSIGN(const NormPlan plan, planOf(call));
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid() && builder.outputGradient(i).valid())
      return badInput(fmt::format("{}: cannot train through its running statistics", call.title()));
  }
  std::vector<graph::TensorId> inputs{node.inputs[0], node.inputs[1], builder.outputGradient(0)};
  if (!plan.training) {
    if (builder.wants(3) || builder.wants(4)) {
      return badInput(
          fmt::format("{}: cannot train its mean and variance; make them constants, or set "
                      "training_mode to 1",
                      call.title()));
    }
    inputs.insert(inputs.end(), {node.inputs[3], node.inputs[4]});
  }
  graph::Attributes attributes;
  if (node.attributes.contains("epsilon")) attributes["epsilon"] = node.attributes.at("epsilon");
  PIPESCOPE_ASSIGN(const std::vector<graph::TensorId> gradients,
                   builder.addMany("GradBatchNormalization", "grad_input", inputs, attributes, 3));
  for (std::size_t i = 0; i < 3; ++i) {
    if (builder.wants(i)) builder.setInputGradient(i, gradients[i]);
  }
  return {};
}

// --- GradBatchNormalization ----------------------------------------------------------------------

Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const NormPlan plan, planOf(call));
  PIPESCOPE_TRY(requireSameTypes(call, 0, 2));
  PIPESCOPE_TRY(checkVectors(call, plan.rows.depth, {1}));
  if (call.has(3) != call.has(4))
    return badInput(fmt::format("{}: give both mean and variance, or neither", call.title()));
  if (call.has(3)) PIPESCOPE_TRY(checkVectors(call, plan.rows.depth, {3, 4}));
  return std::vector<TensorType>{call.input(0), call.input(1), call.input(1)};
}

/// With the batch's own statistics dx = f·(dy − Σ dy ÷ n − x̂·Σ dy·x̂ ÷ n), with given ones dx = f·dy;
/// f = scale ÷ deviation, x̂ = (x − mean) ÷ deviation.
template <class T>
void gradient(const NormPlan& plan, const KernelArguments& a) {
  const Rows& rows = plan.rows;
  const std::int64_t step = rows.depth * rows.inner;
  const bool given = a.input<T>(3) != nullptr;
  for (std::int64_t c = 0; c < rows.depth; ++c) {
    const T *x = a.input<T>(0) + c * rows.inner, *dy = a.input<T>(2) + c * rows.inner;
    T* dx = a.output<T>(0) + c * rows.inner;
    T mean = 0, variance = 0;
    if (given) {
      mean = a.input<T>(3)[c];
      variance = a.input<T>(4)[c];
    } else {
      const Statistics<T> own(rows, x);
      mean = own.mean;
      variance = own.variance;
    }
    const T inverse = T(1) / std::sqrt(variance + static_cast<T>(plan.epsilon));
    T sum = 0, product = 0;
    for (std::int64_t n = 0; n < rows.outer; ++n) {
      const T *from = x + n * step, *up = dy + n * step;
      const auto sums =
          laneSums<T>(rows.inner, [=](std::int64_t i) { return std::pair(up[i], up[i] * (from[i] - mean)); });
      sum += sums.first;
      product += sums.second;
    }
    product *= inverse;
    const T factor = a.input<T>(1)[c] * inverse;
    a.output<T>(1)[c] = product;
    a.output<T>(2)[c] = sum;
    const T count = static_cast<T>(plan.perChannel());
    const T shift = given ? T(0) : sum / count, tilt = given ? T(0) : product / count * inverse;
    for (std::int64_t n = 0; n < rows.outer; ++n) {
      const T *from = x + n * step, *up = dy + n * step;
      T* to = dx + n * step;
      PIPESCOPE_ELEMENTWISE
      for (std::int64_t i = 0; i < rows.inner; ++i)
        to[i] = factor * (up[i] - shift - (from[i] - mean) * tilt);
    }
  }
}

Result<Kernel> gradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const NormPlan plan, planOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) -> Status {
                    gradient<T>(plan, a);
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradientWork(const OperatorCall& call) {
  const NormPlan plan = *planOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), channels = plan.rows.depth;
  std::vector<Work> work{{Map{"multiply", all, 2, type, false}, 1, "Whitened"},
                         {Reduce{"sum", channels, plan.perChannel(), false, type}, 1, "GradBias"},
                         {Reduce{"sum", channels, plan.perChannel(), false, type}, 1, "GradScale"},
                         {Map{"multiply", all, 2, type, true}, 1, "Scale"}};
  if (!call.has(3)) work.push_back({Map{"scaled_add", all, 2, type, true}, 2, "Centre"});
  return work;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(batch_normalization) {
  registry.add({.type = "BatchNormalization",
                .attributes = {{"epsilon", AttributeKind::real},
                               {"momentum", AttributeKind::real},
                               {"training_mode", AttributeKind::integer},
                               {"unbiased", AttributeKind::integer}},
                .minInputs = 5,
                .maxInputs = 5,
                .maxOutputs = 3,
                .infer = inferNorm,
                .kernel = normKernel,
                .work = normWork,
                .gradient = normGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradBatchNormalization",
                .attributes = {{"epsilon", AttributeKind::real}},
                .minInputs = 3,
                .maxInputs = 5,
                .maxOutputs = 3,
                .infer = inferGradient,
                .kernel = gradientKernel,
                .work = gradientWork,
                .inPlaceInput = 2});
}

}  // namespace pipescope::ops
