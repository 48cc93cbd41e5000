#pragma once
// What can be asked of a system besides its name.
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace pipescope::devices {

/// A setting that only some families take; each family lists the names of those it knows (Family::settings).
struct FamilySetting {
  std::string name;  ///< "io_tiles"
  std::variant<double, std::string> value;
  int device = -1;  ///< the device that it holds for; −1: all devices
};

struct SystemOptions {
  /// Folder with the user's devices/*.toml and systems/*.toml; empty: none.
  std::filesystem::path userFolder;
  /// Devices wanted; 0: as many as the name says. The system has the smallest allowed partition that holds
  /// them.
  std::int64_t devices = 0;
  /// The devices of a replica work one after another, so they never share what the devices of a machine have
  /// in common.
  bool oneAtATime = false;
  std::vector<FamilySetting> settings;
};

}  // namespace pipescope::devices
