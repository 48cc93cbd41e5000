#pragma once
// Moves elements of any type between two dense buffers. Transposing, slicing, joining, tiling and
// broadcasting all become such moves.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// One loop of a move, with strides in elements. A stride of 0 reads the same element again; a negative one
/// runs backwards.
struct MoveAxis {
  std::int64_t extent = 1, from = 0, to = 0;
};

/// Nested loops that each copy one element, in an order that suits memory. No element may be written twice.
class ElementMove {
 public:
  ElementMove() = default;
  /// The first element is at `fromStart` in the source and at `toStart` in the target.
  ElementMove(std::vector<MoveAxis> axes, std::int64_t elementBytes, std::int64_t fromStart = 0,
              std::int64_t toStart = 0);

  void run(const std::byte* from, std::byte* to) const;
  /// Runs the move on several threads, along the outermost loop.
  void run(const KernelArguments& arguments, const std::byte* from, std::byte* to) const;
  std::int64_t elements() const { return elements_; }
  /// Number of elements that are neighbours before and after the move.
  std::int64_t runElements() const { return run_; }

 private:
  template <class Element>
  void walk(std::size_t axis, const Element* from, Element* to) const;
  template <class Element>
  void inner(const Element* from, Element* to) const;

  std::vector<MoveAxis> axes_;  ///< outermost first
  std::int64_t elementBytes_ = 1, fromStart_ = 0, toStart_ = 0;
  std::int64_t elements_ = 1, run_ = 1;
  /// Loops of the innermost copy: 0 for one element, 1 for a line, 2 for a transposed tile.
  std::size_t innerAxes_ = 0;
};

/// The permutation of a dense tensor in which output axis i is input axis order[i].
ElementMove transposition(const Shape& shape, const std::vector<std::size_t>& order,
                          std::int64_t elementBytes);

/// A block of `extents` from a dense tensor `from` (beginning at fromBegin, in steps of fromStep) into a
/// dense tensor `to` at toBegin. Empty begins are 0, and empty steps are 1.
ElementMove blockMove(const Shape& extents, const Shape& from, const std::vector<std::int64_t>& fromBegin,
                      const std::vector<std::int64_t>& fromStep, const Shape& to,
                      const std::vector<std::int64_t>& toBegin, const std::vector<std::int64_t>& toStep,
                      std::int64_t elementBytes);

/// The Work of a move.
Work moveWork(const ElementMove& setup, ElementType type, const std::string& label = "");

}  // namespace pipescope::ops
