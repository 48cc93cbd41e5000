#pragma once
// The address of each variable on one unit (tile). The rows say how many bytes of a variable lie on the unit,
// when it is live and which part of memory it needs; the layout follows from them, so a profile records no
// address for each of 1,472 tiles. If a profile does record addresses (VariableUnits::address), these are
// given.
//
// Always-live variables come first (profiler/model/unit_pools.h). The rest shares addresses: two variables
// lie at the same address only if their lives do not meet. A variable lies in one piece if a hole is large
// enough, and in several otherwise; a tensor is divided on a tile in Poplar, too.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/model/unit_pools.h"

namespace pipescope::analysis {

/// A variable, or a piece of it, at its address. Each life of a variable has an address of its own.
struct PlacedVariable {
  model::VariableId id;
  std::string name, category, shape;
  std::string region;  ///< non_interleaved, interleaved or overflowed; "hbm" …: the memory has no regions
  std::int32_t stage = -1;
  bool alwaysLive = false;
  std::int64_t address = 0;  ///< −1: it is live in no step, so it has none
  Bytes bytes;               ///< bytes of this piece
  Bytes ofUnit;              ///< bytes of the whole variable on the unit
  int piece = 0, pieces = 1;
  /// The program steps [firstStep, endStep) in which it is live; −1 for what is always live.
  std::int32_t firstStep = -1, endStep = -1;
};

struct UnitLayout {
  bool known = false;                     ///< false if the profile does not say which unit holds what
  std::vector<PlacedVariable> variables;  ///< sorted by address, then by first step
  /// Pools that divide the addresses; empty if the addresses are recorded.
  std::vector<model::UnitPool> pools;
  std::vector<std::string> alwaysLive;  ///< category in unit_memory of each always-live pool, by its index
  Bytes used;                           ///< bytes without gaps
  std::int64_t end = 0;                 ///< the address behind the last byte that is used
  /// Bytes that need interleaved memory but lie elsewhere, because no order of placing found room there.
  Bytes misplaced;
};

/// Fails if rows are damaged, because the addresses would be wrong without a warning.
Result<UnitLayout> unitLayout(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable, model::MemorySpaceId space, std::int64_t unit);

}  // namespace pipescope::analysis
