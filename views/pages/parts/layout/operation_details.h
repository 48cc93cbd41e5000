#pragma once
#include <QTabWidget>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "profiler/analysis/catalog.h"
#include "profiler/sections/operation_rows.h"
#include "views/pages/parts/tables/tree_model.h"
#include "views/shell/look/palette.h"

namespace pipescope::pages {

class DataTable;
class FactGrid;
struct ShownFact;

/// Tables that the operations page reads.
struct OperationsData {
  sections::Section section;
  sections::OperationTables all;
  const sections::SectionTable& rows(sections::OperationRows kind) const {
    return all.tables[static_cast<std::size_t>(kind)];
  }
  double perUnit() const { return section.ticksPerShownUnit; }
  /// There can be half a million programs, so they and the rows of operators are made only if the table
  /// shows them.
  bool operatorsMade = false, programsRead = false;
  bool holds(sections::OperationRows kind) const {
    return kind == sections::OperationRows::programs    ? programsRead
           : kind == sections::OperationRows::operators ? operatorsMade
                                                        : true;
  }
  /// The folding of the rows of each kind. Programs do not fold.
  std::array<Folding, static_cast<std::size_t>(sections::OperationRows::programs) + 1> folding{};
  void findFolding();
};

/// The operations that a selected row of any table stands for.
struct ChosenOperations {
  QString title;                      ///< empty: nothing is selected
  std::vector<sections::Cell> cells;  ///< cells of the row
  sections::OperationRows kind = sections::OperationRows::layers;
  int row = -1;              ///< row of the table; −1: a row that the tree has made
  std::string name, prefix;  ///< prefix: all layers below this path, for a row of the tree
  std::set<int> rows;        ///< rows of the table that equal layers fold into one row of the tree
};

/// Tabs with what is known of the selected operations: figures and largest parts, programs, code, time and
/// FLOP of each operator, and names from the model down to the program.
class OperationDetails : public QTabWidget {
  Q_OBJECT

 public:
  explicit OperationDetails(const shell::Palette& palette, QWidget* parent = nullptr);
  void setData(std::shared_ptr<const OperationsData> data);
  void show(const ChosenOperations& chosen);
  /// The operators whose programs the details lack; nothing: show() has shown them, or there are none. An
  /// empty set stands for all operators. Nobody wants them while another tab is shown.
  std::optional<std::set<model::OperatorId>> wantedPrograms() const;
  void setPrograms(const sections::LongestPrograms& programs);
  static constexpr std::size_t kMostRows = 1'000;
  /// Shows the chain of names from the model down to the row, first to last, with the layer of each.
  void setNames(const std::vector<model::DebugContext>& chain);
  FactGrid* facts() const { return facts_; }

 private:
  void showFacts(const ChosenOperations& chosen);
  std::vector<int> operatorsOf(const ChosenOperations& chosen) const;
  std::set<std::string> foldedNames(const ChosenOperations& chosen) const;
  void showPrograms(const ChosenOperations& chosen, const std::vector<int>& operators);
  void showRows(DataTable* tab, const sections::SectionTable& from, const std::vector<int>& rows,
                const QString& title, const std::vector<const char*>& columns, std::size_t count = 0);
  void showOperators(DataTable* tab, const std::vector<int>& rows, const QString& title,
                     const std::vector<const char*>& columns);
  /// `cells`: the cells of a row of `from`.
  void showRows(DataTable* tab, const sections::SectionTable& from,
                const std::function<std::vector<sections::Cell>(int)>& cells, const std::vector<int>& rows,
                const QString& title, const std::vector<const char*>& columns, std::size_t count);

  std::shared_ptr<const OperationsData> data_;
  std::optional<std::set<model::OperatorId>> wantedPrograms_;
  FactGrid* facts_;
  DataTable *parts_, *programs_, *code_, *cycles_, *flops_, *names_;
};

}  // namespace pipescope::pages
