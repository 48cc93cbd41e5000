#pragma once
// Emulates one configuration, with a profile if one is wanted, and gives the figures that compare
// configurations.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/compiler/compilation.h"
#include "engine/config/configuration.h"
#include "engine/plan/divided_model.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"
#include "profiler/figures/figure.h"

namespace pipescope::app {

/// The figures of one configuration: of training, or of inference if nothing is trained. They are those that
/// `pipescope report` shows of the second call, or of a generation those of its prompt beside what it
/// achieved as a whole. A figure that does not exist has no value: without emulation there are no times, and
/// a system with given costs has no memory. Those of memory are the largest over all executables.
struct VariantFigures {
  /// The values by the keys of sections::sweepFigures().
  std::map<std::string, figures::Cell, std::less<>> values = {};
  /// Sentence that says where the model does not fit; empty: it fits.
  std::string note = {};

  figures::Cell of(std::string_view key) const;
  std::optional<double> number(std::string_view key) const { return figures::numberIn(of(key)); }
  /// False if some executable does not fit.
  bool fits() const { return of("fits") != figures::Cell(false); }
};

struct VariantOptions {
  bool compileOnly = false;  ///< compile and place in memory, but emulate no call
  std::string profile = {};  ///< file of a profile to write; empty: none
  std::string table = {};    ///< file of the sweep's table, which the profile names; empty: there is none
};

/// Gives the errors of the configuration. An error of writing the profile is none of kind isAnswer(). Numbers
/// are not computed, and no data is read. `known` serves further variants, too.
base::Result<VariantFigures> emulateVariant(const config::Configuration& configuration,
                                            const VariantOptions& options, plan::SharedStages& known,
                                            base::Executor& executor);

/// Emulates calls of the first executable of a configuration on systems that are its own but for their
/// figures of speed. The model is compiled once, with the stages that it has on its own system.
class CallTimer {
 public:
  /// Errors: those of the configuration.
  static base::Result<CallTimer> create(const config::Configuration& configuration, base::Executor& executor);

  /// Seconds of a call on each of the systems, as plan::steadyCallTicks gives them. An empty name means the
  /// last system, which at first is that of the configuration.
  base::Result<std::vector<double>> seconds(const std::vector<std::string>& systems,
                                            base::Executor& executor);
  /// Sentence that says where the model does not fit into its own system; empty: it fits.
  const std::string& note() const { return note_; }

 private:
  compile::Compilation compilation_;
  std::string note_;
};

}  // namespace pipescope::app
