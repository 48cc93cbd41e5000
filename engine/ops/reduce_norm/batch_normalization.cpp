// BatchNormalization: x, scale, bias, mean, variance → y, and in training (training_mode = 1, with statistics
// of the batch) the running mean and variance: running·momentum + batch·(1 − momentum). ONNX uses the
// variance of the population; with our attribute `unbiased` = 1 the running variance is that of the sample,
// as in PyTorch. GradBatchNormalization: x, scale, dy, [mean, variance] → dx, dscale, dbias.
#include <fmt/format.h>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/ranges.h"
#include "engine/ops/reduce_norm/normalization.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct BatchNormSetup {
  Rows rows;  ///< batch, channels, positions
  double epsilon = 1e-5, momentum = 0.9;
  bool training = false, unbiased = false;

  std::int64_t perChannel() const { return rows.outer * rows.inner; }
  /// Pieces shorter than this do not fill the lanes of a sum.
  bool isShort() const { return rows.inner < 32; }
  std::int64_t columns() const { return rows.depth * rows.inner; }
  Pieces pieces() const { return {rows.outer, columns(), rows.inner}; }
  ShortPieces shortPieces(std::int64_t first, std::int64_t end) const {
    return {rows.outer, columns(), end - first, rows.inner};
  }
};

bool isHalfType(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Inputs from `first` on hold one number for each channel, of x's type, or float32 beside a half-precision
/// x.
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

Result<BatchNormSetup> batchNormSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() < 2) {
    return badInput(fmt::format("{}: its input is {}; it needs a batch and channels", call.title(),
                                graph::toString(call.input(0))));
  }
  BatchNormSetup setup;
  setup.rows = Rows::around(x, 1, 2);
  setup.epsilon = graph::floatAttribute(call.node, "epsilon", double(1e-5F));
  setup.momentum = graph::floatAttribute(call.node, "momentum", double(0.9F));
  setup.training = graph::intAttribute(call.node, "training_mode", 0) != 0;
  setup.unbiased = graph::intAttribute(call.node, "unbiased", 0) != 0;
  return setup;
}

// --- BatchNormalization ------------------------------------------------------------------------

Result<std::vector<TensorType>> inferBatchNorm(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const BatchNormSetup setup, batchNormSetupOf(call));
  PIPESCOPE_TRY(checkVectors(call, setup.rows.depth, {1, 2, 3, 4}));
  if (!setup.training && call.requestedOutputs > 1) {
    return badInput(
        fmt::format("{}: it has {} outputs, but running statistics exist only with training_mode 1",
                    call.title(), call.requestedOutputs));
  }
  return std::vector<TensorType>{call.input(0), call.input(3), call.input(4)};
}

/// The moments of channel c, towards which the running statistics move.
template <class T>
void moveRunning(const BatchNormSetup& setup, const KernelArguments& a, std::int64_t c,
                 const Moments<T>& own) {
  const T keep = static_cast<T>(setup.momentum), count = static_cast<T>(setup.perChannel());
  const T oldMean = a.input<T>(3)[c], oldVariance = a.input<T>(4)[c];
  const T sample =
      setup.unbiased && setup.perChannel() > 1 ? own.variance * (count / (count - T(1))) : own.variance;
  if (T* running = a.output<T>(1)) running[c] = oldMean * keep + own.mean * (T(1) - keep);
  if (T* running = a.output<T>(2)) running[c] = oldVariance * keep + sample * (T(1) - keep);
}

template <bool kRelu, class T>
T finished(T y) {
  return kRelu && y < T(0) ? T(0) : y;
}

template <bool kRelu, class T>
void normaliseChannel(const BatchNormSetup& setup, const KernelArguments& a, std::int64_t c) {
  const Pieces pieces = setup.pieces();
  const T* x = a.input<T>(0) + c * setup.rows.inner;
  T* y = a.output<T>(0) + c * setup.rows.inner;
  Moments<T> own{a.input<T>(3)[c], a.input<T>(4)[c]};
  if (setup.training) {
    own = momentsOf(pieces, x);
    moveRunning(setup, a, c, own);
  }
  const T mean = own.mean, factor = a.input<T>(1)[c] * own.inverse(setup.epsilon), bias = a.input<T>(2)[c];
  for (std::int64_t p = 0; p < pieces.count; ++p) {
    mapOne(x + p * pieces.step, y + p * pieces.step, pieces.length,
           [=](T value) { return finished<kRelu>((value - mean) * factor + bias); });
  }
}

