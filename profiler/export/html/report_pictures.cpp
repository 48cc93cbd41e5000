#include "profiler/export/html/report_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/export/html/html_writer.h"
#include "profiler/export/html/report_rows.h"
#include "profiler/export/light_colours.h"
#include "profiler/figures/figure.h"
#include "profiler/geometry/svg_shapes.h"
#include "profiler/geometry/timeline/pipeline_scene.h"
#include "profiler/geometry/timeline/time_axis.h"

namespace pipescope::exporting {
namespace {

using geometry::ColourRole;
using sections::Format;

constexpr int kPictureWidth = 1100, kNames = 130, kHead = 40, kRightEdge = 40, kKeyLine = 18, kKeyWidth = 150;
constexpr std::size_t kMostBars = 64;

std::string svgWords(int x, int y, const std::string& words, const char* attributes = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, attributes, geometry::svgText(words));
}

geometry::TimeScale scaleOf(const analysis::Catalog& catalog) {
  geometry::TimeScale scale;
  if (!catalog.devices.empty())
    scale.ticksPerSecond = std::max<std::int64_t>(1, catalog.devices.front().ticksPerSecond);
  scale.unit = catalog.target.tickMeaning == model::TickMeaning::cost   ? geometry::TimeUnit::costUnits
               : catalog.target.tickMeaning == model::TickMeaning::time ? geometry::TimeUnit::time
                                                                        : geometry::TimeUnit::cycles;
  return scale;
}

using Key = std::vector<std::pair<ColourRole, std::string>>;

/// Meaning of the colours, each once.
Key keyOf(const analysis::PipelineGrid& grid, const geometry::PipelineMarks& marks) {
  Key key;
  const auto add = [&](ColourRole role, const std::string& name) {
    if (std::ranges::find(key, std::pair(role, name)) == key.end()) key.emplace_back(role, name);
  };
  for (const analysis::PipelineCell& cell : grid.cells) {
    if (cell.recompute.count > 0)
      add(geometry::roleOf(model::Pass::recompute), model::toString(model::Pass::recompute));
    add(geometry::roleOf(cell.pass), model::toString(cell.pass));
  }
  for (const auto& row : marks) {
    for (const geometry::PipelineMark& mark : row)
      add(mark.role, mark.isWait ? "waits: " + mark.name : mark.name);
  }
  for (auto& [role, name] : key) std::ranges::replace(name, '_', ' ');
  return key;
}

std::string keyPicture(const Key& key, int y) {
  std::string out;
  const int across = kPictureWidth / kKeyWidth;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int place = static_cast<int>(i), x = 4 + place % across * kKeyWidth,
              line = y + place / across * kKeyLine;
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x, line,
                       lightColour(key[i].first));
    out += svgWords(x + 14, line + 9, key[i].second);
  }
  return out;
}

std::string rowNames(const analysis::PipelineGrid& grid, const geometry::PipelineMetrics& metrics) {
  std::string out;
  int y = kHead;
  for (const analysis::PipelineRow& row : grid.rows) {
    std::string stages;
    for (const std::int32_t stage : row.stages)
      stages += (stages.empty() ? "" : ", ") + std::to_string(stage);
    const geometry::TextMeasure measure;
    out += svgWords(
        4, y + metrics.row / 2 - 2,
        geometry::fitText((row.stages.size() == 1 ? "Stage " : "Stages ") + stages, kNames - 8, measure),
        " font-weight=\"bold\"");
    out += svgWords(4, y + metrics.row / 2 + 11, geometry::fitText(row.name, kNames - 8, measure),
                    " fill=\"#5a6370\"");
    y += metrics.row + metrics.gap;
  }
  return out;
}

/// One bar of several parts.
struct ReportBar {
  std::string name, note;
  std::vector<std::tuple<ColourRole, std::string, double>> parts;  ///< colour, meaning, value
};

