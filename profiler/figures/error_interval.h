#pragma once
// The interval that holds the true value of a modelled figure with 80 %, from the errors of what was checked.
// This is the only place that makes intervals of error bands.
#include <optional>
#include <string>
#include <vector>

namespace pipescope::analysis {
struct Catalog;
struct ErrorBand;
}  // namespace pipescope::analysis

namespace pipescope::figures {

/// Probability with which an interval holds the true value.
inline constexpr double kIntervalShare = 0.8;

/// The error of a part of a figure: ln(emulated ÷ true) is normal with this mean and standard deviation.
struct PartError {
  double share = 1;  ///< part ÷ figure
  double bias = 0, spread = 0;
};

/// Bounds of the true value ÷ the emulated one.
struct IntervalFactors {
  double least = 1, most = 1;
};

struct FigureInterval {
  IntervalFactors factors;
  std::string basis;  ///< what the errors are taken from: a noun phrase
};

/// The interval of a figure that is the sum of parts, from 2,003 draws that are always the same. The errors
/// of two parts have a correlation of 0.5: half of their variance is what a device model gets wrong as a
/// whole.
IntervalFactors intervalOf(const std::vector<PartError>& parts);

/// The error that a band states. The spread is chosen so that as many of the compared points lie within the
/// band's percentiles as it says, and is widened for few points as Student's distribution is.
PartError errorOf(const analysis::ErrorBand& band, double share = 1);
/// The error of work that nobody compared: 80 % lie within a factor of 1.5.
PartError uncheckedError(double share = 1);
/// The normal error that has this interval.
PartError errorOf(const IntervalFactors& factors);

/// The probability that a true value is at most `ratio` times the emulated one.
double shareBelow(const PartError& error, double ratio);
/// The probability that the true value of a figure is below that of another one whose emulated value is
/// `ratio` times as large. `correlation` of the two errors: 0.5 on one device model, as between the parts of
/// a figure; 0 on two.
double shareAhead(double ratio, const PartError& own, const PartError& other, double correlation);
/// Correlation of the errors of two figures of one device model.
inline constexpr double kModelCorrelation = 0.5;

/// True if the configuration states all costs, as times or without a unit, so that nothing is modelled.
bool hasGivenCosts(const analysis::Catalog& catalog);
/// True if times and memory come from device models: the profile is neither recorded nor has given costs.
bool isModelled(const analysis::Catalog& catalog);

/// The interval that a calibration of the device left in a figure of this name, such as "step_error":
/// "0.052; grade M; calibrated by 10 rows of rows.csv". None: it was not calibrated.
std::optional<FigureInterval> calibratedInterval(const analysis::Catalog& catalog, const std::string& figure);

/// "11 compared points on gaudi2".
std::string comparedText(const analysis::ErrorBand& band);

}  // namespace pipescope::figures
