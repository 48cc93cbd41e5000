#include "profiler/export/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/export/light_colours.h"
#include "profiler/geometry/svg_shapes.h"
#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::exporting {

namespace {

constexpr int kLabel = 190, kTop = 48, kBottom = 36, kLegendStep = 130, kIdleLine = 18;
/// Limits of placements and steps that are drawn one by one. The picture of a longer call shows what
/// neighbouring ones look like from afar.
constexpr std::int64_t kMostRows = 60'000, kMostSteps = 120'000;

std::string text(int x, int y, const std::string& words, const char* attributes = "") {
  return words.empty() ? std::string()
                       : fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, attributes,
                                     geometry::svgText(words));
}

/// Titles of devices and lanes, to the left of the timeline.
std::string titles(const geometry::TimelineLayout& layout) {
  std::string out;
  const geometry::TextMeasure measure;
  const auto fitted = [&](const std::string& words, int room) {
    return geometry::fitText(words, room, measure);
  };
  for (const geometry::TimelineGroup& group : layout.groups) {
    out += text(4, kTop + group.y + 12, fitted(group.title, kLabel / 2), " font-weight=\"bold\"");
    out += text(4, kTop + group.y + 26, fitted(group.subtitle, kLabel - 60), " fill=\"#5a6370\"");
  }
  for (const geometry::TimelineRow& row : layout.rows) {
    if (!row.scale.empty()) {
      out += text(kLabel - 6, kTop + row.y + 10, fitted(row.label, kLabel / 2), " text-anchor=\"end\"");
      out += text(kLabel - 6, kTop + row.y + 22, fitted(row.scale, kLabel / 2),
                  " fill=\"#5a6370\" text-anchor=\"end\"");
    } else if (row.height >= geometry::kLowestText) {
      out += text(kLabel - 6, kTop + row.y + row.height / 2 + 4, fitted(row.label, kLabel / 2),
                  " text-anchor=\"end\"");
    }
  }
  return out;
}

/// Many devices of a system may hold no stage and do nothing. Their rows would be empty, so that a sentence
/// names them.
std::string hideIdle(const analysis::Trace& trace, std::set<int>& hidden) {
  constexpr std::size_t kFew = 2;
  std::vector<int> idle;
  for (std::size_t d = 0; d < trace.devices.size(); ++d) {
    const analysis::DeviceTrace& device = trace.devices[d];
    const bool works = std::ranges::any_of(device.tracks, [](const analysis::TraceTrack& track) {
      return !track.placements.empty() || !track.far.empty();
    });
    if (!works && device.stages.empty()) idle.push_back(static_cast<int>(d));
  }
  if (idle.size() <= kFew || idle.size() == trace.devices.size()) return {};
  hidden.insert(idle.begin(), idle.end());
  return fmt::format("{} devices hold no stage and are idle: {} … {}", idle.size(),
                     trace.devices[static_cast<std::size_t>(idle.front())].name,
                     trace.devices[static_cast<std::size_t>(idle.back())].name);
}

template <class Values>
void addLegend(const Values& values, std::vector<std::pair<geometry::ColourRole, std::string>>& entries) {
  for (const auto value : values) entries.emplace_back(geometry::roleOf(value), model::toString(value));
}

std::string legend(const geometry::TimelineModel& timeline, int y, int width) {
  std::vector<std::pair<geometry::ColourRole, std::string>> entries;
  addLegend(timeline.passes, entries);
  addLegend(timeline.kinds, entries);
  addLegend(timeline.causes, entries);
  addLegend(timeline.transferKinds, entries);
  std::string out;
  const int across = (width - 8) / kLegendStep;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const int place = static_cast<int>(i), x = 4 + place % across * kLegendStep,
              line = y + place / across * 16;
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x, line,
                       lightColour(entries[i].first));
    out += text(x + 14, line + 9, entries[i].second);
  }
  return out;
}

}  // namespace

base::Status exportSvg(const model::ProfileSource& source, const analysis::Catalog& catalog,
                       model::ExecutableId executable, const Writer& write, base::Progress& progress,
                       int width) {
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr || run->end <= run->start)
    return base::badInput("Nothing has run in this executable, so there is no timeline to draw.");
  analysis::TraceRequest request;
  request.executable = executable;
  request.firstRun = request.lastRun = run->id;
  request.mostRows = kMostRows;
  request.mostSteps = kMostSteps;
  PIPESCOPE_ASSIGN(const auto trace, analysis::loadTrace(source, catalog, request, progress));
  const auto timeline = geometry::TimelineModel::make(trace);
  geometry::TimelineOptions options;
  const std::string idle = hideIdle(*trace, options.hidden);
  const geometry::TimelineScene scene(timeline, geometry::layOutTimeline(*timeline, options), options);
  const int height = scene.layout().height, idleLine = idle.empty() ? 0 : kIdleLine;
  const geometry::TimeView view(run->start, run->end, width - kLabel);
  const geometry::Shapes shapes = scene.draw({view, 0, height}, {});
  const int whole = kTop + height + idleLine + 2 * kBottom;
  PIPESCOPE_TRY(write(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, whole)));
  PIPESCOPE_TRY(write(text(4, 16, run->name, " font-size=\"13\"")));
  PIPESCOPE_TRY(write(text(4, 34, catalog.property("times") + " · " + catalog.property("device_model"))));
  PIPESCOPE_TRY(write(titles(scene.layout())));
  PIPESCOPE_TRY(write(fmt::format("<g transform=\"translate({} {})\">\n", kLabel, kTop)));
  PIPESCOPE_TRY(write(geometry::svgShapes(shapes, lightColour)));
  PIPESCOPE_TRY(write("</g>\n"));
  PIPESCOPE_TRY(write(text(4, kTop + height + 14, idle, " fill=\"#5a6370\"")));
  PIPESCOPE_TRY(write(legend(*timeline, kTop + height + idleLine + 16, width)));
  return write("</svg>\n");
}

}  // namespace pipescope::exporting
