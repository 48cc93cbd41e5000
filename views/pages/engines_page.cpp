// Shows how busy each engine of the devices is (of a Gaudi: MME, TPC, DMA and NIC), and how much of the
// communication other work hides.
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/sections/frame/words.h"
#include "views/pages/parts/charts/parts_chart.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

constexpr int kEngineRows = 16;
/// The charts show so many devices and lanes; the table has all of them.
constexpr std::size_t kMostDevicesShown = 16, kMostLanesShown = 32;

struct EnginesData {
  sections::Section section;
  bool ran = false;
};

QString enginesPercent(double share) {
  return text(formatCell(share, Format::fraction));
}

/// The lanes that may have a column, and the colours of what they do.
struct LaneColumn {
  const char* key;
  ColourRole role;
};
constexpr LaneColumn kLaneColumns[] = {
    {"compute_utilisation", ColourRole::compute},   {"exchange_utilisation", ColourRole::exchange},
    {"host_utilisation", ColourRole::streamCopy},   {"mme_utilisation", ColourRole::compute},
    {"tpc_utilisation", ColourRole::recompute},     {"dma_utilisation", ColourRole::remoteCopy},
    {"nic_utilisation", ColourRole::globalExchange}};

}  // namespace

class EnginesPage : public shell::Page {
 public:
  explicit EnginesPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    whole_ = new PartsChart(context.palette, tr("What each device does"), this);
    lanes_ = new PartsChart(context.palette, tr("How much each engine works"), this);
    communication_ = new PartsChart(context.palette, tr("Communication"), this);
    area_ = area;
    area->top()->addWidget(whole_);
    area->right()->addWidget(communication_);
    area->bottom()->addWidget(lanes_);
    auto* panel = new Panel(context.palette, {}, this);
    table_ = new DataTable(context.palette, panel);
    table_->setRowsShown(kEngineRows);
    panel->body()->addWidget(table_);
    area->bottom()->addWidget(panel);
    setContent(area);
    connect(table_, &DataTable::rowActivated, this, &EnginesPage::select);
    connect(whole_->bars(), &timeline::BarChart::clicked, this, &EnginesPage::select);
    connect(&context.selection, &shell::Selection::changed, this, &EnginesPage::followOthers);
    const auto subjectOfRow = [this](int row) {
      return subjectOf(table_->model()->table(), row, context_.session.snapshot()->catalog.get());
    };
    offerSubjects(*whole_->bars(), subjectOfRow);
    offerSubjects(*communication_->bars(), subjectOfRow);
    const auto rowOfLane = [this](int bar) {
      return bar >= 0 && bar < static_cast<int>(rowOfLane_.size()) ? rowOfLane_[static_cast<std::size_t>(bar)]
                                                                   : -1;
    };
    offerSubjects(*lanes_->bars(),
                  [subjectOfRow, rowOfLane](int bar) { return subjectOfRow(rowOfLane(bar)); });
    connect(communication_->bars(), &timeline::BarChart::clicked, this, &EnginesPage::select);
    connect(lanes_->bars(), &timeline::BarChart::clicked, this,
            [this, rowOfLane](int bar) { select(rowOfLane(bar)); });
  }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto content = std::make_shared<EnginesData>();
      PIPESCOPE_ASSIGN(content->section,
                       sectionNamed("engines", {job.source, job.catalog, job.executable, -1, job.reports}));
      content->ran = job.catalog.lastRunOf(job.executable) != nullptr;
      return Apply([this, content] { apply(content); });
    };
  }

 private:
  void apply(std::shared_ptr<const EnginesData> content) {
    data_ = std::move(content);
    const sections::SectionTable* table = tableNamed(data_->section, "devices");
    if (!data_->ran || table == nullptr || table->rows.empty()) {
      return showInstead(data_->section.lacks.empty() ? tr("Nothing is known about engines of the devices.")
                                                      : text(data_->section.lacks));
    }
    phases_ = worksInPhases(*table);
    applyWhole(*table);
    applyLanes(*table);
    applyCommunication(*table);
    table_->setTable(*table, data_->section.ticksPerShownUnit);
    followOthers();
  }

  /// True for devices such as IPUs that compute, exchange and copy one after the other, and so have no
  /// engines that work at the same time.
  static bool worksInPhases(const sections::SectionTable& table) {
    const auto knows = [&](const char* key) {
      const std::size_t column = columnNamed(table, key);
      return std::ranges::any_of(table.rows, [column](const auto& row) {
        return !std::holds_alternative<std::monostate>(row[column]);
      });
    };
    return knows("exchange_utilisation") && !knows("mme_utilisation") && !knows("nic_utilisation");
  }

  static QString nameIn(const sections::SectionTable& table, std::size_t row) {
    return wordsIn(table.rows[row][columnNamed(table, "name")]);
  }

  /// Returns "…; the first 16 devices" if there are more than the charts show.
  static QString limited(const QString& basis, std::size_t shown, std::size_t all, const QString& what) {
    return shown < all ? tr("%1; the first %2 %3, and all in the table below").arg(basis).arg(shown).arg(what)
                       : basis;
  }

  void applyWhole(const sections::SectionTable& table) {
    const std::size_t busy = columnNamed(table, "any_busy"), sync = columnNamed(table, "sync_share"),
                      control = columnNamed(table, "control_share"), idle = columnNamed(table, "idle_share");
    std::vector<std::vector<NamedPart>> bars;
    QStringList names, notes;
    const std::size_t shown = std::min(kMostDevicesShown, table.rows.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& row = table.rows[i];
      std::vector<NamedPart> parts;
      if (phases_) {
        for (const LaneColumn& lane : kLaneColumns) {
          const std::size_t column = columnNamed(table, lane.key);
          if (!std::holds_alternative<std::monostate>(row[column]))
            parts.push_back(
                {text(table.columns[column].heading).toLower(), lane.role, numberIn(row[column])});
        }
      } else {
        parts.push_back({tr("an engine works"), ColourRole::compute, numberIn(row[busy])});
      }
      parts.push_back({tr("sync"), ColourRole::sync, numberIn(row[sync])});
      parts.push_back({tr("control"), ColourRole::control, numberIn(row[control])});
      parts.push_back({tr("idle"), ColourRole::otherWait, numberIn(row[idle]), true});
      bars.push_back(std::move(parts));
      names << nameIn(table, i);
      notes << tr("idle %1").arg(enginesPercent(numberIn(row[idle])));
    }
    whole_->setParts(bars, enginesPercent, names, notes);
    whole_->bars()->setScaleTo(1);
    whole_->setTitle(tr("What each device does"),
                     limited(phases_ ? tr("share of the last call; the phases of a device follow each other")
                                     : tr("share of the last call"),
                             shown, table.rows.size(), tr("devices")));
  }

  /// Phases that follow each other are parts of one bar, so they need no bars of their own.
  void applyLanes(const sections::SectionTable& table) {
    lanes_->setVisible(!phases_);
    if (phases_) return;
    std::vector<std::vector<NamedPart>> bars;
    QStringList names, notes;
    std::size_t all = 0;
    rowOfLane_.clear();
    const std::vector<std::size_t> still = stillColumns(table);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      for (const LaneColumn& lane : kLaneColumns) {
        const std::size_t column = columnNamed(table, lane.key);
        const sections::Cell& cell = table.rows[i][column];
        if (std::holds_alternative<std::monostate>(cell) || std::ranges::count(still, column) > 0) continue;
        if (++all > kMostLanesShown) continue;
        const QString heading = text(table.columns[column].heading);
        bars.push_back({{heading, lane.role, numberIn(cell)}});
        rowOfLane_.push_back(static_cast<int>(i));
        names << QStringLiteral("%1 · %2").arg(nameIn(table, i), heading);
        notes << enginesPercent(numberIn(cell));
      }
    }
    lanes_->setVisible(!bars.empty());
    const std::size_t shown = bars.size();
    lanes_->setParts(bars, enginesPercent, names, notes);
    lanes_->bars()->setScaleTo(1);
    QStringList stillNames;
    for (const std::size_t column : still) stillNames << text(table.columns[column].heading);
    const QString basis = tr("share of the last call; engines may work at the same time");
    lanes_->setTitle(tr("How much each engine works"),
                     limited(still.empty() ? basis
                                           : tr("%1; less than 0.1 % on every device: %2")
                                                 .arg(basis, stillNames.join(QStringLiteral(", "))),
                             shown, all, tr("engines")));
  }

  /// The columns of engines that work so little on every device that their bars would be empty.
  static std::vector<std::size_t> stillColumns(const sections::SectionTable& table) {
    constexpr double kLeast = 0.001;
    std::vector<std::size_t> still;
    for (const LaneColumn& lane : kLaneColumns) {
      const std::size_t column = columnNamed(table, lane.key);
      bool known = false, works = false;
      for (const auto& row : table.rows) {
        known = known || !std::holds_alternative<std::monostate>(row[column]);
        works = works || numberIn(row[column]) >= kLeast;
      }
      if (known && !works) still.push_back(column);
    }
    return still;
  }

  void applyCommunication(const sections::SectionTable& table) {
    const std::size_t whole = columnNamed(table, "communication_cycles"),
                      exposed = columnNamed(table, "exposed_communication_cycles"),
                      share = columnNamed(table, "exposed_share");
    std::vector<std::vector<NamedPart>> bars;
    QStringList names, notes;
    double any = 0;
    const std::size_t shown = std::min(kMostDevicesShown, table.rows.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& row = table.rows[i];
      const double alone = numberIn(row[exposed]);
      any += numberIn(row[whole]);
      bars.push_back({{tr("hidden by other work"), ColourRole::lostUseful, numberIn(row[whole]) - alone},
                      {tr("exposed"), ColourRole::lostImbalance, alone}});
      names << nameIn(table, i);
      notes << tr("exposed %1").arg(enginesPercent(numberIn(row[share])));
    }
    communication_->setVisible(any > 0);
    // Two charts with a bar for each device stand beside each other.
    area_->top()->removeWidget(whole_);
    area_->left()->removeWidget(whole_);
    (any > 0 ? area_->left() : area_->top())->addWidget(whole_);
    communication_->setParts(
        bars,
        [time = data_->section.time()](double ticks) {
          return text(timeText(ticks, time, sections::TimeStyle::chart));
        },
        names, notes);
    communication_->setTitle(
        tr("Communication"),
        limited(tr("%1 of the last call, launches included; on the right, the exposed share")
                    .arg(chartUnit(data_->section.time())),
                shown, table.rows.size(), tr("devices")));
  }

  /// Selects the device of a row of the table, or of a bar, on all pages.
  void select(int row) {
    const sections::SectionTable& table = table_->model()->table();
    if (row < 0 || row >= static_cast<int>(table.rows.size())) return;
    const auto& cell = table.rows[static_cast<std::size_t>(row)][columnNamed(table, "index")];
    shell::Selected selected;
    selected.kind = shell::Selected::Kind::device;
    selected.device = model::DeviceId(static_cast<std::int64_t>(numberIn(cell)));
    context_.selection.set(selected);
  }

  void followOthers() {
    if (!data_) return;
    const sections::SectionTable& table = table_->model()->table();
    const model::DeviceId device = context_.selection.current().device;
    int marked = -1;
    for (std::size_t i = 0; device.valid() && i < table.rows.size(); ++i) {
      if (numberIn(table.rows[i][columnNamed(table, "index")]) == static_cast<double>(device.value))
        marked = static_cast<int>(i);
    }
    table_->markRow(marked);
    whole_->bars()->setMarked(marked);
    communication_->bars()->setMarked(marked);
  }

  bool phases_ = false;  ///< the devices work in phases instead of with engines
  std::shared_ptr<const EnginesData> data_;
  ColumnsArea* area_ = nullptr;
  std::vector<int> rowOfLane_;  ///< row of the table that each bar of an engine belongs to
  PartsChart *whole_ = nullptr, *lanes_ = nullptr, *communication_ = nullptr;
  DataTable* table_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(engines) {
  registry.add(
      {QStringLiteral("engines"), QObject::tr("Engines"), QStringLiteral("engines"),
       QObject::tr(
           "How much of the time each engine of the devices works, and which communication is exposed"),
       PageGroup::time, 50, [](PageContext& context) -> Page* { return new pages::EnginesPage(context); },
       true, pages::whyNothingRan});
}

}  // namespace pipescope::shell
