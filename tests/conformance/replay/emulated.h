#pragma once
// Emulated profiles in memory, and what a replay of them says.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profiler/record/memory_profile.h"
#include "profiler/replay/what_if.h"

namespace pipescope::conformance {

/// Keys of a configuration and the text of its tables.
struct ReplayedSetup {
  std::string tables;
  std::map<std::string, std::string> keys;
  ReplayedSetup with(const std::string& key, const std::string& value) const;
  std::string describe() const;
};

struct EmulatedProfile {
  std::unique_ptr<record::MemoryProfile> profile;
  std::shared_ptr<const analysis::Catalog> catalog;
  /// The executable's last call ÷ its iterations.
  double stepTicks(std::size_t executable = 0) const;
};

const replay::Schedules& engineSchedules();

/// Compiles the setup and emulates two calls of each executable.
base::Result<EmulatedProfile> emulateSetup(const ReplayedSetup& setup);
base::Result<EmulatedProfile> emulateFile(const std::string& file);

base::Result<replay::Recording> recordingOf(const EmulatedProfile& emulated, std::size_t executable = 0);
/// The step time that a replay with the changes ("key=value") gives.
base::Result<double> replayedStep(const EmulatedProfile& emulated, const std::vector<std::string>& changes);

}  // namespace pipescope::conformance
