// Shows loss, accuracy, learning rate and loss scale over the calls.
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "profiler/analysis/pipeline/counters.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/curve_chart.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/shell/look/picture.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using sections::Format;
using Series = std::vector<std::shared_ptr<const analysis::CounterSeries>>;

constexpr std::size_t kMostPoints = 20'000;
constexpr int kCurveHeight = 230;

QString titleOf(const model::Counter& counter) {
  QString name = text(counter.name).replace(QLatin1Char('_'), QLatin1Char(' '));
  if (!name.isEmpty()) name[0] = name[0].toUpper();
  return name;
}

QString valueOf(const model::Counter& counter, double value) {
  if (counter.unit == "fraction") return text(formatCell(value, Format::fraction));
  const QString number = QString::number(value, 'g', 6);
  return counter.unit.empty() ? number : number + QLatin1Char(' ') + text(counter.unit);
}

}  // namespace

class TrainingPage : public shell::Page {
 public:
  explicit TrainingPage(shell::PageContext& context) : Page(context) {
    area_ = new ColumnsArea(this);
    outcomes_ = new DataTable(context.palette, new Panel(context.palette, {}, this));
    outcomes_->setRowsShown(8);
    static_cast<Panel*>(outcomes_->parentWidget())->body()->addWidget(outcomes_);
    area_->top()->addWidget(outcomes_->parentWidget());
    area_->left()->addStretch(1);
    area_->right()->addStretch(1);
    setContent(area_);
  }

