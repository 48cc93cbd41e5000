#pragma once
// Shared parts of batch, instance and layer normalization: moments in two passes, and the gradient through
// them.
#include <algorithm>
#include <cmath>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/broadcast.h"

namespace pipescope::ops {

/// The elements that share one mean: pieces of neighbours that lie `step` apart.
struct Pieces {
  std::int64_t count = 1, step = 0, length = 0;

  std::int64_t elements() const { return count * length; }
};

template <class T>
struct Moments {
  T mean = 0, variance = 0;

  T inverse(double epsilon) const { return T(1) / std::sqrt(variance + static_cast<T>(epsilon)); }
};

template <class T>
Moments<T> momentsOf(const Pieces& pieces, const T* x) {
  const T count = static_cast<T>(pieces.elements());
  T sum = 0, squares = 0;
  for (std::int64_t p = 0; p < pieces.count; ++p)
    sum += laneSum<T>(pieces.length, [from = x + p * pieces.step](std::int64_t i) { return from[i]; });
  const T mean = sum / count;
  for (std::int64_t p = 0; p < pieces.count; ++p) {
    squares += laneSum<T>(pieces.length, [from = x + p * pieces.step, mean](std::int64_t i) {
      return (from[i] - mean) * (from[i] - mean);
    });
  }
  return {mean, squares / count};
}

/// Σ dy and Σ dy·x̂ with x̂ = (x − mean)·inverse: the gradients by bias and scale.
template <class T>
struct GradientSums {
  T bias = 0, scale = 0;
};

template <class T>
GradientSums<T> gradientSums(const Pieces& pieces, const T* x, const T* dy, T mean, T inverse) {
  GradientSums<T> all;
  for (std::int64_t p = 0; p < pieces.count; ++p) {
    const T *from = x + p * pieces.step, *up = dy + p * pieces.step;
    const auto sums = laneSums<T>(pieces.length,
                                  [=](std::int64_t i) { return std::pair(up[i], up[i] * (from[i] - mean)); });
    all.bias += sums.first;
    all.scale += sums.second;
  }
  all.scale *= inverse;
  return all;
}

/// dx = factor·(dy − shift − (x − mean)·tilt). With f = scale·inverse, shift = Σ dy ÷ n and tilt = inverse·Σ
/// dy·x̂ ÷ n it is the gradient through mean and variance.
template <class T>
struct GradientLine {
  T mean = 0, factor = 0, shift = 0, tilt = 0;

  GradientLine(T mean_, T inverse, T scale, const GradientSums<T>& sums, std::int64_t elements)
      : mean(mean_),
        factor(scale * inverse),
        shift(sums.bias / static_cast<T>(elements)),
        tilt(sums.scale / static_cast<T>(elements) * inverse) {}
  GradientLine() = default;
};

template <class T>
void applyGradient(const Pieces& pieces, const GradientLine<T>& line, const T* x, const T* dy, T* dx) {
  for (std::int64_t p = 0; p < pieces.count; ++p) {
    const T *from = x + p * pieces.step, *up = dy + p * pieces.step;
    T* to = dx + p * pieces.step;
    PIPESCOPE_ELEMENTWISE
    for (std::int64_t i = 0; i < pieces.length; ++i)
      to[i] = line.factor * (up[i] - line.shift - (from[i] - line.mean) * line.tilt);
  }
}

/// The same for channels whose pieces are too short for vectors: `rows` rows of neighbouring channels that
/// lie `step` apart, with `inner` elements each. The columns are summed first, then the columns of each
/// channel.
struct ShortPieces {
  std::int64_t rows = 1, step = 0, channels = 0, inner = 1;

  std::int64_t width() const { return channels * inner; }
  std::int64_t elements() const { return rows * inner; }
};

/// sums[j] = Σ term(row offset, j) over the rows.
template <class T, class Term>
void addRows(const ShortPieces& s, T* __restrict sums, const Term& term) {
  std::fill_n(sums, s.width(), T(0));
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const std::int64_t at = row * s.step;
    for (std::int64_t j = 0; j < s.width(); ++j) sums[j] += term(at, j);
  }
}

/// Replaces the columns of each channel by one number made of their sum.
template <class T, class Make>
void foldColumns(const ShortPieces& s, T* columns, const Make& make) {
  for (std::int64_t c = 0; c < s.channels; ++c) {
    T* own = columns + c * s.inner;
    T sum = 0;
    for (std::int64_t i = 0; i < s.inner; ++i) sum += own[i];
    std::fill_n(own, s.inner, make(c, sum));
  }
}

/// Spreads means and variances over the columns of each channel.
template <class T>
void columnMoments(const ShortPieces& s, const T* x, T* mean, T* variance) {
  const T count = static_cast<T>(s.elements());
  addRows(s, mean, [x](std::int64_t at, std::int64_t j) { return x[at + j]; });
  foldColumns(s, mean, [count](std::int64_t, T sum) { return sum / count; });
  addRows(s, variance, [x, mean](std::int64_t at, std::int64_t j) {
    const T away = x[at + j] - mean[j];
    return away * away;
  });
  foldColumns(s, variance, [count](std::int64_t, T sum) { return sum / count; });
}

}  // namespace pipescope::ops
