// Shows the system as a picture of its chips, boxes and links, their traffic, and memory spaces.
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <utility>

#include "profiler/geometry/charts/topology.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/data/section_lookup.h"
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

struct SystemData {
  sections::SectionTable devices, links, spaces, communication;
  std::int64_t unused = 0;  ///< links that carry nothing, which the table leaves out
  double perUnit = 1;
  QStringList remarks;
  std::vector<geometry::TopologyChip> chips;
  std::vector<geometry::TopologyLink> between;
  QStringList chipTips, linkTips;
  std::vector<std::pair<int, int>> rowsOf;  ///< rows of the table for both directions of a link; −1: none
};

/// The value of a cell of the table of links; 0 if it is empty.
double numberAt(const std::vector<sections::Cell>& row, std::size_t column) {
  if (const auto* whole = std::get_if<std::int64_t>(&row[column])) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&row[column]);
  return real == nullptr ? 0 : *real;
}
/// Columns of the table of links.
enum LinkColumn : std::size_t { from, to, name, capacity, bytes, transfers, busy, rate };

/// The colour of a link by its use.
ColourRole roleOfUse(double share) {
  constexpr double kLittle = 0.1, kMuch = 0.4;
  if (!(share > 0)) return ColourRole::gaps;
  return share < kLittle ? ColourRole::computeGroup
         : share < kMuch ? ColourRole::compute
                         : ColourRole::waitHost;
}

QString linkWords(const sections::SectionTable& links, const std::vector<sections::Cell>& row) {
  const auto shown = [&](std::size_t column) {
    return text(formatCell(row[column], links.columns[column].format));
  };
  QString words =
      QObject::tr("%1 → %2, %3").arg(shown(LinkColumn::from), shown(LinkColumn::to), shown(LinkColumn::name));
  if (numberAt(row, LinkColumn::transfers) <= 0) return words + QObject::tr(": not used");
  words += QObject::tr(": in use %1 of the call").arg(shown(LinkColumn::busy));
  if (!std::holds_alternative<std::monostate>(row[LinkColumn::bytes]))
    words += QObject::tr(", %1").arg(shown(LinkColumn::bytes));
  return words;
}

/// The chips, and one link for both directions between two of them.
void addTopology(const analysis::Catalog& catalog, model::ExecutableId executable, SystemData& made) {
  std::map<std::string, int> chipOf;
  std::map<model::DeviceId, QStringList> stages;
  for (const model::Stage* stage : catalog.stagesOf(executable))
    stages[stage->device] << QString::number(stage->index);
  for (const model::Device& device : catalog.devices) {
    chipOf[device.name] = static_cast<int>(made.chips.size());
    const QStringList held = stages[device.id];
    geometry::TopologyChip chip{device.name, "", ColourRole::free, 0};
    if (!held.isEmpty()) {
      chip.note = (held.size() == 1 ? QObject::tr("stage %1") : QObject::tr("stages %1"))
                      .arg(held.join(QStringLiteral(", ")))
                      .toStdString();
      chip.role = geometry::seriesRole(held.front().toInt());
    }
    made.chipTips << QStringLiteral("%1\n%2, %3")
                         .arg(text(device.name), text(device.kind),
                              held.isEmpty() ? QObject::tr("holds no stage that the profile records")
                                             : text(chip.note));
    made.chips.push_back(std::move(chip));
  }
  std::map<std::pair<int, int>, std::size_t> linkOf;
  for (std::size_t r = 0; r < made.links.rows.size(); ++r) {
    const auto& row = made.links.rows[r];
    const auto chipAt = [&](std::size_t column) {
      const auto found = chipOf.find(wordsIn(row[column]).toStdString());
      return found == chipOf.end() ? -1 : found->second;
    };
    const int a = chipAt(LinkColumn::from), b = chipAt(LinkColumn::to);
    const double share = numberAt(row, LinkColumn::busy);
    if (a < 0 || b < 0 || a == b) {
      const int chip = std::max(a, b);
      if (chip < 0 || a == b) continue;
      auto& own = made.chips[static_cast<std::size_t>(chip)];
      if (wordsIn(row[LinkColumn::from]) == QLatin1String("host") ||
          wordsIn(row[LinkColumn::to]) == QLatin1String("host"))
        own.host = std::max(own.host, share);
      if (share > 0) made.chipTips[chip] += QLatin1Char('\n') + linkWords(made.links, row);
      continue;
    }
    const auto [known, isNew] = linkOf.try_emplace(std::minmax(a, b), made.between.size());
    if (isNew) {
      made.between.push_back({.from = std::min(a, b), .to = std::max(a, b)});
      made.linkTips << QString();
      made.rowsOf.emplace_back(-1, -1);
    }
    geometry::TopologyLink& link = made.between[known->second];
    link.bytesPerSecond = std::max(link.bytesPerSecond, numberAt(row, LinkColumn::capacity));
    link.share = std::max(link.share, share);
    link.role = roleOfUse(link.share);
    link.kind = wordsIn(row[LinkColumn::name]).toStdString();
    QString& tip = made.linkTips[static_cast<int>(known->second)];
    tip += (tip.isEmpty() ? QString() : QStringLiteral("\n")) + linkWords(made.links, row);
    (a < b ? made.rowsOf[known->second].first : made.rowsOf[known->second].second) = static_cast<int>(r);
  }
}

