#pragma once
// The figures of a profile that more than one report, table, card or question shows. Each is said once: its
// key, label, unit, definition with denominator, which direction is better, and how the analyses give it.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/figures/value.h"

namespace pipescope::analysis {
struct Execution;
struct Memory;
struct StageReport;
struct StagesReport;
}  // namespace pipescope::analysis

namespace pipescope::figures {

/// The analyses of one executable from which figures are read. A figure whose analysis is missing has no
/// value.
struct Analyses {
  const analysis::Catalog* catalog = nullptr;
  model::ExecutableId executable = {};
  const analysis::Execution* execution = nullptr;
  const analysis::StagesReport* stages = nullptr;
  const analysis::Memory* memory = nullptr;
  /// False if the last run holds no placements, so that nothing is known of the times of stages.
  bool placed = true;
  double pricePerHour = 0;  ///< of the whole system, in the user's currency; 0: nobody stated it
};

/// True if the lengths of iterations are known. They are not where nothing ran, or where a recorded trace
/// does not tell its training steps, or lacks a stage.
bool hasSteps(const Analyses& from);
/// True if the executable is known to have one stage, which waits for no other one.
bool hasOneStage(const Analyses& from);
/// True if every memory holds what lies in it, gaps included.
bool fitsInMemory(const analysis::Memory& memory);

/// The direction in which a figure improves.
enum class Better { less, more, neither };

struct Figure {
  const char* key;    ///< JSON key, snake_case with the unit
  const char* label;  ///< name where the figure stands alone
  const char* part;   ///< name below the figure of which it is a part; empty: the same as `label`
  Format format;
  Better better;
  const char* doc;  ///< one sentence that defines the figure and names its denominator
  std::function<Cell(const Analyses&)> value;
  const char* word = "";     ///< what users may write for the key in questions; empty: the key alone
  const char* heading = "";  ///< of a column; empty: the same as `label`
  /// True for what only several stages have: text and pages leave it out where there is one stage.
  bool ofSeveralStages = false;

  const char* columnHeading() const { return *heading == '\0' ? label : heading; }
  bool moreIsBetter() const { return better == Better::more; }
};

class FigureRegistry {
 public:
  void add(Figure figure) { figures_.push_back(std::move(figure)); }
  const std::vector<Figure>& all() const { return figures_; }

 private:
  std::vector<Figure> figures_;
};

/// Registers the figures of every group. The build generates this function.
void registerFigures(FigureRegistry& registry);
/// All figures.
const std::vector<Figure>& allFigures();
/// Null: no figure has this key.
const Figure* findFigure(std::string_view key);
/// A figure that the caller knows to exist.
const Figure& figure(std::string_view key);

/// The keys of the parts of the step time, which add up to it.
inline constexpr const char* kStepParts[] = {"useful_cycles", "lost_fill_and_drain_cycles",
                                             "lost_imbalance_cycles", "lost_exchange_update_host_cycles"};
/// The name of such a part in a chart of lost time: "fill and drain".
std::string lostTo(std::string_view key);

/// A value that an analysis may not have.
template <class T>
Cell cellOf(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
/// A cell as a number. Nothing: it has none, or it is not finite.
std::optional<double> numberIn(const Cell& cell);

}  // namespace pipescope::figures

/// Usage: PIPESCOPE_REGISTER_FIGURES(memory) { registry.add({...}); }
#define PIPESCOPE_REGISTER_FIGURES(name) void register_##name(FigureRegistry& registry)
