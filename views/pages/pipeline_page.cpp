// Shows one iteration of the pipeline: which device works on which micro-batch when, or in which
// cycle.
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/analysis/recorded_devices.h"
#include "profiler/base/number_ranges.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"
#include "views/pages/parts/charts/legends.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/trace/pipeline_gaps.h"
#include "views/pages/parts/trace/pipeline_toolbar.h"
#include "views/shell/look/picture.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/pipeline_canvas.h"

namespace pipescope::pages {
namespace {

using analysis::PipelineCell;
using analysis::PipelineGrid;
using geometry::ColourRole;
using sections::Format;

}  // namespace

class PipelinePage : public shell::Page {
 public:
  explicit PipelinePage(shell::PageContext& context) : Page(context) {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* splitter = new QSplitter(Qt::Vertical, content);
    splitter->setChildrenCollapsible(false);
    auto* upper = new QWidget(splitter);
    auto* upperLayout = new QVBoxLayout(upper);
    upperLayout->setContentsMargins(0, 0, 0, 0);
    upperLayout->setSpacing(2);
    canvas_ = new timeline::PipelineCanvas(context.palette, upper);
    legend_ = new timeline::Legend(context.palette, upper);
    layout->addWidget(makeToolbar());
    shell::addPictureAction(
        *upper, [this] { return picture(); }, QStringLiteral("pipeline"), context);
    upperLayout->addWidget(canvas_, 1);
    upperLayout->addWidget(legend_);
    splitter->addWidget(upper);
    splitter->addWidget(makeLower());
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 1);
    splitter->setSizes({520, 240});
    layout->addWidget(splitter, 1);
    setContent(content);
    setKeyWidget(canvas_);
    canvas_->setDescriber([this](int cell) { return callout(cell); });
    canvas_->setMarkDescriber(
        [this](const geometry::PipelineMark& mark) { return markInWords(mark, scale_); });
    connect(canvas_, &timeline::PipelineCanvas::selectionChanged, this, &PipelinePage::followSelection);
    connect(&context.selection, &shell::Selection::changed, this, &PipelinePage::followOthers);
    offerSubjects(*canvas_, [this](int cell) { return subjectOfCell(cell); });
    const QString group = tr("Pipeline");
    context.actions.describe(group, tr("Select the next or previous pass of the device"),
                             tr("→  ←  ·  .  ,"));
    context.actions.describe(group, tr("Follow the micro-batch to the next or previous stage"), tr("↓  ↑"));
    context.actions.describe(group, tr("Zoom, pan, or show everything"),
                             tr("W  S  A  D  0  ·  Ctrl+wheel, drag, double click"));
    applyOptions();
  }

 protected:
  Load load() override {
    analysis::PipelineRequest request;
    request.executable = context_.session.executable();
    request.run = call_;
    if (step_ != kMainStep) request.iteration = step_;
    return [this, request, isFirst = fresh_, scale = timeScale()](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto made = analysis::pipelineGrid(job.source, job.catalog, request, job.progress);
      if (!made.ok()) return made.error();
      auto grid = std::make_shared<const PipelineGrid>(*std::move(made));
      // The passes are shown while what fills the gaps between them is being read.
      if (isFirst) {
        job.begin([this, grid, scale] {
          marks_ = {std::make_shared<const geometry::PipelineMarks>(), nullptr};
          apply(grid, scale);
        });
      }
      auto marks = readMarks(job.source, job.catalog, job.executable, *grid, job.progress);
      if (!marks.ok()) return marks.error();
      return Apply([this, grid, marks = *marks, scale] {
        marks_ = marks;
        apply(grid, scale);
      });
    };
  }

  void forget() override {
    fresh_ = true;
    call_ = {};
    step_ = kMainStep;
  }

 public:
  QWidget* chartBeside() override { return canvas_; }
  bool showsSelection() const override { return canvas_->selected() >= 0 || canvas_->litRow() >= 0; }

  /// Both pages show their iterations of the same number, and the same time has the same length.
  void mirror(const Page* shown) override {
    const auto* other = static_cast<const PipelinePage*>(shown);
    canvas_->setTwin(other == nullptr ? nullptr : other->canvas_);
    if (other == nullptr || !grid_ || !other->grid_) return;
    const int step = std::clamp(other->step_, 0, std::max(0, grid_->iterations - 1));
    if (step == step_) return;
    step_ = step;
    reload();
  }

