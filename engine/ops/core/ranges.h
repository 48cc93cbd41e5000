#pragma once
// Splits kernels over threads in ranges whose length follows from shapes alone.
#include <algorithm>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Elements of a task: some microseconds of work, so that handing it to a thread costs little.
inline constexpr std::int64_t kRangeElements = 16 * 1024;

/// The number of items in a range.
inline std::int64_t itemsOfRange(std::int64_t elementsOfItem) {
  return std::max<std::int64_t>(1, kRangeElements / std::max<std::int64_t>(1, elementsOfItem));
}

/// Calls body(first, end) for ranges of items, each of which is `elementsOfItem` elements of work.
template <class Body>
void forItems(const KernelArguments& arguments, std::int64_t items, std::int64_t elementsOfItem,
              const Body& body) {
  const std::int64_t each = itemsOfRange(elementsOfItem);
  arguments.parallel((items + each - 1) / each,
                     [&](std::int64_t range) { body(range * each, std::min(items, (range + 1) * each)); });
}

/// Calls body(first, end) for ranges of elements.
template <class Body>
void forRanges(const KernelArguments& arguments, std::int64_t elements, const Body& body) {
  forItems(arguments, elements, 1, body);
}

}  // namespace pipescope::ops
