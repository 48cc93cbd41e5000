// Shows the system as a picture of its chips, boxes and links, their traffic, and memory spaces.
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <utility>

#include "profiler/geometry/charts/topology.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/system_data.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/shell/page.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/item_chart.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;

constexpr int kRows = 14;
constexpr std::size_t kMostBars = 16;

}  // namespace

class SystemPage : public shell::Page {
 public:
  explicit SystemPage(shell::PageContext& context) : Page(context), area_(new ColumnsArea(this)) {
    ColumnsArea* const area = area_;
    busyPanel_ = new Panel(context.palette, tr("Most used links"), this);
    busy_ = new timeline::BarChart(context.palette, busyPanel_);
    busy_->setAccessibleName(tr("Most used links"));
    busyPanel_->body()->addWidget(busy_);
    topologyPanel_ = new Panel(context.palette, tr("The system"), this);
    topology_ = new timeline::ItemChart(context.palette, topologyPanel_);
    topology_->setAccessibleName(tr("The system"));
    legend_ = new timeline::Legend(context.palette, topologyPanel_);
    topologyPanel_->body()->addWidget(topology_);
    topologyPanel_->body()->addWidget(legend_);
    area->top()->addWidget(topologyPanel_);
    area->top()->addWidget(busyPanel_);
    communication_ = addTable(area->top());
    axes_ = addTable(area->top());
    links_ = addTable(area->top());
    devices_ = addTable(area->left());
    spaces_ = addTable(area->right());
    area->left()->addStretch(1);
    area->right()->addStretch(1);
    links_->setFilterVisible(true);
    spaces_->setYielding({"largest_span_bytes", "units", "fullest_bytes"});
    setContent(area);
    topology_->installEventFilter(this);
    connect(busy_, &timeline::BarChart::clicked, this, [this](int bar) { selectLink(bar); });
    connect(topology_, &timeline::ItemChart::clicked, this, &SystemPage::choose);
    offerSubjects(*busy_, [this](int bar) { return subjectOfBar(bar); });
    connect(&context.selection, &shell::Selection::changed, this, &SystemPage::followOthers);
    offerSubjects(*topology_, [this](int item) { return subjectOfItem(item); });
  }

