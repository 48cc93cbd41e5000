#pragma once
// Collects what the output mode of an executable returns of a call. Used by Executable.
#include "app/run/interface/model_executable.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/numerics/session.h"

namespace pipescope::run {

class ReturnedOutputs {
 public:
  ReturnedOutputs(const emulate::ExecutableFacts& facts, const ExecutableInfo& info);

  /// The outputs of an iteration that must be kept.
  numerics::Keep keep(std::int64_t iteration) const;
  void add(std::int64_t iteration, const numerics::Results& results);
  /// Hands over everything that was added.
  void finish(CallResult& result);

 private:
  bool isSum() const { return facts_.output.mode == emulate::OutputRule::Mode::sum; }
  void append(std::size_t output, std::span<const std::byte> microBatch);
  void addTo(std::size_t output, std::size_t replica, std::span<const std::byte> microBatch);

  const emulate::ExecutableFacts& facts_;
  const ExecutableInfo& info_;
  std::vector<float> losses_, returned_;
  std::vector<std::vector<std::byte>> bytes_;  ///< bytes of each output
  std::vector<std::vector<double>> sums_;      ///< sums of each output, for all replicas
};

}  // namespace pipescope::run