/// Takes links without traffic out of the table: those of a fully connected system are very many.
void leaveOutUnused(SystemData& made) {
  std::map<int, int> kept;
  std::vector<std::vector<sections::Cell>> rows;
  for (std::size_t r = 0; r < made.links.rows.size(); ++r) {
    if (numberAt(made.links.rows[r], LinkColumn::transfers) <= 0) continue;
    kept[static_cast<int>(r)] = static_cast<int>(rows.size());
    rows.push_back(std::move(made.links.rows[r]));
  }
  // The page says how many links it leaves out.
  made.unused = static_cast<std::int64_t>(made.links.rows.size() - rows.size());
  made.links.rows = std::move(rows);
  const auto now = [&](int row) { return kept.contains(row) ? kept[row] : -1; };
  for (auto& [forth, back] : made.rowsOf) forth = now(forth), back = now(back);
}

}  // namespace

class SystemPage : public shell::Page {
 public:
  explicit SystemPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
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
    links_ = addTable(area->top());
    devices_ = addTable(area->left());
    spaces_ = addTable(area->right());
    area->left()->addStretch(1);
    area->right()->addStretch(1);
    links_->setFilterVisible(true);
    setContent(area);
    topology_->installEventFilter(this);
    connect(busy_, &timeline::BarChart::clicked, this, [this](int bar) { selectLink(bar); });
    connect(topology_, &timeline::ItemChart::clicked, this, &SystemPage::choose);
    connect(&context.selection, &shell::Selection::changed, this, &SystemPage::followOthers);
    offerSubjects(*topology_, [this](int item) { return subjectOfItem(item); });
  }

  shell::Picture picture() override { return {topologyPanel_, accessibleName(), {}}; }
  bool showsSelection() const override { return topology_->marked() >= 0; }

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
      content->perUnit = section.ticksPerShownUnit;
      addTopology(job.catalog, job.executable, *content);
      if (!job.catalog.stagesOf(job.executable).empty() && job.catalog.lastRunOf(job.executable) != nullptr) {
        PIPESCOPE_ASSIGN(const sections::Section stages,
                         sectionNamed("stages", {job.source, job.catalog, job.executable, -1, job.reports}));
        if (const sections::SectionTable* found = tableNamed(stages, "communication"))
          content->communication = *found, content->perUnit = stages.ticksPerShownUnit;
      }
      if (job.catalog.lastRunOf(job.executable) != nullptr) leaveOutUnused(*content);
      return Apply([this, content] { apply(content); });
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
    set(devices_, content.devices);
    set(spaces_, content.spaces);
  }

  void applyTopology() {
    const auto at = [this](int width) { return geometry::Topology(data_->chips, data_->between, width); };
    topology_->setSource({[this, at](QSize size, const geometry::TextMeasure& measure, int marked) {
                            if (size.width() != drawnWidth_) drawn_ = at(drawnWidth_ = size.width());
                            return drawn_.draw(measure, marked);
                          },
                          [this](QSize, QPoint place) { return drawn_.hit(place.x(), place.y()); },
                          [this](QSize, int item) {
                            const geometry::Box box = drawn_.boxOf(item);
                            return QRect(box.x, box.y, box.width, box.height);
                          },
                          [this](int item) { return describe(item); },
                          timeline::ItemChart::numbered(data_->chips.size())});
    drawnWidth_ = -1;
    fitTopology();
    const int boxes = drawn_.boxCount(), chips = drawn_.chipCount();
    topologyPanel_->setTitle(
        tr("The system"),
        tr("%1 in %2; links by their use in the last call, and below each chip that with its host")
            .arg(chips == 1 ? tr("1 chip") : tr("%1 chips").arg(groupedCount(chips)))
            .arg(boxes == 1 ? tr("one box") : tr("%1 boxes").arg(groupedCount(boxes))));
    std::vector<timeline::LegendEntry> entries;
    const auto add = [&](const QString& words, ColourRole role) { entries.push_back({words, role, false}); };
    const auto any = [&](const auto& fits) { return std::ranges::any_of(data_->between, fits); };
    if (any([](const auto& link) { return link.share <= 0; }))
      add(tr("link that carries nothing"), ColourRole::gaps);
    if (any([](const auto& link) { return link.share > 0 && link.share < 0.1; }))
      add(tr("in use less than 10 %"), roleOfUse(0.05));
    if (any([](const auto& link) { return link.share >= 0.1 && link.share < 0.4; }))
      add(tr("10 to 40 %"), roleOfUse(0.2));
    if (any([](const auto& link) { return link.share >= 0.4; })) add(tr("40 % or more"), roleOfUse(0.5));
    if (std::ranges::any_of(data_->chips, [](const auto& chip) { return chip.host > 0; }))
      add(tr("use of the link with the host"), ColourRole::hostInTransfer);
    if (std::ranges::any_of(data_->chips, [](const auto& chip) { return chip.role == ColourRole::free; }))
      add(tr("chip without a recorded stage"), ColourRole::free);
    legend_->setEntries(std::move(entries));
    followOthers();
  }

  /// Gives the chart the height that its boxes need at its width.
  void fitTopology() {
    const int width = topology_->width();
    if (!data_ || width == drawnWidth_) return;
    drawn_ = geometry::Topology(data_->chips, data_->between, width);
    drawnWidth_ = width;
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
    return item < chips ? data_->chipTips.value(item) : data_->linkTips.value(item - chips);
  }

  shell::Selected subjectOfItem(int item) const {
    shell::Selected subject;
    const auto& devices = context_.session.snapshot()->catalog->devices;
    if (item < 0 || item >= static_cast<int>(data_->chips.size())) return subject;
    subject.kind = shell::Selected::Kind::device;
    subject.device = (devices.begin() + item)->id;
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

  std::shared_ptr<const SystemData> data_;
  geometry::Topology drawn_;  ///< at drawnWidth_
  int drawnWidth_ = -1;
  Panel *busyPanel_ = nullptr, *topologyPanel_ = nullptr;
  timeline::ItemChart* topology_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  timeline::BarChart* busy_ = nullptr;
  DataTable *devices_ = nullptr, *links_ = nullptr, *spaces_ = nullptr, *communication_ = nullptr;
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
