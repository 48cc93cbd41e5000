#include "engine/emulate/peak_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pipescope::emulate {
namespace {

/// Times are rounded to ticks, and sums of seconds to doubles.
constexpr double kRounding = 1e-6;

std::string peakSentence(const std::string& what, double least, double seconds) {
  return fmt::format(
      "{} computes at {:.4g} times the peak: its products need {:.6g} s at the peak of their types, but the "
      "device model gives them {:.6g} s.",
      what, least / seconds, least, seconds);
}

class PeakCheck {
 public:
  explicit PeakCheck(const devices::DeviceInfo& info) : info_(info) {}

  std::vector<std::string> check(const devices::LoweredDevice& device) {
    double least = 0, whole = 0;
    for (const devices::LoweredPass& pass : device.passes) {
      checkOperators(pass);
      for (const devices::LoweredOperator& op : pass.operators) least += op.leastSeconds;
      whole += seconds(pass.ticks());
    }
    report(info_.name, least, whole);
    return std::move(sentences_);
  }

 private:
  void checkOperators(const devices::LoweredPass& pass) {
    std::vector<base::Ticks> ticks(pass.operators.size());
    for (const devices::LoweredSegment& segment : pass.segments) {
      for (const devices::LoweredStep& step : segment.steps) {
        if (step.op >= 0 && static_cast<std::size_t>(step.op) < ticks.size())
          ticks[static_cast<std::size_t>(step.op)] += step.ticks;
      }
    }
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      const devices::LoweredOperator& op = pass.operators[i];
      if (op.product) report(op.name + " (" + op.kind + ")", op.leastSeconds, seconds(ticks[i]));
    }
  }

  double seconds(base::Ticks ticks) const { return base::toSeconds(ticks, {info_.ticksPerSecond}); }

  void report(const std::string& what, double least, double given) {
    const double tick = 1 / static_cast<double>(info_.ticksPerSecond);
    if (least > (given + tick) * (1 + kRounding))
      sentences_.push_back(peakSentence(what, least, std::max(given, tick)));
  }

  const devices::DeviceInfo& info_;
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> abovePeak(const devices::System& system,
                                   const std::vector<devices::LoweredDevice>& lowered) {
  std::vector<std::string> sentences;
  for (const devices::LoweredDevice& device : lowered) {
    const auto found = PeakCheck(system.devices()[static_cast<std::size_t>(device.device)]).check(device);
    sentences.insert(sentences.end(), found.begin(), found.end());
  }
  return sentences;
}

std::vector<std::string> recordLeastTimes(record::Recorder& recorder, const devices::System& system,
                                          model::ExecutableId executable,
                                          const std::vector<devices::LoweredDevice>& lowered) {
  double model = 0, recompute = 0;
  for (const devices::LoweredDevice& device : lowered) {
    for (const devices::LoweredPass& pass : device.passes) {
      if (!model::isComputePass(pass.pass)) continue;
      for (const devices::LoweredOperator& op : pass.operators)
        (pass.pass == model::Pass::recompute ? recompute : model) += op.leastSeconds;
    }
  }
  if (model > 0) {
    const std::string path = fmt::format("least_seconds.{}", executable.value);
    recorder.add(model::Property{path + ".model", fmt::format("{}", model)});
    recorder.add(model::Property{path + ".recompute", fmt::format("{}", recompute)});
  }
  std::vector<std::string> above = abovePeak(system, lowered);
  for (const std::string& sentence : above)
    recorder.add(model::Diagnostic{model::Severity::error, "above_peak", sentence, executable, {}});
  return above;
}

void recordOperatorPeaks(record::Recorder& recorder, model::ExecutableId executable,
                         const std::vector<OperatorPeak>& peaks) {
  std::map<std::string, std::string> lists;
  for (std::size_t first = 0, end = 0; first < peaks.size(); first = end) {
    const auto text = [](const OperatorPeak& peak) { return fmt::format("{:.10g}", peak.flopsPerSecond); };
    const std::string peak = text(peaks[first]);
    for (end = first + 1; end < peaks.size(); ++end) {
      if (peaks[end].op.value != peaks[end - 1].op.value + 1 || text(peaks[end]) != peak) break;
    }
    std::string& list = lists[peak];
    if (!list.empty()) list += ',';
    list += std::to_string(peaks[first].op.value);
    if (end > first + 1) list += '-' + std::to_string(peaks[end - 1].op.value);
  }
  if (lists.size() < 2) return;
  std::string value;
  for (const auto& [peak, list] : lists) value += (value.empty() ? "" : ";") + peak + ":" + list;
  recorder.add(model::Property{fmt::format("operator_peaks.{}", executable.value), value});
}

}  // namespace pipescope::emulate
