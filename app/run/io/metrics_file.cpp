#include "app/run/io/metrics_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace pipescope::app {

base::Result<MetricsFile> MetricsFile::create(const std::string& path) {
  MetricsFile file;
  file.path_ = path;
  if (path.empty()) return file;
  file.stream_.open(path, std::ios::trunc);
  if (!file.stream_)
    return base::ioError(
        fmt::format("Cannot write the metrics file {}: no such folder, or no permission.", path));
  return file;
}

base::Status MetricsFile::add(const MetricsLine& line) {
  if (path_.empty()) return {};
  nlohmann::ordered_json json{{"kind", line.kind}, {"epoch", line.epoch}, {"call", line.call}};
  if (line.kind == "training") json["updates"] = line.updates;
  json["samples"] = line.samples;
  const std::pair<const char*, const std::optional<double>*> values[] = {
      {"loss", &line.loss},
      {"accuracy", &line.accuracy},
      {"learning_rate", &line.learningRate},
      {"loss_scale", &line.lossScale},
      {"gradient_norm", &line.gradientNorm}};
  for (const auto& [name, value] : values) {
    if (*value && std::isfinite(**value)) json[name] = **value;
    if (*value && !std::isfinite(**value)) json[name] = nullptr;
  }
  stream_ << json.dump() << '\n' << std::flush;
  if (!stream_)
    return base::refused(fmt::format("Cannot write the metrics file {}: is the disk full?", path_));
  return {};
}

}  // namespace pipescope::app
