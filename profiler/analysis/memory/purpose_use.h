#pragma once
// Divides the bytes of each unit (tile) by what they are for, or by the layer of the model that they serve.
// Categories of libpva say "variable" for nearly all of them; the variables of the profile say more.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// Part of a unit that is for variables which are not live at the device's peak step: they share their
/// addresses with those that are.
inline constexpr const char* kLiveInOtherSteps = "live_in_other_steps";
/// Part of a unit that no layer of the model needs alone, such as code that several layers share.
inline constexpr const char* kNoLayer = "no_layer";

/// The purpose of a category of memory: "code" for "vertexCode", "control" for "stack", and the category
/// itself for "weight".
std::string purposeOf(const std::string& category);

struct DividedUnits {
  /// False if the profile has no unit maps. Then bytes of variables are told apart only where the memory is
  /// in one piece.
  bool known = false;
  /// Bytes of each unit by purpose or layer, with "gap" for what nothing can use. For each unit they add up
  /// to its address span.
  std::map<std::string, std::vector<std::int64_t>> parts;
};

enum class UnitDivision { purpose, layer };

/// Divides the units of several memory spaces of an executable; one result for each space. What is always
/// live counts whole. Of what is not, the variables that are live at the step in which the space holds most
/// count, and the rest of the unit's own peak is kLiveInOtherSteps. Fails if rows cannot be read or if
/// `progress` was cancelled.
Result<std::vector<DividedUnits>> divideUnits(const model::ProfileSource& source, const Catalog& catalog,
                                              model::ExecutableId executable,
                                              const std::vector<model::MemorySpaceId>& spaces,
                                              UnitDivision by, base::Progress& progress);

}  // namespace pipescope::analysis
