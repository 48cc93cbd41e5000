#pragma once
// Identifies the process that writes a profile, and tells whether it still runs.
#include <cstdint>
#include <string>

namespace pipescope::store {

struct WriterProcess {
  /// Host name and process namespace, because process ids mean nothing in another container.
  std::string host;
  std::string boot;  ///< id of the boot of the system; empty if the system does not tell
  std::int64_t pid = 0;
  std::int64_t start = 0;  ///< time at which the process started, in clock ticks since the boot; 0 if unknown
};

WriterProcess thisProcess();

/// True only if it is certain: it was this host, and no process has this id and start time (or the system was
/// rebooted).
bool isDead(const WriterProcess& writer);

}  // namespace pipescope::store
