#include "engine/devices/gaudi/mme_geometry.h"

#include <algorithm>
#include <bit>
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

double engineSide(const Card& card) {
  return std::sqrt(static_cast<double>(card.macsBf16) / static_cast<double>(card.engines));
}

double operandFetches(const Card& card, const Geometry& geometry, double left, double right) {
  // The engines that share a product, and how many of them lie below each other and side by side.
  const std::int64_t sharing = std::max<std::int64_t>(1, card.engines / geometry.together);
  const auto side = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(engineSide(card))));
  const std::int64_t down = std::clamp<std::int64_t>(geometry.rows / side, 1, sharing);
  const auto below = static_cast<double>(down), beside = static_cast<double>(sharing / down);
  return std::min(left * beside + right * below * static_cast<double>(geometry.rowBlocks),
                  left * beside * static_cast<double>(geometry.columnBlocks) + right * below);
}

std::int64_t rollUpCycles(const Card& card, std::int64_t usedMacs) {
  return std::max<std::int64_t>(1, ceilDiv(card.rollUp * usedMacs, card.macsBf16));
}

namespace {

/// Tries geometries for a product and keeps the best one.
class GeometryChoice {
 public:
  GeometryChoice(const Card& card, const MmeProduct& product)
      : card_(card),
        product_(product),
        // Blocks have the same size in all types; only the speed of summing differs.
        depthRate_(static_cast<double>(card.macs(product.type)) / static_cast<double>(card.macsBf16)) {}

  Geometry best() {
    const std::int64_t mostTogether = product_.batch > 1 && !product_.groups ? card_.engines : 1;
    const std::int64_t mostPacked = product_.groups ? product_.batch : 1;
    for (std::int64_t rows = card_.leastSide; rows <= card_.mostRows; rows *= 2) {
      for (std::int64_t together = 1; together <= mostTogether; together *= 2)
        considerBoth({rows, card_.macsBf16 / rows / together, together, 1});
      for (std::int64_t packed = 2; packed <= mostPacked; packed *= 2)
        considerBoth({rows, card_.macsBf16 / rows, 1, packed});
    }
    if (mostTogether > 1) considerSmallProducts();
    return best_;
  }

 private:
  /// Several small products share each engine, in parts whose sides are those of the engine divided by the
  /// number of products. Such a part may also be narrower and longer.
  void considerSmallProducts() {
    const auto side = static_cast<std::int64_t>(engineSide(card_));
    for (std::int64_t each = 2; each <= card_.productsPerEngine; each *= 2) {
      const std::int64_t part = side / each;
      for (std::int64_t rows = std::max(card_.leastPackedSide, part / 2); rows <= part; rows *= 2) {
        const Geometry g{rows, part * part / rows, card_.engines * each, 1};
        // The parts of an engine do not work together on one product.
        if (std::max(product_.m, product_.n) <= std::max(g.rows, g.columns) &&
            std::min(product_.m, product_.n) <= std::min(g.rows, g.columns))
          considerBoth(g);
      }
    }
  }

  void considerBoth(const Geometry& geometry) {
    for (const bool swapped : {false, true}) consider(geometry, swapped);
  }

  void consider(Geometry g, bool swapped) {
    if (g.columns < std::min(card_.leastSide, card_.leastPackedSide)) return;
    const std::int64_t m = (swapped ? product_.n : product_.m) * (g.packed > 1 && swapped ? g.packed : 1);
    const std::int64_t n = (swapped ? product_.m : product_.n) * (g.packed > 1 && !swapped ? g.packed : 1);
    const std::int64_t k = paddedDepth(product_.k * g.packed, product_.type);
    // A row of sums is read in vectors of the least side.
    const std::int64_t columns =
        ceilDiv(std::min(n, g.columns), card_.leastPackedSide) * card_.leastPackedSide;
    const std::int64_t rollUp =
        rollUpCycles(card_, g.together * std::min(m, g.rows) * std::min(columns, g.columns));
    const std::int64_t depth =
        std::max(static_cast<std::int64_t>(std::ceil(static_cast<double>(k) / depthRate_)), rollUp);
    g.rowBlocks = ceilDiv(m, g.rows);
    g.columnBlocks = ceilDiv(n, g.columns);
    g.cycles = g.rowBlocks * g.columnBlocks * ceilDiv(ceilDiv(product_.batch, g.packed), g.together) * depth +
               rollUp;
    if (swapped) std::swap(g.rows, g.columns), std::swap(g.rowBlocks, g.columnBlocks);
    if (best_.cycles == 0 || g.cycles < best_.cycles || (g.cycles == best_.cycles && reads(g) < reads(best_)))
      best_ = g;
  }

  /// Bytes that the engines fetch, which decides between geometries that are equally fast: the one that
  /// fetches least is taken.
  double reads(const Geometry& of) const {
    return operandFetches(card_, of, static_cast<double>(product_.m), static_cast<double>(product_.n));
  }

  const Card& card_;
  const MmeProduct& product_;
  double depthRate_;
  Geometry best_;
};

}  // namespace

Geometry chooseGeometry(const Card& card, const MmeProduct& product) {
  return GeometryChoice(card, product).best();
}

}  // namespace pipescope::devices::gaudi
