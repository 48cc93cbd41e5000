#pragma once
// The program tree with what each program costs, as a table whose rows form a tree.
#include <functional>
#include <optional>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {
struct ProgramNode;  // model/program_tree.h, which only the sections link
}

namespace pipescope::sections {

/// "Repeat ×4 (training)": the type of a program, its turns, its name and what it calls.
std::string programText(const analysis::ProgramNode& node);

struct ProgramRows {
  SectionTable table;                           ///< control programs, functions and the programs in them
  std::vector<int> parents;                     ///< row of the program that each row lies in; −1: none
  std::vector<model::ProgramId> ids, targets;   ///< ids of each row; target: the Function that a Call runs
  std::vector<model::DeviceId> devices;         ///< one for each row
  std::vector<model::DebugContextId> contexts;  ///< one for each row
  /// One for each row; only programs without children have one.
  std::vector<std::optional<model::StepKind>> steps;
};
/// If there are very many programs, `begin` gets rows of the tree first: those of the devices, or of the
/// programs that hold others.
base::Result<ProgramRows> programRows(const Context& context,
                                      const std::function<void(ProgramRows)>& begin = {});

/// The programs at or below a row, with those of the functions that are called there.
std::vector<model::ProgramId> programsBelow(const ProgramRows& rows, int row);
/// The vertices that these programs run, by type, most bytes first. Without rows, the basis says why.
base::Result<SectionTable> programVertices(const Context& context,
                                           const std::vector<model::ProgramId>& programs);

}  // namespace pipescope::sections
