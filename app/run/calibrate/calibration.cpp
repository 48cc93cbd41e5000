#include "app/run/calibrate/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "app/run/request/user_folders.h"
#include "engine/config/suggestion.h"
#include "profiler/base/files/file_kind.h"
#include "profiler/base/files/temporary_name.h"
#include "profiler/base/number_text.h"

namespace pipescope::app {
namespace {

using devices::FigureFile;
using devices::FigureValue;

constexpr std::size_t kMostProperties = 8;
constexpr std::size_t kMostNeighbours = 16;
constexpr double kLargeNoise = 0.3;  // rows with such errors are usually of another job
constexpr std::array kTimes = {Measure::stepTimeUs, Measure::samplesPerSecond, Measure::tokensPerSecond};

/// Standard deviation of the logarithm of a figure's error, by its grade. (R: it is chosen so that few
/// figures of a grade lie further off. A data sheet is exact about the hardware, but programs reach less.)
double widthOf(const std::string& grade) {
  switch (grade.empty() ? 'R' : grade[0]) {
    case 'D':
      return 0.1;
    case 'C':
      return 0.15;
    case 'M':
      return 0.2;
    case 'X':
      return 0.3;
    default:
      return 0.5;
  }
}

/// Standard deviation of the error of a further row, from the squared errors of rows, widened because few
/// rows do not tell it well.
double errorOfFurtherRow(double squares, std::size_t count) {
  const auto rows = static_cast<double>(count);
  constexpr double kEighty = 0.9, kNormal = 1.2816;  // quantile of both sides together, and of many rows
  return std::sqrt(squares / rows) * studentQuantile(kEighty, std::max(1.0, rows - 1)) / kNormal;
}

const FigureValue* figureIn(const devices::SystemFigures& figures, const std::string& name) {
  if (figures.system) {
    if (const auto found = figures.system->figures.find(name); found != figures.system->figures.end())
      return &found->second;
  }
  const auto found = figures.chip.figures.find(name);
  return found == figures.chip.figures.end() ? nullptr : &found->second;
}

std::string figureLine(const std::string& name, const FigureValue& figure, double value, double least,
                       double most, const std::string& source) {
  return fmt::format(
      "{} = {{ value = {}, unit = \"{}\", grade = \"M\", source = \"{}\", interval = [{}, {}] }}\n", name,
      value, figure.unit, source, least, most);
}

/// Returns the text of a file that takes over the system and states other figures. Figures of the chip stand
/// in a table of their own.
class DeviceText {
 public:
  explicit DeviceText(const devices::SystemFigures& figures) : figures_(figures) {}

  void add(const std::string& name, double factor, double least, double most, const std::string& source) {
    const FigureValue& figure = *figureIn(figures_, name);
    addValue(name, figure.value * factor, figure.value * least, figure.value * most, source);
  }
  void addValue(const std::string& name, double value, double least, double most, const std::string& source) {
    const bool ofSystem = figures_.system && figures_.system->figures.contains(name);
    (ofSystem ? system_ : chip_) += figureLine(name, *figureIn(figures_, name), value, least, most, source);
  }
  /// The error of a step or of memory, which belongs to no figure of the base.
  void addError(const char* name, double value, const std::string& source) {
    chip_ += fmt::format(
        "{} = {{ value = {:.4f}, unit = \"1\", grade = \"M\", source = \"{}: standard deviation of "
        "ln(emulated ÷ "
        "measured) of a further row\" }}\n",
        name, value, source);
  }
  std::string text(const std::string& title, const std::string& description) const {
    const FigureFile& base = figures_.system ? *figures_.system : figures_.chip;
    std::string text = fmt::format("{}\nfamily = \"{}\"\nbase = \"{}\"\n", title, figures_.family, base.name);
    if (!description.empty()) text += fmt::format("description = \"{}\"\n", description);
    if (!figures_.system) return text + "\n[figures]\n" + chip_;
    if (!system_.empty()) text += "\n[figures]\n" + system_;
    if (!chip_.empty()) text += "\n[chip_figures]\n" + chip_;
    return text;
  }

