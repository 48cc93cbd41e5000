#pragma once
// Stages as the compiler's passes and the devices made them. Compilations that share it do this once for
// equal stages.
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/compile/passes/pass.h"
#include "engine/devices/core/device_family.h"
#include "engine/devices/core/system_options.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Values by text. It forgets the oldest ones when their keys take too much memory.
template <class Value>
class ValuesByText {
 public:
  /// Returns the value of the key; null if it is not known.
  std::shared_ptr<const Value> find(const std::string& key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? nullptr : at->second;
  }
  void add(const std::string& key, std::shared_ptr<const Value> value) {
    // A value grows with its key: it takes some ten bytes for each byte of the key.
    constexpr std::size_t kMostBytes = 32'000'000;
    if (!values_.emplace(key, std::move(value)).second) return;
    bytes_ += key.size();
    keys_.push_back(key);
    while (bytes_ > kMostBytes && keys_.size() > 1) {
      bytes_ -= keys_.front().size();
      values_.erase(keys_.front());
      keys_.pop_front();
    }
  }

 private:
  std::map<std::string, std::shared_ptr<const Value>> values_;
  std::deque<std::string> keys_;  ///< the oldest first
  std::size_t bytes_ = 0;         ///< bytes of the keys
};

/// The stages of a device after the passes over the IR, with the passes' reports.
struct PassedStages {
  std::vector<StageIr> stages;
  std::vector<PassReport> reports;
};

/// Any thread may call it. A result is found again by everything that it depends on: the IRs of all stages
/// of the device, and the options. Results are the same as without it.
class LoweredStages {
 public:
  /// See devices::makeSystem. Equal options give the same system.
  base::Result<std::shared_ptr<const devices::System>> system(const std::string& name,
                                                              const devices::SystemOptions& options);
  /// See devices::System::lower. `system` comes from system().
  base::Result<devices::LoweredDevice> lower(const devices::System& system,
                                             const std::vector<const StageIr*>& stages);
  /// Result of `run` for the stages of one device, which is computed if it is not known. `part` is the IR
  /// with these stages, and with the boundaries that they send; `options` is a text that differs where `run`
  /// does something else.
  PassedStages passed(const ExecutableIr& part, const std::string& options,
                      const std::function<PassedStages()>& run);
  /// Devices that were lowered, and that were found.
  std::int64_t lowered() const { return lowered_; }
  std::int64_t found() const { return found_; }
  /// Compilations that began.
  std::int64_t compilations() const { return compilations_; }
  /// Once `progress` is cancelled, compilations end with an error that says so. Several threads ask it. Null,
  /// as at first: they do not end.
  void setProgress(const base::Progress* progress) { progress_ = progress; }
  /// A compilation that begins or goes on. Error: it is cancelled.
  base::Status begin();
  base::Status goOn() const;

 protected:
  /// Says if lowered stages are remembered. Otherwise only systems are, with the plans of products that they
  /// know, because stages that nobody asks for again would take as much memory as the model.
  void rememberStages(bool remembers) { remembersStages_ = remembers; }

 private:
  using Device = base::Result<devices::LoweredDevice>;

  std::mutex mutex_;
  /// Keyed by the text of their options.
  std::map<std::string, std::shared_ptr<const devices::System>> systems_;
  ValuesByText<Device> devices_;
  ValuesByText<PassedStages> passed_;
  std::int64_t lowered_ = 0, found_ = 0;
  std::atomic<std::int64_t> compilations_ = 0;
  std::atomic<bool> remembersStages_ = true;
  std::atomic<const base::Progress*> progress_ = nullptr;
};

}  // namespace pipescope::compile
