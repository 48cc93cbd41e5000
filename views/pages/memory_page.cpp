// Shows memory by tile: how full each tile is, and with what.
#include <QApplication>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/address_map.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/memory_toolbar.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/pages/parts/tables/unit_list.h"
#include "views/pages/parts/tables/unit_tables.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/painters/shapes_painter.h"
#include "views/timeline/tile_map.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

QString memoryPageBytesText(std::int64_t bytes) {
  return text(formatCell(bytes, Format::bytes));
}

}  // namespace

class MemoryPage : public shell::Page {
 public:
  explicit MemoryPage(shell::PageContext& context) : Page(context) {
    auto* area = new SplitArea(context.palette, makeToolbar(), this);
    upper_ = area->picture();
    tabs_ = area->tabs();
    chart_ = new Chart(context.palette, upper_);
    chart_->setAccessibleName(tr("Memory by tile"));
    legend_ = new timeline::Legend(context.palette, upper_);
    map_ = new timeline::TileMap(context.palette, upper_);
    map_->setVisible(false);
    upper_->body()->addWidget(readout_);
    upper_->body()->addWidget(chart_, 1);
    upper_->body()->addWidget(map_, 1);
    upper_->body()->addWidget(legend_);
    const auto addTab = [&](const QString& name) {
      auto* table = new DataTable(context.palette, tabs_);
      table->setFilterVisible(tabs_->count() > 0);
      tabs_->addTab(table, name);
      return table;
    };
    table_ = addTab(tr("Breakdown"));
    tree_ = new TreeTable(context.palette, tabs_);
    tree_->setComparable(false);  // it depends on the selected tiles
    tabs_->addTab(tree_, tr("Tree"));
    details_ = addTab(tr("Details"));
    variables_ = addTab(tr("Variables"));
    vertices_ = addTab(tr("Vertices"));
    exchanges_ = addTab(tr("Exchanges"));
    addresses_ = new AddressMap(context.palette, tabs_);
    tabs_->addTab(addresses_, tr("Addresses"));
    allSpaces_ = new DataTable(context.palette, tabs_);
    tabs_->addTab(allSpaces_, tr("Spaces"));
    connect(&context.selection, &shell::Selection::changed, this, &MemoryPage::followOthers);
    setContent(area);
    connect(chart_, &Chart::hovered, this, [this](int unit) {
      const std::int64_t other = chart_->otherTotal(unit);
      readout_->setText(describe(unit) +
                        (other < 0 ? QString() : tr(" · source %1").arg(memoryPageBytesText(other))));
    });
    connect(chart_, &Chart::clicked, this, [this](int unit) {
      selectUnits(QApplication::keyboardModifiers() & Qt::ShiftModifier ? added(unit)
                  : chosen_ == std::vector<int>{unit}                   ? std::vector<int>()
                                                                        : std::vector<int>{unit});
      tellOthers();
    });
    connect(map_, &timeline::TileMap::hovered, this, [this](int unit) { readout_->setText(describe(unit)); });
    connect(map_, &timeline::TileMap::clicked, this, [this](int unit, bool add) {
      selectUnits(add ? added(unit) : std::vector<int>{unit});
      tellOthers();
    });
    offerSubjects(*chart_, [this](int unit) { return subjectOfUnit(unit); });
    offerSubjects(*map_, [this](int unit) { return subjectOfUnit(unit); });
    context.actions.describe(tr("Memory"), tr("Select a tile, or several tiles"), tr("click; Shift+click"));
    context.actions.describe(tr("Memory"), tr("Show the device of a tile on the trace"), tr("double click"));
    QAction* fullest = context.actions.add(tr("Memory"), tr("Select the fullest tile"),
                                           {QKeySequence(Qt::Key_F)}, [this] { selectFullest(); });
    own(fullest);
    QAction* none = context.actions.add(tr("Memory"), tr("Select all tiles again"), {QKeySequence(Qt::Key_0)},
                                        [this] { selectUnits({}); });
    own(none);
    connect(table_, &DataTable::rowOpened, this, &MemoryPage::showVariablesOf);
    context.actions.describe(tr("Memory"), tr("List the variables of a purpose, layer or category"),
                             tr("double click"));
    connect(bar_, &MemoryToolbar::fullestWanted, this, &MemoryPage::selectFullest);
    connect(&context.palette, &shell::Palette::changed, this, [this] { mark(); });
  }

  /// Selects a tile.
  void show(const shell::Place& place) override {
    if (place.unit < 0) return;
    pending_ = place;
    if (data_ && isSettled()) showPending();
  }

