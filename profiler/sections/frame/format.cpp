// Words of facts and outcomes.
#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

std::string factText(const Section& section, const Fact& fact) {
  return fact.text.empty() ? loneText(fact.value, fact.format, section.time()) : fact.text;
}

bool countsBefore(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      while (at + 1 < text.size() && text[at] == '0' && digit(text[at + 1])) ++at;
      const std::size_t from = at;
      while (at < text.size() && digit(text[at])) ++at;
      return text.substr(from, at - from);
    };
    const std::string one = number(a, i), other = number(b, j);
    if (one.size() != other.size()) return one.size() < other.size();
    if (one != other) return one < other;
  }
  return a.size() - i < b.size() - j;
}

std::string outcomeName(const model::Outcome& outcome) {
  static constexpr std::pair<std::string_view, const char*> kForecasts[] = {
      {"bubble_fraction_2g", "bubble with 2 × micro-batches"},
      {"bubble_fraction_4g", "bubble with 4 × micro-batches"},
      {"bubble_fraction_limit", "bubble with ever more micro-batches"}};
  std::string name = outcome.name;
  std::replace(name.begin(), name.end(), '_', ' ');
  for (const auto& [key, words] : kForecasts) {
    if (outcome.name == key) name = words;
  }
  if (outcome.kind == model::OutcomeKind::forecast) return "Forecast: " + name;
  if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

std::string outcomeValue(const model::Outcome& outcome) {
  const bool share = outcome.unit == "fraction" ||
                     (outcome.unit.empty() && outcome.name.find("accuracy") != std::string::npos);
  if (share) return formatCell(outcome.value, Format::fraction);
  if (outcome.unit.empty()) return formatCell(outcome.value, Format::plain);
  if (outcome.unit == "s") return formatCell(outcome.value, Format::seconds);
  // A slow host may need seconds for a sample.
  const bool isSmall = std::fabs(outcome.value) < 100 && outcome.value != std::round(outcome.value);
  return (isSmall ? fmt::format("{:.3g}", outcome.value) : formatCell(outcome.value, Format::count)) + " " +
         outcome.unit;
}

}  // namespace pipescope::sections