std::string barsHtml(const std::vector<ReportBar>& bars, double whole,
                     const std::function<std::string(double)>& show) {
  std::string out = "<div class=\"bars\">\n";
  std::vector<std::pair<ColourRole, std::string>> key;
  for (const ReportBar& bar : bars) {
    out += fmt::format("<div class=\"bar\"><span>{}</span><span class=\"track\">", htmlText(bar.name));
    for (const auto& [role, meaning, value] : bar.parts) {
      if (!(value > 0) || !(whole > 0)) continue;
      out += fmt::format("<i style=\"width:{:.2f}%;background:{}\" title=\"{}: {}\"></i>",
                         100 * std::min(1.0, value / whole), lightColour(role), htmlText(meaning),
                         htmlText(show(value)));
      if (std::ranges::find(key, std::pair(role, meaning)) == key.end()) key.emplace_back(role, meaning);
    }
    out += fmt::format("</span><span class=\"n\">{}</span></div>\n", htmlText(bar.note));
  }
  out += "<p class=\"quiet\">";
  for (const auto& [role, meaning] : key)
    out += fmt::format("<i class=\"swatch\" style=\"background:{}\"></i> {} &nbsp; ", lightColour(role),
                       htmlText(meaning));
  return out + "</p></div>\n";
}

}  // namespace

std::string pipelinePicture(const sections::Context& context, base::Progress& progress,
                            std::string& sentence) {
  constexpr std::int64_t kMostRows = 60'000, kMostCells = 20'000;
  analysis::PipelineRequest request;
  request.executable = context.executable;
  request.mostCells = kMostCells;
  auto made = analysis::pipelineGrid(context.source, context.catalog, request, progress);
  if (!made.ok()) return sentence = made.error().message, std::string();
  if (made->cells.empty()) {
    sentence = "Nothing of this executable has run, so there is no pipeline to draw.";
    return {};
  }
  const auto grid = std::make_shared<const analysis::PipelineGrid>(*std::move(made));
  analysis::TraceRequest trace;
  trace.executable = context.executable;
  trace.firstRun = trace.lastRun = grid->run;
  trace.mostRows = trace.mostSteps = kMostRows;
  const auto loaded = analysis::loadTrace(context.source, context.catalog, trace, progress);
  if (!loaded.ok()) return sentence = loaded.error().message, std::string();
  const auto marks =
      std::make_shared<const geometry::PipelineMarks>(geometry::pipelineMarks(*grid, **loaded));
  geometry::PipelineOptions options;
  options.byMicroBatch = false;
  const geometry::PipelineMetrics metrics;
  const geometry::PipelineScene scene(grid, options, metrics, marks);
  const geometry::TimeView view(scene.start(), scene.end(), kPictureWidth - kNames - kRightEdge);
  const Key key = keyOf(*grid, *marks);
  const int keyLines =
                (static_cast<int>(key.size()) + kPictureWidth / kKeyWidth - 1) / (kPictureWidth / kKeyWidth),
            foot = kHead + scene.height() + 8, height = foot + keyLines * kKeyLine;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kPictureWidth, height);
  svg += fmt::format("<g transform=\"translate({} 0)\">\n", kNames);
  svg += geometry::svgShapes(scene.drawPhases(view, {}), lightColour);
  const geometry::TimeScale scale = scaleOf(context.catalog);
  for (const geometry::AxisTick& tick : geometry::axisTicks(view, scale, 120, grid->shownStart())) {
    const int x = static_cast<int>(tick.x);
    svg += svgWords(x, kHead - 8, tick.label, " text-anchor=\"middle\" fill=\"#5a6370\"");
    svg += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\" stroke=\"#dfe3e9\"/>\n", x,
                       kHead - 4, foot - 8);
  }
  svg += fmt::format("</g>\n<g transform=\"translate({} {})\">\n", kNames, kHead);
  svg += geometry::svgShapes(scene.draw(view, 0, scene.height(), {}), lightColour);
  svg += "</g>\n" + svgWords(4, kHead - 8, geometry::axisUnit(scale), " fill=\"#5a6370\"");
  return svg + rowNames(*grid, metrics) + keyPicture(key, foot) + "</svg>\n";
}

std::string shareBar(const sections::Section& summary) {
  constexpr std::tuple<const char*, const char*, ColourRole> kShares[] = {
      {"compute", "compute", ColourRole::compute},
      {"exchange", "exchange, sync and waits for them", ColourRole::exchange},
      {"stream", "stream copies", ColourRole::streamCopy},
      {"memory", "remote memory", ColourRole::remoteCopy},
      {"control", "control", ColourRole::control},
      {"unknown", "unknown", ColourRole::otherKind},
      {"host", "waiting for the host", ColourRole::waitHost},
      {"pipeline", "waiting in the pipeline", ColourRole::waitSlowerStage}};
  const auto fact = std::ranges::find(summary.facts, "time_shares", &sections::Fact::key);
  const auto* shares = fact == summary.facts.end() ? nullptr : std::get_if<sections::Breakdown>(&fact->value);
  if (shares == nullptr) return {};
  ReportBar bar{"all devices", "", {}};
  double whole = 0;
  for (const auto& [key, meaning, role] : kShares) {
    for (const auto& [name, share] : *shares) {
      if (name != key) continue;
      const double value = sections::numberOf(share);
      bar.parts.emplace_back(
          role, meaning + fmt::format(" {}", sections::formatCell(value, Format::fraction)), value);
      whole += value;
    }
  }
  const auto show = [](double share) { return sections::formatCell(share, Format::fraction); };
  return whole > 0 ? barsHtml({bar}, whole, show) : std::string();
}

