#include "views/shell/profile_card.h"

#include <QFileInfo>
#include <QStringList>
#include <algorithm>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/timeline/overview.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::shell {
namespace {

void addWork(const analysis::Catalog& catalog, const model::Executable& executable, ProfileCard& card) {
  QStringList parts;
  if (const std::string name = catalog.property("model"); !name.empty())
    parts << QString::fromStdString(name);
  // A division counts the places, which are the stages of most schedules.
  const std::string division = catalog.divisionOf(executable.id);
  if (!division.empty()) {
    parts << QString::fromStdString(division);
  } else {
    if (executable.stages > 1) parts << QObject::tr("%1 stages").arg(executable.stages);
    if (executable.replicas > 1) parts << QObject::tr("%1 replicas").arg(executable.replicas);
  }
  if (parts.isEmpty() && catalog.measured()) {
    const std::size_t devices = catalog.devices.size();
    parts << (devices == 1 ? QString::fromStdString(catalog.devices.begin()->name)
                           : QObject::tr("%1 accelerators").arg(devices));
  }
  card.work = parts.join(QStringLiteral(" · "));
  card.system = catalog.measured() ? QObject::tr("recorded") : QString::fromStdString(catalog.target.name);
  if (catalog.state.state != model::ProfileState::complete)
    card.system += QStringLiteral(" · ") + QString::fromStdString(model::toString(catalog.state.state));
}

void addRate(const sections::Context& context, ProfileCard& card) {
  const auto definition = sections::findSection("summary");
  if (!definition.ok()) return;
  const auto section = makeSection(**definition, context);
  if (!section.ok()) return;
  for (const sections::Fact& fact : section->facts) {
    const bool known = !std::holds_alternative<std::monostate>(fact.value);
    // The last one that is known says most.
    const bool isRate = fact.key == "samples_per_second" || fact.key == "tokens_per_second" ||
                        fact.key == "output_tokens_per_second";
    if (isRate && known) {
      card.rate = QString::fromStdString(sections::cardText(fact.value, fact.format, section->time()));
      const bool tokens = fact.key != "samples_per_second";
      card.rate.replace(QStringLiteral("/s"), tokens ? QObject::tr("tokens/s") : QObject::tr("samples/s"));
    }
    if (fact.key == "fits" && known) {
      card.fits = std::get<bool>(fact.value);
      card.fit = card.fits ? QObject::tr("fits") : QObject::tr("does not fit");
    }
  }
}

/// The length of a training step that the host of a recorded run marks.
void addStep(const sections::Context& context, ProfileCard& card) {
  const auto definition = sections::findSection("kernels");
  if (!definition.ok()) return;
  const auto section = makeSection(**definition, context);
  if (!section.ok()) return;
  const auto step = std::ranges::find(section->facts, "mean_marked_step_cycles", &sections::Fact::key);
  if (step == section->facts.end() || std::holds_alternative<std::monostate>(step->value)) return;
  card.rate = QObject::tr("step %1").arg(
      QString::fromStdString(sections::cardText(step->value, step->format, section->time())));
}

/// Adds a row of activity for each device, to the card of a profile without a pipeline.
void addTimeline(const sections::Context& context, ProfileCard& card) {
  constexpr int kWidth = 240, kRow = 4, kMostRows = 16;
  constexpr std::int64_t kMostRead = 200'000;
  analysis::TraceRequest request;
  request.executable = context.executable;
  request.mostRows = request.mostSteps = kMostRead;
  base::SilentProgress progress;
  const auto trace = analysis::loadTrace(context.source, context.catalog, request, progress);
  if (!trace.ok() || (*trace)->end <= (*trace)->start) return;
  const auto devices = static_cast<int>(std::min<std::size_t>((*trace)->devices.size(), kMostRows));
  if (devices == 0) return;
  const auto model = geometry::TimelineModel::make(*trace);
  const geometry::TimeView view((*trace)->start, (*trace)->end, kWidth);
  const geometry::Shapes shapes = geometry::overview(*model, view, devices * kRow, false);
  card.rows = devices;
  for (std::size_t role = 0; role < shapes.fills.size(); ++role) {
    for (const geometry::Box& box : shapes.fills[role])
      card.boxes.push_back({static_cast<float>(box.x) / kWidth, static_cast<float>(box.right()) / kWidth,
                            std::min(box.y / kRow, devices - 1), static_cast<geometry::ColourRole>(role)});
  }
}

/// The passes of one iteration. A picture as small as this has room for some rows only.
void addPicture(const sections::Context& context, ProfileCard& card) {
  constexpr std::size_t kMostRows = 16, kMostBoxes = 4'000;
  analysis::PipelineRequest request;
  request.executable = context.executable;
  request.mostCells = kMostBoxes;
  base::SilentProgress progress;
  const auto grid = analysis::pipelineGrid(context.source, context.catalog, request, progress);
  if (!grid.ok() || grid->cells.empty()) return;
  const double start = static_cast<double>(grid->shownStart().count),
               length = std::max(1.0, static_cast<double>(grid->shownEnd().count) - start);
  card.rows = static_cast<int>(std::min(grid->rows.size(), kMostRows));
  for (const analysis::PipelineCell& cell : grid->cells) {
    if (cell.row >= card.rows || card.boxes.size() == kMostBoxes) continue;
    card.boxes.push_back({static_cast<float>((static_cast<double>(cell.start.count) - start) / length),
                          static_cast<float>((static_cast<double>(cell.end.count) - start) / length),
                          cell.row, geometry::roleOf(cell.pass)});
  }
}

}  // namespace

ProfileCard readCard(const QString& path, const Opener& opener) {
  constexpr qint64 kMostBytes = qint64{256} << 20;
  ProfileCard card;
  const QFileInfo file(path);
  card.isMissing = !file.exists();
  card.changed = file.lastModified();
  // Other files, such as traces, would be imported first.
  const bool isProfile = file.isFile() && file.suffix() == QLatin1String("pop") && file.size() <= kMostBytes;
  if (!opener || !isProfile) return card;
  const auto opened = opener(path.toStdString());
  if (!opened.ok()) return card;
  const auto catalog = analysis::loadCatalog(*opened->source);
  if (!catalog.ok()) return card;
  card.isRead = true;
  if ((*catalog)->executables.empty()) return card;
  const model::Executable& executable = *(*catalog)->executables.begin();
  const sections::Context context{*opened->source, **catalog, executable.id};
  addWork(**catalog, executable, card);
  addRate(context, card);
  addPicture(context, card);
  if (card.boxes.empty()) addTimeline(context, card);
  if (card.rate.isEmpty() && (*catalog)->measured()) addStep(context, card);
  return card;
}

}  // namespace pipescope::shell
