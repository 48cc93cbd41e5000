#pragma once
// The program tree of one device as PopVision's users know it: what the host calls, with its loops, the
// passes of its stages, their steps; and the functions that calls share.
//
//   Sequence training
//     Repeat (device iterations)
//       Repeat (micro-batches)
//         Sequence stage0/forward
//           OnTileExecute, DoExchange, Sync …
//           Call encoder/layer0 → Function
//         GlobalExchange (tensors from and to other stages)
//       Sequence stage0/update
//   Function encoder/layer0/forward/function
//     OnTileExecute … (the code, under the names of its first call)
//
// A pipeline's ramps run parts of the inner loop's body, which are not programs of their own here.
#include <map>
#include <string>
#include <utility>

#include "engine/devices/core/device_family.h"
#include "profiler/record/recorder.h"

namespace pipescope::emulate {

/// Debug contexts of name paths, each part recorded once.
class NameTree {
 public:
  explicit NameTree(record::Recorder& recorder) : recorder_(recorder) {}
  model::DebugContextId at(const std::string& path, const char* layer);

 private:
  record::Recorder& recorder_;
  std::map<std::string, model::DebugContextId> known_;
};

class ProgramTree {
 public:
  struct Loops {
    std::string name;  ///< of the executable
    std::int64_t iterations = 1, microBatches = 1;
  };
  ProgramTree(record::Recorder& recorder, NameTree& names, model::ExecutableId executable,
              model::DeviceId device, const Loops& loops);

  /// The sequence of a pass; what runs once per iteration lies outside the loop over micro-batches.
  void beginPass(const devices::LoweredPass& pass);
  /// A step of that pass, within its call if it is in one. `op`: index into the pass's operators.
  model::ProgramId addStep(const devices::LoweredStep& step, model::OperatorId op);
  /// An exchange with other devices, or the sync before it, once per micro-batch.
  model::ProgramId addExternal(const char* kind, const std::string& path);
  /// The program of the pass's step of this name; where none ran (it takes no time), one is added.
  model::ProgramId programOf(const devices::LivenessStep& step);

 private:
  model::ProgramId add(model::ProgramId parent, const std::string& kind, const std::string& path,
                       model::OperatorId op = {}, std::int64_t count = 1, model::ProgramId target = {});
  /// The step, and what Poplar has around it.
  model::ProgramId addUnder(model::ProgramId parent, const devices::LoweredStep& step, model::OperatorId op);

  record::Recorder& recorder_;
  NameTree& names_;
  model::ExecutableId executable_;
  model::DeviceId device_;
  model::ProgramId root_, iteration_, microBatch_;
  const devices::LoweredPass* pass_ = nullptr;
  model::ProgramId sequence_;
  std::map<int, model::ProgramId> calls_;  ///< of the pass, by its index
  struct Function {
    model::ProgramId id;
    const devices::LoweredPass* pass = nullptr;  ///< its first call: whose steps its body is made of
    int call = 0;
  };
  std::map<std::string, Function> functions_;
  std::map<std::tuple<model::Pass, std::string, std::string>, model::ProgramId> known_;
};

}  // namespace pipescope::emulate
