// The pipeline and trace: what every device does when, what it waits for, and what each step is.
#include <QComboBox>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QSplitter>
#include <QTabWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "profiler/analysis/trace.h"
#include "views/pages/parts/range_table.h"
#include "views/pages/parts/tool_row.h"
#include "views/pages/parts/trace_details.h"
#include "views/shell/page.h"
#include "views/shell/picture.h"
#include "views/shell/settings_dialog.h"
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
/// A trace with more than these is shown from afar first; then what is in view is read row by row.
constexpr std::int64_t kFirstRows = 60'000, kFirstSteps = 120'000, kWindowRows = 240'000,
                       kWindowSteps = 600'000;
constexpr std::size_t kCounterPoints = 4'000;
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
    connect(&rest_, &QTimer::timeout, this, &TracePage::followView);
    connect(&context.timeRange, &shell::TimeRange::changed, this, &TracePage::followRange);
    connect(&context.selection, &shell::Selection::changed, this, &TracePage::followOthers);
    applyOptions();
  }

  /// Shows a time: the call that holds it, around it about an eighth of a step.
  void show(const shell::Place& place) override {
    canvas_->setFocus();
    if (!place.lane.isEmpty()) {
      pendingLane_ = place.lane;
      if (model_ && isSettled() && !place.time) showPendingLane();
    }
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
      analysis::TraceRequest first = request;
      first.mostRows = kFirstRows;
      first.mostSteps = kFirstSteps;
      auto trace = analysis::loadTrace(job.source, job.catalog, first, job.progress);
      if (!trace.ok()) return trace.error();
      analysis::CounterRequest counters;
      counters.executable = request.executable;
      counters.firstRun = request.firstRun;
      counters.lastRun = request.lastRun;
      counters.mostPoints = kCounterPoints;
      auto series = analysis::counterSeries(job.source, job.catalog, counters, job.progress);
      if (!series.ok()) return series.error();
      auto model = geometry::TimelineModel::make(
          *std::move(trace),
          std::make_shared<const std::vector<analysis::CounterSeries>>(*std::move(series)));
      return Apply([this, request, model] { apply(request, model); });
    };
  }

  QWidget* picture() override { return canvas_->parentWidget(); }

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
  /// Its own last call, its own steps.
  void forget() override {
    call_ = kLastCall;
    loaded_.reset();
    if (windowProgress_) windowProgress_->cancel();
    windowProgress_.reset();
  }

  void showEvent(QShowEvent* event) override {
    Page::showEvent(event);
    canvas_->setFocus();
  }

 private:
  // --- Making
  // ------------------------------------------------------------------------------------------------------

  QWidget* makeToolbar() {
    auto* bar = new ToolRow(context_, this);
    rows_ = bar->combo({tr("Flame"), tr("Flat"), tr("Passes only")}, tr("Rows"),
                       tr("Steps nested by name path, steps by lane, or no steps"));
    rows_->setCurrentIndex(std::clamp(context_.settings.value(kStepsKey, 0).toInt(), 0, 2));
    colours_ = bar->combo({tr("Colour by kind"), tr("Colour by micro-batch")}, tr("Colours"),
                          tr("Passes and transfers by what they are, or by micro-batch (M)"));
    colours_->setCurrentIndex(context_.settings.value(kColoursKey, false).toBool() ? 1 : 0);
    bar->space();
    calls_ = bar->combo({}, tr("Call"), tr("Which call from the host"));
    bar->space();
    previous_ = bar->button(QStringLiteral("previous"), tr("Previous step ([)"), [this] { goStep(-1); });
    step_ = new QLabel(bar);
    step_->setAlignment(Qt::AlignCenter);
    step_->setMinimumWidth(
        QFontMetrics(font()).horizontalAdvance(tr("Step %1 of %2–%3").arg(88).arg(0).arg(88)) + 10);
    bar->add(step_);
    next_ = bar->button(QStringLiteral("next"), tr("Next step (])"), [this] { goStep(1); });
    bar->stretch();
    span_ = new QLabel(bar);
    bar->add(span_);
    bar->space();
    bar->button(QStringLiteral("zoom_out"), tr("Zoom out (S)"), [this] { canvas_->zoomBy(1 / 1.6); });
    bar->button(QStringLiteral("zoom_in"), tr("Zoom in (W)"), [this] { canvas_->zoomBy(1.6); });
    bar->button(QStringLiteral("fit"), tr("Show this step (1)"), [this] { goStep(0); });
    bar->button(QStringLiteral("undo"), tr("Undo zoom (Backspace)"), [this] { context_.timeRange.undo(); });
    bar->button(QStringLiteral("picture"), tr("Save picture as PNG or SVG…"),
                [this] { shell::savePicture(*picture(), QStringLiteral("trace"), context_); });
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
    details_ = new TraceDetails(context_.palette, tabs_);
    auto* scroll = new QScrollArea(tabs_);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(details_);
    tabs_->addTab(scroll, tr("Details"));
    tabs_->addTab(makeTiles(), tr("Tiles"));
    connect(details_, &TraceDetails::zoomWanted, this, [this] { canvas_->zoomToSelection(); });
    connect(details_, &TraceDetails::causeWanted, this, [this] { canvas_->followWait(); });
    followSelection();
    return tabs_;
  }

  /// What is known of single tiles. A profile has their least, mean and most per step.
  QWidget* makeTiles() {
    tiles_ = new QLabel(tabs_);
    tiles_->setContentsMargins(14, 10, 14, 8);
    tiles_->setWordWrap(true);
    tiles_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    tiles_->setTextFormat(Qt::PlainText);
    tiles_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return tiles_;
  }

  QString tilesText(const TimelineItem& item) const {
    const QString missing =
        tr("Tiles were not recorded one by one in this profile. Record tiles and re-run (execution.record = "
           "\"tiles\") to see compute, exchange and sync of every tile.");
    if (!item || item.kind != TimelineItem::Kind::step || !model_)
      return missing + QStringLiteral("\n\n") +
             tr("Select a step to see its fastest, mean and slowest tile.");
    QStringList lines = {missing, QString(), texts().title(item)};
    for (const ShownFact& fact : texts().facts(item)) {
      if (fact.label.startsWith(tr("Active")) || fact.label.startsWith(tr("Min")) ||
          fact.label == tr("Balance"))
        lines << QStringLiteral("%1: %2").arg(fact.label, fact.value);
    }
    return lines.join(QLatin1Char('\n'));
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
    add(tr("Note at the selection or in the middle"), {QKeySequence(QStringLiteral("N"))},
        [this] { addNote(); });
    add(tr("Counters"), {QKeySequence(QStringLiteral("C"))}, [this] {
      geometry::TimelineOptions options = canvas_->options();
      options.counters = !options.counters;
      canvas_->setOptions(options);
    });
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
        {tr("Next, previous of the same kind or name"), tr(">  <  ·  Shift+.  Shift+,")},
        {tr("Measure, edges are caught; keep the selection's span"), tr("Shift+drag; R")},
        {tr("Select nothing; forget measured spans"), tr("Esc; Esc again")},
        {tr("Pin, hide, move a device; show all"), tr("P  H  Shift+↑  Shift+↓; Shift+H")},
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
    near_.reset();
    // What another page selected stays selected: it is found again below.
    applying_ = true;
    canvas_->setModel(model_);
    overview_->setModel(model_);
    followScale();
    applying_ = false;
    fillCalls();
    fillLegend();
    if (!grew) openOnStep();
    table_->ranges()->setRows(model_->trace, {}, scale_);
    followView();
    remarkOnDamage();
    if (pendingTime_) showPendingTime();
    if (!pendingLane_.isEmpty()) showPendingLane();
    followNotes();
    followOthers();
  }

  QString find(const QString& wanted, int direction) override {
    if (wanted.isEmpty() || !model_) return {};
    const TimelineItem found =
        canvas_->scene().find(wanted.toLower().toStdString(), canvas_->selected(), direction);
    if (!found) return tr("nothing found; steps outside of what was read are not looked at");
    canvas_->select(found);
    canvas_->reveal(found);
    return text(canvas_->scene().pathOf(found));
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

  /// What another page selected is lit here.
  void followOthers() {
    if (following_ || !model_) return;
    const shell::Selected& selected = context_.selection.current();
    if (selected.kind == shell::Selected::Kind::none) return canvas_->select({});
    if (selected.kind == shell::Selected::Kind::placement) canvas_->selectPlacement(selected.placement);
  }

  void showPendingLane() {
    const QString name = std::exchange(pendingLane_, {});
    for (const geometry::TimelineGroup& group : canvas_->scene().layout().groups) {
      if (text(group.title).compare(name, Qt::CaseInsensitive) == 0)
        return canvas_->verticalScrollBar()->setValue(std::max(0, group.y - 4));
    }
    remark(tr("There is no device %1 on this trace.").arg(name));
  }

  /// Notes of the profile as flags.
  void followNotes() {
    const shell::Snapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr) return;
    readBeside(
        [held = *snapshot]() -> base::Result<std::vector<model::Note>> {
          PIPESCOPE_ASSIGN(const model::Rows<model::Note> rows, held.source->rows<model::Note>());
          return std::vector<model::Note>(*rows);
        },
        [this](base::Result<std::vector<model::Note>>&& notes) {
          if (!notes.ok()) return;
          notes_ = *std::move(notes);
          std::vector<timeline::TimelineCanvas::Flag> flags;
          for (const model::Note& note : notes_) flags.push_back({note.start, text(note.text)});
          canvas_->setFlags(std::move(flags));
        });
  }

  void addNote() {
    if (!model_) return;
    if (!context_.session.canKeepNotes())
      return remark(tr("Notes cannot be kept in this profile: it cannot be written to."));
    const TimelineItem item = canvas_->selected();
    model::Note note;
    note.id = notes_.empty() ? 0 : notes_.back().id + 1;
    note.start = item ? item.start : context_.timeRange.view().time(context_.timeRange.view().width() / 2.0);
    note.end = item ? item.end : note.start;
    if (item && item.device >= 0)
      note.device = model_->trace->devices[static_cast<std::size_t>(item.device)].id;
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Note"));
    dialog->setLabelText(
        tr("Note at %1; an empty one is removed").arg(text(formatDuration(note.start, scale_))));
    connect(dialog, &QInputDialog::textValueSelected, this, [this, note](const QString& written) mutable {
      std::vector<model::Note> notes = notes_;
      notes.erase(std::remove_if(notes.begin(), notes.end(),
                                 [&](const auto& old) { return old.start == note.start; }),
                  notes.end());
      note.text = written.trimmed().toStdString();
      if (!note.text.empty()) notes.push_back(note);
      context_.session.keepNotes(this, std::move(notes), [this](const base::Status& kept) {
        kept.ok() ? followNotes() : remark(text(kept.error().message));
      });
    });
    dialog->open();
  }

  void followScale() {
    scale_ = timeScale();
    canvas_->setWheelZooms(context_.settings.value(shell::setting::kWheelZooms).toBool());
    canvas_->setFrameTimeShown(context_.settings.value(shell::setting::kFrameTime).toBool());
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

  /// After the view has rested: what it shows in detail, and its sums.
  void followView() {
    if (!model_) return;
    if (!canvas_->isNear()) {
      readWindow();
    } else {
      readStatistics();
    }
  }

  /// Three times what is in view, so that small moves need nothing new. What is on the screen stays until
  /// then.
  void readWindow() {
    if (windowProgress_) windowProgress_->cancel();
    const shell::Snapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr || !loaded_) return;
    windowProgress_ = std::make_shared<shell::SharedProgress>();
    analysis::TraceRequest request = *loaded_;
    const Ticks from = context_.timeRange.start(), to = context_.timeRange.end();
    request.large = near_ ? near_->trace : model_->trace;
    request.from = from - (to - from);
    request.to = to + (to - from);
    request.mostRows = kWindowRows;
    request.mostSteps = kWindowSteps;
    readBeside(
        [held = *snapshot, request, progress = windowProgress_,
         counters = model_->counters]() -> base::Result<std::shared_ptr<const geometry::TimelineModel>> {
          auto trace = analysis::loadTrace(*held.source, *held.catalog, request, *progress);
          if (!trace.ok()) return trace.error();
          return geometry::TimelineModel::make(*std::move(trace), counters);
        },
        [this, progress = windowProgress_, base = model_](auto&& read) {
          if (progress != windowProgress_ || base != model_) return;
          windowProgress_.reset();
          if (!read.ok()) return remark(text(read.error().message));
          near_ = *read;
          canvas_->setNear(near_);
          readStatistics();
        });
  }

  void readStatistics() {
    if (!model_ || canvas_->scene().empty()) return;
    const std::shared_ptr<const analysis::Trace> shown = canvas_->scene().model()->trace;
    const Ticks from = std::max(context_.timeRange.start(), shown->start),
                to = std::min(context_.timeRange.end(), shown->end);
    if (shown->far || shown->farSteps) {
      ++statistics_;
      table_->ranges()->setRows(model_->trace, {}, scale_);
      return;
    }
    readBeside([shown, from, to] { return analysis::rangeStatistics(*shown, from, to); },
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
    if (!any) {
      details_->clear();
      tiles_->setText(tilesText({}));
      if (!applying_ && context_.selection.current().kind != shell::Selected::Kind::stage)
        context_.selection.clear();
      return;
    }
    details_->show(texts(), item, static_cast<bool>(canvas_->scene().waitedFor(item)));
    tiles_->setText(tilesText(item));
    if (tabs_->currentIndex() == 0) tabs_->setCurrentIndex(1);
    following_ = true;
    context_.selection.set(selectedOf(*canvas_->scene().model()->trace, item));
    following_ = false;
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
  QLabel *step_ = nullptr, *span_ = nullptr, *tiles_ = nullptr;
  timeline::OverviewStrip* overview_ = nullptr;
  timeline::TimelineCanvas* canvas_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  QSplitter* splitter_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  RangeTable* table_ = nullptr;
  TraceDetails* details_ = nullptr;
  std::vector<model::Note> notes_;
  bool following_ = false, applying_ = false;

  std::shared_ptr<const geometry::TimelineModel> model_, near_;
  std::shared_ptr<shell::SharedProgress> windowProgress_;
  std::optional<analysis::TraceRequest> loaded_;
  qlonglong call_ = kLastCall;  ///< RunId, or one of the two above
  std::optional<Ticks> pendingTime_;
  QString pendingLane_;
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
