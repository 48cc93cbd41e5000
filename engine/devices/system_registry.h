#pragma once
// Names to systems: `mk2`, `pod4`, `pod4:2`, `c2x8`. Families and files are found by themselves; `fixed` is
// not among them, because its costs come from a configuration (fixed/fixed_system.h).
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/devices/device_family.h"
#include "profiler/base/result.h"

namespace pipescope::devices {

struct SystemOptions {
  /// Folder with the user's devices/*.toml and systems/*.toml; empty: none.
  std::filesystem::path userFolder;
  /// Devices wanted; 0: as many as the name says. The system has the smallest allowed partition that holds
  /// them.
  std::int64_t devices = 0;
  /// Share of a tile's memory that the temporaries of one product or convolution may take, 0…1.
  double availableMemoryProportion = 0.6;
  /// Tiles of each chip that only carry data in and out; the others compute.
  std::int64_t ioTiles = 0;
  /// By device index, where it differs.
  std::map<int, double> availableMemoryProportionOf;
  /// Products of float16 operands keep their sums in float16 too, where a family's hardware can.
  bool halfPartials = false;
  /// Devices of a replica work one after another, and so never share what a machine's devices have in common.
  bool oneAtATime = false;
};

/// The system of that name: NAME, NAME:DEVICES, NAMExBOXES or NAME:DEVICESxBOXES; DEVICES counts the chips in
/// use. An unknown name is refused with the nearest one and the list, a faulty file with file and key.
base::Result<std::shared_ptr<const System>> makeSystem(std::string_view name,
                                                       const SystemOptions& options = {});

/// Names that makeSystem takes: chips and systems, sorted.
std::vector<std::string> knownSystems(const std::filesystem::path& userFolder = {});

}  // namespace pipescope::devices
