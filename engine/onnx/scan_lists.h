#pragma once
// Scan's lists of axes and directions, as instantiate() and the interpreter read them.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// A list of `count` whole numbers; zeros where the node does not have it. Another length is an error.
base::Result<std::vector<std::int64_t>> scanList(const ModelNode& node, const std::string& name,
                                                 std::size_t count);

/// The same of directions: true is reverse. Entries but 0 and 1 are an error.
base::Result<std::vector<bool>> scanDirections(const ModelNode& node, const std::string& name,
                                               std::size_t count);

}  // namespace pipescope::onnx
