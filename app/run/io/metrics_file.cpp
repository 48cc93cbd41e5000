#include "app/run/io/metrics_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace pipescope::app {

std::vector<std::pair<const char*, std::optional<double>>> MetricsLine::values() const {
  return {{"loss", loss},
          {"accuracy", accuracy},
          {"learning_rate", learningRate},
          {"loss_scale", lossScale},
          {"gradient_norm", gradientNorm}};
}

base::Result<MetricsFile> MetricsFile::create(const config::Configuration& c,
                                              const base::OutputRules& rules) {
  MetricsFile file;
  file.path_ = c.text("execution.metrics");
  file.rules_ = rules;
  if (!file.path_.empty()) PIPESCOPE_TRY(base::checkOutput(file.path_, base::FileKind::metrics, rules));
  if (const std::string& path = c.text("execution.metrics_prometheus"); !path.empty()) {
    PIPESCOPE_ASSIGN(file.prometheus_, PrometheusFile::create(path, c.text("model.name"), rules));
  }
  if (const std::string& folder = c.text("execution.metrics_tensorboard"); !folder.empty()) {
    PIPESCOPE_ASSIGN(file.events_, EventFile::create(folder));
  }
  return file;
}

base::Status MetricsFile::add(const MetricsLine& line) {
  PIPESCOPE_TRY(addLine(line));
  PIPESCOPE_TRY(addEvents(line));
  if (!prometheus_) return {};
  PrometheusFile::Sample sample{line.kind, line.epoch, line.updates, line.samples, line.values()};
  return prometheus_->add(sample);
}

base::Status MetricsFile::finish() {
  return prometheus_ ? prometheus_->finish() : base::Status();
}

base::Status MetricsFile::addLine(const MetricsLine& line) {
  if (path_.empty()) return {};
  using Json = nlohmann::ordered_json;
  const auto number = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json();
  };
  Json json{{"kind", line.kind}, {"epoch", line.epoch}, {"call", line.call}};
  json["updates"] = line.kind == "training" ? Json(line.updates) : Json();
  json["samples"] = line.samples;
  for (const auto& [name, value] : line.values()) json[name] = number(value);
  Json& iterations = json["iteration_losses"];  // null without losses
  for (const double loss : line.iterationLosses) iterations.push_back(number(loss));
  const bool isFirst = !file_;
  if (isFirst) {
    PIPESCOPE_ASSIGN(file_, base::OutputFile::create(path_, base::FileKind::metrics, rules_));
  }
  PIPESCOPE_TRY(file_->write(json.dump() + "\n"));
  return isFirst ? file_->publish() : file_->flush();
}

/// Training and validation count weight updates; inference, which comes after them, counts its calls.
base::Status MetricsFile::addEvents(const MetricsLine& line) {
  if (!events_) return {};
  if (line.kind == "training") updates_ = line.updates;
  const std::int64_t step = line.kind == "inference" ? line.call : updates_;
  std::vector<EventFile::Scalar> scalars;
  for (const auto& [name, value] : line.values()) {
    if (value) scalars.push_back({fmt::format("{}/{}", line.kind, name), static_cast<float>(*value)});
  }
  return events_->add(step, scalars);
}

}  // namespace pipescope::app
