#pragma once
// Writes the metrics of each call as JSON lines for `--metrics FILE`.
#include <cstdint>
#include <optional>
#include <string>

#include "profiler/base/output_file.h"

namespace pipescope::app {

/// One line of the file. Fields without a value are left out.
struct MetricsLine {
  std::string kind;  ///< training, validation, inference
  std::int64_t epoch = 0, call = 0, updates = 0, samples = 0;
  std::optional<double> loss, accuracy, learningRate, lossScale, gradientNorm;
};

class MetricsFile {
 public:
  /// Checks the path. With an empty path, nothing is written. An older file stays until the first line.
  static base::Result<MetricsFile> create(const std::string& path, const base::OutputRules& rules);
  /// Writes a line, which readers of the file see at once.
  base::Status add(const MetricsLine& line);

 private:
  std::string path_;
  base::OutputRules rules_;
  std::optional<base::OutputFile> file_;
};

}  // namespace pipescope::app
