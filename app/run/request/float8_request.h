#pragma once
// Reads from [execution] what is computed in float8 or float4.
#include <optional>

#include "engine/compile/float8_casts.h"
#include "engine/config/configuration.h"
#include "engine/devices/core/device_family.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// True if execution.precision is float8.
bool usesFloat8(const config::Configuration& configuration);
/// True if execution.precision is float4.
bool usesFloat4(const config::Configuration& configuration);

/// Returns the support of the configuration's devices for float8 products. Refuses other devices with a
/// sentence that names some that do.
base::Result<devices::Float8Support> float8SupportOf(const config::Configuration& configuration);

/// Nothing if the precision is neither float8 nor float4. Refuses keys that would have no effect.
base::Result<std::optional<compile::Float8Request>> float8Request(const config::Configuration& configuration);

}  // namespace pipescope::app
