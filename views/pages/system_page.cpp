// Shows the emulated system: devices, links with their traffic, and memory
// spaces.
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/shell/page.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;

constexpr int kRows = 14;
constexpr std::size_t kMostBars = 16;

struct SystemData {
  sections::SectionTable devices, links, spaces;
  QStringList remarks;
};

/// The value of a cell of the table of links; 0 if it is empty.
double numberAt(const std::vector<sections::Cell>& row, std::size_t column) {
  if (const auto* whole = std::get_if<std::int64_t>(&row[column])) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&row[column]);
  return real == nullptr ? 0 : *real;
}
/// Columns of the table of links.
enum LinkColumn : std::size_t { from, to, name, capacity, bytes, transfers, busy, rate };

}  // namespace

class SystemPage : public shell::Page {
 public:
  explicit SystemPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    busyPanel_ = new Panel(context.palette, tr("Most used links"), this);
    busy_ = new timeline::BarChart(context.palette, busyPanel_);
    busy_->setAccessibleName(tr("Most used links"));
    busyPanel_->body()->addWidget(busy_);
    area->top()->addWidget(busyPanel_);
    links_ = addTable(area->top());
    devices_ = addTable(area->left());
    spaces_ = addTable(area->right());
    area->left()->addStretch(1);
    area->right()->addStretch(1);
    links_->setFilterVisible(true);
    setContent(area);
    connect(busy_, &timeline::BarChart::clicked, this, [this](int bar) { selectLink(bar); });
  }

  shell::Picture picture() override { return {busyPanel_, accessibleName(), {}}; }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      auto content = std::make_shared<SystemData>();
      PIPESCOPE_ASSIGN(sections::Section section,
                       sectionNamed("system", {job.source, job.catalog, job.executable, -1, job.reports}));
      for (const std::string& sentence : section.remarks) content->remarks << text(sentence);
      for (sections::SectionTable& table : section.tables) {
        (table.key == "devices" ? content->devices
         : table.key == "links" ? content->links
                                : content->spaces) = std::move(table);
      }
      return Apply([this, content] { apply(*content); });
    };
  }

 private:
  DataTable* addTable(QVBoxLayout* column) { return addTablePanel(context_.palette, *column, kRows, this); }

  void apply(const SystemData& content) {
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    if (catalog.devices.empty()) return showInstead(tr("This profile names no devices."));
    remark(content.remarks.join(QLatin1Char(' ')), shell::NoticeKind::info);
    applyBusy(content.links);
    const auto set = [](DataTable* table, const sections::SectionTable& rows) {
      table->parentWidget()->setVisible(!rows.rows.empty());
      table->setTable(rows);
    };
    set(links_, content.links);
    // Links without traffic are many if every device is connected to every
    // other.
    if (!std::exchange(sorted_, true)) links_->sortBy(LinkColumn::busy, Qt::DescendingOrder);
    set(devices_, content.devices);
    set(spaces_, content.spaces);
  }

  void applyBusy(const sections::SectionTable& links) {
    std::vector<std::size_t> busiest;
    for (std::size_t i = 0; i < links.rows.size(); ++i) {
      if (numberAt(links.rows[i], LinkColumn::transfers) > 0) busiest.push_back(i);
    }
    std::stable_sort(busiest.begin(), busiest.end(), [&](std::size_t a, std::size_t b) {
      return numberAt(links.rows[a], LinkColumn::busy) > numberAt(links.rows[b], LinkColumn::busy);
    });
    if (busiest.size() > kMostBars) busiest.resize(kMostBars);
    std::vector<geometry::Bar> bars;
    QStringList names, notes, tips;
    bool anyBytes = false;
    shownLinks_.clear();
    for (const std::size_t i : busiest) {
      const std::vector<sections::Cell>& row = links.rows[i];
      const auto shown = [&](std::size_t column) {
        return text(formatCell(row[column], links.columns[column].format));
      };
      const QString share = shown(LinkColumn::busy);
      bars.push_back({{{ColourRole::activation, numberAt(row, LinkColumn::busy), {}, false}}});
      names << QStringLiteral("%1 → %2").arg(shown(LinkColumn::from), shown(LinkColumn::to));
      // A transfer has no bytes if the configuration gives the costs.
      const bool known = !std::holds_alternative<std::monostate>(row[LinkColumn::bytes]);
      anyBytes = anyBytes || known;
      notes << (known ? tr("%1 · %2").arg(share, shown(LinkColumn::bytes)) : share);
      const QString busyTip = tr("%1 transfers during %2 of the call").arg(shown(LinkColumn::name), share);
      tips << (known ? tr("%1, at %2").arg(busyTip, shown(LinkColumn::rate)) : busyTip);
      shownLinks_.push_back(static_cast<int>(i));
    }
    busyPanel_->setVisible(!bars.empty());
    busyPanel_->setTitle(tr("Most used links"),
                         tr("share of the last call in which the link is in use%1")
                             .arg(anyBytes ? tr("; on the right, that share and the bytes") : QString()));
    busy_->setBars(std::move(bars), names, notes);
    busy_->setScaleTo(1);
    busy_->setDescriber([tips](const geometry::BarHit& hit) { return tips[hit.bar]; });
  }

  void selectLink(int bar) {
    if (bar < static_cast<int>(shownLinks_.size()))
      links_->markRow(shownLinks_[static_cast<std::size_t>(bar)]);
  }

  Panel* busyPanel_ = nullptr;
  timeline::BarChart* busy_ = nullptr;
  DataTable *devices_ = nullptr, *links_ = nullptr, *spaces_ = nullptr;
  bool sorted_ = false;  ///< later the table keeps the user's order
  std::vector<int> shownLinks_;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(system) {
  registry.add({QStringLiteral("system"), QObject::tr("System"), QStringLiteral("system"),
                QObject::tr("Devices, links and memory spaces of the emulated system"), PageGroup::model, 40,
                [](PageContext& context) -> Page* { return new pages::SystemPage(context); }});
}

}  // namespace pipescope::shell
