#pragma once
#include <memory>

#include "engine/numerics/instances.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// Loads the MPI module and joins the other instances of this process's launcher. Later calls return the
/// same. The error says what is missing.
base::Result<std::shared_ptr<const Instances>> joinInstances();
/// Waits until all instances come here, and leaves. Does nothing if joinInstances() was not called. A process
/// that failed must end without it, so that the launcher ends the others.
void leaveInstances();

}  // namespace pipescope::numerics
