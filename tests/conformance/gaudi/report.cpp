#include "tests/conformance/gaudi/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "tests/conformance/ipu/statistics.h"

namespace pipescope::conformance {
namespace {

/// The name of a workload in tables of errors, and the compared figure.
struct Kind {
  const char* workload;
  const char* kind;
  const char* quantity;
  bool rate;  ///< measured as a rate
};
constexpr Kind kKinds[] = {
    {"gemm", "matrix product", "cycles", true},     {"train", "training step", "time", true},
    {"prefill", "prefill", "time", false},          {"decode", "decoding step", "time", true},
    {"generate", "generation", "time", true},       {"scaling", "training on a box", "scaling", true},
    {"all_reduce", "collective", "time", false},    {"all_gather", "collective", "time", false},
    {"reduce_scatter", "collective", "time", false}};

const Kind& kindOf(const Point& point) {
  for (const Kind& kind : kKinds) {
    if (point.workload == kind.workload) return kind;
  }
  return kKinds[0];  // an unknown workload has a fault and is not counted
}

struct Errors {
  std::vector<double> logarithms;
  std::size_t points() const { return logarithms.size(); }
  ErrorFigures figures() const { return errorsOf(logarithms); }
  /// The smallest distance that nine of ten points do not exceed: a value between two of few points would be
  /// too small.
  double p90() const {
    std::vector<double> values;
    for (const double value : logarithms) values.push_back(std::abs(value));
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(values.size()))) - 1];
  }
  /// Nine of ten means little for fewer points.
  bool hasP90() const { return points() >= 5; }
};

/// Groups the errors by chip, kind and quantity. A point of a box belongs to the chip of the box.
using Groups = std::map<std::pair<std::string, std::pair<std::string, std::string>>, Errors>;

/// The points by which figures were chosen, or the others.
Groups groupsOf(const std::vector<PointResult>& results, bool chose) {
  Groups groups;
  for (const PointResult& result : results) {
    if (!result.fault.empty() || result.point.chose.empty() == chose || result.boundByHost()) continue;
    const Kind& kind = kindOf(result.point);
    groups[{chipOf(result.point), {kind.kind, kind.quantity}}].logarithms.push_back(result.logarithm());
  }
  return groups;
}

void addGroups(std::string& text, const char* title, const Groups& groups) {
  if (groups.empty()) return;
  text += fmt::format("\n{}\n{:<8} {:<18} {:<8} {:>6} {:>8} {:>8} {:>8}\n", title, "chip", "kind", "figure",
                      "points", "median", "p90", "bias");
  for (const auto& [key, errors] : groups) {
    text += fmt::format("{:<8} {:<18} {:<8} {:>6} {:>8.3f} {:>8} {:>+8.3f}\n", key.first, key.second.first,
                        key.second.second, errors.points(), errors.figures().median,
                        errors.hasP90() ? fmt::format("{:.3f}", errors.p90()) : "", errors.figures().bias);
  }
}

}  // namespace

double PointResult::logarithm() const {
  const double ratio = std::log(ours / point.measured);
  return kindOf(point).rate ? -ratio : ratio;
}

bool PointResult::outside() const {
  return fault.empty() && point.tolerance > 0 && std::abs(ours / point.measured - 1) > point.tolerance;
}

bool PointResult::boundByHost() const {
  const auto rate = point.parameters.find("loader_rate");
  return rate != point.parameters.end() && ours >= (1 - 1e-6) * point.cards * std::atof(rate->second.c_str());
}

std::vector<PointResult> emulateAll(const std::vector<Point>& points) {
  std::vector<PointResult> results;
  for (const Point& point : points) {
    PointResult& result = results.emplace_back(PointResult{point, 0, ""});
    const auto ours = emulate(point);
    if (ours) {
      result.ours = *ours;
    } else {
      result.fault = ours.error().message;
    }
  }
  return results;
}

std::string toText(const std::vector<PointResult>& results) {
  std::string text;
  for (const PointResult& result : results) {
    const Point& point = result.point;
    text += fmt::format("{:<10} {:>3} {:<10} ", point.device, point.cards, point.workload);
    if (!result.fault.empty()) {
      text += result.fault + "\n";
      continue;
    }
    const char* judged = result.outside() ? "  OUTSIDE" : point.tolerance > 0 ? "" : "  (not judged)";
    text += fmt::format("{:>11.4g} measured {:>11.4g}  error {:>+6.1f} %  {}{}\n", result.ours,
                        point.measured, 100 * (result.ours / point.measured - 1), point.source, judged);
  }
  addGroups(text, "Points by which no figure was chosen", groupsOf(results, false));
  addGroups(text, "Points by which a figure was chosen", groupsOf(results, true));
  text += "median, p90, bias: of ln(emulated / measured) of the time; above 0 the emulated card is slower.\n";
  return text;
}

std::string toBands(const std::vector<PointResult>& results) {
  std::string text =
      "# How far emulated Gaudis are from published measurements, per chip and kind of work: |ln(emulated / "
      "measured)| of the\n# time, over points by which no figure was chosen. Written by "
      "tests/conformance/gaudi_points --write-bands; do not edit.\n";
  for (const auto& [key, errors] : groupsOf(results, false)) {
    text += fmt::format(
        "\n[[band]]\ndevice = \"{}\"\nkind = \"{}\"\nquantity = \"{}\"\npoints = {}\nmedian = {:.3f}\n{}"
        "bias = {:.3f}\nagainst = \"published measurements (vendor pages, Optimum Habana, MLPerf)\"\n",
        key.first, key.second.first, key.second.second, errors.points(), errors.figures().median,
        errors.hasP90() ? fmt::format("p90 = {:.3f}\n", errors.p90()) : "", errors.figures().bias);
  }
  return text;
}

}  // namespace pipescope::conformance
