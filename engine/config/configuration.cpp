#include "engine/config/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "engine/config/suggestion.h"

namespace pipescope::config {
namespace {

constexpr std::string_view kVariablePrefix = "PIPESCOPE_";

}  // namespace

std::string toString(Origin origin) {
  static constexpr const char* names[] = {"default", "derived", "model", "file", "environment", "flag"};
  return names[static_cast<std::size_t>(origin)];
}

namespace {

bool hasType(const Value& value, KeyType type) {
  return value.index() == static_cast<std::size_t>(type);
}

/// Converts a value to the key's type if that is harmless: a whole number to a real one, an empty list to a
/// list of texts, and a text to a whole number if it is one of the key's words (−1 − its position) or digits.
Value widened(Value value, const Key& key) {
  const KeyType type = key.type;
  if (type == KeyType::integer && !key.choices.empty() && std::holds_alternative<std::string>(value)) {
    const std::string& text = std::get<std::string>(value);
    const auto word = std::find(key.choices.begin(), key.choices.end(), text);
    if (word != key.choices.end()) return std::int64_t{-1} - (word - key.choices.begin());
    std::int64_t digits = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digits);
    if (error == std::errc() && end == text.data() + text.size()) return digits;
  }
  if (type == KeyType::real && std::holds_alternative<std::int64_t>(value)) {
    return static_cast<double>(std::get<std::int64_t>(value));
  }
  if (type == KeyType::texts && std::holds_alternative<std::vector<std::int64_t>>(value) &&
      std::get<std::vector<std::int64_t>>(value).empty()) {
    return std::vector<std::string>();
  }
  return value;
}

std::string number(double value) {
  return fmt::format("{}", value);
}

/// Words of a whole number stand for negative numbers, which cannot be given themselves.
double leastOf(const Key& key) {
  const bool hasWords = key.type == KeyType::integer && !key.choices.empty();
  return hasWords ? std::max(key.least, 0.0) : key.least;
}

/// A whole number of 64 bits is compared exactly, which a double could not do.
template <class Number>
Status checkNumber(const Key& key, Number value) {
  using Exact = std::conditional_t<std::is_integral_v<Number>, long double, double>;
  if (static_cast<Exact>(value) >= static_cast<Exact>(leastOf(key)) &&
      static_cast<Exact>(value) <= static_cast<Exact>(key.most))
    return {};
  const bool above = !std::isinf(key.least), below = !std::isinf(key.most);
  std::string range;
  if (above && below) {
    range = "between " + number(leastOf(key)) + " and " + number(key.most);
  } else if (above) {
    range = "at least " + number(leastOf(key));
  } else {
    range = below ? "at most " + number(key.most) : "a number";
  }
  if (!key.choices.empty()) range += fmt::format(", or {}", fmt::join(key.choices, ", "));
  return base::badInput(fmt::format("{} is {}, but it must be {}.", key.path, value, range));
}

Status checkChoice(const Key& key, const std::string& value) {
  if (key.choices.empty() || std::find(key.choices.begin(), key.choices.end(), value) != key.choices.end())
    return {};
  return base::badInput(fmt::format("{} is \"{}\", but it must be one of {}{}", key.path, value,
                                    fmt::join(key.choices, ", "), base::didYouMean(value, key.choices)));
}

Status checkValue(const Key& key, const Value& value) {
  constexpr double kTooLarge = 9.2e18;  // limit of a whole number of 64 bits
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && key.type == KeyType::integer && std::fabs(*real) >= kTooLarge)
    PIPESCOPE_TRY(checkNumber(key, *real));
  if (!hasType(value, key.type)) {
    return base::badInput(
        fmt::format("{} is {}, but it must be {}.", key.path, toToml(value), toString(key.type)));
  }
  if (const auto* n = std::get_if<std::int64_t>(&value)) return checkNumber(key, *n);
  if (const auto* x = std::get_if<double>(&value)) return checkNumber(key, *x);
  if (const auto* s = std::get_if<std::string>(&value)) return checkChoice(key, *s);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    for (const std::int64_t n : *list) PIPESCOPE_TRY(checkNumber(key, n));
  }
  return {};
}

}  // namespace

