#pragma once
#include <cstddef>
#include <vector>

namespace pipescope::geometry {

/// Returns list[index] for the signed indices that rows and traces use.
template <class T, class Index>
const T& at(const std::vector<T>& list, Index index) {
  return list[static_cast<std::size_t>(index)];
}

}  // namespace pipescope::geometry
