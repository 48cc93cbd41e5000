#pragma once
// Tables of operations: what the operations section and the window's page show of layers, blocks, types,
// single operators and programs.
#include <string>
#include <vector>

#include "profiler/sections/section.h"

namespace pipescope::sections {

/// What a row of a table of operations stands for.
enum class OperationRows {
  layers,     ///< a layer of the model or node of the ONNX model, with its gradients and updates
  blocks,     ///< a block of the model
  kinds,      ///< an operator type
  operators,  ///< an operator in one pass
  programs,   ///< a program that has steps: OnTileExecute, DoExchange …
};

/// What bounds the speed of operations: the peak of the arithmetic units, and the rates of memories.
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
  std::vector<SectionTable> code;  ///< by table: the rows' code, with the name of the row in the first column
  std::vector<std::vector<model::DebugContextId>> contexts;  ///< by table and row; none for blocks and types
  std::vector<std::vector<model::OperatorId>> operators;     ///< by table and row; of operators and programs
};
base::Result<OperationTables> operationTables(const Context& context);
/// The same without the rows of operators and programs, which take the longest to make: those tables are
/// empty.
base::Result<OperationTables> shortOperationTables(const Context& context);

}  // namespace pipescope::sections
