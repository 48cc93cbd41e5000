#pragma once
// How ScatterElements and ScatterND combine an update with what is there.
#include "engine/ops/operator.h"

namespace pipescope::ops {

enum class ScatterReduction { none, add, mul, min, max };

/// The attribute `reduction`.
Result<ScatterReduction> scatterReduction(const OperatorCall& call);

template <class T>
T combined(T old, T update, ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::none:
      break;
    case ScatterReduction::add:
      return static_cast<T>(old + update);
    case ScatterReduction::mul:
      return static_cast<T>(old * update);
    case ScatterReduction::min:
      return update < old || update != update ? update : old;
    case ScatterReduction::max:
      return old < update || update != update ? update : old;
  }
  return update;
}

}  // namespace pipescope::ops
