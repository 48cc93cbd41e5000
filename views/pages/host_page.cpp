// Shows what the host did in wall time: calls, the spans of its threads, series, statistics and call tree.
#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QMenu>
#include <QScrollArea>
#include <QSplitter>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "profiler/analysis/host/host_alignment.h"
#include "profiler/analysis/host/host_metrics.h"
#include "profiler/sections/host_tables.h"
#include "views/pages/parts/data/pinned_series.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/host_details.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/layout/tool_row.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/look/picture.h"
#include "views/shell/page.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/host_canvas.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using analysis::HostTimeline;
using geometry::HostHit;

/// Tables for a part of the time.
struct HostSums {
  std::vector<analysis::HostNameUse> uses;
  std::vector<analysis::HostTreeNode> tree;
};
using HostSumsPointer = std::shared_ptr<const HostSums>;

HostSumsPointer sumsOf(const HostTimeline& timeline, std::optional<analysis::HostRange> range) {
  return std::make_shared<const HostSums>(
      HostSums{analysis::hostNameUses(timeline, range), analysis::hostCallTree(timeline, range)});
}

QString wall(base::Ticks time) {
  return text(geometry::formatDuration(time, timeline::HostCanvas::scale()));
}

}  // namespace

class HostPage : public shell::Page {
 public:
  explicit HostPage(shell::PageContext& context) : Page(context) {
    auto* tools = new ToolRow(context, this);
    addTools(*tools);
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(tools);
    auto* splitter = new QSplitter(Qt::Vertical, content);
    splitter->setChildrenCollapsible(false);
    auto* upper = new QWidget(splitter);
    auto* upperLayout = new QVBoxLayout(upper);
    upperLayout->setContentsMargins(0, 0, 0, 0);
    upperLayout->setSpacing(2);
    canvas_ = new timeline::HostCanvas(context.palette, upper);
    legend_ = new timeline::Legend(context.palette, upper);
    upperLayout->addWidget(canvas_, 1);
    upperLayout->addWidget(legend_);
    splitter->addWidget(upper);
    splitter->addWidget(makeTabs());
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    splitter->setSizes({420, 300});
    layout->addWidget(splitter, 1);
    setContent(content);
    setKeyWidget(canvas_);
    shell::addPictureAction(
        *upper, [this] { return picture(); }, QStringLiteral("host"), context);
    canvas_->setDescriber([this](const HostHit& hit) { return hostCallout(*timeline_, hit); });
    canvas_->setOpener([this](const HostHit& hit) { return showOnTrace(hit); });
    canvas_->setMenu([this](const HostHit& hit, const QPoint& at) {
      auto* menu = makeMenu(hit);
      menu->setAttribute(Qt::WA_DeleteOnClose);
      menu->popup(at);
    });
    connect(canvas_, &timeline::HostCanvas::selectionChanged, this, &HostPage::showSelection);
    wait_.setSingleShot(true);
    wait_.setInterval(kQuietMs);
    connect(&wait_, &QTimer::timeout, this, &HostPage::readSums);
    connect(canvas_, &timeline::HostCanvas::viewChanged, this, [this] {
      if (timeline_) wait_.start();
    });
    describeKeys();
  }

  QWidget* chartBeside() override { return canvas_; }

  shell::Picture picture() override {
    shell::Picture made{canvas_->parentWidget(), accessibleName(), {}};
    made.showWhole = [this] { return canvas_->showWhole(*canvas_->parentWidget()); };
    return made;
  }

  QString find(const QString& wanted, int direction) override {
    const QString rows = Page::find(wanted, direction);  // filters the tables
    if (!timeline_ || wanted.isEmpty()) return rows;
    if (wanted != wanted_) found_ = -1;
    wanted_ = wanted;
    std::vector<HostHit> hits = hitsOf(wanted);
    if (hits.empty()) return rows;
    const int count = static_cast<int>(hits.size());
    found_ = found_ < 0 ? 0 : (found_ + direction + count) % count;
    canvas_->select(hits[static_cast<std::size_t>(found_)]);
    return tr("%L1 of %L2").arg(found_ + 1).arg(count);
  }

