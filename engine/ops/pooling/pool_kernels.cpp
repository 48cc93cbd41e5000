#include "engine/ops/pooling/pool_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/ops/core/ranges.h"

namespace pipescope::ops {
namespace {

/// NaN wins on either side.
template <class T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

/// True if an element of a window is its maximum. A NaN is found only if the maximum is NaN.
template <class T>
bool isMaximum(T value, T maximum) {
  return (value == maximum) | (value != value);
}

/// The taps of one axis that lie within the input at one output position.
struct Taps {
  std::int64_t start = 0;           ///< the input position of tap 0, which may lie in the padding
  std::int64_t first = 0, end = 0;  ///< taps within the input
};

Taps tapsAt(const Window& w, std::size_t axis, std::int64_t position) {
  Taps taps;
  const std::int64_t step = w.dilation[axis];
  taps.start = position * w.stride[axis] - w.padBegin[axis];
  if (taps.start < 0) taps.first = (-taps.start + step - 1) / step;
  if (taps.start < w.input[axis])
    taps.end = std::min(w.kernel[axis], (w.input[axis] - 1 - taps.start) / step + 1);
  return taps;
}

/// Calls visit(offset of an input row within its plane) for every row under the window at `outer`, in order.
template <class Visit>
void forRows(const Window& w, const Odometer& outer, Visit visit) {
  const std::size_t inner = w.axes() - 1;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < inner; ++axis) rows *= w.kernel[axis];
  Odometer tap(w.kernel.data(), inner);
  for (std::int64_t r = 0; r < rows; ++r, tap.next()) {
    std::int64_t offset = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < inner; ++axis) {
      const std::int64_t position =
          outer[axis] * w.stride[axis] - w.padBegin[axis] + tap[axis] * w.dilation[axis];
      inside = inside && position >= 0 && position < w.input[axis];
      offset = offset * w.input[axis] + position;
    }
    if (inside) visit(offset * w.input[inner]);
  }
}

std::int64_t outerPositions(const Window& w) {
  return w.positions() / w.output.back();
}

/// The offset within its plane of the window's element that equals the maximum `y`: the first one in
/// row-major order.
template <class T>
std::int64_t findMaximum(const Window& w, const Odometer& outer, const Taps& taps, const T* plane, T y) {
  const std::int64_t step = w.dilation.back();
  std::int64_t found = -1;
  forRows(w, outer, [&](std::int64_t row) {
    for (std::int64_t tap = taps.first; tap < taps.end && found < 0; ++tap) {
      const T value = plane[row + taps.start + tap * step];
      if (isMaximum(value, y)) found = row + taps.start + tap * step;
    }
  });
  return found;
}

/// Calls visit(plane index, output index within the plane, input offset of the maximum) for every window.
template <class T, class Visit>
void forMaxima(const PoolSetup& setup, std::int64_t planes, const T* x, const T* y, Visit visit) {
  const Window& w = setup.window;
  const std::int64_t width = w.output.back(), inputs = w.inputs(), positions = w.positions();
  for (std::int64_t p = 0; p < planes; ++p) {
    Odometer outer(w.output.data(), w.axes() - 1);
    for (std::int64_t at = 0; at < positions; outer.next()) {
      for (std::int64_t column = 0; column < width; ++column, ++at) {
        const Taps taps = tapsAt(w, w.axes() - 1, column);
        visit(p, at, findMaximum(w, outer, taps, x + p * inputs, y[p * positions + at]));
      }
    }
  }
}

/// The most common window: two by two, stride two, without padding.
bool isTwoByTwo(const Window& w) {
  if (w.axes() != 2) return false;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (w.kernel[axis] != 2 || w.stride[axis] != 2 || w.dilation[axis] != 1) return false;
    if (w.padBegin[axis] != 0 || w.padEnd[axis] != 0 || w.output[axis] * 2 > w.input[axis]) return false;
  }
  return true;
}

// Does four windows of two by two side by side, as vectors.
using Four = float __attribute__((vector_size(16)));