  /// Selects the tiles of the same numbers.
  void mirror(const Page* shown) override {
    if (shown == nullptr) return;
    std::vector<int> units;
    for (const int unit : static_cast<const MemoryPage*>(shown)->chosen_) {
      if (unit < chart_->size()) units.push_back(unit);
    }
    if (data_ && units != chosen_) selectUnits(std::move(units));
  }

 protected:
  void forget() override {
    chosen_.clear();
    bar_->setUnits({});
  }
  void forgetProfile() override { bar_->setSpaces({}); }

  Load load() override {
    return [this, choice = bar_->choice()](const Job& job) -> base::Result<Apply> {
      auto made =
          collectMemory({job.source, job.catalog, job.executable, -1, job.reports}, choice, job.progress);
      if (!made.ok()) return made.error();
      auto content = std::make_shared<const MemoryData>(*std::move(made));
      std::vector<StackLayer> layers;
      for (const MemoryLayer& layer : content->layers) layers.push_back({layer.role, layer.values, false});
      return Apply([this, content, stack = stackOf(std::move(layers))] { apply(content, stack); });
    };
  }

  shell::Picture picture() override {
    return {upper_, accessibleName(), [this] {
              const auto [from, to] = chart_->range();
              chart_->setRange(0, chart_->size());
              return [this, from = from, to = to] { chart_->setRange(from, to); };
            }};
  }

 private:
  std::vector<int> added(int unit) const {
    std::vector<int> units = chosen_;
    const auto known = std::find(units.begin(), units.end(), unit);
    known == units.end() ? static_cast<void>(units.push_back(unit)) : static_cast<void>(units.erase(known));
    return units;
  }

  /// Shows the selected units in the list, the chart and the map, and reads their tables.
  void selectUnits(std::vector<int> units) {
    chosen_ = std::move(units);
    std::sort(chosen_.begin(), chosen_.end());
    bar_->setUnits(unitList(chosen_));
    chart_->setMark(chosen_.empty() ? -1 : chosen_.front());
    map_->setSelected(chosen_);
    readout_->setText(describe(chart_->mark()));
    readTabs();
  }

  /// Selects the tile that another page leads to. If its device is not shown, shows all devices.
  void showPending() {
    const shell::Place place = *pending_;
    std::int64_t before = 0;
    for (const ShownSpace& space : data_->shown) {
      if (space.device == place.device && place.unit < space.units) {
        pending_.reset();
        selectUnits({static_cast<int>(before + place.unit)});
        return tellOthers();
      }
      before += space.units;
    }
    const bool all = !bar_->choice().space.valid();
    if (all) return pending_.reset();
    bar_->chooseAll();
    reload();
  }

  int fullest() const { return chart_->highest(); }

  void selectFullest() {
    if (!data_ || chart_->size() == 0) return;
    selectUnits({fullest()});
    tellOthers();
  }

  /// Highlights the device of what another page selected.
  void followOthers() {
    if (!data_) return;
    const model::DeviceId device = context_.selection.current().device;
    int lit = -1;
    for (std::size_t i = 0; i < data_->shown.size(); ++i) {
      if (device.valid() && data_->shown[i].device == device) lit = static_cast<int>(i);
    }
    chart_->lightBand(lit);
    map_->setLit(lit);
    // Variables are in the table that follows the selection.
    if (!context_.selection.current().name.isEmpty()) tabs_->setCurrentWidget(variables_);
  }

  /// The tile of a place of the chart.
  shell::Selected subjectOfUnit(int unit) const {
    shell::Selected subject;
    std::int64_t before = 0;
    for (std::size_t i = 0; data_ && unit >= 0 && i < data_->shown.size(); ++i) {
      const ShownSpace& space = data_->shown[i];
      if (unit >= before && unit < before + space.units) {
        subject.kind = shell::Selected::Kind::memory;
        subject.device = space.device;
        subject.unit = space.units > 1 ? unit - before : -1;
      }
      before += space.units;
    }
    return subject;
  }

  /// Tells other pages the device of the first selected tile.
  void tellOthers() {
    if (!chosen_.empty()) context_.selection.set(subjectOfUnit(chosen_.front()));
  }

  /// Lists the variables, code or descriptors of a row of the breakdown.
  void showVariablesOf(int row) {
    const MemoryBreakdown by = bar_->choice().breakdown;
    const auto& rows = table_->model()->table().rows;
    if (row < 0 || row >= static_cast<int>(rows.size()) || by == MemoryBreakdown::region ||
        by == MemoryBreakdown::liveness || by == MemoryBreakdown::none)
      return;
    const QString name = wordsIn(rows[static_cast<std::size_t>(row)].front());
    // Code and descriptors are in tables of their own.
    for (DataTable* table : {variables_, vertices_, exchanges_}) {
      table->filterBy(name, by == MemoryBreakdown::layer ? "name" : "category");
      if (table->shown()->rowCount() > 0) return tabs_->setCurrentWidget(table);
      table->filter()->clear();
    }
  }

