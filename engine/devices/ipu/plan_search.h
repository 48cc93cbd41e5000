#pragma once
// The search among splits: all that a lower bound does not rule out.
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/devices/ipu/plan_cost.h"

namespace pipescope::devices::ipu {

struct BestSplit {
  std::int64_t cycles = std::numeric_limits<std::int64_t>::max();
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();
  const ConvForm* form = nullptr;  ///< none: nothing found yet
  ConvSplit split;
};

class SplitSearch;

/// Looks through the splits of all forms that do a product in the same number of serial parts.
class FormsSearch {
 public:
  /// What run() finds goes to `fitting`, what shrink() finds to `smallest`; both keep what is better already,
  /// and point into this search.
  FormsSearch(const Chip& chip, std::vector<ConvForm> forms, std::int64_t memory, BestSplit& fitting,
              BestSplit& smallest);
  ~FormsSearch();

  /// The fastest split whose temporaries fit in `memory`. Returns at least as few cycles as the fastest that
  /// does not.
  std::int64_t run();
  /// The split that takes least memory, whatever its cycles.
  void shrink();

 private:
  std::vector<ConvForm> forms_;
  BestSplit& fitting_;
  std::vector<std::unique_ptr<SplitSearch>> searches_;
};

}  // namespace pipescope::devices::ipu
