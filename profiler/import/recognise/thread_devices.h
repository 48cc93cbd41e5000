#pragma once
#include <functional>
#include <map>
#include <string>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Names of the devices and lanes of a profile that is being written.
struct NamedPlaces {
  std::map<model::DeviceId, std::string> devices;
  std::map<model::LaneId, std::string> threads;  ///< thread of a host to which a lane belongs
};

/// One process may run a worker in each of its threads. If threads of a process compute different stages at
/// the same time, each of them becomes a device of its own: `addDevice` makes one of that name beside another
/// one. Moves the passes, messages and steps there.
void splitThreads(
    RecordedEvents& events, const NamedPlaces& places,
    const std::function<model::DeviceId(const std::string& name, model::DeviceId process)>& addDevice);

}  // namespace pipescope::importing
