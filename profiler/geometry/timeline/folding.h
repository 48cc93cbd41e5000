#pragma once
// Draws lists of any length at a cost that depends on pixels only. The items of a list ascend and do not
// overlap. An item at least a pixel wide is drawn alone. Narrower items that begin in the same column of
// pixels are drawn as one column in the colour of the widest, and a binary search finds the next item.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "profiler/geometry/timeline/time_view.h"

namespace pipescope::geometry {

/// Finds the longest item of a range. The index is a tree of maxima over blocks of 16, which takes 7 % of the
/// memory of the lengths.
class WidestIndex {
 public:
  WidestIndex() = default;
  explicit WidestIndex(std::vector<std::int64_t> lengths);

  std::size_t size() const { return lengths_.size(); }
  std::int64_t length(std::size_t index) const { return lengths_[index]; }
  /// Index of the longest item in [first, end), the first of equal ones; `first` if the range is empty.
  std::size_t widest(std::size_t first, std::size_t end) const;

 private:
  static constexpr std::size_t kFan = 16;
  std::size_t better(std::size_t a, std::size_t b) const { return lengths_[b] > lengths_[a] ? b : a; }

  std::vector<std::int64_t> lengths_;
  /// Index of the longest item of each block, for each level.
  std::vector<std::vector<std::uint32_t>> levels_;
};

/// One item of a list, or several that share a column, as it is drawn.
struct Folded {
  std::size_t first = 0, end = 0;  ///< range of the list; more than one item if they share a column
  std::size_t shown = 0;           ///< the item that gives the colour
  int x = 0, right = 0;            ///< columns, clamped to the canvas: [x, right)
  bool alone() const { return end - first == 1; }
};

/// The columns [first, end) of a canvas.
struct Columns {
  int first = 0, end = 0;
};

/// The first index of [0, size) for which before(index) is false. before must not become true again after
/// that.
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

/// Does the same from `from` on, for results that lie near it: doubles its steps, then halves them.
template <class Before>
std::size_t gallopIndex(std::size_t from, std::size_t size, const Before& before) {
  std::size_t low = from, step = 1;
  while (low + step <= size && before(low + step - 1)) low += step, step *= 2;
  const std::size_t high = low + step < size ? low + step : size;
  return low + partitionIndex(high - low, [&](std::size_t i) { return before(low + i); });
}

/// Calls visit(Folded) for everything that the columns show of the list. startOf(i) and endOf(i) give the
/// times of an item. No column is visited twice.
template <class StartOf, class EndOf, class Visit>
void foldVisible(const WidestIndex& index, const TimeView& view, Columns columns, const StartOf& startOf,
                 const EndOf& endOf, Visit&& visit) {
  const double pixel = view.ticksPerPixel();
  const auto isNarrow = [&](std::size_t i) { return static_cast<double>(index.length(i)) < pixel; };
  std::size_t i =
      partitionIndex(index.size(), [&](std::size_t at) { return view.x(endOf(at)) <= columns.first; });
  int free = columns.first;  // the first column in which nothing has been drawn yet
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
    // These items begin in this column. A wide item at their end is drawn by itself later.
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

/// The longest of the items that touch the pixel at `x`, or else of those within `tolerance` pixels.
/// index.size() if there is none.
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
