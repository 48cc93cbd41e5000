#include "engine/onnx/model.h"

namespace pipescope::onnx {

bool isControlFlow(const std::string& op) {
  return op == "If" || op == "Loop" || op == "Scan";
}

bool isRandom(const std::string& op) {
  return op == "Dropout" || op == "Bernoulli" || op == "Multinomial" || op.starts_with("Random");
}

}  // namespace pipescope::onnx