  shell::Picture picture() override {
    shell::Picture made{canvas_->parentWidget(), accessibleName(), {}};
    if (!grid_) return made;
    made.title = QStringLiteral("%1, %2, %3")
                     .arg(accessibleName(), bar_->call(), stepOf(step_, grid_->iterations - 1));
    made.showWhole = [this] { return canvas_->showWhole(*canvas_->parentWidget()); };
    return made;
  }

 private:
  QWidget* makeToolbar() {
    bar_ = new PipelineToolbar(context_, *this);
    connect(bar_, &PipelineToolbar::optionsChanged, this, &PipelinePage::applyOptions);
    connect(bar_, &PipelineToolbar::callChosen, this, [this](qlonglong call) {
      call_ = model::RunId(call);
      reload();
    });
    connect(bar_, &PipelineToolbar::stepWanted, this, [this](int direction) {
      if (!grid_) return;
      // Keys may come faster than iterations are read.
      step_ = std::clamp(step_ + direction, 0, grid_->iterations - 1);
      reload();
    });
    connect(bar_, &PipelineToolbar::zoomWanted, this, [this](double factor) { canvas_->zoomBy(factor); });
    connect(bar_, &PipelineToolbar::allWanted, this, [this] { canvas_->zoomToAll(); });
    return bar_;
  }

  QWidget* makeLower() {
    auto* lower = new QWidget(this);
    auto* layout = new QHBoxLayout(lower);
    layout->setContentsMargins(12, 4, 12, 10);
    layout->setSpacing(12);
    auto* left = new Panel(context_.palette, tr("This iteration"), lower);
    auto* scrolled = new QScrollArea(left);
    scrolled->setFrameShape(QFrame::NoFrame);
    scrolled->setFocusPolicy(Qt::NoFocus);
    scrolled->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scrolled->setWidgetResizable(true);
    facts_ = new FactGrid(context_.palette, scrolled);
    facts_->setColumnWidth(260);
    facts_->setComparable(true);
    scrolled->setWidget(facts_);
    scrolled->viewport()->setAutoFillBackground(false);  // the panel shows through
    facts_->setAutoFillBackground(false);
    left->body()->addWidget(scrolled);
    auto* right = new Panel(context_.palette, {}, lower);
    table_ = new DataTable(context_.palette, right);
    right->body()->addWidget(table_);
    layout->addWidget(left, 1);
    layout->addWidget(right, 1);
    lower->setMinimumHeight(150);
    connect(table_, &DataTable::rowActivated, this, [this](int row) {
      if (row < static_cast<int>(tableCells_.size()))
        canvas_->select(tableCells_[static_cast<std::size_t>(row)]);
    });
    return lower;
  }

  void apply(std::shared_ptr<const PipelineGrid> grid, const geometry::TimeScale& scale) {
    grid_ = std::move(grid);
    fresh_ = false;
    scale_ = scale;
    if (grid_->cells.empty()) {
      canvas_->setGrid(nullptr, nullptr, scale);
      const bool noStages = grid_->rows.empty();
      return showInstead(noStages
                             ? tr("This executable has no stages, so there is no pipeline to draw.")
                             : tr("Nothing of this executable has run, so there is no pipeline to draw."));
    }
    bar_->setCalls(context_.session.snapshot()->catalog->runsOf(context_.session.executable()),
                   grid_->run.value, false);
    if (step_ == kMainStep) step_ = grid_->iteration;
    step_ = std::clamp(step_, 0, std::max(0, grid_->iterations - 1));
    bar_->setStep(stepOf(step_, grid_->iterations - 1), step_ > 0, step_ + 1 < grid_->iterations);
    bar_->setMicroBatches(static_cast<int>(grid_->shownMicroBatches));
    bar_->setCriticalKnown(grid_->criticalKnown);
    canvas_->setGrid(grid_, marks_.gaps, scale_, marks_.exchanges);
    applyOptions();
    fillFacts();
    fillTable();
    followOthers();
  }

  /// Says what is left out, and `same`: for which other device the lit row stands.
  void sayWhatIsShown(const QString& same) {
    QStringList sentences;
    if (grid_->shownMicroBatches < grid_->microBatches)
      sentences << tr("This flush has %1 micro-batches; the first %2 are shown.")
                       .arg(grid_->microBatches)
                       .arg(grid_->shownMicroBatches);
    if (!same.isEmpty()) sentences << same;
    remark(sentences.join(QLatin1Char(' ')));
  }

