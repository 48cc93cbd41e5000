// Shows the trace: what each device does when, what it waits for, and each step in detail.
#include <QScrollBar>
#include <QSplitter>
#include <QTimer>
#include <QVBoxLayout>

#include "profiler/geometry/timeline/timeline_links.h"
#include "profiler/geometry/timeline/timeline_search.h"
#include "views/pages/parts/charts/legends.h"
#include "views/pages/parts/data/pinned_series.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/tile_table.h"
#include "views/pages/parts/trace/trace_calls.h"
#include "views/pages/parts/trace/trace_details.h"
#include "views/pages/parts/trace/trace_find.h"
#include "views/pages/parts/trace/trace_follower.h"
#include "views/pages/parts/trace/trace_host.h"
#include "views/pages/parts/trace/trace_loading.h"
#include "views/pages/parts/trace/trace_menu.h"
#include "views/pages/parts/trace/trace_notes.h"
#include "views/pages/parts/trace/trace_remarks.h"
#include "views/pages/parts/trace/trace_steps.h"
#include "views/pages/parts/trace/trace_tabs.h"
#include "views/pages/parts/trace/trace_toolbar.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/overview_strip.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::pages {
namespace {

using base::Ticks;
using geometry::TimelineItem;

/// Statistics are computed once the view has rested for this long.
constexpr int kRestMs = 60;
const auto kSplitterKey = QStringLiteral("trace/splitter");

}  // namespace

