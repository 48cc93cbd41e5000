#include "views/pages/parts/charts/compare_charts.h"

#include <QVBoxLayout>
#include <algorithm>

#include "profiler/figures/figure.h"
#include "profiler/geometry/charts/curves.h"
#include "profiler/geometry/charts/waterfall.h"
#include "profiler/sections/frame/column_text.h"
#include "views/pages/parts/charts/legends.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/timeline/pipeline_canvas.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;
using timeline::ItemChart;

constexpr int kWaterfallHeight = 240, kWaterfallMost = 480, kCurvesHeight = 200, kCurvesMost = 400,
              kPipelineRow = 40, kPipelineHead = 76, kMostPipelineRows = 8;

/// The source is an area, so that the line of the target can be seen when both are equal.
constexpr ColourRole kSourceRole = ColourRole::counter, kTargetRole = ColourRole::waitSlowerStage;

const std::vector<sections::Cell>* rowNamed(const sections::SectionTable& step, const char* key) {
  for (const auto& row : step.rows) {
    if (wordsIn(row[columnNamed(step, "quantity")]) == QLatin1String(key)) return &row;
  }
  return nullptr;
}

/// One legend for both pipelines.
std::vector<timeline::LegendEntry> legendOf(const ComparedSideData& source, const ComparedSideData& target) {
  const ComparedSideData* most = source.grid != nullptr ? &source : &target;
  if (source.grid != nullptr && target.grid != nullptr &&
      target.grid->microBatches > source.grid->microBatches)
    most = &target;
  if (most->grid == nullptr) return {};
  geometry::PipelineMarks marks;
  for (const ComparedSideData* side : {&source, &target}) {
    if (side->marks != nullptr) marks.insert(marks.end(), side->marks->begin(), side->marks->end());
  }
  return pipelineLegend(*most->grid, {}, &marks);
}

}  // namespace

StepWaterfall::StepWaterfall(const shell::Palette& palette, QWidget* parent)
    : Panel(palette, tr("From one step time to the other"), parent), chart_(new ItemChart(palette, this)) {
  chart_->setAccessibleName(tr("Waterfall"));
  chart_->setHint({480, kWaterfallHeight});
  chart_->setHeights(kWaterfallHeight, kWaterfallMost);
  body()->addWidget(chart_);
  connect(chart_, &ItemChart::clicked, chart_, &ItemChart::setMarked);
}

void StepWaterfall::setSection(const sections::Section& diff, bool sameWork) {
  const sections::SectionTable& step = *tableNamed(diff, "step");
  const auto* whole = rowNamed(step, "step_cycles");
  const std::size_t before = columnNamed(step, "before"), after = columnNamed(step, "after"),
                    delta = columnNamed(step, "delta");
  values_.clear();
  const bool known = whole != nullptr && !std::holds_alternative<std::monostate>((*whole)[delta]);
  setVisible(known);
  if (!known) return;
  std::vector<geometry::WaterfallColumn> columns = {
      {tr("source").toStdString(), numberIn((*whole)[before]), true}};
  for (const char* part : figures::kStepParts) {
    const auto* row = rowNamed(step, part);
    columns.push_back({figures::lostTo(part), row == nullptr ? 0 : numberIn((*row)[delta]), false});
  }
  columns.push_back({tr("target").toStdString(), numberIn((*whole)[after]), true});
  for (const auto& column : columns) values_.push_back(column.value);
  const auto format = [time = diff.time()](double value, bool change) {
    const std::string shown = timeText(value, time, sections::TimeStyle::exactChart);
    return change ? sections::signedText(shown, value) : shown;
  };
  auto tips = std::make_shared<QStringList>();
  for (const auto& column : columns)
    *tips << tr("%1: %2").arg(text(column.name), text(format(column.value, !column.total)));
  const auto at = [columns, format, sameWork](QSize size) {
    return geometry::Waterfall(columns, size.width(), size.height(), format, sameWork);
  };
  chart_->setFigure(
      at, [tips](int item) { return tips->at(item); }, ItemChart::numbered(columns.size()));
  setTitle(tr("From one step time to the other"),
           (sameWork ? tr("%1, mean of the last call's iterations; the changes add up to the difference")
                     : tr("%1, mean of the last call's iterations; the changes add up to the difference, and "
                          "since the two iterations do different work, less is not better"))
               .arg(chartUnit(diff.time())));
}

