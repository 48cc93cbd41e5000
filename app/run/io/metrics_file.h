#pragma once
// Writes the metrics of each call while the run goes on: JSON lines for `--metrics`, a text file for
// Prometheus, and an event file for TensorBoard.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/run/io/event_file.h"
#include "app/run/io/prometheus_file.h"
#include "engine/config/configuration.h"
#include "profiler/base/files/output_file.h"

namespace pipescope::app {

/// The metrics of a call. JSON lines have all of them; what has no value is null.
struct MetricsLine {
  std::string kind;  ///< training, validation, inference
  std::int64_t epoch = 0, call = 0, updates = 0, samples = 0;
  std::optional<double> loss, accuracy, learningRate, lossScale, gradientNorm;
  std::vector<double> iterationLosses;  ///< one for each weight update of the call; empty: there are none

  /// The values that may be missing, with their names in snake_case.
  std::vector<std::pair<const char*, std::optional<double>>> values() const;
};

class MetricsFile {
 public:
  /// Checks the paths of execution.metrics, metrics_prometheus and metrics_tensorboard; an empty one writes
  /// nothing. An older file stays until the first line.
  static base::Result<MetricsFile> create(const config::Configuration& configuration,
                                          const base::OutputRules& rules);
  /// Writes a line, which readers of the file see at once; Prometheus' file within a second.
  base::Status add(const MetricsLine& line);
  /// Brings Prometheus' file up to date. Call it at the end of the run.
  base::Status finish();

 private:
  base::Status addLine(const MetricsLine& line);
  base::Status addEvents(const MetricsLine& line);

  std::string path_;
  base::OutputRules rules_;
  std::optional<base::OutputFile> file_;
  std::optional<PrometheusFile> prometheus_;
  std::optional<EventFile> events_;
  std::int64_t updates_ = 0;  ///< updates of the last training call
};

}  // namespace pipescope::app