std::string stageBars(const sections::Section& stages) {
  const TableRows rows(stages, "stages");
  if (rows.count() > kMostBars) return {};
  constexpr std::tuple<const char*, const char*, ColourRole> kParts[] = {
      {"host_in_cycles", "host in", ColourRole::hostIn},
      {"forward_cycles", "forward", ColourRole::forward},
      {"recompute_cycles", "recompute", ColourRole::recompute},
      {"backward_cycles", "backward", ColourRole::backward},
      {"exchange_cycles", "exchange", ColourRole::globalExchange},
      {"collective_cycles", "collective", ColourRole::collectivePass},
      {"remote_cycles", "remote memory", ColourRole::remotePass},
      {"host_out_cycles", "host out", ColourRole::hostOut}};
  const sections::ShownTime time = stages.time();
  const auto show = [&](double ticks) { return timeText(ticks, time, sections::TimeStyle::chart); };
  std::vector<ReportBar> bars;
  double longest = 0;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    ReportBar bar;
    bar.name = fmt::format("Stage {} · {}", static_cast<std::int64_t>(rows.value(row, "index")),
                           rows.words(row, "device_name"));
    double sum = 0;
    for (const auto& [key, meaning, role] : kParts) {
      bar.parts.emplace_back(role, meaning, rows.value(row, key));
      sum += rows.value(row, key);
    }
    bar.note = show(sum);
    longest = std::max(longest, sum);
    bars.push_back(std::move(bar));
  }
  return longest > 0 ? barsHtml(bars, longest, show) : std::string();
}

std::string acceleratorBars(const sections::Section& kernels) {
  const TableRows rows(kernels, "devices");
  if (rows.count() > kMostBars) return {};
  const sections::ShownTime time = kernels.time();
  std::vector<ReportBar> bars;
  double longest = 0;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    const double span = rows.value(row, "span_cycles");
    bars.push_back(
        {rows.words(row, "device_name"),
         "idle " + sections::formatCell(rows.cell(row, "idle_share"), Format::fraction),
         {{ColourRole::compute, "computes", rows.value(row, "compute_cycles")},
          {ColourRole::globalExchange, "only communicates", rows.value(row, "exposed_communication_cycles")},
          {ColourRole::streamCopy, "only copies", rows.value(row, "copy_cycles")},
          {ColourRole::otherWait, "idle", rows.value(row, "idle_cycles")}}});
    longest = std::max(longest, span);
  }
  const auto show = [&](double ticks) { return timeText(ticks, time, sections::TimeStyle::sentence); };
  return longest > 0 ? barsHtml(bars, longest, show) : std::string();
}

std::string memoryBars(const sections::Section& memory) {
  constexpr double kFar = 4;  // a capacity that is so many times what is used would only shorten the bars
  const TableRows rows(memory, "devices");
  if (rows.count() == 0 || rows.count() > kMostBars) return {};
  const auto show = [](double bytes) {
    return sections::formatCell(static_cast<std::int64_t>(bytes), Format::bytes);
  };
  std::vector<ReportBar> bars;
  double most = 0;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    const double always = rows.value(row, "always_live_bytes"),
                 now = rows.value(row, "not_always_live_peak_bytes");
    ReportBar bar;
    bar.name = rows.words(row, "name");
    bar.parts = {{ColourRole::alwaysLive, "always live", always},
                 {ColourRole::notAlwaysLive, "the most that is live besides", now}};
    bar.note = show(always + now);
    most = std::max(most, always + now);
    bars.push_back(std::move(bar));
  }
  const double capacity = rows.value(0, "bytes_per_tile");
  if (capacity > most && capacity < kFar * most) most = capacity;
  return most > 0 ? barsHtml(bars, most, show) : std::string();
}

}  // namespace pipescope::exporting
