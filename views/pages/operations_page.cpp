// Shows what the operations of the model cost: time by pass, FLOPs, code and memory, by layer, block or type.
#include <QComboBox>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "profiler/sections/words.h"
#include "views/pages/parts/data_table.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/panel.h"
#include "views/pages/parts/parts_chart.h"
#include "views/pages/parts/section_lookup.h"
#include "views/pages/parts/text.h"
#include "views/pages/parts/tool_row.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

constexpr int kOperationRows = 16;
constexpr std::size_t kMostOperationBars = 12;
const auto kOperationsLayerKey = QStringLiteral("operations/layer");

struct OperationsData {
  sections::Section section;
  QString timeUnit;
};

/// What the choice above the page offers, and the tables of the section.
struct OperationLayer {
  const char *table, *name;
};
constexpr OperationLayer kOperationLayers[] = {
    {"operations", "Layers of the model"}, {"blocks", "Blocks"}, {"kinds", "Types"}};

/// The columns of the section that the chart adds up.
struct PassColumn {
  const char *key, *name;
  ColourRole role;
};
constexpr PassColumn kPassColumns[] = {
    {"forward_cycles", "forward", ColourRole::forward},
    {"recompute_cycles", "recompute", ColourRole::recompute},
    {"backward_cycles", "backward", ColourRole::backward},
    {"weight_gradient_cycles", "weight gradient", ColourRole::weightGradient},
    {"update_cycles", "update", ColourRole::update}};

}  // namespace

