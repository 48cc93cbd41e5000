#include "engine/ops/standard_operators.h"

#include "engine/ops/float8_products.h"

namespace pipescope::ops {

const OperatorRegistry& standardOperators() {
  static const OperatorRegistry registry = [] {
    OperatorRegistry all;
    registerOperators(all);
    addFloat8Products(all);
    return all;
  }();
  return registry;
}

}  // namespace pipescope::ops
