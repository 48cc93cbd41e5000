#pragma once
// Writes metrics in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/),
// for the textfile collector of its node exporter.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/base/files/output_file.h"

namespace pipescope::app {

class PrometheusFile {
 public:
  struct Sample {
    std::string kind;  ///< training, validation, inference
    std::int64_t epoch = 0, updates = 0, samples = 0;
    std::vector<std::pair<const char*, std::optional<double>>> values;
  };

  /// Checks the path. The file is written with the first sample. `model` is a label of every metric.
  static base::Result<PrometheusFile> create(const std::string& path, const std::string& model,
                                             const base::OutputRules& rules);
  /// Takes the metrics of a call. The file always is a whole one: it is replaced, at most once a second.
  base::Status add(const Sample& sample);
  /// Writes what add() has not written yet.
  base::Status finish();

 private:
  struct Totals {
    std::int64_t calls = 0, samples = 0, updates = 0, epoch = 0;
    std::map<std::string, double> values;
  };
  base::Status write();
  std::string text() const;

  std::string path_, model_;
  base::OutputRules rules_;
  std::map<std::string, Totals> kinds_;
  bool pending_ = false;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

/// A label's value with backslash, quote and line feed escaped.
std::string prometheusLabel(const std::string& text);
/// A value as Prometheus writes it: "0.5", "NaN", "+Inf".
std::string prometheusValue(double value);

}  // namespace pipescope::app
