#pragma once
// The program tree: control programs with their loops and calls, and the sums of what they contain.
#include <memory>
#include <optional>
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
  std::int64_t count = 1;   ///< turns of a Repeat
  model::ProgramId target;  ///< target of a Call
  model::DebugContextId context;
  std::string targetName;
  std::int64_t callers = 0;   ///< Calls of a Function
  std::int64_t programs = 0;  ///< programs without children below it (of a Call: in its function)
  /// Ticks of the steps below it, counting every loop turn; a Function has its Calls' ticks. A copy between
  /// devices has its time alone on the link.
  Ticks ticks;
  Bytes code;       ///< code, descriptors and vertex state below its name, sum over units; a Call has none
  Bytes exchanged;  ///< bytes that units receive in exchanges, counting every loop turn
  std::int64_t activeUnits = 0;              ///< units with work of a program without children
  std::optional<model::StepKind> step = {};  ///< step of a program without children that has steps
  double tileBalance = -1;  ///< mean ÷ slowest unit of one that computes; −1: it does not compute
};

/// Programs that have children, depth first and in the order of the program. Programs without children
/// (OnTileExecute, DoExchange …) are only counted.
Result<std::vector<ProgramNode>> controlPrograms(const model::ProfileSource& source, const Catalog& catalog,
                                                 model::ExecutableId executable);

/// The same with the programs that have no children, each after what precedes it in its parent.
Result<std::vector<ProgramNode>> programTree(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable);

/// Reads what these trees are made from. Making a tree of very many programs takes several times longer.
class ProgramReader {
 public:
  static Result<ProgramReader> read(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable);
  struct Programs;
  explicit ProgramReader(std::unique_ptr<const Programs> programs);
  ProgramReader(ProgramReader&&) noexcept;
  ~ProgramReader();

  std::int64_t roots() const;  ///< programs that lie in no other one
  std::int64_t size() const;   ///< all programs
  std::vector<ProgramNode> tree() const;
  /// The rows of the tree that have children, which takes a fraction of the time.
  std::vector<ProgramNode> control() const;
  /// A row for each device that has programs, of kind "Device" and without an id: the sums of its roots.
  /// Functions do not count, because their Calls have what they take.
  std::vector<ProgramNode> devices() const;

 private:
  std::unique_ptr<const Programs> programs_;
};

/// The effects of the compiler's passes, in the order in which they ran.
Result<std::vector<model::CompilerPass>> compilerPasses(const model::ProfileSource& source,
                                                        model::ExecutableId executable);

}  // namespace pipescope::analysis
