#pragma once
// Settings that only some families of devices take.
#include <vector>

#include "engine/config/configuration.h"
#include "engine/devices/core/system_options.h"

namespace pipescope::app {

/// The settings of this kind that the configuration gives. devices::makeSystem refuses them for other families.
std::vector<devices::FamilySetting> deviceSettings(const config::Configuration& configuration);

/// Fails with a sentence if the family of the configuration's system does not take one of its settings.
base::Status checkDeviceSettings(const config::Configuration& configuration);

}  // namespace pipescope::app
