#pragma once
#include <vector>

#include "engine/compiler/model_request.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// Facts about stages that the schedule decides before their content is known.
struct SplitPlaces {
  std::vector<int> placeOfStage;  ///< place of each stage
  bool free = false;              ///< a stage may join the place of an earlier one instead
  std::vector<bool> recomputes;   ///< true for a stage whose backward pass computes the forward pass again
};

/// Asks the schedule about LayoutRequest::splitInto stages of the first executable; `recomputes` says whether
/// training recomputes at all. Gives the errors of the schedule: too few micro-batches, a number of stages
/// that it cannot have.
base::Result<SplitPlaces> splitPlaces(const compile::ModelRequest& request, bool recomputes);

}  // namespace pipescope::plan
