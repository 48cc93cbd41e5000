// Memory by tile: where it is full, and with what.
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/sections/section.h"
#include "views/pages/parts/chart.h"
#include "views/pages/parts/data_table.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/memory_data.h"
#include "views/pages/parts/panel.h"
#include "views/pages/parts/text.h"
#include "views/pages/parts/unit_tables.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/shapes_painter.h"
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
    for (const QString& name :
         {tr("Breakdown"), tr("Details"), tr("Variables"), tr("Vertices"), tr("Exchanges")}) {
      tables_.push_back(new DataTable(context.palette, tabs_));
      tables_.back()->setFilterVisible(tables_.size() > 1);
      tabs_->addTab(tables_.back(), name);
    }
    table_ = tables_.front();
    allSpaces_ = new DataTable(context.palette, tabs_);
    tabs_->addTab(allSpaces_, tr("Spaces"));
    connect(&context.selection, &shell::Selection::changed, this, &MemoryPage::followOthers);
    setContent(area);
    connect(chart_, &Chart::hovered, this, [this](int unit) { readout_->setText(describe(unit)); });
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
    connect(view_, QOverload<int>::of(&QComboBox::activated), this, [this] { followView(); });
    connect(units_, &QLineEdit::editingFinished, this, [this] { selectUnits(unitsIn(units_->text())); });
    context.actions.describe(tr("Memory"), tr("Select a tile; several"), tr("click; Shift+click"));
    connect(&context.palette, &shell::Palette::changed, this, [this] { mark(); });
  }

 protected:
  void forget() override {
    chosen_.clear();
    units_->clear();
  }

  Load load() override {
    MemoryChoice choice;
    choice.space =
        model::MemorySpaceId(device_->currentData().isValid() ? device_->currentData().toLongLong() : -1);
    choice.breakdown = static_cast<MemoryBreakdown>(breakdown_->currentIndex());
    choice.gaps = gaps_->isChecked();
    return [this, choice](const Job& job) -> base::Result<Apply> {
      auto made = collectMemory({job.source, job.catalog, job.executable}, choice);
      if (!made.ok()) return made.error();
      auto content = std::make_shared<const MemoryData>(*std::move(made));
      return Apply([this, content] { apply(content); });
    };
  }

  QWidget* picture() override { return upper_; }

 private:
  /// "0,5-7" as numbers; what is none is left out.
  std::vector<int> unitsIn(const QString& list) const {
    std::vector<int> units;
    const int count = chart_->size();
    for (const QString& part : list.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
      bool first = false, second = true;
      const int from = part.section(QLatin1Char('-'), 0, 0).trimmed().toInt(&first);
      const int to =
          part.contains(QLatin1Char('-')) ? part.section(QLatin1Char('-'), 1).trimmed().toInt(&second) : from;
      for (int unit = from; first && second && unit <= to && unit < count; ++unit) {
        if (unit >= 0 && std::find(units.begin(), units.end(), unit) == units.end()) units.push_back(unit);
      }
    }
    return units;
  }

  std::vector<int> added(int unit) const {
    std::vector<int> units = chosen_;
    const auto known = std::find(units.begin(), units.end(), unit);
    known == units.end() ? static_cast<void>(units.push_back(unit)) : static_cast<void>(units.erase(known));
    return units;
  }

  /// What is selected is said in the list, in chart and map, and fills the tabs.
  void selectUnits(std::vector<int> units) {
    chosen_ = std::move(units);
    std::sort(chosen_.begin(), chosen_.end());
    QStringList parts;
    for (std::size_t i = 0; i < chosen_.size();) {
      std::size_t end = i + 1;
      while (end < chosen_.size() && chosen_[end] == chosen_[end - 1] + 1) ++end;
      parts << (end - i == 1 ? QString::number(chosen_[i])
                             : QStringLiteral("%1-%2").arg(chosen_[i]).arg(chosen_[end - 1]));
      i = end;
    }
    units_->setText(parts.join(QLatin1Char(',')));
    chart_->setMark(chosen_.empty() ? -1 : chosen_.front());
    map_->setSelected(chosen_);
    readout_->setText(describe(chart_->mark()));
    readTabs();
  }

  /// The device that something selected elsewhere belongs to is lit.
  void followOthers() {
    if (!data_) return;
    const model::DeviceId device = context_.selection.current().device;
    int lit = -1;
    for (std::size_t i = 0; i < data_->shown.size(); ++i) {
      if (device.valid() && data_->shown[i].device == device) lit = static_cast<int>(i);
    }
    chart_->lightBand(lit);
    map_->setLit(lit);
  }

  /// The device of the first selected tile, for other pages.
  void tellOthers() {
    std::int64_t before = 0;
    for (const MemoryPart& space : data_->shown) {
      if (!chosen_.empty() && chosen_.front() >= before && chosen_.front() < before + space.units) {
        shell::Selected selected;
        selected.kind = shell::Selected::Kind::memory;
        selected.device = space.device;
        selected.unit = space.units > 1 ? chosen_.front() - before : -1;
        context_.selection.set(selected);
      }
      before += space.units;
    }
  }

  void followView() {
    const bool map = view_->currentIndex() == 1;
    chart_->setVisible(!map);
    legend_->setVisible(!map);
    map_->setVisible(map);
  }

  /// Details of the selected tiles, or of all that are shown; variables of their devices.
  void readTabs() {
    const shell::Snapshot* snapshot = context_.session.snapshot();
    if (!data_ || snapshot == nullptr || data_->shown.empty()) return;
    WantedUnits wanted;
    std::int64_t before = 0;
    for (const MemoryPart& space : data_->shown) {
      std::vector<std::int64_t> units;
      for (const int unit : chosen_) {
        if (unit >= before && unit < before + space.units) units.push_back(unit - before);
      }
      before += space.units;
      if (chosen_.empty() || !units.empty()) wanted.emplace_back(space.id, std::move(units));
    }
    readBeside([held = *snapshot, executable = context_.session.executable(), wanted,
                unit = data_->unitName] { return unitTables(held, executable, wanted, unit); },
               [this, generation = ++generation_](base::Result<std::vector<sections::Table>>&& made) {
                 if (generation != generation_) return;
                 for (std::size_t i = 1; i < tables_.size(); ++i) {
                   made.ok() ? tables_[i]->setTable(std::move((*made)[i - 1]))
                             : tables_[i]->setTable({"error", made.error().message, "", {}, {}});
                 }
               });
  }

  QHBoxLayout* makeToolbar() {
    auto* bar = new QHBoxLayout;
    bar->setSpacing(8);
    device_ = new QComboBox(this);
    device_->setAccessibleName(tr("Device"));
    device_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    breakdown_ = new QComboBox(this);
    breakdown_->addItems({tr("In one colour"), tr("By category"), tr("By region"), tr("By liveness")});
    breakdown_->setCurrentIndex(static_cast<int>(MemoryBreakdown::category));
    breakdown_->setAccessibleName(tr("Breakdown"));
    gaps_ = new QCheckBox(tr("With gaps"), this);
    gaps_->setChecked(true);
    gaps_->setToolTip(tr("Bytes between variables that nothing can use"));
    capacity_ = new QCheckBox(tr("Capacity"), this);
    capacity_->setChecked(true);
    view_ = new QComboBox(this);
    view_->addItems({tr("Chart"), tr("Tile map")});
    view_->setAccessibleName(tr("View"));
    view_->setToolTip(tr("Bytes by tile, or the tiles as squares in the order of their numbers"));
    units_ = new QLineEdit(this);
    units_->setAccessibleName(tr("Selected tiles"));
    units_->setToolTip(tr("Tiles to look at, counted over the devices shown; empty: all"));
    units_->setMaximumWidth(130);
    readout_ = new ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, this);
    for (QWidget* widget :
         std::initializer_list<QWidget*>{view_, device_, breakdown_, gaps_, capacity_, units_})
      bar->addWidget(widget);
    bar->addStretch(1);
    connect(device_, QOverload<int>::of(&QComboBox::activated), this, [this] {
      forget();
      reload();
    });
    connect(breakdown_, QOverload<int>::of(&QComboBox::activated), this, &MemoryPage::reload);
    connect(gaps_, &QCheckBox::toggled, this, &MemoryPage::reload);
    connect(capacity_, &QCheckBox::toggled, this, [this] { showLimit(); });
    connect(capacity_, &QCheckBox::clicked, this, [this] { capacityChosen_ = true; });
    return bar;
  }

  void apply(std::shared_ptr<const MemoryData> content) {
    data_ = std::move(content);
    if (data_->spaces.empty()) {
      const bool modelled = !context_.session.snapshot()->catalog->memorySpaces.empty();
      return showInstead(!modelled ? tr("Memory is not modelled for this system: its costs come from the "
                                        "configuration. Emulate an IPU system to see memory by tile.")
                                   : tr("This profile holds no memory for the executable."));
    }
    fillDevices();
    std::vector<StackLayer> layers;
    std::vector<timeline::LegendEntry> entries;
    for (const MemoryLayer& layer : data_->layers) {
      layers.push_back({layer.role, layer.values, false});
      entries.push_back({layer.name, layer.role, false});
    }
    std::vector<ChartBand> bands;
    double from = 0;
    for (const MemoryPart& space : data_->shown) {
      bands.push_back({from, from + static_cast<double>(space.units), space.name, false, {}});
      from += static_cast<double>(space.units);
    }
    const QString unit = text(memoryUnit(data_->unitName));
    followUnits();
    chart_->setAxes(data_->shown.size() > 1 ? tr("%1, all devices one after another").arg(unit) : unit,
                    tr("bytes per %1").arg(unit));
    chart_->enableAxis(QwtPlot::xBottom, !data_->unitName.empty());  // cards have names, not numbers
    chart_->setStack(std::move(layers), std::move(bands));
    chooseCapacity();
    showLimit();
    legend_->setEntries(std::move(entries));
    table_->setTable(data_->table);
    mark();
    allSpaces_->setTable(data_->allSpaces);
    fillMap();
    selectUnits(chosen_);
    followOthers();
  }

  /// Memory in one piece, as HBM, has no tiles to choose and no map of them.
  void followUnits() {
    const bool tiles = !data_->unitName.empty();
    const QString unit = text(memoryUnit(data_->unitName));
    view_->setVisible(tiles);
    if (!tiles) view_->setCurrentIndex(0), followView();
    units_->setVisible(tiles);
    for (const std::size_t tab : {std::size_t{3}, std::size_t{4}})  // vertices and exchanges
      tabs_->setTabVisible(tabs_->indexOf(tables_[tab]), tiles);
    units_->setPlaceholderText(tr("%1s: 0,5-7").arg(unit));
    capacity_->setToolTip(
        tiles ? tr("A line at what a %1 has; the %1 map's colours reach to it, otherwise to the fullest %1")
                    .arg(unit)
              : tr("A line at what a %1 has").arg(unit));
    chart_->setAccessibleName(tr("Memory by %1").arg(unit));
  }

  void fillMap() {
    std::vector<std::int64_t> bytes;
    for (int unit = 0; unit < chart_->size(); ++unit) bytes.push_back(chart_->total(unit));
    std::vector<std::pair<int, QString>> breaks;
    int from = 0;
    for (const MemoryPart& space : data_->shown) {
      breaks.emplace_back(from, space.name);
      from += static_cast<int>(space.units);
    }
    map_->setUnits(std::move(bytes), std::move(breaks));
    scaleMap();
  }

  /// Colours reach to the capacity of a tile, or where that is not shown to the fullest one.
  void scaleMap() {
    const std::int64_t high = capacity_->isChecked() ? data_->capacity : mostBytes();
    map_->setScale(0, high);
    map_->setNames(QStringLiteral("0"), memoryPageBytesText(high));
  }

  void fillDevices() {
    const QVariant before = device_->currentData();
    const QSignalBlocker blocker(device_);
    device_->clear();
    if (data_->spaces.size() > 1)
      device_->addItem(tr("All %1").arg(memoryWords(data_->spaces.front().kind)),
                       QVariant::fromValue<qlonglong>(-1));
    for (const MemoryPart& space : data_->spaces) {
      const bool usual = space.kind == data_->spaces.front().kind;
      device_->addItem(usual ? space.name : tr("%1 %2").arg(space.name, memoryWords(space.kind)),
                       QVariant::fromValue<qlonglong>(space.id.value));
    }
    device_->setCurrentIndex(std::max(0, device_->findData(before)));
  }

  /// Against what a card has, a small model is a line on the axis: until the user chooses, the chart is of
  /// what is there.
  void chooseCapacity() {
    constexpr std::int64_t kTooSmall = 10;
    if (capacityChosen_ || data_->capacity <= 0) return;
    const QSignalBlocker blocker(capacity_);
    capacity_->setChecked(mostBytes() >= data_->capacity / kTooSmall);
  }

  std::int64_t mostBytes() const {
    std::int64_t most = 0;
    for (int unit = 0; unit < chart_->size(); ++unit) most = std::max(most, chart_->total(unit));
    return most;
  }

  void showLimit() {
    if (!data_) return;
    scaleMap();
    chart_->setLimit(
        capacity_->isChecked() ? static_cast<double>(data_->capacity) : -1,
        tr("%1 per %2").arg(memoryPageBytesText(data_->capacity), text(memoryUnit(data_->unitName))));
  }

  void mark() {
    if (!data_) return;
    std::vector<QPixmap> marks;
    for (const ColourRole role : data_->marks)
      marks.push_back(timeline::swatch(role, false, context_.palette, devicePixelRatioF()));
    table_->setMarks(std::move(marks));
  }

  /// One unit in words; without one, the fullest.
  QString describe(int unit) const {
    if (!data_ || chart_->size() == 0) return {};
    QString prefix;
    if (unit < 0) unit = chart_->mark();
    if (unit < 0) {
      unit = 0;
      for (int i = 1; i < chart_->size(); ++i) unit = chart_->total(i) > chart_->total(unit) ? i : unit;
      prefix = tr("Fullest: ");
    }
    const std::int64_t bytes = chart_->total(unit);
    const double share =
        data_->capacity > 0 ? static_cast<double>(bytes) / static_cast<double>(data_->capacity) : 0;
    return prefix + tr("%1, %2 of %3 (%4)")
                        .arg(data_->names[static_cast<std::size_t>(unit)], memoryPageBytesText(bytes),
                             memoryPageBytesText(data_->capacity), text(formatCell(share, Format::fraction)));
  }

  std::shared_ptr<const MemoryData> data_;
  QComboBox *device_ = nullptr, *breakdown_ = nullptr;
  QCheckBox *gaps_ = nullptr, *capacity_ = nullptr;
  bool capacityChosen_ = false;
  ElidedLabel* readout_ = nullptr;
  Chart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  DataTable* table_ = nullptr;
  timeline::TileMap* map_ = nullptr;
  Panel* upper_ = nullptr;
  QComboBox* view_ = nullptr;
  QLineEdit* units_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  std::vector<DataTable*> tables_;
  DataTable* allSpaces_ = nullptr;
  std::vector<int> chosen_;  ///< units of the chart
  int generation_ = 0;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(memory) {
  registry.add({QStringLiteral("memory"), QObject::tr("Memory"), QStringLiteral("memory"),
                QObject::tr("Bytes by tile and category"), 40,
                [](PageContext& context) -> Page* { return new pages::MemoryPage(context); }});
}

}  // namespace pipescope::shell