 private:
  const devices::SystemFigures& figures_;
  std::string system_, chip_;
};

/// Files of systems with other figures, which are removed in the end.
class CandidateFiles {
 public:
  static base::Result<CandidateFiles> create() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error)
      return base::ioError(fmt::format("There is no folder for temporary files: {}.", error.message()));
    std::string name = (folder / "pipescope-calibrate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      return base::ioError(fmt::format("No folder can be made in {}.", folder.string()));
    CandidateFiles files;
    files.folder_ = name;
    return files;
  }
  CandidateFiles(CandidateFiles&& other) noexcept { std::swap(folder_, other.folder_); }
  CandidateFiles& operator=(CandidateFiles&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  ~CandidateFiles() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  /// Writes the file of a candidate and returns its path.
  base::Result<std::string> write(std::size_t number, const std::string& text) const {
    const std::filesystem::path path = folder_ / fmt::format("candidate{}.toml", number);
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) return base::ioError(fmt::format("The file {} could not be written.", path.string()));
    return path.string();
  }

 private:
  CandidateFiles() = default;
  std::filesystem::path folder_;
};

/// Returns the first measure of time that a row states. Its other measures of time do not count.
std::optional<Measure> timeOf(const MeasuredRow& row) {
  for (const Measure measure : kTimes) {
    if (row.measured[static_cast<std::size_t>(measure)]) return measure;
  }
  return std::nullopt;
}

/// Returns the logarithm of a time. A rate is turned into the time of one unit first.
double timeLog(Measure measure, double value) {
  return measure == Measure::stepTimeUs ? std::log(value) : -std::log(value);
}

class Calibrator {
 public:
  Calibrator(const config::Configuration& configuration, const CalibrationRequest& request,
             base::Progress& progress, CandidateFiles files)
      : configuration_(configuration), request_(request), progress_(progress), files_(std::move(files)) {}

  base::Result<Calibration> run() {
    PIPESCOPE_ASSIGN(result_.figures, devices::figuresOf(request_.system, userConfigurationFolder()));
    PIPESCOPE_TRY(chooseProperties());
    PIPESCOPE_TRY(chooseRows());
    const auto model = [this](const std::vector<FitPoint>& points) { return predict(points); };
    PIPESCOPE_ASSIGN(const Fit fit, fitFactors(parameters_, measured_, model));
    take(fit);
    takeMemory();
    PIPESCOPE_TRY(propose(fit));
    return std::move(result_);
  }

 private:
  base::Status chooseProperties() {
    const auto& known = result_.figures.corrected;
    if (known.empty())
      return base::badInput(
          fmt::format("System {} cannot be calibrated: no figures of family \"{}\" are corrected by "
                      "measurements of steps.",
                      request_.system, result_.figures.family));
    std::vector<std::string> names;
    for (const devices::CorrectedProperty& property : known) names.push_back(property.name);
    for (const std::string& name : request_.only) {
      if (std::ranges::find(names, name) != names.end()) continue;
      const std::string near = config::nearest(name, names);
      return base::badInput(fmt::format("There is no property \"{}\"{} System {} has {}.", name,
                                        near.empty() ? "." : fmt::format("; did you mean \"{}\"?", near),
                                        request_.system, fmt::join(names, ", ")));
    }
    for (const devices::CorrectedProperty& property : known) {
      if (!request_.only.empty() && std::ranges::find(request_.only, property.name) == request_.only.end())
        continue;
      addProperty(property);
    }
    if (parameters_.empty())
      return base::badInput(fmt::format("System {} states none of the figures to fit.", request_.system));
    if (parameters_.size() > kMostProperties)
      return base::badInput(
          fmt::format("At most {} properties can be fitted; name them with --only.", kMostProperties));
    return {};
  }

  void addProperty(const devices::CorrectedProperty& property) {
    CalibratedProperty chosen{property, {}};
    FitParameter parameter{property.name, property.width, -3, 3};
    for (const std::string& name : property.figures) {
      const FigureValue* figure = figureIn(result_.figures, name);
      if (figure == nullptr || figure->value <= 0) continue;
      chosen.figures.push_back(name);
      parameter.width = std::max(parameter.width, widthOf(figure->grade));
      if (property.most > 0)
        parameter.most = std::min(parameter.most, std::log(property.most / figure->value));
    }
    if (chosen.figures.empty()) return;
    result_.properties.push_back(std::move(chosen));
    parameters_.push_back(parameter);
  }

  base::Status chooseRows() {
    const auto& rows = request_.measured.rows;
    if (std::ranges::find(request_.measured.keys, "system.name") != request_.measured.keys.end())
      return base::badInput(
          fmt::format("{}: the column system.name has no place here, because one system, {}, is calibrated.",
                      request_.measurements, request_.system));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::optional<Measure> measure = timeOf(rows[i]);
      if (!measure) continue;
      timed_.push_back(i);
      measured_.push_back(timeLog(*measure, *rows[i].measured[static_cast<std::size_t>(*measure)]));
    }
    if (timed_.size() >= 2) return {};
    return base::badInput(
        fmt::format("{}: {} a measured time or rate, but a calibration needs at least two rows, best ten or "
                    "more of different shapes.",
                    request_.measurements, timed_.empty() ? "no row has" : "one row has"));
  }

