#pragma once
// A starting plan in the words of another framework.
#include <string>
#include <vector>

#include "engine/compile/model/stage_layout.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Reads the stages of `text` for a model with these blocks, in their order.
///
/// Megatron's pipeline layout (docs.nvidia.com/megatron-core, "Custom Pipeline Model Parallel Layout"), such
/// as "Et*3|(tt|)*4tL": E stands for the blocks before the first numbered one, t for a numbered block, L for
/// the blocks after the last numbered one; a bar ends a stage, x*3 and (…)*3 repeat, commas and blanks mean
/// nothing. DeepSpeed's PipelineModule.parts, such as "[0, 3, 8]": the first block of each stage, and the
/// number of blocks.
///
/// Errors: other texts, stages without a block, and numbers of blocks that the model does not have.
base::Result<std::vector<compile::StageRequest>> stagesOfStart(const std::string& text,
                                                               const std::vector<std::string>& blocks);

}  // namespace pipescope::app
