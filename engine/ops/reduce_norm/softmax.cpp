// Softmax, LogSoftmax and Hardmax along one axis, and GradSoftmax and GradLogSoftmax (y, dy → dx).
#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/lane_math.h"
#include "engine/ops/core/ranges.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Result<Rows> rowsOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, -1, call.input(0).shape.size()));
  return Rows::around(call.input(0).shape, axis, axis + 1);
}

Result<std::vector<TensorType>> inferLike(const OperatorCall& call) {
  PIPESCOPE_TRY(rowsOf(call));
  return std::vector<TensorType>{call.input(0)};
}

// Rows whose elements are neighbours.

template <class T>
void softmaxRow(const T* x, T* y, std::int64_t count) {
  const T largest = largestOf(x, count);
  mapOne(x, y, count, [largest](T value) { return lanes::exp(value - largest); });
  const T sum = laneSum<T>(count, [y](std::int64_t i) { return y[i]; });
  const T factor = T(1) / sum;
  mapOne(y, y, count, [factor](T value) { return value * factor; });
}

template <class T>
void logSoftmaxRow(const T* x, T* y, std::int64_t count) {
  const T largest = largestOf(x, count);
  const T sum = laneSum<T>(count, [x, largest](std::int64_t i) { return lanes::exp(x[i] - largest); });
  const T logSum = lanes::log(sum);
  mapOne(x, y, count, [=](T value) { return value - largest - logSum; });
}

/// The first largest element; NaN counts as the largest, as in numpy.
template <class T>
void hardmaxRow(const T* x, T* y, std::int64_t depth, std::int64_t inner) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < depth && x[best * inner] == x[best * inner]; ++i) {
    if (!(x[i * inner] <= x[best * inner])) best = i;
  }
  for (std::int64_t i = 0; i < depth; ++i) y[i * inner] = i == best ? T(1) : T(0);
}

// Rows that lie side by side, `inner` apart: all of them at once, vector by vector.

template <class T>
void softmaxColumns(const T* x, T* y, const Rows& rows, T* largest, T* sum, bool logarithm) {
  const std::int64_t inner = rows.inner;
  std::copy_n(x, inner, largest);
  for (std::int64_t i = 1; i < rows.depth; ++i) {
    const T* row = x + i * inner;
    for (std::int64_t c = 0; c < inner; ++c) largest[c] = row[c] > largest[c] ? row[c] : largest[c];
  }
  std::fill_n(sum, inner, T(0));
  for (std::int64_t i = 0; i < rows.depth; ++i) {
    const T* row = x + i * inner;
    for (std::int64_t c = 0; c < inner; ++c) sum[c] += lanes::exp(row[c] - largest[c]);
  }
  for (std::int64_t i = 0; i < rows.depth; ++i) {
    const T* row = x + i * inner;
    T* to = y + i * inner;
    if (logarithm) {
      PIPESCOPE_ELEMENTWISE
      for (std::int64_t c = 0; c < inner; ++c) to[c] = row[c] - largest[c] - lanes::log(sum[c]);
    } else {
      PIPESCOPE_ELEMENTWISE
      for (std::int64_t c = 0; c < inner; ++c) to[c] = lanes::exp(row[c] - largest[c]) / sum[c];
    }
  }
}

template <bool kLog>
Result<Kernel> softmaxKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Rows rows, rowsOf(call));
  return kernelForFloats(call, call.input(0).element, [rows]<class T>(T) {
    return Kernel{[rows](const KernelArguments& a) -> Status {
                    const std::int64_t block = rows.depth * rows.inner;
                    if (rows.inner > 1) {
                      T* scratch = a.scratchAs<T>();
                      for (std::int64_t o = 0; o < rows.outer; ++o) {
                        softmaxColumns(a.input<T>(0) + o * block, a.output<T>(0) + o * block, rows, scratch,
                                       scratch + paddedElements<T>(rows.inner), kLog);
                      }
                      return {};
                    }
                    forItems(a, rows.outer, block, [&](std::int64_t first, std::int64_t end) {
                      for (std::int64_t o = first; o < end; ++o)
                        (kLog ? logSoftmaxRow<T> : softmaxRow<T>)(a.input<T>(0) + o * block,
                                                                  a.output<T>(0) + o * block, block);
                    });
                    return {};
                  },
                  2 * paddedElements<T>(rows.inner) * static_cast<std::int64_t>(sizeof(T))};
  });
}

Result<Kernel> hardmaxKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Rows rows, rowsOf(call));
  return kernelForFloats(call, call.input(0).element, [rows]<class T>(T) {
    return Kernel{[rows](const KernelArguments& a) -> Status {
                    for (std::int64_t row = 0; row < rows.outer * rows.inner; ++row) {
                      const std::int64_t at = row / rows.inner * rows.depth * rows.inner + row % rows.inner;
                      hardmaxRow(a.input<T>(0) + at, a.output<T>(0) + at, rows.depth, rows.inner);
                    }
                    return {};
                  },
                  0};
  });
}

template <bool kLog>
std::vector<Work> softmaxWork(const OperatorCall& call) {
  const Rows rows = *rowsOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), outputs = rows.outer * rows.inner;
  const bool neighbours = rows.inner == 1;
  std::vector<Work> work{{Reduce{ReduceFunction::max, outputs, rows.depth, neighbours, type}, 1, "Max"},
                         {Map{MapFunction::subtract, all, 2, type, false}, 1, "Shift"},
                         {Map{MapFunction::exp, all, 1, type, !kLog}, 1, "Exp"},
                         {Reduce{ReduceFunction::sum, outputs, rows.depth, neighbours, type}, 1, "Sum"}};
  if (kLog) work.push_back({Map{MapFunction::log, outputs, 1, type, true}, 1, "Log"});
  work.push_back(
      {Map{kLog ? MapFunction::subtract : MapFunction::normalise, all, 2, type, true}, 1, "Normalise"});
  return work;
}