  void followView() {
    const bool map = bar_->showsMap();
    chart_->setVisible(!map);
    legend_->setVisible(!map);
    map_->setVisible(map);
  }

  /// Reads the details of the selected tiles, or of all tiles, and the variables of their devices.
  void readTabs() {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (!data_ || snapshot == nullptr || data_->shown.empty()) return;
    std::vector<WantedUnits> wanted;
    std::int64_t before = 0;
    for (const ShownSpace& space : data_->shown) {
      std::vector<std::int64_t> units;
      for (const int unit : chosen_) {
        if (unit >= before && unit < before + space.units) units.push_back(unit - before);
      }
      before += space.units;
      if (chosen_.empty() || !units.empty())
        wanted.push_back({space.id, space.name.toStdString(), std::move(units)});
    }
    if (progress_) progress_->cancel();
    progress_ = std::make_shared<shell::SharedProgress>();
    table_->setTable(chosen_.empty() ? data_->table : breakdownTable(*data_, chosen_));
    mark();
    readInBackground(
        [held = *snapshot, executable = context_.session.executable(), wanted, unit = data_->unitName,
         progress = progress_] { return unitTables(held, executable, wanted, unit, *progress); },
        [this, progress = progress_](base::Result<UnitTables>&& made) {
          if (progress == progress_) showTabs(std::move(made));
        });
  }

  void showTabs(base::Result<UnitTables>&& made) {
    if (!made.ok()) {
      for (DataTable* table : {details_, variables_, vertices_, exchanges_})
        table->setTable({"error", made.error().message, "", {}, {}});
      return;
    }
    constexpr int kDeepest = 3;
    tree_->setRows(std::move(made->tree));
    tree_->openTo(kDeepest);
    details_->setTable(std::move(made->details));
    variables_->setTable(std::move(made->variables));
    vertices_->setTable(std::move(made->vertices));
    exchanges_->setTable(std::move(made->exchanges));
    addresses_->setTable(std::move(made->addresses));
  }