  void applyOptions() {
    canvas_->setOptions(bar_->options());
    fillLegend();
  }

  void fillLegend() {
    legend_->setEntries(
        grid_ ? pipelineLegend(*grid_, canvas_->options(), marks_.gaps.get(), canvas_->scene().strips())
              : std::vector<timeline::LegendEntry>());
  }

  QString time(base::Ticks ticks) const { return text(formatDuration(ticks, scale_)); }
  /// Returns a time in cycles and in seconds, if the device has both.
  QString timeInBoth(double ticks) const {
    const sections::ShownTime shown = sections::wordsOf(*context_.session.snapshot()->catalog).time;
    return text(sections::cardText(ticks, sections::Format::ticks, shown));
  }

  void fillFacts() {
    const PipelineGrid& grid = *grid_;
    const base::Ticks length = grid.end - grid.start;
    const auto share = [&](base::Ticks part) {
      const double of = static_cast<double>(std::max<std::int64_t>(1, length.count));
      return QStringLiteral("%1 (%2)").arg(
          time(part), text(formatCell(static_cast<double>(part.count) / of, Format::fraction)));
    };
    const base::Ticks zero;
    const base::Ticks up = std::max(zero, std::min(grid.rampUpEnd, grid.end) - grid.start);
    const base::Ticks steady = std::max(zero, grid.rampDownStart - grid.rampUpEnd);
    const base::Ticks down = std::max(zero, grid.end - std::max(grid.rampDownStart, grid.rampUpEnd));
    // Nobody knows when the pipeline begins and ends if stages are missing.
    std::vector<ShownFact> facts = {
        {tr("Step time"), timeInBoth(static_cast<double>(grid.span.length().count)),
         tr("of this iteration: its flush with update, host copies and waits")},
        {tr("Mean step time"), timeInBoth(grid.meanStepTime),
         tr("of all iterations of the call; reports and the stages page give this one")},
        {tr("Flush"), time(length),
         tr("from the start of the first forward to the end of the last backward "
            "pass (inference: the last forward pass)")}};
    const std::vector<ShownFact> phases = {
        {tr("Ramp-up"), share(up),
         tr("before the first pipeline cycle in which all stages do all their passes; in a schedule "
            "without cycles, until the last stage begins; share of the flush")},
        {tr("Steady"), share(steady), tr("between ramp-up and ramp-down; share of the flush")},
        {tr("Ramp-down"), share(down),
         tr("after the last pipeline cycle in which all stages do all their passes; in a schedule "
            "without cycles, after the first stage has ended; share of the flush")}};
    const std::vector<ShownFact> counts = {
        {tr("Micro-batches"), QString::number(grid.microBatches), tr("of one flush of one replica")},
        {tr("Columns"), QString::number(grid.columns),
         grid.hasSlots ? tr("each pipeline cycle has a forward and a backward column")
                       : tr("each pass of a device has a column")}};
    if (!grid.whole) {
      std::size_t stages = 0;
      for (const analysis::PipelineRow& row : grid.rows) stages += row.stages.size();
      facts = counts;
      facts.push_back(
          {tr("Recorded stages"), QString::number(stages),
           tr("stages whose passes the trace holds; step time, flush and critical path need all")});
      return facts_->setFacts(std::move(facts));
    }
    if (grid.isPipeline()) facts.insert(facts.end(), phases.begin(), phases.end());
    facts.insert(facts.end(), counts.begin(), counts.end());
    if (!grid.isPipeline()) {
      // A single stage works all the time, and its columns are its micro-batches.
      facts.pop_back();
    } else if (grid.hasSlots && grid.firstFullSlot >= 0) {
      facts.push_back({tr("All stages work"), tr("from pipeline cycle %1").arg(grid.firstFullSlot),
                       tr("the first cycle in which every stage does all its passes, counted from 0")});
    } else {
      facts.push_back(
          {tr("All stages work"),
           grid.firstFullColumn < 0 ? tr("never at once") : tr("from column %1").arg(grid.firstFullColumn),
           tr("the first column in which every stage works, counted from 0")});
    }
    if (grid.criticalKnown) addPath(facts);
    facts_->setFacts(std::move(facts));
  }