/// Normalizes channels [first, end) of short pieces.
template <bool kRelu, class T>
void normaliseColumns(const BatchNormSetup& setup, const KernelArguments& a, std::int64_t first,
                      std::int64_t end) {
  const ShortPieces s = setup.shortPieces(first, end);
  const std::int64_t start = first * s.inner;
  T *mean = a.scratchAs<T>() + start, *factor = mean + setup.columns(), *bias = factor + setup.columns();
  const T* x = a.input<T>(0) + start;
  T* y = a.output<T>(0) + start;
  if (setup.training) columnMoments(s, x, mean, factor);
  for (std::int64_t c = first; c < end; ++c) {
    const std::int64_t at = (c - first) * s.inner;
    Moments<T> own{a.input<T>(3)[c], a.input<T>(4)[c]};
    if (setup.training) {
      own = {mean[at], factor[at]};
      moveRunning(setup, a, c, own);
    }
    std::fill_n(mean + at, s.inner, own.mean);
    std::fill_n(factor + at, s.inner, a.input<T>(1)[c] * own.inverse(setup.epsilon));
    std::fill_n(bias + at, s.inner, a.input<T>(2)[c]);
  }
  const std::int64_t width = s.width();
  for (std::int64_t row = 0; row < s.rows; ++row, x += s.step, y += s.step) {
    PIPESCOPE_ELEMENTWISE
    for (std::int64_t j = 0; j < width; ++j) y[j] = finished<kRelu>((x[j] - mean[j]) * factor[j] + bias[j]);
  }
}

template <bool kRelu>
Result<Kernel> batchNormKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const BatchNormSetup setup, batchNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    forItems(a, setup.rows.depth, setup.perChannel(),
                             [&](std::int64_t first, std::int64_t end) {
                               if (setup.isShort()) return normaliseColumns<kRelu, T>(setup, a, first, end);
                               for (std::int64_t c = first; c < end; ++c)
                                 normaliseChannel<kRelu, T>(setup, a, c);
                             });
                    return {};
                  },
                  setup.isShort() ? 3 * setup.columns() * static_cast<std::int64_t>(sizeof(T)) : 0};
  });
}

std::vector<Work> batchNormWork(const OperatorCall& call) {
  const BatchNormSetup setup = *batchNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), channels = setup.rows.depth;
  std::vector<Work> work;
  if (setup.training) {
    work.push_back({Reduce{ReduceFunction::mean, channels, setup.perChannel(), false, type}, 1, "Mean"});
    work.push_back(
        {Reduce{ReduceFunction::squareSum, channels, setup.perChannel(), false, type}, 1, "Variance"});
    work.push_back({Map{MapFunction::scaledAdd, channels, 2, type, false}, 2, "Running"});
  }
  work.push_back({Map{MapFunction::rsqrt, channels, 1, type, false}, 1, "InverseDeviation"});
  // The mean is part of what is added (C: popart's batchnormx.cpp, popnn::bn::batchNormalise).
  work.push_back({Map{MapFunction::multiply, channels, 2, type, true}, 1, "Factor"});
  work.push_back({Map{MapFunction::scaledAdd, channels, 2, type, false}, 1, "Addend"});
  work.push_back({Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"});
  work.push_back({Map{MapFunction::add, all, 2, type, true}, 1, "Bias"});
  return work;
}

Status batchNormGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const OperatorCall& call = builder.call();
  PIPESCOPE_ASSIGN(const BatchNormSetup setup, batchNormSetupOf(call));
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid() && builder.outputGradient(i).valid())
      return badInput(fmt::format("{}: cannot train through its running statistics", call.title()));
  }
  std::vector<graph::TensorId> inputs{node.inputs[0], node.inputs[1], builder.outputGradient(0)};
  if (!setup.training) {
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

Result<std::vector<TensorType>> inferBatchNormGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const BatchNormSetup setup, batchNormSetupOf(call));
  PIPESCOPE_TRY(requireSameTypes(call, 0, 2));
  PIPESCOPE_TRY(checkVectors(call, setup.rows.depth, {1}));
  if (call.has(3) != call.has(4))
    return badInput(fmt::format("{}: give both mean and variance, or neither", call.title()));
  if (call.has(3)) PIPESCOPE_TRY(checkVectors(call, setup.rows.depth, {3, 4}));
  return std::vector<TensorType>{call.input(0), call.input(1), call.input(1)};
}

/// Factors of dx = f·(dy − Σ dy ÷ n − x̂·Σ dy·x̂ ÷ n) for the batch's own statistics, and of dx = f·dy for
/// given ones, where f = scale ÷ deviation and x̂ = (x − mean) ÷ deviation.
template <class T>
GradientLine<T> gradientLine(const BatchNormSetup& setup, const KernelArguments& a, std::int64_t c,
                             const Moments<T>& own, const GradientSums<T>& sums) {
  a.output<T>(1)[c] = sums.scale;
  a.output<T>(2)[c] = sums.bias;
  GradientLine<T> line(own.mean, own.inverse(setup.epsilon), a.input<T>(1)[c], sums, setup.perChannel());
  if (a.input<T>(3)) line.shift = line.tilt = T(0);
  return line;
}

template <class T>
void gradientOfChannel(const BatchNormSetup& setup, const KernelArguments& a, std::int64_t c) {
  const Pieces pieces = setup.pieces();
  const std::int64_t start = c * setup.rows.inner;
  const T *x = a.input<T>(0) + start, *dy = a.input<T>(2) + start;
  const Moments<T> own =
      a.input<T>(3) ? Moments<T>{a.input<T>(3)[c], a.input<T>(4)[c]} : momentsOf(pieces, x);
  const GradientSums<T> sums = gradientSums(pieces, x, dy, own.mean, own.inverse(setup.epsilon));
  applyGradient(pieces, gradientLine(setup, a, c, own, sums), x, dy, a.output<T>(0) + start);
}

