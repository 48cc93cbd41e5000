#pragma once
// A tensor as [outer, depth, inner] around one axis or several neighbouring axes, and sums over such rows in
// a fixed order.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {

struct Rows {
  std::int64_t outer = 1, depth = 1, inner = 1;

  /// Rows around the axes [begin, end).
  static Rows around(const graph::Shape& shape, std::size_t begin, std::size_t end) {
    Rows rows;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      (axis < begin ? rows.outer : axis < end ? rows.depth : rows.inner) *= shape[axis];
    return rows;
  }
};

/// Adds up 32 lanes in pairs.
template <class T>
T foldLanes(T* lanes) {
  for (int lane = 0; lane < 16; ++lane) lanes[lane] += lanes[lane + 16];
  for (int lane = 0; lane < 8; ++lane) lanes[lane] += lanes[lane + 8];
  for (int lane = 0; lane < 4; ++lane) lanes[lane] += lanes[lane + 4];
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// Σ f(i) for i in [0, count) with 32 lanes over runs of 2048: a fixed order that suits vector units.
template <class T, class F>
T laneSum(std::int64_t count, F f) {
  constexpr std::int64_t kLanes = 32, kRun = 2048;
  T total = 0;
  for (std::int64_t start = 0; start < count; start += kRun) {
    const std::int64_t end = std::min(count, start + kRun);
    T lanes[kLanes] = {};
    std::int64_t i = start;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += f(i + lane);
    }
    for (std::int64_t lane = 0; i < end; ++i, ++lane) lanes[lane] += f(i);
    total += foldLanes(lanes);
  }
  return total;
}

/// Computes two such sums in one pass.
template <class T, class F>
std::pair<T, T> laneSums(std::int64_t count, F f) {
  constexpr std::int64_t kLanes = 32, kRun = 2048;
  std::pair<T, T> total{};
  for (std::int64_t start = 0; start < count; start += kRun) {
    const std::int64_t end = std::min(count, start + kRun);
    T first[kLanes] = {}, second[kLanes] = {};
    std::int64_t i = start;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const std::pair<T, T> term = f(i + lane);
        first[lane] += term.first;
        second[lane] += term.second;
      }
    }
    for (std::int64_t lane = 0; i < end; ++i, ++lane) {
      const std::pair<T, T> term = f(i);
      first[lane] += term.first;
      second[lane] += term.second;
    }
    total.first += foldLanes(first);
    total.second += foldLanes(second);
  }
  return total;
}

/// The largest element of a row. NaN counts as −∞ here if nothing is larger; the caller finds the NaN.
template <class T>
T largestOf(const T* values, std::int64_t count) {
  constexpr std::int64_t kLanes = 32;
  T lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<T>::infinity());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane)
    lanes[lane] = values[i] > lanes[lane] ? values[i] : lanes[lane];
  for (int lane = 0; lane < 16; ++lane) lanes[lane] = std::max(lanes[lane], lanes[lane + 16]);
  for (int lane = 0; lane < 8; ++lane) lanes[lane] = std::max(lanes[lane], lanes[lane + 8]);
  for (int lane = 0; lane < 4; ++lane) lanes[lane] = std::max(lanes[lane], lanes[lane + 4]);
  return std::max(std::max(lanes[0], lanes[2]), std::max(lanes[1], lanes[3]));
}

/// max(·, 0); NaN stays NaN.
template <class T>
void reluInPlace(T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] < T(0) ? T(0) : values[i];
}

}  // namespace pipescope::ops
