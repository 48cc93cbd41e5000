#pragma once
// Which process writes a profile, and whether it still lives.
#include <cstdint>
#include <string>

namespace pipescope::store {

struct WriterProcess {
  std::string host;  ///< host name and process namespace: ids mean nothing in another container
  std::string boot;  ///< id of the system's boot; empty where the system does not tell
  std::int64_t pid = 0;
  std::int64_t start = 0;  ///< when the process started, in clock ticks since the boot; 0 where unknown
};

WriterProcess thisProcess();

/// True only where it is certain: the same host, and no process of this id and start (or another boot).
bool isDead(const WriterProcess& writer);

}  // namespace pipescope::store
