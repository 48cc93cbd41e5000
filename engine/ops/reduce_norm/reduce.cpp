// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp
// and ReduceSumSquare. Sums have a fixed order, and sums of whole numbers wrap. ReduceMax and ReduceMin give
// NaN if there is one. Their gradients are in grad_reduce.cpp.
#include "engine/ops/reduce_norm/reduce_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/lane_math.h"
#include "engine/ops/core/ranges.h"

namespace pipescope::ops {
namespace {

using base::badInput;

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class T>
T magnitude(T x) {
  if constexpr (std::is_unsigned_v<T>) return x;
  return x < T(0) ? times(T(-1), x) : x;
}

// Operators are described by their start, what they take of an element, how two partial results combine, and
// what they make of the result of n elements. Operators with the same Loops differ only in the last of these.
struct Adding {
  using Loops = Adding;
  template <class T>
  static T start() {
    return T(0);
  }
  template <class T>
  static T take(T x) {
    return x;
  }
  template <class T>
  static T meet(T a, T b) {
    return plus(a, b);
  }
  template <class T>
  static T finish(T sum, std::int64_t) {
    return sum;
  }
};
struct SumOf : Adding {
  static constexpr const char* kType = "ReduceSum";
  static constexpr ReduceFunction kWork = ReduceFunction::sum;
};
struct MeanOf : Adding {
  static constexpr const char* kType = "ReduceMean";
  static constexpr ReduceFunction kWork = ReduceFunction::mean;
  template <class T>
  static T finish(T sum, std::int64_t count) {
    if constexpr (std::is_integral_v<T>) {  // count may exceed T, and an empty set has no mean
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      return count == 0 ? T(0) : static_cast<T>(static_cast<Wide>(sum) / static_cast<Wide>(count));
    } else {
      return sum / static_cast<T>(count);
    }
  }
};
struct LogSumOf : Adding {
  static constexpr const char* kType = "ReduceLogSum";
  static constexpr ReduceFunction kWork = ReduceFunction::sum;
  template <class T>
  static T finish(T sum, std::int64_t) {
    return lanes::log(sum);
  }
};
struct AbsoluteSum : Adding {
  using Loops = AbsoluteSum;
  static constexpr const char* kType = "ReduceL1";
  static constexpr ReduceFunction kWork = ReduceFunction::absSum;
  template <class T>
  static T take(T x) {
    return magnitude(x);
  }
};
struct SquareSum : Adding {
  using Loops = SquareSum;
  static constexpr const char* kType = "ReduceSumSquare";
  static constexpr ReduceFunction kWork = ReduceFunction::squareSum;
  template <class T>
  static T take(T x) {
    return times(x, x);
  }
};
struct Length : SquareSum {
  static constexpr const char* kType = "ReduceL2";
  static constexpr ReduceFunction kWork = ReduceFunction::squareSum;
  template <class T>
  static T finish(T sum, std::int64_t) {
    return static_cast<T>(std::sqrt(sum));
  }
};
struct ProductOf : Adding {
  using Loops = ProductOf;
  static constexpr const char* kType = "ReduceProd";
  static constexpr ReduceFunction kWork = ReduceFunction::product;
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  static T meet(T a, T b) {
    return times(a, b);
  }
};
struct Largest : Adding {
  using Loops = Largest;
  static constexpr const char* kType = "ReduceMax";
  static constexpr ReduceFunction kWork = ReduceFunction::max;
  template <class T>
  static T start() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  template <class T>
  static T meet(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct Smallest : Adding {
  using Loops = Smallest;
  static constexpr const char* kType = "ReduceMin";
  static constexpr ReduceFunction kWork = ReduceFunction::min;
  template <class T>
  static T start() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  template <class T>
  static T meet(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

/// Reduces a run of neighbours, in 32 lanes over pieces of 2048.
template <class Op, std::floating_point T>
T reduceRow(const T* x, std::int64_t count) {
  constexpr std::int64_t kLanes = 32, kRun = 2048;
  T total = Op::template start<T>();
  for (std::int64_t begin = 0; begin < count; begin += kRun) {
    const std::int64_t end = std::min(count, begin + kRun);
    T partial[kLanes];
    std::fill_n(partial, kLanes, Op::template start<T>());
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        partial[lane] = Op::meet(partial[lane], Op::take(x[i + lane]));
    }
    for (std::int64_t lane = 0; i < end; ++i, ++lane) partial[lane] = Op::meet(partial[lane], Op::take(x[i]));
    for (int lane = 0; lane < 16; ++lane) partial[lane] = Op::meet(partial[lane], partial[lane + 16]);
    for (int lane = 0; lane < 8; ++lane) partial[lane] = Op::meet(partial[lane], partial[lane + 8]);
    for (int lane = 0; lane < 4; ++lane) partial[lane] = Op::meet(partial[lane], partial[lane + 4]);
    total = Op::meet(total, Op::meet(Op::meet(partial[0], partial[2]), Op::meet(partial[1], partial[3])));
  }
  return total;
}
/// Reduces whole numbers, whose sums are the same in any order.
template <class Op, std::integral T>
T reduceRow(const T* x, std::int64_t count) {
  T total = Op::template start<T>();
  for (std::int64_t i = 0; i < count; ++i) total = Op::meet(total, Op::take(x[i]));
  return total;
}

/// Reduces rows of neighbours into y, which holds starts or partial results, in ascending order and four in
/// one pass over y.
template <class Op, class T>
void reduceRows(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, T* __restrict y) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * stride) {
    const T *second = x + stride, *third = second + stride, *fourth = third + stride;
    for (std::int64_t i = 0; i < columns; ++i) {
      const T two = Op::meet(Op::meet(y[i], Op::take(x[i])), Op::take(second[i]));
      y[i] = Op::meet(Op::meet(two, Op::take(third[i])), Op::take(fourth[i]));
    }
  }
  for (; row < rows; ++row, x += stride) {
    for (std::int64_t i = 0; i < columns; ++i) y[i] = Op::meet(y[i], Op::take(x[i]));
  }
}

/// The loops of a reduction without their element type, so that what splits work over axes and threads is
/// compiled once.
struct ReduceLoops {
  std::int64_t elementBytes = 0;
  void (*start)(void* y, std::int64_t outputs) = nullptr;
  /// Reduces `count` neighbours into y, which holds a start or a partial result.
  void (*row)(const void* x, std::int64_t count, void* y) = nullptr;
  /// reduceRows().
  void (*rows)(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t columns,
               void* y) = nullptr;
};

template <class Op, class T>
constexpr ReduceLoops kReduceLoops{
    sizeof(T),
    [](void* y, std::int64_t outputs) { std::fill_n(static_cast<T*>(y), outputs, Op::template start<T>()); },
    [](const void* x, std::int64_t count, void* y) {
      T& into = *static_cast<T*>(y);
      into = Op::meet(into, reduceRow<Op>(static_cast<const T*>(x), count));
    },
    [](const void* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, void* y) {
      reduceRows<Op>(static_cast<const T*>(x), stride, rows, columns, static_cast<T*>(y));
    }};

/// Reduces x into y, which holds starts or partial results, one run after the other.
void reducePart(const ReduceLoops& loops, std::span<const ReduceSetup::Run> runs, const std::byte* x,
                std::byte* y) {
  walkReduction(
      runs,
      [&](std::int64_t from, std::int64_t count, std::int64_t to) {
        loops.row(x + from * loops.elementBytes, count, y + to * loops.elementBytes);
      },
      [&](std::int64_t from, std::int64_t count, std::int64_t to) {
        loops.rows(x + from * loops.elementBytes, 0, 1, count, y + to * loops.elementBytes);
      });
}

/// Reduces the input into y. Every output has an order of its own, whichever task makes it.
void reduceInto(const ReduceLoops& loops, void* result, const KernelArguments& a, const ReduceSetup& setup) {
  const std::byte* x = a.input<std::byte>(0);
  std::byte* y = static_cast<std::byte*>(result);
  const std::int64_t bytes = loops.elementBytes;
  loops.start(y, setup.outputs);
  const std::vector<ReduceSetup::Run>& runs = setup.runs;
  const std::int64_t all = setup.outputs * setup.depth;
  if (all == 0) return;  // every output is the start value if there is nothing to reduce
  if (runs.size() > 1 && !runs[0].reduced) {
    const std::int64_t from = all / runs[0].extent, to = setup.outputs / runs[0].extent;
    forItems(a, runs[0].extent, from, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t i = first; i < end; ++i)
        reducePart(loops, std::span(runs).subspan(1), x + i * from * bytes, y + i * to * bytes);
    });
  } else if (runs.size() == 2) {
    const std::int64_t rows = runs[0].extent, columns = runs[1].extent;
    // Works on strips of whole cache lines, because a narrow strip would touch a page for each row.
    constexpr std::int64_t kNarrowest = 256;
    const std::int64_t each = std::max(itemsOfRange(rows), kNarrowest);
    a.parallel((columns + each - 1) / each, [&](std::int64_t strip) {
      const std::int64_t first = strip * each;
      loops.rows(x + first * bytes, columns, rows, std::min(each, columns - first), y + first * bytes);
    });
  } else if (runs.size() == 3) {
    const std::int64_t outer = runs[0].extent, kept = runs[1].extent, inner = runs[2].extent;
    forItems(a, kept, outer * inner, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t k = first; k < end; ++k) {
        for (std::int64_t o = 0; o < outer; ++o)
          loops.row(x + (o * kept + k) * inner * bytes, inner, y + k * bytes);
      }
    });
  } else {
    reducePart(loops, std::span(runs), x, y);
  }
}

