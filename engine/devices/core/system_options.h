#pragma once
// Options that a caller can ask of a system besides its name.
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace pipescope::devices {

/// A setting that only some families take. Each family lists the names that it knows in Family::settings.
struct FamilySetting {
  std::string name;  ///< "io_tiles"
  std::variant<double, std::string> value;
  int device = -1;  ///< the device that it applies to; −1: all devices
};

struct SystemOptions {
  /// The folder with the user's devices/*.toml and systems/*.toml; empty: there is none.
  std::filesystem::path userFolder;
  /// The number of devices wanted; 0: as many as the name says. The system has the smallest allowed partition
  /// that holds them.
  std::int64_t devices = 0;
  /// The devices of a replica work one after another, so they never share what the devices of a machine have
  /// in common.
  bool oneAtATime = false;
  std::vector<FamilySetting> settings;
};

}  // namespace pipescope::devices
