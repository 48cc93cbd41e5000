#include "app/run/sweep/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/run/sweep/processes.h"
#include "app/run/sweep/sweep_table.h"
#include "profiler/base/machine.h"

namespace pipescope::app {
namespace {

using sections::Cell;
using sections::Format;

struct MeasureWords {
  const char* figure;  ///< key of the figure
  const char* name;
  const char* emulatedKey;
  const char* ratioKey;
  Format format;
};
constexpr std::array<MeasureWords, kMeasures> kWords = {
    MeasureWords{"step_time_us", "Step time, µs", "emulated_step_time_us", "step_time_ratio", Format::number},
    MeasureWords{"samples_per_second", "Samples per second", "emulated_samples_per_second",
                 "samples_per_second_ratio", Format::number},
    MeasureWords{"tokens_per_second", "Tokens per second", "emulated_tokens_per_second",
                 "tokens_per_second_ratio", Format::number},
    MeasureWords{"memory_bytes", "Memory", "emulated_memory_bytes", "memory_ratio", Format::bytes}};

/// The rank of each value, from 1; equal values share the mean of their ranks.
std::vector<double> ranksOf(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
    begin = end;
  }
  return ranks;
}

/// Pearson's correlation; none if one side does not vary.
std::optional<double> correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count = static_cast<double>(a.size());
  const double meanA = std::accumulate(a.begin(), a.end(), 0.0) / count,
               meanB = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double both = 0, squaresA = 0, squaresB = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - meanA) * (b[i] - meanB);
    squaresA += (a[i] - meanA) * (a[i] - meanA);
    squaresB += (b[i] - meanB) * (b[i] - meanB);
  }
  if (squaresA <= 0 || squaresB <= 0) return std::nullopt;
  return both / std::sqrt(squaresA * squaresB);
}

/// The configuration with the settings of a row.
config::Configuration withRow(const config::Configuration& configuration, const MeasuredTable& measured,
                              std::size_t row) {
  config::Configuration changed = configuration;
  const std::vector<std::string>& values = measured.rows[row].values;
  for (std::size_t i = 0; i < values.size(); ++i) {  // readMeasured() has checked the values
    if (!values[i].empty()) (void)changed.setText(measured.keys[i], values[i], config::Origin::flag);
  }
  return changed;
}

base::Error troubleOf(const MeasuredRow& row, const std::string& trouble) {
  return base::machineError(
      fmt::format("The variant in line {} of the measurements could not be emulated: {}", row.line, trouble));
}

/// Trouble of the machine is an error: figures that leave variants out because of it would mislead.
base::Status takeFigures(const base::Result<std::string>& answer, ValidatedRow& row) {
  SweepRow figures;
  if (!answer.ok())
    figures.trouble = answer.error().message;
  else if (!rowFromJson(*answer, figures))
    figures.trouble = "The process of this variant gave no figures.";
  if (!figures.trouble.empty()) return troubleOf(row.measured, figures.trouble);
  row.error = figures.error;
  row.note = figures.figures.note;
  for (std::size_t m = 0; m < kMeasures; ++m) row.emulated[m] = figures.figures.number(kWords[m].figure);
  const auto step = figures.figures.number("step_time_us"),
             least = figures.figures.number("step_time_least_us"),
             most = figures.figures.number("step_time_most_us");
  if (step && least && most && *step > 0) row.interval = std::pair(*least / *step, *most / *step);
  const auto bytes = figures.figures.number("memory_bytes"),
             leastBytes = figures.figures.number("memory_least_bytes"),
             mostBytes = figures.figures.number("memory_most_bytes");
  if (bytes && leastBytes && mostBytes && *bytes > 0)
    row.memoryInterval = std::pair(*leastBytes / *bytes, *mostBytes / *bytes);
  return {};
}

/// Models that a child process has compiled, by row. Many of them would take too much memory.
struct TimerMemory {
  static constexpr std::size_t kMost = 8;
  std::map<std::size_t, CallTimer> timers;
};

base::Result<std::vector<double>> secondsOf(CallTimer& timer, const std::vector<std::string>& systems,
                                            std::string& note) {
  base::SerialExecutor executor;
  note = timer.note();
  return timer.seconds(systems, executor);
}

