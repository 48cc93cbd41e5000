// Shows which memory is live when: bytes by program step, and the variables of the selected step.
#include <QApplication>
#include <QTabWidget>
#include <algorithm>
#include <cmath>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/charts/lifetimes_view.h"
#include "views/pages/parts/charts/liveness_stack.h"
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
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

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
    tabs_->addTab(lives_ = makeLives(), tr("Lifetimes"));
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
    connect(chart_, &Chart::doubleClicked, this, [this](int step) {
      choose(step);
      showSubject(*chart_, subjectOfStep(step), QStringLiteral("trace"));
    });
    makeCommands();
    context.actions.describe(tr("Liveness"), tr("Show the program of a step on the trace"),
                             tr("double click"));
    context.actions.describe(tr("Charts"), tr("Zoom, pan, or show everything"),
                             tr("wheel, drag, double click above the bars"));
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

  /// The lives of variables are read when their tab is first shown.
  LifetimesView* makeLives() {
    auto* lives = new LifetimesView(context_, *this, tabs_);
    connect(tabs_, &QTabWidget::currentChanged, this, [this, lives] {
      if (tabs_->currentWidget() == lives) showLives();
    });
    return lives;
  }
  void showLives() {
    if (!data_) return;
    const auto [first, last] = std::minmax({chart_->mark(), chart_->markedUntil()});
    lives_->showLives(data_, first, last);
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

  void showStack() {
    if (!data_ || data_->spaces.empty()) return;
    const LivenessStack stack = shown();
    bar_->setAlwaysLiveEnabled(!ofFullest());
    chart_->setAxes(tr("program step, in compile order"), stack.axis());
    chart_->setStack(stack.layers(bar_->withAlwaysLive()), stack.bands());
    std::int64_t most = 0;
    for (int step = 0; step < chart_->size(); ++step) most = std::max(most, chart_->total(step));
    const auto [limit, words] = stack.limit(most);
    chart_->setLimit(limit, words);
    legend_->setEntries(stack.legend(bar_->withAlwaysLive()));
  }

  /// The content as the chart shows it.
  LivenessStack shown() const {
    return {*data_, ofFullest() ? LivenessStack::Part::fullest
                    : ofOne()   ? LivenessStack::Part::unit
                                : LivenessStack::Part::sum};
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

  int peakStep() const { return shown().peakStep(); }

  void selectStep(int step, int until = -1) {
    if (!data_ || step < 0 || step >= static_cast<int>(data_->liveness.steps.size())) return;
    chart_->setMark(step, until);
    setPossible(previousStep_, step > 0);
    setPossible(nextStep_, step + 1 < static_cast<int>(data_->liveness.steps.size()));
    readout_->setText(chart_->markedUntil() == step ? describe(step) : describeMarked());
    readVariables();
    showLives();
  }

  /// Selects all steps from the selected one to this one.
  void chooseUntil(int step) {
    if (!data_ || chart_->mark() < 0) return choose(step);
    if (step >= 0 && step < static_cast<int>(data_->liveness.steps.size())) selectStep(chart_->mark(), step);
  }

  QString describeMarked() const {
    const auto [first, last] = std::minmax({chart_->mark(), chart_->markedUntil()});
    return shown().describe(first, last);
  }

  /// The bytes of the profile that is compared, at the same place of the chart.
  QString ofSource(int step) const {
    const std::int64_t bytes = chart_->otherTotal(step);
    return bytes < 0 ? QString() : tr(" · source %1").arg(livenessPageBytesText(bytes));
  }

  QString describe(int step) const { return data_ ? shown().describe(step) : QString(); }

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
  LifetimesView* lives_ = nullptr;
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