 protected:
  Load load() override {
    pinned_ = pinnedSeries(context_.settings);
    return [this, names = std::vector<std::string>(pinned_.begin(), pinned_.end())](
               const Job& job) -> base::Result<Apply> {
      PIPESCOPE_ASSIGN(std::shared_ptr<const HostTimeline> read,
                       analysis::hostTimeline(job.source, job.progress));
      PIPESCOPE_ASSIGN(
          read, analysis::withMetrics(read, job.source, job.catalog, job.executable, names, job.progress));
      const HostSumsPointer sums = sumsOf(*read, {});
      PIPESCOPE_ASSIGN(const sections::Section section,
                       sectionNamed("host", {job.source, job.catalog, job.executable, -1, job.reports}));
      return Apply([this, read, sums, lacks = text(section.lacks)] { apply(read, sums, lacks); });
    };
  }

  void forget() override { fresh_ = true; }

  void showEvent(QShowEvent* event) override {
    Page::showEvent(event);
    if (pinned_ != pinnedSeries(context_.settings)) reload();
  }

 private:
  static constexpr int kQuietMs = 120;  ///< the tables follow when the view has rested for so long
  static constexpr std::size_t kMostFound = 100'000;

  void addTools(ToolRow& tools) {
    names_ = tools.combo({tr("All names")}, tr("Name"),
                         tr("Dims all other names, and shows the lengths of this one"));
    names_->setMinimumContentsLength(22);
    connect(names_, qOverload<int>(&QComboBox::activated), this, [this](int at) { choose(at - 1); });
    tools.space();
    tools.button(QStringLiteral("zoom_out"), tr("Zoom out (S)"), [this] { canvas_->zoomBy(1 / 1.6); });
    tools.button(QStringLiteral("zoom_in"), tr("Zoom in (W)"), [this] { canvas_->zoomBy(1.6); });
    tools.button(QStringLiteral("fit"), tr("Show everything (0)"), [this] { canvas_->zoomToAll(); });
    tools.stretch();
    span_ = new shell::ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, &tools);
    tools.add(span_, 1);
    tools.pictureButton();
  }

  /// The menu of a call, a span or an event.
  QMenu* makeMenu(const HostHit& hit) {
    auto* menu = new QMenu(canvas_);
    const QString name = hostCallout(*timeline_, hit).value(0);
    menu->addAction(tr("Copy name"), this, [name] { QApplication::clipboard()->setText(name); });
    menu->addAction(tr("Zoom to it"), this, [this, hit] {
      const auto [start, end] = canvas_->scene().timesOf(hit);
      canvas_->zoomTo(start, end);
    });
    if (hit.kind == HostHit::Kind::span) {
      const auto of = timeline_->lanes[hit.lane].spans[hit.index].name;
      menu->addAction(tr("Dim all other names"), this, [this, of] { choose(static_cast<int>(of)); });
    }
    if (deviceTimeOf(hit))
      menu->addMenu(tr("Show in"))->addAction(tr("Trace"), this, [this, hit] { showOnTrace(hit); });
    return menu;
  }

  /// The time on the devices of what was hit; none: it happened before or after all calls.
  std::optional<base::Ticks> deviceTimeOf(const HostHit& hit) const {
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    if (hit.kind == HostHit::Kind::call) {
      for (const model::Run& run : catalog.runs)
        if (run.name == timeline_->calls[hit.index].name) return run.start;
      return std::nullopt;
    }
    const auto [start, end] = canvas_->scene().timesOf(hit);
    const analysis::HostAlignment clocks(std::vector<model::Run>(catalog.runs.begin(), catalog.runs.end()),
                                         timeline_->zero);
    const auto part = clocks.onDevices(start, end);
    return part ? std::optional(part->first) : std::nullopt;
  }

  /// Shows on the trace what the devices did at the time. Returns false if they did nothing then.
  bool showOnTrace(const HostHit& hit) {
    const std::optional<base::Ticks> time = timeline_ ? deviceTimeOf(hit) : std::nullopt;
    if (time) context_.go({QStringLiteral("trace"), *time, -1, QString()});
    return time.has_value();
  }

  QWidget* makeTabs() {
    tabs_ = new QTabWidget(this);
    tabs_->setDocumentMode(true);
    tabs_->setMinimumHeight(150);
    const auto padded = [&](QWidget* inner, const QString& title) {
      auto* page = new QWidget(tabs_);
      auto* layout = new QVBoxLayout(page);
      layout->setContentsMargins(12, 6, 12, 8);
      layout->addWidget(inner);
      tabs_->addTab(page, title);
    };
    const auto scrolled = [&](QWidget* inner, const QString& title) {
      auto* area = new QScrollArea(tabs_);
      area->setFrameShape(QFrame::NoFrame);
      area->setWidgetResizable(true);
      area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
      area->setWidget(inner);
      tabs_->addTab(area, title);
    };
    table_ = new DataTable(context_.palette, tabs_);
    table_->setFilterVisible(true);
    padded(table_, tr("Names"));
    tree_ = new TreeTable(context_.palette, tabs_);
    padded(tree_, tr("Call tree"));
    lengths_ = new timeline::BarChart(context_.palette, tabs_);
    scrolled(lengths_, tr("Lengths"));
    details_ = new FactGrid(context_.palette, tabs_);
    auto* details = new QWidget(tabs_);
    auto* padding = new QVBoxLayout(details);
    padding->setContentsMargins(12, 6, 12, 8);
    padding->addWidget(details_);
    padding->addStretch(1);
    scrolled(details, tr("Details"));
    series_ = new DataTable(context_.palette, tabs_);
    padded(series_, tr("Series"));
    connect(table_, &DataTable::rowActivated, this, [this](int row) {
      if (sums_ && row >= 0 && row < static_cast<int>(sums_->uses.size()))
        choose(sums_->uses[static_cast<std::size_t>(row)].name);
    });
    connect(tree_, &TreeTable::rowActivated, this, [this](int row) {
      if (sums_ && row >= 0 && row < static_cast<int>(sums_->tree.size()))
        choose(sums_->tree[static_cast<std::size_t>(row)].name);
    });
    return tabs_;
  }

  void describeKeys() {
    const QString group = tr("Host");
    context_.actions.describe(group, tr("Select the next or previous span of the row"), tr("→  ←  ·  .  ,"));
    context_.actions.describe(group, tr("Select the span around it, or the first one in it"), tr("↑  ↓"));
    context_.actions.describe(group, tr("Zoom to the selected span"), tr("F"));
    context_.actions.describe(group, tr("Show on the trace what the devices did meanwhile"),
                              tr("double click"));
    context_.actions.describe(group, tr("Zoom, pan, or show everything"),
                              tr("W  S  A  D  0  ·  Ctrl+wheel, drag"));
  }

  void apply(std::shared_ptr<const HostTimeline> read, HostSumsPointer sums, const QString& lacks) {
    timeline_ = std::move(read);
    if (timeline_->empty()) {
      canvas_->setTimeline(nullptr, false);
      return showInstead(lacks);
    }
    canvas_->setTimeline(timeline_, !fresh_);
    fresh_ = false;
    found_ = -1;
    fillNames();
    fillLegend();
    fillSeries();
    if (canvas_->view().span() < static_cast<double>(timeline_->end.count)) return readSums();
    showSums(std::move(sums), {});
  }

  void fillNames() {
    const int only = canvas_->only();
    names_->clear();
    names_->addItem(tr("All names"));
    for (const analysis::HostLabel& label : timeline_->names)
      names_->addItem(QStringLiteral("%1: %2").arg(text(label.channel), text(label.name)));
    names_->setCurrentIndex(only + 1);
  }

  void fillLegend() {
    std::vector<timeline::LegendEntry> entries;
    std::set<std::string> seen;
    for (const analysis::HostLabel& label : timeline_->names) {
      if (!seen.insert(label.channel).second) continue;
      entries.push_back({text(label.channel), canvas_->scene().roleOfChannel(label.channel)});
    }
    legend_->setEntries(std::move(entries));
  }

  void fillSeries() {
    series_->setTable(sections::hostSeriesTable(*timeline_));
    tabs_->setTabVisible(tabs_->count() - 1,
                         !std::ranges::all_of(timeline_->curves, &analysis::HostCurve::pinned));
  }

  /// Reads the sums of what is visible.
  void readSums() {
    if (!timeline_) return;
    const auto& view = canvas_->view();
    std::optional<analysis::HostRange> range;
    if (view.span() < static_cast<double>(timeline_->end.count))
      range = analysis::HostRange{view.start(), view.end()};
    readInBackground([line = timeline_, range] { return sumsOf(*line, range); },
                     [this, line = timeline_, range](const HostSumsPointer& sums) {
                       if (line == timeline_) showSums(sums, range);
                     });
  }

  void showSums(HostSumsPointer sums, std::optional<analysis::HostRange> range) {
    sums_ = std::move(sums);
    const std::string part = range ? "spans that overlap the visible time" : "whole recording";
    table_->setTable(sections::hostNameTable(*timeline_, sums_->uses, part));
    table_->setMarks(marksOf());
    TreeRows rows{sections::hostTreeTable(*timeline_, sums_->tree, part), {}, {}};
    // The tree indents by itself, and the thread is its root.
    auto& columns = rows.table.columns;
    columns.erase(columns.begin(), columns.begin() + 2);
    for (std::size_t i = 0; i < sums_->tree.size(); ++i) {
      const analysis::HostTreeNode& node = sums_->tree[i];
      rows.parents.push_back(node.parent);
      rows.sources.push_back(static_cast<int>(i));
      auto& cells = rows.table.rows[i];
      cells.erase(cells.begin(), cells.begin() + 2);
      cells[0] = node.name < 0 ? timeline_->lanes[static_cast<std::size_t>(node.lane)].title()
                               : timeline_->names[static_cast<std::size_t>(node.name)].name;
    }
    rows.table.mostInText = 0;
    tree_->setRows(std::move(rows));
    tree_->openTo(kOpenLevels);
    span_->setText(range ? tr("%1 of %2").arg(wall(range->end - range->start), wall(timeline_->end))
                         : wall(timeline_->end));
    fillLengths();
  }

  std::vector<QPixmap> marksOf() const {
    std::vector<QPixmap> marks;
    for (const analysis::HostNameUse& use : sums_->uses)
      marks.push_back(timeline::swatch(
          canvas_->scene().roleOfChannel(timeline_->names[static_cast<std::size_t>(use.name)].channel), false,
          context_.palette, devicePixelRatioF()));
    return marks;
  }

  /// Shows the lengths of the chosen name, or of the one with most time of its own.
  void fillLengths() {
    std::vector<geometry::Bar> bars;
    QStringList names, notes;
    const auto chosen = std::ranges::find(sums_->uses, canvas_->only(), &analysis::HostNameUse::name);
    const auto shown = chosen == sums_->uses.end() ? sums_->uses.begin() : chosen;
    if (shown != sums_->uses.end()) {
      const analysis::HostLabel& label = timeline_->names[static_cast<std::size_t>(shown->name)];
      const auto& counts = shown->histogram.counts;
      const auto isUsed = [](std::int64_t count) { return count > 0; };
      const auto first = std::ranges::find_if(counts, isUsed) - counts.begin();
      const auto last = std::find_if(counts.rbegin(), counts.rend(), isUsed).base() - counts.begin();
      for (auto bin = first; bin < last; ++bin) {
        const auto at = static_cast<std::size_t>(bin);
        bars.push_back(
            {{{canvas_->scene().roleOfChannel(label.channel), static_cast<double>(counts[at]), ""}}});
        names << tr("from %1").arg(wall(analysis::HostHistogram::lowerEdge(at)));
        notes << QStringLiteral("%L1").arg(counts[at]);
      }
      QString name = text(label.name);
      name.replace(QLatin1Char('&'), QStringLiteral("&&"));
      tabs_->setTabText(kLengthsTab, tr("Lengths of “%1”").arg(name));
    }
    lengths_->setBars(std::move(bars), names, notes);
  }

  void choose(int name) {
    canvas_->setOnly(name);
    names_->setCurrentIndex(name + 1);
    if (sums_) fillLengths();
  }

  void showSelection() {
    const std::optional<HostHit>& hit = canvas_->selected();
    if (!timeline_ || !hit)
      return details_->setFacts({{tr("Selection"), tr("Click a span, an event or a call."), {}}});
    details_->setFacts(hostFacts(*timeline_, *hit));
    tabs_->setCurrentIndex(kDetailsTab);
  }

  /// Calls, spans and events whose name contains the text, by time within each thread.
  std::vector<HostHit> hitsOf(const QString& wanted) const {
    std::vector<HostHit> hits;
    std::vector<bool> matches;
    for (const analysis::HostLabel& label : timeline_->names)
      matches.push_back(text(label.name).contains(wanted, Qt::CaseInsensitive) ||
                        text(label.channel).contains(wanted, Qt::CaseInsensitive));
    for (std::size_t c = 0; c < timeline_->calls.size() && hits.size() < kMostFound; ++c) {
      if (text(timeline_->calls[c].name).contains(wanted, Qt::CaseInsensitive))
        hits.push_back({HostHit::Kind::call, 0, c});
    }
    for (std::size_t l = 0; l < timeline_->lanes.size(); ++l) {
      const analysis::HostLane& lane = timeline_->lanes[l];
      for (std::size_t i = 0; i < lane.spans.size() && hits.size() < kMostFound; ++i)
        if (matches[static_cast<std::size_t>(lane.spans[i].name)])
          hits.push_back({HostHit::Kind::span, l, i});
      for (std::size_t i = 0; i < lane.events.size() && hits.size() < kMostFound; ++i)
        if (matches[static_cast<std::size_t>(lane.events[i].name)])
          hits.push_back({HostHit::Kind::event, l, i});
    }
    return hits;
  }

  static constexpr int kOpenLevels = 3, kLengthsTab = 2, kDetailsTab = 3;

  timeline::HostCanvas* canvas_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  DataTable *table_ = nullptr, *series_ = nullptr;
  TreeTable* tree_ = nullptr;
  timeline::BarChart* lengths_ = nullptr;
  FactGrid* details_ = nullptr;
  QComboBox* names_ = nullptr;
  shell::ElidedLabel* span_ = nullptr;
  QTimer wait_;
  std::shared_ptr<const HostTimeline> timeline_;
  std::set<std::string> pinned_;  ///< counters that the timeline shows above its rows
  HostSumsPointer sums_;
  QString wanted_;
  int found_ = -1;
  bool fresh_ = true;  ///< another profile is shown from now on
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(host) {
  registry.add(
      {QStringLiteral("host"), QObject::tr("Host"), QStringLiteral("host"),
       QObject::tr("What the host did in wall time: threads, names, call tree, series"), PageGroup::recorded,
       30, [](PageContext& context) -> Page* { return new pages::HostPage(context); }, true,
       [](const analysis::Catalog& catalog, model::ExecutableId) { return pages::whyNoHost(catalog); }});
}

}  // namespace pipescope::shell
