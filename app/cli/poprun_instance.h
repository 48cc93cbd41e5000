#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pipescope::cli {

/// End of an instance that failed. Instances write it to a file of the launcher's folder.
struct InstanceEnd {
  int instance = 0;
  std::string host, cause;
  std::int64_t at = 0;  ///< nanoseconds, to find out who was first
};

/// Runs the program of one instance as a child of this process, which mpirun started. Shows its output only
/// if `outputFrom` is −1 or this instance. Reports a failure to `folder`, so that the launcher can name it.
/// On another host than the launcher's it prints the failure, and ends the profiles that were begun there.
/// Returns the exit status.
int runInstance(const std::vector<std::string>& program, const std::filesystem::path& folder, int outputFrom);

/// The first failure that was reported to the folder; none: all instances ended well.
std::optional<InstanceEnd> firstFailure(const std::filesystem::path& folder);

/// The file by which an instance knows that `folder` is the launcher's own, on its host.
inline constexpr const char* kLauncherHere = "launcher";

/// Gives the profiles that instances on this host began to write, and left behind, the cause as their reason.
void endProfiles(const std::filesystem::path& folder, const std::string& cause);

}  // namespace pipescope::cli
