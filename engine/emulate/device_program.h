#pragma once
// The tree of programs of one device as users of PopVision know it: what the host calls with its loops, the
// passes of stages and their steps, and the functions that calls share.
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
// The ramps of a pipeline run parts of the body of the inner loop. The tree has no programs of their own for
// them.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "profiler/record/recorder.h"

namespace pipescope::emulate {

/// Records the debug contexts of name paths, each part of a path once.
class NameTree {
 public:
  explicit NameTree(record::Recorder& recorder) : recorder_(recorder) {}
  model::DebugContextId at(std::string_view path, const char* layer);

 private:
  /// A part of a path below the context of those before it. Long models have some hundred thousand of them,
  /// but few different words, so that no path is kept as text.
  struct Place {
    std::int32_t parent = -1;
    std::int32_t word = -1;  ///< −1: the place is free
    std::int32_t context = -1;
  };
  /// A prefix of the last path that was asked for.
  struct Known {
    std::size_t end = 0;  ///< characters up to the slash behind it
    model::DebugContextId context;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  model::DebugContextId child(model::DebugContextId parent, std::string_view word, const char* layer);
  std::int32_t numberOf(std::string_view word);
  /// The place of this part, or the free one where it belongs.
  Place& placeOf(std::int32_t parent, std::int32_t word);
  void grow();

  record::Recorder& recorder_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> words_;
  std::vector<Place>
      places_;  ///< a table of 2ⁿ places, a quarter of them free; parts that meet take the next
  std::size_t used_ = 0;
  std::string last_;
  std::vector<Known> prefixes_;  ///< of last_, shortest first
};

class ProgramTree {
 public:
  struct Loops {
    std::string name;  ///< name of the executable
    std::int64_t iterations = 1, microBatches = 1;
  };
  ProgramTree(record::Recorder& recorder, NameTree& names, model::ExecutableId executable,
              model::DeviceId device, const Loops& loops);

  /// Begins the sequence of a pass. A pass that runs once per iteration lies outside the loop over
  /// micro-batches. Recomputed work of a backward pass becomes sequences of its own.
  void beginPass(const devices::LoweredPass& pass);
  /// Adds a step of that pass, within its call if it belongs to one. `op` is the recorded operator of the
  /// step.
  model::ProgramId addStep(const devices::LoweredStep& step, model::OperatorId op);
  /// Adds an exchange with other devices, or the sync before it, once per micro-batch.
  model::ProgramId addExternal(const char* kind, const std::string& path);
  /// Returns the program of the step of this name in its pass. If none ran, because the step takes no time,
  /// it adds one.
  model::ProgramId programOf(const devices::LoweredStepMemory& step);

 private:
  model::ProgramId add(model::ProgramId parent, const std::string& kind, const std::string& path,
                       model::OperatorId op = {}, std::int64_t count = 1, model::ProgramId target = {});
  void beginSequence(model::Pass kind);
  model::Pass passOf(const devices::LoweredStep& step) const;
  /// Adds the program of the step and the programs that Poplar has around it.
  model::ProgramId addUnder(model::ProgramId parent, const devices::LoweredStep& step, model::OperatorId op);

  record::Recorder& recorder_;
  NameTree& names_;
  model::ExecutableId executable_;
  model::DeviceId device_;
  model::ProgramId root_, iteration_, microBatch_;
  const devices::LoweredPass* pass_ = nullptr;
  model::Pass kind_ = model::Pass::forward;  ///< pass of the current sequence
  model::ProgramId sequence_;
  std::map<int, model::ProgramId> calls_;  ///< calls of the current pass, by index
  struct Function {
    model::ProgramId id;
    const devices::LoweredPass* pass = nullptr;  ///< pass of its first call, whose steps make up its body
    int call = 0;
  };
  std::map<std::string, Function> functions_;
  std::map<std::tuple<model::Pass, std::string, std::string>, model::ProgramId> known_;
};

}  // namespace pipescope::emulate
