#include <fmt/format.h>

#include <map>

#include "profiler/analysis/timeline/range.h"
#include "profiler/export/export.h"

namespace pipescope::analysis {
namespace {

constexpr int kWidth = 1600, kLabel = 150, kRow = 12, kTop = 48;

// The colours that users of such traces are used to (published screenshots of PopVision, light theme).
const char* colourOf(model::StepKind kind) {
  switch (kind) {
    case model::StepKind::compute:
      return "#f66271";
    case model::StepKind::exchange:
      return "#b1e0e7";
    case model::StepKind::sync:
      return "#f6e6a1";
    case model::StepKind::globalExchange:
      return "#9aa899";
    case model::StepKind::streamCopy:
      return "#f0b093";
    case model::StepKind::control:
      return "#78c473";
    case model::StepKind::remoteCopy:
      return "#7e71ed";
  }
  return "#a0a0a0";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string legend(int y) {
  std::string out;
  int x = kLabel;
  for (int k = 0; k <= static_cast<int>(model::StepKind::remoteCopy); ++k) {
    const auto kind = static_cast<model::StepKind>(k);
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
        x, y, colourOf(kind), x + 14, y + 9, model::toString(kind));
    x += 120;
  }
  return out;
}

}  // namespace

base::Status exportSvg(const std::shared_ptr<const model::ProfileSource>& source,
                       const std::shared_ptr<const Catalog>& catalog, model::ExecutableId executable,
                       const Writer& write, base::Progress& progress) {
  const model::Run* run = catalog->lastRunOf(executable);
  if (run == nullptr || run->end <= run->start)
    return base::badInput("Nothing has run in this executable: there is no timeline to draw.");
  PIPESCOPE_ASSIGN(const auto index, RangeIndex::make(source, catalog));
  const Ticks span = run->end - run->start;
  const double scale = static_cast<double>(kWidth - kLabel) / static_cast<double>(span.count);
  std::map<model::LaneId, int> rows;
  std::string body, labels;
  PIPESCOPE_ASSIGN(
      const std::vector<StepSpan> spans,
      index->steps({executable, run->start, run->end, {}}, Ticks(span.count / (kWidth - kLabel)), progress));
  for (const StepSpan& box : spans) {
    const auto [row, added] = rows.try_emplace(box.lane, static_cast<int>(rows.size()));
    const int y = kTop + row->second * kRow;
    if (added) {
      const auto place = static_cast<std::size_t>(box.lane.value);
      const bool known = box.lane.valid() && place < catalog->lanes.size();
      const model::Device* device = known ? catalog->device(catalog->lanes[place].device) : nullptr;
      labels += fmt::format("<text x=\"4\" y=\"{}\">{} {}</text>\n", y + kRow - 3,
                            device ? escaped(device->name) : "",
                            known ? model::toString(catalog->lanes[place].role) : "");
    }
    const double x = kLabel + static_cast<double>((box.start - run->start).count) * scale;
    body += fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>\n", x, y,
                        std::max(0.1, static_cast<double>((box.end - box.start).count) * scale), kRow - 2,
                        colourOf(box.kind));
  }
  const int height = kTop + static_cast<int>(rows.size()) * kRow + 30;
  PIPESCOPE_TRY(write(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"4\" y=\"16\" font-size=\"13\">{2}</text>\n<text x=\"4\" y=\"34\">{3} · {4}</text>\n",
      kWidth, height, escaped(run->name), escaped(catalog->property("times")),
      escaped(catalog->property("device_model")))));
  PIPESCOPE_TRY(write(labels));
  PIPESCOPE_TRY(write(body));
  return write(legend(height - 18) + "</svg>\n");
}

}  // namespace pipescope::analysis
