#pragma once
// The matrix product that one phase of a layer amounts to, and the bytes that it reads and writes.
#include <cstdint>
#include <vector>

#include "engine/ops/core/work.h"

namespace pipescope::devices::hbm_card {

/// The product of all extents.
std::int64_t extents(const std::vector<std::int64_t>& list);

/// `batch` products of [m,k] and [k,n].
struct Product {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  bool groups = false;  ///< the batch is the groups of one convolution
};

/// The product that a phase of a layer amounts to. Its depth follows from the multiply-adds, because the
/// input gradient of a strided convolution needs fewer than kernel × channels for each element.
Product productOf(const ops::Contraction& work);

/// The bytes of a product's operands and result. The input of a convolution counts once, however often the
/// kernel meets an element, because the engines walk over it.
struct Operands {
  double left = 0, right = 0, result = 0;  ///< bytes
};
Operands operandsOf(const ops::Contraction& work);

}  // namespace pipescope::devices::hbm_card
