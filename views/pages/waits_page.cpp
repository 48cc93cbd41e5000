// Shows who waits for whom and why, and the critical path of the last call.
#include <QComboBox>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"
#include "views/pages/parts/charts/parts_chart.h"
#include "views/pages/parts/data/gap_data.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/wait_matrix.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Cell;
using sections::Format;

constexpr int kWaitRows = 14, kPathRows = 12, kGapRows = 8;
constexpr int kGapShare = 4;  // of a tall window, whose rest the waits need
/// Most devices that the choice above the gaps lists.
constexpr std::size_t kMostChoices = 500;

struct WaitsData {
  sections::Section section;
  analysis::IdleStretches gaps;
  bool ran = false, complete = false;  ///< complete: with the critical path
};

/// The cause of a row of the table, by its name.
model::WaitCause causeNamed(const QString& name) {
  for (int cause = 0; cause <= static_cast<int>(model::WaitCause::update); ++cause) {
    if (text(model::toString(static_cast<model::WaitCause>(cause))) == name)
      return static_cast<model::WaitCause>(cause);
  }
  return static_cast<model::WaitCause>(static_cast<int>(model::WaitCause::update) + 1);
}

/// Columns of the table of waits that the matrix shows.
struct WaitColumns {
  explicit WaitColumns(const sections::SectionTable& table)
      : device(columnNamed(table, "device")),
        deviceName(columnNamed(table, "device_name")),
        target(columnNamed(table, "waits_for_device")),
        targetName(columnNamed(table, "waits_for")),
        cause(columnNamed(table, "cause")),
        share(columnNamed(table, "share")),
        sentence(columnNamed(table, "sentence")) {}
  std::size_t device, deviceName, target, targetName, cause, share, sentence;
};

/// The rows and columns of the matrix in the order of the devices; the host and other replicas come last.
class MatrixNames {
 public:
  void add(const Cell& index, const Cell& name) {
    const auto* device = std::get_if<std::int64_t>(&index);
    const std::int64_t last = std::numeric_limits<std::int64_t>::max();
    names_.emplace(std::pair(device == nullptr ? last : *device, wordsIn(name)), 0);
  }
  void number() {
    int next = 0;
    for (auto& [name, place] : names_) place = next++;
  }
  int place(const Cell& name) const {
    for (const auto& [known, place] : names_) {
      if (known.second == wordsIn(name)) return place;
    }
    return -1;
  }
  QStringList texts() const {
    QStringList list;
    for (const auto& [name, place] : names_) list << name.second;
    return list;
  }

 private:
  std::map<std::pair<std::int64_t, QString>, int> names_;
};

}  // namespace

