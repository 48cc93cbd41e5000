#pragma once
// Patterns that name blocks, as in `[[stages]] blocks = ["embeddings", "encoder/layer0..5"]`.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::compile {

/// A pattern names a block that is
///   the same text,
///   below it as a path: "encoder" names "encoder/layer0", "encoder/layer1" …,
///   like it with numbers from a range, both ends included: "encoder/layer0..5",
///   like it with any text in the place of each "*": "*/attention/*".
bool namesBlock(std::string_view pattern, std::string_view block);

/// The blocks that a pattern names, in the order of `blocks`.
std::vector<std::string> blocksNamed(std::string_view pattern, const std::vector<std::string>& blocks);

/// Divides blocks into stages so that stage s gets layers[s] of the model's layers, in order. A layer is a
/// block whose name ends in a number ("encoder/layer3"). Blocks before the first layer go to the first stage;
/// other blocks go to the stage of the layer before them. Refused: numbers that do not add up to the model's
/// layers, and a stage without layers.
base::Result<std::vector<std::vector<std::string>>> blocksByLayers(const std::vector<std::string>& blocks,
                                                                   const std::vector<std::int64_t>& layers);

}  // namespace pipescope::compile
