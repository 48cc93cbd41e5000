#pragma once
// numpy's broadcasting for elementwise kernels: shapes, a setup of runs over memory, and the gradient.
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/operator.h"
#include "engine/ops/core/ranges.h"

// Marks a loop that may write over one of its inputs, element by element; no other memory overlaps.
#if defined(__clang__)
#define PIPESCOPE_ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PIPESCOPE_ELEMENTWISE _Pragma("GCC ivdep")
#endif

namespace pipescope::ops {

/// The shape to which all inputs broadcast; fails with a sentence if two do not fit or an input is left out.
Result<Shape> broadcastInputs(const OperatorCall& call);

/// Spreads operands over a result: as runs of the result in order. Neighbouring axes of the same kind are
/// merged.
class Broadcast {
 public:
  static constexpr std::size_t kMostAxes = 32, kMostOperands = 4;

  /// Every operand must broadcast to `result`, with at most kMostOperands operands and kMostAxes axes.
  Broadcast(const Shape& result, const std::vector<Shape>& operands);

  /// The elements of a run, which are neighbours in the result.
  std::int64_t run() const { return run_; }
  /// 1: the operand's elements are neighbours too; 0: one element serves the whole run.
  std::int64_t step(std::size_t operand) const { return steps_[operand]; }

  /// True if the whole result is one run.
  bool isOneRun() const { return runs_ == 1; }
  /// The number of runs if operand `whole` matches the result and operand `shared` repeats the same run;
  /// otherwise 0.
  std::int64_t rowsSharing(std::size_t whole, std::size_t shared) const {
    if (outer_.size() != 1 || steps_[whole] != 1 || steps_[shared] != 1) return 0;
    return outer_[0].stride[whole] == run_ && outer_[0].stride[shared] == 0 ? runs_ : 0;
  }

  /// Calls visit(first element of the run in the result, its place in each operand) for every run in
  /// ascending order.
  template <class Visit>
  void forRuns(Visit visit) const {
    std::array<std::int64_t, kMostAxes> at{};
    std::array<std::int64_t, kMostOperands> place{};
    for (std::int64_t first = 0; first < runs_ * run_; first += run_) {
      visit(first, place);
      for (std::size_t axis = outer_.size(); axis-- > 0;) {
        const Axis& along = outer_[axis];
        for (std::size_t i = 0; i < kMostOperands; ++i) place[i] += along.stride[i];
        if (++at[axis] < along.extent) break;
        for (std::size_t i = 0; i < kMostOperands; ++i) place[i] -= along.extent * along.stride[i];
        at[axis] = 0;
      }
    }
  }

 private:
  struct Axis {
    std::int64_t extent = 1;
    std::array<std::int64_t, kMostOperands> stride{};
  };
  std::vector<Axis> outer_;
  std::int64_t run_ = 1, runs_ = 1;
  std::array<std::int64_t, kMostOperands> steps_{};
};

/// y = f(a) in vectors; y may be a.
template <class A, class Y, class F>
void mapOne(const A* a, Y* y, std::int64_t count, F f) {
  PIPESCOPE_ELEMENTWISE
  for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i]);
}

/// y = f(a, b) element by element, in vectors; y may be a or b.
template <class A, class B, class Y, class F>
void mapPairs(const A* a, const B* b, Y* y, std::int64_t count, F f) {
  PIPESCOPE_ELEMENTWISE
  for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
}

/// y = f(a, b) for one run, without the types of f and of the operands: what walks over runs is then compiled
/// once instead of once for each operator and element type.
struct PairLoop {
  const void* f = nullptr;
  /// A step is 1 if the operand's elements are neighbours, and 0 if one element serves the whole run.
  void (*run)(const void* f, const void* a, std::int64_t stepA, const void* b, std::int64_t stepB, void* y,
              std::int64_t count) = nullptr;
  std::int64_t sizeA = 1, sizeB = 1, sizeY = 1;  ///< bytes of an element
};

/// Calls the loop for every run of a result. With arguments, several threads compute if the result is one
/// run, or if rows of one operand share the other.
void forPairRuns(const Broadcast& setup, const PairLoop& loop, const void* a, const void* b, void* y);
void forPairRuns(const KernelArguments& arguments, const Broadcast& setup, const PairLoop& loop,
                 const void* a, const void* b, void* y);

template <class A, class B, class Y, class F>
PairLoop pairLoop(const F& f) {
  const auto run = [](const void* function, const void* ofA, std::int64_t p, const void* ofB, std::int64_t q,
                      void* ofY, std::int64_t count) {
    const F& g = *static_cast<const F*>(function);
    const A* left = static_cast<const A*>(ofA);
    const B* right = static_cast<const B*>(ofB);
    Y* y = static_cast<Y*>(ofY);
    if (p && q) {
      mapPairs(left, right, y, count, g);
    } else if constexpr (std::is_integral_v<A>) {
      // One loop serves every kind of broadcast; eight more types so cost little code.
      for (std::int64_t i = 0; i < count; ++i) y[i] = g(left[i * p], right[i * q]);
    } else if (p) {
      mapOne(left, y, count, [g, other = *right](A each) { return g(each, other); });
    } else if (q) {
      mapOne(right, y, count, [g, other = *left](B each) { return g(other, each); });
    } else {
      std::fill_n(y, count, g(*left, *right));
    }
  };
  return {&f, run, sizeof(A), sizeof(B), sizeof(Y)};
}

/// y = f(a, b) with broadcasting; y may be a if a has the result's shape.
template <class A, class B, class Y, class F>
void mapTwo(const Broadcast& setup, const A* a, const B* b, Y* y, const F& f) {
  forPairRuns(setup, pairLoop<A, B, Y>(f), a, b, y);
}

/// The same. Several threads compute real numbers.
template <class A, class B, class Y, class F>
void mapTwo(const KernelArguments& arguments, const Broadcast& setup, const A* a, const B* b, Y* y,
            const F& f) {
  if constexpr (std::is_integral_v<A>) {
    forPairRuns(setup, pairLoop<A, B, Y>(f), a, b, y);
  } else {
    forPairRuns(arguments, setup, pairLoop<A, B, Y>(f), a, b, y);
  }
}

/// y = f(a, b, c) with broadcasting; y may be an operand that has the result's shape.
template <class A, class B, class C, class Y, class F>
void mapThree(const Broadcast& setup, const A* a, const B* b, const C* c, Y* y, F f) {
  const std::int64_t count = setup.run(), p = setup.step(0), q = setup.step(1), r = setup.step(2);
  if (p && q && r) {
    setup.forRuns([=](std::int64_t first, const auto& place) {
      const A* one = a + place[0];
      const B* two = b + place[1];
      const C* three = c + place[2];
      Y* to = y + first;
      PIPESCOPE_ELEMENTWISE
      for (std::int64_t i = 0; i < count; ++i) to[i] = f(one[i], two[i], three[i]);
    });
    return;
  }
  setup.forRuns([=](std::int64_t first, const auto& place) {
    const A* one = a + place[0];
    const B* two = b + place[1];
    const C* three = c + place[2];
    Y* to = y + first;
    for (std::int64_t i = 0; i < count; ++i) to[i] = f(one[i * p], two[i * q], three[i * r]);
  });
}

/// Declares `gradient`, which has the shape of the forward output, as the gradient by a broadcast input. It
/// is summed over the axes along which the input was spread (nodes "…/grad_<input>_sum" and "…_shaped").
Status addBroadcastGradient(GradientBuilder& builder, std::size_t input, graph::TensorId gradient,
                            const Shape& shape);

}  // namespace pipescope::ops
