#include "engine/devices/core/figures.h"
#include "engine/config/suggestion.h"
#include "profiler/base/number_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace pipescope::devices {

bool isGrade(std::string_view grade) {
  return grade.size() == 1 && std::string_view("DCMXR").find(grade[0]) != std::string_view::npos;
}

std::string FigureValue::sourceText() const {
  return interval ? fmt::format("{}; between {:.4g} and {:.4g}", source, interval->first, interval->second)
                  : source;
}

double FigureReader::positive(const std::string& key, const std::string& unit, double largest) {
  const FigureValue* figure = find(key, unit);
  if (!figure) return 1;
  if (!(figure->value > 0) || figure->value > largest) {
    fail(key, fmt::format("is {}, but must be above 0 and at most {:g}", figure->value, largest));
    return 1;
  }
  return figure->value;
}

double FigureReader::positiveOr(const std::string& key, const std::string& unit, double fallback) {
  known_.insert(key);
  return has(key) ? positive(key, unit) : fallback;
}

double FigureReader::notNegative(const std::string& key, const std::string& unit) {
  const FigureValue* figure = find(key, unit);
  if (!figure) return 0;
  if (!(figure->value >= 0) || figure->value > 1e30) {
    fail(key, fmt::format("is {}, but must not be negative", figure->value));
    return 0;
  }
  return figure->value;
}

std::int64_t FigureReader::count(const std::string& key, const std::string& unit, std::int64_t largest) {
  const double value = positive(key, unit, static_cast<double>(largest));
  if (value != std::floor(value)) {
    fail(key, fmt::format("is {}, but must be a whole number", value));
    return 1;
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t FigureReader::countOr(const std::string& key, const std::string& unit, std::int64_t largest,
                                   std::int64_t fallback) {
  known_.insert(key);
  return has(key) ? count(key, unit, largest) : fallback;
}

void FigureReader::shown(const std::string& key, const std::string& unit,
                         const std::vector<std::string>& from) {
  static_cast<void>(positiveOr(key, unit, 0));  // says what is wrong with it
  const auto statedHere = [this](const std::string& name) {
    const auto found = file_.figures.find(name);
    return found != file_.figures.end() && found->second.file == file_.file;
  };
  if (!statedHere(key) || std::ranges::any_of(from, statedHere)) return;
  fail(key, fmt::format("changes nothing by itself, because times follow from {}; change one of these, or "
                        "leave it out",
                        fmt::join(from, ", ")));
}

const FigureValue* FigureReader::find(const std::string& key, const std::string& unit) {
  known_.insert(key);
  const auto found = file_.figures.find(key);
  if (found == file_.figures.end()) {
    fail(key,
         fmt::format("is missing; add {} = {{ value = …, unit = \"{}\", grade = \"…\", source = \"…\" }}",
                     key, unit));
    return nullptr;
  }
  if (found->second.unit != unit) {
    fail(key, fmt::format("has unit \"{}\", but must be given in \"{}\"", found->second.unit, unit));
    return nullptr;
  }
  return &found->second;
}

void FigureReader::fail(const std::string& key, const std::string& what) {
  if (!fault_.empty()) return;
  const auto found = file_.figures.find(key);
  const std::string& file = found != file_.figures.end() ? found->second.file : file_.file;
  fault_ = fmt::format("{}: figure \"{}\" {}.", file, key, what);
}

base::Status FigureReader::status() const {
  if (!fault_.empty()) return base::badInput(fault_);
  for (const auto& [key, figure] : file_.figures) {
    if (known_.contains(key)) continue;
    const std::string nearest = config::nearest(key, {known_.begin(), known_.end()});
    return base::badInput(
        fmt::format("{}: unknown figure \"{}\"{}", figure.file, key,
                    nearest.empty() ? "." : fmt::format("; did you mean \"{}\"?", nearest)));
  }
  return {};
}

namespace {
struct Scale {
  double factor;
  const char* prefix;
};

std::string significant(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) return base::groupedText(std::llround(value));
  return fmt::format("{:.4g}", value);
}

Scale decimalScale(double value) {
  static constexpr std::array<Scale, 8> scales{
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-6, "µ"}, {1e-9, "n"}}};
  for (const Scale& scale : scales) {
    if (std::abs(value) >= scale.factor) return scale;
  }
  return {1, ""};
}

Scale binaryScale(double value) {
  static constexpr std::array<Scale, 4> scales{
      {{1024.0 * 1024 * 1024, "Gi"}, {1024.0 * 1024, "Mi"}, {1024, "Ki"}, {1, ""}}};
  for (const Scale& scale : scales) {
    if (std::abs(value) >= scale.factor) return scale;
  }
  return {1, ""};
}
}  // namespace

Figure readableFigure(const std::string& name, double value, const std::string& unit,
                      const std::string& grade, const std::string& source) {
  Scale scale{1, ""};
  if (unit == "B") scale = binaryScale(value);
  if (unit == "B/s" || unit == "bit/s" || unit == "FLOP/s" || unit == "Hz" || unit == "s")
    scale = decimalScale(value);
  return {name, significant(value / scale.factor), unit == "1" ? "" : scale.prefix + unit, grade, source};
}

}  // namespace pipescope::devices
