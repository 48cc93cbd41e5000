// The pipeline and trace: what every device does when, what it waits for, and what each step is.
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTabWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "profiler/analysis/trace.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/range_table.h"
#include "views/pages/parts/trace_texts.h"
#include "views/shell/icons.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/overview_strip.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::pages {
namespace {

using base::Ticks;
using geometry::ColourRole;
using geometry::StepRows;
using geometry::TimelineItem;
using shell::Ui;

/// Statistics follow the view once it rests this long.
constexpr int kRestMs = 60;
constexpr qlonglong kAllCalls = -2, kLastCall = -1;
const auto kStepsKey = QStringLiteral("trace/steps"), kColoursKey = QStringLiteral("trace/by_micro_batch"),
           kSplitterKey = QStringLiteral("trace/splitter");

QString text(const std::string& from) {
  return QString::fromStdString(from);
}

}  // namespace

class TracePage : public shell::Page {
 public:
  explicit TracePage(shell::PageContext& context) : Page(context) {
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
    splitter_->setStretchFactor(0, 1);
    splitter_->setStretchFactor(1, 0);
    splitter_->setSizes({640, 178});
    splitter_->restoreState(context.settings.value(kSplitterKey).toByteArray());
    connect(splitter_, &QSplitter::splitterMoved, this,
            [this] { context_.settings.setValue(kSplitterKey, splitter_->saveState()); });
    layout->addWidget(splitter_, 1);
    setContent(content);
    makeActions();
    rest_.setSingleShot(true);
    rest_.setInterval(kRestMs);
    connect(&rest_, &QTimer::timeout, this, &TracePage::readStatistics);
    connect(&context.timeRange, &shell::TimeRange::changed, this, &TracePage::followRange);
    connect(&context.selection, &shell::Selection::changed, this, [this] {
      if (context_.selection.current().kind == shell::Selected::Kind::none) canvas_->select({});
    });
    applyOptions();
  }

  /// Shows a time: the call that holds it, around it about an eighth of a step.
  void show(const shell::Place& place) override {
    canvas_->setFocus();
    if (!place.time) return;
    pendingTime_ = place.time;
    const shell::Snapshot* snapshot = context_.session.snapshot();
    for (const model::Run* run : snapshot->catalog->runsOf(context_.session.executable())) {
      if (*place.time < run->start || *place.time >= run->end || shows(run->id)) continue;
      call_ = run->id.value;
      return reload();
    }
    if (model_ && isSettled()) showPendingTime();
  }

 protected:
  Load load() override {
    const analysis::TraceRequest request = requested();
    // A growing profile whose chosen calls are there already only gains entries in the list of calls.
    if (model_ && loaded_ && request.executable == loaded_->executable &&
        request.firstRun == loaded_->firstRun && request.lastRun == loaded_->lastRun) {
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
      auto trace = analysis::loadTrace(job.source, job.catalog, request, job.progress);
      if (!trace.ok()) return trace.error();
      auto model = geometry::TimelineModel::make(*std::move(trace));
      return Apply([this, request, model] { apply(request, model); });
    };
  }

  /// Its own last call, its own steps.
  void forget() override {
    call_ = kLastCall;
    loaded_.reset();
  }

  void showEvent(QShowEvent* event) override {
    Page::showEvent(event);
    canvas_->setFocus();
  }

 private:
  // --- Making
  // ------------------------------------------------------------------------------------------------------

