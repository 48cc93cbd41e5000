#include "tests/conformance/ipu/layer_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace pipescope::conformance {
namespace {

/// The fields of a line. A field in quotes may hold commas.
std::vector<std::string> splitLine(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

bool toNumber(const std::string& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

constexpr std::array kColumns{
    "target", "name", "tool", "params", "cycles", "total_memory_bytes", "max_tile_memory_incl_gaps_bytes"};

class TableReader {
 public:
  explicit TableReader(std::string display) : display_(std::move(display)) {}

  base::Status add(const std::string& line) {
    ++number_;
    if (line.empty() || line[0] == '#' || line == "\r") return {};
    const std::vector<std::string> fields = splitLine(line);
    return places_.empty() ? heading(fields) : row(fields);
  }
  base::Result<std::vector<LayerRow>> finish() {
    if (places_.empty()) return base::badInput(display_ + ": no line with the names of the columns.");
    return std::move(rows_);
  }

 private:
  base::Status heading(const std::vector<std::string>& fields) {
    for (const char* column : kColumns) {
      const auto found = std::find(fields.begin(), fields.end(), column);
      if (found == fields.end())
        return base::badInput(
            fmt::format("{}, line {}: column \"{}\" is missing.", display_, number_, column));
      places_.push_back(static_cast<std::size_t>(found - fields.begin()));
    }
    width_ = fields.size();
    return {};
  }

  base::Status row(const std::vector<std::string>& fields) {
    if (fields.size() != width_) {
      return base::badInput(fmt::format("{}, line {}: {} columns, but the heading has {}.", display_, number_,
                                        fields.size(), width_));
    }
    LayerRow row{fields[places_[0]], fields[places_[1]], fields[places_[2]], fields[places_[3]], {}};
    for (const auto& [place, value] : {std::pair{4, &row.measured.cycles},
                                       {5, &row.measured.totalBytes},
                                       {6, &row.measured.maxTileBytes}}) {
      const std::string& text = fields[places_[static_cast<std::size_t>(place)]];
      if (!toNumber(text, *value) || *value <= 0) {
        return base::badInput(fmt::format("{}, line {}: {} is \"{}\", but must be a whole number above 0.",
                                          display_, number_, kColumns[static_cast<std::size_t>(place)],
                                          text));
      }
    }
    rows_.push_back(std::move(row));
    return {};
  }

  std::string display_;
  std::size_t number_ = 0, width_ = 0;
  std::vector<std::size_t> places_;
  std::vector<LayerRow> rows_;
};

}  // namespace

base::Result<std::vector<LayerRow>> readLayers(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return base::ioError(fmt::format("Cannot read {}.", file.string()));
  TableReader reader(file.string());
  for (std::string line; std::getline(stream, line);) PIPESCOPE_TRY(reader.add(line));
  return reader.finish();
}

base::Result<LayerOptions> LayerOptions::parse(const std::string& params) {
  LayerOptions options;
  std::istringstream stream(params);
  std::string name;
  const auto store = [&](const std::string& key, std::string value) {
    while (value.starts_with('{') && value.find('}') == std::string::npos) {
      std::string more;
      if (!(stream >> more)) break;
      value += more;
    }
    options.values_[key] = std::move(value);
    options.used_[key] = false;
  };
  for (std::string word; stream >> word;) {
    if (word.starts_with("--")) {
      if (!name.empty()) store(name, "true");
      name = word.substr(2);
      if (const std::size_t equals = name.find('='); equals != std::string::npos) {
        const std::string value = name.substr(equals + 1);
        name.resize(equals);
        store(name, value);
        name.clear();
      }
    } else if (name.empty()) {
      return base::badInput(fmt::format("\"{}\" belongs to no option", word));
    } else {
      store(name, word);
      name.clear();
    }
  }
  if (!name.empty()) store(name, "true");
  return options;
}

std::string LayerOptions::text(const std::string& name, const std::string& fallback) {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  used_[name] = true;
  return found->second;
}

void LayerOptions::fail(std::string fault) {
  if (fault_.empty()) fault_ = std::move(fault);
}

std::string LayerOptions::choice(const std::string& name, const std::vector<std::string>& values,
                                 const std::string& fallback) {
  const std::string value = text(name, fallback);
  if (std::find(values.begin(), values.end(), value) == values.end())
    fail(fmt::format("option --{} is \"{}\", but must be one of {}", name, value, fmt::join(values, ", ")));
  return value;
}

std::int64_t LayerOptions::parseNumber(const std::string& name, const std::string& text, std::int64_t least) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::int64_t value = 0;
  if (!toNumber(text, value)) {
    fail(fmt::format("option --{} is \"{}\", not a whole number", name, text));
    return least;
  }
  if (value < least || value > most) {
    fail(fmt::format("option --{} has {}, but numbers from {} to {} are possible", name, value, least, most));
    return least;
  }
  return value;
}

std::int64_t LayerOptions::number(const std::string& name, std::int64_t fallback) {
  return has(name) ? parseNumber(name, text(name), 1) : fallback;
}

void LayerOptions::checkShapes(const std::vector<graph::Shape>& shapes) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  for (const graph::Shape& shape : shapes) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) {
      if (extent < 1) return fail("the layer has no output: its window is larger than the padded field");
      if (__builtin_mul_overflow(elements, extent, &elements) || elements > most)
        return fail("the layer has a tensor of more than 2^40 elements, which no device holds");
    }
  }
}

