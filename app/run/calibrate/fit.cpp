#include "app/run/calibrate/fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "profiler/base/check.h"

namespace pipescope::app {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr double kStep = 0.05;         // of a logarithm, for differences
constexpr double kLeastNoise = 0.005;  // no measurement repeats itself better
constexpr double kUsualNoise = 0.03;   // where residuals cannot tell
constexpr int kMostSteps = 6;
/// A parameter is determined if its standard deviation is at most this share of its prior's.
constexpr double kMostShare = 0.6;

/// The inverse of a symmetric positive matrix, by Gauss and Jordan.
Matrix inverseOf(Matrix m) {
  const std::size_t n = m.size();
  Matrix inverse(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = m[i][i];
    PIPESCOPE_CHECK(pivot > 0, "a matrix with a prior is positive");
    for (std::size_t k = 0; k < n; ++k) m[i][k] /= pivot, inverse[i][k] /= pivot;
    for (std::size_t row = 0; row < n; ++row) {
      const double factor = m[row][i];
      if (row == i || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        m[row][k] -= factor * m[i][k];
        inverse[row][k] -= factor * inverse[i][k];
      }
    }
  }
  return inverse;
}

/// Least squares over some of the parameters, with the model taken as linear near one point.
class Linear {
 public:
  Linear(const std::vector<FitParameter>& parameters, std::vector<std::size_t> used, const Matrix& jacobian,
         double noise)
      : parameters_(parameters), used_(std::move(used)), jacobian_(jacobian), noise_(noise) {
    Matrix information(used_.size(), std::vector<double>(used_.size(), 0));
    for (std::size_t a = 0; a < used_.size(); ++a) {
      for (std::size_t b = 0; b < used_.size(); ++b) {
        for (const std::vector<double>& row : jacobian_)
          information[a][b] += row[used_[a]] * row[used_[b]] / (noise_ * noise_);
      }
      information[a][a] += 1 / squared(parameters_[used_[a]].width);
    }
    covariance_ = inverseOf(std::move(information));
  }

  double deviation(std::size_t a) const { return std::sqrt(covariance_[a][a]); }
  double correlation(std::size_t a, std::size_t b) const {
    return covariance_[a][b] / (deviation(a) * deviation(b));
  }
  /// Returns the standard deviation of a parameter after the fit, divided by that of its prior, as if all
  /// other parameters were known.
  double shareAlone(std::size_t a) const {
    double information = 0;
    for (const std::vector<double>& row : jacobian_) information += squared(row[used_[a]] / noise_);
    const double width = parameters_[used_[a]].width;
    return 1 / std::sqrt(1 + information * width * width);
  }
  /// The step from `at` to the best point, by the residuals (predicted − measured) there.
  FitPoint step(const FitPoint& at, const std::vector<double>& residuals) const {
    std::vector<double> gradient(used_.size(), 0);
    for (std::size_t a = 0; a < used_.size(); ++a) {
      for (std::size_t i = 0; i < jacobian_.size(); ++i)
        gradient[a] -= jacobian_[i][used_[a]] * residuals[i] / (noise_ * noise_);
      gradient[a] -= at[used_[a]] / squared(parameters_[used_[a]].width);
    }
    FitPoint step(at.size(), 0);
    for (std::size_t a = 0; a < used_.size(); ++a) {
      for (std::size_t b = 0; b < used_.size(); ++b) step[used_[a]] += covariance_[a][b] * gradient[b];
    }
    return step;
  }
  /// The weight of a measurement in its own prediction, 0 … 1.
  double leverage(std::size_t i) const {
    double sum = 0;
    for (std::size_t a = 0; a < used_.size(); ++a) {
      for (std::size_t b = 0; b < used_.size(); ++b)
        sum += jacobian_[i][used_[a]] * covariance_[a][b] * jacobian_[i][used_[b]];
    }
    return std::clamp(sum / (noise_ * noise_), 0.0, 0.999);
  }
  /// The number of parameters that the measurements, and not the prior, determine.
  double determined() const {
    double sum = 0;
    for (std::size_t i = 0; i < jacobian_.size(); ++i) sum += leverage(i);
    return sum;
  }

