#pragma once
// Emulates one configuration, with a profile if one is wanted, and gives the figures that compare
// configurations.
#include <optional>
#include <string>

#include "engine/config/configuration.h"
#include "engine/plan/divided_model.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// The figures of one configuration: of training, or of inference if nothing is trained. They are those that
/// `pipescope report` shows of the second call. A figure that does not exist has no value: without emulation
/// there are no times, and a system with given costs has no memory.
struct VariantFigures {
  std::optional<bool> fits;                ///< true if every executable fits in memory
  std::optional<double> samplesPerSecond;  ///< rate of the emulated system, all replicas
  std::optional<double> stepTimeUs;        ///< mean length of an iteration; a cost unit counts as a second
  std::optional<double> imbalance;         ///< largest ÷ mean over devices
  std::optional<double> bubbleFraction;
  std::optional<std::int64_t> memoryBytes;  ///< bytes on the fullest device, over all executables
  /// Largest address span of a unit (tile, card) ÷ its capacity; above 1: too much.
  std::optional<double> memoryUse;
  std::optional<std::int64_t> devices;        ///< devices that hold a stage, of all replicas
  std::optional<std::int64_t> systemDevices;  ///< chips of the whole system
  /// Samples ÷ price of the whole system (system.price_per_hour). None if no price is given.
  std::optional<double> samplesPerCurrencyUnit;
  /// Sentence that says where the model does not fit; empty: it fits.
  std::string note = {};
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

}  // namespace pipescope::app
