#pragma once
// Makes systems from their names: `mk2`, `pod4`, `pod4:2`, `c2x8`, `fixed`.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/family.h"
#include "engine/devices/core/system_options.h"
#include "profiler/base/result.h"

namespace pipescope::devices {

/// Makes the system of that name: NAME, NAME:DEVICES, NAMExBOXES or NAME:DEVICESxBOXES, where DEVICES counts
/// the chips in use. A NAME that ends in .toml is a file. Refuses an unknown name with the nearest known one
/// and the list of all, and a faulty file with file and key.
base::Result<std::shared_ptr<const System>> makeSystem(std::string_view name,
                                                       const SystemOptions& options = {});

/// The figures of a system, of its chip, and what measurements can correct in them.
struct SystemFigures {
  FigureFile chip;
  std::optional<FigureFile> system;  ///< none: a chip alone
  std::string suffix;                ///< ":DEVICES", "xBOXES" or both, as written
  std::string family;
  std::vector<CorrectedProperty> corrected;
  std::string reservedMemory;
};
base::Result<SystemFigures> figuresOf(const std::string& name, const std::filesystem::path& userFolder);

/// Fails with a sentence if the family of this system does not take one of the settings.
base::Status checkSettings(std::string_view name, const SystemOptions& options);

/// True if the configuration states the costs of this system, so that it takes no model
/// (SystemFacts::costsGiven). False for a name that makeSystem refuses.
bool hasGivenCosts(std::string_view name, const std::filesystem::path& userFolder = {});

/// Schedule that the frameworks of this system give to pipelines, `chunked` with several stages on each
/// device; empty: they have none, or makeSystem refuses the name.
std::string usualScheduleOf(std::string_view name, bool chunked,
                            const std::filesystem::path& userFolder = {});

/// A kind of device as frameworks name it.
struct Accelerator {
  std::string name;                   ///< see SystemFacts::accelerator
  std::string usualSystem;            ///< the system to use where only the accelerator is named
  std::vector<std::string> settings;  ///< names of the SystemOptions::settings that only its devices take
};
/// The accelerators that can be emulated, sorted by name.
std::vector<Accelerator> accelerators();

/// Names that makeSystem takes: chips and systems, sorted.
std::vector<std::string> knownSystems(const std::filesystem::path& userFolder = {});

}  // namespace pipescope::devices
