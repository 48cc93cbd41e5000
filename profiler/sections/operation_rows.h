#pragma once
// Tables of operations: what the operations section and the window's page show of layers, blocks, types,
// single operators and programs.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Things that a row of a table of operations may stand for.
enum class OperationRows {
  layers,     ///< a layer of the model or node of the ONNX model, with its gradients and updates
  blocks,     ///< a block of the model
  kinds,      ///< an operator type
  operators,  ///< an operator in one pass
  programs,   ///< a program that has steps: OnTileExecute, DoExchange …
};

/// Bound on the speed of operations: the peak of the arithmetic units, or the rate of a memory.
struct Ceiling {
  std::string key, name;
  double rate = 0;       ///< FLOP/s of one device, or B/s
  bool compute = false;  ///< true: FLOP/s
};
/// The ceilings that the profile's figures state.
base::Result<std::vector<Ceiling>> ceilingsOf(const Context& context);

/// A table of operations.
base::Result<SectionTable> operationTable(const Context& context, OperationRows rows);

/// The operators of all passes, the longest first. There may be hundreds of thousands, so their cells are
/// made where a table shows them.
class OperatorList {
 public:
  virtual ~OperatorList() = default;
  virtual std::size_t size() const = 0;
  virtual const std::string& layer(std::size_t row) const = 0;
  virtual const std::string& kind(std::size_t row) const = 0;
  virtual const std::string& block(std::size_t row) const = 0;
  /// The cells of a row of the table of operators.
  virtual std::vector<Cell> cells(std::size_t row) const = 0;
};

/// All tables, in the order of OperationRows. Operators and programs are too many for a section; the window
/// shows them.
struct OperationTables {
  std::vector<SectionTable> tables;
  std::shared_ptr<const OperatorList> list;
  /// Code of each table's rows, with the name of the row in the first column.
  std::vector<SectionTable> code;
  /// One for each table and row; none for blocks and types.
  std::vector<std::vector<model::DebugContextId>> contexts;
  /// One for each table and row, for tables of operators and programs.
  std::vector<std::vector<model::OperatorId>> operators;
};
/// All tables but for the rows of operators and programs, which take the longest to make. The list of
/// operators is there.
base::Result<OperationTables> shortOperationTables(const Context& context);
/// Adds the rows of the table of operators.
void addOperatorRows(OperationTables& tables);
/// Adds rows of programs. There can be half a million, so the table has the longest of them, and its basis
/// says how many there are.
base::Status addProgramRows(const Context& context, OperationTables& tables);
constexpr std::size_t kMostPrograms = 10'000;

/// The section "operations" without its tables of operations.
base::Result<Section> operationsWithoutTables(const Context& context);

/// The longest programs.
struct LongestPrograms {
  SectionTable table;     ///< rows with the columns of the table of programs
  std::size_t count = 0;  ///< number of all programs of these operators
};
/// The programs that state one of these operators; without operators, all programs. At most `most` rows.
base::Result<LongestPrograms> longestPrograms(const Context& context,
                                              const std::set<model::OperatorId>& operators, std::size_t most);

}  // namespace pipescope::sections
