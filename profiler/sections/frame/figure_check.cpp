#include "profiler/sections/frame/figure_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "profiler/base/nearest.h"
#include "profiler/base/number_text.h"
#include "profiler/sections/bound.h"

namespace pipescope::sections {
namespace {

using FigureJson = nlohmann::json;

std::string trimmed(std::string text) {
  constexpr const char* kSpaces = " \t\r\n";
  text.erase(0, text.find_first_not_of(kSpaces));
  text.erase(text.find_last_not_of(kSpaces) + 1);
  return text;
}

/// Splits "stages[0].share" into "stages", "0" and "share". Nothing: a bracket or a key is missing.
std::vector<std::string> keysOf(const std::string& path) {
  std::vector<std::string> keys;
  std::string key;
  bool bracket = false, afterBracket = path.starts_with('[');
  for (const char c : path + ".") {
    const bool ends = bracket ? c == ']' : c == '.' || c == '[';
    if (!ends) {
      if (afterBracket) return {};
      key += c;
      continue;
    }
    if (!(key.empty() && afterBracket)) {
      if (key.empty()) return {};
      keys.push_back(std::move(key));
    }
    key.clear();
    afterBracket = bracket;
    bracket = c == '[';
  }
  return bracket ? std::vector<std::string>() : keys;
}

/// The path of a figure as users write it: "stages.stages[0].share".
std::string joinedPath(const std::string& path, const std::string& key, bool element) {
  return element ? fmt::format("{}[{}]", path, key) : fmt::format("{}.{}", path, key);
}

/// Keys that say which thing an element of an array is about, and no measured figure.
constexpr std::array kIdentities = {"index",      "name",     "device",     "stage",       "kind",
                                    "pass",       "category", "cause",      "waits_for",   "layer",
                                    "from",       "to",       "from_stage", "to_stage",    "tensor",
                                    "executable", "quantity", "depth",      "always_live", "space"};

/// The element of `others` that is about the same thing as `element`, or null. Elements without a name
/// correspond by their position.
const FigureJson* counterpart(const FigureJson& element, std::size_t position, const FigureJson& others) {
  bool named = false;
  for (const FigureJson& other : others) {
    if (!element.is_object() || !other.is_object()) break;
    bool same = true;
    for (const char* key : kIdentities) {
      if (!element.contains(key)) continue;
      named = true;
      same = same && other.contains(key) && element[key] == other[key];
    }
    if (named && same) return &other;
  }
  return !named && position < others.size() ? &others[position] : nullptr;
}

base::Error unknownFigure(const Check& check, const std::string& key, const std::vector<std::string>& keys) {
  const std::string near = base::nearest(key, keys);
  return base::badInput(fmt::format(
      "--fail-if: section {0} has no figure {1}{2} `pipescope report PROFILE --section {0} --format json` "
      "shows its figures.",
      check.section, fmt::join(check.path, "."), near.empty() ? ";" : "; did you mean " + near + "?"));
}

/// A value that a path leads to, and the value in the baseline.
struct Figure {
  std::string path;
  const FigureJson* value = nullptr;
  const FigureJson* baseline = nullptr;
};

class FigureFinder {
 public:
  explicit FigureFinder(const Check& check) : check_(check) {}

  /// An index right behind the section's name means its table of the same name: `stages.0.share`.
  base::Result<std::vector<Figure>> find(const FigureJson& section, const FigureJson* baseline) {
    Figure start{check_.section, &section, baseline};
    const std::string& first = check_.path.front();
    const bool isIndex = first == "*" || first.find_first_not_of("0123456789") == std::string::npos;
    if (isIndex && section.contains(check_.section) && section[check_.section].is_array()) {
      const bool also = baseline != nullptr && baseline->contains(check_.section);
      start = {joinedPath(check_.section, check_.section, false), &section[check_.section],
               also ? &(*baseline)[check_.section] : nullptr};
    }
    PIPESCOPE_TRY(descend(start, 0));
    return std::move(found_);
  }

