// Memory by tile: where it is full, and with what.
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <numeric>

#include "profiler/analysis/memory.h"
#include "profiler/analysis/tile_memory.h"
#include "profiler/sections/section.h"
#include "views/pages/parts/chart.h"
#include "views/pages/parts/data_table.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/panel.h"
#include "views/pages/parts/unit_tables.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/shapes_painter.h"
#include "views/timeline/tile_map.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

enum class Breakdown { none, category, region, liveness };

constexpr const char* kGap = "gap";
/// Categories beyond these share a colour and a row in the legend.
constexpr std::size_t kMostLayers = 11;

QString text(const std::string& from) {
  return QString::fromStdString(from);
}
QString bytesText(std::int64_t bytes) {
  return text(formatCell(bytes, Format::bytes));
}

/// A memory space of a device that holds something.
struct Space {
  model::MemorySpaceId id;
  QString name;
  std::int64_t units = 0, bytesPerUnit = 0;
};

struct Layer {
  QString name;
  ColourRole role;
  std::vector<std::int64_t> values;
};

struct MemoryData {
  std::vector<Space> spaces;   ///< all that can be chosen
  std::vector<Space> shown;    ///< those in the chart, one after another
  std::vector<Layer> layers;   ///< by unit over all shown
  std::vector<QString> names;  ///< of each unit's device
  sections::Table table;
  std::vector<ColourRole> marks;  ///< of the table's rows
  std::int64_t capacity = 0;      ///< of a unit
  std::string unitName;
};

struct Choice {
  model::MemorySpaceId space;  ///< none: all
  Breakdown breakdown = Breakdown::category;
  bool gaps = true;
};

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

void append(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from, std::size_t units) {
  to.insert(to.end(), from.begin(), from.end());
  to.resize(to.size() + (units - std::min(units, from.size())), 0);
}

std::vector<Layer> layersOf(const sections::Context& context, const std::vector<Space>& shown,
                            const Choice& choice, base::Status& status) {
  std::map<std::string, std::vector<std::int64_t>> columns;
  std::size_t before = 0;
  for (const Space& space : shown) {
    const auto units = static_cast<std::size_t>(space.units);
    std::map<std::string, std::vector<std::int64_t>> here;
    if (choice.breakdown == Breakdown::category) {
      auto made = analysis::unitUseByCategory(context.source, context.catalog, context.executable, space.id);
      if (!made.ok()) return status = made.error(), std::vector<Layer>();
      here = *std::move(made);
      if (!choice.gaps) here.erase(kGap);
    } else if (choice.breakdown == Breakdown::region) {
      auto made = analysis::unitUseByRegion(context.source, context.catalog, context.executable, space.id);
      if (!made.ok()) return status = made.error(), std::vector<Layer>();
      here = *std::move(made);
      if (!choice.gaps) here.erase(kGap);
    } else {
      auto made = analysis::unitUse(context.source, context.catalog, context.executable, space.id);
      if (!made.ok()) return status = made.error(), std::vector<Layer>();
      if (choice.breakdown == Breakdown::none) {
        here["bytes"] = choice.gaps ? made->includingGaps : made->excludingGaps;
      } else {
        here["always live"] = made->alwaysLive;
        here["not always live (peak)"] = made->notAlwaysLive;
        std::vector<std::int64_t> gaps(made->includingGaps.size());
        for (std::size_t i = 0; i < gaps.size(); ++i)
          gaps[i] = made->includingGaps[i] - made->excludingGaps[i];
        if (choice.gaps) here["gaps"] = std::move(gaps);
      }
    }
    for (auto& [name, values] : here) {
      columns[name].resize(before, 0);
      append(columns[name], values, units);
    }
    before += units;
    for (auto& [name, values] : columns) values.resize(before, 0);
  }
  std::vector<Layer> layers;
  for (auto& [name, values] : columns) layers.push_back({text(name), ColourRole::series, std::move(values)});
  return layers;
}

