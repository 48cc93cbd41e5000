#pragma once
// How the matrix engines of a card share a product: in blocks of H rows and W columns, summed over the depth.
#include <cstdint>

#include "engine/devices/gaudi/card.h"

namespace pipescope::devices::gaudi {

/// `batch` products of [m,k] and [k,n].
struct Product {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  ElementType type = ElementType::bfloat16;
  /// The batch is the groups of one convolution; several may be done at a time as one block-diagonal product.
  bool groups = false;
};

struct Geometry {
  std::int64_t rows = 1, columns = 1;  ///< sides of a block
  std::int64_t together = 1;           ///< products that run at the same time, each on its own engines
  std::int64_t packed = 1;             ///< groups that are done as one product
  std::int64_t cycles = 0;
  std::int64_t rowBlocks = 1, columnBlocks = 1;  ///< of one product
};

/// cycles = ceil(m/H)·ceil(n/W)·batch·max(k/depthRate, rollUp) + the last roll-up. Takes the geometry with
/// the fewest cycles in either orientation, and of equally fast ones the one that reads its operands least
/// often. `k` is padded for the MME. (Source: HabanaAI/Intel_Gaudi3_Software.)
Geometry chooseGeometry(const Card& card, const Product& product);

/// `k` rounded up to a multiple of 8 for 16-bit types, 2 for float32 and 16 for 8-bit types.
std::int64_t paddedDepth(std::int64_t k, ElementType type);

}  // namespace pipescope::devices::gaudi
