#pragma once
// A starting plan in the words of another framework.
#include <cstddef>
#include <string>
#include <vector>

#include "engine/compiler/stage_layout.h"
#include "profiler/base/result.h"

namespace pipescope::app {

struct StartPlan {
  std::vector<compile::StageRequest> stages;
  std::size_t devices = 0;  ///< number that holds the stages; 0: the text does not say it
};

/// Reads the stages of `text` for a model with these blocks, in their order. The output of `pipescope plan
/// --write` for Megatron and DeepSpeed may be given as it is, with comments and the names of options.
///
/// Megatron's pipeline layout is a text such as "Et*3|(tt|)*4tL": E stands for the blocks before the first
/// numbered one, t for a numbered block, L for the blocks after the last numbered one; a bar ends a stage,
/// x*3 and (…)*3 repeat, commas and blanks mean nothing. Source: Megatron-LM,
/// megatron/core/transformer/pipeline_parallel_layer_layout.py, parse_str_to_list and validate_layer_layout.
///
/// DeepSpeed's PipelineModule.parts is a list such as "[0, 3, 8]": the first block of each stage, and the
/// number of blocks. Source: deepspeed/runtime/pipe/module.py, PipelineModule._partition_layers.
///
/// Errors: other texts, stages without a block, numbers of blocks that the model does not have, and devices
/// that do not divide the stages.
base::Result<StartPlan> readStartPlan(const std::string& text, const std::vector<std::string>& blocks);

}  // namespace pipescope::app