std::vector<Work> hardmaxWork(const OperatorCall& call) {
  const Rows rows = *rowsOf(call);
  const ElementType type = call.input(0).element;
  return {{Reduce{ReduceFunction::max, rows.outer * rows.inner, rows.depth, rows.inner == 1, type}, 1, "Max"},
          {Map{MapFunction::equal, call.input(0).elements(), 2, type, false}, 1, "Equal"}};
}

template <bool kLog>
Status softmaxGradient(GradientBuilder& builder) {
  return builder.addFor(0, kLog ? "GradLogSoftmax" : "GradSoftmax", "grad_input",
                        {builder.node().outputs[0], builder.outputGradient(0)}, builder.node().attributes);
}

// --- Gradients: Softmax y·(dy − Σ y·dy), LogSoftmax dy − eʸ·Σ dy -------------------------------

Result<std::vector<TensorType>> inferSoftmaxGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  PIPESCOPE_TRY(rowsOf(call));
  return std::vector<TensorType>{call.input(1)};
}

template <bool kLog, class T>
void softmaxGradientRow(const T* y, const T* dy, T* dx, std::int64_t count) {
  const T sum = laneSum<T>(count, [=](std::int64_t i) { return kLog ? dy[i] : y[i] * dy[i]; });
  PIPESCOPE_ELEMENTWISE
  for (std::int64_t i = 0; i < count; ++i)
    dx[i] = kLog ? dy[i] - lanes::exp(y[i]) * sum : y[i] * (dy[i] - sum);
}

template <bool kLog, class T>
void gradientColumns(const T* y, const T* dy, T* dx, const Rows& rows, T* sum) {
  const std::int64_t inner = rows.inner;
  std::fill_n(sum, inner, T(0));
  for (std::int64_t i = 0; i < rows.depth; ++i) {
    const std::int64_t at = i * inner;
    for (std::int64_t c = 0; c < inner; ++c) sum[c] += kLog ? dy[at + c] : y[at + c] * dy[at + c];
  }
  for (std::int64_t i = 0; i < rows.depth; ++i) {
    const std::int64_t at = i * inner;
    PIPESCOPE_ELEMENTWISE
    for (std::int64_t c = 0; c < inner; ++c) {
      dx[at + c] = kLog ? dy[at + c] - lanes::exp(y[at + c]) * sum[c] : y[at + c] * (dy[at + c] - sum[c]);
    }
  }
}

template <bool kLog>
Result<Kernel> softmaxGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Rows rows, rowsOf(call));
  return kernelForFloats(call, call.input(0).element, [rows]<class T>(T) {
    return Kernel{[rows](const KernelArguments& a) -> Status {
                    const std::int64_t block = rows.depth * rows.inner;
                    const auto one = [&](std::int64_t o) {
                      const T *y = a.input<T>(0) + o * block, *dy = a.input<T>(1) + o * block;
                      T* dx = a.output<T>(0) + o * block;
                      if (rows.inner > 1) {
                        gradientColumns<kLog>(y, dy, dx, rows, a.scratchAs<T>());
                      } else {
                        softmaxGradientRow<kLog>(y, dy, dx, block);
                      }
                    };
                    if (rows.inner > 1) {  // these share the scratch memory
                      for (std::int64_t o = 0; o < rows.outer; ++o) one(o);
                      return {};
                    }
                    forItems(a, rows.outer, block, [&](std::int64_t first, std::int64_t end) {
                      for (std::int64_t o = first; o < end; ++o) one(o);
                    });
                    return {};
                  },
                  rows.inner* static_cast<std::int64_t>(sizeof(T))};
  });
}

template <bool kLog>
std::vector<Work> softmaxGradientWork(const OperatorCall& call) {
  const Rows rows = *rowsOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  std::vector<Work> work;
  if (kLog) {
    work.push_back({Map{MapFunction::exp, all, 1, type, false}, 1, "Exp"});
  } else {
    work.push_back({Map{MapFunction::multiply, all, 2, type, false}, 1, "Product"});
  }
  work.push_back(
      {Reduce{ReduceFunction::sum, rows.outer * rows.inner, rows.depth, rows.inner == 1, type}, 1, "Sum"});
  work.push_back({Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"});
  work.push_back({Map{MapFunction::subtract, all, 2, type, true}, 1, "Subtract"});
  return work;
}

template <bool kLog>
void addSoftmax(OperatorRegistry& registry, const std::string& type) {
  registry.add({.type = type,
                .attributes = {{"axis", AttributeKind::integer}},
                .infer = inferLike,
                .kernel = softmaxKernel<kLog>,
                .work = softmaxWork<kLog>,
                .gradient = softmaxGradient<kLog>,
                .inPlaceInput = 0});
  registry.add({.type = "Grad" + type,
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferSoftmaxGradient,
                .kernel = softmaxGradientKernel<kLog>,
                .work = softmaxGradientWork<kLog>,
                .inPlaceInput = 1});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(softmax) {
  addSoftmax<false>(registry, "Softmax");
  addSoftmax<true>(registry, "LogSoftmax");
  registry.add({.type = "Hardmax",
                .attributes = {{"axis", AttributeKind::integer}},
                .infer = inferLike,
                .kernel = hardmaxKernel,
                .work = hardmaxWork});
}

}  // namespace pipescope::ops
