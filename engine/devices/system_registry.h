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

/// True for the system whose costs are given (compile::FixedRun) instead of modelled.
bool costsAreGiven(std::string_view name);

/// A kind of device as frameworks name it, and what this family has of its own.
struct Accelerator {
  std::string name;                  ///< "ipu"
  std::string usualSystem;           ///< where only the accelerator is named
  std::vector<std::string> options;  ///< keys of [execution] that only its devices make use of
};
/// The accelerators that can be emulated, sorted by name.
std::vector<Accelerator> accelerators();
/// The one of a system's devices.
Accelerator acceleratorOf(const System& system);

/// Names that makeSystem takes: chips and systems, sorted.
std::vector<std::string> knownSystems(const std::filesystem::path& userFolder = {});

}  // namespace pipescope::devices