TwoCurves::TwoCurves(const shell::Palette& palette, const QString& title, QWidget* parent)
    : Panel(palette, title, parent),
      title_(title),
      chart_(new ItemChart(palette, this)),
      legend_(new timeline::Legend(palette, this)) {
  chart_->setAccessibleName(title);
  chart_->setHint({480, kCurvesHeight});
  chart_->setHeights(kCurvesHeight, kCurvesMost);
  body()->addWidget(chart_);
  body()->addWidget(legend_);
  legend_->setEntries({{tr("source"), kSourceRole, false}, {tr("target"), kTargetRole, false}});
}

void TwoCurves::setCurves(std::vector<double> source, std::vector<double> target, const QString& index,
                          const QString& basis) {
  setVisible(!source.empty() || !target.empty());
  setTitle(title_, basis);
  auto sides = std::make_shared<const std::array<std::vector<double>, 2>>(
      std::array<std::vector<double>, 2>{std::move(source), std::move(target)});
  const auto at = [sides](QSize size) {
    return geometry::StepCurves({{kSourceRole, (*sides)[0], true}, {kTargetRole, (*sides)[1]}}, size.width(),
                                size.height(), [](double bytes) { return formatCell(bytes, Format::bytes); });
  };
  const auto bytesAt = [](const std::vector<double>& values, int place) {
    return place < static_cast<int>(values.size())
               ? text(formatCell(values[static_cast<std::size_t>(place)], Format::bytes))
               : QStringLiteral("–");
  };
  chart_->setSource({[at](QSize size, const auto& measure, int) { return at(size).draw(measure); },
                     [at](QSize size, QPoint place) { return static_cast<int>(at(size).indexAt(place.x())); },
                     [](QSize size, int) { return QRect(QPoint(), size); },
                     [sides, index, bytesAt](int item) {
                       return tr("%1 %2\nsource %3\ntarget %4")
                           .arg(index)
                           .arg(item)
                           .arg(bytesAt((*sides)[0], item), bytesAt((*sides)[1], item));
                     },
                     {}});
}

TwoPipelines::TwoPipelines(const shell::Palette& palette, QWidget* parent)
    : Panel(palette, tr("Pipelines"), parent),
      source_(new timeline::PipelineCanvas(palette, this)),
      target_(new timeline::PipelineCanvas(palette, this)),
      legend_(new timeline::Legend(palette, this)) {
  setTitle(
      tr("Pipelines"),
      tr("one iteration of each, source above target; both show the same stretch of time, counted from the "
         "beginning of the iteration, and zoom together"));
  source_->setAccessibleName(tr("Pipeline of the source"));
  target_->setAccessibleName(tr("Pipeline of the target"));
  body()->addWidget(source_);
  body()->addWidget(target_);
  body()->addWidget(legend_);
}

void TwoPipelines::setSides(const ComparedSideData& source, const ComparedSideData& target) {
  const auto set = [](timeline::PipelineCanvas* canvas, const ComparedSideData& side) {
    canvas->setVisible(side.grid != nullptr);
    canvas->setGrid(side.grid, side.marks, side.scale);
    canvas->setDescriber([grid = side.grid, scale = side.scale, canvas](int cell) {
      const analysis::PipelineCell& at = grid->cells[static_cast<std::size_t>(cell)];
      return QStringList{tr("%1 of stage %2").arg(text(canvas->scene().labelOf(cell))).arg(at.stage),
                         text(formatDuration(at.end - at.start, scale))};
    });
    canvas->setMarkDescriber(
        [scale = side.scale](const geometry::PipelineMark& mark) { return markInWords(mark, scale); });
    const int rows = side.grid == nullptr ? 0 : static_cast<int>(side.grid->rows.size());
    canvas->setFixedHeight(kPipelineHead + kPipelineRow * std::clamp(rows, 1, kMostPipelineRows));
  };
  source_->setTwin(nullptr);
  set(source_, source);
  set(target_, target);
  if (source.grid != nullptr && target.grid != nullptr) source_->setTwin(target_);
  setVisible(source.grid != nullptr || target.grid != nullptr);
  legend_->setEntries(legendOf(source, target));
}

}  // namespace pipescope::pages