  /// Systems with the figures of each point, as names.
  base::Result<std::vector<std::string>> systemsOf(const std::vector<FitPoint>& points) {
    std::vector<std::string> systems;
    for (const FitPoint& point : points) {
      DeviceText text(result_.figures);
      for (std::size_t p = 0; p < point.size(); ++p) {
        const double factor = std::exp(point[p]);
        for (const std::string& name : result_.properties[p].figures)
          text.add(name, factor, factor, factor, "a candidate");
      }
      PIPESCOPE_ASSIGN(const std::string path, files_.write(candidates_++, text.text("# Candidate", "")));
      systems.push_back(path + result_.figures.suffix);
    }
    return systems;
  }

  /// Emulates the timed rows with the figures as they are.
  base::Status emulateFirst() {
    own_ = ownSystem();
    timer_.emplace(*own_, request_.measured, request_.processes);
    PIPESCOPE_ASSIGN(first_, emulateRows(*own_, request_.measured, timed_, request_.processes, progress_));
    for (const ValidatedRow& row : first_) {
      const Measure measure = *timeOf(row.measured);
      const std::optional<double>& value = row.emulated[static_cast<std::size_t>(measure)];
      if (!row.error.empty() || !value || *value <= 0)
        return base::badInput(fmt::format(
            "{}:{}: the row cannot be emulated: {}", request_.measurements, row.measured.line,
            row.error.empty()
                ? fmt::format("it has no {}.", measuredColumns()[static_cast<std::size_t>(measure)])
                : row.error));
      firstLogs_.push_back(timeLog(measure, *value));
    }
    return {};
  }

  /// The configuration on the system that is calibrated.
  config::Configuration ownSystem() const {
    config::Configuration own = configuration_;
    (void)own.setText("system.name", request_.system, config::Origin::flag);
    return own;
  }

