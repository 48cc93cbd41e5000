#pragma once
// Decides which calls that an IR proposes share the code of their function on an IPU. Poplar's Call copies
// arguments that differ between calls into tensors of the function, and results out of them. This takes
// memory and time at each call. It saves the code, exchange code and vertex state of all calls but one.
//
// An argument is copied right before the operator that uses it first, and a result right after the operator
// that makes it (C: PopART's SubgraphCopyingStrategy::JustInTime, which Graphcore's BERT sets). An argument
// that nobody needs after the call leaves its place to the copy.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

struct OutlinedCall {
  /// Bytes copied before and after an operator. `moved` of the bytes that are copied in leave their old
  /// place.
  struct Copies {
    std::int64_t in = 0, moved = 0, out = 0;
  };
  /// A copy that lives beside its original during some operators of the call, the last one included.
  struct Held {
    std::size_t first = 0, last = 0;
    std::int64_t bytes = 0;
  };
  std::string function, name;
  std::size_t first = 0, count = 0;  ///< operators of the pass
  bool keepsCode = false;            ///< true for the first call of its function in program order
  std::vector<Copies> copies;        ///< one for each operator of the call
  std::vector<Held> held;
};

class Outlining {
 public:
  /// Looks at the calls in all passes of a device's stages, and outlines a function if that saves more memory
  /// than it adds to the peak.
  static base::Result<Outlining> choose(const std::vector<const compile::StageIr*>& stages,
                                        const IpuLoweringContext& context);

  /// The call that contains the operator; null: it shares no code.
  const OutlinedCall* callAt(const compile::PassIr& pass, std::size_t op) const;
  std::vector<LoweredCall> callsOf(const compile::PassIr& pass) const;
  /// Outlined calls and saved memory. The lowering adds the time of the copies.
  std::int64_t calls() const { return calls_; }
  Bytes saved() const { return saved_; }

 private:
  std::map<const compile::PassIr*, std::vector<OutlinedCall>> byPass_;
  std::int64_t calls_ = 0;
  Bytes saved_;
};

}  // namespace pipescope::devices::ipu
