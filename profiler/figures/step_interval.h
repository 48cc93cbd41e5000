#pragma once
// The interval that holds the true value of a modelled figure with 80 %, from the errors of what was checked.
// This is the only place that makes intervals of error bands.
#include <optional>
#include <string>
#include <vector>

#include "profiler/figures/figure.h"

namespace pipescope::analysis {
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

/// The interval of a figure that is the sum of parts, from 2,003 draws that are always the same. The errors
/// of two parts have a correlation of 0.5: half of their variance is what a device model gets wrong as a
/// whole.
IntervalFactors intervalOf(const std::vector<PartError>& parts);

/// The error that a band states. The spread is chosen so that as many of the compared points lie within the
/// band's percentiles as it says, and is widened for few points as Student's distribution is.
PartError errorOf(const analysis::ErrorBand& band, double share = 1);

/// True if the configuration states all costs, as times or without a unit, so that nothing is modelled.
bool hasGivenCosts(const analysis::Catalog& catalog);

struct FigureInterval {
  IntervalFactors factors;
  std::string basis;  ///< what the errors are taken from: a noun phrase
};

/// The interval of a modelled step time. None: the times are recorded or given, so that nothing is modelled,
/// or nothing ran. Errors come from, in this order: a calibration of the device, a band of whole steps on
/// this chip, and bands of the kinds of layers in the limiting stage. Work that nobody compared counts as far
/// off as the whole steps that are furthest off (a factor of 1.5).
std::optional<FigureInterval> stepInterval(const Analyses& from);

}  // namespace pipescope::figures