 private:
  base::Status descend(const Figure& at, std::size_t depth) {
    // A figure that the profile lacks has no parts either.
    if (depth == check_.path.size() || at.value->is_null()) {
      found_.push_back(at);
      return {};
    }
    const std::string& key = check_.path[depth];
    if (key == "*" && at.value->is_structured()) return descendAll(at, depth);
    if (at.value->is_array()) return descendElement(at, key, depth);
    const std::string known = at.value->is_object() && at.value->contains(key) ? key : snakeCase(key);
    if (!at.value->is_object() || !at.value->contains(known)) return unknown(known, *at.value);
    const bool also = at.baseline != nullptr && at.baseline->is_object() && at.baseline->contains(known);
    return descend(
        {joinedPath(at.path, known, false), &(*at.value)[known], also ? &(*at.baseline)[known] : nullptr},
        depth + 1);
  }

  base::Status descendAll(const Figure& at, std::size_t depth) {
    const bool also = at.baseline != nullptr && at.baseline->type() == at.value->type();
    std::size_t position = 0;
    for (const auto& [key, value] : at.value->items()) {
      const FigureJson* other = nullptr;
      if (also && value.is_object()) other = counterpart(value, position, *at.baseline);
      if (also && at.value->is_object() && at.baseline->contains(key)) other = &(*at.baseline)[key];
      PIPESCOPE_TRY(descend({joinedPath(at.path, key, at.value->is_array()), &value, other}, depth + 1));
      ++position;
    }
    return {};
  }

  base::Status descendElement(const Figure& at, const std::string& key, std::size_t depth) {
    constexpr std::size_t kMostDigits = 9;
    const std::string_view number = std::string_view(key).substr(key.starts_with('-') ? 1 : 0);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
      return unknown(key, *at.value);
    const bool counted = number.size() == key.size() && key.size() <= kMostDigits;
    const std::size_t index =
        counted ? static_cast<std::size_t>(base::wholeNumberOf(key).value_or(0)) : at.value->size();
    if (index >= at.value->size())
      return base::badInput(fmt::format("--fail-if: {} has {} element{}, counted from 0; there is no [{}].",
                                        at.path, at.value->size(), at.value->size() == 1 ? "" : "s", key));
    const FigureJson& value = (*at.value)[index];
    const bool also = at.baseline != nullptr && at.baseline->is_array();
    return descend(
        {joinedPath(at.path, key, true), &value, also ? counterpart(value, index, *at.baseline) : nullptr},
        depth + 1);
  }

  /// `keys`: those of the object in which the figure was looked for.
  base::Error unknown(const std::string& key, const FigureJson& object) const {
    std::vector<std::string> keys;
    if (object.is_object()) {
      for (const auto& each : object.items()) keys.push_back(each.key());
    }
    return unknownFigure(check_, key, keys);
  }