  shell::Picture picture() override { return {area_->widget(), accessibleName(), {}}; }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      analysis::CounterRequest request;
      request.executable = job.executable;
      request.mostPoints = kMostPoints;
      request.ofDevices = false;
      auto made = analysis::counterSeries(job.source, job.catalog, request, job.progress);
      if (!made.ok()) return made.error();
      auto series = std::make_shared<Series>();
      for (analysis::CounterSeries& one : *made)
        series->push_back(std::make_shared<const analysis::CounterSeries>(std::move(one)));
      return Apply([this, series] { apply(*series); });
    };
  }

 private:
  void apply(const Series& series) {
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    sections::SectionTable table{"outcomes",
                                 "Outcomes",
                                 "of this executable",
                                 {{"name", "Figure", Format::plain, ""},
                                  {"value", "Value", Format::plain, ""},
                                  {"basis", "Of what", Format::plain, ""}},
                                 {}};
    for (const model::Outcome& row : catalog.outcomes) {
      if (row.executable != context_.session.executable() || row.kind == model::OutcomeKind::forecast)
        continue;
      table.rows.push_back({sections::outcomeName(row), sections::outcomeValue(row), row.basis});
    }
    addLastLoss(series, table);
    if (series.empty() && table.rows.empty())
      return showInstead(whyNoLoss(catalog, context_.session.executable()));
    // A value that never changes is a figure and no curve.
    Series curves;
    for (const auto& one : series) {
      if (one->samples > 1 && one->smallest == one->largest) {
        table.rows.push_back({titleOf(one->counter).toStdString(),
                              valueOf(one->counter, one->largest).toStdString(),
                              std::string("the same in all calls")});
      } else {
        curves.push_back(one);
      }
    }
    outcomes_->parentWidget()->setVisible(!table.rows.empty());
    outcomes_->setTable(std::move(table));
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (i >= charts_.size()) addChart();
      arrange(charts_[i], i, curves.size());
      fill(charts_[i], curves[i]);
    }
    for (std::size_t i = curves.size(); i < charts_.size(); ++i) charts_[i].panel->setVisible(false);
  }

  /// A run that was stopped has no outcomes, but its last call has a loss.
  static void addLastLoss(const Series& series, sections::SectionTable& table) {
    const auto loss = std::ranges::find(series, "loss", [](const auto& one) { return one->counter.name; });
    const bool known = std::ranges::any_of(
        table.rows, [](const auto& row) { return row.front() == sections::Cell(std::string("Final loss")); });
    if (loss == series.end() || (*loss)->points.empty() || known) return;
    table.rows.insert(
        table.rows.begin(),
        {std::string("Final loss"), valueOf((*loss)->counter, (*loss)->points.back().last).toStdString(),
         std::string("last recorded call of a run that has not reached its end")});
  }

  struct OneChart {
    Panel* panel;
    CurveChart* chart;
    ElidedLabel* readout;
  };

  /// The charts lie in two columns. One that is left over is as wide as both.
  void arrange(const OneChart& chart, std::size_t index, std::size_t all) {
    const bool isLeftOver = index % 2 == 0 && index + 1 == all;
    QVBoxLayout* const to = isLeftOver ? area_->bottom() : index % 2 == 0 ? area_->left() : area_->right();
    if (to->indexOf(chart.panel) >= 0) return;
    for (QVBoxLayout* from : {area_->bottom(), area_->left(), area_->right()})
      from->removeWidget(chart.panel);
    to->insertWidget(isLeftOver ? to->count() : to->count() - 1, chart.panel);
  }

  void addChart() {
    OneChart made{};
    made.panel = new Panel(context_.palette, {}, this);
    made.chart = new CurveChart(context_.palette, made.panel);
    made.chart->setLeastHeight(kCurveHeight);
    made.readout = new ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, made.panel);
    made.panel->body()->addWidget(made.readout);
    made.panel->body()->addWidget(made.chart);
    connect(
        made.chart, &CurveChart::hovered, this,
        [this, chart = made.chart, readout = made.readout](int point) { describe(*chart, *readout, point); });
    shell::addPictureAction(
        *made.chart->canvas(),
        [panel = made.panel] {
          return shell::Picture{panel, panel->accessibleName(), {}};
        },
        QStringLiteral("training"), context_);
    charts_.push_back(made);
  }

  void fill(const OneChart& to, const std::shared_ptr<const analysis::CounterSeries>& series) {
    const QString name = titleOf(series->counter);
    to.panel->setVisible(true);
    to.panel->setTitle(name, basisOf(*series));
    to.chart->setAccessibleName(name);
    to.chart->setSeries(series, axisOf(*series));
    describe(*to.chart, *to.readout, -1);
  }

  /// Says in words what the values are, for the title of the chart.
  QString basisOf(const analysis::CounterSeries& series) const {
    const QString count = text(geometry::groupedNumber(series.samples));
    if (series.samples == 1) return tr("1 sample so far");
    if (series.counter.name == "iteration_loss")
      return tr("mean over all micro-batches of each weight update, %1 values").arg(count);
    if (axisOf(series) == tr("sample"))
      return tr("%1 samples of all calls, in the order of recording").arg(count);
    return tr("one value for each %1, %2 values").arg(axisOf(series), count);
  }

  /// Says what a value of the counter belongs to: a call, an iteration of a call, or what else the run
  /// recorded.
  QString axisOf(const analysis::CounterSeries& series) const {
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    const model::Executable* row = catalog.executable(context_.session.executable());
    const auto calls = static_cast<std::int64_t>(catalog.runsOf(context_.session.executable()).size());
    if (series.samples == calls) return tr("call");
    if (row != nullptr && series.samples == calls * row->deviceIterations) return tr("iteration");
    return tr("sample");
  }

  void describe(const CurveChart& chart, ElidedLabel& readout, int point) {
    const analysis::CounterSeries* series = chart.series();
    if (series == nullptr || series->points.empty()) return readout.setText({});
    if (point < 0) {
      return readout.setText(tr("last %1 · smallest %2 · largest %3")
                                 .arg(valueOf(series->counter, series->points.back().last),
                                      valueOf(series->counter, series->smallest),
                                      valueOf(series->counter, series->largest)));
    }
    const analysis::CounterPoint& at = series->points[static_cast<std::size_t>(point)];
    const QString value = at.count == 1 ? valueOf(series->counter, at.last)
                                        : tr("%1 … %2").arg(valueOf(series->counter, at.smallest),
                                                            valueOf(series->counter, at.largest));
    readout.setText(tr("%1 %2: %3").arg(axisOf(*series)).arg(at.index + 1).arg(value));
  }

  ColumnsArea* area_ = nullptr;
  DataTable* outcomes_ = nullptr;
  std::vector<OneChart> charts_;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(training) {
  registry.add({QStringLiteral("training"), QObject::tr("Training"), QStringLiteral("training"),
                QObject::tr("Loss, accuracy and learning rate over the calls"), PageGroup::result, 30,
                [](PageContext& context) -> Page* { return new pages::TrainingPage(context); }});
}

}  // namespace pipescope::shell
