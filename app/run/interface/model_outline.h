#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::run {

/// The names in an ONNX model, in its order. Frameworks assign blocks by the names of nodes.
struct ModelOutline {
  struct Node {
    std::string op, name;
  };
  std::vector<Node> nodes;
  std::vector<std::string> inputs, outputs, weights;
  std::vector<std::string> tensors;  ///< results of nodes
};

/// Reads a model from memory. `name` stands for it in error sentences.
base::Result<ModelOutline> outlineOf(std::span<const std::byte> bytes, const std::string& name);

}  // namespace pipescope::run
