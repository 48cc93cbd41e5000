#pragma once
// Weights and the optimizer's state in a file: --save-weights and --load-weights. An .npz archive of NumPy
// arrays: each weight by its name path; in training also "optimizer/<weight>/<state>", "optimizer/updates"
// and "optimizer/loss_scale". bfloat16 weights are written as float32.
#include <optional>
#include <string>

#include "engine/config/configuration.h"
#include "engine/numerics/session.h"

namespace pipescope::app {

/// Refuses, before anything runs, paths that no weights can be saved to or loaded from.
base::Status checkWeightFiles(const config::Configuration& configuration);

base::Status saveWeights(const std::string& path, numerics::Session& session);

/// Sets the session's weights; in training also the optimizer's state where the file has it. Every weight
/// must be there with its shape; real numbers of another type are converted. Errors name the file and the
/// weight.
base::Status loadWeights(const std::string& path, numerics::Session& session);

}  // namespace pipescope::app
