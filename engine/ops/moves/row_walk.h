#pragma once
// Walks over tuples of indices that point at rows of the data, for GatherND and ScatterND.
#include "engine/ops/core/index_reader.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

struct RowWalk {
  std::int64_t batches = 1, tuples = 1;  ///< tuples of each batch
  Ints extents, strides;                 ///< extents of the data axes that a tuple names
  std::int64_t row = 1, block = 1;       ///< elements of a row, and of the data of one batch
  bool wide = true;
  std::string title;
  Shape result;  ///< one row for each tuple

  std::int64_t rows() const { return batches * tuples; }
  Status check(const IndexReader& indices) const;
  /// Calls visit(number of the row, its first element in the data) in the order of the tuples.
  template <class Visit>
  void run(const IndexReader& indices, const Visit& visit) const {
    std::int64_t next = 0;
    for (std::int64_t number = 0; number < rows(); ++number) {
      std::int64_t at = number / tuples * block;
      for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        const std::int64_t index = indices[next++];
        at += (index < 0 ? index + extents[axis] : index) * strides[axis];
      }
      visit(number, at);
    }
  }
};

/// Checks the tuples of input `indices` against the data. Both share `batchAxes` leading axes.
Result<RowWalk> rowWalk(const OperatorCall& call, const Shape& data, std::size_t indices,
                        std::int64_t batchAxes);

}  // namespace pipescope::ops
