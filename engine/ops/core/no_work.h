#pragma once
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// The Work of operators that compute nothing on a device: they rename memory, or shapes alone decide their
/// result.
inline std::vector<Work> noWork(const OperatorCall&) {
  return {};
}

}  // namespace pipescope::ops
