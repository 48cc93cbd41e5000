#include "app/run/sweep/questions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "engine/config/suggestion.h"
#include "profiler/sections/frame/sweep_file.h"

namespace pipescope::app {
namespace {

using base::badInput;
using Rows = std::vector<const SweepRow*>;

Rows fittingRows(const SweepTable& table) {
  Rows rows;
  for (const SweepRow& row : table.rows) {
    if (row.fits()) rows.push_back(&row);
  }
  return rows;
}

/// True if some row has the figure.
bool anyHas(const Rows& rows, const figures::Figure& figure) {
  return std::ranges::any_of(rows, [&](const SweepRow* row) { return figureOf(*row, figure).has_value(); });
}

/// A rate and its words.
struct Rate {
  const figures::Figure& figure;
  const char* words;
};

/// Output tokens per second where text is generated, because samples are prompts then; else samples per
/// second.
Rate rateOf(const Rows& rows) {
  const figures::Figure& tokens = figures::figure("output_tokens_per_second");
  if (anyHas(rows, tokens)) return {tokens, "output tokens per second"};
  return {figures::figure("samples_per_second"), "samples per second"};
}

/// A rate; step time if nothing has one.
const figures::Figure& speedOf(const Rows& rows) {
  const figures::Figure& rate = rateOf(rows).figure;
  return anyHas(rows, rate) ? rate : figures::figure("step_time_us");
}

/// A number that is larger for what is better; −∞ without a value.
double goodness(const SweepRow& row, const figures::Figure& figure) {
  const std::optional<double> value = figureOf(row, figure);
  if (!value) return -HUGE_VAL;
  return figure.moreIsBetter() ? *value : -*value;
}

base::Result<const figures::Figure*> figureMeant(const Rows& rows, const std::string& word) {
  if (word == "time") return &speedOf(rows);
  std::vector<std::string> words = {"time"}, keys;
  for (const figures::Figure* figure : sections::sweepFigures()) {
    const std::string key = figure->key, meant = figure->word;
    if (key == "fits") continue;
    if (word == key || (!meant.empty() && word == meant)) return figure;
    if (!meant.empty()) words.push_back(meant);
    if (key != meant) keys.push_back(key);
  }
  std::ranges::sort(words.begin() + 1, words.end());
  std::vector<std::string> known = words;
  known.insert(known.end(), keys.begin(), keys.end());
  return badInput(fmt::format("--pareto: there is no figure {}{}", word, config::suggestion(word, known)));
}

bool dominates(const SweepRow& a, const SweepRow& b, const std::vector<const figures::Figure*>& figures) {
  bool better = false;
  for (const figures::Figure* figure : figures) {
    const double of = goodness(a, *figure), than = goodness(b, *figure);
    if (of < than) return false;
    better = better || of > than;
  }
  return better;
}

base::Result<std::size_t> positionOf(const SweepTable& table, const std::string& key, const char* option) {
  const auto found = std::ranges::find(table.keys, key, &VariedKey::key);
  if (found != table.keys.end()) return static_cast<std::size_t>(found - table.keys.begin());
  std::vector<std::string> varied;
  for (const VariedKey& one : table.keys) varied.push_back(one.key);
  return badInput(
      fmt::format("{} {}: the sweep does not vary this key, only {}.", option, key, fmt::join(varied, ", ")));
}

std::optional<double> asNumber(const std::string& text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The numbers of a varied key, by row. Error: a value is no number.
base::Result<std::map<const SweepRow*, double>> numbersOf(const SweepTable& table, std::size_t key,
                                                          const char* option) {
  for (const std::string& value : table.keys[key].values) {
    if (asNumber(value)) continue;
    return badInput(fmt::format("{} {}: \"{}\" is no number, so values have no order.", option,
                                table.keys[key].key, value));
  }
  std::map<const SweepRow*, double> numbers;
  for (const SweepRow& row : table.rows) numbers[&row] = asNumber(row.values[key]).value_or(0);
  return numbers;
}

std::string ratesOf(const SweepRow& row) {
  const Rate of = rateOf({&row});
  const std::optional<double> rate = figureOf(row, of.figure);
  const std::optional<double> step = figureOf(row, figures::figure("step_time_us"));
  if (rate)
    return fmt::format(" with {} {}", sections::formatCell(std::round(*rate), sections::Format::count),
                       of.words);
  // Steps without a rate are costs, of which a unit counts as a second.
  return step ? fmt::format(" with a step time of {:.6g} cost units", *step / 1e6) : "";
}

SweepAnswer noneFits(const SweepTable& table) {
  return {fmt::format("None of the {} combinations fits.", table.rows.size()), {}};
}

/// The fastest of the rows with the best order.
template <class Order>
const SweepRow* firstOf(const Rows& rows, Order order) {
  const figures::Figure& speed = speedOf(rows);
  return *std::ranges::min_element(rows, [&](const SweepRow* a, const SweepRow* b) {
    const auto of = order(*a), than = order(*b);
    return of != than ? of < than : goodness(*a, speed) > goodness(*b, speed);
  });
}

base::Result<SweepAnswer> extreme(const SweepTable& table, const std::string& key, bool largest) {
  const char* option = largest ? "--largest" : "--smallest";
  PIPESCOPE_ASSIGN(const std::size_t at, positionOf(table, key, option));
  const Rows rows = fittingRows(table);
  PIPESCOPE_ASSIGN(auto numbers, numbersOf(table, at, option));
  if (rows.empty()) return noneFits(table);
  const SweepRow* best =
      firstOf(rows, [&](const SweepRow& row) { return largest ? -numbers[&row] : numbers[&row]; });
  return SweepAnswer{fmt::format("The {} {} that fits is {}{}.", largest ? "largest" : "smallest", key,
                                 best->values[at], ratesOf(*best)),
                     {best}};
}

/// The figures of --pareto, in the order in which `names` has them.
base::Result<std::vector<const figures::Figure*>> figuresMeant(const Rows& rows, const std::string& names) {
  std::vector<const figures::Figure*> figures;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    PIPESCOPE_ASSIGN(const figures::Figure* figure, figureMeant(rows, names.substr(at, comma - at)));
    if (std::ranges::find(figures, figure) != figures.end())
      return badInput(fmt::format("--pareto {}: {} is named twice.", names, figure->key));
    figures.push_back(figure);
    at = comma + 1;
  }
  return figures;
}

}  // namespace

base::Status checkParetoOfCompiled(const std::string& names) {
  PIPESCOPE_ASSIGN(const std::vector<const figures::Figure*> figures, figuresMeant({}, names));
  static const std::set<std::string_view> compiled = {"memory_bytes", "memory_use", "devices",
                                                      "system_devices"};
  for (const figures::Figure* figure : figures) {
    if (!compiled.contains(figure->key))
      return badInput(
          fmt::format("--pareto {}: --compile-only emulates nothing, so combinations have no {}: leave out "
                      "--compile-only, "
                      "or name only {}.",
                      names, figure->key, fmt::join(compiled, ", ")));
  }
  return {};
}

base::Result<SweepAnswer> paretoFront(const SweepTable& table, const std::string& names) {
  const Rows rows = fittingRows(table);
  PIPESCOPE_ASSIGN(const std::vector<const figures::Figure*> figures, figuresMeant(rows, names));
  for (const figures::Figure* figure : figures) {
    if (!rows.empty() && !anyHas(rows, *figure))
      return badInput(fmt::format("--pareto {}: no combination has the figure {}.{}", names, figure->key,
                                  std::string_view(figure->key) == "samples_per_currency_unit"
                                      ? " Give system.price_per_hour."
                                      : ""));
  }
  if (rows.empty()) return noneFits(table);
  Rows front;
  for (const SweepRow* row : rows) {
    const bool beaten =
        std::ranges::any_of(rows, [&](const SweepRow* other) { return dominates(*other, *row, figures); });
    if (!beaten) front.push_back(row);
  }
  std::ranges::stable_sort(front, [&](const SweepRow* a, const SweepRow* b) {
    return goodness(*a, *figures.front()) > goodness(*b, *figures.front());
  });
  return SweepAnswer{fmt::format("{} of {} combinations that fit are on the Pareto front of {}.",
                                 front.size(), rows.size(), names),
                     front};
}

base::Result<SweepAnswer> largestThatFits(const SweepTable& table, const std::string& key) {
  return extreme(table, key, true);
}

base::Result<SweepAnswer> smallestThatFits(const SweepTable& table, const std::string& key) {
  if (key != "system.name") return extreme(table, key, false);
  PIPESCOPE_ASSIGN(const std::size_t at, positionOf(table, key, "--smallest"));
  const Rows rows = fittingRows(table);
  if (rows.empty()) return noneFits(table);
  const SweepRow* best = firstOf(rows, [](const SweepRow& row) {
    return row.figures.number("system_devices").value_or(row.figures.number("devices").value_or(0));
  });
  return SweepAnswer{fmt::format("The smallest system that fits is {}{}.", best->values[at], ratesOf(*best)),
                     {best}};
}

base::Result<SweepAnswer> kneeOf(const SweepTable& table, const std::string& key) {
  PIPESCOPE_ASSIGN(const std::size_t at, positionOf(table, key, "--knee"));
  PIPESCOPE_ASSIGN(auto numbers, numbersOf(table, at, "--knee"));
  const Rows rows = fittingRows(table);
  const Rate of = rateOf(rows);
  const figures::Figure& rate = of.figure;
  std::map<double, const SweepRow*> curve;  // the fastest row for each value
  if (rows.empty()) return noneFits(table);
  for (const SweepRow* row : rows) {
    if (!figureOf(*row, rate)) continue;
    const SweepRow*& best = curve[numbers[row]];
    if (best == nullptr || goodness(*row, rate) > goodness(*best, rate)) best = row;
  }
  constexpr std::size_t kLeast = 3;
  if (curve.size() < kLeast)
    return badInput(fmt::format("--knee {}: a knee needs {} for three values that fit, but there are {}.",
                                key, of.words, curve.size()));
  const auto x = [&](double value) {
    return (value - curve.begin()->first) / (curve.rbegin()->first - curve.begin()->first);
  };
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const auto& [value, row] : curve) {
    least = std::min(least, goodness(*row, rate));
    most = std::max(most, goodness(*row, rate));
  }
  const double height = std::max(most - least, 1e-300);
  const auto y = [&](const SweepRow& row) { return (goodness(row, rate) - least) / height; };
  const double from = y(*curve.begin()->second), to = y(*curve.rbegin()->second);
  const SweepRow* knee = curve.begin()->second;
  double furthest = -HUGE_VAL;
  for (const auto& [value, row] : curve) {
    const double above = y(*row) - (from + (to - from) * x(value));
    if (above <= furthest + 1e-12) continue;
    furthest = above;
    knee = row;
  }
  SweepAnswer answer{
      fmt::format("The knee of the {} lies at {} = {}{}: {:.0f} % of the largest rate.", of.words, key,
                  knee->values[at], ratesOf(*knee), goodness(*knee, rate) / most * 100),
      {}};
  for (const auto& [value, row] : curve) answer.rows.push_back(row);
  return answer;
}

}  // namespace pipescope::app
