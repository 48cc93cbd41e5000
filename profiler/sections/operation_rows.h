#pragma once
// Tables of operations: what the operations section and the window's page show of layers, blocks, types,
// single operators and programs.
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

/// All tables, in the order of OperationRows. Operators and programs are too many for a section; the window
/// shows them.
struct OperationTables {
  std::vector<SectionTable> tables;
  /// Code of each table's rows, with the name of the row in the first column.
  std::vector<SectionTable> code;
  /// One for each table and row; none for blocks and types.
  std::vector<std::vector<model::DebugContextId>> contexts;
  /// One for each table and row, for tables of operators and programs.
  std::vector<std::vector<model::OperatorId>> operators;
};
/// There can be half a million programs, so the table has the longest of them, and its basis says how many
/// there are. `programs` = false: it has none.
base::Result<OperationTables> operationTables(const Context& context, bool programs);
constexpr std::size_t kMostPrograms = 10'000;
/// The same without the rows of operators and programs, which take the longest to make: those tables are
/// empty.
base::Result<OperationTables> shortOperationTables(const Context& context);

/// The longest programs.
struct LongestPrograms {
  SectionTable table;     ///< rows with the columns of the table of programs
  std::size_t count = 0;  ///< number of all programs of these operators
};
/// The programs that state one of these operators; without operators, all programs. At most `most` rows.
base::Result<LongestPrograms> longestPrograms(const Context& context,
                                              const std::set<model::OperatorId>& operators, std::size_t most);

}  // namespace pipescope::sections
