#pragma once
// The program tree: control programs with their loops and calls, and what lies below each of them.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct ProgramNode {
  model::ProgramId id;
  model::DeviceId device;
  std::string kind;         ///< Sequence, Repeat, Call, Function …
  std::string name;         ///< name path
  int depth = 0;            ///< 0: a control program that the host calls, or a function
  std::int64_t count = 1;   ///< of a Repeat
  model::ProgramId target;  ///< of a Call
  std::string targetName;
  std::int64_t callers = 0;   ///< of a Function: Calls of it
  std::int64_t programs = 0;  ///< that do something, below it (of a Call: in its function)
  Ticks ticks;                ///< of their steps, loops below it counted; a Function's are its Calls'
};

/// Programs that have others below them, depth first, in the order of the program; those that do something
/// (OnTileExecute, DoExchange …) are counted only. `children` gives them for one node.
Result<std::vector<ProgramNode>> controlPrograms(const model::ProfileSource& source, const Catalog& catalog,
                                                 model::ExecutableId executable);

/// The children of a program, in order; none: the roots of the executable.
Result<std::vector<model::Program>> childPrograms(const model::ProfileSource& source,
                                                  model::ExecutableId executable, model::ProgramId parent);

/// What the compiler's passes did, in their order.
Result<std::vector<model::CompilerPass>> compilerPasses(const model::ProfileSource& source,
                                                        model::ExecutableId executable);

}  // namespace pipescope::analysis
