#pragma once
// A compiled model: one or several executables for one emulated system.
#include <memory>
#include <string>
#include <vector>

#include "app/run/interface/executable_info.h"
#include "app/run/interface/model_options.h"
#include "engine/compiler/compilation.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::run {

class CompiledModel {
 public:
  /// Checks the options and compiles. No data is read and nothing is written. Every error is a sentence that
  /// names the key, block, layer or stage. A model that does not fit into memory is compiled too: see fits().
  /// `threads` computes for all executables of the program; null: threads of the program's own, as many as
  /// execution.threads says.
  static base::Result<std::shared_ptr<const CompiledModel>> compile(
      const ModelOptions& options, base::Progress& progress, std::shared_ptr<base::Executor> threads = {});

  /// Training comes before inference.
  const std::vector<ExecutableInfo>& executables() const { return executables_; }
  bool fits() const { return overflow_.empty(); }
  /// Sentences that say where the model does not fit, with advice that was tried out.
  const std::vector<std::string>& overflow() const { return overflow_; }
  /// Sentences for the user.
  const std::vector<std::string>& notices() const { return compilation_.notices; }
  /// The emulated seconds of one call of an executable on idle devices, without computing anything.
  base::Result<double> callSeconds(std::size_t executable) const;

  /// The configuration with everything that the model and the system decided.
  const config::Configuration& configuration() const { return configuration_; }
  const compile::Compilation& compilation() const { return compilation_; }
  /// The facts of an executable with only the replicas that this process computes.
  const emulate::ExecutableFacts& hostFacts(std::size_t executable) const { return hostFacts_[executable]; }
  /// The processes that compute the program together. Null: this process computes all of it.
  const std::shared_ptr<const numerics::Instances>& instances() const { return instances_; }
  base::Executor& threads() const { return *threads_; }
  /// True if losses, outputs and weights are computed; false with execution.numerics = false, and if costs
  /// are given instead of a model.
  bool computes() const;

 private:
  CompiledModel(config::Configuration configuration, std::shared_ptr<base::Executor> threads,
                compile::Compilation compilation, std::shared_ptr<const numerics::Instances> instances);

  config::Configuration configuration_;
  std::shared_ptr<base::Executor> threads_;
  compile::Compilation compilation_;
  std::shared_ptr<const numerics::Instances> instances_;
  std::vector<emulate::ExecutableFacts> hostFacts_;
  std::vector<ExecutableInfo> executables_;
  std::vector<std::string> overflow_;
};

/// Threads of this process that several programs may share. 0: one for each core.
std::shared_ptr<base::Executor> makeThreads(std::int64_t count);

}  // namespace pipescope::run
