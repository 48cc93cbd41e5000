#pragma once
// Searches the splits of a product, except those that a lower bound rules out.
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/devices/ipu/products/plan_bound.h"
#include "engine/devices/ipu/products/plan_cost.h"

namespace pipescope::devices::ipu {

struct BestSplit {
  std::int64_t cycles = std::numeric_limits<std::int64_t>::max();
  const ConvForm* form = nullptr;  ///< null: nothing has been found yet
  ConvSplit split;
};

class SplitSearch;

/// A lower bound for the cycles of the splits of a form that did not fit.
struct MissedSplit {
  const ConvForm* form = nullptr;
  std::int64_t cycles = 0;
};

/// Searches the splits of all forms that do a product in the same number of serial parts.
class FormsSearch {
 public:
  /// run() improves `best`, which then points into this search, or keeps it if it is better already.
  FormsSearch(const Chip& chip, std::vector<ConvForm> forms, std::int64_t memory, BestSplit& best,
              PassOverheads& overheads);
  ~FormsSearch();

  /// Finds the fastest split whose temporaries fit into `memory`. Returns for each form what the limit on
  /// memory kept out.
  std::vector<MissedSplit> run();
  /// Number of splits, whole or partial, that the search has looked at: a measure of its work on any machine.
  std::int64_t searched() const;

 private:
  std::vector<ConvForm> forms_;
  BestSplit& best_;
  std::vector<std::unique_ptr<SplitSearch>> searches_;
};

}  // namespace pipescope::devices::ipu