class OperationsPage : public shell::Page {
 public:
  explicit OperationsPage(shell::PageContext& context) : Page(context) {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeTools());
    auto* area = new ColumnsArea(content);
    layout->addWidget(area, 1);
    chart_ = new PartsChart(context.palette, tr("Time by pass"), this);
    area->left()->addWidget(chart_);
    area->left()->addStretch(1);
    auto* details = new Panel(context.palette, tr("All operations"), this);
    details_ = details;
    facts_ = new FactGrid(context.palette, details);
    facts_->setColumnWidth(280);
    details->body()->addWidget(facts_);
    area->right()->addWidget(details);
    area->right()->addStretch(1);
    area->setStretch(13, 7);
    auto* panel = new Panel(context.palette, {}, this);
    table_ = new DataTable(context.palette, panel);
    table_->setRowsShown(kOperationRows);
    table_->setFilterVisible(true);
    panel->body()->addWidget(table_);
    area->bottom()->addWidget(panel);
    setContent(content);
    setKeyWidget(area);
    connect(table_, &DataTable::rowActivated, this, &OperationsPage::select);
    connect(chart_->bars(), &timeline::BarChart::clicked, this, [this](int bar) {
      if (bar < static_cast<int>(shownRows_.size())) select(shownRows_[static_cast<std::size_t>(bar)]);
    });
  }

  shell::Picture picture() override { return {chart_, accessibleName(), {}}; }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto content = std::make_shared<OperationsData>();
      PIPESCOPE_ASSIGN(content->section,
                       sectionNamed("operations", {job.source, job.catalog, job.executable}));
      content->timeUnit = QString::fromUtf8(sections::wordsOf(job.catalog).time.unit);
      return Apply([this, content] {
        data_ = content;
        selected_ = -1;
        apply();
      });
    };
  }

  void forget() override { selected_ = -1; }

 private:
  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    QStringList names;
    for (const OperationLayer& layer : kOperationLayers) names << tr(layer.name);
    layer_ = tools->combo(names, tr("Rows"), tr("What a row stands for"));
    layer_->setCurrentIndex(qBound(0, context_.settings.value(kOperationsLayerKey, 0).toInt(),
                                   static_cast<int>(std::size(kOperationLayers)) - 1));
    connect(layer_, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
      context_.settings.setValue(kOperationsLayerKey, index);
      selected_ = -1;
      if (data_) apply();
    });
    tools->stretch();
    return tools;
  }

  const sections::Table& rows() const {
    return *tableNamed(data_->section, kOperationLayers[layer_->currentIndex()].table);
  }

  void apply() {
    if (!data_->section.lacks.empty()) return showInstead(text(data_->section.lacks));
    const sections::Table& table = rows();
    applyChart(table);
    table_->setTable(table, data_->section.ticksPerShownUnit);
    applyDetails();
  }

  QString time(double ticks) const {
    return text(formatCell(ticks, Format::ticks, data_->section.ticksPerShownUnit));
  }

  /// The rows that take longest.
  void applyChart(const sections::Table& table) {
    const std::size_t all = columnNamed(table, "cycles"), share = columnNamed(table, "share");
    shownRows_.clear();
    for (std::size_t i = 0; i < table.rows.size(); ++i) shownRows_.push_back(static_cast<int>(i));
    const auto timeOf = [&](int row) { return numberIn(table.rows[static_cast<std::size_t>(row)][all]); };
    std::ranges::stable_sort(shownRows_, [&](int a, int b) { return timeOf(a) > timeOf(b); });
    std::erase_if(shownRows_, [&](int row) { return timeOf(row) <= 0; });
    const std::size_t count = shownRows_.size();
    if (count > kMostOperationBars) shownRows_.resize(kMostOperationBars);
    std::vector<std::vector<NamedPart>> bars;
    QStringList names, notes;
    for (const int index : shownRows_) {
      const auto& row = table.rows[static_cast<std::size_t>(index)];
      std::vector<NamedPart>& parts = bars.emplace_back();
      double passes = 0;
      for (const PassColumn& pass : kPassColumns) {
        const double ticks = numberIn(row[columnNamed(table, pass.key)]);
        parts.push_back({tr(pass.name), pass.role, ticks});
        passes += ticks;
      }
      parts.push_back({tr("other"), ColourRole::otherKind, timeOf(index) - passes});
      names << wordsIn(row[0]);
      notes << text(formatCell(row[share], Format::fraction));
    }
    chart_->setVisible(!bars.empty());
    chart_->setParts(
        bars, [this](double ticks) { return time(ticks); }, names, notes);
    const QString basis =
        tr("%1, one replica, per micro-batch (updates per iteration); on the right, the share of all")
            .arg(data_->timeUnit);
    chart_->setTitle(tr("Time by pass"),
                     count > shownRows_.size()
                         ? tr("%1; the %2 longest of %3").arg(basis).arg(shownRows_.size()).arg(count)
                         : basis);
  }

  /// All figures of the selected row, also those that are too many for a table in a small window.
  void applyDetails() {
    const sections::Table& table = rows();
    std::vector<ShownFact> facts;
    const bool any = selected_ >= 0 && selected_ < static_cast<int>(table.rows.size());
    if (!any) {
      for (const sections::Fact& fact : data_->section.facts)
        facts.push_back({text(fact.label),
                         text(formatCell(fact.value, fact.format, data_->section.ticksPerShownUnit)),
                         text(fact.doc)});
      details_->setTitle(tr("All operations"), tr("select a row or a bar to see its figures"));
      return facts_->setFacts(std::move(facts));
    }
    const auto& row = table.rows[static_cast<std::size_t>(selected_)];
    for (std::size_t c = 1; c < table.columns.size(); ++c) {
      const sections::Column& column = table.columns[c];
      if (std::holds_alternative<std::monostate>(row[c]) || row[c] == sections::Cell(std::string())) continue;
      facts.push_back({text(column.heading),
                       text(formatCell(row[c], column.format, data_->section.ticksPerShownUnit)),
                       text(column.doc)});
    }
    addRates(table, row, facts);
    details_->setTitle(wordsIn(row[0]), text(table.basis));
    facts_->setFacts(std::move(facts));
  }

  /// Floating-point operations in a tick say how well an operation uses its device.
  void addRates(const sections::Table& table, const std::vector<sections::Cell>& row,
                std::vector<ShownFact>& facts) const {
    const double flops = numberIn(row[columnNamed(table, "flops")]),
                 ticks = numberIn(row[columnNamed(table, "cycles")]);
    if (flops <= 0 || ticks <= 0) return;
    facts.push_back({tr("FLOP per %1").arg(unitOfOne()),
                     QString::number(flops / ticks * data_->section.ticksPerShownUnit, 'g', 4),
                     tr("floating-point operations ÷ time, over all passes")});
  }

  /// "cycle" for "cycles".
  QString unitOfOne() const {
    return data_->timeUnit.endsWith(QLatin1Char('s')) && data_->timeUnit != QStringLiteral("µs")
               ? data_->timeUnit.chopped(1)
               : data_->timeUnit;
  }

  /// Shows the figures of a row of the table.
  void select(int row) {
    selected_ = row;
    table_->markRow(row);
    int bar = -1;
    for (std::size_t i = 0; i < shownRows_.size(); ++i)
      bar = shownRows_[i] == row ? static_cast<int>(i) : bar;
    chart_->bars()->setMarked(bar);
    applyDetails();
  }

  std::shared_ptr<const OperationsData> data_;
  QComboBox* layer_ = nullptr;
  PartsChart* chart_ = nullptr;
  Panel* details_ = nullptr;
  FactGrid* facts_ = nullptr;
  DataTable* table_ = nullptr;
  std::vector<int> shownRows_;  ///< the row of each bar
  int selected_ = -1;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(operations) {
  registry.add({QStringLiteral("operations"), QObject::tr("Operations"), QStringLiteral("operations"),
                QObject::tr("What each operation of the model costs, by layer, block and type"), 36,
                [](PageContext& context) -> Page* { return new pages::OperationsPage(context); }});
}

}  // namespace pipescope::shell
