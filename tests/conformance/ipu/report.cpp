#include "tests/conformance/ipu/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace pipescope::conformance {
namespace {

std::string rowText(const LayerResult& result) {
  const LayerRow& row = result.row;
  std::string text = fmt::format("{:<10} {:<24} {:<52} ", row.target, row.tool, row.name);
  if (!result.modelled) return text + "not modelled\n";
  if (!result.fault.empty()) return text + "failed: " + result.fault + "\n";
  const auto compare = [&](std::int64_t ours, std::int64_t theirs, Quantity quantity) {
    text += fmt::format("{:>11} {:>11} {:>+6.2f} ", ours, theirs, logarithmOf(result, quantity));
  };
  compare(result.ours.cycles, row.measured.cycles, Quantity::cycles);
  compare(result.ours.totalBytes, row.measured.totalBytes, Quantity::totalBytes);
  compare(result.ours.maxTileBytes, row.measured.maxTileBytes, Quantity::maxTileBytes);
  text.back() = '\n';
  return text;
}

std::string chipOf(const std::string& target) {
  return target == "IpuModel1" ? "mk1" : target == "IpuModel2" ? "mk2" : "c600";
}

}  // namespace

std::string toText(const std::vector<LayerResult>& results) {
  std::string text = fmt::format(
      "{:<10} {:<24} {:<52} {:>11} {:>11} {:>6} {:>11} {:>11} {:>6} {:>11} {:>11} {:>6}\n", "target", "tool",
      "layer", "cycles", "measured", "ln", "bytes", "measured", "ln", "max tile", "measured", "ln");
  for (const LayerResult& result : results) text += rowText(result);
  text += fmt::format("\n{:<10} {:<20} {:<15} {:>6} {:>8} {:>8} {:>8} {:>8} {:>14} {:>7}\n", "target", "kind",
                      "quantity", "layers", "median", "p90", "worst", "bias", "leave-one-out", "failed");
  for (const KindErrors& row : errorsByKind(results)) {
    text += fmt::format("{:<10} {:<20} {:<15} {:>6} {:>8.3f} {:>8.3f} {:>8.3f} {:>+8.3f} {:>14.3f} {:>7}\n",
                        row.target, row.kind, toString(row.quantity), row.errors.points, row.errors.median,
                        row.errors.p90, row.errors.worst, row.errors.bias, row.leaveOneOut, row.failed);
  }
  for (const Quantity quantity : kQuantities) {
    for (const char* target : {"IpuModel1", "IpuModel2"}) {
      std::vector<double> all;
      for (const LayerResult& result : results) {
        if (result.compared() && result.row.target == target) all.push_back(logarithmOf(result, quantity));
      }
      if (all.empty()) continue;
      const ErrorFigures errors = errorsOf(all);
      text += fmt::format("{:<10} {:<20} {:<15} {:>6} {:>8.3f} {:>8.3f} {:>8.3f} {:>+8.3f}\n", target, "all",
                          toString(quantity), errors.points, errors.median, errors.p90, errors.worst,
                          errors.bias);
    }
  }
  text +=
      "ln: logarithm of emulated / measured. leave-one-out: median |ln| after the bias of all other kinds is "
      "taken "
      "off.\nThe passes of a layer are measured together: how a layer's time divides into them is "
      "unchecked.\n";
  return text;
}

std::string toJson(const std::vector<LayerResult>& results) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const LayerResult& result : results) {
    const LayerRow& row = result.row;
    nlohmann::ordered_json entry{{"name", row.name}, {"target", row.target}, {"tool", row.tool}};
    if (!result.modelled) entry["modelled"] = false;
    if (!result.fault.empty()) entry["error"] = result.fault;
    const auto add = [&](const char* name, std::int64_t ours, std::int64_t theirs) {
      entry[name] = nlohmann::ordered_json{
          {"ours", result.compared() ? nlohmann::ordered_json(ours) : nlohmann::ordered_json()},
          {"theirs", theirs}};
    };
    add("cycles", result.ours.cycles, row.measured.cycles);
    add("total_bytes", result.ours.totalBytes, row.measured.totalBytes);
    add("max_tile_bytes", result.ours.maxTileBytes, row.measured.maxTileBytes);
    array.push_back(std::move(entry));
  }
  return array.dump(1) + "\n";
}

std::string toBands(const std::vector<LayerResult>& results, const std::string& source) {
  std::string text =
      "# How far emulated figures are from measured ones, per chip and kind of layer: |ln(emulated / "
      "measured)|.\n"
      "# Written by tests/conformance/ipu_layer_benchmark --write-bands; do not edit.\n";
  for (const KindErrors& row : errorsByKind(results)) {
    if (row.errors.points == 0) continue;
    // A p90 of fewer than five points would say nothing.
    const std::string p90 = row.errors.points < 5 ? "" : fmt::format("p90 = {:.3f}\n", row.errors.p90);
    text += fmt::format(
        "\n[[band]]\ndevice = \"{}\"\nkind = \"{}\"\nquantity = \"{}\"\npoints = {}\nmedian = {:.3f}\n{}"
        "bias = {:.3f}\nagainst = \"{}\"\n",
        chipOf(row.target), row.kind, toString(row.quantity), row.errors.points, row.errors.median, p90,
        row.errors.bias, source);
  }
  return text;
}

}  // namespace pipescope::conformance
