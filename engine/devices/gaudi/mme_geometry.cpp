#include "engine/devices/gaudi/mme_geometry.h"

#include <algorithm>
#include <cmath>

namespace pipescope::devices::gaudi {
namespace {

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

std::int64_t paddedDepth(std::int64_t k, ElementType type) {
  const std::int64_t to = graph::sizeOf(type) == 1 ? 16 : graph::sizeOf(type) == 2 ? 8 : 2;
  return ceilDiv(k, to) * to;
}

Geometry chooseGeometry(const Card& card, const Product& product) {
  // Blocks have the same size in all types; only the speed of summing differs.
  const double depthRate = static_cast<double>(card.macs(product.type)) / static_cast<double>(card.macsBf16);
  Geometry best;
  const auto consider = [&](std::int64_t rows, std::int64_t together, std::int64_t packed, bool swapped) {
    Geometry g{rows, card.macsBf16 / rows / together, together, packed, 0, 1, 1};
    if (g.columns < card.leastSide) return;
    const std::int64_t m = (swapped ? product.n : product.m) * (packed > 1 && swapped ? packed : 1);
    const std::int64_t n = (swapped ? product.m : product.n) * (packed > 1 && !swapped ? packed : 1);
    const std::int64_t k = paddedDepth(product.k * packed, product.type);
    const std::int64_t depth =
        std::max(static_cast<std::int64_t>(std::ceil(static_cast<double>(k) / depthRate)), card.rollUp);
    g.rowBlocks = ceilDiv(m, g.rows);
    g.columnBlocks = ceilDiv(n, g.columns);
    g.cycles = g.rowBlocks * g.columnBlocks * ceilDiv(ceilDiv(product.batch, packed), together) * depth +
               card.rollUp;
    if (swapped) std::swap(g.rows, g.columns), std::swap(g.rowBlocks, g.columnBlocks);
    // Of equally fast geometries, takes the one that reads least. Each block of rows reads each block of
    // columns.
    const auto reads = [&](const Geometry& of) {
      return of.rowBlocks * product.n + of.columnBlocks * product.m;
    };
    if (best.cycles == 0 || g.cycles < best.cycles || (g.cycles == best.cycles && reads(g) < reads(best)))
      best = g;
  };
  const std::int64_t mostTogether = product.batch > 1 && !product.groups ? card.engines : 1;
  const std::int64_t mostPacked = product.groups ? product.batch : 1;
  for (std::int64_t rows = card.leastSide; rows <= card.mostRows; rows *= 2) {
    for (const bool swapped : {false, true}) {
      for (std::int64_t together = 1; together <= mostTogether; together *= 2)
        consider(rows, together, 1, swapped);
      for (std::int64_t packed = 2; packed <= mostPacked; packed *= 2) consider(rows, 1, packed, swapped);
    }
  }
  return best;
}

}  // namespace pipescope::devices::gaudi
