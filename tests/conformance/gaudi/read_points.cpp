#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "tests/conformance/gaudi/point.h"

namespace pipescope::conformance {
namespace {

std::vector<std::string> split(const std::string& line, char mark) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];  // two quotes within quotes are one
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == mark && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

base::Result<double> number(const std::string& text, const std::string& column, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return base::badInput(fmt::format("{}: \"{}\" is not a number for column {}.", where, text, column));
}

class Table {
 public:
  explicit Table(std::string display) : display_(std::move(display)) {}

  base::Status add(const std::string& line) {
    ++line_;
    if (line.empty() || line[0] == '#' || line == "\r") return {};
    const std::vector<std::string> fields = split(line, ',');
    if (columns_.empty()) return head(fields);
    if (fields.size() != columns_.size())
      return base::badInput(
          fmt::format("{}: {} fields, but there are {} columns.", where(), fields.size(), columns_.size()));
    Point point;
    point.device = of(fields, "device");
    point.workload = of(fields, "workload");
    point.source = of(fields, "source");
    point.chose = of(fields, "chose");
    PIPESCOPE_ASSIGN(const double cards, number(of(fields, "cards"), "cards", where()));
    if (cards < 1 || cards > 4096 || cards != static_cast<int>(cards))
      return base::badInput(fmt::format("{}: {} cards; give a whole number from 1 to 4096.", where(), cards));
    point.cards = static_cast<int>(cards);
    PIPESCOPE_ASSIGN(point.measured, number(of(fields, "measured"), "measured", where()));
    if (!(point.measured > 0)) return base::badInput(where() + ": measured must be above 0.");
    if (const std::string tolerance = of(fields, "tolerance"); !tolerance.empty()) {
      PIPESCOPE_ASSIGN(point.tolerance, number(tolerance, "tolerance", where()));
    }
    PIPESCOPE_TRY(readParameters(of(fields, "parameters"), point));
    points_.push_back(std::move(point));
    return {};
  }

  base::Result<std::vector<Point>> finish() {
    if (columns_.empty()) return base::badInput(display_ + ": no line with the names of the columns.");
    return std::move(points_);
  }

 private:
  base::Status head(const std::vector<std::string>& fields) {
    columns_ = fields;
    for (const char* needed : {"device", "cards", "workload", "parameters", "measured"}) {
      if (std::find(columns_.begin(), columns_.end(), needed) == columns_.end())
        return base::badInput(fmt::format("{}: there is no column \"{}\".", where(), needed));
    }
    return {};
  }
  std::string of(const std::vector<std::string>& fields, const std::string& column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? "" : fields[static_cast<std::size_t>(found - columns_.begin())];
  }
  base::Status readParameters(std::string text, Point& point) const {
    std::replace(text.begin(), text.end(), ';', ' ');
    std::istringstream parts(text);
    for (std::string part; parts >> part;) {
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos || equals == 0)
        return base::badInput(fmt::format("{}: \"{}\" is not key=value.", where(), part));
      point.parameters[part.substr(0, equals)] = part.substr(equals + 1);
    }
    return {};
  }
  std::string where() const { return fmt::format("{}, line {}", display_, line_); }

  std::string display_;
  int line_ = 0;
  std::vector<std::string> columns_;
  std::vector<Point> points_;
};

}  // namespace

base::Result<std::vector<Point>> parsePoints(const std::string& text, const std::string& display) {
  Table table(display);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) PIPESCOPE_TRY(table.add(line));
  return table.finish();
}

base::Result<std::vector<Point>> readPoints(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf()))
    return base::ioError(fmt::format("Cannot read {}; check that it is a readable, non-empty file.", file));
  return parsePoints(text.str(), file);
}

}  // namespace pipescope::conformance