double LayerOptions::real(const std::string& name, double fallback) {
  if (!has(name)) return fallback;
  const std::string given = text(name);
  char* end = nullptr;
  const double value = std::strtod(given.c_str(), &end);
  if ((end == given.c_str() || *end != 0) && fault_.empty())
    fault_ = fmt::format("option --{} is \"{}\", not a number", name, given);
  return value;
}

bool LayerOptions::flag(const std::string& name, bool fallback) {
  if (!has(name)) return fallback;
  const std::string value = text(name);
  if (value == "true" || value == "1") return true;
  if (value != "false" && value != "0" && fault_.empty())
    fault_ = fmt::format("option --{} is \"{}\", neither true nor false", name, value);
  return false;
}

std::vector<std::int64_t> LayerOptions::list(const std::string& name, std::int64_t least) {
  std::string value = text(name);
  if (value.starts_with('{') && value.ends_with('}')) value = value.substr(1, value.size() - 2);
  std::vector<std::int64_t> numbers;
  std::istringstream stream(value);
  for (std::string part; std::getline(stream, part, ',');) numbers.push_back(parseNumber(name, part, least));
  if (numbers.empty() && has(name)) fail(fmt::format("option --{} has no numbers", name));
  return numbers;
}

std::vector<std::int64_t> LayerOptions::list(const std::string& name, std::size_t count,
                                             std::int64_t fallback, std::int64_t least) {
  if (!has(name)) return std::vector<std::int64_t>(count, fallback);
  std::vector<std::int64_t> numbers = list(name, least);
  if (numbers.size() == 1) numbers.resize(count, numbers.front());
  if (numbers.size() != count) {
    fail(fmt::format("option --{} has {} numbers, but the field has {} axes", name, numbers.size(), count));
    numbers.resize(count, fallback);
  }
  return numbers;
}

void LayerOptions::require(const std::string& name) {
  if (!has(name) && fault_.empty()) fault_ = fmt::format("option --{} is missing", name);
}

void LayerOptions::ignore(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (has(name)) used_[name] = true;
  }
}

base::Status LayerOptions::status() const {
  if (!fault_.empty()) return base::badInput(fault_);
  for (const auto& [name, used] : used_) {
    if (!used) return base::badInput(fmt::format("option --{} is not modelled", name));
  }
  return {};
}

}  // namespace pipescope::conformance
