#pragma once
// The emulated devices of a program: attach to them, let executables run on them, and get a profile.
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/run/interface/compiled_model.h"
#include "profiler/base/files/output_file.h"
#include "profiler/model/rows.h"
#include "profiler/record/host_trace.h"

namespace pipescope::run {

struct ProfileRequest {
  std::string path;         ///< path of the profile; empty: none is written, only the clock runs
  std::string commandLine;  ///< recorded in the profile
  /// Files that the caller reads too, and files that the profile may replace.
  base::OutputRules rules = {};
  /// Sentences for the reader of the profile, besides those of the program.
  std::vector<std::string> notices = {};
  /// Work of the host so far, such as compiling. Null: the profile tells the host's work from now on.
  std::shared_ptr<record::HostTrace> host = {};
  std::int64_t calls = 0;  ///< the first calls, which the profile holds; 0: it holds all
};

class EmulatedDevice {
 public:
  /// Checks where the profile goes. Writes nothing yet.
  static base::Result<std::unique_ptr<EmulatedDevice>> create(std::shared_ptr<const CompiledModel> program,
                                                              const ProfileRequest& profile = {});
  /// Without finish() the profile stays in the state `running` and can be read.
  ~EmulatedDevice();

  /// Lets executables run. The first time it loads the program: from then on the profile exists.
  base::Status attach();
  /// No executable may run until attach() is called again. Everything recorded so far can be read.
  base::Status detach();
  bool isAttached() const;
  /// Ends the profile, with the reason if something failed. An error of kind `cancelled` counts as handled,
  /// others are returned.
  base::Status finish(const base::Status& how = {});
  /// After finish(): true if the file at the path is this profile. It is not if the run ended before its
  /// first call and an older profile stands there.
  bool isWritten() const;

  const std::shared_ptr<const CompiledModel>& program() const { return program_; }

  /// Emulates and records one call of an executable. Executable::call does it for calls that compute. The run
  /// of a call that is not recorded has no id, and samples of it are dropped. Wall times are those of
  /// wallNow().
  base::Result<model::Run> emulate(std::size_t executable, const std::string& name,
                                   std::int64_t wallStart = 0, std::int64_t wallEnd = 0);
  /// Notes that so many calls of the executable follow, for those who look at the profile while it grows.
  void planCalls(std::size_t executable, std::int64_t count);
  /// Seconds of the emulated clock.
  double seconds(base::Ticks ticks) const;
  /// Nanoseconds since the program was loaded.
  std::int64_t wallNow() const;
  /// Returns the work of this process since the program was loaded, for the profile of another instance.
  std::vector<std::byte> packHost();
  /// Adds what packHost() of another instance gave to the profile. The clock of that instance was `shiftNs`
  /// behind this one.
  base::Status addHost(std::span<const std::byte> packed, const std::string& instance, std::int64_t shiftNs);

  /// A counter of an executable in the profile, such as its loss, and a value of it at the end of a call.
  model::CounterId addCounter(std::size_t executable, const std::string& name, const std::string& unit);
  void addSample(model::CounterId counter, const model::Run& run, double value);
  /// One value for each iteration of `run`, which is the call that was emulated last.
  void addIterationSamples(model::CounterId counter, const model::Run& run,
                           const std::vector<double>& values);
  /// The seconds that each instance of the program computed in `run`, without its waits for the others: a
  /// counter for each instance, which names its host.
  void addInstanceSeconds(std::size_t executable, const model::Run& run, const std::vector<double>& seconds);
  /// A final figure of an executable. `basis` says what it was computed from.
  void addOutcome(std::size_t executable, const std::string& name, const std::string& unit,
                  const std::string& basis, double value, model::OutcomeKind kind = {});

 private:
  struct Impl;
  EmulatedDevice(std::shared_ptr<const CompiledModel> program, std::unique_ptr<Impl> impl);
  base::Status load();
  std::shared_ptr<const CompiledModel> program_;
  std::unique_ptr<Impl> impl_;
};

/// The rules of an output, with the files that the configuration reads added to its inputs.
base::OutputRules withInputs(const config::Configuration& configuration, base::OutputRules rules);

/// Gives an error of kind `cancelled` once the user has asked to stop.
base::Status checkCancelled(const base::Progress& progress);

}  // namespace pipescope::run
