#pragma once
// Collects what the output mode of an executable returns of a call. Used by Executable.
#include <map>

#include "app/run/interface/model_executable.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/numerics/session.h"

namespace pipescope::run {

class ReturnedOutputs {
 public:
  /// `own` are the rules of outputs that do not follow that of the executable, by their names.
  ReturnedOutputs(const emulate::ExecutableFacts& facts, const ExecutableInfo& info,
                  const std::map<std::string, emulate::OutputRule>& own);

  /// The outputs of an iteration that must be kept.
  numerics::Keep keep(std::int64_t iteration) const;
  void add(std::int64_t iteration, const numerics::Results& results);
  /// Hands over everything that was added.
  void finish(CallResult& result);

 private:
  static bool isSum(const emulate::OutputRule& rule) { return rule.mode == emulate::OutputRule::Mode::sum; }
  /// True if the rule returns micro-batch `k` of an iteration, counted over all replicas.
  bool returns(const emulate::OutputRule& rule, std::int64_t iteration, std::int64_t k) const;
  void append(std::size_t output, std::span<const std::byte> microBatch);
  void addTo(std::size_t output, std::size_t replica, std::span<const std::byte> microBatch);

  const emulate::ExecutableFacts& facts_;
  const ExecutableInfo& info_;
  std::vector<emulate::OutputRule> rules_;  ///< one for each output
  std::vector<float> losses_, returned_;
  std::vector<std::vector<std::byte>> bytes_;  ///< one for each output
  std::vector<std::vector<double>> sums_;  ///< sums of each output, for all replicas; empty if it is no sum
};

}  // namespace pipescope::run