  /// Emulates all timed rows at each point. Figures change the length of calls and nothing else.
  base::Result<std::vector<FitPoint>> predict(const std::vector<FitPoint>& points) {
    if (first_.empty()) PIPESCOPE_TRY(emulateFirst());
    PIPESCOPE_ASSIGN(std::vector<std::string> systems, systemsOf(points));
    const bool first = ownSeconds_.empty();
    if (first) systems.insert(systems.begin(), "");
    PIPESCOPE_ASSIGN(const std::vector<RowTimes> rows, timer_->emulate(timed_, systems, progress_));
    std::vector<FitPoint> predicted(points.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].seconds.size() != systems.size())
        return base::badInput(fmt::format("{}:{}: the row cannot be emulated: {}", request_.measurements,
                                          first_[i].measured.line, rows[i].error));
      if (first) ownSeconds_.push_back(rows[i].seconds[0]);
      for (std::size_t p = 0; p < points.size(); ++p)
        predicted[p].push_back(firstLogs_[i] +
                               std::log(rows[i].seconds[p + (first ? 1 : 0)] / ownSeconds_[i]));
    }
    return predicted;
  }

  /// Rows that differ from a measured one in one number, which is twice or half as large. The shortest calls
  /// come first, because they are measured and emulated soonest.
  MeasuredTable neighbours() const {
    MeasuredTable table{request_.measured.keys, {}};
    std::set<std::vector<std::string>> known;
    for (const MeasuredRow& row : request_.measured.rows) known.insert(row.values);
    std::vector<std::size_t> order(timed_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return ownSeconds_[i]; });
    for (const std::size_t place : order) {
      const MeasuredRow& row = request_.measured.rows[timed_[place]];
      for (std::size_t k = 0; k < table.keys.size(); ++k) {
        const auto number = base::wholeNumberOf(row.values[k]);
        if (!number || *number < 1) continue;
        for (const std::int64_t other : {*number * 2, *number / 2}) {
          MeasuredRow changed{row.line, {}, row.values, {}};
          changed.values[k] = std::to_string(other);
          config::Configuration tried = configuration_;
          if (other < 1 || table.rows.size() >= kMostNeighbours ||
              !tried.setText(table.keys[k], changed.values[k], config::Origin::flag).ok() ||
              !known.insert(changed.values).second)
            continue;
          table.rows.push_back(std::move(changed));
        }
      }
    }
    return table;
  }

  /// Emulates rows near the measured ones at the fitted point and beside it, and finds the one to measure
  /// next.
  base::Status propose(const Fit& fit) {
    const MeasuredTable table = neighbours();
    if (table.rows.empty()) return {};
    std::vector<FitPoint> points = {fit.logs};
    std::vector<double> steps;
    constexpr double kStep = 0.05;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      steps.push_back(fit.logs[p] + kStep <= parameters_[p].most ? kStep : -kStep);
      points.push_back(fit.logs);
      points.back()[p] += steps.back();
    }
    PIPESCOPE_ASSIGN(const std::vector<std::string> systems, systemsOf(points));
    std::vector<std::size_t> all(table.rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const config::Configuration own = ownSystem();
    RowTimer timer(own, table, request_.processes);
    PIPESCOPE_ASSIGN(const std::vector<RowTimes> rows, timer.emulate(all, systems, progress_));
    std::vector<std::size_t> candidates;
    std::vector<std::vector<double>> changes;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const std::vector<double>& seconds = rows[i].seconds;
      // It cannot run, or does not fit.
      if (seconds.size() != systems.size() || !rows[i].note.empty()) continue;
      candidates.push_back(i);
      changes.emplace_back();
      for (std::size_t p = 0; p < steps.size(); ++p)
        changes.back().push_back(std::log(seconds[p + 1] / seconds[0]) / steps[p]);
    }
    const std::optional<NextMeasurement> best = nextMeasurement(parameters_, fit, changes);
    if (!best) return {};
    ProposedRow next;
    const std::vector<std::string>& values = table.rows[candidates[best->candidate]].values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!values[k].empty())
        next.settings += fmt::format("{}{}={}", next.settings.empty() ? "" : ", ",
                                     config::lastPart(table.keys[k]), values[k]);
    }
    constexpr double kEighty = 1.2816;  // standard deviations
    next.property = result_.properties[best->parameter].property.name;
    next.before = std::exp(kEighty * best->before);
    next.after = std::exp(kEighty * best->after);
    result_.next = std::move(next);
    return {};
  }

  void take(const Fit& fit) {
    result_.noise = fit.noise;
    double squares = 0;
    for (const double error : fit.leaveOneOut) squares += error * error;
    result_.stepError = errorOfFurtherRow(squares, fit.leaveOneOut.size());
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      CalibratedProperty& property = result_.properties[p];
      property.factor = std::exp(fit.logs[p]);
      property.least = std::exp(fit.least[p]);
      property.most = std::exp(fit.most[p]);
      property.least80 = std::exp(fit.least80[p]);
      property.most80 = std::exp(fit.most80[p]);
      property.atBound = fit.logs[p] >= parameters_[p].most - 1e-6;
    }
    for (const Undetermined& refused : fit.refused) {
      CalibratedProperty& property = result_.properties[refused.parameter];
      const CalibratedProperty& other = result_.properties[refused.from];
      property.refusal =
          fit.noise > kLargeNoise
              ? fmt::format(
                    "The measured times scatter by {:.0f} % about what the model says, which is too much. "
                    "Check the units of the columns and the settings of the rows.",
                    100 * fit.noise)
          : refused.parameter == refused.from
              ? fmt::format("The measured times hardly depend on it. Measure {}.", property.property.shownBy)
              : fmt::format("The measurements do not tell it apart from {}. Measure {}.", other.property.name,
                            property.property.shownBy);
    }
    for (std::size_t i = 0; i < timed_.size(); ++i) {
      result_.rows.push_back({&request_.measured.rows[timed_[i]], std::expm1(fit.before[i]),
                              std::expm1(fit.residuals[i]), std::expm1(fit.leaveOneOut[i])});
    }
  }

  /// Finds the memory that measured programs hold beyond the emulated tensors. No figure of a device changes
  /// the tensors, and the remainder is assumed to be the same in all rows.
  void takeMemory() {
    constexpr auto kMemory = static_cast<std::size_t>(Measure::memoryBytes);
    std::vector<double> emulated, measured;
    for (const ValidatedRow& row : first_) {
      if (!row.measured.measured[kMemory] || !row.emulated[kMemory]) continue;
      emulated.push_back(*row.emulated[kMemory]);
      measured.push_back(*row.measured.measured[kMemory]);
    }
    const auto count = static_cast<double>(emulated.size());
    if (emulated.size() < 2) return;
    MeasuredWorkspace workspace;
    double squares = 0;
    for (std::size_t i = 0; i < emulated.size(); ++i) workspace.bytes += (measured[i] - emulated[i]) / count;
    for (std::size_t i = 0; i < emulated.size(); ++i) {
      const double rest = measured[i] - emulated[i] - workspace.bytes;
      squares += rest * rest;
      workspace.before.push_back(emulated[i] / measured[i] - 1);
      workspace.leftOut.push_back(-(rest * count / (count - 1)) / measured[i]);
    }
    const double half = studentQuantile(0.975, count - 1) * std::sqrt(squares / (count - 1) / count);
    workspace.least = workspace.bytes - half;
    workspace.most = workspace.bytes + half;
    result_.workspace = std::move(workspace);
  }

  const config::Configuration& configuration_;
  const CalibrationRequest& request_;
  base::Progress& progress_;
  CandidateFiles files_;
  std::size_t candidates_ = 0;
  std::vector<FitParameter> parameters_;
  std::vector<std::size_t> timed_;
  std::vector<double> measured_;
  std::vector<ValidatedRow> first_;           ///< the timed rows with the figures as they are
  std::vector<double> firstLogs_;             ///< their logarithms
  std::optional<config::Configuration> own_;  ///< ownSystem()
  std::optional<RowTimer> timer_;
  std::vector<double> ownSeconds_;  ///< lengths of their calls, as the timer gives them
  Calibration result_;
};

}  // namespace

