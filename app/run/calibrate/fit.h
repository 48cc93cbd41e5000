#pragma once
// Fits the logarithms of a few factors to measured logarithms: least squares with a prior. It knows neither
// devices nor configurations.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::app {

struct FitParameter {
  std::string name;
  double width = 0.3;           ///< standard deviation of the prior of the factor's logarithm
  double least = -3, most = 3;  ///< bounds of the factor's logarithm
};

using FitPoint = std::vector<double>;  ///< logarithms of the factors, one for each parameter
/// Predicted logarithms of all measurements, at each of several points.
using FitModel = std::function<base::Result<std::vector<FitPoint>>(const std::vector<FitPoint>& points)>;

/// A parameter that keeps its prior value, because the measurements do not determine it.
struct Undetermined {
  std::size_t parameter = 0;
  /// The parameter from which the measurements do not tell it apart; the same one: they hardly depend on it.
  std::size_t from = 0;
};

struct Fit {
  FitPoint logs;                        ///< fitted logarithms; 0 where the prior value stays
  std::vector<double> least, most;      ///< bounds of the interval of each parameter's logarithm
  std::vector<double> least80, most80;  ///< the same, for each parameter alone with 80 %
  std::vector<Undetermined> refused;
  std::vector<double> residuals;    ///< predicted − measured logarithm of each measurement, after the fit
  std::vector<double> before;       ///< the same with all factors 1
  std::vector<double> leaveOneOut;  ///< the same, fitted without this measurement (linear in the parameters)
  /// Change of each measurement's logarithm with each parameter's, at the fitted point.
  std::vector<std::vector<double>> jacobian;
  double noise = 0;     ///< standard deviation of the measurements about the fit
  double share = 0.95;  ///< probability that all intervals hold together
};

/// Fits by Gauss and Newton, with a Jacobian from differences. The noise of the measurements is estimated
/// from the residuals. A parameter is refused, and keeps its prior value, if the measurements narrow its
/// prior by less than 40 %; the uncertainty of refused parameters widens the intervals of the others.
/// `measured` has at least two values. Errors: those of the model.
base::Result<Fit> fitFactors(const std::vector<FitParameter>& parameters, const std::vector<double>& measured,
                             const FitModel& model);

/// The measurement that would narrow an interval most.
struct NextMeasurement {
  std::size_t candidate = 0, parameter = 0;
  double before = 0, after = 0;  ///< standard deviation of the parameter's logarithm
};
/// Chooses among measurements that could be taken next: the one that narrows the interval of some parameter
/// by the largest factor. `candidates` has for each of them the change of its logarithm with each
/// parameter's. None: no candidate narrows any interval by a tenth.
std::optional<NextMeasurement> nextMeasurement(const std::vector<FitParameter>& parameters, const Fit& fit,
                                               const std::vector<std::vector<double>>& candidates);

/// The quantile of Student's distribution with this many degrees of freedom (at least 1).
double studentQuantile(double probability, double degrees);

}  // namespace pipescope::app
