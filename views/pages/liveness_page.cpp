// Shows which memory is live when: bytes by program step, and the variables of the selected step.
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/data/liveness_data.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/liveness_toolbar.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

QString livenessPageBytesText(std::int64_t bytes) {
  return text(formatCell(bytes, Format::bytes));
}

using Source = LivenessToolbar::Source;

}  // namespace

class LivenessPage : public shell::Page {
 public:
  explicit LivenessPage(shell::PageContext& context) : Page(context) {
    auto* area = new SplitArea(context.palette, makeToolbar(), this);
    upper_ = area->picture();
    tabs_ = area->tabs();
    chart_ = new Chart(context.palette, upper_);
    chart_->setAccessibleName(tr("Live bytes by program step"));
    chart_->setAxes(tr("program step, in compile order"), tr("bytes, sum over tiles"));
    legend_ = new timeline::Legend(context.palette, upper_);
    upper_->body()->addWidget(readout_);
    upper_->body()->addWidget(chart_, 1);
    upper_->body()->addWidget(legend_);
    table_ = new DataTable(context.palette, tabs_);
    vertices_ = new DataTable(context.palette, tabs_);
    cycles_ = new DataTable(context.palette, tabs_);
    table_->setFilterVisible(true);
    vertices_->setFilterVisible(true);
    tabs_->addTab(table_, tr("Variables"));
    tabs_->addTab(vertices_, tr("Vertices"));
    tabs_->addTab(cycles_, tr("Cycles"));
    setContent(area);
    connect(chart_, &Chart::clicked, this, &LivenessPage::choose);
    connect(&context.selection, &shell::Selection::changed, this, [this] {
      takeUnit();
      followOthers();
    });
    connect(chart_, &Chart::hovered, this, [this](int step) {
      readout_->setText(describe(step >= 0 ? step : chart_->mark()) + ofSource(step));
    });
    connect(chart_, &Chart::menuWanted, this, [this](int step, const QPoint& at) {
      choose(step);
      popUpSubjectMenu(*chart_, subjectOfStep(step), at);
    });
    makeCommands();
    context.actions.describe(tr("Charts"), tr("Zoom, pan, or show everything"),
                             tr("wheel, drag, double click"));
  }

  /// Selects the peak if the other page selects it, or else the step of the same name.
  void mirror(const Page* shown) override {
    const auto* other = static_cast<const LivenessPage*>(shown);
    if (other == nullptr || !data_ || !other->data_ || data_->spaces.empty() || other->data_->spaces.empty())
      return;
    const int wanted = other->chart_->mark();
    int step = -1;
    if (wanted == other->peakStep()) {
      step = peakStep();
    } else if (wanted >= 0 && wanted < static_cast<int>(other->data_->names.size())) {
      const auto found = std::find(data_->names.begin(), data_->names.end(),
                                   other->data_->names[static_cast<std::size_t>(wanted)]);
      if (found != data_->names.end()) step = static_cast<int>(found - data_->names.begin());
    }
    for (DataTable* table : {table_, vertices_, cycles_}) table->setComparable(step >= 0);
    if (step >= 0 && step != chart_->mark()) selectStep(step);
  }

 protected:
  Load load() override {
    LivenessChoice wanted;
    wanted.space = bar_->space();
    wanted.single = bar_->source() == Source::one;
    wanted.unit = unit_;
    return [this, wanted](const Job& job) -> base::Result<Apply> {
      auto made = collectLiveness({job.source, job.catalog, job.executable, -1, job.reports}, wanted);
      if (!made.ok()) return made.error();
      auto content = std::make_shared<const LivenessData>(*std::move(made));
      return Apply([this, content] { apply(content); });
    };
  }

  shell::Picture picture() override {
    return {upper_, accessibleName(), [this] {
              const auto [from, to] = chart_->range();
              chart_->setRange(0, chart_->size());
              return [this, from = from, to = to] { chart_->setRange(from, to); };
            }};
  }

