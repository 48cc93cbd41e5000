#pragma once
// The vertices on some units (tiles), by type.
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct VertexType {
  std::string type;
  std::int64_t count = 0;        ///< vertices, sum over compute sets and units
  std::int64_t computeSets = 0;  ///< compute sets that run some of them
  std::int64_t units = 0;        ///< units that hold some of them
  Bytes code;                    ///< bytes of code, once for each unit
  Bytes state, lists;            ///< own state of the vertices, and the lists that they point to
  Bytes data() const { return state + lists; }
  Bytes bytes() const { return code + state + lists; }
};

struct UnitVertices {
  bool known = false;             ///< false if the profile does not say where vertices are
  std::vector<VertexType> types;  ///< most bytes first
};

/// The vertices of a memory space on the given units, or on all units if none is given. The sums are over
/// these units.
Result<UnitVertices> unitVertices(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, model::MemorySpaceId space,
                                  const std::vector<std::int64_t>& units, base::Progress& progress);

}  // namespace pipescope::analysis
