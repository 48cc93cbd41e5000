#pragma once
// What devices made of stages. Compilations that share it lower equal stages once.
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/system_options.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Any thread may call it. A result is found again by everything that lowering reads: the plans of all stages
/// of the device, and the system with its options. Results are the same as without it.
class LoweredStages {
 public:
  /// See devices::makeSystem. Equal options give the same system.
  base::Result<std::shared_ptr<const devices::System>> system(const std::string& name,
                                                              const devices::SystemOptions& options);
  /// See devices::System::lower. `system` comes from system().
  base::Result<devices::LoweredDevice> lower(const devices::System& system,
                                             const std::vector<const StagePlan*>& stages);
  /// Devices that were lowered, and that were found.
  std::int64_t lowered() const { return lowered_; }
  std::int64_t found() const { return found_; }

 private:
  using Device = base::Result<devices::LoweredDevice>;

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const devices::System>> systems_;  ///< by the text of their options
  std::map<std::string, std::shared_ptr<const Device>> devices_;
  std::deque<std::string> keys_;  ///< of devices_, the oldest first
  std::size_t bytes_ = 0;         ///< of the keys
  std::int64_t lowered_ = 0, found_ = 0;
};

}  // namespace pipescope::compile
