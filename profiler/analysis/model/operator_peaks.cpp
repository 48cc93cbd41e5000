#include "profiler/analysis/model/operator_peaks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace pipescope::analysis {
namespace {

template <class Number>
std::optional<Number> numberOf(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The part before the separator, which `text` loses with it.
std::string_view nextPart(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

}  // namespace

OperatorPeaks::OperatorPeaks(const Catalog& catalog, model::ExecutableId executable) {
  const std::string property = catalog.property("operator_peaks." + std::to_string(executable.value));
  for (std::string_view rest = property; !rest.empty();) {
    std::string_view list = nextPart(rest, ';');
    const auto peak = numberOf<double>(nextPart(list, ':'));
    if (!peak || !std::isfinite(*peak) || *peak <= 0) continue;
    while (!list.empty()) {
      std::string_view range = nextPart(list, ',');
      const auto first = numberOf<std::int64_t>(nextPart(range, '-'));
      const auto last = range.empty() ? first : numberOf<std::int64_t>(range);
      if (!first || !last || *last < *first) continue;
      runs_.push_back({*first, *last, *peak});
      highest_ = std::max(highest_, *peak);
    }
  }
  std::ranges::sort(runs_, {}, &Run::first);
}

double OperatorPeaks::of(model::OperatorId op) const {
  const auto after = std::ranges::upper_bound(runs_, static_cast<std::int64_t>(op.value), {}, &Run::first);
  if (after == runs_.begin()) return 0;
  const Run& run = *(after - 1);
  return op.value <= run.last ? run.peak : 0;
}

}  // namespace pipescope::analysis
