#pragma once
// How the matrix engines of a card share a product: blocks of H rows and W columns, summed over the depth.
#include <cstdint>

#include "engine/devices/gaudi/card.h"

namespace pipescope::devices::gaudi {

/// `batch` products [m,k]·[k,n].
struct Product {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  ElementType type = ElementType::bfloat16;
  /// The batch are groups of one convolution, which may be done several at a time as one block-diagonal
  /// product.
  bool groups = false;
};

struct Geometry {
  std::int64_t rows = 1, columns = 1;  ///< of a block
  std::int64_t together = 1;           ///< products at a time, each on engines of its own
  std::int64_t packed = 1;             ///< groups that are done as one product
  std::int64_t cycles = 0;
  std::int64_t rowBlocks = 1, columnBlocks = 1;  ///< of one product
};

/// cycles = ceil(m/H)·ceil(n/W)·batch·max(k/depthRate, rollUp) + the last roll-up; the geometry with the
/// fewest, rows and columns either way round; of equals the one that reads its operands least often. `k` is
/// padded as the MME wants it. (Source: HabanaAI/Intel_Gaudi3_Software.)
Geometry chooseGeometry(const Card& card, const Product& product);

/// `k` padded: to 8 in 16-bit types, 2 in float32, 16 in 8-bit ones.
std::int64_t paddedDepth(std::int64_t k, ElementType type);

}  // namespace pipescope::devices::gaudi