class TracePage : public shell::Page {
 public:
  explicit TracePage(shell::PageContext& context) : Page(context), calls_(context) {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeToolbar());
    overview_ = new timeline::OverviewStrip(context.palette, context.timeRange, content);
    layout->addWidget(overview_);
    splitter_ = new QSplitter(Qt::Vertical, content);
    splitter_->setChildrenCollapsible(false);
    splitter_->addWidget(makeCanvas());
    splitter_->addWidget(makeTabs());
    splitter_->setStretchFactor(0, 4);
    splitter_->setStretchFactor(1, 1);
    splitter_->setSizes({640, 178});
    constexpr int kThreeRows = 160;  // height of the table with its tabs, heading and scrollbar
    splitter_->widget(1)->setMinimumHeight(kThreeRows);
    splitter_->restoreState(context.settings.value(kSplitterKey).toByteArray());
    connect(splitter_, &QSplitter::splitterMoved, this,
            [this] { context_.settings.setValue(kSplitterKey, splitter_->saveState()); });
    layout->addWidget(splitter_, 1);
    setContent(content);
    setKeyWidget(canvas_);
    makeActions();
    reader_ = new TraceFollower(*this, context, *canvas_);
    connect(reader_, &TraceFollower::statisticsRead, this, &TracePage::showStatistics);
    connect(reader_, &TraceFollower::failed, this, [this](const QString& sentence) { remark(sentence); });
    makeFind();
    followSelection();
    rest_.setSingleShot(true);
    rest_.setInterval(kRestMs);
    connect(&rest_, &QTimer::timeout, reader_, &TraceFollower::follow);
    connect(&context.timeRange, &shell::TimeRange::changed, this, &TracePage::followRange);
    connect(&context.timeRange, &shell::TimeRange::remembered, bar_, &TraceToolbar::stopFollowing);
    connect(&context.selection, &shell::Selection::changed, this, &TracePage::followOthers);
    applyOptions();
  }

  /// Shows a time: loads the call that contains it, and zooms to about an eighth of a step around it.
  void show(const shell::Place& place) override {
    offerKeyboard();
    if (!place.lane.isEmpty()) {
      pendingLane_ = place.lane;
      if (model_ && isSettled() && !place.time) showPendingLane();
    }
    if (!place.time) return;
    bar_->stopFollowing();
    pendingTime_ = place.time;
    pendingWhole_ = place.wholeStep;
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    for (const model::Run* run : snapshot->catalog->runsOf(context_.session.executable())) {
      if (*place.time < run->start || *place.time >= run->end || (model_ && calls_.shows(run->id))) continue;
      calls_.choose(run->id.value);
      return reload();
    }
    if (model_ && isSettled()) showPendingTime();
  }

 protected:
  Load load() override {
    const analysis::TraceRequest request = calls_.wanted();
    // The chosen calls of a growing profile are loaded already, so only the list of calls gets new entries.
    if (model_ && whole_ && calls_.isLoaded(request)) {
      return [this](const Job&) -> base::Result<Apply> {
        return Apply([this] {
          fillCalls();
          followScale();
        });
      };
    }
    return [this, request](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto timeline = loadTimeline(job.source, job.catalog, request, job.progress,
                                   [this, &request, &job](const TimelineModelPointer& first) {
                                     job.begin([this, request, first] { apply(request, first, false); });
                                   });
      if (!timeline.ok()) return timeline.error();
      const TimelineModelPointer model = *std::move(timeline);
      return Apply([this, request, model] { apply(request, model, true); });
    };
  }

  shell::Picture picture() override {
    shell::Picture made{canvas_->parentWidget(), accessibleName(), {}};
    if (!model_) return made;
    const geometry::TimeView& view = context_.timeRange.view();
    const QString steps = stepsText(*model_->trace, view.time(0), view.time(view.width()));
    made.wholeTitle = QStringLiteral("%1, %2").arg(accessibleName(), bar_->call());
    made.title = steps.isEmpty() ? made.wholeTitle : made.wholeTitle + QStringLiteral(", ") + steps;
    made.showWhole = [this] { return canvas_->showWhole(*canvas_->parentWidget()); };
    return made;
  }

  void showEvent(QShowEvent* event) override {
    Page::showEvent(event);
    if (canvas_->options().pinnedCounters != pinnedSeries(context_.settings)) applyOptions();
  }

  QWidget* chartBeside() override { return canvas_; }
  bool showsSelection() const override { return canvas_->selected() && canvas_->isSelectionShown(); }

  shell::Place place() const override {
    shell::Place here;
    here.time = context_.timeRange.view().time(context_.timeRange.view().width() / 2.0);
    if (canvas_->selected()) here.time = canvas_->selected().start;
    const int device = canvas_->currentDevice();
    if (model_ && device >= 0)
      here.lane = text(model_->trace->devices[static_cast<std::size_t>(device)].name);
    return here;
  }

 protected:
  /// Another executable has its own calls and steps, so the choices are dropped.
  void forget() override {
    calls_.forget();
    offered_ = false;
    reader_->setTrace({}, nullptr);
    find_->clear();
  }

 private:
  // --- Making ---

  QWidget* makeToolbar() {
    bar_ = new TraceToolbar(context_, *this);
    connect(bar_, &TraceToolbar::optionsChanged, this, &TracePage::applyOptions);
    connect(bar_, &TraceToolbar::followChanged, this, [this](bool follows) {
      calls_.setFollowing(follows);
      if (follows) reload();
    });
    connect(bar_, &TraceToolbar::callChosen, this, [this](qlonglong call) {
      bar_->stopFollowing();
      calls_.choose(call);
      reload();
    });
    connect(bar_, &TraceToolbar::stepWanted, this, &TracePage::goStep);
    connect(bar_, &TraceToolbar::zoomWanted, this, [this](double factor) { canvas_->zoomBy(factor); });
    connect(bar_, &TraceToolbar::undoWanted, this, [this] { context_.timeRange.undo(); });
    return bar_;
  }

  QWidget* makeCanvas() {
    auto* upper = new QWidget(this);
    auto* layout = new QVBoxLayout(upper);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    canvas_ = new timeline::TimelineCanvas(context_.palette, context_.timeRange, upper);
    canvas_->setDescriber([this](const TimelineItem& item) { return texts().callout(item); });
    canvas_->setMenuMaker([this](QMenu& menu, const TimelineItem& item) {
      addItemActions(menu, *canvas_, item, texts().title(item), context_);
    });
    legend_ = new timeline::Legend(context_.palette, upper);
    notes_ = new TraceNotes(context_, *canvas_, this);
    connect(notes_, &TraceNotes::kept, this, &TracePage::followNotes);
    connect(notes_, &TraceNotes::failed, this, [this](const QString& sentence) { remark(sentence); });
    layout->addWidget(canvas_, 1);
    layout->addWidget(legend_);
    connect(canvas_, &timeline::TimelineCanvas::selectionChanged, this, &TracePage::followSelection);
    connect(canvas_, &timeline::TimelineCanvas::spansChanged, this, [this] {
      tabs_->setMeasured(!canvas_->spans().empty());
      reader_->follow();
    });
    // The spans and marks of one profile say nothing about another. One that grows keeps them.
    connect(&context_.session, &shell::ProfileSession::opened, canvas_,
            &timeline::TimelineCanvas::clearAnnotations);
    connect(canvas_, &timeline::TimelineCanvas::timeUnitClicked, this, [this] { context_.toggleTimeUnit(); });
    connect(canvas_, &timeline::TimelineCanvas::stepChosen, this, [this](int index) {
      const analysis::IterationSpan& step = model_->trace->iterations[static_cast<std::size_t>(index)];
      canvas_->zoomTo(step.start, step.end, 0);
    });
    return upper;
  }

  QWidget* makeTabs() {
    tabs_ = new TraceTabs(context_.palette, this);
    table_ = &tabs_->table();
    details_ = &tabs_->details();
    tiles_ = &tabs_->tiles();
    host_ = new TraceHost(*this, context_, tabs_);
    tabs_->addHost(host_);
    connect(host_, &TraceHost::possible, tabs_, &TraceTabs::setHostPossible);
    connect(details_, &TraceDetails::zoomWanted, this, [this] { canvas_->zoomToSelection(); });
    connect(details_, &TraceDetails::causeWanted, this, [this] { canvas_->followWait(); });
    return tabs_;
  }

  void makeActions() {
    const QString group = tr("Timeline");
    const auto add = [&](const QString& what, const QList<QKeySequence>& keys, std::function<void()> run) {
      QAction* action = context_.actions.add(group, what, keys, std::move(run));
      own(action);
    };
    add(tr("Show this iteration"), {QKeySequence(QStringLiteral("1"))}, [this] { goStep(0); });
    add(tr("Note at the selection or in the middle"), {QKeySequence(QStringLiteral("N"))}, [this] {
      const geometry::TimeView& view = context_.timeRange.view();
      notes_->ask(scale_, view.time(view.width() / 2.0));
    });
    add(tr("Colour by kind or micro-batch"), {QKeySequence(QStringLiteral("M"))},
        [this] { bar_->toggleColours(); });
    describeTimelineKeys(context_.actions);
  }

  void makeFind() {
    find_ = new TraceFind(*this, context_, *canvas_, tabs_->found());
    connect(find_, &TraceFind::answered, this, &Page::findAnswered);
    connect(find_, &TraceFind::listed, tabs_, &TraceTabs::showFound);
    connect(find_, &TraceFind::timeWanted, this, [this](Ticks time) { show({{}, time, -1, {}}); });
    connect(find_, &TraceFind::callWanted, this, &TracePage::goCall);
    connect(find_, &TraceFind::usesRead, details_,
            [this](const analysis::NameUse& use) { details_->addUses(use, scale_); });
  }

  // --- Loading ---

  /// `whole`: with counters and tiles, which may follow a trace that is shown already.
  void apply(const analysis::TraceRequest& request, std::shared_ptr<const geometry::TimelineModel> model,
             bool whole) {
    const bool grew = model_ && (calls_.isMore(request) || model_->trace == model->trace);
    calls_.setLoaded(request);
    model_ = std::move(model);
    whole_ = whole;
    if (model_->trace->runs.empty()) {
      canvas_->setModel(nullptr);
      overview_->setModel(nullptr);
      model_.reset();
      return showInstead(tr("Nothing of this executable has run yet, so there is no trace."));
    }
    reader_->setTrace(request, model_);
    // The rows of an older trace name devices that this one may not have.
    table_->ranges()->setRows(model_->trace, {}, timeScale());
    // The selection of another page stays, because it is found again below.
    applying_ = true;
    canvas_->setModel(model_);
    overview_->setModel(model_);
    followScale();
    applying_ = false;
    const bool followed = bar_->follows();  // a run that has ended can no longer be followed
    fillCalls();
    fillLegend();
    if (!grew && followed) entered_ = -1;
    if (!grew) openOnStep();
    const bool units = table_->ranges()->hasUnits();
    bar_->setTilesPossible(units, model_->tiles && model_->tiles->recorded);
    tabs_->setTilesPossible(units);
    reader_->follow();
    const TraceRemarks remarks = traceRemarks(*model_->trace);
    remark(remarks.text, remarks.kind);
    if (pendingTime_) showPendingTime();
    if (!pendingLane_.isEmpty()) showPendingLane();
    followNotes();
    followOthers();
    host_->follow();
    find_->goOn();
  }

  QString find(const QString& wanted, int direction) override { return find_->find(wanted, direction); }

  void endFind() override {
    find_->clear();
    tabs_->hideFound();
  }

  /// Shows the main iteration at first.
  void openOnStep() {
    const analysis::Trace& trace = *model_->trace;
    Ticks start = trace.start, end = trace.end;
    std::size_t first = analysis::mainIteration(trace.iterations);
    if (entered_ > 0) first = 0;
    if (entered_ < 0 && !trace.iterations.empty()) first = trace.iterations.size() - 1;
    entered_ = 0;
    if (!trace.iterations.empty()) {
      start = trace.iterations[first].start;
      end = trace.iterations[first].end;
    }
    const int width = std::max(1, canvas_->window().view.width());
    // The view has no margin, so that the table of the visible time shows the figures of this iteration.
    geometry::TimeView view(start, end, width);
    view.keepWithin(trace.start, trace.end);
    context_.timeRange.reset(view);
  }

  /// A run that goes on is followed until the user looks at something of it.
  void fillCalls() {
    const bool running = context_.session.snapshot()->catalog->state.state == model::ProfileState::running;
    bar_->setRunning(running);
    if (running && !offered_) {
      bar_->startFollowing();
      calls_.setFollowing(true);
    }
    offered_ = running;
    bar_->setCalls(context_.session.snapshot()->catalog->runsOf(context_.session.executable()),
                   calls_.chosen(), true);
  }

  void fillLegend() { legend_->setEntries(timelineLegend(*model_, canvas_->options())); }

  // --- Following ---

  TraceTexts texts() const { return {canvas_->scene(), *context_.session.snapshot()->catalog, scale_}; }

  void applyOptions() {
    geometry::TimelineOptions options = canvas_->options();
    bar_->apply(options);
    options.pinnedCounters = pinnedSeries(context_.settings);
    canvas_->setOptions(options);
    overview_->setByMicroBatch(options.byMicroBatch);
    if (model_) fillLegend();
  }

  /// Highlights what another page selected.
  void followOthers() {
    if (following_ || !model_) return;
    const shell::Selected& selected = context_.selection.current();
    using Kind = shell::Selected::Kind;
    following_ = true;  // does not answer the other page's selection
    canvas_->lightDevice(model_->trace->deviceIndex(selected.device));
    switch (selected.kind) {
      case Kind::placement:
      case Kind::step:
        canvas_->selectPlacement(selected.placement);
        break;
      case Kind::program:
        canvas_->selectProgram(selected.program, model_->trace->deviceIndex(selected.device));
        break;
      case Kind::operation:
      case Kind::variable:
        selectNamed(selected.name);
        break;
      case Kind::wait:
        selectWait(selected);
        break;
      default:  // a device, stage or memory has its group highlighted
        canvas_->select({});
        if (selected != revealed_) canvas_->revealDevice(model_->trace->deviceIndex(selected.device));
        break;
    }
    revealed_ = selected;
    following_ = false;
  }

  /// Selects the next step of what has this name, or nothing.
  void selectNamed(const QString& name) {
    const geometry::TimelineSearch search(canvas_->scene());
    TimelineItem from;
    from.kind = TimelineItem::Kind::far;
    from.start = context_.timeRange.view().start();
    for (const analysis::NameQuery& query :
         {analysis::NameQuery{name.toStdString(), true}, {name.toStdString() + "/"}, {name.toStdString()}}) {
      TimelineItem found = search.byName(query, from, 0);
      if (!found) found = search.byName(query, {}, 0);
      if (found) return canvas_->select(found), canvas_->reveal(found);
    }
    canvas_->select({});
  }

  /// Selects the longest wait of the device within the selected stretch, and shows the stretch.
  void selectWait(const shell::Selected& selected) {
    const int device = model_->trace->deviceIndex(selected.device);
    if (device < 0 || canvas_->scene().empty()) return canvas_->select({});
    const geometry::TimelineModel& whole = *canvas_->scene().model();
    const auto& tracks = whole.trace->devices[static_cast<std::size_t>(device)].tracks;
    int longest = -1;
    for (std::size_t i = 0; !tracks.empty() && i < tracks.front().waits.size(); ++i) {
      const auto& waits = tracks.front().waits;
      const auto length = [&](std::size_t at) { return waits[at].end - waits[at].start; };
      if (waits[i].start >= selected.start && waits[i].end <= selected.end &&
          (longest < 0 || length(i) > length(static_cast<std::size_t>(longest))))
        longest = static_cast<int>(i);
    }
    if (longest < 0) return canvas_->select({});
    canvas_->select(canvas_->scene().waitItem(device, longest));
    canvas_->reveal(canvas_->selected());
    const geometry::TimeView& view = context_.timeRange.view();
    const bool isWide = view.start() <= selected.start && selected.end <= view.end();
    if (!isWide) canvas_->zoomTo(selected.start, selected.end, 0.2);
  }

  void showPendingLane() {
    const QString name = std::exchange(pendingLane_, {});
    for (const geometry::TimelineGroup& group : canvas_->scene().layout().groups) {
      if (text(group.title).compare(name, Qt::CaseInsensitive) == 0)
        return canvas_->verticalScrollBar()->setValue(std::max(0, group.y - 4));
    }
    remark(tr("There is no device %1 on this trace.").arg(name));
  }

  /// Shows the notes of the profile as flags.
  void followNotes() {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr) return;
    readInBackground(
        [held = *snapshot]() -> base::Result<std::vector<model::Note>> {
          PIPESCOPE_ASSIGN(const model::Rows<model::Note> rows, held.source->rows<model::Note>());
          return std::vector<model::Note>(*rows);
        },
        [this](base::Result<std::vector<model::Note>>&& notes) {
          if (notes.ok()) notes_->show(*std::move(notes));
        });
  }

  void followScale() {
    scale_ = timeScale();
    find_->setScale(scale_);
    canvas_->setWheelZooms(context_.settings.value(shell::setting::kWheelZooms).toBool());
    canvas_->setFrameTimeShown(context_.settings.value(shell::setting::kFrameTime).toBool());
    const model::TickMeaning meaning = context_.session.snapshot()->catalog->target.tickMeaning;
    canvas_->setTimeScale(scale_, meaning == model::TickMeaning::clockCycle);
    table_->ranges()->setRows(model_ ? model_->trace : nullptr, table_->ranges()->rows(), scale_);
    followRange();
    followSelection();
  }

  void followRange() {
    if (!model_) return;
    const geometry::TimeView& view = context_.timeRange.view();
    bar_->setSpan(text(formatDuration(Ticks(std::llround(view.span())), scale_)));
    const int step = currentStep();
    bar_->setStep(step < 0 ? QString() : stepText(*model_->trace, step), canGoStep(-1), canGoStep(1));
    rest_.start();
  }

  void showStatistics(const std::vector<analysis::RangeStatistics>& rows) {
    if (!model_) return;
    const bool first = table_->ranges()->rowCount() == 0;
    table_->ranges()->setRows(model_->trace, rows, scale_);
    if (first) table_->fitColumns();
  }

  void followSelection() {
    const TimelineItem item = canvas_->selected();
    const bool any = item && model_;
    find_->readUses({});
    if (!any) {
      details_->clear();
      tiles_->clear(model_ && model_->tiles && model_->tiles->recorded);
      if (!applying_ && !following_ && context_.selection.current().kind != shell::Selected::Kind::stage)
        context_.selection.clear();
      return;
    }
    if (!applying_ && !following_) bar_->stopFollowing();
    if (!canvas_->isSelectionShown()) return;  // the details stay until the item's part is shown again
    details_->show(texts(), item, static_cast<bool>(geometry::waitedFor(canvas_->scene(), item)));
    if (item.kind == TimelineItem::Kind::step) {
      tiles_->show(texts(), canvas_->scene(), item);
      find_->readUses(text(canvas_->scene().pathOf(item)));
    } else {
      tiles_->clear(model_->tiles && model_->tiles->recorded);
    }
    tabs_->showDetails();
    if (following_) return;
    following_ = true;
    context_.selection.set(selectedOf(canvas_->scene(), item));
    canvas_->lightDevice(-1);  // the item itself is highlighted
    following_ = false;
  }

  // --- Moving ---

  /// The step in the middle of the view, or the nearest one.
  int currentStep() const {
    if (!model_) return -1;
    const geometry::TimeView& view = context_.timeRange.view();
    return stepAt(*model_->trace, view.time(view.width() / 2.0));
  }

  bool canGoStep(int direction) const {
    const int step = currentStep() + direction;
    return (step >= 0 && step < static_cast<int>(model_->trace->iterations.size())) ||
           calls_.beside(direction).has_value();
  }

  /// Shows the next (+1), the previous (−1) or this (0) step. After the last step of a call comes the next
  /// call.
  void goStep(int direction) {
    if (!model_) return;
    const int step = currentStep() + direction;
    const auto& steps = model_->trace->iterations;
    if (step >= 0 && step < static_cast<int>(steps.size())) {
      return canvas_->zoomTo(steps[static_cast<std::size_t>(step)].start,
                             steps[static_cast<std::size_t>(step)].end, 0);
    }
    goCall(direction);
  }

  void goCall(int direction) {
    const auto call = calls_.beside(direction);
    if (!call) return;
    bar_->stopFollowing();
    calls_.choose(call->value);
    entered_ = direction;
    reload();
  }

  void showPendingTime() {
    const Ticks time = *std::exchange(pendingTime_, std::nullopt);
    const analysis::Trace& trace = *model_->trace;
    if (time < trace.start || time >= trace.end)
      return remark(tr("Nothing of this executable ran at that time."));
    Ticks length = trace.end - trace.start;
    for (const analysis::IterationSpan& step : trace.iterations) {
      if (step.start > time || time >= step.end) continue;
      if (pendingWhole_) return canvas_->zoomTo(step.start, step.end, 0);
      length = step.end - step.start;
    }
    canvas_->zoomTo(time - Ticks(length.count / 16), time + Ticks(length.count / 16), 0);
  }

  TraceToolbar* bar_ = nullptr;
  TileTable* tiles_ = nullptr;
  TraceHost* host_ = nullptr;
  TraceNotes* notes_ = nullptr;
  timeline::OverviewStrip* overview_ = nullptr;
  timeline::TimelineCanvas* canvas_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  QSplitter* splitter_ = nullptr;
  TraceTabs* tabs_ = nullptr;
  RangeTable* table_ = nullptr;
  TraceDetails* details_ = nullptr;
  TraceFollower* reader_ = nullptr;
  TraceFind* find_ = nullptr;
  TraceCalls calls_;
  shell::Selected revealed_;  ///< selection of another page whose rows were scrolled to
  bool following_ = false, applying_ = false;

  TimelineModelPointer model_;
  bool whole_ = false;    ///< true with counters and tiles
  bool offered_ = false;  ///< to follow the run that goes on
  std::optional<Ticks> pendingTime_;
  bool pendingWhole_ = false;  ///< the whole iteration around that time
  QString pendingLane_;
  int entered_ = 0;  ///< the call was entered from the one before (+1) or behind (−1)
  geometry::TimeScale scale_;
  QTimer rest_;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(trace) {
  registry.add({QStringLiteral("trace"), QObject::tr("Trace"), QStringLiteral("trace"),
                QObject::tr("Pipeline and trace: what every device does when"), PageGroup::time, 20,
                [](PageContext& context) -> Page* { return new pages::TracePage(context); }, true,
                pages::whyNothingRan});
}

}  // namespace pipescope::shell