/// Largest first, gaps last; what is beyond the colours becomes "other".
void arrange(std::vector<Layer>& layers, Breakdown breakdown) {
  const auto isGap = [](const Layer& layer) {
    return layer.name == QLatin1String(kGap) || layer.name == QLatin1String("gaps");
  };
  std::stable_sort(layers.begin(), layers.end(), [&](const Layer& a, const Layer& b) {
    if (isGap(a) != isGap(b)) return isGap(b);
    return breakdown == Breakdown::category && sum(a.values) > sum(b.values);
  });
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (isGap(layers[i])) {
      layers[i].role = ColourRole::gaps;
    } else if (breakdown == Breakdown::liveness) {
      layers[i].role = i == 0 ? ColourRole::alwaysLive : ColourRole::notAlwaysLive;
    } else {
      layers[i].role = geometry::seriesRole(static_cast<int>(std::min(i, kMostLayers)));
    }
  }
}

void makeTable(MemoryData& content) {
  const std::string unit = content.unitName.empty() ? "unit" : content.unitName;
  content.table = {"categories",
                   "What fills it",
                   "over the " + unit + "s shown",
                   {{"name", "Category", Format::plain, ""},
                    {"bytes", "Bytes", Format::bytes, "sum over " + unit + "s"},
                    {"share", "Share", Format::fraction, "of all that is used"},
                    {"mean", "Mean", Format::bytes, "per " + unit},
                    {"max", "Most", Format::bytes, "on one " + unit},
                    {"unit", "On", Format::plain, "the " + unit + " that holds most of it"}},
                   {}};
  std::int64_t all = 0;
  for (const Layer& layer : content.layers) all += sum(layer.values);
  for (const Layer& layer : content.layers) {
    if (layer.values.empty()) continue;
    const std::int64_t total = sum(layer.values);
    const auto most = std::max_element(layer.values.begin(), layer.values.end()) - layer.values.begin();
    content.table.rows.push_back({layer.name.toStdString(), total,
                                  all > 0 ? static_cast<double>(total) / static_cast<double>(all) : 0.0,
                                  static_cast<double>(total) / static_cast<double>(layer.values.size()),
                                  layer.values[static_cast<std::size_t>(most)],
                                  content.names[static_cast<std::size_t>(most)].toStdString()});
    content.marks.push_back(layer.role);
  }
}

base::Result<MemoryData> collect(const sections::Context& context, const Choice& choice) {
  MemoryData content;
  PIPESCOPE_ASSIGN(const analysis::Memory memory,
                   analysis::memory(context.source, context.catalog, context.executable));
  for (const analysis::DeviceMemory& device : memory.devices) {
    if (const model::Device* row = context.catalog.device(model::DeviceId(device.index)))
      content.unitName = row->unitName;
    content.spaces.push_back({device.space, text(device.name), device.units, device.bytesPerUnit.count});
    content.capacity = std::max(content.capacity, device.bytesPerUnit.count);
  }
  for (const Space& space : content.spaces) {
    if (!choice.space.valid() || space.id == choice.space) content.shown.push_back(space);
  }
  if (content.shown.empty()) content.shown = content.spaces;
  base::Status status;
  content.layers = layersOf(context, content.shown, choice, status);
  PIPESCOPE_TRY(status);
  arrange(content.layers, choice.breakdown);
  for (const Space& space : content.shown) {
    for (std::int64_t u = 0; u < space.units; ++u)
      content.names.push_back(QObject::tr("%1 %2 %3").arg(space.name, text(content.unitName)).arg(u));
  }
  makeTable(content);
  return content;
}

}  // namespace

