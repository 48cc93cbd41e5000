#pragma once
// Splitting kernels over threads: ranges whose length comes from shapes alone.
#include <algorithm>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Elements of a task: some microseconds of work, so that handing it to a thread costs little.
inline constexpr std::int64_t kRangeElements = 16 * 1024;

/// Items of one range.
inline std::int64_t itemsOfRange(std::int64_t elementsOfItem) {
  return std::max<std::int64_t>(1, kRangeElements / std::max<std::int64_t>(1, elementsOfItem));
}

/// body(first, end) for ranges of items, each item being so many elements of work.
template <class Body>
void forItems(const KernelArguments& arguments, std::int64_t items, std::int64_t elementsOfItem,
              const Body& body) {
  const std::int64_t each = itemsOfRange(elementsOfItem);
  arguments.parallel((items + each - 1) / each,
                     [&](std::int64_t range) { body(range * each, std::min(items, (range + 1) * each)); });
}

/// body(first, end) for ranges of elements.
template <class Body>
void forRanges(const KernelArguments& arguments, std::int64_t elements, const Body& body) {
  forItems(arguments, elements, 1, body);
}

}  // namespace pipescope::ops
