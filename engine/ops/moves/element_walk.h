#pragma once
// Walks over a tensor of indices beside the data that they point into, for GatherElements and
// ScatterElements.
#include "engine/ops/core/index_reader.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

/// Each index replaces the coordinate of its own position on one axis of the data.
struct ElementWalk {
  static constexpr std::int64_t row = 1;  ///< elements that an index names
  Shape extents;                          ///< extents of the indices
  Ints strides;                           ///< strides of the data; 0 on the axis
  std::int64_t axisStride = 1, axisExtent = 1;
  bool wide = true;
  std::string title;

  std::int64_t count() const { return graph::elementCount(extents); }
  /// Fails with a sentence unless every index is within the axis.
  Status check(const IndexReader& indices) const { return checkIndices(title, indices, count(), axisExtent); }
  /// Calls visit(element of the indices, element of the data) in the order of the indices.
  template <class Visit>
  void run(const IndexReader& indices, const Visit& visit) const {
    std::int64_t flat = 0;
    walk(0, 0, flat, indices, visit);
  }

 private:
  template <class Visit>
  void walk(std::size_t axis, std::int64_t base, std::int64_t& flat, const IndexReader& indices,
            const Visit& visit) const {
    if (axis + 1 < extents.size()) {
      for (std::int64_t i = 0; i < extents[axis]; ++i)
        walk(axis + 1, base + i * strides[axis], flat, indices, visit);
      return;
    }
    const std::int64_t last = extents.empty() ? 1 : extents.back();
    const std::int64_t step = extents.empty() ? 0 : strides.back();
    for (std::int64_t i = 0; i < last; ++i, ++flat) {
      const std::int64_t index = indices[flat];
      visit(flat, base + i * step + (index < 0 ? index + axisExtent : index) * axisStride);
    }
  }
};

/// Checks that input `indices` holds indices that fit `data` along the attribute `axis`.
Result<ElementWalk> elementWalk(const OperatorCall& call, const Shape& data, std::size_t indices);

}  // namespace pipescope::ops
