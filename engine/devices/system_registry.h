#pragma once
// Names to systems: `mk2`, `pod4`, `pod4:2`, `c2x8`. Families and files are found by themselves; `fixed` is
// not among them, because its costs come from a configuration (fixed/fixed_system.h).
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/system_options.h"
#include "profiler/base/result.h"

namespace pipescope::devices {

/// The system of that name: NAME, NAME:DEVICES, NAMExBOXES or NAME:DEVICESxBOXES; DEVICES counts the chips in
/// use. An unknown name is refused with the nearest one and the list, a faulty file with file and key.
base::Result<std::shared_ptr<const System>> makeSystem(std::string_view name,
                                                       const SystemOptions& options = {});

/// Names that makeSystem takes: chips and systems, sorted.
std::vector<std::string> knownSystems(const std::filesystem::path& userFolder = {});

}  // namespace pipescope::devices