const Key& Settings::key(std::string_view path) const {
  const Key* found = keys_->find(prefix_ + std::string(path));
  PIPESCOPE_CHECK(found != nullptr, "no key " + prefix_ + std::string(path));
  return *found;
}

const Value& Settings::value(std::string_view path) const {
  if (const auto found = values_.find(path); found != values_.end()) return found->second.value;
  const Key& own = key(path);
  if (own.chooser.empty()) return own.fallback;
  const auto fallback = own.fallbackOf.find(text(own.chooser));
  return fallback == own.fallbackOf.end() ? own.fallback : fallback->second;
}

bool Settings::applies(std::string_view path) const {
  const Key& own = key(path);
  return own.chooser.empty() || own.fallbackOf.contains(text(own.chooser));
}

bool Settings::boolean(std::string_view path) const {
  return std::get<bool>(value(path));
}
std::int64_t Settings::integer(std::string_view path) const {
  return std::get<std::int64_t>(value(path));
}
double Settings::real(std::string_view path) const {
  return std::get<double>(value(path));
}
const std::string& Settings::text(std::string_view path) const {
  return std::get<std::string>(value(path));
}
const std::vector<std::int64_t>& Settings::integers(std::string_view path) const {
  return std::get<std::vector<std::int64_t>>(value(path));
}
const std::vector<std::string>& Settings::texts(std::string_view path) const {
  return std::get<std::vector<std::string>>(value(path));
}

bool Settings::given(std::string_view path) const {
  return origin(path) != Origin::byDefault;
}

Origin Settings::origin(std::string_view path) const {
  const auto found = values_.find(path);
  return found == values_.end() ? Origin::byDefault : found->second.origin;
}

Status Settings::set(std::string_view path, Value value, Origin origin) {
  const Key& own = key(path);
  const bool isWord = std::holds_alternative<std::string>(value);
  value = widened(std::move(value), own);
  const auto* number = std::get_if<std::int64_t>(&value);
  const bool standsForWord = isWord && number != nullptr && *number < 0;
  if (!standsForWord) PIPESCOPE_TRY(checkValue(own, value));
  const auto found = values_.find(path);
  if (found != values_.end() && found->second.origin > origin) return {};  // a stronger origin spoke already
  values_[std::string(path)] = {std::move(value), origin};
  return {};
}

Status Settings::replace(std::string_view path, Value value) {
  values_.erase(values_.lower_bound(path), values_.upper_bound(path));
  return set(path, std::move(value), Origin::derived);
}

Status Settings::resolve(std::string_view path, Value value) {
  const Key& own = key(path);
  value = widened(std::move(value), own);
  PIPESCOPE_TRY(checkValue(own, value));
  Setting setting{std::move(value), origin(path), givenValue(path)};
  values_[std::string(path)] = std::move(setting);
  return {};
}

const Value& Settings::givenValue(std::string_view path) const {
  const auto found = values_.find(path);
  return found != values_.end() && found->second.given ? *found->second.given : value(path);
}

const std::vector<Settings>& Configuration::tables(std::string_view name) const {
  static const std::vector<Settings> none;
  const auto found = tables_.find(name);
  return found == tables_.end() ? none : found->second;
}