/// y[i] = what the operator makes of the result of `depth` elements.
template <class Op, class T>
void finishReduction(void* y, std::int64_t outputs, std::int64_t depth) {
  T* const results = static_cast<T*>(y);
  for (std::int64_t i = 0; i < outputs; ++i) results[i] = Op::finish(results[i], depth);
}

struct ReduceRun {
  ReduceSetup setup;
  const ReduceLoops* loops = nullptr;
  void (*finish)(void* y, std::int64_t outputs, std::int64_t depth) = nullptr;
};

Status runReduce(const KernelArguments& a, const ReduceRun& run) {
  void* const y = a.output<std::byte>(0);
  reduceInto(*run.loops, y, a, run.setup);
  run.finish(y, run.setup.outputs, run.setup.depth);
  return {};
}

Kernel reduceKernelOf(const ReduceRun& run) {
  return kernelOf(run, runReduce);
}

Result<std::vector<TensorType>> inferReduce(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ReduceSetup setup, reduceSetupOf(call));
  return std::vector<TensorType>{{call.input(0).element, setup.result}};
}

template <class Op>
Result<Kernel> reduceKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ReduceSetup setup, reduceSetupOf(call));
  const auto make = [&]<class T>(T) {
    return reduceKernelOf({setup, &kReduceLoops<typename Op::Loops, T>, finishReduction<Op, T>});
  };
  if constexpr (std::is_same_v<Op, LogSumOf> || std::is_same_v<Op, Length>) {
    return kernelForFloats(call, call.input(0).element, make);
  } else {
    return kernelForNumbers(call, call.input(0).element, make);
  }
}

