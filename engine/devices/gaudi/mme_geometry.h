#pragma once
// Divides a product among the matrix engines of a card: in blocks of H rows and W columns, summed over the
// depth.
#include <cstdint>

#include "engine/devices/gaudi/card.h"

namespace pipescope::devices::gaudi {

/// `batch` products of [m,k] and [k,n].
struct MmeProduct {
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
  std::int64_t rowBlocks = 1, columnBlocks = 1;  ///< blocks of one product
};

/// cycles = ceil(m/H)·ceil(n/W)·batch·max(k/depthRate, rollUp) + the last roll-up. Takes the geometry with
/// the fewest cycles in either orientation, and of equally fast ones the one that reads its operands least
/// often. `k` is padded for the MME. Independent products run together: one on each engine, or several small
/// ones. Gaudi2 has four products of up to 64 × 64 in an engine, or two of 128 × 128 or 64 × 256; Gaudi3 has
/// two of 128 × 128. (Source: HabanaAI/Intel_Gaudi3_Software, gaudi2_geo_attr.cpp, gaudi3_geo_attr.cpp and
/// mme_brain.cpp.)
Geometry chooseGeometry(const Card& card, const MmeProduct& product);

/// The side of the square of multiply-adds that one engine has.
double engineSide(const Card& card);

/// The bytes that the engines fetch of operands of `left` and `right` bytes. Each engine fetches for itself
/// what it needs for its part of a block. From one block to the next it keeps one of the operands, and the
/// walk over the blocks is chosen so that it fetches least. (Source: HabanaAI/Intel_Gaudi3_Software,
/// calcFetchNr and calcMemoryAttributes in mme_brain.cpp, C.)
double operandFetches(const Card& card, const Geometry& geometry, double left, double right);

/// Cycles to read the sums of a block out of the accumulators while the next block is summed. The vendor's
/// cost model takes the same number for every block. It is the number of vectors in an engine that is full,
/// at one vector a cycle for each read-out port, so a block with fewer sums is read out sooner (X).
std::int64_t rollUpCycles(const Card& card, std::int64_t usedMacs);

/// `k` rounded up to a multiple of 8 for 16-bit types, 2 for float32 and 16 for 8-bit types.
std::int64_t paddedDepth(std::int64_t k, ElementType type);

}  // namespace pipescope::devices::gaudi
