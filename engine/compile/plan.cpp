#include "engine/compile/plan.h"

namespace pipescope::compile {

std::string toString(TensorUse use) {
  static constexpr const char* names[] = {"weight", "constant", "accumulator", "optimizer_state",
                                          "stash",  "input",    "activation",  "gradient"};
  return names[static_cast<std::size_t>(use)];
}

}  // namespace pipescope::compile
