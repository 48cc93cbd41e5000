#pragma once
// Several instances of one program, started by `pipescope poprun`.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "engine/config/configuration.h"
#include "engine/numerics/instances.h"

namespace pipescope::app {

/// Facts that the launcher told this process.
struct Launch {
  int instances = 1, instance = 0;
  std::int64_t replicas = 1;  ///< number of all instances together
  int onHost = 1;             ///< instances on this host
};

/// Reads the launcher's environment variables. None: this process runs alone. Errors: a variable that is no
/// number, or replicas that do not divide by the instances.
base::Result<std::optional<Launch>> launchOf(const std::function<const char*(const char*)>& getenv);

/// Turns the configuration of a whole run into that of one instance: all replicas are emulated, and the data
/// is divided, and the instances of a host share its cores. Only the first instance writes files. Refused: a
/// replication factor that contradicts the launcher, and data.instances.
base::Status useLaunch(const Launch& launch, config::Configuration& configuration);

/// Refuses instances with another version of Pipescope or another configuration than the first. Every
/// instance calls it, and gets the same answer.
base::Status compareInstances(const numerics::Instances& instances,
                              const config::Configuration& configuration);

/// Names the folder in which an instance tells its launcher which profiles it writes.
inline constexpr const char* kLauncherFolder = "PIPESCOPE_LAUNCHER_FOLDER";
inline constexpr const char* kLauncherProfiles = "profiles";

/// Tells the launcher the path of a profile that this instance writes, so that it can end the profile if the
/// instance cannot. Without a launcher it does nothing.
base::Status tellLauncher(const std::filesystem::path& profile);

}  // namespace pipescope::app
