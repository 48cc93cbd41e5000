// The emulated system: devices, links with what went over them, memory spaces.
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/analysis/memory.h"
#include "profiler/analysis/system_links.h"
#include "profiler/sections/section.h"
#include "views/pages/parts/data_table.h"
#include "views/pages/parts/panel.h"
#include "views/shell/page.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

constexpr int kRows = 14;
constexpr std::size_t kMostBars = 16;

QString text(const std::string& from) {
  return QString::fromStdString(from);
}

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string rate(double bytesPerSecond) {
  return bytesPerSecond > 0 ? QString::number(bytesPerSecond / 1e9, 'f', 2).toStdString() + " GB/s"
                            : "not modelled";
}

struct SystemData {
  analysis::SystemUse use;
  sections::Table devices, links, spaces;
};

sections::Table deviceTable(const analysis::Catalog& catalog, model::ExecutableId executable) {
  sections::Table table{"devices",
                        "Devices",
                        "of the partition",
                        {{"name", "Device", Format::plain, ""},
                         {"kind", "Chip", Format::plain, ""},
                         {"stages", "Stages", Format::plain, "of the executable shown"},
                         {"units", "Units", Format::plain, ""},
                         {"clock", "Clock", Format::plain, "timebase of its ticks"},
                         {"lanes", "Lanes", Format::plain, "what can work at the same time"}},
                        {}};
  for (const model::Device& device : catalog.devices) {
    std::string stages, lanes;
    for (const model::Stage* stage : catalog.stagesOf(executable)) {
      if (stage->device == device.id) stages += (stages.empty() ? "" : ", ") + std::to_string(stage->index);
    }
    for (const model::Lane& lane : catalog.lanes) {
      if (lane.device == device.id) lanes += (lanes.empty() ? "" : ", ") + model::toString(lane.role);
    }
    const double ghz = static_cast<double>(device.ticksPerSecond) / 1e9;
    const std::string clock =
        catalog.target.family == "fixed" ? "cost units" : QString::number(ghz, 'g', 4).toStdString() + " GHz";
    table.rows.push_back({device.name, device.kind, stages.empty() ? "idle" : stages,
                          geometry::groupedNumber(device.units) + " " + device.unitName + "s", clock, lanes});
  }
  return table;
}

sections::Table linkTable(const analysis::SystemUse& use) {
  sections::Table table{
      "links",
      "Links",
      "over the executable's last call; busy share of the call's length",
      {{"from", "From", Format::plain, ""},
       {"to", "To", Format::plain, ""},
       {"name", "Link", Format::plain, ""},
       {"capacity", "Capacity", Format::plain, "in this direction"},
       {"bytes", "Bytes", Format::bytes, "in the call"},
       {"transfers", "Transfers", Format::count, "in the call"},
       {"busy", "Busy", Format::fraction, "time with at least one transfer ÷ the call's length"},
       {"rate", "Rate while busy", Format::plain, "bytes ÷ busy time"}},
      {}};
  for (const analysis::LinkUse& link : use.links) {
    table.rows.push_back({link.from, link.to, link.name, rate(link.bytesPerSecond), link.bytes.count,
                          link.transfers, link.share,
                          link.transfers > 0 ? sections::Cell(rate(link.rate)) : sections::Cell()});
  }
  return table;
}

sections::Table spaceTable(const analysis::Catalog& catalog, const analysis::Memory& memory,
                           const analysis::SystemUse& use) {
  sections::Table table{"memory_spaces",
                        "Memory spaces",
                        "capacity and use of the executable; traffic in its last call",
                        {{"device", "Device", Format::plain, ""},
                         {"kind", "Kind", Format::plain, ""},
                         {"units", "Units", Format::count, ""},
                         {"capacity", "Capacity", Format::bytes, "all units"},
                         {"used", "Used", Format::bytes, "including gaps, sum over units"},
                         {"share", "Used of it", Format::fraction, "used ÷ capacity"},
                         {"fullest", "Fullest unit", Format::bytes, "including gaps"},
                         {"in", "Received", Format::bytes, "over links in the last call"},
                         {"out", "Sent", Format::bytes, "over links in the last call"}},
                        {}};
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    const model::Device* device = catalog.device(space.device);
    const std::string name = device == nullptr ? "host" : device->name;
    const std::int64_t capacity = space.units * space.bytesPerUnit.count;
    sections::Cell used, share, fullest;
    for (const analysis::DeviceMemory& one : memory.devices) {
      if (one.space != space.id) continue;
      used = one.totalIncludingGaps.count;
      fullest = one.maxUnitIncludingGaps.count;
      if (capacity > 0)
        share = static_cast<double>(one.totalIncludingGaps.count) / static_cast<double>(capacity);
    }
    std::int64_t in = 0, out = 0;
    for (const analysis::LinkUse& link : use.links) {
      if (link.to == name) in += link.bytes.count;
      if (link.from == name) out += link.bytes.count;
    }
    table.rows.push_back({name, words(space.kind), space.units, capacity, used, share, fullest, in, out});
  }
  return table;
}

}  // namespace