template <class Op>
std::vector<Work> reduceWork(const OperatorCall& call) {
  const ReduceSetup setup = *reduceSetupOf(call);
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{Reduce{Op::kWork, setup.outputs, setup.depth, setup.contiguous(), type}, 1, ""}};
  if constexpr (std::is_same_v<Op, Length>)
    work.push_back({Map{MapFunction::sqrt, setup.outputs, 1, type, true}, 1, "Sqrt"});
  if constexpr (std::is_same_v<Op, LogSumOf>)
    work.push_back({Map{MapFunction::log, setup.outputs, 1, type, true}, 1, "Log"});
  return work;
}

// --- ReduceLogSumExp: largest + log Σ exp(x − largest) -------------------------------------------

struct LogSumExp {
  static constexpr const char* kType = "ReduceLogSumExp";
};

template <class T>
void logSumExp(const KernelArguments& a, const ReduceSetup& setup, const T* x, T* y, T* largest) {
  reduceInto(kReduceLoops<Largest, T>, largest, a, setup);
  // If the maximum is infinite, e^(x − 0) is already the answer.
  for (std::int64_t i = 0; i < setup.outputs; ++i) {
    if (std::fabs(largest[i]) == std::numeric_limits<T>::infinity()) largest[i] = T(0);
  }
  std::fill_n(y, setup.outputs, T(0));
  walkReduction(
      setup.runs,
      [=](std::int64_t from, std::int64_t count, std::int64_t to) {
        const T shift = largest[to];
        y[to] += laneSum<T>(count, [=](std::int64_t i) { return lanes::exp(x[from + i] - shift); });
      },
      [=](std::int64_t from, std::int64_t count, std::int64_t to) {
        for (std::int64_t i = 0; i < count; ++i) y[to + i] += lanes::exp(x[from + i] - largest[to + i]);
      });
  for (std::int64_t i = 0; i < setup.outputs; ++i) y[i] = lanes::log(y[i]) + largest[i];
}