 private:
  static double squared(double value) { return value * value; }
  const std::vector<FitParameter>& parameters_;
  std::vector<std::size_t> used_;
  const Matrix& jacobian_;
  double noise_;
  Matrix covariance_;
};

double squaresOf(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

class Fitter {
 public:
  Fitter(const std::vector<FitParameter>& parameters, const std::vector<double>& measured,
         const FitModel& model)
      : parameters_(parameters), measured_(measured), model_(model), at_(parameters.size(), 0) {}

  base::Result<Fit> run() {
    PIPESCOPE_TRY(differentiate());
    fit_.before = residuals_;
    noise_ = kUsualNoise;
    std::vector<std::size_t> all(parameters_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    used_ = all;
    // The noise decides which parameters are determined, and these decide the residuals, from which the noise
    // is estimated. So both are found in turns.
    for (int round = 0; round < 3; ++round) {
      PIPESCOPE_TRY(descend());
      estimateNoise();
    }
    refuse();
    PIPESCOPE_TRY(descend());
    estimateNoise();
    report(Linear(parameters_, all, jacobian_, noise_), Linear(parameters_, used_, jacobian_, noise_));
    return std::move(fit_);
  }

 private:
  base::Result<std::vector<double>> residualsOf(const FitPoint& predicted) const {
    PIPESCOPE_CHECK(predicted.size() == measured_.size(), "a model predicts all measurements");
    std::vector<double> residuals(predicted.size());
    for (std::size_t i = 0; i < predicted.size(); ++i) residuals[i] = predicted[i] - measured_[i];
    return residuals;
  }

  /// Residuals and Jacobian at the prior values. A step goes downwards where the bound above is near.
  base::Status differentiate() {
    std::vector<FitPoint> points = {at_};
    std::vector<double> steps;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      steps.push_back(parameters_[p].most >= kStep ? kStep : -kStep);
      points.push_back(at_);
      points.back()[p] += steps.back();
    }
    PIPESCOPE_ASSIGN(const std::vector<FitPoint> predicted, model_(points));
    PIPESCOPE_ASSIGN(residuals_, residualsOf(predicted[0]));
    jacobian_.assign(measured_.size(), std::vector<double>(parameters_.size()));
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      for (std::size_t p = 0; p < parameters_.size(); ++p)
        jacobian_[i][p] = (predicted[p + 1][i] - predicted[0][i]) / steps[p];
    }
    return {};
  }

  double costOf(const FitPoint& at, const std::vector<double>& residuals) const {
    double cost = squaresOf(residuals) / (noise_ * noise_);
    for (std::size_t p = 0; p < at.size(); ++p)
      cost += at[p] * at[p] / (parameters_[p].width * parameters_[p].width);
    return cost;
  }

  /// Goes to the best point of the used parameters; the others are 0. Each step corrects the Jacobian
  /// (Broyden).
  base::Status descend() {
    for (int n = 0; n < kMostSteps; ++n) {
      FitPoint step = Linear(parameters_, used_, jacobian_, noise_).step(at_, residuals_);
      double length = 0;
      for (std::size_t p = 0; p < step.size(); ++p) {
        if (std::ranges::find(used_, p) == used_.end()) step[p] = -at_[p];
        step[p] = std::clamp(at_[p] + step[p], parameters_[p].least, parameters_[p].most) - at_[p];
        length = std::max(length, std::abs(step[p]));
      }
      if (length < (backward() ? 1e-12 : 1e-3)) return {};
      PIPESCOPE_ASSIGN(const bool better, tryStep(step));
      if (!better) return {};
    }
    return {};
  }

  /// True if a refused parameter is not yet back at its prior value.
  bool backward() const {
    return std::ranges::any_of(fit_.refused,
                               [&](const Undetermined& refused) { return at_[refused.parameter] != 0; });
  }

  /// Takes the step, or half or a quarter of it. False: none of them is better. A step that takes a refused
  /// parameter back is taken whole.
  base::Result<bool> tryStep(FitPoint step) {
    const bool back = backward();
    for (int halved = 0; halved < 3; ++halved) {
      FitPoint next = at_;
      for (std::size_t p = 0; p < step.size(); ++p) next[p] += step[p];
      PIPESCOPE_ASSIGN(const std::vector<FitPoint> predicted, model_({next}));
      PIPESCOPE_ASSIGN(const std::vector<double> residuals, residualsOf(predicted[0]));
      correctJacobian(step, residuals);
      if (back || costOf(next, residuals) < costOf(at_, residuals_)) {
        at_ = next;
        residuals_ = residuals;
        return true;
      }
      for (double& part : step) part /= 2;
    }
    return false;
  }

  void correctJacobian(const FitPoint& step, const std::vector<double>& residuals) {
    const double square = squaresOf(step);
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      const double expected = std::inner_product(step.begin(), step.end(), jacobian_[i].begin(), 0.0);
      const double missed = residuals[i] - residuals_[i] - expected;
      for (std::size_t p = 0; p < step.size(); ++p) jacobian_[i][p] += missed * step[p] / square;
    }
  }

