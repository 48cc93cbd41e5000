#include "engine/ops/standard_operators.h"

namespace pipescope::ops {

const OperatorRegistry& standardOperators() {
  static const OperatorRegistry registry = [] {
    OperatorRegistry all;
    registerOperators(all);
    return all;
  }();
  return registry;
}

}  // namespace pipescope::ops
