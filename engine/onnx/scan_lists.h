#pragma once
// Reads the lists of axes and directions of a Scan for instantiate() and the interpreter.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// Reads a list of `count` whole numbers, which are zeros if the node does not have the attribute. Error:
/// another length.
base::Result<std::vector<std::int64_t>> scanList(const OnnxNode& node, const std::string& name,
                                                 std::size_t count);

/// Reads a list of directions, where true means reverse. Error: another length, or an entry that is neither 0
/// nor 1.
base::Result<std::vector<bool>> scanDirections(const OnnxNode& node, const std::string& name,
                                               std::size_t count);

}  // namespace pipescope::onnx