  void forget() override {
    chart_->setMark(-1);
    unit_.reset();
  }
  void forgetProfile() override { bar_->setSpaces({}); }

 private:
  void makeCommands() {
    const auto add = [this](const QString& what, Qt::Key key, std::function<void()> run) {
      QAction* action = context_.actions.add(tr("Liveness"), what, {QKeySequence(key)}, std::move(run));
      own(action);
      return action;
    };
    previousStep_ = add(tr("Previous program step"), Qt::Key_Comma, [this] { choose(chart_->mark() - 1); });
    nextStep_ = add(tr("Next program step"), Qt::Key_Period, [this] { choose(chart_->mark() + 1); });
    add(tr("Program step in which most memory is live"), Qt::Key_P, [this] { choosePeak(); });
    onTrace_ = add(tr("Show the program step on the trace"), Qt::Key_T, [this] { jump(); });
  }

  LivenessToolbar* makeToolbar() {
    bar_ = new LivenessToolbar(context_.palette, this);
    readout_ = new ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, this);
    connect(bar_, &LivenessToolbar::spaceChosen, this, [this] {
      chart_->setMark(-1);
      unit_.reset();
      tellDevice();
      reload();
    });
    connect(bar_, &LivenessToolbar::sourceChosen, this, &LivenessPage::followSource);
    connect(bar_, &LivenessToolbar::tileChosen, this, [this](int tile) {
      unit_ = tile;
      reload();
    });
    connect(bar_, &LivenessToolbar::alwaysLiveChanged, this, [this] {
      showStack();
      readVariables();
    });
    connect(bar_, &LivenessToolbar::moveWanted, this, [this](int steps) { choose(chart_->mark() + steps); });
    connect(bar_, &LivenessToolbar::peakWanted, this, &LivenessPage::choosePeak);
    connect(bar_, &LivenessToolbar::nameWanted, this, &LivenessPage::goToNamed);
    connect(bar_, &LivenessToolbar::traceWanted, this, &LivenessPage::jump);
    return bar_;
  }

  void apply(std::shared_ptr<const LivenessData> content) {
    const bool sameSpace = data_ && data_->shown.id == content->shown.id &&
                           data_->liveness.steps.size() == content->liveness.steps.size();
    data_ = std::move(content);
    if (data_->spaces.empty()) return showInstead(whyNoLiveness(*context_.session.snapshot()->catalog));
    bar_->setSpaces(data_->spaces);
    bar_->selectSpace(data_->shown.id);
    if (!sameSpace) chart_->setMark(-1);
    followUnits();
    showStack();
    chart_->mark() < 0 ? selectPeak() : selectStep(chart_->mark());
    followOthers();
  }

  /// The bytes of all tiles are loaded already. The bytes of a single tile are read when users ask for them.
  void followSource() {
    if (!data_ || bar_->source() == Source::one) return reload();
    followUnits();
    showStack();
    selectStep(chart_->mark());
  }

  /// Memory in one piece has no tiles to choose from.
  void followUnits() {
    const LivenessSpace& space = data_->shown;
    const bool units = space.units > 1;
    if (!units) bar_->setSource(Source::sum);
    bar_->setUnits(space, data_->unit, ofOne());
    tabs_->setTabVisible(tabs_->indexOf(vertices_), units);
    tabs_->setTabText(tabs_->indexOf(cycles_),
                      timeScale().unit == geometry::TimeUnit::cycles ? tr("Cycles") : tr("Time"));
    remark(ofOne() && !data_->ofUnit.known ? tr("This profile does not say which %1 holds what. Run again "
                                                "with --record steps or --record tiles.")
                                                 .arg(text(space.unitName))
                                           : QString());
  }

  /// The always-live bytes of what is shown. For the fullest tile they are left out, because the tile with
  /// most not-always-live bytes may not be the one with most always-live bytes.
  std::int64_t base() const {
    return ofFullest() ? 0 : ofOne() ? data_->ofUnit.alwaysLive.count : data_->liveness.alwaysLive.count;
  }
  std::int64_t above(std::size_t step) const {
    if (ofOne())
      return step < data_->ofUnit.notAlwaysLive.size() ? data_->ofUnit.notAlwaysLive[step].count : 0;
    const analysis::LivenessPoint& point = data_->liveness.steps[step];
    return ofFullest() ? point.maxUnitNotAlwaysLive.count : point.notAlwaysLive.count;
  }

  void showStack() {
    if (!data_ || data_->spaces.empty()) return;
    const auto& steps = data_->liveness.steps;
    StackLayer below{ColourRole::alwaysLive, std::vector<std::int64_t>(steps.size(), base()), true};
    StackLayer top{ColourRole::notAlwaysLive, {}, true};
    std::vector<ChartBand> bands;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      top.values.push_back(above(i));
      const auto at = static_cast<double>(i);
      const QString pass = text(model::toString(steps[i].pass));
      if (bands.empty() || bands.back().name != pass)
        bands.push_back({at, at, pass, true, geometry::roleOf(steps[i].pass)});
      bands.back().to = at + 1;
    }
    std::vector<StackLayer> layers;
    std::vector<timeline::LegendEntry> entries;
    bar_->setAlwaysLiveEnabled(!ofFullest());
    if (bar_->withAlwaysLive() && !ofFullest()) {
      layers.push_back(std::move(below));
      entries.push_back(
          {tr("always live, %1").arg(livenessPageBytesText(base())), ColourRole::alwaysLive, false});
    }
    layers.push_back(std::move(top));
    const LivenessSpace& space = data_->shown;
    const QString unit = text(space.unitName), capacity = livenessPageBytesText(space.bytesPerUnit);
    entries.push_back({ofFullest() ? tr("not always live, on the %1 that holds most in this step").arg(unit)
                                   : tr("not always live"),
                       ColourRole::notAlwaysLive, false});
    chart_->setAxes(tr("program step, in compile order"),
                    space.units <= 1 ? tr("bytes")
                    : ofOne()        ? tr("bytes on %1 %2").arg(unit).arg(data_->unit)
                    : ofFullest()    ? tr("bytes on one %1").arg(unit)
                                     : tr("bytes, sum over %1s").arg(unit));
    chart_->setStack(std::move(layers), std::move(bands));
    std::int64_t most = 0;
    for (int step = 0; step < chart_->size(); ++step) most = std::max(most, chart_->total(step));
    const bool single = space.units <= 1 || ofOne() || ofFullest();
    const double limit = livenessLimit(space, single, most).value_or(-1);
    chart_->setLimit(limit, single
                                ? tr("%1 per %2").arg(capacity, text(memoryUnit(space.unitName)))
                                : tr("%1 in all %2s").arg(livenessPageBytesText(std::llround(limit)), unit));
    legend_->setEntries(std::move(entries));
  }

  /// Selects the next step whose name contains the text.
  void goToNamed(const QString& wanted) {
    if (!data_ || wanted.isEmpty()) return;
    const int count = static_cast<int>(data_->names.size());
    for (int i = 1; i <= count; ++i) {
      const int step = (chart_->mark() + i) % count;
      if (data_->names[static_cast<std::size_t>(step)].contains(wanted, Qt::CaseInsensitive))
        return choose(step);
    }
    readout_->setText(tr("No step of this device has a name that contains “%1”.").arg(wanted));
  }

  void setTraceEnabled(bool enabled) {
    bar_->setTraceEnabled(enabled);
    setPossible(onTrace_, enabled);
  }

  /// Shows the first placement of the selected step in the last call.
  void jump() {
    if (place_ && place_->ran) context_.go({QStringLiteral("trace"), place_->time, -1, QString()});
  }

  /// Reads the cycles of the selected program step and where it runs.
  void readProgram(model::ProgramId program) {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    place_.reset();
    setTraceEnabled(false);
    const auto progress = std::make_shared<shell::SharedProgress>();
    if (programProgress_) programProgress_->cancel();
    programProgress_ = progress;
    readInBackground(
        [held = *snapshot, executable = context_.session.executable(), program, progress] {
          return analysis::programPlace(*held.source, *held.catalog, executable, program, *progress);
        },
        [this, progress](base::Result<analysis::ProgramPlace>&& place) {
          if (progress != programProgress_) return;
          if (place.ok()) place_ = *std::move(place);
          setTraceEnabled(place_ && place_->ran);
          cycles_->setTable(cyclesTable(place_, data_->shown, timeScale()));
        });
  }

  /// Selects a step for the user, which other pages then highlight.
  void choose(int step) {
    selectStep(step);
    if (!data_ || chart_->mark() != step) return;
    following_ = true;
    context_.selection.set(subjectOfStep(step));
    following_ = false;
  }

  shell::Selected subjectOfStep(int step) const {
    shell::Selected subject;
    if (!data_ || step < 0 || step >= static_cast<int>(data_->liveness.steps.size())) return subject;
    subject.kind = shell::Selected::Kind::program;
    subject.device = data_->shown.device;
    subject.program = data_->liveness.steps[static_cast<std::size_t>(step)].program;
    subject.name = data_->names[static_cast<std::size_t>(step)];
    return subject;
  }
  void choosePeak() {
    if (data_) choose(peakStep());
  }

  /// Makes other pages highlight the device that the user chose.
  void tellDevice() {
    for (const LivenessSpace& space : data_->spaces) {
      if (space.id != bar_->space()) continue;
      shell::Selected selected;
      selected.kind = shell::Selected::Kind::device;
      selected.device = space.device;
      following_ = true;
      context_.selection.set(selected);
      following_ = false;
    }
  }

  bool ofFullest() const { return bar_->source() == Source::fullest; }
  bool ofOne() const { return bar_->source() == Source::one && data_ && data_->unit >= 0; }

  /// Shows the tile that another page selected.
  void takeUnit() {
    const std::int64_t unit = context_.selection.current().unit;
    if (following_ || unit < 0) return;
    unit_ = unit;
    bar_->setSource(Source::one);
    if (data_) reload();
  }

  /// Shows the device and the program step that another page selected.
  void followOthers() {
    if (following_ || !data_) return;
    const shell::Selected& selected = context_.selection.current();
    const auto space = std::find_if(data_->spaces.begin(), data_->spaces.end(),
                                    [&](const LivenessSpace& one) { return one.device == selected.device; });
    if (space != data_->spaces.end() && selected.device.valid() && space->id != data_->shown.id) {
      bar_->selectSpace(space->id);
      chart_->setMark(-1);
      return reload();  // the loaded device calls this function again
    }
    const auto& steps = data_->liveness.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (selected.program.valid() && steps[i].program == selected.program)
        return selectStep(static_cast<int>(i));
    }
    if (selected.kind != shell::Selected::Kind::operation) return;
    const int step = nearestName(selected.name, static_cast<int>(data_->names.size()),
                                 [this](int i) { return data_->names[static_cast<std::size_t>(i)]; });
    if (step >= 0) selectStep(step);
  }

  void selectPeak() {
    if (data_) selectStep(peakStep());
  }

  int peakStep() const {
    return static_cast<int>(ofOne() && data_->ofUnit.known ? data_->ofUnit.peakStep
                                                           : data_->liveness.peakStep);
  }

  void selectStep(int step) {
    if (!data_ || step < 0 || step >= static_cast<int>(data_->liveness.steps.size())) return;
    chart_->setMark(step);
    setPossible(previousStep_, step > 0);
    setPossible(nextStep_, step + 1 < static_cast<int>(data_->liveness.steps.size()));
    readout_->setText(describe(step));
    readVariables();
  }

  /// The bytes of the profile that is compared, at the same place of the chart.
  QString ofSource(int step) const {
    const std::int64_t bytes = chart_->otherTotal(step);
    return bytes < 0 ? QString() : tr(" · source %1").arg(livenessPageBytesText(bytes));
  }

  QString describe(int step) const {
    if (!data_ || step < 0 || step >= static_cast<int>(data_->liveness.steps.size())) return {};
    const analysis::LivenessPoint& point = data_->liveness.steps[static_cast<std::size_t>(step)];
    const QString& name = data_->names[static_cast<std::size_t>(step)];
    const QString what = name.isEmpty() ? text(model::toString(point.pass)) : name;
    if (ofFullest())
      return tr("Step %1 of %2 · %3 · %4 not always live on the fullest %5")
          .arg(groupedCount(step), groupedCount(chart_->size()))
          .arg(what, livenessPageBytesText(point.maxUnitNotAlwaysLive.count), text(data_->shown.unitName));
    const QString peak = step == peakStep() ? tr(", the peak") : QString();
    const std::int64_t now = above(static_cast<std::size_t>(step));
    return tr("Step %1 of %2 · %3 · %4 not always live, %5 in all%6")
        .arg(groupedCount(step), groupedCount(chart_->size()))
        .arg(what, livenessPageBytesText(now), livenessPageBytesText(now + base()), peak);
  }

  /// Reads the tables of the selected step. A newer choice replaces an older one that is still being read.
  void readVariables() {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    const int step = chart_->mark();
    if (!data_ || snapshot == nullptr || step < 0 || step >= static_cast<int>(data_->liveness.steps.size()))
      return;
    const std::int32_t index = data_->liveness.steps[static_cast<std::size_t>(step)].step;
    readProgram(data_->liveness.steps[static_cast<std::size_t>(step)].program);
    const std::int64_t unit = ofOne() && data_->ofUnit.known ? data_->unit : -1;
    readInBackground(
        [held = *snapshot, executable = context_.session.executable(), space = data_->shown, index, unit,
         withAlways = bar_->withAlwaysLive()] {
          return liveVariableTable({*held.source, *held.catalog, executable}, space, unit, index, withAlways);
        },
        [this, generation = ++generation_](base::Result<sections::SectionTable>&& table) {
          if (generation != generation_) return;
          if (!table.ok()) return table_->setTable({"variables", table.error().message, "", {}, {}});
          vertices_->setTable(liveVertices(*table));
          table_->setTable(*std::move(table));
        });
  }

  std::shared_ptr<const LivenessData> data_;
  LivenessToolbar* bar_ = nullptr;
  std::optional<std::int64_t> unit_;  ///< the chosen tile; none: the fullest one
  ElidedLabel* readout_ = nullptr;
  Chart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  DataTable *table_ = nullptr, *vertices_ = nullptr, *cycles_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  Panel* upper_ = nullptr;
  QAction *previousStep_ = nullptr, *nextStep_ = nullptr, *onTrace_ = nullptr;
  std::optional<analysis::ProgramPlace> place_;
  std::shared_ptr<shell::SharedProgress> programProgress_;
  int generation_ = 0;
  bool following_ = false;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(liveness) {
  registry.add({QStringLiteral("liveness"), QObject::tr("Liveness"), QStringLiteral("liveness"),
                QObject::tr("Live memory in each program step"), PageGroup::memory, 20,
                [](PageContext& context) -> Page* { return new pages::LivenessPage(context); }, true,
                [](const analysis::Catalog& catalog, model::ExecutableId) {
                  return catalog.memorySpaces.empty() || catalog.measured() ? pages::whyNoLiveness(catalog)
                                                                            : QString();
                }});
}

}  // namespace pipescope::shell