  const Check& check_;
  std::vector<Figure> found_;
};

/// The number of a value, or nothing. A truth value counts as 1 or 0.
std::optional<double> numberIn(const FigureJson* value) {
  if (value == nullptr) return {};
  if (value->is_boolean()) return value->get<bool>() ? 1.0 : 0.0;
  if (!value->is_number()) return {};
  return value->get<double>();
}

/// Truth values as the text of sections shows them. A check may also say true and false, as JSON does.
constexpr std::string_view kYes = "yes", kNo = "no";

/// A number or truth value as sentences show it.
std::string wordOf(const FigureJson& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return plainNumber(value.get<double>());
}

std::string smallLetters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The word that a bound is: in quotes, or letters with blanks, dashes and underscores between them. Empty:
/// it is an expression.
std::string wordIn(const std::string& bound) {
  if (bound.size() > 2 && (bound.front() == '"' || bound.front() == '\'') && bound.back() == bound.front())
    return smallLetters(bound.substr(1, bound.size() - 2));
  const auto isPart = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ' ' || c == '-' || c == '_';
  };
  const bool word = !bound.empty() && std::isalpha(static_cast<unsigned char>(bound.front())) != 0 &&
                    std::ranges::all_of(bound, isPart) && !bound.starts_with("baseline") && bound != "true" &&
                    bound != "false";
  return word ? smallLetters(bound) : std::string();
}

bool holds(double value, const std::string& comparison, double bound) {
  if (comparison == ">") return value > bound;
  if (comparison == "<") return value < bound;
  if (comparison == ">=") return value >= bound;
  if (comparison == "<=") return value <= bound;
  return (value == bound) == (comparison == "==");
}

base::Error noValue(const Check& check, const char* whose, const std::string& reason) {
  return base::badInput(fmt::format("--fail-if '{}': {} has no such figure{}", check.text, whose,
                                    reason.empty() ? "." : ": " + reason));
}

/// Ticks of different clocks cannot be compared.
bool countsTicks(const Check& check) {
  return !check.path.empty() && (check.path.back() == "cycles" || check.path.back().ends_with("_cycles"));
}

/// Times in cost units cannot be compared with times of a device.
bool isTime(const Check& check) {
  constexpr std::array kEndings = {"_us", "_ms", "_ns", "_seconds", "_per_second"};
  return countsTicks(check) || std::ranges::any_of(kEndings, [&](const char* ending) {
           return check.path.back().ends_with(ending);
         });
}

base::Status refuseOtherClock(const Check& check, const CheckedSection& profile,
                              const CheckedSection& baseline) {
  if (isTime(check) && profile.costs != baseline.costs)
    return base::badInput(fmt::format(
        "--fail-if '{}': the times of the {} are cost units, which its configuration states, so they cannot "
        "be "
        "compared with those of the {}.",
        check.text, profile.costs ? "profile" : "baseline", profile.costs ? "baseline" : "profile"));
  if (countsTicks(check) && baseline.ticksPerSecond != profile.ticksPerSecond)
    return base::badInput(
        fmt::format("--fail-if '{}': the profile counts {} ticks per second and the baseline {}, so their "
                    "cycles cannot be "
                    "compared. Compare a time, such as execution.time_us.",
                    check.text, profile.ticksPerSecond, baseline.ticksPerSecond));
  return {};
}

/// The check selects all elements of an array that has none. Then none of them meets it, but only if such
/// elements would have the figure: otherwise a misspelt check would never fail.
base::Status checkOfNone(const Check& check, const Section& section) {
  const bool short_ = check.path.front() == "*";  // the table has the section's name
  const std::string table = short_ ? section.name : snakeCase(check.path.front());
  const std::size_t at = short_ ? 1 : 2;
  const auto found = std::ranges::find(section.tables, table, &SectionTable::key);
  // A fact has no parts.
  if (std::ranges::find(section.facts, table, &Fact::key) != section.facts.end()) return {};
  if (found == section.tables.end() || at >= check.path.size())
    return base::badInput(fmt::format("--fail-if '{}': the elements of {}.{} are no numbers.", check.text,
                                      check.section, table));
  std::vector<std::string> keys;
  for (const SectionColumn& column : found->columns) keys.push_back(column.key);
  const std::string key = snakeCase(check.path[at]);
  if (found->moreColumns.empty() && std::ranges::find(keys, key) == keys.end())
    return unknownFigure(check, key, keys);
  return found->lacks.empty() ? base::Status() : noValue(check, "the profile", found->lacks);
}

/// True if the section shows the figure of a key as a share.
bool isShare(const Section& section, const std::string& key) {
  const auto shows = [&key](const auto& shown) {
    return shown.key == key && shown.format == Format::fraction;
  };
  return std::ranges::any_of(section.facts, shows) ||
         std::ranges::any_of(section.tables, [&](const SectionTable& table) {
           return std::ranges::any_of(table.columns, shows);
         });
}

/// The bound in the unit of the figure.
base::Result<Bound> boundOf(const Check& check, double baseline, const CheckedSection& profile) {
  base::Result<Bound> bound = evaluateBound(check.bound, baseline, check.path.back(),
                                            profile.costs ? 0 : static_cast<double>(profile.ticksPerSecond),
                                            isShare(profile.section, snakeCase(check.path.back())));
  if (!bound.ok())
    return base::badInput(fmt::format("--fail-if '{}': {}", check.text, bound.error().message));
  return bound;
}

/// A sentence about a value that meets the check; empty: it does not.
base::Result<std::string> sentenceIfMet(const Check& check, const Figure& figure,
                                        const CheckedSection& profile) {
  const std::string& path = figure.path;
  const double value = numberIn(figure.value).value_or(0);
  if (!check.word.empty()) {
    const std::string own = figure.value->is_boolean() ? std::string(figure.value->get<bool>() ? kYes : kNo)
                                                       : figure.value->get<std::string>();
    if ((smallLetters(own) == check.word) != (check.comparison == "==")) return std::string();
    return fmt::format("{} is {} (--fail-if '{}')", path, own, check.text);
  }
  PIPESCOPE_ASSIGN(const Bound bound, boundOf(check, numberIn(figure.baseline).value_or(0), profile));
  if (!std::isfinite(bound.value))
    return base::badInput(
        fmt::format("--fail-if '{}': the bound of {} is no finite number.", check.text, path));
  if (!holds(value, check.comparison, bound.value)) return std::string();
  std::string sentence = fmt::format("{} is {}", path, wordOf(*figure.value));
  if (check.usesBaseline) sentence += fmt::format("; in the baseline it is {}", wordOf(*figure.baseline));
  return sentence + fmt::format(" (--fail-if '{}')", check.text);
}

}  // namespace