std::string environmentName(std::string_view path) {
  std::string name(kVariablePrefix);
  for (const char c : path)
    name += c == '.' || c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

Status Configuration::applyEnvironment(const std::function<const char*(const char*)>& getenv) {
  for (const Key& key : keys().all()) {
    if (key.path.find("[]") != std::string::npos) continue;
    const std::string name = environmentName(key.path);
    const char* value = getenv(name.c_str());
    if (value == nullptr) continue;
    if (const Status status = setText(key.path, value, Origin::environment); !status.ok()) {
      const std::string& said = status.error().message;
      const bool namesKey = said.starts_with(key.path + " ");
      return base::badInput("The environment variable " + name +
                            (namesKey ? said.substr(key.path.size()) : ": " + said));
    }
  }
  return {};
}

namespace {

/// Returns how far the name of a variable, without PIPESCOPE_, is from a key's; 0: they are the same but for
/// the table. None: it hardly means this key.
std::optional<std::size_t> distanceFromKey(const std::string& own, const Key& key,
                                           const std::set<std::string>& tables) {
  const std::string full = environmentName(key.path).substr(kVariablePrefix.size());
  const std::string last = full.substr(full.size() - lastPart(key.path).size());
  for (const std::string& flag : key.flags) {
    if (environmentName(flag).substr(kVariablePrefix.size()) == own) return 0;
  }
  if (own == last) return 0;
  // The key of another table: PIPESCOPE_SYSTEM_EPOCHS.
  if (own.ends_with("_" + last) && tables.contains(own.substr(0, own.size() - last.size()))) return 3;
  const std::size_t letters = editDistance(own, full);  // more than two different ones are hardly a slip
  if (letters < 3) return letters;
  if (own.size() > 3 && full.ends_with("_" + own)) return 4;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> misspeltVariables(const KeyTable& keys, const std::vector<std::string>& names) {
  std::vector<std::string> known, notes;
  std::set<std::string> tables;  // "TRAINING_"
  for (const Key& key : keys.all()) {
    if (key.path.find("[]") != std::string::npos) continue;
    known.push_back(environmentName(key.path));
    tables.insert(known.back().substr(
        kVariablePrefix.size(), known.back().size() - kVariablePrefix.size() - lastPart(key.path).size()));
  }
  for (const std::string& name : names) {
    if (!name.starts_with(kVariablePrefix) || std::ranges::find(known, name) != known.end()) continue;
    const std::string own = name.substr(kVariablePrefix.size());
    std::string near;
    std::optional<std::size_t> least;
    for (const Key& key : keys.all()) {
      if (key.path.find("[]") != std::string::npos) continue;
      const std::optional<std::size_t> distance = distanceFromKey(own, key, tables);
      if (distance && (!least || *distance < *least)) least = distance, near = environmentName(key.path);
    }
    if (near.empty()) continue;
    notes.push_back(fmt::format("The environment variable {} has no effect; did you mean {}?", name, near));
  }
  return notes;
}

void Configuration::setContent(std::string_view path, std::shared_ptr<const std::vector<std::byte>> content) {
  contents_[std::string(path)] = std::move(content);
}

std::shared_ptr<const std::vector<std::byte>> Configuration::content(std::string_view path) const {
  const auto found = contents_.find(path);
  return found == contents_.end() ? nullptr : found->second;
}

Status Configuration::checkApplies() const {
  for (const Key& key : keys().all()) {
    if (key.chooser.empty() || !given(key.path) || applies(key.path)) continue;
    const std::string& choice = text(key.chooser);
    if (choice.empty()) {
      return base::badInput(
          fmt::format("{} is given, but {} is not: set it, or leave this out.", key.path, key.chooser));
    }
    return base::badInput(fmt::format("{} is given, but {} {} has no such setting: leave it out.", key.path,
                                      key.chooser, choice));
  }
  return {};
}

std::vector<OptionRow> Configuration::dump() const {
  std::vector<OptionRow> rows;
  for (const Key& key : keys().all()) {
    if (key.path.find("[]") != std::string::npos || !applies(key.path)) continue;
    rows.push_back({key.path, toToml(key, givenValue(key.path)), toString(origin(key.path))});
  }
  for (const auto& [name, entries] : tables_) {
    const std::string prefix = name + "[].";
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (const Key& key : keys().all()) {
        if (!key.path.starts_with(prefix)) continue;
        const std::string inner = key.path.substr(prefix.size());
        if (!entries[i].given(inner)) continue;
        rows.push_back({fmt::format("{}[{}].{}", name, i, inner), toToml(key, entries[i].givenValue(inner)),
                        toString(entries[i].origin(inner))});
      }
    }
  }
  return rows;
}

}  // namespace pipescope::config