template <class T>
void gradientOfColumns(const BatchNormSetup& setup, const KernelArguments& a, std::int64_t first,
                       std::int64_t end) {
  const ShortPieces s = setup.shortPieces(first, end);
  const std::int64_t start = first * s.inner;
  T *mean = a.scratchAs<T>() + start, *factor = mean + setup.columns(), *shift = factor + setup.columns(),
    *tilt = shift + setup.columns();
  const T *x = a.input<T>(0) + start, *dy = a.input<T>(2) + start;
  T* dx = a.output<T>(0) + start;
  if (a.input<T>(3)) {
    for (std::int64_t j = 0; j < s.width(); ++j) {
      mean[j] = a.input<T>(3)[first + j / s.inner];
      factor[j] = a.input<T>(4)[first + j / s.inner];
    }
  } else {
    columnMoments(s, x, mean, factor);
  }
  addRows(s, shift, [dy](std::int64_t at, std::int64_t j) { return dy[at + j]; });
  addRows(s, tilt, [=](std::int64_t at, std::int64_t j) { return dy[at + j] * (x[at + j] - mean[j]); });
  const auto same = [](std::int64_t, T sum) { return sum; };
  foldColumns(s, shift, same);
  foldColumns(s, tilt, same);
  for (std::int64_t c = first; c < end; ++c) {
    const std::int64_t at = (c - first) * s.inner;
    const Moments<T> own{mean[at], factor[at]};
    const GradientLine<T> line =
        gradientLine(setup, a, c, own, GradientSums<T>{shift[at], tilt[at] * own.inverse(setup.epsilon)});
    std::fill_n(factor + at, s.inner, line.factor);
    std::fill_n(shift + at, s.inner, line.shift);
    std::fill_n(tilt + at, s.inner, line.tilt);
  }
  const std::int64_t width = s.width();
  for (std::int64_t row = 0; row < s.rows; ++row, x += s.step, dy += s.step, dx += s.step) {
    PIPESCOPE_ELEMENTWISE
    for (std::int64_t j = 0; j < width; ++j)
      dx[j] = factor[j] * (dy[j] - shift[j] - (x[j] - mean[j]) * tilt[j]);
  }
}

Result<Kernel> batchNormGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const BatchNormSetup setup, batchNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    forItems(a, setup.rows.depth, setup.perChannel(),
                             [&](std::int64_t first, std::int64_t end) {
                               if (setup.isShort()) return gradientOfColumns<T>(setup, a, first, end);
                               for (std::int64_t c = first; c < end; ++c) gradientOfChannel<T>(setup, a, c);
                             });
                    return {};
                  },
                  setup.isShort() ? 4 * setup.columns() * static_cast<std::int64_t>(sizeof(T)) : 0};
  });
}

/// x̂ is computed again, and the sums are taken once for the gradients by scale and bias and once for dx (C:
/// popart's batchnormx.cpp; PopLibs, popnn/BatchNorm.cpp and poplin/Norms.cpp). Given statistics have no
/// gradient, so dx is dy times a factor.
std::vector<Work> batchNormGradientWork(const OperatorCall& call) {
  const BatchNormSetup setup = *batchNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), channels = setup.rows.depth;
  const Work product{Map{MapFunction::multiply, all, 2, type, false}, 1, "Product"},
      sums{Reduce{ReduceFunction::sum, 2 * channels, setup.perChannel(), false, type}, 1, "Sums"};
  std::vector<Work> work{{Map{MapFunction::subtract, all, 2, type, false}, 1, "Centre"},
                         {Map{MapFunction::multiply, all, 2, type, true}, 1, "Whiten"},
                         {Map{MapFunction::multiply, all, 2, type, false}, 1, "Scale"}};
  if (call.has(3)) {
    work.insert(work.end(), {product, sums});
  } else {
    work.insert(work.end(), {product, product, sums, sums});
    work.push_back({Map{MapFunction::copy, all, 1, type, false}, 1, "Copy"});
    work.push_back({Map{MapFunction::multiply, all, 2, type, false}, 1, "VarianceGradient"});
    work.push_back({Map{MapFunction::add, all, 2, type, true}, 1, "MeanGradient"});
    work.push_back({Map{MapFunction::scaledAdd, all, 2, type, true}, 1, "AddGradients"});
  }
  work.push_back({Map{MapFunction::multiply, all, 2, type, true}, 1, "InverseDeviation"});
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
                .infer = inferBatchNorm,
                .kernel = batchNormKernel<false>,
                .work = batchNormWork,
                .gradient = batchNormGradient,
                .inPlaceInput = 0,
                .kernelWithRelu = batchNormKernel<true>});
  registry.add({.type = "GradBatchNormalization",
                .attributes = {{"epsilon", AttributeKind::real}},
                .minInputs = 3,
                .maxInputs = 5,
                .maxOutputs = 3,
                .infer = inferBatchNormGradient,
                .kernel = batchNormGradientKernel,
                .work = batchNormGradientWork,
                .inPlaceInput = 2});
}

}  // namespace pipescope::ops
