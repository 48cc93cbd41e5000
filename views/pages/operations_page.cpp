// Shows what the operations of the model cost: time by pass, FLOP, code and memory, by layer, block, type,
// operator or program, as a table or a tree, with a treemap and a roofline.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "profiler/sections/frame/words.h"
#include "views/pages/parts/charts/operation_charts.h"
#include "views/pages/parts/data/debug_names.h"
#include "views/pages/parts/data/operation_tables.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/operation_details.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/layout/tool_row.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using sections::Format;
using sections::OperationRows;

constexpr int kOperationRows = 9, kOperationTableShare = 4, kTree = 1;
const auto kOperationsLayerKey = QStringLiteral("operations/layer"),
           kOperationsTreeKey = QStringLiteral("operations/tree"),
           kOperationsFoldKey = QStringLiteral("operations/fold"),
           kOperationsChartKey = QStringLiteral("operations/chart");

/// Names in the choice above the page, in the order of OperationRows.
constexpr const char* kOperationLayers[] = {"Layers or ONNX nodes", "Blocks", "Types", "Operators",
                                            "Programs"};

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
    area->top()->addWidget(makeTables());
    charts_ = new OperationCharts(context.palette, this);
    area->left()->addWidget(charts_, 1);
    auto* details = new Panel(context.palette, tr("All operations"), this);
    details->setHelp(QStringLiteral("All operations"));
    detailsPanel_ = details;
    details_ = new OperationDetails(context.palette, details);
    details->body()->addWidget(details_);
    area->right()->addWidget(details, 1);
    area->setStretch(11, 9);
    setContent(content);
    setKeyWidget(area);
    connect(table_, &DataTable::rowActivated, this, &OperationsPage::select);
    connect(tree_, &TreeTable::rowActivated, this, &OperationsPage::selectInTree);
    connect(charts_, &OperationCharts::clicked, this, &OperationsPage::selectInChart);
    connect(table_, &DataTable::rowFollowed, this, &OperationsPage::select);
    connect(tree_, &TreeTable::rowFollowed, this, &OperationsPage::selectInTree);
    connect(details_, &QTabWidget::currentChanged, this, &OperationsPage::readPrograms);
    tree_->setSubjects([this](int row) { return subjectInTree(row); },
                       [this](const shell::Selected& selected) {
                         if (selected.name.isEmpty()) return -1;
                         return treeFolded_ ? foldedRowOf(selected.name) : tree_->rowOfPath(selected.name);
                       });
    offerSubjects(*charts_, [this](int row) { return subjectInChart(row); });
    connect(table_->shown(), &QAbstractItemModel::rowsInserted, this, &OperationsPage::applyTotals);
    connect(table_->shown(), &QAbstractItemModel::rowsRemoved, this, &OperationsPage::applyTotals);
    applyChoices();
  }

  shell::Picture picture() override { return {charts_->current(), accessibleName(), {}}; }

  /// The details show the same operation of both profiles.
  void mirror(const Page* shown) override {
    const auto* other = static_cast<const OperationsPage*>(shown);
    if (other == nullptr || !data_ || !other->data_ || kind() != other->kind()) return;
    const ChosenOperations& wanted = other->chosen_;
    const Mirrored now{wanted.title, wanted.row, data_, other->data_};
    if (now == mirrored_) return;
    mirrored_ = now;
    if (wanted.title.isEmpty()) return choose({});
    const int row = wanted.row < 0 ? -1 : operationLike(rows(), other->rows(), wanted.row);
    ChosenOperations same = wanted;
    same.row = row;
    same.rows.clear();  // they are rows of the other profile
    // Without such a row, or for a row that the tree has made, there are no figures of the row itself.
    same.cells = row < 0 ? std::vector<sections::Cell>(rows().columns.size())
                         : rows().rows[static_cast<std::size_t>(row)];
    row < 0 && wanted.prefix.empty() ? chooseNothing(same) : choose(same);
  }

 protected:
  Load load() override {
    return [this, wanted = wantedKind()](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      const sections::Context context{job.source, job.catalog, job.executable, -1, job.reports};
      auto first = std::make_shared<OperationsData>();
      PIPESCOPE_ASSIGN(first->all, sections::shortOperationTables(context));
      first->findFolding();
      PIPESCOPE_ASSIGN(first->section, sections::operationsWithoutTables(context));
      sections::showTimesIn(sections::wordsOf(context.catalog).time, first->section);
      auto content = first;
      if (wanted > OperationRows::kinds) {
        job.begin([this, first] { beginWith(first); });
        content = std::make_shared<OperationsData>(*first);
        content->programsRead = wanted == OperationRows::programs;
        content->operatorsMade = !content->programsRead;
        if (content->operatorsMade) sections::addOperatorRows(content->all);
        if (content->programsRead) PIPESCOPE_TRY(sections::addProgramRows(context, content->all));
        content->findFolding();
      }
      return Apply([this, content, first] {
        const bool begun = data_ == first && kind() == wantedKind() && first->section.lacks.empty();
        details_->setData(content);
        shell::dropInBackground(std::exchange(data_, content));
        begun ? completeDetails() : apply();
      });
    };
  }

 private:
  QComboBox* choice(ToolRow* tools, const QStringList& names, const QString& name, const QString& tip,
                    const QString& key) {
    QComboBox* box = tools->combo(names, name, tip);
    box->setCurrentIndex(
        qBound(0, context_.settings.value(key, 0).toInt(), static_cast<int>(names.size()) - 1));
    connect(box, QOverload<int>::of(&QComboBox::activated), this, [this, key](int index) {
      context_.settings.setValue(key, index);
      applyChoices();
      if (data_ && key == kOperationsLayerKey) applyLayer();
    });
    return box;
  }

  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    tools->setIndent(kScrolledIndent);
    QStringList names;
    for (const char* layer : kOperationLayers) names << tr(layer);
    layer_ = choice(tools, names, tr("Rows"), tr("What a row stands for"), kOperationsLayerKey);
    arrangement_ = choice(tools, {tr("Flat"), tr("Tree")}, tr("Arrangement"),
                          tr("One row below the other, or by the parts of their names"), kOperationsTreeKey);
    fold_ = new QCheckBox(tr("Fold equal layers"), tools);
    fold_->setToolTip(
        tr("Shows rows whose names differ only in numbers as one, with their sums. A click on the "
           "arrow of such a row shows its parts."));
    fold_->setVisible(false);
    tools->add(fold_);
    connect(fold_, &QCheckBox::clicked, this, [this](bool on) {
      context_.settings.setValue(kOperationsFoldKey, on);
      applyChoices();
    });
    chart_ = choice(tools, {tr("Bars by pass"), tr("Treemap"), tr("Roofline")}, tr("Chart"),
                    tr("What the chart shows"), kOperationsChartKey);
    tools->stretch();
    tools->pictureButton();
    return tools;
  }

  QWidget* makeTables() {
    auto* panel = new Panel(context_.palette, {}, this);
    tables_ = new OneOf(panel);
    table_ = new DataTable(context_.palette, tables_);
    table_->setRowsShown(kOperationRows, kOperationTableShare);
    table_->setFilterVisible(true);
    table_->setHidden(hiddenOperationColumns);
    const std::vector<std::string> yielding = {"always_live_bytes", "code_bytes", "flops", "tile_balance",
                                               "update_cycles"};
    table_->setYielding(yielding);
    tree_ = new TreeTable(context_.palette, tables_);
    tree_->setYielding(yielding);
    tree_->setRowsShown(kOperationRows);
    tables_->add(table_);
    tables_->add(tree_);
    totals_ = new QLabel(panel);
    totals_->setWordWrap(true);
    shell::Palette::makeQuiet(*totals_);
    panel->body()->addWidget(tables_);
    panel->body()->addWidget(totals_);
    return panel;
  }

  OperationRows wantedKind() const { return static_cast<OperationRows>(layer_->currentIndex()); }
  /// Kind of the rows shown; it changes when the rows that the user chose have been read.
  OperationRows kind() const { return shownKind_; }

  /// Shows the chosen rows, and lets go of operators and programs when they are no longer shown.
  void applyLayer() {
    if (data_->holds(wantedKind())) apply();
    if (data_->operatorsMade != (wantedKind() == OperationRows::operators) ||
        data_->programsRead != (wantedKind() == OperationRows::programs))
      reload();
  }
  const sections::SectionTable& rows() const { return data_->rows(kind()); }

  void applyChoices() {
    charts_->setKind(static_cast<OperationCharts::Kind>(chart_->currentIndex()));
    tables_->showOnly(isTree() ? kTree : 0);
    if (!data_ || !data_->section.lacks.empty()) return;
    offerFolding();
    showChart();
    isTree() ? makeTree() : fillTable();
    applyTotals();
  }

  /// Gives the table its rows. A table that is hidden behind a tree has none, because there may be many.
  void fillTable() {
    if (isTableFilled_) return;
    isTableFilled_ = true;
    sections::SectionTable table = rows();
    for (sections::SectionColumn& column : table.columns) column.inText = true;
    table_->setTable(std::move(table), data_->perUnit());
    if (selected_ >= 0) table_->markRow(selected_);
  }

  /// Layers can be folded where some are equal. Many are, until users have said what they want.
  void offerFolding() {
    const Folding folding = data_->folding[static_cast<std::size_t>(kind())];
    const QVariant wanted = context_.settings.value(kOperationsFoldKey);
    fold_->setVisible(folding.largest > 1 && arrangement_->currentIndex() != kTree);
    fold_->setChecked(wanted.isValid() ? wanted.toBool() : folding.equal > kManyEqualLayers);
    tables_->showOnly(isTree() ? kTree : 0);
  }

  /// Shows layers, blocks and types while operators and programs are being read.
  void beginWith(const std::shared_ptr<OperationsData>& first) {
    details_->setData(first);
    shell::dropInBackground(std::exchange(data_, first));
    apply();
  }

  /// Shows the programs and operators of what the user may have selected meanwhile.
  void completeDetails() {
    offerFolding();
    showChart();  // it draws the rows of the data
    details_->show(chosen_);
    readPrograms();
    if (chosen_.row >= 0) readNames(chosen_.row);
    if (treePending_) treeOf_.reset(), makeTree();
  }

  /// Draws the rows, or what the table shows of them while equal layers are folded.
  void showChart() {
    const bool folded = isFolded();
    if (folded && !isTreeReady()) return;  // they come soon
    const auto shown = std::make_shared<ChartRows>();
    if (folded) {
      const TreeRows& tree = tree_->ownRows();
      shown->table.columns = tree.table.columns;
      for (std::size_t i = 0; i < tree.parents.size(); ++i) {
        if (tree.parents[i] >= 0) continue;
        shown->table.rows.push_back(tree.table.rows[i]);
        shown->treeRows.push_back(static_cast<int>(i));
      }
    }
    charts_->setTable(folded ? shown->table : rows(), *tableNamed(data_->section, "ceilings"),
                      data_->section.time());
    chartRows_ = folded ? shown : nullptr;
    if (selected_ >= 0) markInChart(selected_);
  }

  /// Marks what the chart shows of a row.
  void markInChart(int row) {
    if (!chartRows_ || row < 0) return charts_->mark(row);
    const TreeRows& tree = tree_->ownRows();
    const auto source = std::ranges::find(tree.sources, row);
    int at = source == tree.sources.end() ? -1 : static_cast<int>(source - tree.sources.begin());
    while (at >= 0 && tree.parents[static_cast<std::size_t>(at)] >= 0)
      at = tree.parents[static_cast<std::size_t>(at)];
    const auto drawn = std::ranges::find(chartRows_->treeRows, at);
    charts_->mark(
        drawn == chartRows_->treeRows.end() ? -1 : static_cast<int>(drawn - chartRows_->treeRows.begin()));
  }

  shell::Selected subjectInChart(int row) const {
    return chartRows_ ? subjectInTree(chartRows_->treeRows[static_cast<std::size_t>(row)])
                      : subjectOf(rows(), row, context_.session.snapshot()->catalog.get());
  }

  void selectInChart(int row) {
    if (chartRows_) {
      const int treeRow = chartRows_->treeRows[static_cast<std::size_t>(row)];
      selectInTree(treeRow);
      tree_->markRow(treeRow);
      charts_->mark(row);
    } else {
      select(row);
    }
    context_.selection.set(subjectInChart(row));
  }

  void apply() {
    if (!data_->section.lacks.empty()) {
      const QString why = whyNoOperations(*context_.session.snapshot()->catalog);
      return showInstead(why.isEmpty() ? text(data_->section.lacks) : why);
    }
    if (data_->holds(wantedKind())) {
      shownKind_ = wantedKind();
    } else if (!data_->holds(shownKind_)) {
      shownKind_ = OperationRows::layers;
    }
    selected_ = -1;
    isTableFilled_ = false;
    treeOf_.reset();
    treePending_ = false;
    offerFolding();
    showChart();
    isTree() ? makeTree() : fillTable();
    applyTotals();
    choose({});
  }

  /// Folded rows are a tree, too.
  bool isTree() const { return arrangement_->currentIndex() == kTree || isFolded(); }
  bool isFolded() const {
    return data_ && arrangement_->currentIndex() != kTree && fold_->isChecked() &&
           data_->folding[static_cast<std::size_t>(kind())].largest > 1;
  }
  /// True if the tree shows the chosen rows in the chosen way.
  bool isTreeReady() const { return treeOf_ == kind() && treeFolded_ == isFolded() && !treePending_; }

  /// Makes the tree of the rows on a worker, because there may be many.
  void makeTree() {
    const bool folded = isFolded();
    if (treeOf_ == kind() && treeFolded_ == folded) return;
    treeOf_ = kind();
    treeFolded_ = folded;
    treePending_ = true;
    readInBackground(
        [data = data_, kind = kind(), folded] {
          sections::SectionTable table = data->rows(kind);
          for (sections::SectionColumn& column : table.columns) column.inText = true;
          return std::make_shared<TreeRows>(folded ? treeOfEqualLayers(std::move(table))
                                                   : treeOfPaths(std::move(table)));
        },
        [this, data = data_, kind = kind(), folded](const std::shared_ptr<TreeRows>& rows) {
          if (data != data_ || treeOf_ != kind || treeFolded_ != folded) return;
          treePending_ = false;
          tree_->setRows(std::move(*rows), data->perUnit());
          tree_->openTo(folded ? 0 : 1);
          hideTreeColumns();
          if (folded) showChart();
          if (selected_ >= 0) markInTree(selected_);
        });
  }

  void hideTreeColumns() {
    const sections::SectionTable& table = tree_->ownRows().table;
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      tree_->setColumnShown(static_cast<int>(c), isOperationTreeColumn(table, c));
  }

  /// The sums of the rows that the filter leaves.
  void applyTotals() {
    if (!data_) return;
    const QSortFilterProxyModel* shown = isTree() ? nullptr : table_->shown();
    std::vector<int> counted(shown == nullptr ? rows().rows.size()
                                              : static_cast<std::size_t>(shown->rowCount()));
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const int at = static_cast<int>(i);
      counted[i] = shown == nullptr ? at : shown->mapToSource(shown->index(at, 0)).row();
    }
    totals_->setText(operationTotals(rows(), counted, data_->section));
  }

  /// Shows what is known of a selected row; without a title, of all operations.
  void choose(const ChosenOperations& chosen) {
    detailsPanel_->setTitle(chosen.title.isEmpty() ? tr("All operations") : chosen.title,
                            chosen.title.isEmpty()
                                ? tr("select a row or a part of the chart to see its figures")
                                : text(rows().basis));
    ChosenOperations own = chosen;
    own.kind = kind();
    chosen_ = own;
    details_->show(own);
    readPrograms();
    if (chosen.row >= 0) readNames(chosen.row);
  }

  /// Shows that this profile has no such operation.
  void chooseNothing(ChosenOperations chosen) {
    chosen.kind = OperationRows::layers;  // finds its rows by name, so none is chosen
    chosen.cells.assign(data_->rows(chosen.kind).columns.size(), {});
    chosen_ = chosen;
    details_->show(chosen);
    readPrograms();
  }

  /// Reads the programs of what the details show. The last selection counts.
  void readPrograms() {
    const int asked = ++programsAsked_;
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (!details_->wantedPrograms() || snapshot == nullptr) return;
    readInBackground(
        [held = *snapshot, executable = context_.session.executable(), reports = context_.session.reports(),
         operators = *details_->wantedPrograms()] {
          const sections::Context context{*held.source, *held.catalog, executable, -1, reports};
          const auto found = longestPrograms(context, operators, OperationDetails::kMostRows);
          return found.ok() ? std::make_shared<const sections::LongestPrograms>(*found) : nullptr;
        },
        [this, asked](const std::shared_ptr<const sections::LongestPrograms>& found) {
          if (asked == programsAsked_ && found) details_->setPrograms(*found);
        });
  }

  void readNames(int row) {
    const auto& contexts = data_->all.contexts[static_cast<std::size_t>(kind())];
    const model::DebugContextId id = contexts[static_cast<std::size_t>(row)];
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (!id.valid() || snapshot == nullptr) return;
    readInBackground([held = *snapshot, id] { return namesAbove(*held.catalog, id); },
                     [this, row, data = data_](const std::vector<model::DebugContext>& chain) {
                       if (data == data_ && row == selected_) details_->setNames(chain);
                     });
  }

  void markInTree(int row) {
    const auto& sources = tree_->ownRows().sources;
    const auto found = std::find(sources.begin(), sources.end(), row);
    tree_->markRow(found == sources.end() ? -1 : static_cast<int>(found - sources.begin()));
  }

  /// Shows the figures of a row of the table.
  void select(int row) {
    selected_ = row;
    table_->markRow(row);
    if (treeOf_ == kind()) markInTree(row);
    markInChart(row);
    ChosenOperations chosen;
    chosen.cells = rows().rows[static_cast<std::size_t>(row)];
    chosen.title = wordsIn(chosen.cells[0]);
    chosen.name = chosen.title.toStdString();
    chosen.row = row;
    choose(chosen);
  }

  /// The row of the folded tree that has this name; −1: none.
  int rowNamed(const QString& name) const {
    const TreeRows& tree = tree_->ownRows();
    for (std::size_t i = 0; i < tree.sources.size(); ++i)
      if (tree.sources[i] >= 0 && wordsIn(tree.table.rows[i][0]) == name) return static_cast<int>(i);
    return -1;
  }

  /// Equal operations have no name in common: other pages show the first of them.
  shell::Selected subjectOfFirst(int treeRow) const {
    const TreeRows& tree = tree_->ownRows();
    for (std::size_t i = 0; i < tree.parents.size(); ++i)
      if (tree.parents[i] == treeRow && tree.sources[i] >= 0)
        return subjectOf(rows(), tree.sources[i], context_.session.snapshot()->catalog.get());
    return {};
  }

  shell::Selected subjectInTree(int treeRow) const {
    const int source = tree_->ownRows().sources[static_cast<std::size_t>(treeRow)];
    if (source >= 0) return subjectOf(rows(), source, context_.session.snapshot()->catalog.get());
    if (treeFolded_) return subjectOfFirst(treeRow);
    shell::Selected subject;
    subject.kind = shell::Selected::Kind::operation;
    subject.name = tree_->pathOf(treeRow);
    return subject;
  }

  /// The row of an operation; that of its equals while these are chosen, whose selection is the first of
  /// them.
  int foldedRowOf(const QString& name) const {
    const int row = rowNamed(name);
    const bool isChosen = row >= 0 && chosenFold_ >= 0 &&
                          tree_->ownRows().parents[static_cast<std::size_t>(row)] == chosenFold_;
    return isChosen ? chosenFold_ : row;
  }

  void selectInTree(int treeRow) {
    const TreeRows& tree = tree_->ownRows();
    chosenFold_ = treeFolded_ && tree.sources[static_cast<std::size_t>(treeRow)] < 0 ? treeRow : -1;
    if (const int source = tree.sources[static_cast<std::size_t>(treeRow)]; source >= 0)
      return select(source);
    selected_ = -1;
    table_->markRow(-1);
    charts_->mark(-1);
    ChosenOperations chosen;
    chosen.cells = tree.table.rows[static_cast<std::size_t>(treeRow)];
    if (treeFolded_) {
      chosen.title = wordsIn(chosen.cells[0]);
      for (std::size_t i = 0; i < tree.parents.size(); ++i)
        if (tree.parents[i] == treeRow && tree.sources[i] >= 0) chosen.rows.insert(tree.sources[i]);
      return choose(chosen);
    }
    for (int at = treeRow; at >= 0; at = tree.parents[static_cast<std::size_t>(at)])
      chosen.prefix = wordsIn(tree.table.rows[static_cast<std::size_t>(at)][0]).toStdString() +
                      (chosen.prefix.empty() ? "" : "/") + chosen.prefix;
    chosen.title = text(chosen.prefix);
    choose(chosen);
  }

  /// The rows of the chart while equal layers are folded, and the rows of the tree that they are.
  struct ChartRows {
    sections::SectionTable table;
    std::vector<int> treeRows;
  };

  std::shared_ptr<const OperationsData> data_;
  std::shared_ptr<const ChartRows> chartRows_;  ///< null: the chart shows rows()
  QCheckBox* fold_ = nullptr;
  QComboBox *layer_ = nullptr, *arrangement_ = nullptr, *chart_ = nullptr;
  OperationCharts* charts_ = nullptr;
  Panel* detailsPanel_ = nullptr;
  OperationDetails* details_ = nullptr;
  OneOf* tables_ = nullptr;
  DataTable* table_ = nullptr;
  TreeTable* tree_ = nullptr;
  QLabel* totals_ = nullptr;
  ChosenOperations chosen_;  ///< operations that the details show
  OperationRows shownKind_ = OperationRows::layers;
  int programsAsked_ = 0;  ///< counts the questions for programs
  int selected_ = -1;      ///< row of the table
  bool treePending_ = false, isTableFilled_ = false;
  using Mirrored =
      std::tuple<QString, int, std::shared_ptr<const OperationsData>, std::shared_ptr<const OperationsData>>;
  Mirrored mirrored_;  ///< title and row of the other page's selection, and the data of both
  std::optional<sections::OperationRows> treeOf_;  ///< the rows that the tree shows or waits for
  int chosenFold_ = -1;                            ///< row of equal operations that is chosen; −1: none
  bool treeFolded_ = false;                        ///< they are folded by equal layers
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(operations) {
  registry.add({QStringLiteral("operations"), QObject::tr("Operations"), QStringLiteral("operations"),
                QObject::tr("What each operation of the model costs, by layer, type, operator or program"),
                PageGroup::model, 10,
                [](PageContext& context) -> Page* { return new pages::OperationsPage(context); }, true,
                [](const analysis::Catalog& catalog, model::ExecutableId) {
                  return pages::whyNoOperations(catalog);
                }});
}

}  // namespace pipescope::shell
