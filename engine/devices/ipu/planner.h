#pragma once
// How a product is spread over the tiles of one IPU: the splits of field, batch, channels, kernel and groups,
// and the vertex, that take the fewest cycles while the temporaries fit. (Method and cost terms: PopLibs
// planner, C.)
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/conv_shape.h"
#include "engine/devices/ipu/conv_vertices.h"
#include "engine/devices/ipu/plan_bound.h"
#include "engine/devices/ipu/plan_cost.h"

namespace pipescope::devices::ipu {

/// A form, how it is split, and what that costs.
struct ConvPlan {
  ConvForm form;
  ConvSplit split;
  ConvTile tile;  ///< the largest share
  ConvCosts costs;
  std::int64_t searched = 0;  ///< splits that were looked at to find it, whole or in part

  /// "AMP 16x8, 1,440 tiles: …", for logs and `describe`.
  std::string describe() const;
};

/// A share of the product that `tiles` tiles have alike.
struct ConvShare {
  std::int64_t tiles = 0;
  ConvTile tile;
};
/// The shares of all tiles in use: axes that do not divide evenly leave some tiles with less.
std::vector<ConvShare> sharesOf(const ConvPlan& plan);

/// Costs of a share of a plan, for a tile with less than the largest.
ConvCosts costsOf(const Chip& chip, const ConvPlan& plan, const ConvTile& tile);

/// Plans products on one kind of chip, and remembers them. May be used from several threads.
class Planner {
 public:
  explicit Planner(const Chip& chip) : chip_(chip) {}

  /// The plan with the fewest cycles whose temporaries take at most `proportion` of a tile; where none fits,
  /// the one that takes least memory, and of several such the fastest.
  std::shared_ptr<const ConvPlan> plan(const ConvShape& shape, double proportion);

  /// A part of the chip with its planner.
  struct Share;
  Share& share(std::int64_t tiles);

 private:
  std::shared_ptr<const ConvPlan> planAsGiven(const ConvShape& shape, double proportion);
  std::int64_t memoryFor(double proportion) const;
  bool fits(const ConvPlan& plan, double proportion) const;

  const Chip& chip_;
  PassOverheads overheads_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ConvPlan>> plans_;
  std::map<std::int64_t, std::shared_ptr<Share>> shares_;
};

struct Planner::Share {
  explicit Share(const Chip& whole, std::int64_t tiles) : chip(whole), planner(chip) { chip.tiles = tiles; }
  Chip chip;
  Planner planner;
};

}  // namespace pipescope::devices::ipu