/// The seconds of a row on the systems that a question names.
base::Result<std::vector<double>> timesOfRow(const config::Configuration& configuration, TimerMemory& memory,
                                             std::size_t row, const std::vector<std::string>& systems,
                                             std::string& note) {
  if (const auto known = memory.timers.find(row); known != memory.timers.end())
    return secondsOf(known->second, systems, note);
  base::SerialExecutor executor;
  PIPESCOPE_ASSIGN(CallTimer timer, CallTimer::create(configuration, executor));
  if (memory.timers.size() >= TimerMemory::kMost) return secondsOf(timer, systems, note);
  return secondsOf(memory.timers.emplace(row, std::move(timer)).first->second, systems, note);
}

std::string answerTimes(const config::Configuration& configuration, const MeasuredTable& measured,
                        TimerMemory& memory, const std::string& question) {
  const nlohmann::json asked = nlohmann::json::parse(question);
  const auto row = asked["row"].get<std::size_t>();
  std::string note;
  const base::Result<std::vector<double>> seconds = base::guarded([&] {
    return timesOfRow(withRow(configuration, measured, row), memory, row,
                      asked["systems"].get<std::vector<std::string>>(), note);
  });
  nlohmann::json text = nlohmann::json::object();
  if (seconds.ok()) text = {{"seconds", *seconds}, {"note", note}};
  if (!seconds.ok())
    text[base::isAnswer(seconds.error().kind) ? "error" : "trouble"] = seconds.error().message;
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<double> ratioOf(const ValidatedRow& row, std::size_t measure) {
  if (!row.emulated[measure] || !row.measured.measured[measure]) return std::nullopt;
  return *row.emulated[measure] / *row.measured.measured[measure];
}

template <class T>
Cell validationCell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

sections::SectionTable agreementTable(const Validation& validation) {
  sections::SectionTable table{
      "agreement", "Emulated ÷ measured", "over all variants with both values", {}, {}};
  table.columns = {
      {"quantity", "", Format::plain, "as the column of the measurements", false},
      {"measure", "Measure", Format::plain, ""},
      {"variants", "Variants", Format::count, "with both values"},
      {"bias", "Bias", Format::ratio, "geometric mean of emulated ÷ measured"},
      {"p90_error", "p90 error", Format::fraction,
       "90 % of the variants have no larger |emulated ÷ measured − 1|"},
      {"inside_interval", "In interval", Format::count,
       "variants whose measurement lies in the interval of the emulated value, which holds 80 %"},
      {"with_interval", "Of", Format::count, "variants whose emulated value has an interval"},
      {"rank_correlation", "Rank correlation", Format::ratio, "Spearman's"},
      {"pairs_in_order", "Pairs in order", Format::count, "pairs of variants that are ordered as measured"},
      {"pairs", "Of pairs", Format::count, "with different measurements"},
      {"order_is_right", "Order is right", Format::truth, "all pairs are in order"}};
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const std::optional<Agreement> found = agreementOf(validation, static_cast<Measure>(m));
    if (!found) continue;
    const bool several = found->ordered > 0;
    const Coverage held = coverageOf(validation, static_cast<Measure>(m));
    table.rows.push_back({std::string(measuredColumns()[m]), std::string(kWords[m].name), found->pairs,
                          found->bias, found->p90, held.rows > 0 ? Cell(held.inside) : Cell(),
                          held.rows > 0 ? Cell(held.rows) : Cell(), validationCell(found->rankCorrelation),
                          several ? Cell(found->inOrder) : Cell(), found->ordered,
                          several ? Cell(found->inOrder == found->ordered) : Cell()});
  }
  return table;
}