  MemoryToolbar* makeToolbar() {
    bar_ = new MemoryToolbar(context_.palette, this);
    readout_ = new ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, this);
    connect(bar_, &MemoryToolbar::spaceChosen, this, [this] {
      forget();
      reload();
    });
    connect(bar_, &MemoryToolbar::choiceChanged, this, &MemoryPage::reload);
    connect(bar_, &MemoryToolbar::capacityChanged, this, &MemoryPage::showLimit);
    connect(bar_, &MemoryToolbar::viewChanged, this, &MemoryPage::followView);
    connect(bar_, &MemoryToolbar::unitsChosen, this, [this] {
      if (!data_) return;
      auto units = unitsIn(bar_->units(), chart_->size(), text(memoryUnit(data_->unitName)));
      if (!units.ok()) return bar_->setUnitsReason(text(units.error().message));
      selectUnits(*std::move(units));
      tellOthers();
    });
    return bar_;
  }

  void apply(std::shared_ptr<const MemoryData> content, std::shared_ptr<const Stack> stack) {
    data_ = std::move(content);
    if (data_->spaces.empty()) return showInstead(whyNoMemory(*context_.session.snapshot()->catalog));
    bar_->setSpaces(data_->spaces);
    remark(data_->divided ? QString()
                          : tr("This profile does not say which %1 holds which variable, so variables are "
                               "not told apart. Run again with --record steps or --record tiles.")
                                .arg(text(memoryUnit(data_->unitName))),
           shell::NoticeKind::info);
    std::vector<timeline::LegendEntry> entries;
    for (const MemoryLayer& layer : data_->layers) entries.push_back({layer.name, layer.role, false});
    std::vector<ChartBand> bands;
    double from = 0;
    for (const ShownSpace& space : data_->shown) {
      bands.push_back({from, from + static_cast<double>(space.units), space.name, false, {}});
      from += static_cast<double>(space.units);
    }
    const QString unit = text(memoryUnit(data_->unitName));
    followUnits();
    chart_->setAxes(
        data_->shown.size() > 1 ? tr("%1s of all devices, one device after another").arg(unit) : unit,
        bar_->choice().gaps ? tr("address span per %1, bytes").arg(unit) : tr("bytes used per %1").arg(unit));
    chart_->enableAxis(QwtPlot::xBottom,
                       !data_->unitName.empty());  // devices in one piece have names instead of numbers
    chart_->setStack(std::move(stack), std::move(bands));
    chooseCapacity();
    showLimit();
    legend_->setEntries(std::move(entries));
    allSpaces_->setTable(data_->allSpaces);
    fillMap();
    selectUnits(chosen_);
    followOthers();
    if (pending_) showPending();
  }

  void followUnits() {
    const bool inUnits = !data_->unitName.empty();
    const QString unit = text(memoryUnit(data_->unitName));
    bar_->setUnitName(unit, inUnits);
    followView();
    for (QWidget* tab : std::initializer_list<QWidget*>{vertices_, exchanges_})
      tabs_->setTabVisible(tabs_->indexOf(tab), inUnits);
    chart_->setAccessibleName(tr("Memory by %1").arg(unit));
  }

  void fillMap() {
    std::vector<std::int64_t> bytes;
    for (int unit = 0; unit < chart_->size(); ++unit) bytes.push_back(chart_->total(unit));
    std::vector<std::pair<int, QString>> breaks;
    int from = 0;
    for (const ShownSpace& space : data_->shown) {
      breaks.emplace_back(from, space.name);
      from += static_cast<int>(space.units);
    }
    map_->setUnits(std::move(bytes), std::move(breaks));
    scaleMap();
  }

  /// The colours of the map reach up to the capacity of a tile, or up to the fullest tile if the capacity is
  /// not shown.
  void scaleMap() {
    const std::int64_t high = bar_->showsCapacity() ? data_->capacity : mostBytes();
    map_->setScale(0, high);
    map_->setNames(QStringLiteral("0"), memoryPageBytesText(high));
  }

  /// A model that is small beside the capacity would be a line on the axis, so the chart then leaves the
  /// capacity out until the user asks for it.
  void chooseCapacity() {
    constexpr std::int64_t kTooSmall = 10;
    if (data_->capacity > 0) bar_->suggestCapacity(mostBytes() >= data_->capacity / kTooSmall);
  }

  std::int64_t mostBytes() const { return chart_->total(chart_->highest()); }

  void showLimit() {
    if (!data_) return;
    scaleMap();
    chart_->setLimit(
        bar_->showsCapacity() ? static_cast<double>(data_->capacity) : -1,
        tr("%1 per %2").arg(memoryPageBytesText(data_->capacity), text(memoryUnit(data_->unitName))));
  }

  void mark() {
    if (!data_) return;
    std::vector<QPixmap> marks;
    for (const ColourRole role : data_->marks)
      marks.push_back(timeline::swatch(role, false, context_.palette, devicePixelRatioF()));
    table_->setMarks(std::move(marks));
  }

  /// Describes a unit; without one, the fullest.
  QString describe(int unit) const {
    if (!data_ || chart_->size() == 0 || data_->used.empty()) return {};
    if (unit < 0) unit = chart_->mark();
    if (unit >= 0) return unitWords(*data_, static_cast<std::size_t>(unit));
    const auto highest = static_cast<std::size_t>(fullest());
    const QString words = unitWords(*data_, highest), span = largestSpanWords(*data_, highest);
    if (bar_->choice().gaps) return tr("Largest address span: %1").arg(words);
    return span.isEmpty() ? tr("Fullest: %1").arg(words) : tr("Fullest: %1; %2").arg(words, span);
  }

  std::shared_ptr<const MemoryData> data_;
  MemoryToolbar* bar_ = nullptr;
  ElidedLabel* readout_ = nullptr;
  Chart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  DataTable *table_ = nullptr, *details_ = nullptr, *variables_ = nullptr, *vertices_ = nullptr,
            *exchanges_ = nullptr;
  TreeTable* tree_ = nullptr;
  AddressMap* addresses_ = nullptr;
  timeline::TileMap* map_ = nullptr;
  Panel* upper_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  DataTable* allSpaces_ = nullptr;
  std::vector<int> chosen_;  ///< selected units of the chart
  std::optional<shell::Place> pending_;
  std::shared_ptr<shell::SharedProgress> progress_;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(memory) {
  registry.add({QStringLiteral("memory"), QObject::tr("Memory"), QStringLiteral("memory"),
                QObject::tr("Bytes by tile and category"), PageGroup::memory, 10,
                [](PageContext& context) -> Page* { return new pages::MemoryPage(context); }, true,
                [](const analysis::Catalog& catalog, model::ExecutableId) {
                  return catalog.memorySpaces.empty() || catalog.measured() ? pages::whyNoMemory(catalog)
                                                                            : QString();
                }});
}

}  // namespace pipescope::shell
