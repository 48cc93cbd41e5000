#pragma once
// Saves and loads weights and the optimizer's state for --save-weights and --load-weights. The file is an
// .npz archive with a NumPy array for each weight, named by its name path. Training adds the arrays
// "optimizer/<weight>/<state>", "optimizer/updates" and "optimizer/loss_scale". bfloat16 weights are written
// as float32.
#include <optional>
#include <string>

#include "engine/config/configuration.h"
#include "engine/numerics/session.h"

namespace pipescope::app {

/// Checks before the run that weights can be loaded from and saved to the configured paths.
base::Status checkWeightFiles(const config::Configuration& configuration);

/// Writes the weights, and in training the optimizer's state, to an .npz file. Errors name the file.
base::Status saveWeights(const std::string& path, numerics::Session& session);

/// Sets the session's weights. In training it also sets the optimizer's state if the file has one. The file
/// must hold every weight with the right shape. Real numbers of another type are converted. Errors name the
/// file and the weight.
base::Status loadWeights(const std::string& path, numerics::Session& session);

}  // namespace pipescope::app
