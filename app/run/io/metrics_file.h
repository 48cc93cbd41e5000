#pragma once
// Writes the metrics of each call as JSON lines for `--metrics FILE`.
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::app {

/// One line of the file. Fields without a value are left out.
struct MetricsLine {
  std::string kind;  ///< training, validation, inference
  std::int64_t epoch = 0, call = 0, updates = 0, samples = 0;
  std::optional<double> loss, accuracy, learningRate, lossScale, gradientNorm;
};

class MetricsFile {
 public:
  /// Replaces an existing file. With an empty path, nothing is written.
  static base::Result<MetricsFile> create(const std::string& path);
  base::Status add(const MetricsLine& line);

 private:
  std::string path_;
  std::ofstream stream_;
};

}  // namespace pipescope::app
