#pragma once
// Decides which calls that a plan proposes share the code of their function on an IPU. Poplar's Call copies
// arguments that differ between calls into tensors of the function, and results out of them. This takes
// memory while the function runs, and time at each call. It saves the code, exchange code and vertex state of
// all calls but one.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

struct OutlinedCall {
  std::string function, name;
  std::size_t first = 0, count = 0;        ///< operators of the pass
  bool keepsCode = false;                  ///< whether it is the first call of its function in program order
  std::int64_t bytesIn = 0, bytesOut = 0;  ///< bytes copied before and after the call
};

class Outlining {
 public:
  /// Looks at the calls in all passes of a device's stages, and outlines a function if that saves memory.
  static base::Result<Outlining> choose(const std::vector<const compile::StagePlan*>& stages,
                                        const LoweringContext& context);

  /// The call that contains the operator; null: it shares no code.
  const OutlinedCall* callAt(const compile::PassPlan& pass, std::size_t op) const;
  std::vector<LoweredCall> callsOf(const compile::PassPlan& pass) const;
  /// Outlined calls and saved memory. The lowering adds the time of the copies.
  std::int64_t calls() const { return calls_; }
  Bytes saved() const { return saved_; }

 private:
  std::map<const compile::PassPlan*, std::vector<OutlinedCall>> byPass_;
  std::int64_t calls_ = 0;
  Bytes saved_;
};

}  // namespace pipescope::devices::ipu
