#pragma once
// Drawing lists of any length at the cost of the pixels they cover.
//
// Lists ascend and do not overlap. Things at least a pixel wide are drawn alone; narrower ones that begin in
// the same pixel column are drawn as one column in the colour of the widest, and the next one to draw is
// found by binary search.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "profiler/geometry/time_view.h"

namespace pipescope::geometry {

/// Finds the longest of a range of lengths: a tree of maxima over blocks of 16 (7 % of the lengths' own
/// memory).
class WidestIndex {
 public:
  WidestIndex() = default;
  explicit WidestIndex(std::vector<std::int64_t> lengths);

  std::size_t size() const { return lengths_.size(); }
  std::int64_t length(std::size_t index) const { return lengths_[index]; }
  /// Index of the longest in [first, end), the first of equals; `first` where the range is empty.
  std::size_t widest(std::size_t first, std::size_t end) const;

 private:
  static constexpr std::size_t kFan = 16;
  std::size_t better(std::size_t a, std::size_t b) const { return lengths_[b] > lengths_[a] ? b : a; }

  std::vector<std::int64_t> lengths_;
  std::vector<std::vector<std::uint32_t>> levels_;  ///< per level: index of the longest of each block
};

/// Something of a list as it is drawn.
struct Folded {
  std::size_t first = 0, end = 0;  ///< range of the list; one element unless folded
  std::size_t shown = 0;           ///< whose colour it has
  int x = 0, right = 0;            ///< columns, clamped to the canvas: [x, right)
  bool alone() const { return end - first == 1; }
};

/// Columns [first, end) of a canvas.
struct Columns {
  int first = 0, end = 0;
};

/// First index of [0, size) for which before(index) is false; before must be true for a beginning of the
/// range only.
template <class Before>
std::size_t partitionIndex(std::size_t size, const Before& before) {
  std::size_t low = 0, high = size;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// As partitionIndex from `from` on, for ranges that end soon: steps that double, then halves.
template <class Before>
std::size_t gallopIndex(std::size_t from, std::size_t size, const Before& before) {
  std::size_t low = from, step = 1;
  while (low + step <= size && before(low + step - 1)) low += step, step *= 2;
  const std::size_t high = low + step < size ? low + step : size;
  return low + partitionIndex(high - low, [&](std::size_t i) { return before(low + i); });
}

/// Calls visit(Folded) for what the columns of the view show of the list. startOf(i) and endOf(i) give times;
/// no column is visited twice.
template <class StartOf, class EndOf, class Visit>
void foldVisible(const WidestIndex& index, const TimeView& view, Columns columns, const StartOf& startOf,
                 const EndOf& endOf, Visit&& visit) {
  const double pixel = view.ticksPerPixel();
  const auto isNarrow = [&](std::size_t i) { return static_cast<double>(index.length(i)) < pixel; };
  std::size_t i =
      partitionIndex(index.size(), [&](std::size_t at) { return view.x(endOf(at)) <= columns.first; });
  int free = columns.first;  // first column that nothing has been drawn in
  while (i < index.size()) {
    const double position = view.x(startOf(i));
    if (position >= columns.end) break;
    const int column = std::max(free, position < 0 ? 0 : static_cast<int>(position));
    if (!isNarrow(i)) {
      const int right = std::min(columns.end, view.column(endOf(i)));
      if (right > column) visit(Folded{i, i + 1, i, column, right});
      free = std::max(free, right);
      ++i;
      continue;
    }
    // All that begin in this column; a wide one at the end has its own turn.
    const Ticks next = view.firstAt(column + 1);
    std::size_t end = gallopIndex(i + 1, index.size(), [&](std::size_t at) { return startOf(at) < next; });
    bool taken = false;
    if (!isNarrow(end - 1)) {
      --end;
      const double covered = (column + 1 - view.x(startOf(end))) * pixel;
      taken = covered >= static_cast<double>(index.length(index.widest(i, end)));
    }
    if (!taken && column < columns.end) {
      visit(Folded{i, end, index.widest(i, end), column, column + 1});
      free = column + 1;
    }
    i = end;
  }
}

/// What lies at a position: the longest of what touches its pixel, else of what lies within `tolerance`
/// pixels. index.size(): nothing.
template <class StartOf, class EndOf>
std::size_t pickAt(const WidestIndex& index, const TimeView& view, int x, int tolerance,
                   const StartOf& startOf, const EndOf& endOf) {
  for (const int margin : {0, tolerance}) {
    const std::size_t first =
        partitionIndex(index.size(), [&](std::size_t at) { return view.x(endOf(at)) <= x - margin; });
    const std::size_t end =
        partitionIndex(index.size(), [&](std::size_t at) { return view.x(startOf(at)) < x + 1 + margin; });
    if (end > first) return index.widest(first, end);
  }
  return index.size();
}

}  // namespace pipescope::geometry