class SystemPage : public shell::Page {
 public:
  explicit SystemPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    busyPanel_ = new Panel(context.palette, tr("Busiest links"), this);
    busy_ = new timeline::BarChart(context.palette, busyPanel_);
    busy_->setAccessibleName(tr("Busiest links"));
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
    connect(devices_, &DataTable::rowActivated, this, [this](int row) {
      shell::Selected selected;
      selected.kind = shell::Selected::Kind::device;
      selected.device = context_.session.snapshot()->catalog->devices[static_cast<std::size_t>(row)].id;
      context_.selection.set(selected);
    });
    connect(&context.selection, &shell::Selection::changed, this, [this] {
      if (context_.selection.current().device.valid())
        devices_->markRow(static_cast<int>(context_.selection.current().device.value));
    });
  }

  QWidget* picture() override { return busyPanel_; }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      auto content = std::make_shared<SystemData>();
      PIPESCOPE_ASSIGN(content->use,
                       analysis::systemUse(job.source, job.catalog, job.executable, job.progress));
      analysis::Memory memory;
      if (!job.catalog.executables.empty()) {
        PIPESCOPE_ASSIGN(memory, analysis::memory(job.source, job.catalog, job.executable));
      }
      content->devices = deviceTable(job.catalog, job.executable);
      content->links = linkTable(content->use);
      content->spaces = spaceTable(job.catalog, memory, content->use);
      return Apply([this, content] { apply(*content); });
    };
  }

 private:
  DataTable* addTable(QVBoxLayout* column) {
    auto* panel = new Panel(context_.palette, {}, this);
    auto* table = new DataTable(context_.palette, panel);
    table->setRowsShown(kRows);
    panel->body()->addWidget(table);
    column->addWidget(panel);
    return table;
  }

  void apply(const SystemData& content) {
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    if (catalog.devices.empty()) return showInstead(tr("This profile names no devices."));
    applyBusy(content.use);
    const auto set = [](DataTable* table, const sections::Table& rows) {
      table->parentWidget()->setVisible(!rows.rows.empty());
      table->setTable(rows);
    };
    set(links_, content.links);
    set(devices_, content.devices);
    set(spaces_, content.spaces);
    if (context_.selection.current().device.valid())
      devices_->markRow(static_cast<int>(context_.selection.current().device.value));
  }

  void applyBusy(const analysis::SystemUse& use) {
    std::vector<const analysis::LinkUse*> busiest;
    for (const analysis::LinkUse& link : use.links) {
      if (link.transfers > 0) busiest.push_back(&link);
    }
    std::stable_sort(busiest.begin(), busiest.end(),
                     [](const auto* a, const auto* b) { return a->share > b->share; });
    if (busiest.size() > kMostBars) busiest.resize(kMostBars);
    std::vector<geometry::Bar> bars;
    QStringList names, notes;
    QStringList tips;
    shownLinks_.clear();
    for (const analysis::LinkUse* link : busiest) {
      const QString share = text(formatCell(link->share, Format::fraction));
      bars.push_back({{{ColourRole::activation, link->share, share.toStdString(), false}}});
      names << (link->from.empty() ? text(link->name)
                                   : QStringLiteral("%1 → %2").arg(text(link->from), text(link->to)));
      notes << text(formatCell(link->bytes.count, Format::bytes));
      tips << tr("%1: busy %2 of the call, %3 while busy")
                  .arg(text(link->name), share, text(rate(link->rate)));
      shownLinks_.push_back(static_cast<int>(link - use.links.data()));
    }
    busyPanel_->setVisible(!bars.empty());
    busyPanel_->setTitle(tr("Busiest links"),
                         tr("share of the last call in which something is under way; right: bytes"));
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
  std::vector<int> shownLinks_;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(system) {
  registry.add({QStringLiteral("system"), QObject::tr("System"), QStringLiteral("system"),
                QObject::tr("Devices, links and memory spaces of the emulated system"), 60,
                [](PageContext& context) -> Page* { return new pages::SystemPage(context); }});
}

}  // namespace pipescope::shell