Result<Kernel> logSumExpKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ReduceSetup setup, reduceSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    logSumExp(a, setup, a.input<T>(0), a.output<T>(0), a.scratchAs<T>());
                    return {};
                  },
                  setup.outputs* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> logSumExpWork(const OperatorCall& call) {
  const ReduceSetup setup = *reduceSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  return {{Reduce{ReduceFunction::max, setup.outputs, setup.depth, setup.contiguous(), type}, 1, "Max"},
          {Map{MapFunction::subtract, all, 2, type, false}, 1, "Shift"},
          {Map{MapFunction::exp, all, 1, type, true}, 1, "Exp"},
          {Reduce{ReduceFunction::sum, setup.outputs, setup.depth, setup.contiguous(), type}, 1, "Sum"},
          {Map{MapFunction::log, setup.outputs, 1, type, true}, 1, "Log"},
          {Map{MapFunction::add, setup.outputs, 2, type, true}, 1, "Unshift"}};
}

// --- Gradients: GradReduce and SpreadReduced of grad_reduce.cpp ------------------------------------

Status reduceGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const ReduceSetup setup, reduceSetupOf(builder.call()));
  const Shape& x = builder.call().input(0).shape;
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (setup.kept[axis] != x[axis]) axes.push_back(static_cast<std::int64_t>(axis));
  }
  const Node& node = builder.node();
  if (node.op == "ReduceSum" || node.op == "ReduceMean") {
    // The values of x do not matter, so that nothing has to keep them for the backward pass.
    return builder.addFor(0, "SpreadReduced", "grad_input", {builder.outputGradient(0)},
                          {{"function", node.op}, {"axes", axes}, {"shape", std::vector<std::int64_t>(x)}});
  }
  return builder.addFor(0, "GradReduce", "grad_input",
                        {node.inputs[0], node.outputs[0], builder.outputGradient(0)},
                        {{"function", node.op}, {"axes", axes}, {"noop_with_empty_axes", std::int64_t{1}}});
}

template <class Op>
void addReduce(OperatorRegistry& registry, Result<Kernel> (*kernel)(const OperatorCall&),
               std::vector<Work> (*work)(const OperatorCall&), bool axesAsInput) {
  std::vector<AttributeRule> attributes{{"axes", AttributeKind::integers},
                                        {"keepdims", AttributeKind::integer}};
  if (axesAsInput) attributes.push_back({"noop_with_empty_axes", AttributeKind::integer});
  registry.add({.type = Op::kType,
                .attributes = attributes,
                .maxInputs = axesAsInput ? 2U : 1U,
                .infer = inferReduce,
                .kernel = kernel,
                .work = work,
                .gradient = reduceGradient});
}

template <class... Ops>
void addReductions(OperatorRegistry& registry) {
  (addReduce<Ops>(registry, reduceKernel<Ops>, reduceWork<Ops>, std::is_same_v<Ops, SumOf>), ...);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(reduce) {
  addReductions<SumOf, MeanOf, Largest, Smallest, ProductOf, AbsoluteSum, Length, LogSumOf, SquareSum>(
      registry);
  addReduce<LogSumExp>(registry, logSumExpKernel, logSumExpWork, false);
}

}  // namespace pipescope::ops