  QWidget* makeToolbar() {
    auto* bar = new QWidget(this);
    auto* layout = new QHBoxLayout(bar);
    layout->setContentsMargins(12, 6, 12, 6);
    layout->setSpacing(6);
    const auto combo = [&](const QStringList& items, const QString& name, const QString& tip) {
      auto* box = new QComboBox(bar);
      box->addItems(items);
      box->setAccessibleName(name);
      box->setToolTip(tip);
      box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
      box->setFocusPolicy(Qt::TabFocus);
      layout->addWidget(box);
      return box;
    };
    rows_ = combo({tr("Flame"), tr("Flat"), tr("Passes only")}, tr("Rows"),
                  tr("Steps nested by name path, steps by lane, or no steps"));
    rows_->setCurrentIndex(std::clamp(context_.settings.value(kStepsKey, 0).toInt(), 0, 2));
    colours_ = combo({tr("Colour by kind"), tr("Colour by micro-batch")}, tr("Colours"),
                     tr("Passes and transfers by what they are, or by micro-batch (M)"));
    colours_->setCurrentIndex(context_.settings.value(kColoursKey, false).toBool() ? 1 : 0);
    layout->addSpacing(8);
    calls_ = combo({}, tr("Call"), tr("Which call from the host"));
    layout->addSpacing(8);
    layout->addWidget(
        previous_ = button(bar, QStringLiteral("previous"), tr("Previous step ([)"), [this] { goStep(-1); }));
    step_ = new QLabel(bar);
    step_->setAlignment(Qt::AlignCenter);
    step_->setMinimumWidth(
        QFontMetrics(font()).horizontalAdvance(tr("Step %1 of %2–%3").arg(88).arg(0).arg(88)) + 10);
    layout->addWidget(step_);
    layout->addWidget(next_ =
                          button(bar, QStringLiteral("next"), tr("Next step (])"), [this] { goStep(1); }));
    layout->addStretch();
    span_ = new QLabel(bar);
    layout->addWidget(span_);
    layout->addSpacing(8);
    layout->addWidget(
        button(bar, QStringLiteral("zoom_out"), tr("Zoom out (S)"), [this] { canvas_->zoomBy(1 / 1.6); }));
    layout->addWidget(
        button(bar, QStringLiteral("zoom_in"), tr("Zoom in (W)"), [this] { canvas_->zoomBy(1.6); }));
    layout->addWidget(button(bar, QStringLiteral("fit"), tr("Show this step (1)"), [this] { goStep(0); }));
    layout->addWidget(button(bar, QStringLiteral("undo"), tr("Undo zoom (Backspace)"),
                             [this] { context_.timeRange.undo(); }));
    connect(rows_, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
      context_.settings.setValue(kStepsKey, index);
      applyOptions();
    });
    connect(colours_, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
      context_.settings.setValue(kColoursKey, index == 1);
      applyOptions();
    });
    connect(calls_, QOverload<int>::of(&QComboBox::activated), this, [this] {
      call_ = calls_->currentData().toLongLong();
      reload();
    });
    return bar;
  }

  QToolButton* button(QWidget* parent, const QString& name, const QString& tip, std::function<void()> run) {
    auto* made = new QToolButton(parent);
    made->setAutoRaise(true);
    made->setToolTip(tip);
    made->setAccessibleName(tip);
    made->setFocusPolicy(Qt::TabFocus);
    const auto follow = [this, made, name] { made->setIcon(shell::icon(name, context_.palette)); };
    follow();
    connect(&context_.palette, &shell::Palette::changed, made, follow);
    connect(made, &QToolButton::clicked, this, [run = std::move(run)] { run(); });
    return made;
  }

  QWidget* makeCanvas() {
    auto* upper = new QWidget(this);
    auto* layout = new QVBoxLayout(upper);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    canvas_ = new timeline::TimelineCanvas(context_.palette, context_.timeRange, upper);
    canvas_->setDescriber([this](const TimelineItem& item) { return texts().callout(item); });
    legend_ = new timeline::Legend(context_.palette, upper);
    layout->addWidget(canvas_, 1);
    layout->addWidget(legend_);
    connect(canvas_, &timeline::TimelineCanvas::selectionChanged, this, &TracePage::followSelection);
    connect(canvas_, &timeline::TimelineCanvas::timeUnitClicked, this, [this] { context_.toggleTimeUnit(); });
    connect(canvas_, &timeline::TimelineCanvas::stepChosen, this, [this](int index) {
      const analysis::IterationSpan& step = model_->trace->iterations[static_cast<std::size_t>(index)];
      canvas_->zoomTo(step.start, step.end, kStepRoom);
    });
    return upper;
  }

  QWidget* makeTabs() {
    tabs_ = new QTabWidget(this);
    tabs_->setDocumentMode(true);
    tabs_->setMinimumHeight(120);
    table_ = new RangeTable(context_.palette, tabs_);
    auto* summary = new QWidget(tabs_);
    auto* summaryLayout = new QVBoxLayout(summary);
    summaryLayout->setContentsMargins(8, 4, 8, 4);
    summaryLayout->addWidget(table_);
    tabs_->addTab(summary, tr("Summary"));
    auto* details = new QWidget(tabs_);
    auto* layout = new QVBoxLayout(details);
    layout->setContentsMargins(14, 10, 14, 8);
    layout->setSpacing(6);
    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    detailTitle_ = new QLabel(details);
    detailTitle_->setTextFormat(Qt::PlainText);
    QFont bold = font();
    bold.setBold(true);
    detailTitle_->setFont(bold);
    zoomHere_ = new QPushButton(tr("Zoom here (F)"), details);
    goCause_ = new QPushButton(tr("Go to what it waits for (Enter)"), details);
    head->addWidget(detailTitle_, 1);
    head->addWidget(goCause_);
    head->addWidget(zoomHere_);
    layout->addLayout(head);
    detailSentence_ = new QLabel(details);
    detailSentence_->setTextFormat(Qt::PlainText);
    detailSentence_->setWordWrap(true);
    layout->addWidget(detailSentence_);
    facts_ = new FactGrid(context_.palette, details);
    layout->addWidget(facts_);
    layout->addStretch();
    auto* scroll = new QScrollArea(tabs_);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(details);
    tabs_->addTab(scroll, tr("Details"));
    connect(zoomHere_, &QPushButton::clicked, this, [this] { canvas_->zoomToSelection(); });
    connect(goCause_, &QPushButton::clicked, this, [this] { canvas_->followWait(); });
    followSelection();
    return tabs_;
  }

  void makeActions() {
    const QString group = tr("Timeline");
    const auto add = [&](const QString& what, const QList<QKeySequence>& keys, std::function<void()> run) {
      QAction* action = context_.actions.add(group, what, keys, std::move(run));
      action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
      addAction(action);
    };
    add(tr("Next step"), {QKeySequence(QStringLiteral("]")), QKeySequence(QStringLiteral("Ctrl+Right"))},
        [this] { goStep(1); });
    add(tr("Previous step"), {QKeySequence(QStringLiteral("[")), QKeySequence(QStringLiteral("Ctrl+Left"))},
        [this] { goStep(-1); });
    add(tr("Show this step"), {QKeySequence(QStringLiteral("1"))}, [this] { goStep(0); });
    add(tr("Colour by kind or micro-batch"), {QKeySequence(QStringLiteral("M"))}, [this] {
      colours_->setCurrentIndex(1 - colours_->currentIndex());
      context_.settings.setValue(kColoursKey, colours_->currentIndex() == 1);
      applyOptions();
    });
    const std::vector<std::pair<QString, QString>> keys = {
        {tr("Zoom in, out, about the pointer"), tr("W  S  ·  Ctrl+wheel")},
        {tr("Pan"), tr("A  D  ·  ←  →  ·  drag  ·  Shift+wheel")},
        {tr("Scroll rows"), tr("↑  ↓  ·  wheel")},
        {tr("Zoom to a stretch"), tr("Ctrl+drag")},
        {tr("Zoom to the selection"), tr("F  ·  double click")},
        {tr("The whole trace"), tr("0")},
        {tr("Higher, lower rows; as fits"), tr("Shift+W  Shift+S  ·  Ctrl+Shift+wheel; Shift+R")},
        {tr("Undo zoom"), tr("Backspace")},
        {tr("Next, previous on the row"), tr(".  ,  ·  Alt+→  Alt+←")},
        {tr("Go to what a wait waits for"), tr("Enter")},
        {tr("Select nothing"), tr("Esc")},
        {tr("Fold or unfold a device"), tr("click on its name")}};
    for (const auto& [what, key] : keys) context_.actions.describe(group, what, key);
  }

  // --- Loading
  // -----------------------------------------------------------------------------------------------------

  bool shows(model::RunId run) const {
    return loaded_ && model_ && run >= loaded_->firstRun && run <= loaded_->lastRun;
  }

  /// The calls that are asked for; the last one at first, and then the same until another is chosen.
  analysis::TraceRequest requested() {
    const model::ExecutableId executable = context_.session.executable();
    const std::vector<const model::Run*> runs = context_.session.snapshot()->catalog->runsOf(executable);
    if (runs.empty()) return {executable, {}, {}};
    if (call_ == kAllCalls) return {executable, runs.front()->id, runs.back()->id};
    if (call_ == kLastCall) call_ = runs.back()->id.value;
    return {executable, model::RunId(call_), model::RunId(call_)};
  }

  void apply(const analysis::TraceRequest& request, std::shared_ptr<const geometry::TimelineModel> model) {
    const bool another = !loaded_ || loaded_->executable != request.executable;
    const bool grew = !another && call_ == kAllCalls && model_ && loaded_->firstRun == request.firstRun;
    loaded_ = request;
    model_ = std::move(model);
    if (model_->trace->runs.empty()) {
      canvas_->setModel(nullptr);
      overview_->setModel(nullptr);
      model_.reset();
      return showInstead(tr("Nothing of this executable has run yet, so there is no trace."));
    }
    canvas_->setModel(model_);
    overview_->setModel(model_);
    followScale();
    fillCalls();
    fillLegend();
    if (!grew) openOnStep();
    table_->ranges()->setRows(model_->trace, {}, scale_);
    readStatistics();
    remarkOnDamage();
    if (pendingTime_) showPendingTime();
  }

  /// A trace opens on one step, from fill to flush.
  void openOnStep() {
    const analysis::Trace& trace = *model_->trace;
    Ticks start = trace.start, end = trace.end;
    std::size_t first = 0;
    if (enterFromEnd_ && !trace.iterations.empty()) first = trace.iterations.size() - 1;
    enterFromEnd_ = false;
    if (!trace.iterations.empty()) {
      start = trace.iterations[first].start;
      end = trace.iterations[first].end;
    }
    const int width = std::max(1, canvas_->window().view.width());
    const Ticks room(static_cast<std::int64_t>(static_cast<double>((end - start).count) * kStepRoom));
    geometry::TimeView view(start - room, end + room, width);
    view.keepWithin(trace.start, trace.end);
    context_.timeRange.reset(view);
  }

  void remarkOnDamage() {
    const analysis::Trace& trace = *model_->trace;
    QStringList sentences;
    if (trace.damagedRows > 0)
      sentences << tr("%1 rows of this trace contradict others and are left out.").arg(trace.damagedRows);
    if (trace.crowdedTransfers > 0)
      sentences << tr("%1 transfers overlap too many others to be drawn.").arg(trace.crowdedTransfers);
    remark(sentences.join(QLatin1Char(' ')));
  }

  void fillCalls() {
    const std::vector<const model::Run*> runs =
        context_.session.snapshot()->catalog->runsOf(context_.session.executable());
    const QSignalBlocker blocker(calls_);
    calls_->clear();
    for (const model::Run* run : runs) {
      calls_->addItem(tr("Call %1%2")
                          .arg(run->id.value)
                          .arg(runs.size() > 1 && run == runs.back() ? tr(" (last)") : QString()),
                      QVariant::fromValue<qlonglong>(run->id.value));
    }
    if (runs.size() > 1)
      calls_->addItem(tr("All %1 calls").arg(runs.size()), QVariant::fromValue<qlonglong>(kAllCalls));
    calls_->setCurrentIndex(calls_->findData(QVariant::fromValue<qlonglong>(call_)));
    calls_->setVisible(!runs.empty());
  }

  void fillLegend() {
    const bool byMicroBatch = colours_->currentIndex() == 1;
    std::vector<timeline::LegendEntry> entries;
    if (byMicroBatch) {
      entries.push_back({tr("forward of a micro-batch"), geometry::microBatchRole(0, false), false});
      entries.push_back({tr("backward of the same"), geometry::microBatchRole(0, true), false});
    }
    for (const model::Pass pass : model_->passes) {
      if (pass == model::Pass::sync || (byMicroBatch && model::isComputePass(pass))) continue;
      entries.push_back({text(model::toString(pass)), geometry::roleOf(pass), false});
    }
    for (const model::TransferKind kind : model_->transferKinds) {
      if (!byMicroBatch)
        entries.push_back({tr("→ %1").arg(text(model::toString(kind))), geometry::roleOf(kind), false});
    }
    for (const model::StepKind kind : model_->kinds)
      entries.push_back({text(model::toString(kind)), geometry::roleOf(kind), false});
    // Hatching says that the rest are waits too.
    for (const model::WaitCause cause : model_->causes) {
      const QString name = text(model::toString(cause));
      entries.push_back({cause == *model_->causes.begin() ? tr("waits: %1").arg(name) : name,
                         geometry::roleOf(cause), true});
    }
    legend_->setEntries(std::move(entries));
  }

  // --- Following
  // ---------------------------------------------------------------------------------------------------

  TraceTexts texts() const { return {canvas_->scene(), *context_.session.snapshot()->catalog, scale_}; }

  void applyOptions() {
    geometry::TimelineOptions options = canvas_->options();
    options.steps = rows_->currentIndex() == 0   ? StepRows::flame
                    : rows_->currentIndex() == 1 ? StepRows::flat
                                                 : StepRows::none;
    options.byMicroBatch = colours_->currentIndex() == 1;
    canvas_->setOptions(options);
    overview_->setByMicroBatch(options.byMicroBatch);
    if (model_) fillLegend();
  }

  void followScale() {
    scale_ = timeScale();
    canvas_->setTimeScale(scale_, context_.session.snapshot()->catalog->target.family == "ipu");
    table_->ranges()->setRows(model_ ? model_->trace : nullptr, table_->ranges()->rows(), scale_);
    followRange();
    followSelection();
  }

  void followRange() {
    if (!model_) return;
    const geometry::TimeView& view = context_.timeRange.view();
    span_->setText(tr("%1 in view").arg(text(formatDuration(Ticks(std::llround(view.span())), scale_))));
    const int step = currentStep();
    step_->setText(step < 0 ? QString() : stepText(step));
    previous_->setEnabled(canGoStep(-1));
    next_->setEnabled(canGoStep(1));
    rest_.start();
  }

  /// Steps are numbered within their call, as micro-batches are within their step: from 0.
  QString stepText(int index) const {
    const auto& steps = model_->trace->iterations;
    const analysis::IterationSpan& step = steps[static_cast<std::size_t>(index)];
    std::int32_t last = 0;
    for (const analysis::IterationSpan& other : steps)
      last = other.run == step.run ? std::max(last, other.iteration) : last;
    return last == 0 ? tr("Step %1").arg(step.iteration)
                     : tr("Step %1 of 0–%2").arg(step.iteration).arg(last);
  }

  void readStatistics() {
    if (!model_) return;
    const Ticks from = std::max(context_.timeRange.start(), model_->trace->start),
                to = std::min(context_.timeRange.end(), model_->trace->end);
    readBeside([trace = model_->trace, from, to] { return analysis::rangeStatistics(*trace, from, to); },
               [this, trace = model_->trace,
                generation = ++statistics_](std::vector<analysis::RangeStatistics>&& rows) {
                 if (generation != statistics_ || !model_ || trace != model_->trace) return;
                 const bool first = table_->ranges()->rowCount() == 0;
                 table_->ranges()->setRows(trace, std::move(rows), scale_);
                 if (first) table_->fitColumns();
               });
  }

  void followSelection() {
    const TimelineItem item = canvas_->selected();
    const bool any = item && model_;
    zoomHere_->setVisible(any);
    goCause_->setVisible(any && static_cast<bool>(canvas_->scene().waitedFor(item)));
    detailSentence_->setVisible(any && item.kind == TimelineItem::Kind::wait);
    if (!any) {
      detailTitle_->setText(tr("Nothing is selected: click something on the timeline."));
      facts_->setFacts({});
      if (context_.selection.current().kind != shell::Selected::Kind::stage) context_.selection.clear();
      return;
    }
    detailTitle_->setText(texts().title(item));
    detailSentence_->setText(texts().sentence(item));
    facts_->setFacts(texts().facts(item));
    tabs_->setCurrentIndex(1);
    context_.selection.set(selectedOf(item));
  }

  shell::Selected selectedOf(const TimelineItem& item) const {
    const analysis::DeviceTrace& device = model_->trace->devices[static_cast<std::size_t>(item.device)];
    const analysis::TraceTrack& track = device.tracks[static_cast<std::size_t>(item.track)];
    shell::Selected selected;
    selected.device = device.id;
    selected.start = item.start;
    selected.end = item.end;
    switch (item.kind) {
      case TimelineItem::Kind::pass:
      case TimelineItem::Kind::group:
      case TimelineItem::Kind::step: {
        const int index = item.kind == TimelineItem::Kind::pass
                              ? track.passes[static_cast<std::size_t>(item.index)].firstPlacement
                              : item.placement;
        const analysis::TracePlacement& placement = track.placements[static_cast<std::size_t>(index)];
        selected.kind = item.kind == TimelineItem::Kind::step ? shell::Selected::Kind::step
                                                              : shell::Selected::Kind::placement;
        selected.placement = placement.id;
        selected.stage = placement.stage;
        selected.step = item.box;
        break;
      }
      case TimelineItem::Kind::wait:
        selected.kind = shell::Selected::Kind::wait;
        selected.stage = track.waits[static_cast<std::size_t>(item.index)].stage;
        break;
      case TimelineItem::Kind::transfer:
        selected.kind = shell::Selected::Kind::transfer;
        selected.transfer = model_->trace->transfers[static_cast<std::size_t>(item.index)].id;
        break;
      case TimelineItem::Kind::none:
        break;
    }
    return selected;
  }

  // --- Moving
  // ------------------------------------------------------------------------------------------------------

  /// The step at the middle of the view, or the nearest one.
  int currentStep() const {
    if (!model_) return -1;
    const geometry::TimeView& view = context_.timeRange.view();
    const Ticks middle = view.time(view.width() / 2.0);
    const auto& steps = model_->trace->iterations;
    const auto after =
        std::upper_bound(steps.begin(), steps.end(), middle,
                         [](Ticks time, const analysis::IterationSpan& step) { return time < step.start; });
    if (after == steps.begin()) return steps.empty() ? -1 : 0;
    return static_cast<int>(after - steps.begin()) - 1;
  }

  /// The call before or after those shown; none: the first or last.
  std::optional<model::RunId> neighbourCall(int direction) const {
    if (!loaded_ || call_ == kAllCalls || context_.session.snapshot() == nullptr) return std::nullopt;
    const std::vector<const model::Run*> runs =
        context_.session.snapshot()->catalog->runsOf(context_.session.executable());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i]->id != loaded_->firstRun) continue;
      const auto next = static_cast<std::ptrdiff_t>(i) + direction;
      if (next < 0 || next >= static_cast<std::ptrdiff_t>(runs.size())) return std::nullopt;
      return runs[static_cast<std::size_t>(next)]->id;
    }
    return std::nullopt;
  }

  bool canGoStep(int direction) const {
    const int step = currentStep() + direction;
    return (step >= 0 && step < static_cast<int>(model_->trace->iterations.size())) ||
           neighbourCall(direction).has_value();
  }

  /// Shows the next (+1), previous (−1) or this (0) step; past a call's end the next call.
  void goStep(int direction) {
    if (!model_) return;
    const int step = currentStep() + direction;
    const auto& steps = model_->trace->iterations;
    if (step >= 0 && step < static_cast<int>(steps.size())) {
      return canvas_->zoomTo(steps[static_cast<std::size_t>(step)].start,
                             steps[static_cast<std::size_t>(step)].end, kStepRoom);
    }
    const auto call = neighbourCall(direction);
    if (!call) return;
    call_ = call->value;
    enterFromEnd_ = direction < 0;
    reload();
  }

  void showPendingTime() {
    const Ticks time = *std::exchange(pendingTime_, std::nullopt);
    const analysis::Trace& trace = *model_->trace;
    if (time < trace.start || time >= trace.end)
      return remark(tr("Nothing of this executable ran at that time."));
    Ticks length = trace.end - trace.start;
    for (const analysis::IterationSpan& step : trace.iterations) {
      if (step.start <= time && time < step.end) length = step.end - step.start;
    }
    canvas_->zoomTo(time - Ticks(length.count / 16), time + Ticks(length.count / 16), 0);
  }

  static constexpr double kStepRoom = 0.015;

  QComboBox *rows_ = nullptr, *colours_ = nullptr, *calls_ = nullptr;
  QToolButton *previous_ = nullptr, *next_ = nullptr;
  QLabel *step_ = nullptr, *span_ = nullptr, *detailTitle_ = nullptr, *detailSentence_ = nullptr;
  QPushButton *zoomHere_ = nullptr, *goCause_ = nullptr;
  timeline::OverviewStrip* overview_ = nullptr;
  timeline::TimelineCanvas* canvas_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  QSplitter* splitter_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  RangeTable* table_ = nullptr;
  FactGrid* facts_ = nullptr;

  std::shared_ptr<const geometry::TimelineModel> model_;
  std::optional<analysis::TraceRequest> loaded_;
  qlonglong call_ = kLastCall;  ///< RunId, or one of the two above
  std::optional<Ticks> pendingTime_;
  bool enterFromEnd_ = false;
  geometry::TimeScale scale_;
  QTimer rest_;
  int statistics_ = 0;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(trace) {
  registry.add({QStringLiteral("trace"), QObject::tr("Trace"), QStringLiteral("trace"),
                QObject::tr("Pipeline and trace: what every device does when"), 20,
                [](PageContext& context) -> Page* { return new pages::TracePage(context); }});
}

}  // namespace pipescope::shell
