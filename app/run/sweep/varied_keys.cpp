#include "app/run/sweep/varied_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "engine/config/configuration_help.h"
#include "engine/config/nearest.h"

namespace pipescope::app {
namespace {

using base::badInput;

constexpr std::size_t kMostValues = 10'000;

std::string withoutBlanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

/// Splits at commas outside brackets and quotes.
std::vector<std::string> listedValues(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '[') ++depth;
    if (!quoted && c == ']') --depth;
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  for (std::string& value : values) value = withoutBlanks(value);
  return values;
}

std::optional<double> wholeText(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

struct ValueRange {
  double first = 0, last = 0, step = 1;
  bool multiplies = false;
};

/// "1..64*2", "1..8" or "10..50+10". Nothing: the text is no range.
std::optional<ValueRange> rangeIn(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  ValueRange range;
  std::string_view rest = text.substr(dots + 2);
  const std::size_t sign = rest.find_first_of("*+");
  if (sign != std::string_view::npos) {
    const std::optional<double> step = wholeText(rest.substr(sign + 1));
    if (!step) return std::nullopt;
    range.step = *step;
    range.multiplies = rest[sign] == '*';
    rest = rest.substr(0, sign);
  }
  const std::optional<double> first = wholeText(text.substr(0, dots)), last = wholeText(rest);
  if (!first || !last) return std::nullopt;
  range.first = *first;
  range.last = *last;
  return range;
}

base::Result<std::vector<std::string>> valuesOfRange(const std::string& text, const ValueRange& range) {
  const bool grows = range.multiplies ? range.step > 1 && range.first > 0 : range.step > 0;
  if (!grows || range.last < range.first) {
    return badInput(fmt::format(
        "--vary {}: the range never reaches its end. Write for example 1..64*2, 1..8 or 10..50+10.", text));
  }
  std::vector<std::string> values;
  double value = range.first;
  for (std::size_t i = 1; value <= range.last * (1 + 1e-12); ++i) {
    if (values.size() == kMostValues)
      return badInput(fmt::format("--vary {}: the range has more than {} values.", text, kMostValues));
    values.push_back(fmt::format("{:.12g}", value));
    value = range.multiplies ? value * range.step : range.first + static_cast<double>(i) * range.step;
  }
  return values;
}

}  // namespace

base::Result<std::string> keyNamed(const config::KeyTable& keys, std::string_view word) {
  std::string flag(word);
  std::ranges::replace(flag, '_', '-');
  std::vector<const config::Key*> meant = config::keysMeant(keys, word);
  if (meant.size() != 1) {
    // A flag belongs to one key, also where several keys end with the same word.
    if (const auto flagged = config::keysMeant(keys, "--" + flag); flagged.size() == 1) meant = flagged;
  }
  if (meant.size() == 1 && meant.front()->path.find("[]") == std::string::npos) return meant.front()->path;
  if (meant.size() > 1) {
    return badInput(
        fmt::format("{} may mean {} or {}: write the whole key.", word, meant[0]->path, meant[1]->path));
  }
  if (meant.size() == 1) {
    return badInput(
        fmt::format("{} stands in an array of tables, so it has no single value: vary another key.",
                    meant.front()->path));
  }
  if (word.empty()) return badInput("The name of the key is missing.");
  const std::string near = config::nearest(word, keys.paths());
  return badInput(fmt::format("There is no key {}{}", word,
                              near.empty() ? "; `pipescope run --help-keys` lists all keys."
                                           : fmt::format("; did you mean {}?", near)));
}

base::Result<VariedKey> parseVaried(const config::KeyTable& keys, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return badInput(fmt::format("--vary takes KEY=A,B,C or KEY=1..64*2, but \"{}\" was given.", text));
  VariedKey varied;
  PIPESCOPE_ASSIGN(varied.key, keyNamed(keys, withoutBlanks(std::string_view(text).substr(0, equals))));
  const std::string right = withoutBlanks(std::string_view(text).substr(equals + 1));
  if (const std::optional<ValueRange> range = rangeIn(right)) {
    PIPESCOPE_ASSIGN(varied.values, valuesOfRange(text, *range));
  } else {
    varied.values = listedValues(right);
  }
  config::Configuration trial(keys);
  for (std::size_t i = 0; i < varied.values.size(); ++i) {
    const std::string& value = varied.values[i];
    if (value.empty()) return badInput(fmt::format("--vary {}: a value is empty.", text));
    if (std::find(varied.values.begin(), varied.values.begin() + static_cast<std::ptrdiff_t>(i), value) !=
        varied.values.begin() + static_cast<std::ptrdiff_t>(i))
      return badInput(fmt::format("--vary {}: the value {} is given twice.", text, value));
    if (const base::Status set = trial.setText(varied.key, value, config::Origin::flag); !set.ok())
      return badInput(fmt::format("--vary {}: {}", text, set.error().message));
  }
  return varied;
}

base::Result<std::vector<VariedKey>> parseAllVaried(const config::KeyTable& keys,
                                                    const std::vector<std::string>& texts) {
  std::vector<VariedKey> all;
  for (const std::string& text : texts) {
    PIPESCOPE_ASSIGN(VariedKey varied, parseVaried(keys, text));
    if (std::ranges::find(all, varied.key, &VariedKey::key) != all.end())
      return badInput(fmt::format("--vary names {} twice: give all its values at once.", varied.key));
    all.push_back(std::move(varied));
  }
  return all;
}

base::Result<std::int64_t> countCombinations(const std::vector<VariedKey>& keys) {
  double exact = 1;
  std::string product;
  for (const VariedKey& key : keys) {
    exact *= static_cast<double>(key.values.size());
    product += fmt::format("{}{}", product.empty() ? "" : " × ", key.values.size());
  }
  if (exact <= static_cast<double>(kMostCombinations)) return static_cast<std::int64_t>(exact);
  return badInput(fmt::format(
      "There are {:.0f} combinations ({}), but a sweep takes at most {}: vary fewer keys, or fewer values.",
      exact, product, kMostCombinations));
}

std::vector<std::string> combination(const std::vector<VariedKey>& keys, std::int64_t index) {
  std::vector<std::string> values(keys.size());
  for (std::size_t i = keys.size(); i-- > 0;) {
    const auto count = static_cast<std::int64_t>(keys[i].values.size());
    values[i] = keys[i].values[static_cast<std::size_t>(index % count)];
    index /= count;
  }
  return values;
}

base::Result<config::Configuration> applyCombination(const config::Configuration& configuration,
                                                     const std::vector<VariedKey>& keys,
                                                     const std::vector<std::string>& values) {
  config::Configuration changed = configuration;
  for (std::size_t i = 0; i < keys.size(); ++i)
    PIPESCOPE_TRY(changed.setText(keys[i].key, values[i], config::Origin::flag));
  return changed;
}

}  // namespace pipescope::app