base::Result<Check> parseCheck(const std::string& text) {
  const std::size_t at = text.find_first_of("<>=!");
  const std::size_t end = at == std::string::npos ? at : text.find_first_not_of("<>=!", at);
  const auto wrong = [&](const std::string& why) {
    return base::badInput(fmt::format(
        "--fail-if takes 'SECTION.KEY > BOUND' (also < >= <= == !=), but \"{}\" was given.{}", text, why));
  };
  if (end == std::string::npos) return wrong("");
  Check check{text, {}, {}, text.substr(at, end - at), trimmed(text.substr(end)), false};
  const std::string left = trimmed(text.substr(0, at));
  const std::size_t dot = left.find_first_of(".[");
  constexpr std::array kComparisons = {">", "<", ">=", "<=", "==", "!="};
  const bool known = std::any_of(kComparisons.begin(), kComparisons.end(),
                                 [&](const char* one) { return check.comparison == one; });
  if (!known || dot == std::string::npos) return wrong("");
  check.section = left.substr(0, dot);
  check.path = keysOf(left.substr(left[dot] == '.' ? dot + 1 : dot));
  if (check.section.empty() || check.path.empty()) return wrong("");
  if (check.comparison == "==" || check.comparison == "!=") check.word = wordIn(check.bound);
  if (!check.word.empty()) return check;
  // The figure may not exist, which says more than that it has no unit.
  const base::Result<Bound> bound = evaluateBound(check.bound, 1, "");
  if (!bound.ok()) return wrong(" " + bound.error().message);
  check.usesBaseline = bound->usesBaseline;
  return check;
}

base::Result<std::vector<std::string>> checkFigures(const Check& check, const CheckedSection& profile,
                                                    const CheckedSection* baseline) {
  const FigureJson own = FigureJson::parse(toJson(profile.section));
  const FigureJson other = baseline == nullptr ? FigureJson() : FigureJson::parse(toJson(baseline->section));
  if (baseline != nullptr) PIPESCOPE_TRY(refuseOtherClock(check, profile, *baseline));
  PIPESCOPE_ASSIGN(const std::vector<Figure> figures,
                   FigureFinder(check).find(own, baseline == nullptr ? nullptr : &other));
  std::vector<std::string> sentences;
  bool valued = false, compared = false;
  for (const Figure& figure : figures) {
    const bool isWord = figure.value->is_string();
    if (figure.value->is_structured() || (isWord && check.word.empty()))
      return base::badInput(fmt::format("--fail-if '{}': {} is no number{}.", check.text, figure.path,
                                        isWord ? ", but a word: compare it by == or !=" : ""));
    const bool isTruth = figure.value->is_boolean() && (check.word == kYes || check.word == kNo);
    if (!check.word.empty() && !isWord && !isTruth && !figure.value->is_null())
      return base::badInput(fmt::format("--fail-if '{}': {} is a number, and \"{}\" is none.", check.text,
                                        figure.path, check.bound));
    const std::optional<double> value = isWord ? std::optional(0.0) : numberIn(figure.value),
                                before = numberIn(figure.baseline);
    valued = valued || value;
    if (!value || (check.usesBaseline && !before)) continue;
    compared = true;
    PIPESCOPE_ASSIGN(std::string sentence, sentenceIfMet(check, figure, profile));
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  // No element meets the check if there are no elements, unless they are missing because nothing was
  // recorded.
  if (figures.empty() && profile.section.lacks.empty()) {
    PIPESCOPE_TRY(checkOfNone(check, profile.section));
    if (check.word.empty()) PIPESCOPE_TRY(boundOf(check, 1, profile));
    return sentences;
  }
  if (!valued) return noValue(check, "the profile", profile.section.lacks);
  if (!compared) return noValue(check, "the baseline", baseline == nullptr ? "" : baseline->section.lacks);
  return sentences;
}

}  // namespace pipescope::sections
