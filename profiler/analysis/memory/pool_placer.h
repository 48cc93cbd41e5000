#pragma once
// Places what is not always live into the addresses that a unit has for it.
#include <cstdint>
#include <vector>

#include "profiler/model/enums.h"
#include "profiler/model/unit_pools.h"

namespace pipescope::analysis {

/// A variable during one of its lives, the program steps [first, end).
struct SharedItem {
  std::int32_t first = 0, end = 0;
  std::int64_t bytes = 0;
  model::MemoryPlace place = model::MemoryPlace::anywhere;
};

/// The addresses [from, to).
struct AddressSpan {
  std::int64_t from = 0, to = 0;
  std::int64_t bytes() const { return to - from; }
};

struct SharedPlaces {
  std::vector<std::vector<AddressSpan>> pieces;  ///< pieces of each item, ascending
  std::int64_t misplaced = 0;                    ///< bytes that do not lie where their place demands
};

/// The most bytes that are live at once.
model::UnitDemand demandOf(const std::vector<SharedItem>& items);

/// Places each item at addresses that are free during its whole life. The pools must hold the demand of the
/// items; everything then finds room, because an item may lie in several pieces. First come items that need a
/// certain place, then the others: below interleaved memory if that succeeds, else at places where
/// interleaved memory is free during their life, else in the order of their lives wherever there is room.
SharedPlaces placeShared(const std::vector<SharedItem>& items, const std::vector<model::UnitPool>& pools);

}  // namespace pipescope::analysis