  void estimateNoise() {
    const double count = static_cast<double>(measured_.size());
    freedom_ = std::max(1.0, count - Linear(parameters_, used_, jacobian_, noise_).determined());
    // A few residuals say little about the noise, so the usual noise counts as if two more had shown it.
    noise_ = std::sqrt((squaresOf(residuals_) + 2 * kUsualNoise * kUsualNoise) / (freedom_ + 2));
    noise_ = std::max(noise_, kLeastNoise);
  }

  /// Takes out the worst undetermined parameter until none is left.
  void refuse() {
    while (!used_.empty()) {
      const Linear linear(parameters_, used_, jacobian_, noise_);
      std::optional<std::size_t> worst;
      double most = kMostShare;
      for (std::size_t a = 0; a < used_.size(); ++a) {
        const double share = linear.deviation(a) / parameters_[used_[a]].width;
        if (share > most) most = share, worst = a;
      }
      if (!worst) return;
      std::size_t from = *worst;
      if (linear.shareAlone(*worst) <= kMostShare) {
        double closest = 0;
        for (std::size_t b = 0; b < used_.size(); ++b) {
          const double near = b == *worst ? 0 : std::abs(linear.correlation(*worst, b));
          if (near > closest) closest = near, from = b;
        }
      }
      fit_.refused.push_back({used_[*worst], used_[from]});
      used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(*worst));
    }
  }

  void report(const Linear& all, const Linear& used) {
    fit_.logs = at_;
    fit_.residuals = residuals_;
    fit_.jacobian = jacobian_;
    fit_.noise = noise_;
    for (std::size_t i = 0; i < residuals_.size(); ++i)
      fit_.leaveOneOut.push_back(residuals_[i] / (1 - used.leverage(i)));
    // All intervals hold together (Bonferroni).
    const double tails = (1 - fit_.share) / 2 / std::max<double>(1, static_cast<double>(used_.size()));
    const double quantile = studentQuantile(1 - tails, freedom_ + 2);
    const double quantile80 = studentQuantile(0.9, freedom_ + 2);
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const double half = quantile * all.deviation(p);
      fit_.least.push_back(std::max(parameters_[p].least, at_[p] - half));
      fit_.most.push_back(std::min(parameters_[p].most, at_[p] + half));
      const double half80 = quantile80 * all.deviation(p);
      fit_.least80.push_back(std::max(parameters_[p].least, at_[p] - half80));
      fit_.most80.push_back(std::min(parameters_[p].most, at_[p] + half80));
    }
  }

  const std::vector<FitParameter>& parameters_;
  const std::vector<double>& measured_;
  const FitModel& model_;
  FitPoint at_;
  std::vector<double> residuals_;
  Matrix jacobian_;
  std::vector<std::size_t> used_;
  double noise_ = kUsualNoise, freedom_ = 1;
  Fit fit_;
};

double normalQuantile(double probability) {
  double low = -10, high = 10;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double studentQuantile(double probability, double degrees) {
  // Expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5).
  const double z = normalQuantile(probability), z2 = z * z, n = degrees;
  return z * (1 + (z2 + 1) / (4 * n) + ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
              (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n));
}

std::optional<NextMeasurement> nextMeasurement(const std::vector<FitParameter>& parameters, const Fit& fit,
                                               const std::vector<std::vector<double>>& candidates) {
  constexpr double kLeastGain = 0.9;
  std::vector<std::size_t> all(parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Linear now(parameters, all, fit.jacobian, fit.noise);
  std::optional<NextMeasurement> best;
  double least = kLeastGain;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    Matrix rows = fit.jacobian;
    rows.push_back(candidates[c]);
    const Linear then(parameters, all, rows, fit.noise);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const double before = now.deviation(p), after = then.deviation(p);
      if (after >= least * before) continue;
      least = after / before;
      best = {c, p, before, after};
    }
  }
  return best;
}

base::Result<Fit> fitFactors(const std::vector<FitParameter>& parameters, const std::vector<double>& measured,
                             const FitModel& model) {
  PIPESCOPE_CHECK(!parameters.empty() && measured.size() >= 2, "a fit needs parameters and measurements");
  return Fitter(parameters, measured, model).run();
}

}  // namespace pipescope::app
