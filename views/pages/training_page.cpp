// Shows loss, accuracy, learning rate and loss scale over the calls, those of validation in the same charts.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "profiler/analysis/pipeline/counters.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/curve_chart.h"
#include "views/pages/parts/data/pinned_series.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/layout/tool_row.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/shell/look/picture.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using sections::Format;
using OneSeries = std::shared_ptr<const analysis::CounterSeries>;
using Series = std::vector<OneSeries>;

/// The counters of an executable, and for each of them the same counter of another executable, if that has
/// it.
struct TrainingData {
  Series series;
  std::vector<std::pair<OneSeries, QString>> also;  ///< null: none; the name of the other executable
};

/// Places the samples of another executable on the axis of a series: where that was at the time.
OneSeries onAxisOf(const analysis::CounterSeries& series, analysis::CounterSeries also) {
  for (analysis::CounterPoint& point : also.points) {
    const std::ptrdiff_t at = analysis::pointAt(series, point.time);
    point.index = at < 0 ? 0 : series.points[static_cast<std::size_t>(at)].index;
  }
  return std::make_shared<const analysis::CounterSeries>(std::move(also));
}

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
    auto* content = new QWidget(this);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeTools());
    area_ = new ColumnsArea(content);
    column->addWidget(area_, 1);
    outcomes_ = new DataTable(context.palette, new Panel(context.palette, {}, this));
    outcomes_->setRowsShown(8);
    static_cast<Panel*>(outcomes_->parentWidget())->body()->addWidget(outcomes_);
    area_->top()->addWidget(outcomes_->parentWidget());
    area_->left()->addStretch(1);
    area_->right()->addStretch(1);
    setContent(content);
  }

  shell::Picture picture() override { return {area_->widget(), accessibleName(), {}}; }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      const auto read = [&job](model::ExecutableId executable) {
        analysis::CounterRequest request;
        request.executable = executable;
        request.mostPoints = kMostPoints;
        request.ofDevices = false;
        return analysis::counterSeries(job.source, job.catalog, request, job.progress);
      };
      PIPESCOPE_ASSIGN(auto made, read(job.executable));
      auto content = std::make_shared<TrainingData>();
      for (analysis::CounterSeries& one : made)
        content->series.push_back(std::make_shared<const analysis::CounterSeries>(std::move(one)));
      content->also.resize(content->series.size());
      const model::Executable* own = job.catalog.executable(job.executable);
      const bool training = own != nullptr && own->kind == model::ExecutableKind::training;
      for (const model::Executable& other : job.catalog.executables) {
        if (!training || other.id == job.executable) continue;
        PIPESCOPE_ASSIGN(auto others, read(other.id));
        for (analysis::CounterSeries& one : others) addAlso(*content, std::move(one), text(other.name));
      }
      return Apply([this, content] { apply(*content); });
    };
  }

 private:
  static void addAlso(TrainingData& content, analysis::CounterSeries also, const QString& name) {
    for (std::size_t i = 0; i < content.series.size(); ++i) {
      const analysis::CounterSeries& series = *content.series[i];
      if (content.also[i].first || series.counter.name != also.counter.name ||
          series.counter.unit != also.counter.unit || series.points.empty())
        continue;
      content.also[i] = {onAxisOf(series, std::move(also)), name};
      return;
    }
  }

  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    tools->setIndent(kScrolledIndent);
    logarithmic_ = new QCheckBox(tr("Logarithmic axis"), tools);
    logarithmic_->setToolTip(
        tr("Shows equal ratios of values as equal heights, where there are values above 0"));
    tools->add(logarithmic_);
    tools->label(tr("Smoothing"));
    smoothing_ = tools->combo(
        {tr("none"), QStringLiteral("0.6"), QStringLiteral("0.9"), QStringLiteral("0.97")}, tr("Smoothing"),
        tr("Draws the exponential moving mean: the weight of what came before. The "
           "values themselves stay as a faint line."));
    tools->stretch();
    tools->pictureButton();
    connect(logarithmic_, &QCheckBox::toggled, this, &TrainingPage::applyView);
    connect(smoothing_, QOverload<int>::of(&QComboBox::activated), this, &TrainingPage::applyView);
    return tools;
  }

  void applyView() {
    for (const OneChart& one : charts_) {
      one.chart->setLogarithmic(logarithmic_->isChecked());
      one.chart->setSmoothing(smoothing_->currentText().toDouble());
    }
  }

  void apply(const TrainingData& content) {
    const Series& series = content.series;
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
    std::vector<std::pair<OneSeries, QString>> also;
    for (std::size_t i = 0; i < series.size(); ++i) {
      const OneSeries& one = series[i];
      if (one->samples > 1 && one->smallest == one->largest && !content.also[i].first) {
        table.rows.push_back({titleOf(one->counter).toStdString(),
                              valueOf(one->counter, one->largest).toStdString(),
                              std::string("the same in all calls")});
      } else {
        curves.push_back(one);
        also.push_back(content.also[i]);
      }
    }
    outcomes_->parentWidget()->setVisible(!table.rows.empty());
    outcomes_->setTable(std::move(table));
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (i >= charts_.size()) addChart();
      arrange(charts_[i], i, curves.size());
      fill(charts_[i], curves[i]);
      charts_[i].chart->setAlso(also[i].first, also[i].second);
    }
    applyView();
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
    made.panel->setHelp(QStringLiteral("A counter"));
    made.chart = new CurveChart(context_.palette, made.panel);
    made.chart->setLeastHeight(kCurveHeight);
    made.readout = new ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, made.panel);
    made.panel->body()->addWidget(made.readout);
    made.panel->body()->addWidget(made.chart);
    connect(
        made.chart, &CurveChart::hovered, this,
        [this, chart = made.chart, readout = made.readout](int point) { describe(*chart, *readout, point); });
    shell::addPictureAction(
        *made.panel,
        [panel = made.panel] {
          return shell::Picture{panel, panel->accessibleName(), {}};
        },
        QStringLiteral("training"), context_);
    connect(made.chart, &CurveChart::doubleClicked, this,
            [this, chart = made.chart](int point) { showOnTrace(*chart, point); });
    connect(made.chart, &CurveChart::menuWanted, this,
            [this, chart = made.chart](int point, const QPoint& at) {
              QMenu* menu = makeMenu(*chart, point);
              menu->setAttribute(Qt::WA_DeleteOnClose);
              menu->popup(at);
            });
    charts_.push_back(made);
  }

  /// Makes the menu of a point of a curve.
  QMenu* makeMenu(CurveChart& chart, int point) {
    auto* menu = new QMenu(&chart);
    addCopyName(*menu, *this, chart.accessibleName());
    menu->addMenu(tr("Show in"))->addAction(tr("Trace"), &chart, [this, &chart, point] {
      showOnTrace(chart, point);
    });
    if (chart.series() != nullptr) {
      const std::string name = chart.series()->counter.name;
      QAction* pin = menu->addAction(tr("Pin above Trace and Host"));
      pin->setCheckable(true);
      pin->setChecked(pinnedSeries(context_.settings).contains(name));
      connect(pin, &QAction::toggled, this,
              [this, name](bool on) { pinSeries(context_.settings, name, on); });
    }
    menu->addSeparator();
    menu->addActions(chart.parentWidget()->actions());
    return menu;
  }

  /// Shows the call or iteration of a value, which is recorded at its end.
  void showOnTrace(const CurveChart& chart, int point) {
    const analysis::CounterSeries* series = chart.series();
    if (series == nullptr || point < 0 || point >= static_cast<int>(series->points.size())) return;
    const base::Ticks end = series->points[static_cast<std::size_t>(point)].time;
    shell::Place place{QStringLiteral("trace"), std::max(base::Ticks(), end - base::Ticks(1)), -1, QString()};
    place.wholeStep = true;
    context_.go(place);
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
    // The samples of the present call of a run that goes on may be missing.
    const std::int64_t missing = catalog.state.state == model::ProfileState::running ? 1 : 0;
    const auto isOf = [&](std::int64_t each) {
      return series.samples <= calls * each && series.samples >= (calls - missing) * each;
    };
    if (isOf(1)) return tr("call");
    if (row != nullptr && isOf(row->deviceIterations)) return tr("iteration");
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
    QString words = tr("%1 %2: %3").arg(axisOf(*series)).arg(at.index + 1).arg(value);
    if (const analysis::CounterSeries* also = chart.also()) {
      // The last one up to here; there need not be one of each call.
      const auto after = std::partition_point(also->points.begin(), also->points.end(),
                                              [&](const auto& one) { return one.index <= at.index; });
      if (after != also->points.begin())
        words += tr(" · %1: %2").arg(chart.alsoName(), valueOf(also->counter, std::prev(after)->last));
    }
    readout.setText(words);
  }

  QCheckBox* logarithmic_ = nullptr;
  QComboBox* smoothing_ = nullptr;
  ColumnsArea* area_ = nullptr;
  DataTable* outcomes_ = nullptr;
  std::vector<OneChart> charts_;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(training) {
  registry.add({QStringLiteral("training"), QObject::tr("Training"), QStringLiteral("training"),
                QObject::tr("Loss, accuracy and learning rate over the calls"), PageGroup::result, 30,
                [](PageContext& context) -> Page* { return new pages::TrainingPage(context); }, true,
                pages::whyNoTraining});
}

}  // namespace pipescope::shell
