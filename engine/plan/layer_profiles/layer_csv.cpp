#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/plan/layer_profiles/layer_parser.h"

namespace pipescope::plan {
namespace {

enum LayerField : std::size_t { kId, kForward, kBackward, kActivation, kParameter, kName, kInputs, kFields };

/// The headings that a column may have; the first one is ours.
const std::array<std::vector<std::string_view>, kFields> kHeadings{{{"id", "node", "layer"},
                                                                    {"forward_ms", "forward_compute_time"},
                                                                    {"backward_ms", "backward_compute_time"},
                                                                    {"activation_bytes", "activation_size"},
                                                                    {"parameter_bytes", "parameter_size"},
                                                                    {"name", "description"},
                                                                    {"inputs", "predecessors"}}};

/// The fields of a record. Fields with separators stand in quotes, and a quote in them is doubled (RFC 4180).
/// None if a quote is not closed on the line.
std::optional<std::vector<std::string>> fieldsOf(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  for (std::string& field : fields) field = std::string(trimmed(field));
  return fields;
}

/// Spreadsheets of some countries separate by semicolons. The separator is the one that the headings have.
char separatorOf(std::string_view headings) {
  for (const char separator : {',', ';', '\t'}) {
    if (headings.find(separator) != std::string_view::npos) return separator;
  }
  return ',';
}

/// "Forward (ms)" and "FORWARD-MS" mean forward_ms.
std::string plainHeading(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    if (c == '(' || c == ')') continue;
    plain += c == ' ' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

class LayerCsv {
 public:
  explicit LayerCsv(const std::string& file) : file_(file) {}

  base::Status line(std::string_view text, int number) {
    if (trimmed(text).empty()) return {};
    if (headings_ == 0) separator_ = separatorOf(text);
    const std::optional<std::vector<std::string>> fields = fieldsOf(text, separator_);
    if (!fields) return base::badInput(at(file_, number) + "a quote is not closed.");
    if (headings_ == 0) return readHeadings(*fields, number);
    if (fields->size() != headings_) {
      return base::badInput(fmt::format("{}there are {} fields, but the first line has {} headings.",
                                        at(file_, number), fields->size(), headings_));
    }
    return readLayer(*fields, number);
  }

  ReadLayers take() { return std::move(read_); }

 private:
  base::Status readHeadings(const std::vector<std::string>& names, int number) {
    headings_ = names.size();
    for (std::size_t c = 0; c < names.size(); ++c) {
      const auto known = std::ranges::find_if(kHeadings, [&](const auto& all) {
        return std::ranges::find(all, plainHeading(names[c])) != all.end();
      });
      const auto field = static_cast<std::size_t>(known - kHeadings.begin());
      if (known == kHeadings.end() || column_[field]) {
        std::vector<std::string_view> ours;
        for (const auto& all : kHeadings) ours.push_back(all.front());
        return base::badInput(
            fmt::format("{}the heading \"{}\" is {}: the columns are {}.", at(file_, number), names[c],
                        known == kHeadings.end() ? "unknown" : "there twice", fmt::join(ours, ", ")));
      }
      column_[field] = c;
    }
    for (std::size_t field = kId; field <= kParameter; ++field) {
      if (!column_[field]) {
        return base::badInput(
            fmt::format("{}the column {} is missing.", at(file_, number), kHeadings[field].front()));
      }
    }
    return {};
  }

  base::Status readLayer(const std::vector<std::string>& fields, int number) {
    Layer layer;
    layer.id = fields[*column_[kId]];
    if (layer.id.empty()) return base::badInput(at(file_, number) + "the layer has no id.");
    if (column_[kName]) layer.description = fields[*column_[kName]];
    const std::array<std::pair<LayerField, double*>, 4> costs{{{kForward, &layer.forwardMs},
                                                               {kBackward, &layer.backwardMs},
                                                               {kActivation, &layer.activationBytes},
                                                               {kParameter, &layer.parameterBytes}}};
    for (const auto& [field, value] : costs) {
      PIPESCOPE_ASSIGN(*value, readSizes(fields[*column_[field]], kHeadings[field].front(), file_, number));
    }
    if (column_[kInputs]) {
      addInputs(fields[*column_[kInputs]], layer.id, number);
    } else if (!read_.layers.empty()) {
      read_.edges.push_back({read_.layers.back().id, layer.id, number});
    }
    read_.layers.push_back(std::move(layer));
    read_.lines.push_back(number);
    return {};
  }

  void addInputs(std::string_view text, const std::string& to, int number) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of("; "), text.size());
      if (end > 0) read_.edges.push_back({std::string(text.substr(0, end)), to, number});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  const std::string& file_;
  char separator_ = ',';
  std::size_t headings_ = 0;
  std::array<std::optional<std::size_t>, kFields> column_;
  ReadLayers read_;
};

}  // namespace

bool looksLikeLayerCsv(std::string_view text) {
  bool csv = false;
  // The status is an error as soon as the first line that is not empty was seen.
  const base::Status seen = forEachLine(text, [&](std::string_view line, int) -> base::Status {
    if (trimmed(line).empty()) return {};
    csv = line.find_first_of(",;\t") != std::string_view::npos && line.find(" -- ") == std::string_view::npos;
    return base::badInput("seen");
  });
  return !seen.ok() && csv;
}

base::Result<ReadLayers> parseLayerCsv(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  LayerCsv csv(file);
  PIPESCOPE_TRY(forEachLine(text, [&](std::string_view line, int number) { return csv.line(line, number); }));
  return csv.take();
}

}  // namespace pipescope::plan
