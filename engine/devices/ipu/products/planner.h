#pragma once
// Spreads a product over the tiles of one IPU: finds the vertex, and the splits of field, batch, channels,
// kernel and groups, that take the fewest cycles while the temporaries fit. (Method and cost terms: PopLibs
// planner, C.)
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/products/conv_shape.h"
#include "engine/devices/ipu/products/conv_vertices.h"
#include "engine/devices/ipu/products/plan_bound.h"
#include "engine/devices/ipu/products/plan_cost.h"

namespace pipescope::devices::ipu {

/// A form, its split and the costs.
struct ContractionPlan {
  ConvForm form;
  ConvSplit split;
  ConvTile tile;  ///< the largest share
  ConvCosts costs;
  std::int64_t searched = 0;  ///< splits, whole or partial, that the search looked at

  /// "AMP 16x8, 1,440 tiles: …", for logs.
  std::string describe() const;
};

/// A share of the product, and how many tiles have one of this size.
struct ConvShare {
  std::int64_t tiles = 0;
  ConvTile tile;
};
/// The shares of all tiles in use. Axes that do not divide evenly leave some tiles with less.
std::vector<ConvShare> sharesOf(const ContractionPlan& plan);

/// The costs of a share that is smaller than the largest one.
ConvCosts costsOf(const Chip& chip, const ContractionPlan& plan, const ConvTile& tile);

/// Plans products on one kind of chip and remembers the plans. Several threads may use it.
class Planner {
 public:
  explicit Planner(const Chip& chip) : chip_(chip) {}

  /// The plan with the fewest cycles whose temporaries take at most `proportion` of a tile. If none fits, the
  /// bound doubles up to twice the memory of a tile, and then there is none (C: PopLibs' createPlan).
  std::shared_ptr<const ContractionPlan> plan(const ConvShape& shape, double proportion);

  /// A part of the chip with a planner of its own.
  struct Share;
  Share& share(std::int64_t tiles);

 private:
  /// The plan of this product alone.
  std::shared_ptr<ContractionPlan> planAlone(const ConvShape& shape, std::int64_t memory);
  /// The plans of the three products of a trained layer: those of a joint plan if they take fewer cycles in
  /// all than three plans alone (C: PopLibs' createPlan).
  std::array<std::shared_ptr<ContractionPlan>, 3> planTrained(const std::array<ConvShape, 3>& passes,
                                                              std::int64_t memory);
  std::shared_ptr<const ContractionPlan> keep(const ConvShape& shape, std::int64_t memory,
                                              std::shared_ptr<ContractionPlan> plan);
  /// Returns the fastest plan; null if no split keeps its temporaries within `memory` bytes of a tile. Adds
  /// to `searched`.
  std::shared_ptr<ContractionPlan> search(const ConvShape& shape, std::int64_t memory,
                                          std::int64_t& searched);
  std::int64_t memoryFor(double proportion) const;

  const Chip& chip_;
  PassOverheads overheads_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ContractionPlan>> plans_;
  std::map<std::int64_t, std::shared_ptr<Share>> shares_;
};

struct Planner::Share {
  explicit Share(const Chip& whole, std::int64_t tiles) : chip(whole), planner(chip) { chip.tiles = tiles; }
  Chip chip;
  Planner planner;
};

}  // namespace pipescope::devices::ipu
