#pragma once
// Which of the calls that a plan proposes share their function's code on an IPU. Poplar's Call copies what
// differs between the calls into the function's own tensors, and results out of them: that takes memory while
// the function runs and time at each call; what is saved is the code, exchange code and vertex state of all
// calls but one.
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
  bool keepsCode = false;                  ///< the first call of its function in program order
  std::int64_t bytesIn = 0, bytesOut = 0;  ///< copied before and after
};

class Outlining {
 public:
  /// Looks at the calls of all passes of a device's stages; a function is taken where it saves memory.
  static base::Result<Outlining> choose(const std::vector<const compile::StagePlan*>& stages,
                                        const LoweringContext& context);

  /// The call that the operator is in; null: none that shares code.
  const OutlinedCall* callAt(const compile::PassPlan& pass, std::size_t op) const;
  std::vector<LoweredCall> callsOf(const compile::PassPlan& pass) const;
  /// Calls and memory; the time of the copies is the lowering's to add.
  std::int64_t calls() const { return calls_; }
  Bytes saved() const { return saved_; }

 private:
  std::map<const compile::PassPlan*, std::vector<OutlinedCall>> byPass_;
  std::int64_t calls_ = 0;
  Bytes saved_;
};

}  // namespace pipescope::devices::ipu
