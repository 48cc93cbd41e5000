// Shows what only a recorded run has: kernels and why accelerators are idle, collectives over ranks, nodes of
// engines, the planned order, and how much of the trace was recognised.
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <set>

#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/words.h"
#include "views/pages/parts/charts/parts_chart.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/shell/page.h"
#include "views/timeline/bar_chart.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

/// The sections whose tables the page shows, in this order.
constexpr const char* kRecordedSections[] = {"kernels", "collectives", "nodes", "planned", "coverage"};
constexpr int kRecordedRows = 12;
/// The chart shows so many accelerators; the table has all of them.
constexpr std::size_t kMostAccelerators = 16;

struct RecordedData {
  std::vector<sections::Section> sections;
  bool measured = false;
};

}  // namespace

class RecordedPage : public shell::Page {
 public:
  explicit RecordedPage(shell::PageContext& context) : Page(context) {
    area_ = new ColumnsArea(this);
    sentences_ = new Panel(context.palette, tr("What was found"), this);
    area_->top()->addWidget(sentences_);
    accelerators_ = new PartsChart(context.palette, tr("What each accelerator does"), this);
    area_->top()->addWidget(accelerators_);
    const auto subjectOfBar = [this](int bar) { return subjectOfAccelerator(bar); };
    offerSubjects(*accelerators_->bars(), subjectOfBar);
    connect(accelerators_->bars(), &timeline::BarChart::clicked, this, [this, subjectOfBar](int bar) {
      if (const shell::Selected chosen = subjectOfBar(bar); chosen.kind != shell::Selected::Kind::none)
        context_.selection.set(chosen);
    });
    setContent(area_);
  }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto content = std::make_shared<RecordedData>();
      content->measured = job.catalog.measured();
      for (const char* name : kRecordedSections) {
        if (!content->measured) break;
        PIPESCOPE_ASSIGN(sections::Section section,
                         sectionNamed(name, {job.source, job.catalog, job.executable, -1, job.reports}));
        content->sections.push_back(std::move(section));
      }
      return Apply([this, content] { apply(content); });
    };
  }

 private:
  void apply(std::shared_ptr<const RecordedData> content) {
    data_ = std::move(content);
    if (!data_->measured) return showInstead(whyNotRecorded(*context_.session.snapshot()->catalog));
    applySentences();
    applyAccelerators(data_->sections.front());
    std::size_t used = 0;
    // A trace may have hundreds of counters, which say less than all else.
    for (const bool counters : {false, true}) {
      for (const sections::Section& section : data_->sections) {
        for (const sections::SectionTable& table : section.tables) {
          if (table.rows.empty() || (table.key == "counters") != counters) continue;
          if (used == tables_.size()) addTable();
          tables_[used]->setTable(sections::withRowsOfText(table), section.ticksPerShownUnit);
          tables_[used++]->parentWidget()->setVisible(true);
        }
      }
    }
    for (std::size_t i = used; i < tables_.size(); ++i) tables_[i]->parentWidget()->setVisible(false);
  }

  /// The device of a bar, which are in the order of the table of devices.
  shell::Selected subjectOfAccelerator(int bar) const {
    if (!data_ || data_->sections.empty()) return {};
    return subjectOf(*tableNamed(data_->sections.front(), "devices"), bar,
                     context_.session.snapshot()->catalog.get());
  }

  void addTable() {
    auto* panel = new Panel(context_.palette, {}, this);
    auto* table = new DataTable(context_.palette, panel);
    table->setRowsShown(kRecordedRows);
    table->setYielding({"longest_queue", "launches_found", "copy_cycles", "launch_delay_cycles"});
    panel->body()->addWidget(table);
    area_->bottom()->addWidget(panel);
    tables_.push_back(table);
  }

  /// The sections' own sentences, which also say why a section has nothing.
  void applySentences() {
    while (QLayoutItem* item = sentences_->body()->takeAt(0)) {
      delete item->widget();
      delete item;
    }
    const auto nodes = std::ranges::find(data_->sections, "nodes", &sections::Section::name);
    const bool hasNodes = nodes != data_->sections.end() && nodes->lacks.empty();
    std::set<std::string> said;
    // Known things come first, and then the reasons why others are not.
    for (const bool lacks : {false, true}) {
      for (const sections::Section& section : data_->sections) {
        for (const std::string& sentence : section.remarks) {
          if ((sentence == section.lacks) != lacks) continue;
          // A Gaudi records nodes instead of kernels.
          if ((hasNodes && section.name == "kernels" && lacks) || !said.insert(sentence).second) continue;
          auto* line =
              new IconSentence(context_.palette, QStringLiteral("info"),
                               lacks ? shell::Ui::muted : shell::Ui::accent, text(sentence), sentences_);
          line->setObjectName(lacks ? QStringLiteral("not_known") : QStringLiteral("known"));
          sentences_->body()->addWidget(line);
        }
      }
    }
  }

  void applyAccelerators(const sections::Section& kernels) {
    const sections::SectionTable& table = *tableNamed(kernels, "devices");
    accelerators_->setVisible(!table.rows.empty());
    const std::pair<const char*, std::pair<QString, ColourRole>> parts[] = {
        {"compute_cycles", {tr("computes"), ColourRole::compute}},
        {"exposed_communication_cycles", {tr("only communicates"), ColourRole::globalExchange}},
        {"copy_cycles", {tr("only copies"), ColourRole::streamCopy}},
        {"host_idle_cycles", {tr("idle, waits for the host's launch"), ColourRole::waitHost}},
        {"device_idle_cycles", {tr("idle, launched and not started"), ColourRole::otherWait}}};
    std::vector<std::vector<NamedPart>> bars;
    QStringList names, notes;
    const std::size_t shown = std::min(kMostAccelerators, table.rows.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& row = table.rows[i];
      std::vector<NamedPart> bar;
      const sections::Cell& hostIdle = row[columnNamed(table, "host_idle_cycles")];
      for (const auto& [key, part] : parts)
        bar.push_back({part.first, part.second, numberIn(row[columnNamed(table, key)]),
                       part.second == ColourRole::otherWait});
      const bool launches = !std::holds_alternative<std::monostate>(hostIdle);
      bar.push_back({launches ? tr("idle, launch not known") : tr("idle"),
                     launches ? ColourRole::otherPass : ColourRole::otherWait,
                     numberIn(row[columnNamed(table, "unknown_idle_cycles")]), true});
      bars.push_back(std::move(bar));
      names << wordsIn(row[columnNamed(table, "device_name")]);
      notes << tr("idle %1").arg(text(formatCell(row[columnNamed(table, "idle_share")], Format::fraction)));
    }
    accelerators_->setParts(
        bars,
        [time = kernels.time()](double ticks) {
          return text(timeText(ticks, time, sections::TimeStyle::chart));
        },
        names, notes);
    accelerators_->setTitle(
        tr("What each accelerator does"),
        shown < table.rows.size()
            ? tr("%1 from the first start to the last end of its kernels and copies; the first %2 "
                 "accelerators, and all in the table below")
                  .arg(chartUnit(kernels.time()))
                  .arg(shown)
            : tr("%1 from the first start to the last end of its kernels and copies")
                  .arg(chartUnit(kernels.time())));
  }

  std::shared_ptr<const RecordedData> data_;
  ColumnsArea* area_ = nullptr;
  Panel* sentences_ = nullptr;
  PartsChart* accelerators_ = nullptr;
  std::vector<DataTable*> tables_;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(recorded) {
  registry.add(
      {QStringLiteral("recorded"), QObject::tr("Recorded"), QStringLiteral("recorded"),
       QObject::tr("Kernels, idle time, collectives and what was recognised of a recorded run"),
       PageGroup::recorded, 10,
       [](PageContext& context) -> Page* { return new pages::RecordedPage(context); }, true,
       [](const analysis::Catalog& catalog, model::ExecutableId) { return pages::whyNotRecorded(catalog); }});
}

}  // namespace pipescope::shell