Four loadFour(const float* p) {
  Four v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
void storeFour(float* p, Four v) {
  std::memcpy(p, &v, sizeof v);
}
Four largerFour(Four a, Four b) {
  return ((a > b) | (a != a)) ? a : b;
}
Four evenOf(Four a, Four b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
}
Four oddOf(Four a, Four b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

/// Stores even and odd elements in turn.
void storeTurns(float* to, Four even, Four odd) {
  storeFour(to, __builtin_shufflevector(even, odd, 0, 4, 1, 5));
  storeFour(to + 4, __builtin_shufflevector(even, odd, 2, 6, 3, 7));
}

/// spreadRow() of four windows.
void spreadFour(const float* above, const float* below, const float* y, const float* dy, float* toAbove,
                float* toBelow) {
  const Four maximum = loadFour(y), none{};
  const Four a0 = loadFour(above), a1 = loadFour(above + 4), b0 = loadFour(below), b1 = loadFour(below + 4);
  const auto take = [&](Four value, Four& left) {
    const auto hit = (value == maximum) | (value != value);
    const Four taken = hit ? left : none;
    left = hit ? none : left;
    return taken;
  };
  Four left = loadFour(dy);
  const Four even = take(evenOf(a0, a1), left), odd = take(oddOf(a0, a1), left),
             evenBelow = take(evenOf(b0, b1), left);
  storeTurns(toAbove, even, odd);
  storeTurns(toBelow, evenBelow, left);
}

/// Windows of two by two along one output row.
void maxRow(const float* above, const float* below, float* y, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + 4 <= width; i += 4) {
    const Four first = largerFour(loadFour(above + 2 * i), loadFour(below + 2 * i)),
               second = largerFour(loadFour(above + 2 * i + 4), loadFour(below + 2 * i + 4));
    storeFour(y + i, largerFour(evenOf(first, second), oddOf(first, second)));
  }
  for (; i < width; ++i)
    y[i] = larger(larger(above[2 * i], below[2 * i]), larger(above[2 * i + 1], below[2 * i + 1]));
}

/// One output row of the two-by-two gradient: each gradient goes to the first of four elements that equals
/// the maximum.
template <class T>
void spreadRow(const T* __restrict above, const T* __restrict below, const T* __restrict y,
               const T* __restrict dy, T* __restrict toAbove, T* __restrict toBelow, std::int64_t width) {
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    for (; i + 4 <= width; i += 4)
      spreadFour(above + 2 * i, below + 2 * i, y + i, dy + i, toAbove + 2 * i, toBelow + 2 * i);
  }
  for (; i < width; ++i) {
    const T maximum = y[i], whole = dy[i];
    const T afterA = isMaximum(above[2 * i], maximum) ? T(0) : whole;
    toAbove[2 * i] = isMaximum(above[2 * i], maximum) ? whole : T(0);
    const T afterB = isMaximum(above[2 * i + 1], maximum) ? T(0) : afterA;
    toAbove[2 * i + 1] = isMaximum(above[2 * i + 1], maximum) ? afterA : T(0);
    toBelow[2 * i] = isMaximum(below[2 * i], maximum) ? afterB : T(0);
    toBelow[2 * i + 1] = isMaximum(below[2 * i], maximum) ? T(0) : afterB;
  }
}

template <class T>
void twoByTwoGradient(const PoolSetup& setup, std::int64_t planes, const T* x, const T* y, const T* dy,
                      T* dx) {
  const std::int64_t height = setup.window.input[0], width = setup.window.input[1];
  const std::int64_t rows = setup.window.output[0], columns = setup.window.output[1];
  for (std::int64_t p = 0; p < planes; ++p, x += height * width, dx += height * width) {
    for (std::int64_t r = 0; r < rows; ++r, y += columns, dy += columns) {
      const std::int64_t at = 2 * r * width;
      spreadRow(x + at, x + at + width, y, dy, dx + at, dx + at + width, columns);
      if (width % 2) dx[at + width - 1] = dx[at + 2 * width - 1] = T(0);
    }
    if (height % 2) std::fill_n(dx + (height - 1) * width, width, T(0));
  }
}

/// One output row: rows under the window first, along contiguous memory, then across columns.
template <class T>
void poolColumns(const Window& w, const T* __restrict maxima, T* __restrict y) {
  const std::size_t inner = w.axes() - 1;
  const std::int64_t width = w.output[inner];
  if (w.kernel[inner] == 2 && w.stride[inner] == 2 && w.dilation[inner] == 1 && w.padBegin[inner] == 0 &&
      2 * width <= w.input[inner]) {
    for (std::int64_t i = 0; i < width; ++i) y[i] = larger(maxima[2 * i], maxima[2 * i + 1]);
    return;
  }
  for (std::int64_t i = 0; i < width; ++i) {
    const Taps taps = tapsAt(w, inner, i);
    T best = maxima[taps.start + taps.first * w.dilation[inner]];
    for (std::int64_t tap = taps.first + 1; tap < taps.end; ++tap) {
      best = larger(best, maxima[taps.start + tap * w.dilation[inner]]);
    }
    y[i] = best;
  }
}

template <class T>
void largerOfRows(T* __restrict maxima, const T* __restrict row, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) maxima[i] = larger(maxima[i], row[i]);
}