  /// The critical path within this iteration, and what it consists of.
  void addPath(std::vector<ShownFact>& facts) const {
    const analysis::PathSums& path = grid_->path;
    facts.push_back(
        {tr("Critical path"), timeInBoth(static_cast<double>(path.total().count)),
         tr("the chain of passes, transfers and waits that makes this iteration as long as it is; "
            "its parts add up to the step time")});
    const double whole = static_cast<double>(std::max<std::int64_t>(1, path.total().count));
    const auto add = [&](const QString& label, base::Ticks part, const QString& doc) {
      if (part.count == 0) return;
      const double share = static_cast<double>(part.count) / whole;
      facts.push_back(
          {label, QStringLiteral("%1 (%2)").arg(time(part), text(formatCell(share, Format::fraction))), doc});
    };
    add(tr("of which compute"), path.compute, tr("forward, recompute, backward and weight-gradient passes"));
    add(tr("of which exchange"), path.exchange, tr("transfers, sync and collectives"));
    add(tr("of which update"), path.update, tr("weight updates"));
    add(tr("of which remote memory"), path.memory, tr("loads and stores of remote buffers"));
    add(tr("of which host"), path.host, tr("host copies, the overhead of the call and waits for the host"));
  }

  /// Lists the passes of the highlighted micro-batch, or else what each device does.
  void fillTable() {
    tableCells_.clear();
    const int path = canvas_->options().path;
    // Cycles and cost units are plain figures, and the heading has their unit. Other times have their own.
    const auto [unit, ticksPerUnit] = tableUnit();
    const bool hasOwnUnits = scale_.unit == geometry::TimeUnit::time;
    const std::string inUnit = hasOwnUnits ? std::string() : ", in " + unit;
    sections::SectionTable table;
    if (path < 0) {
      table = {"devices",
               "Devices",
               "of this iteration" + inUnit + "; shares are of the step time",
               {{"stage", "Stages", Format::plain, ""},
                {"device", "Device", Format::plain, ""},
                {"passes", "Passes", Format::count, ""},
                {"begins", "Begins", Format::ticks, "time since the start of the iteration"},
                {"ends", "Ends", Format::ticks, "time since the start of the iteration"},
                {"busy", "Busy", Format::fraction, "forward, recompute and backward passes ÷ step time"}},
               {}};
      const double length = static_cast<double>(std::max<std::int64_t>(1, grid_->span.length().count));
      for (const analysis::PipelineRow& row : grid_->rows) {
        if (row.cells.empty()) continue;
        const std::string stages = base::numberRanges(row.stages);
        const auto& cells = grid_->cells;
        const PipelineCell &first = cells[static_cast<std::size_t>(row.cells.front())],
                           &last = cells[static_cast<std::size_t>(row.cells.back())];
        table.rows.push_back({stages, row.name, static_cast<std::int64_t>(row.cells.size()),
                              (first.start - grid_->shownStart()).count,
                              (last.end - grid_->shownStart()).count,
                              static_cast<double>(row.busy.count) / length});
        tableCells_.push_back(row.cells.front());
      }
      if (!grid_->whole) {
        table.basis = "of this iteration" + inUnit + "; the trace holds only some of the stages";
        table.columns.pop_back();
        for (auto& row : table.rows) row.pop_back();
      }
    } else {
      table = {"path",
               "Path of micro-batch " + std::to_string(path),
               "in order of time" + inUnit,
               {{"pass", "Pass", Format::plain, ""},
                {"stage", "Stage", Format::count, ""},
                {"device", "Device", Format::plain, ""},
                {"start", "Start", Format::ticks, "time since the start of the iteration"},
                {"length", "Length", Format::ticks, "of the pass"},
                {"since", "Gap before", Format::ticks,
                 "time since the previous pass of the micro-batch, or since the start of the iteration"}},
               {}};
      base::Ticks before = grid_->shownStart();
      for (std::size_t i = 0; i < grid_->cells.size(); ++i) {
        const PipelineCell& cell = grid_->cells[i];
        if (cell.microBatch != path) continue;
        table.rows.push_back({model::toString(cell.pass), static_cast<std::int64_t>(cell.stage),
                              grid_->rows[static_cast<std::size_t>(cell.row)].name,
                              (cell.start - grid_->shownStart()).count, (cell.end - cell.start).count,
                              std::max<std::int64_t>(0, (cell.start - before).count)});
        before = cell.end;
        tableCells_.push_back(static_cast<int>(i));
      }
    }
    table_->setTable(std::move(table), ticksPerUnit, hasOwnUnits ? std::optional(scale_) : std::nullopt);
  }

  /// The unit of times that are plain figures, and its ticks.
  std::pair<std::string, double> tableUnit() const {
    const auto perSecond = static_cast<double>(scale_.ticksPerSecond);
    if (scale_.unit == geometry::TimeUnit::cycles) return {"cycles", 1};
    return {"cost units", perSecond};
  }

