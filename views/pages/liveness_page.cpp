// Shows which memory is live when: bytes by program step, and the variables of the selected step.
#include <QApplication>
#include <QLabel>
#include <QScrollArea>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <set>

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
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/page.h"
#include "views/timeline/item_chart.h"
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
    now_ = addTree(tr("Not always live"));
    always_ = addTree(tr("Always live"));
    tabs_->addTab(makeLives(), tr("Lifetimes"));
    vertices_ = new DataTable(context.palette, tabs_);
    cycles_ = new DataTable(context.palette, tabs_);
    vertices_->setFilterVisible(true);
    tabs_->addTab(vertices_, tr("Vertices"));
    tabs_->addTab(cycles_, tr("Cycles"));
    setContent(area);
    connect(chart_, &Chart::clicked, this, [this](int step) {
      QApplication::keyboardModifiers() & Qt::ShiftModifier ? chooseUntil(step) : choose(step);
    });
    connect(&context.selection, &shell::Selection::changed, this, [this] {
      takeUnit();
      followOthers();
    });
    connect(chart_, &Chart::hovered, this, [this](int step) {
      const bool several = step < 0 && chart_->markedUntil() != chart_->mark();
      readout_->setText(several ? describeMarked()
                                : describe(step >= 0 ? step : chart_->mark()) + ofSource(step));
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
    for (DataTable* table : {vertices_, cycles_}) table->setComparable(step >= 0);
    for (TreeTable* tree : {now_, always_}) tree->setComparable(step >= 0);
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
    const auto extend = [this](const QString& what, const QString& key, int by) {
      own(context_.actions.add(tr("Liveness"), what, {QKeySequence(key)}, [this, by] {
        if (chart_->mark() >= 0) chooseUntil(chart_->markedUntil() + by);
      }));
    };
    extend(tr("Select the step before, too"), QStringLiteral("Shift+Left"), -1);
    extend(tr("Select the step after, too"), QStringLiteral("Shift+Right"), 1);
    context_.actions.describe(tr("Liveness"), tr("Select several steps"), tr("Shift+click"));
  }

  /// A tree of the variables of the selected steps.
  TreeTable* addTree(const QString& name) {
    auto* tree = new TreeTable(context_.palette, tabs_);
    tabs_->addTab(tree, name);
    tree->setSubjects(
        [tree](int row) {
          shell::Selected subject;
          subject.name = tree->pathOf(row);
          if (!subject.name.isEmpty()) subject.kind = shell::Selected::Kind::variable;
          return subject;
        },
        [tree](const shell::Selected& selected) {
          return selected.name.isEmpty() ? -1 : tree->rowOfPath(selected.name);
        });
    return tree;
  }

  /// The chart of lives, which is as tall as its rows and scrolls.
  QWidget* makeLives() {
    auto* frame = new QWidget(tabs_);
    auto* column = new QVBoxLayout(frame);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    livesNote_ = new QLabel(frame);
    shell::Palette::makeQuiet(*livesNote_);
    livesLegend_ = new timeline::Legend(context_.palette, frame);
    auto* scroll = new QScrollArea(frame);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    lives_ = new timeline::ItemChart(context_.palette, scroll);
    lives_->setAccessibleName(tr("Lifetimes of variables"));
    scroll->setWidget(lives_);
    scroll->viewport()->setAutoFillBackground(false);  // the panel shows through
    lives_->setAutoFillBackground(false);
    column->addWidget(livesNote_);
    column->addWidget(scroll, 1);
    column->addWidget(livesLegend_);
    connect(lives_, &timeline::ItemChart::clicked, this, [this](int row) {
      lives_->setMarked(row);
      context_.selection.set(subjectOfLife(row));
    });
    offerSubjects(*lives_, [this](int row) { return subjectOfLife(row); });
    connect(tabs_, &QTabWidget::currentChanged, this, [this, frame] {
      if (tabs_->currentWidget() == frame) readLives();
    });
    return frame;
  }

  shell::Selected subjectOfLife(int row) const {
    shell::Selected subject;
    if (row < 0 || row >= static_cast<int>(lifeRows_.rows.size())) return subject;
    subject.kind = shell::Selected::Kind::variable;
    subject.device = data_->shown.device;
    subject.name = text(lifeRows_.rows[static_cast<std::size_t>(row)].name);
    return subject;
  }

  /// Reads the lives of the shown space when they are first looked at.
  void readLives() {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (!data_ || snapshot == nullptr || data_->spaces.empty() || !lives_->isVisible()) return;
    if (livesOf_ == data_) return showLives();
    livesOf_ = data_;
    if (livesProgress_) livesProgress_->cancel();
    livesProgress_ = std::make_shared<shell::SharedProgress>();
    readInBackground(
        [held = *snapshot, executable = context_.session.executable(), space = data_->shown,
         progress = livesProgress_] {
          return lifeRows({*held.source, *held.catalog, executable}, space, *progress);
        },
        [this, progress = livesProgress_](base::Result<LifeRows>&& made) {
          if (progress != livesProgress_) return;
          lifeRows_ = made.ok() ? *std::move(made) : LifeRows();
          livesNote_->setText(made.ok() ? describeLives() : text(made.error().message));
          showLives();
        });
  }

  QString describeLives() const {
    const auto shown = static_cast<std::int64_t>(lifeRows_.rows.size());
    return shown < lifeRows_.all
               ? tr("The %1 largest of %2 variables that are not always live, by program step")
                     .arg(groupedCount(shown), groupedCount(lifeRows_.all))
               : tr("All %1 variables that are not always live, by program step").arg(groupedCount(shown));
  }

  void showLives() {
    const std::int64_t steps = static_cast<std::int64_t>(data_->liveness.steps.size());
    const auto [first, last] = std::minmax({chart_->mark(), chart_->markedUntil()});
    const auto rows = std::make_shared<const LifeRows>(lifeRows_);
    const int marked = lives_->marked();
    lives_->setFigure(
        [rows, steps, first = first, last = last](QSize size) {
          return geometry::LifeChart(rows->rows, steps, first, last, size.width());
        },
        [rows](int row) { return describeLife(*rows, row); },
        timeline::ItemChart::numbered(rows->rows.size()));
    lives_->setFixedHeight(geometry::LifeChart::heightOf(rows->rows.size()));
    lives_->setMarked(marked < static_cast<int>(rows->rows.size()) ? marked : -1);
    std::vector<timeline::LegendEntry> entries;
    std::set<std::string> known;
    for (std::size_t i = 0; i < rows->rows.size(); ++i) {
      if (known.insert(rows->categories[i]).second)
        entries.push_back({memoryWords(rows->categories[i]), rows->rows[i].role, false});
    }
    livesLegend_->setEntries(std::move(entries));
  }

  static QString describeLife(const LifeRows& lives, int row) {
    const geometry::LifeRow& life = lives.rows[static_cast<std::size_t>(row)];
    QStringList spans;
    for (const auto& [from, to] : life.spans)
      spans << (from + 1 == to ? groupedCount(from)
                               : tr("%1–%2").arg(groupedCount(from), groupedCount(to - 1)));
    return tr("%1 · %2 · %3 · live in steps %4")
        .arg(text(life.name), text(life.note), memoryWords(lives.categories[static_cast<std::size_t>(row)]),
             spans.join(QStringLiteral(", ")));
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
    connect(bar_, &LivenessToolbar::alwaysLiveChanged, this, &LivenessPage::showStack);
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

  void selectStep(int step, int until = -1) {
    if (!data_ || step < 0 || step >= static_cast<int>(data_->liveness.steps.size())) return;
    chart_->setMark(step, until);
    setPossible(previousStep_, step > 0);
    setPossible(nextStep_, step + 1 < static_cast<int>(data_->liveness.steps.size()));
    readout_->setText(chart_->markedUntil() == step ? describe(step) : describeMarked());
    readVariables();
    readLives();
  }

  /// Selects all steps from the selected one to this one.
  void chooseUntil(int step) {
    if (!data_ || chart_->mark() < 0) return choose(step);
    if (step >= 0 && step < static_cast<int>(data_->liveness.steps.size())) selectStep(chart_->mark(), step);
  }

  /// The selected steps and the one of them in which most is live.
  QString describeMarked() const {
    const auto [first, last] = std::minmax({chart_->mark(), chart_->markedUntil()});
    int most = first;
    for (int step = first; step <= last; ++step) {
      if (above(static_cast<std::size_t>(step)) > above(static_cast<std::size_t>(most))) most = step;
    }
    return tr("Steps %1 to %2, %3 in all · at most %4 not always live at once, in step %5")
        .arg(groupedCount(first), groupedCount(last), groupedCount(last - first + 1),
             livenessPageBytesText(above(static_cast<std::size_t>(most))), groupedCount(most));
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
    const auto [first, last] = std::minmax({step, chart_->markedUntil()});
    const auto indexOf = [this](int one) {
      return data_->liveness.steps[static_cast<std::size_t>(one)].step;
    };
    const analysis::StepRange steps(indexOf(first), indexOf(last));
    readProgram(data_->liveness.steps[static_cast<std::size_t>(step)].program);
    const std::int64_t unit = ofOne() && data_->ofUnit.known ? data_->unit : -1;
    readInBackground(
        [held = *snapshot, executable = context_.session.executable(), space = data_->shown, steps, unit] {
          return liveTables({*held.source, *held.catalog, executable}, space, unit, steps);
        },
        [this, generation = ++generation_](base::Result<LiveTables>&& made) {
          if (generation == generation_) showVariables(std::move(made));
        });
  }

  void showVariables(base::Result<LiveTables>&& made) {
    if (!made.ok()) {
      for (TreeTable* tree : {now_, always_})
        tree->setRows({{"error", made.error().message, "", {}, {}}, {}, {}});
      return;
    }
    vertices_->setTable(std::move(made->vertices));
    for (const auto& [tree, rows] : {std::pair(now_, &made->now), std::pair(always_, &made->always)}) {
      constexpr int kOpenRows = 40;
      tree->setRows(std::move(*rows));
      tree->openTo(kOpenDepth, kOpenRows);
    }
    tabs_->setTabText(tabs_->indexOf(now_),
                      tr("Not always live · %1").arg(livenessPageBytesText(made->bytesNow)));
    tabs_->setTabText(tabs_->indexOf(always_),
                      tr("Always live · %1").arg(livenessPageBytesText(made->bytesAlways)));
  }

  static constexpr int kOpenDepth = 1'000;  ///< as deep as there is room for the rows
  std::shared_ptr<const LivenessData> data_;
  LivenessToolbar* bar_ = nullptr;
  std::optional<std::int64_t> unit_;  ///< the chosen tile; none: the fullest one
  ElidedLabel* readout_ = nullptr;
  Chart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  TreeTable *now_ = nullptr, *always_ = nullptr;
  DataTable *vertices_ = nullptr, *cycles_ = nullptr;
  timeline::ItemChart* lives_ = nullptr;
  timeline::Legend* livesLegend_ = nullptr;
  QLabel* livesNote_ = nullptr;
  LifeRows lifeRows_;
  std::shared_ptr<const LivenessData> livesOf_;  ///< content whose lives were read
  std::shared_ptr<shell::SharedProgress> livesProgress_;
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