template <class T>
void maxPoolPlanes(const PoolSetup& setup, std::int64_t planes, const T* x, T* y, T* scratch) {
  const Window& w = setup.window;
  const std::int64_t width = w.input.back(), inputs = w.inputs(), outer = outerPositions(w);
  if constexpr (std::is_same_v<T, float>) {
    if (isTwoByTwo(w)) {
      for (std::int64_t p = 0; p < planes; ++p, x += inputs) {
        for (std::int64_t r = 0; r < outer; ++r, y += w.output[1])
          maxRow(x + 2 * r * width, x + (2 * r + 1) * width, y, w.output[1]);
      }
      return;
    }
  }
  for (std::int64_t p = 0; p < planes; ++p, x += inputs) {
    Odometer position(w.output.data(), w.axes() - 1);
    for (std::int64_t r = 0; r < outer; ++r, position.next(), y += w.output.back()) {
      bool first = true;
      forRows(w, position, [&](std::int64_t row) {
        if (first) {
          std::copy_n(x + row, width, scratch);
        } else {
          largerOfRows(scratch, x + row, width);
        }
        first = false;
      });
      poolColumns(w, scratch, y);
    }
  }
}

}  // namespace

std::int64_t poolRanges(const PoolSetup& setup) {
  const std::int64_t each = itemsOfRange(setup.window.inputs());
  return (setup.planes + each - 1) / each;
}

template <class T>
void maxPool(const KernelArguments& arguments, const PoolSetup& setup, const T* x, T* y, T* scratch) {
  const std::int64_t inputs = setup.window.inputs(), positions = setup.window.positions();
  forItems(arguments, setup.planes, inputs, [&](std::int64_t first, std::int64_t end) {
    maxPoolPlanes(setup, end - first, x + first * inputs, y + first * positions,
                  scratch + first / itemsOfRange(inputs) * setup.window.input.back());
  });
}

template <class T>
void maxPoolIndices(const PoolSetup& setup, const T* x, const T* y, std::int64_t* indices, bool columnMajor) {
  const Window& w = setup.window;
  const std::int64_t inputs = w.inputs();
  forMaxima(setup, setup.planes, x, y, [&](std::int64_t p, std::int64_t, std::int64_t offset) {
    if (columnMajor) {
      std::int64_t rest = offset, transposed = 0, below = inputs;
      for (std::size_t axis = w.axes(); axis-- > 0;) {
        below /= w.input[axis];
        transposed += rest % w.input[axis] * below;
        rest /= w.input[axis];
      }
      offset = transposed;
    }
    *indices++ = p * inputs + offset;
  });
}

template <class T>
void maxPoolGradient(const KernelArguments& arguments, const PoolSetup& setup, const T* x, const T* y,
                     const T* dy, T* dx) {
  const std::int64_t inputs = setup.window.inputs(), positions = setup.window.positions();
  const bool twoByTwo = isTwoByTwo(setup.window);
  forItems(arguments, setup.planes, inputs, [&](std::int64_t first, std::int64_t end) {
    const T *from = x + first * inputs, *pooled = y + first * positions, *up = dy + first * positions;
    T* to = dx + first * inputs;
    if (twoByTwo) return twoByTwoGradient(setup, end - first, from, pooled, up, to);
    std::fill_n(to, (end - first) * inputs, T(0));
    forMaxima(setup, end - first, from, pooled, [&](std::int64_t p, std::int64_t at, std::int64_t offset) {
      to[p * inputs + offset] += up[p * positions + at];
    });
  });
}

template void maxPool(const KernelArguments&, const PoolSetup&, const std::int8_t*, std::int8_t*,
                      std::int8_t*);
template void maxPool(const KernelArguments&, const PoolSetup&, const std::uint8_t*, std::uint8_t*,
                      std::uint8_t*);
template void maxPool(const KernelArguments&, const PoolSetup&, const float*, float*, float*);
template void maxPool(const KernelArguments&, const PoolSetup&, const double*, double*, double*);
template void maxPoolIndices(const PoolSetup&, const std::int8_t*, const std::int8_t*, std::int64_t*, bool);
template void maxPoolIndices(const PoolSetup&, const std::uint8_t*, const std::uint8_t*, std::int64_t*, bool);
template void maxPoolIndices(const PoolSetup&, const float*, const float*, std::int64_t*, bool);
template void maxPoolIndices(const PoolSetup&, const double*, const double*, std::int64_t*, bool);
template void maxPoolGradient(const KernelArguments&, const PoolSetup&, const float*, const float*,
                              const float*, float*);
template void maxPoolGradient(const KernelArguments&, const PoolSetup&, const double*, const double*,
                              const double*, double*);

}  // namespace pipescope::ops
