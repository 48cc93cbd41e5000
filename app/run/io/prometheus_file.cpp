#include "app/run/io/prometheus_file.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace pipescope::app {

std::string prometheusLabel(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

std::string prometheusValue(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{:.12g}", value);
}

base::Result<PrometheusFile> PrometheusFile::create(const std::string& path, const std::string& model,
                                                    const base::OutputRules& rules) {
  PIPESCOPE_TRY(base::checkOutput(path, base::FileKind::prometheus, rules));
  PrometheusFile file;
  file.path_ = path;
  file.model_ = model;
  file.rules_ = rules;
  return file;
}

base::Status PrometheusFile::add(const Sample& sample) {
  Totals& totals = kinds_[sample.kind];
  ++totals.calls;
  totals.samples += sample.samples;
  totals.epoch = sample.epoch;
  totals.updates = sample.updates;
  for (const auto& [name, value] : sample.values) {
    if (value) totals.values[name] = *value;
  }
  pending_ = true;
  const auto now = std::chrono::steady_clock::now();
  if (written_ && now - *written_ < std::chrono::seconds(1)) return {};
  return write();
}

base::Status PrometheusFile::finish() {
  return pending_ ? write() : base::Status();
}

base::Status PrometheusFile::write() {
  PIPESCOPE_ASSIGN(base::OutputFile file,
                   base::OutputFile::create(path_, base::FileKind::prometheus, rules_));
  PIPESCOPE_TRY(file.write(text()));
  PIPESCOPE_TRY(file.close());
  written_ = std::chrono::steady_clock::now();
  pending_ = false;
  return {};
}

std::string PrometheusFile::text() const {
  std::string text;
  const auto add = [&](const std::string& name, const char* type, const char* help,
                       const std::function<std::optional<double>(const Totals&, const std::string&)>& value) {
    std::string lines;
    for (const auto& [kind, totals] : kinds_) {
      if (const std::optional<double> of = value(totals, kind))
        lines += fmt::format("pipescope_{}{{model=\"{}\",kind=\"{}\"}} {}\n", name, prometheusLabel(model_),
                             prometheusLabel(kind), prometheusValue(*of));
    }
    if (lines.empty()) return;
    text += fmt::format("# HELP pipescope_{0} {1}\n# TYPE pipescope_{0} {2}\n{3}", name, help, type, lines);
  };
  const auto count = [](std::int64_t Totals::*member) {
    return [member](const Totals& totals, const std::string&) {
      return std::optional<double>(static_cast<double>(totals.*member));
    };
  };
  add("calls_total", "counter", "Calls from the host in this run.", count(&Totals::calls));
  add("samples_total", "counter", "Samples that these calls consumed.", count(&Totals::samples));
  add("updates_total", "counter", "Weight updates since the first training.",
      [](const Totals& totals, const std::string& kind) {
        return kind == "training" ? std::optional<double>(static_cast<double>(totals.updates)) : std::nullopt;
      });
  add("epoch", "gauge", "Epoch of the last call, from 1.", [](const Totals& totals, const std::string&) {
    return totals.epoch > 0 ? std::optional<double>(static_cast<double>(totals.epoch)) : std::nullopt;
  });
  for (const auto& [name, help] :
       {std::pair{"loss", "Mean loss of the rows that the last call returned."},
        std::pair{"accuracy", "Right predictions of the last call, as a fraction."},
        std::pair{"learning_rate", "Learning rate of the last weight update."},
        std::pair{"loss_scale", "Factor of the loss in the last weight update."},
        std::pair{"gradient_norm", "Norm of all gradients of the last weight update."}}) {
    const std::string key = name;
    add(key, "gauge", help, [key](const Totals& totals, const std::string&) -> std::optional<double> {
      const auto found = totals.values.find(key);
      return found == totals.values.end() ? std::nullopt : std::optional<double>(found->second);
    });
  }
  return text;
}

}  // namespace pipescope::app
