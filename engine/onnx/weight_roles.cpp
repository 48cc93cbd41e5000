#include "engine/onnx/weight_roles.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pipescope::onnx {

bool isMask(const TensorValue& value) {
  if (value.type.element != ElementType::float32) return false;
  constexpr float kBeyondWeights = 1e30F;
  const std::byte* at = value.bytes.data();
  for (std::size_t left = value.bytes.size() / sizeof(float); left > 0; --left, at += sizeof(float)) {
    float element = 0;
    std::memcpy(&element, at, sizeof element);
    if (element >= kBeyondWeights || element <= -kBeyondWeights) return true;
  }
  return false;
}

bool holdsSettings(const std::string& op, std::size_t input) {
  struct Places {
    const char* op;
    std::size_t first, last;
  };
  static constexpr Places kPlaces[] = {{"BatchNormalization", 3, 4},
                                       {"Clip", 1, 2},
                                       {"Pad", 2, 2},
                                       {"Dropout", 1, 2},
                                       {"Resize", 1, 2},
                                       {"OneHot", 2, 2},
                                       {"QuantizeLinear", 1, 2},
                                       {"DequantizeLinear", 1, 2},
                                       {"Upsample", 1, 1},
                                       {"Range", 0, 2},
                                       {"NonMaxSuppression", 3, 4}};
  return std::ranges::any_of(
      kPlaces, [&](const Places& p) { return op == p.op && input >= p.first && input <= p.last; });
}

bool movesStatistics(const OnnxNode& node) {
  const auto mode = node.attributes.find("training_mode");
  const auto* value = mode == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&mode->second);
  return node.op == "BatchNormalization" && value != nullptr && *value == 1;
}

}  // namespace pipescope::onnx
