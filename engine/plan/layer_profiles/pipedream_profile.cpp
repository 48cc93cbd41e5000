#include <fmt/format.h>

#include <array>
#include <optional>

#include "engine/plan/layer_profiles/layer_parser.h"

namespace pipescope::plan {
namespace {

constexpr std::string_view kSeparator = " -- ";

/// One line of a file, with what errors say of its place.
class PipeDreamLine {
 public:
  PipeDreamLine(std::string_view text, const std::string& file, int line)
      : text_(text), file_(file), line_(line) {}

  base::Result<Layer> layer() const {
    const std::size_t first = text_.find(kSeparator), costs = text_.rfind("-- forward_compute_time=");
    if (first == std::string_view::npos || costs == std::string_view::npos || costs < first) {
      return fault(
          "a layer needs \"ID -- description -- forward_compute_time=…, backward_compute_time=…, "
          "activation_size=…, parameter_size=…\"");
    }
    Layer layer;
    layer.id = trimmed(text_.substr(0, first));
    if (layer.id.empty()) return fault("the layer has no id");
    if (costs > first + kSeparator.size())
      layer.description = trimmed(text_.substr(first + kSeparator.size(), costs - first - kSeparator.size()));
    PIPESCOPE_TRY(readFields(text_.substr(costs + 3), layer));
    return layer;
  }

  base::Result<NamedEdge> edge() const {
    const std::size_t middle = text_.find(kSeparator);
    if (middle == std::string_view::npos) return fault("an edge needs \"ID -- ID\"");
    NamedEdge edge{std::string(trimmed(text_.substr(0, middle))),
                   std::string(trimmed(text_.substr(middle + kSeparator.size()))), line_};
    if (edge.from.empty() || edge.to.empty()) return fault("an edge needs \"ID -- ID\"");
    return edge;
  }

 private:
  base::Error fault(std::string_view what) const {
    return base::badInput(
        fmt::format("{}{}, but the line is \"{}\".", at(file_, line_), what, trimmed(text_).substr(0, 200)));
  }

  base::Status readFields(std::string_view text, Layer& layer) const {
    if (const std::size_t stage = text.find(" -- stage_id="); stage != std::string_view::npos)
      text = text.substr(0, stage);
    const std::array<std::pair<std::string_view, double*>, 4> fields{
        {{"forward_compute_time", &layer.forwardMs},
         {"backward_compute_time", &layer.backwardMs},
         {"activation_size", &layer.activationBytes},
         {"parameter_size", &layer.parameterBytes}}};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto& [name, value] = fields[i];
      text = trimmed(text);
      if (!text.starts_with(name) || text.size() == name.size() || text[name.size()] != '=')
        return fault(fmt::format("{}=… is missing", name));
      text.remove_prefix(name.size() + 1);
      // PipeDream separates the sizes of a list with semicolons, other programs with commas.
      const std::size_t from = text.starts_with('[') ? text.find(']') : 0;
      const std::size_t end = from == std::string_view::npos ? from : text.find(',', from);
      std::string one(text.substr(0, end));
      for (char& c : one) c = c == ',' ? ';' : c;
      PIPESCOPE_ASSIGN(*value, readSizes(one, name, file_, line_));
      if (end == std::string_view::npos) {
        if (i + 1 < fields.size()) return fault(fmt::format("{}=… is missing", fields[i + 1].first));
        return {};
      }
      text.remove_prefix(end + 1);
    }
    if (!trimmed(text).empty()) return fault("nothing may follow parameter_size");
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  int line_;
};

}  // namespace

base::Result<ReadLayers> parsePipeDream(std::string_view text, const std::string& file) {
  ReadLayers read;
  PIPESCOPE_TRY(forEachLine(text, [&](std::string_view line, int number) -> base::Status {
    if (trimmed(line).empty()) return {};
    const PipeDreamLine one(line, file, number);
    if (line.starts_with('\t') || line.starts_with(' ')) {
      PIPESCOPE_ASSIGN(NamedEdge edge, one.edge());
      read.edges.push_back(std::move(edge));
      return {};
    }
    PIPESCOPE_ASSIGN(Layer layer, one.layer());
    read.layers.push_back(std::move(layer));
    read.lines.push_back(number);
    return {};
  }));
  return read;
}

}  // namespace pipescope::plan