base::Result<Calibration> calibrate(const config::Configuration& configuration,
                                    const CalibrationRequest& request, base::Progress& progress) {
  if (request.system.ends_with(".toml") || request.system.find(".toml:") != std::string::npos)
    return base::badInput(
        "calibrate starts from a system by its name, so that the new file can name it as its base: put the "
        "file "
        "into the user folder (pipescope help devices).");
  PIPESCOPE_ASSIGN(CandidateFiles files, CandidateFiles::create());
  return Calibrator(configuration, request, progress, std::move(files)).run();
}

bool determinesAnything(const Calibration& calibration) {
  return calibration.hasWorkspace() ||
         std::ranges::any_of(calibration.properties,
                             [](const CalibratedProperty& property) { return property.refusal.empty(); });
}

double MeasuredWorkspace::error(bool isReserved) const {
  double squares = 0;
  for (const double error : isReserved ? leftOut : before) squares += std::log1p(error) * std::log1p(error);
  constexpr double kLeast = 1e-4;  // a figure must be positive
  return std::max(kLeast, errorOfFurtherRow(squares, before.size()));
}

std::string calibratedToml(const Calibration& calibration, const CalibrationRequest& request) {
  const std::string file = std::filesystem::path(request.measurements).filename().string();
  std::string safe;
  for (const char c : file) safe += c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32 ? '_' : c;
  DeviceText text(calibration.figures);
  for (const CalibratedProperty& property : calibration.properties) {
    if (!property.refusal.empty()) continue;
    for (const std::string& name : property.figures)
      text.add(name, property.factor, property.least, property.most,
               fmt::format("calibrated by {} rows of {}; 95 %", calibration.rows.size(), safe));
  }
  if (calibration.stepError > 0)
    text.addError("step_error", calibration.stepError,
                  fmt::format("calibrated by {} rows of {}", calibration.rows.size(), safe));
  if (calibration.workspace)
    text.addError("memory_error", calibration.workspace->error(calibration.hasWorkspace()),
                  fmt::format("calibrated by {} rows of {}", calibration.workspace->before.size(), safe));
  if (calibration.hasWorkspace()) {
    const std::string& name = calibration.figures.reservedMemory;
    const double before = figureIn(calibration.figures, name)->value;
    const MeasuredWorkspace& workspace = *calibration.workspace;
    const auto reserved = [&](double more) { return std::max(0.0, std::round(before + more)); };
    text.addValue(name, reserved(workspace.bytes), reserved(workspace.least), reserved(workspace.most),
                  fmt::format("calibrated by {} rows of {}: more memory than tensors take; 95 %",
                              workspace.before.size(), safe));
  }
  const FigureFile& base =
      calibration.figures.system ? *calibration.figures.system : calibration.figures.chip;
  return text.text(fmt::format("{} from {} with {} rows of {}.", base::kDeviceTitle, base.name,
                               calibration.rows.size(), safe),
                   fmt::format("{}, calibrated", base.description));
}

}  // namespace pipescope::app
