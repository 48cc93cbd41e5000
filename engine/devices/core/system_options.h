#pragma once
// What can be asked of a system besides its name.
#include <cstdint>
#include <filesystem>
#include <map>

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

}  // namespace pipescope::devices