sections::SectionTable variantTable(const Validation& validation) {
  sections::SectionTable table{"variants", "Variants", "one row of the measurements each", {}, {}};
  const auto& rows = validation.rows;
  const bool named =
      std::ranges::any_of(rows, [](const ValidatedRow& row) { return !row.measured.name.empty(); });
  table.columns.push_back({"name", "Name", Format::plain, "", named});
  for (const std::string& key : validation.keys)
    table.columns.push_back({key, std::string(config::lastPart(key)), Format::plain, "setting"});
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const bool any =
        std::ranges::any_of(rows, [&](const ValidatedRow& row) { return ratioOf(row, m).has_value(); });
    table.columns.push_back(
        {kWords[m].emulatedKey, std::string(kWords[m].name) + " emulated", kWords[m].format, "", any});
    table.columns.push_back({measuredColumns()[m], "Measured", kWords[m].format, "", any});
    table.columns.push_back({kWords[m].ratioKey, "Ratio", Format::ratio, "emulated ÷ measured", any});
  }
  const bool remarks = std::ranges::any_of(
      rows, [](const ValidatedRow& row) { return !row.error.empty() || !row.note.empty(); });
  table.columns.push_back(
      {"remark", "Remark", Format::plain, "why it cannot run, or where it does not fit", remarks});
  for (const ValidatedRow& row : rows) {
    std::vector<Cell> cells = {row.measured.name.empty() ? Cell() : Cell(row.measured.name)};
    for (const std::string& value : row.measured.values)
      cells.push_back(value.empty() ? Cell() : Cell(value));
    for (std::size_t m = 0; m < kMeasures; ++m) {
      cells.push_back(validationCell(row.emulated[m]));
      cells.push_back(validationCell(row.measured.measured[m]));
      cells.push_back(validationCell(ratioOf(row, m)));
    }
    const std::string& remark = row.error.empty() ? row.note : row.error;
    cells.push_back(remark.empty() ? Cell() : Cell(remark));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

Agreement agreementOf(const std::vector<double>& emulated, const std::vector<double>& measured) {
  Agreement agreement;
  agreement.pairs = static_cast<std::int64_t>(emulated.size());
  std::vector<double> errors;
  double logarithms = 0;
  for (std::size_t i = 0; i < emulated.size(); ++i) {
    const double ratio = emulated[i] / measured[i];
    logarithms += std::log(ratio);
    errors.push_back(std::fabs(ratio - 1));
    for (std::size_t j = 0; j < i; ++j) {
      if (measured[i] == measured[j]) continue;
      ++agreement.ordered;
      if ((emulated[i] - emulated[j]) * (measured[i] - measured[j]) > 0) ++agreement.inOrder;
    }
  }
  if (errors.empty()) return agreement;
  agreement.bias = std::exp(logarithms / static_cast<double>(errors.size()));
  std::ranges::sort(errors);
  const std::size_t covered = (9 * errors.size() + 9) / 10;  // 0.9 · n, rounded up
  agreement.p90 = errors[covered - 1];
  agreement.rankCorrelation = correlation(ranksOf(emulated), ranksOf(measured));
  return agreement;
}

base::Result<std::vector<ValidatedRow>> emulateRows(const config::Configuration& configuration,
                                                    const MeasuredTable& measured,
                                                    const std::vector<std::size_t>& rowIndices, int processes,
                                                    base::Progress& progress) {
  std::vector<ValidatedRow> rows;
  std::vector<std::int64_t> indices;
  for (const std::size_t row : rowIndices) {
    indices.push_back(static_cast<std::int64_t>(rows.size()));
    rows.push_back({measured.rows[row], {}});
  }
  plan::SharedStages shared;  // each child has its own
  const auto answer = [&](std::int64_t index) {
    SweepRow row;
    base::SerialExecutor executor;
    const config::Configuration changed =
        withRow(configuration, measured, rowIndices[static_cast<std::size_t>(index)]);
    const base::Result<VariantFigures> figures =
        base::guarded([&] { return emulateVariant(changed, {}, shared, executor); });
    if (figures.ok()) row.figures = *figures;
    if (!figures.ok())
      (base::isAnswer(figures.error().kind) ? row.error : row.trouble) = figures.error().message;
    return rowToJson(row);
  };
  std::size_t done = 0;
  const auto take = [&](std::int64_t index, const base::Result<std::string>& text) -> base::Status {
    PIPESCOPE_TRY(takeFigures(text, rows[static_cast<std::size_t>(index)]));
    ++done;
    progress.report(static_cast<double>(done) / static_cast<double>(indices.size()),
                    fmt::format("variant {} of {}", done, indices.size()));
    return {};
  };
  PIPESCOPE_TRY(runInProcesses(indices, processes, answer, take, progress));
  return rows;
}

RowTimer::RowTimer(const config::Configuration& configuration, const MeasuredTable& measured, int processes)
    : measured_(measured),
      group_(processes, [&configuration, &measured,
                         memory = std::make_shared<TimerMemory>()](const std::string& question) {
        return answerTimes(configuration, measured, *memory, question);
      }) {}

base::Result<std::vector<RowTimes>> RowTimer::emulate(const std::vector<std::size_t>& rowIndices,
                                                      const std::vector<std::string>& systems,
                                                      base::Progress& progress) {
  std::vector<RowTimes> rows(rowIndices.size());
  std::vector<KeyedQuestion> questions;
  for (const std::size_t row : rowIndices)
    questions.push_back({row, nlohmann::json{{"row", row}, {"systems", systems}}.dump()});
  std::size_t done = 0;
  const auto take = [&](std::int64_t index, const base::Result<std::string>& text) -> base::Status {
    const auto place = static_cast<std::size_t>(index);
    const MeasuredRow& row = measured_.rows[rowIndices[place]];
    if (!text.ok()) return troubleOf(row, text.error().message);
    const nlohmann::json read = nlohmann::json::parse(*text, nullptr, false);
    if (!read.is_object()) return troubleOf(row, "Its process gave no times.");
    if (read.contains("trouble")) return troubleOf(row, read["trouble"].get<std::string>());
    rows[place].error = read.value("error", std::string());
    rows[place].note = read.value("note", std::string());
    if (read.contains("seconds")) rows[place].seconds = read["seconds"].get<std::vector<double>>();
    ++done;
    progress.report(static_cast<double>(done) / static_cast<double>(questions.size()),
                    fmt::format("variant {} of {}", done, questions.size()));
    return {};
  };
  PIPESCOPE_TRY(group_.ask(questions, take, progress));
  return rows;
}

base::Result<Validation> validate(const config::Configuration& configuration, const MeasuredTable& measured,
                                  int processes, base::Progress& progress) {
  std::vector<std::size_t> all(measured.rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  Validation validation;
  validation.keys = measured.keys;
  PIPESCOPE_ASSIGN(validation.rows, emulateRows(configuration, measured, all, processes, progress));
  return validation;
}

std::optional<Agreement> agreementOf(const Validation& validation, Measure measure) {
  const auto m = static_cast<std::size_t>(measure);
  std::vector<double> emulated, measured;
  for (const ValidatedRow& row : validation.rows) {
    if (!ratioOf(row, m)) continue;
    emulated.push_back(*row.emulated[m]);
    measured.push_back(*row.measured.measured[m]);
  }
  if (emulated.empty()) return std::nullopt;
  return agreementOf(emulated, measured);
}

Coverage coverageOf(const Validation& validation, Measure measure) {
  Coverage coverage;
  const bool ofMemory = measure == Measure::memoryBytes;
  const auto m = static_cast<std::size_t>(measure);
  for (const ValidatedRow& row : validation.rows) {
    const auto ratio = ratioOf(row, m);
    const auto& interval = ofMemory ? row.memoryInterval : row.interval;
    if (!ratio || !interval) continue;
    ++coverage.rows;
    // Times and bytes: measured ÷ emulated. A rate is the other way round.
    const double more = measure == Measure::stepTimeUs || ofMemory ? 1 / *ratio : *ratio;
    coverage.inside += interval->first <= more && more <= interval->second ? 1 : 0;
  }
  return coverage;
}

sections::Section validationSection(const Validation& validation) {
  sections::Section section{"validation", "Validation", {}, {}, {}};
  section.tables = {agreementTable(validation), variantTable(validation)};
  const auto failed =
      std::ranges::count_if(validation.rows, [](const ValidatedRow& row) { return !row.error.empty(); });
  if (failed > 0)
    section.remarks.push_back(fmt::format("{} of {} variants cannot run and are left out of the statistics.",
                                          failed, validation.rows.size()));
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const bool wanted = std::ranges::any_of(
        validation.rows, [&](const ValidatedRow& row) { return row.measured.measured[m].has_value(); });
    if (!wanted || agreementOf(validation, static_cast<Measure>(m))) continue;
    section.remarks.push_back(fmt::format(
        "{} is compared with nothing, because no emulated variant has this figure.", measuredColumns()[m]));
  }
  section.remarks.push_back(
      "Emulated figures come from device models. Nothing was fitted to the measurements.");
  return section;
}

}  // namespace pipescope::app