class WaitsPage : public shell::Page {
 public:
  explicit WaitsPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    sentences_ = new Panel(context.palette, tr("The longest waits"), this);
    area->top()->addWidget(sentences_);
    auto* panel = new Panel(context.palette, tr("Who waits for whom"), this);
    panel->setTitle(
        tr("Who waits for whom"),
        tr("each row is a device that waits; shares are of the last call, and the colour is that of "
           "the longest wait"));
    matrix_ = new timeline::WaitMatrix(context.palette, panel);
    legend_ = new timeline::Legend(context.palette, panel);
    panel->body()->addWidget(matrix_);
    panel->body()->addWidget(legend_);
    area->top()->addWidget(panel);
    area->top()->addWidget(makeGaps());
    path_ = new PartsChart(context.palette, tr("Critical path"), this);
    area->top()->addWidget(path_);
    waits_ = addTable(*area->left(), kWaitRows);
    waits_->setFilterVisible(true);
    area->left()->addStretch(1);
    pathTable_ = addTable(*area->right(), kPathRows);
    area->right()->addStretch(1);
    setContent(area);
    connect(matrix_, &timeline::WaitMatrix::clicked, this, &WaitsPage::select);
    offerSubjects(*matrix_, [this](int row) { return subjectOfRow(row); });
    connect(&context.selection, &shell::Selection::changed, this, &WaitsPage::followOthers);
  }

 protected:
  Load load() override {
    return [this, isFirst = data_ == nullptr](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      const sections::Context context{job.source, job.catalog, job.executable, -1, job.reports};
      auto content = std::make_shared<WaitsData>();
      content->ran = job.catalog.lastRunOf(job.executable) != nullptr;
      if (isFirst && content->ran) {
        auto first = std::make_shared<WaitsData>(*content);
        PIPESCOPE_ASSIGN(first->section, sections::waitsWithoutPath(context));
        job.begin([this, first] { apply(first); });
      }
      PIPESCOPE_ASSIGN(content->section, sectionNamed("waits", context));
      PIPESCOPE_ASSIGN(content->gaps,
                       analysis::idleStretches(job.source, job.catalog, job.executable, kGapsOfEach));
      content->complete = true;
      return Apply([this, content] { apply(content); });
    };
  }

  void forget() override { data_.reset(); }

 private:
  DataTable* addTable(QVBoxLayout& column, int rows) {
    return addTablePanel(context_.palette, column, rows, this);
  }

  void apply(std::shared_ptr<const WaitsData> content) {
    data_ = std::move(content);
    if (!data_->ran) return showInstead(tr("Nothing of this executable has run, so nothing has waited."));
    const sections::SectionTable* waits = tableNamed(data_->section, "waits");
    applySentences();
    applyMatrix(*waits);
    waits_->setTable(*waits, data_->section.ticksPerShownUnit);
    waits_->parentWidget()->setVisible(!waits->rows.empty());
    const sections::Fact* length = factNamed(data_->section, "critical_path_cycles");
    const bool known = length != nullptr && !std::holds_alternative<std::monostate>(length->value);
    path_->setVisible(data_->complete && known);
    pathTable_->parentWidget()->setVisible(false);
    if (data_->complete && known) applyPath();
    applyGaps();
    followOthers();
  }

  /// The longest gaps, with a choice of the device and of the cause.
  QWidget* makeGaps() {
    gapsPanel_ = new Panel(context_.palette, {}, this);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    const auto choice = [&](const QString& name) {
      auto* box = new QComboBox(gapsPanel_);
      box->setAccessibleName(name);
      box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
      row->addWidget(box);
      connect(box, QOverload<int>::of(&QComboBox::activated), this, [this] { fillGaps(); });
      return box;
    };
    gapDevice_ = choice(tr("Device of the gaps"));
    gapCause_ = choice(tr("Cause of the gaps"));
    row->addStretch();
    gapTable_ = new DataTable(context_.palette, gapsPanel_);
    gapTable_->setRowsShown(kGapRows, kGapShare);
    gapTable_->setBarsToLargest();
    gapTable_->setYielding({"iteration", "causes", "waits_for"});
    gapsPanel_->body()->addLayout(row);
    gapsPanel_->body()->addWidget(gapTable_);
    return gapsPanel_;
  }

  void applyGaps() {
    gapsPanel_->setVisible(!data_->gaps.longest.empty());
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    std::set<model::DeviceId> devices;
    std::set<model::WaitCause> causes;
    for (const analysis::IdleStretch& gap : data_->gaps.longest) {
      if (devices.size() < kMostChoices) devices.insert(gap.device);
      causes.insert(gap.cause);
    }
    const auto fill = [](QComboBox& box, const QString& all, const auto& entries) {
      const QString before = box.currentText();
      box.clear();
      box.addItem(all, -1);
      for (const auto& [name, value] : entries) box.addItem(name, value);
      box.setCurrentIndex(std::max(0, box.findText(before)));
    };
    std::vector<std::pair<QString, qlonglong>> deviceNames, causeNames;
    for (const model::DeviceId id : devices) {
      if (const model::Device* device = catalog.device(id))
        deviceNames.emplace_back(text(device->name), id.value);
    }
    for (const model::WaitCause cause : causes)
      causeNames.emplace_back(text(model::toString(cause)), static_cast<qlonglong>(cause));
    fill(*gapDevice_, tr("All devices"), deviceNames);
    fill(*gapCause_, tr("All causes"), causeNames);
    fillGaps();
  }

  void fillGaps() {
    GapChoice choice;
    choice.device = model::DeviceId(gapDevice_->currentData().toLongLong());
    if (const qlonglong cause = gapCause_->currentData().toLongLong(); cause >= 0)
      choice.cause = static_cast<model::WaitCause>(cause);
    gapTable_->setTable(gapTable(chosenGaps(data_->gaps, choice), data_->gaps.count,
                                 *context_.session.snapshot()->catalog, context_.session.executable()),
                        data_->section.ticksPerShownUnit);
  }

  void applySentences() {
    while (QLayoutItem* item = sentences_->body()->takeAt(0)) {
      delete item->widget();
      delete item;
    }
    for (const std::string& sentence : data_->section.remarks) {
      sentences_->body()->addWidget(new IconSentence(context_.palette, QStringLiteral("info"),
                                                     shell::Ui::accent, text(sentence), sentences_));
    }
    sentences_->setVisible(!data_->section.remarks.empty());
  }

  void applyMatrix(const sections::SectionTable& table) {
    const WaitColumns at(table);
    MatrixNames rows, columns;
    for (const auto& row : table.rows) {
      rows.add(row[at.device], row[at.deviceName]);
      columns.add(row[at.target], row[at.targetName]);
    }
    rows.number();
    columns.number();
    rowDevices_.clear();
    std::map<std::pair<int, int>, timeline::WaitCell> cells;
    std::map<std::pair<int, int>, double> longest;
    std::vector<timeline::LegendEntry> entries;
    for (const auto& row : table.rows) {
      const std::pair place(rows.place(row[at.deviceName]), columns.place(row[at.targetName]));
      const double share = numberIn(row[at.share]);
      const QString cause = wordsIn(row[at.cause]);
      const ColourRole role = geometry::roleOf(causeNamed(cause));
      timeline::WaitCell& cell = cells[place];
      cell.row = place.first;
      cell.column = place.second;
      cell.share += share;
      if (share >= longest[place]) longest[place] = share, cell.role = role;
      const QString line =
          tr("%1 (%2 of the call)").arg(wordsIn(row[at.sentence]), text(formatCell(share, Format::fraction)));
      cell.tip += (cell.tip.isEmpty() ? QString() : QStringLiteral("\n")) + line;
      if (const auto* device = std::get_if<std::int64_t>(&row[at.device]))
        rowDevices_[place.first] = model::DeviceId(*device);
      if (std::ranges::find(entries, role, &timeline::LegendEntry::role) == entries.end())
        entries.push_back({cause, role, false});
    }
    // A cause that is nowhere the longest is not drawn.
    std::erase_if(entries, [&](const timeline::LegendEntry& entry) {
      return std::ranges::none_of(cells, [&](const auto& cell) { return cell.second.role == entry.role; });
    });
    std::vector<timeline::WaitCell> list;
    for (auto& [place, cell] : cells) {
      cell.label = text(formatCell(cell.share, Format::fraction));
      list.push_back(std::move(cell));
    }
    matrix_->parentWidget()->setVisible(!list.empty());
    matrix_->setMatrix(rows.texts(), columns.texts(), std::move(list));
    legend_->setEntries(std::move(entries));
  }

  void applyPath() {
    const auto part = [&](const char* key, const QString& name, ColourRole role) {
      return NamedPart{name, role, numberIn(data_->section, key)};
    };
    const double perUnit = data_->section.ticksPerShownUnit;
    const auto shown = [time = data_->section.time()](double ticks) {
      return text(timeText(ticks, time, sections::TimeStyle::chart));
    };
    path_->setParts({{part("critical_path_compute_cycles", tr("compute"), ColourRole::compute),
                      part("critical_path_exchange_cycles", tr("exchange"), ColourRole::exchange),
                      part("critical_path_update_cycles", tr("update"), ColourRole::update),
                      part("critical_path_memory_cycles", tr("remote memory"), ColourRole::remoteCopy),
                      part("critical_path_host_cycles", tr("host"), ColourRole::hostIn)}},
                    shown);
    path_->setTitle(tr("Critical path"), tr("%1 of the last call; the parts add up to its length, %2")
                                             .arg(chartUnit(data_->section.time()),
                                                  shown(numberIn(data_->section, "critical_path_cycles"))));
    const sections::SectionTable* links = tableNamed(data_->section, "critical_path");
    pathTable_->setTable(*links, perUnit);
    pathTable_->parentWidget()->setVisible(!links->rows.empty());
  }

  /// Shows the waits of the clicked cell in the table, the longest first.
  void select(int row, int column) {
    tellDevice(row);  // the table follows to the first row of the device
    const sections::SectionTable& table = waits_->model()->table();
    const std::size_t device = columnNamed(table, "device_name"), target = columnNamed(table, "waits_for");
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (wordsIn(table.rows[i][device]) != matrix_->rows()[row] ||
          wordsIn(table.rows[i][target]) != matrix_->columns()[column])
        continue;
      waits_->markRow(static_cast<int>(i));
      break;
    }
  }

  /// Selects the device of a row of the matrix on all pages.
  void tellDevice(int row) {
    const shell::Selected selected = subjectOfRow(row);
    if (selected.device.valid()) context_.selection.set(selected);
  }

  shell::Selected subjectOfRow(int row) const {
    shell::Selected selected;
    const auto found = rowDevices_.find(row);
    if (found == rowDevices_.end()) return selected;
    selected.kind = shell::Selected::Kind::device;
    selected.device = found->second;
    return selected;
  }

  void followOthers() {
    int marked = -1;
    for (const auto& [row, device] : rowDevices_) {
      if (device.valid() && device == context_.selection.current().device) marked = row;
    }
    matrix_->setMarked(marked);
  }

  std::shared_ptr<const WaitsData> data_;
  std::map<int, model::DeviceId> rowDevices_;  ///< the device of each row of the matrix
  Panel* sentences_ = nullptr;
  timeline::WaitMatrix* matrix_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  PartsChart* path_ = nullptr;
  DataTable *waits_ = nullptr, *pathTable_ = nullptr, *gapTable_ = nullptr;
  Panel* gapsPanel_ = nullptr;
  QComboBox *gapDevice_ = nullptr, *gapCause_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(waits) {
  registry.add({QStringLiteral("waits"), QObject::tr("Waits"), QStringLiteral("waits"),
                QObject::tr("Which device waits for which and why, and the critical path"), PageGroup::time,
                40, [](PageContext& context) -> Page* { return new pages::WaitsPage(context); }, true,
                pages::whyNoWaits});
}

}  // namespace pipescope::shell
