#pragma once
// The search among splits: all that a lower bound does not rule out.
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/devices/ipu/plan_bound.h"
#include "engine/devices/ipu/plan_cost.h"

namespace pipescope::devices::ipu {

struct BestSplit {
  std::int64_t cycles = std::numeric_limits<std::int64_t>::max();
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();
  const ConvForm* form = nullptr;  ///< none: nothing found yet
  ConvSplit split;
};

class SplitSearch;

/// At least as few cycles as the fastest split of a form that did not fit.
struct MissedSplit {
  const ConvForm* form = nullptr;
  std::int64_t cycles = 0;
};

/// Looks through the splits of all forms that do a product in the same number of serial parts.
class FormsSearch {
 public:
  /// What run() finds goes to `fitting`, what shrink() finds to `smallest`; both keep what is better already,
  /// and point into this search.
  FormsSearch(const Chip& chip, std::vector<ConvForm> forms, std::int64_t memory, BestSplit& fitting,
              BestSplit& smallest, PassOverheads& overheads);
  ~FormsSearch();

  /// The fastest split whose temporaries fit in `memory`. Returns for each form what memory kept out.
  std::vector<MissedSplit> run();
  /// The split that takes least memory; of those that take as little, the fastest.
  void shrink();
  /// Splits, whole or in part, that were looked at so far: what planning took, whatever the machine.
  std::int64_t searched() const;

 private:
  std::vector<ConvForm> forms_;
  BestSplit& fitting_;
  std::vector<std::unique_ptr<SplitSearch>> searches_;
};

}  // namespace pipescope::devices::ipu
