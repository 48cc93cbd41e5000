#include "app/run/io/metrics_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace pipescope::app {

base::Result<MetricsFile> MetricsFile::create(const std::string& path, const base::OutputRules& rules) {
  MetricsFile file;
  file.path_ = path;
  file.rules_ = rules;
  if (!path.empty()) PIPESCOPE_TRY(base::checkOutput(path, base::FileKind::metrics, rules));
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
  const bool isFirst = !file_;
  if (isFirst) {
    PIPESCOPE_ASSIGN(file_, base::OutputFile::create(path_, base::FileKind::metrics, rules_));
  }
  PIPESCOPE_TRY(file_->write(json.dump() + "\n"));
  return isFirst ? file_->publish() : file_->flush();
}

}  // namespace pipescope::app