  QStringList callout(int index) const {
    const PipelineCell& cell = grid_->cells[static_cast<std::size_t>(index)];
    QStringList lines = {
        tr("%1 · %2 of micro-batch %3")
            .arg(text(canvas_->scene().labelOf(index)), text(model::toString(cell.pass)))
            .arg(cell.microBatch),
        tr("stage %1 on %2").arg(cell.stage).arg(text(grid_->rows[static_cast<std::size_t>(cell.row)].name)),
        time(cell.end - cell.start)};
    if (cell.recompute.count > 0) lines << tr("recompute takes %1 of it").arg(time(cell.recompute));
    if (cell.slot >= 0) lines << tr("pipeline cycle %1").arg(cell.slot);
    if (cell.critical) lines << tr("on the critical path");
    return lines;
  }

  /// Highlights the micro-batch of the selected pass, and selects the pass on all pages.
  void followSelection() {
    const int index = canvas_->selected();
    if (index < 0) {
      bar_->setPath(-1);
      if (grid_) fillTable();
      return;
    }
    bar_->setPath(grid_->cells[static_cast<std::size_t>(index)].microBatch);
    fillTable();
    context_.selection.set(subjectOfCell(index));
  }

  shell::Selected subjectOfCell(int index) const {
    shell::Selected selected;
    if (!grid_ || index < 0) return selected;
    const PipelineCell& cell = grid_->cells[static_cast<std::size_t>(index)];
    selected.kind = shell::Selected::Kind::placement;
    selected.device = grid_->rows[static_cast<std::size_t>(cell.row)].device;
    selected.stage = cell.stage;
    selected.microBatch = cell.microBatch;
    selected.placement = cell.placement;
    selected.start = cell.start;
    selected.end = cell.end;
    return selected;
  }

  void followOthers() {
    const shell::Selected& selected = context_.selection.current();
    if (!grid_) return;
    const auto rowOf = [&](model::DeviceId device) {
      for (std::size_t i = 0; device.valid() && i < grid_->rows.size(); ++i)
        if (grid_->rows[i].device == device) return static_cast<int>(i);
      return -1;
    };
    int row = rowOf(selected.device);
    QString same;
    if (selected.device.valid() && row < 0) {
      // Another rank or replica has equal work, and its row stands for this one.
      const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
      const model::ExecutableId executable = context_.session.executable();
      const auto stands = analysis::recordedDevices(catalog, executable);
      if (stands.contains(selected.device)) row = rowOf(stands[selected.device]);
      if (row >= 0)
        same = QString::fromStdString(analysis::recordedText(catalog, executable, selected.device));
    }
    canvas_->lightRow(row);
    sayWhatIsShown(same);
    using Kind = shell::Selected::Kind;
    if (selected.kind != Kind::placement && selected.kind != Kind::step) return;
    if (selected.microBatch >= 0 && selected.microBatch < grid_->shownMicroBatches)
      bar_->setPath(selected.microBatch);
    for (std::size_t i = 0; i < grid_->cells.size(); ++i) {
      const PipelineCell& cell = grid_->cells[i];
      if (cell.placement == selected.placement ||
          (cell.stage == selected.stage && cell.start <= selected.start && selected.end <= cell.end))
        return canvas_->select(static_cast<int>(i));
    }
  }

  std::shared_ptr<const PipelineGrid> grid_;
  PassMarks marks_;
  bool fresh_ = true;  ///< nothing of the present profile and executable has been shown
  geometry::TimeScale scale_;
  model::RunId call_;
  static constexpr int kMainStep = -1;  ///< the iteration that stands for the call
  int step_ = kMainStep;
  PipelineToolbar* bar_ = nullptr;
  timeline::PipelineCanvas* canvas_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  FactGrid* facts_ = nullptr;
  DataTable* table_ = nullptr;
  std::vector<int> tableCells_;  ///< cell of each row of the table
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(pipeline) {
  registry.add({QStringLiteral("pipeline"), QObject::tr("Pipeline"), QStringLiteral("pipeline"),
                QObject::tr("One iteration of the pipeline over time, or as a schedule table"),
                PageGroup::time, 10,
                [](PageContext& context) -> Page* { return new pages::PipelinePage(context); }, true,
                pages::whyNoPipeline});
}

}  // namespace pipescope::shell
