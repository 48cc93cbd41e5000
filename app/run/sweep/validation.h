#pragma once
// Compares emulated variants of a configuration with measurements. Nothing is fitted.
#include <utility>

#include "app/run/sweep/measured.h"
#include "app/run/sweep/processes.h"
#include "app/run/sweep/variant.h"
#include "profiler/base/progress.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::app {

/// Statistics of pairs (emulated, measured).
struct Agreement {
  std::int64_t pairs = 0;
  double bias = 1;  ///< geometric mean of emulated ÷ measured
  double p90 = 0;   ///< the error |emulated ÷ measured − 1| that 90 % of the pairs do not exceed
  /// Spearman's: correlation of the ranks, with means for equal values. None below two different values.
  std::optional<double> rankCorrelation;
  std::int64_t ordered = 0;  ///< pairs of variants with different measurements
  std::int64_t inOrder = 0;  ///< pairs of these that the emulation puts in the same order
};
/// Both vectors have one value for each pair, all above 0. p90 is the smallest error that at least 90 % do
/// not exceed.
Agreement agreementOf(const std::vector<double>& emulated, const std::vector<double>& measured);

struct ValidatedRow {
  MeasuredRow measured;
  std::array<std::optional<double>, kMeasures> emulated;
  /// Lower and upper end of the step time's interval, each divided by the step time. Nothing: it has no
  /// interval.
  std::optional<std::pair<double, double>> interval = {};
  /// The same of memory.
  std::optional<std::pair<double, double>> memoryInterval = {};
  std::string error = {};  ///< reason why the variant cannot run
  std::string note = {};   ///< place in which it does not fit
};

struct Validation {
  std::vector<std::string> keys;
  std::vector<ValidatedRow> rows;
};

/// Emulates rows of the measurements in parallel processes, in this order. The caller must have a single
/// thread. Errors: cancelled; the machine or this program gave no answer about a row.
base::Result<std::vector<ValidatedRow>> emulateRows(const config::Configuration& configuration,
                                                    const MeasuredTable& measured,
                                                    const std::vector<std::size_t>& rows, int processes,
                                                    base::Progress& progress);

/// Lengths of calls of a row on several systems.
struct RowTimes {
  std::vector<double> seconds;  ///< by system; empty: the row cannot run
  std::string error = {};       ///< reason why it cannot run
  std::string note = {};        ///< place in which it does not fit
};
/// Emulates calls of rows of a table on systems with other figures (see CallTimer), in parallel processes
/// that remember what they compiled.
class RowTimer {
 public:
  /// The values that it is made of must outlive it.
  RowTimer(const config::Configuration& configuration, const MeasuredTable& measured, int processes);
  /// The times of these rows on each of the systems. The caller must have a single thread. Errors: those of
  /// emulateRows().
  base::Result<std::vector<RowTimes>> emulate(const std::vector<std::size_t>& rows,
                                              const std::vector<std::string>& systems,
                                              base::Progress& progress);

 private:
  const MeasuredTable& measured_;
  ProcessGroup group_;
};

/// Emulates the variants in parallel processes. The caller must have a single thread. Errors: cancelled;
/// the machine or this program gave no answer about a variant.
base::Result<Validation> validate(const config::Configuration& configuration, const MeasuredTable& measured,
                                  int processes, base::Progress& progress);

/// The statistics of a measure; nothing: no row has both values.
std::optional<Agreement> agreementOf(const Validation& validation, Measure measure);

/// Rows whose measured time lies within the interval of the emulated one, and rows that have both.
struct Coverage {
  std::int64_t inside = 0, rows = 0;
};
/// The coverage of a measure of time. Rates are inside where the time of a unit is.
Coverage coverageOf(const Validation& validation, Measure measure);

/// Tables "agreement" (one row for each measure) and "variants".
sections::Section validationSection(const Validation& validation);

}  // namespace pipescope::app