class MemoryPage : public shell::Page {
 public:
  explicit MemoryPage(shell::PageContext& context) : Page(context) {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(14, 10, 14, 12);
    layout->setSpacing(8);
    layout->addLayout(makeToolbar());
    auto* splitter = new QSplitter(Qt::Vertical, content);
    splitter->setChildrenCollapsible(false);
    auto* upper = new Panel(context.palette, {}, splitter);
    chart_ = new Chart(context.palette, upper);
    chart_->setAccessibleName(tr("Memory by tile"));
    legend_ = new timeline::Legend(context.palette, upper);
    map_ = new timeline::TileMap(context.palette, upper);
    map_->setVisible(false);
    upper->body()->addWidget(chart_, 1);
    upper->body()->addWidget(map_, 1);
    upper->body()->addWidget(legend_);
    upper_ = upper;
    auto* lower = new Panel(context.palette, {}, splitter);
    tabs_ = new QTabWidget(lower);
    tabs_->setDocumentMode(true);
    for (const QString& name :
         {tr("Breakdown"), tr("Details"), tr("Variables"), tr("Vertices"), tr("Exchanges")}) {
      tables_.push_back(new DataTable(context.palette, tabs_));
      tables_.back()->setFilterVisible(tables_.size() > 1);
      tabs_->addTab(tables_.back(), name);
    }
    table_ = tables_.front();
    lower->body()->addWidget(tabs_);
    splitter->addWidget(upper);
    splitter->addWidget(lower);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    layout->addWidget(splitter, 1);
    setContent(content);
    connect(chart_, &Chart::hovered, this, [this](int unit) { readout_->setText(describe(unit)); });
    connect(chart_, &Chart::clicked, this, [this](int unit) {
      selectUnits(QApplication::keyboardModifiers() & Qt::ShiftModifier ? added(unit)
                  : chosen_ == std::vector<int>{unit}                   ? std::vector<int>()
                                                                        : std::vector<int>{unit});
    });
    connect(map_, &timeline::TileMap::hovered, this, [this](int unit) { readout_->setText(describe(unit)); });
    connect(map_, &timeline::TileMap::clicked, this,
            [this](int unit, bool add) { selectUnits(add ? added(unit) : std::vector<int>{unit}); });
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
    Choice choice;
    choice.space =
        model::MemorySpaceId(device_->currentData().isValid() ? device_->currentData().toLongLong() : -1);
    choice.breakdown = static_cast<Breakdown>(breakdown_->currentIndex());
    choice.gaps = gaps_->isChecked();
    return [this, choice](const Job& job) -> base::Result<Apply> {
      auto made = collect({job.source, job.catalog, job.executable}, choice);
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
    for (const Space& space : data_->shown) {
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
    breakdown_->setCurrentIndex(static_cast<int>(Breakdown::category));
    breakdown_->setAccessibleName(tr("Breakdown"));
    gaps_ = new QCheckBox(tr("With gaps"), this);
    gaps_->setChecked(true);
    gaps_->setToolTip(tr("Bytes between variables that nothing can use"));
    capacity_ = new QCheckBox(tr("Capacity"), this);
    capacity_->setChecked(true);
    capacity_->setToolTip(tr("A line at what a tile has"));
    view_ = new QComboBox(this);
    view_->addItems({tr("Chart"), tr("Tile map")});
    view_->setAccessibleName(tr("View"));
    view_->setToolTip(tr("Bytes by tile, or the tiles as squares in the order of their numbers"));
    units_ = new QLineEdit(this);
    units_->setPlaceholderText(tr("tiles: 0,5-7"));
    units_->setAccessibleName(tr("Selected tiles"));
    units_->setToolTip(tr("Tiles to look at, counted over the devices shown; empty: all"));
    units_->setMaximumWidth(130);
    readout_ = new ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, this);
    for (QWidget* widget :
         std::initializer_list<QWidget*>{view_, device_, breakdown_, gaps_, capacity_, units_})
      bar->addWidget(widget);
    bar->addWidget(readout_, 1);
    connect(device_, QOverload<int>::of(&QComboBox::activated), this, [this] {
      forget();
      reload();
    });
    connect(breakdown_, QOverload<int>::of(&QComboBox::activated), this, &MemoryPage::reload);
    connect(gaps_, &QCheckBox::toggled, this, &MemoryPage::reload);
    connect(capacity_, &QCheckBox::toggled, this, [this] { showLimit(); });
    return bar;
  }

  void apply(std::shared_ptr<const MemoryData> content) {
    data_ = std::move(content);
    if (data_->spaces.empty()) {
      const std::string& family = context_.session.snapshot()->catalog->target.family;
      return showInstead(family == "fixed"
                             ? tr("Memory is not modelled for the system “fixed”: its costs come from the "
                                  "configuration. Emulate an IPU system to see memory by tile.")
                             : tr("This profile holds no memory for the executable."));
    }
    fillDevices();
    std::vector<StackLayer> layers;
    std::vector<timeline::LegendEntry> entries;
    for (const Layer& layer : data_->layers) {
      layers.push_back({layer.role, layer.values, false});
      entries.push_back({layer.name, layer.role, false});
    }
    std::vector<ChartBand> bands;
    double from = 0;
    for (const Space& space : data_->shown) {
      bands.push_back({from, from + static_cast<double>(space.units), space.name, false, {}});
      from += static_cast<double>(space.units);
    }
    const QString unit = data_->unitName.empty() ? tr("unit") : text(data_->unitName);
    chart_->setAxes(data_->shown.size() > 1 ? tr("%1, all devices one after another").arg(unit) : unit,
                    tr("bytes per %1").arg(unit));
    chart_->setStack(std::move(layers), std::move(bands));
    showLimit();
    legend_->setEntries(std::move(entries));
    table_->setTable(data_->table);
    mark();
    fillMap();
    selectUnits(chosen_);
  }

  void fillMap() {
    std::vector<std::int64_t> bytes;
    for (int unit = 0; unit < chart_->size(); ++unit) bytes.push_back(chart_->total(unit));
    std::vector<std::pair<int, QString>> breaks;
    int from = 0;
    for (const Space& space : data_->shown) {
      breaks.emplace_back(from, space.name);
      from += static_cast<int>(space.units);
    }
    map_->setUnits(std::move(bytes), std::move(breaks));
    map_->setScale(0, data_->capacity);
    map_->setNames(QStringLiteral("0"), bytesText(data_->capacity));
  }

  void fillDevices() {
    const QVariant before = device_->currentData();
    const QSignalBlocker blocker(device_);
    device_->clear();
    if (data_->spaces.size() > 1) device_->addItem(tr("All devices"), QVariant::fromValue<qlonglong>(-1));
    for (const Space& space : data_->spaces)
      device_->addItem(space.name, QVariant::fromValue<qlonglong>(space.id.value));
    device_->setCurrentIndex(std::max(0, device_->findData(before)));
  }

  void showLimit() {
    if (!data_) return;
    chart_->setLimit(
        capacity_->isChecked() ? static_cast<double>(data_->capacity) : -1,
        tr("%1 per %2")
            .arg(bytesText(data_->capacity), data_->unitName.empty() ? tr("unit") : text(data_->unitName)));
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
                        .arg(data_->names[static_cast<std::size_t>(unit)], bytesText(bytes),
                             bytesText(data_->capacity), text(formatCell(share, Format::fraction)));
  }

  std::shared_ptr<const MemoryData> data_;
  QComboBox *device_ = nullptr, *breakdown_ = nullptr;
  QCheckBox *gaps_ = nullptr, *capacity_ = nullptr;
  ElidedLabel* readout_ = nullptr;
  Chart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  DataTable* table_ = nullptr;
  timeline::TileMap* map_ = nullptr;
  QWidget* upper_ = nullptr;
  QComboBox* view_ = nullptr;
  QLineEdit* units_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  std::vector<DataTable*> tables_;
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