  shell::Picture picture() override { return {topologyPanel_, accessibleName(), {}}; }
  bool showsSelection() const override { return topology_->marked() >= 0; }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      PIPESCOPE_ASSIGN(auto content,
                       collectSystem({job.source, job.catalog, job.executable, -1, job.reports}));
      return Apply(
          [this, content = std::make_shared<const SystemData>(std::move(content))] { apply(content); });
    };
  }

 private:
  DataTable* addTable(QVBoxLayout* column) { return addTablePanel(context_.palette, *column, kRows, this); }

  void apply(const std::shared_ptr<const SystemData>& made) {
    data_ = made;
    const SystemData& content = *made;
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    if (catalog.devices.empty()) return showInstead(tr("This profile names no devices."));
    remark(content.remarks.join(QLatin1Char(' ')), shell::NoticeKind::info);
    applyTopology();
    applyBusy(content.links);
    communication_->parentWidget()->setVisible(!content.communication.rows.empty());
    communication_->setTable(content.communication, content.perUnit);
    const auto set = [](DataTable* table, const sections::SectionTable& rows) {
      table->parentWidget()->setVisible(!rows.rows.empty());
      table->setTable(rows);
    };
    sections::SectionTable links = content.links;
    if (content.unused > 0)
      links.basis += tr("; %1 further links carry nothing")
                         .arg(groupedCount(static_cast<int>(content.unused)))
                         .toStdString();
    set(links_, links);
    // Links without traffic are many if every device is connected to every other.
    if (!std::exchange(sorted_, true)) links_->sortBy(LinkColumn::busy, Qt::DescendingOrder);
    set(axes_, content.axes);
    set(devices_, content.devices);
    set(spaces_, content.spaces);
  }

  void applyTopology() {
    topology_->setSource({[this](QSize size, const geometry::TextMeasure& measure, int marked) {
                            if (size.width() != drawnWidth_) drawAt(size.width());
                            return drawn_.draw(measure, marked);
                          },
                          [this](QSize, QPoint place) { return drawn_.hit(place.x(), place.y()); },
                          [this](QSize, int item) {
                            const geometry::Box box = drawn_.boxOf(item);
                            return QRect(box.x, box.y, box.width, box.height);
                          },
                          [this](int item) { return describe(item); },
                          timeline::ItemChart::numbered(data_->chips.size()), true});
    placeTopology();
    drawnWidth_ = -1;
    fitTopology();
    const int boxes = drawn_.boxCount(), chips = drawn_.chipCount(), domains = drawn_.domainCount();
    QString parts = tr("%1 in %2")
                        .arg(chips == 1 ? tr("1 chip") : tr("%1 chips").arg(groupedCount(chips)),
                             boxes == 1 ? tr("one box") : tr("%1 boxes").arg(groupedCount(boxes)));
    if (domains > 1) parts += tr(" and %1 link domains").arg(groupedCount(domains));
    const bool linked = chips <= geometry::Topology::kMostLinked;
    topologyPanel_->setTitle(
        tr("The system"),
        parts + (linked
                     ? tr("; links by their use in the last call%1%2")
                           .arg(data_->collectives ? tr(", in transfers and collectives") : QString(),
                                drawn_.named() ? tr(", and below each chip that with its host") : QString())
                     : tr("; chips by the stage that they hold")));
    legend_->setEntries(topologyLegend(linked));
    followOthers();
  }

  std::vector<timeline::LegendEntry> topologyLegend(bool linked) const {
    std::vector<timeline::LegendEntry> entries;
    const auto add = [&](const QString& words, ColourRole role) { entries.push_back({words, role, false}); };
    constexpr std::size_t kMostStages = 16;
    if (!drawn_.named() && data_->stages.size() <= kMostStages)
      for (const std::int32_t stage : data_->stages)
        add(tr("stage %1").arg(stage), geometry::seriesRole(stage));
    if (std::ranges::any_of(data_->chips, [](const auto& chip) { return chip.role == ColourRole::free; }))
      add(tr("chip without a stage"), ColourRole::free);
    if (!linked) return entries;
    const auto any = [&](const auto& fits) {
      return std::ranges::any_of(data_->between,
                                 [&](const geometry::TopologyLink& link) { return fits(link.share); });
    };
    if (any([](double share) { return share <= 0; })) add(tr("link without recorded use"), ColourRole::gaps);
    if (any([](double share) { return share > 0 && share < 0.1; }))
      add(tr("in use less than 10 %"), roleOfUse(0.05));
    if (any([](double share) { return share >= 0.1 && share < 0.4; })) add(tr("10 to 40 %"), roleOfUse(0.2));
    if (any([](double share) { return share >= 0.4; })) add(tr("40 % or more"), roleOfUse(0.5));
    if (drawn_.named() && std::ranges::any_of(data_->chips, [](const auto& chip) { return chip.host > 0; }))
      add(tr("use of the link with the host"), ColourRole::hostInTransfer);
    return entries;
  }

  /// Puts the picture of a small system beside the most used links, and a larger one above them.
  void placeTopology() {
    constexpr int kSmall = 8;
    const bool beside = data_->chips.size() <= kSmall;
    if (std::exchange(beside_, beside) == beside) return;
    QWidget *const communication = communication_->parentWidget(), *const axes = axes_->parentWidget(),
                   *const links = links_->parentWidget();
    for (QVBoxLayout* part : {area_->top(), area_->left(), area_->right(), area_->bottom()})
      for (QWidget* panel : {static_cast<QWidget*>(topologyPanel_), static_cast<QWidget*>(busyPanel_),
                             communication, axes, links})
        part->removeWidget(panel);
    if (beside) {
      area_->left()->insertWidget(0, topologyPanel_);
      area_->right()->insertWidget(0, busyPanel_);
    } else {
      area_->top()->addWidget(topologyPanel_);
      area_->top()->addWidget(busyPanel_);
    }
    QVBoxLayout* const tables = beside ? area_->bottom() : area_->top();
    tables->addWidget(communication);
    tables->addWidget(axes);
    tables->addWidget(links);
  }

  void drawAt(int width) {
    drawn_ = geometry::Topology(data_->chips, data_->between, width, data_->parts);
    drawnWidth_ = width;
  }

  /// Gives the chart the height that its boxes need at its width.
  void fitTopology() {
    const int width = topology_->width();
    if (!data_ || width == drawnWidth_) return;
    drawAt(width);
    topology_->setHeights(std::max(40, drawn_.height()), std::max(40, drawn_.height()));
    topology_->update();
  }

  bool eventFilter(QObject* watched, QEvent* event) override {
    if (watched == topology_ && event->type() == QEvent::Resize) fitTopology();
    return Page::eventFilter(watched, event);
  }

  QString describe(int item) const {
    const int chips = static_cast<int>(data_->chips.size());
    if (item < 0) return {};
    if (item < chips) return data_->chipTips.value(item);
    if (item - chips >= static_cast<int>(data_->between.size())) return {};
    return describeLink(*context_.session.snapshot()->catalog, *data_,
                        static_cast<std::size_t>(item - chips));
  }

  shell::Selected subjectOfItem(int item) const {
    shell::Selected subject;
    const auto& devices = context_.session.snapshot()->catalog->devices;
    if (item < 0 || item >= static_cast<int>(data_->chips.size())) return subject;
    subject.kind = shell::Selected::Kind::device;
    subject.device = (devices.begin() + item)->id;
    return subject;
  }

  /// The device that sends over a link, or the one that the host sends to.
  shell::Selected subjectOfBar(int bar) const {
    shell::Selected subject;
    if (bar < 0 || bar >= static_cast<int>(shownLinks_.size())) return subject;
    const auto& row = data_->links.rows[static_cast<std::size_t>(shownLinks_[static_cast<std::size_t>(bar)])];
    for (const std::size_t column : {LinkColumn::from, LinkColumn::to}) {
      for (const model::Device& device : context_.session.snapshot()->catalog->devices) {
        if (subject.device.valid() || text(device.name) != wordsIn(row[column])) continue;
        subject.kind = shell::Selected::Kind::device;
        subject.device = device.id;
      }
    }
    return subject;
  }

  /// Selects a chip on all pages, or the rows of a link.
  void choose(int item) {
    const int chips = static_cast<int>(data_->chips.size());
    if (item < chips) return context_.selection.set(subjectOfItem(item));
    topology_->setMarked(item);
    const auto [forth, back] = data_->rowsOf[static_cast<std::size_t>(item - chips)];
    links_->markRow(forth >= 0 ? forth : back);
  }

  void followOthers() {
    if (!data_) return;
    const model::DeviceId device = context_.selection.current().device;
    int item = -1, place = 0;
    for (const model::Device& row : context_.session.snapshot()->catalog->devices) {
      if (device.valid() && row.id == device) item = place;
      ++place;
    }
    topology_->setMarked(item);
  }

  void applyBusy(const sections::SectionTable& links) {
    std::vector<std::size_t> busiest;
    for (std::size_t i = 0; i < links.rows.size(); ++i) {
      if (numberIn(links.rows[i][LinkColumn::transfers]) > 0) busiest.push_back(i);
    }
    std::stable_sort(busiest.begin(), busiest.end(), [&](std::size_t a, std::size_t b) {
      return numberIn(links.rows[a][LinkColumn::busy]) > numberIn(links.rows[b][LinkColumn::busy]);
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
      bars.push_back({{{ColourRole::activation, numberIn(row[LinkColumn::busy]), {}, false}}});
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

  ColumnsArea* area_;
  bool beside_ = false;  ///< the picture stands beside the most used links
  std::shared_ptr<const SystemData> data_;
  geometry::Topology drawn_;  ///< at drawnWidth_
  int drawnWidth_ = -1;
  Panel *busyPanel_ = nullptr, *topologyPanel_ = nullptr;
  timeline::ItemChart* topology_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  timeline::BarChart* busy_ = nullptr;
  DataTable *devices_ = nullptr, *links_ = nullptr, *spaces_ = nullptr, *communication_ = nullptr,
            *axes_ = nullptr;
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
