#pragma once
// Computes what each layer of a model costs. Adds up the operators of all passes by the layer they come from.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Ticks by the pass in which something runs. There can be one for each program, so it takes no memory of its
/// own.
class PassTicks {
 public:
  void add(model::Pass pass, Ticks ticks);
  void add(const PassTicks& other);
  /// True if something was added for the pass, even if it takes no time.
  bool contains(model::Pass pass) const { return (seen_ >> indexOf(pass) & 1U) != 0; }
  Ticks at(model::Pass pass) const { return ticks_[indexOf(pass)]; }
  Ticks total() const;
  void divide(std::int64_t by);

 private:
  static constexpr std::size_t kPasses = static_cast<std::size_t>(model::Pass::other) + 1;
  /// A pass that only a later version knows counts as another one.
  static std::size_t indexOf(model::Pass pass) {
    return std::min(static_cast<std::size_t>(pass), kPasses - 1);
  }

  std::array<Ticks, kPasses> ticks_{};
  std::uint32_t seen_ = 0;
};

/// The costs of an operation in one iteration, which are those of all micro-batches and of the weight update.
struct OperationCost {
  PassTicks ticks;
  Ticks compute, exchange, sync, other;  ///< the same time by kind of step; exchange has that between chips
  double flops = 0;                      ///< FLOP over all passes
  double leastSeconds = 0;  ///< seconds that this FLOP takes at the peaks of its types; 0: no peaks recorded
  std::int64_t operators = 0, programs = 0;  ///< however often they run
  Bytes code;  ///< code, descriptors and vertex state below its name, sum over units
  std::map<std::string, Bytes> codeByCategory;  ///< the same by category; layers, blocks and types have it
  Bytes weights;    ///< always-live tensors below its name: weights, optimizer state, accumulators, stashes
  Bytes operands;   ///< operands and results, over all passes
  Bytes exchanged;  ///< bytes that the units receive in steps of exchange, over all passes
  double unitTicks = 0;  ///< mean over all units of the device, summed over compute steps
  Ticks slowestUnit;     ///< ticks of the slowest unit, summed over the same steps
  Ticks total() const { return ticks.total(); }
  /// Adds what is known of steps: times, bytes received, the number of programs and the balance of units.
  void addSteps(const OperationCost& steps);
  /// Divides what counts each run of a step: time, FLOP, operands and bytes received.
  void divideRuns(std::int64_t by);
  /// Mean ÷ slowest unit over the compute steps, weighted by their ticks; none without compute.
  std::optional<double> tileBalance() const;
};

struct Operation {
  std::string name;   ///< name of the forward operator, or its own name if it comes from none
  std::string kind;   ///< operator type
  std::string block;  ///< empty: not known
  std::int32_t stage = -1;
  OperationCost cost;
  std::string layer = {};  ///< layer that one operator or program comes from

  std::optional<model::Pass> pass = {};  ///< pass of one operator or program; a layer has several
  model::DebugContextId context = {};    ///< context of the same, or of a layer's forward operator
  model::OperatorId op = {};             ///< id of one operator or program
};

/// Name of the row for what belongs to no block of the model.
inline constexpr const char* kNoBlock = "(no block)";

struct Operations {
  std::vector<Operation> operations;  ///< one for each layer of origin, most ticks first
  /// One for each block of the model, in the model's order, and kNoBlock for the rest, so that all add up.
  std::vector<Operation> blocks;
  std::vector<Operation> kinds;      ///< one for each operator type, most ticks first
  std::vector<Operation> operators;  ///< operators of every pass, most ticks first; if asked for
  std::vector<Operation> programs;   ///< programs that have a step, most ticks first; if asked for
  std::size_t programCount = 0;      ///< number of all programs that were asked for
  OperationCost whole;
  std::int64_t iterations = 1;  ///< iterations of the last call
};

/// The lists that are as long as the program, which not every caller needs.
struct LongLists {
  bool operators = false, programs = false;
  std::set<model::OperatorId> programsOf = {};  ///< operators whose programs are wanted; empty: all
  std::size_t mostPrograms = 0;                 ///< number of the longest ones that are wanted; 0: all
};

/// Computes the costs of one replica in an iteration of the last call (see segmentRuns).
Result<Operations> operations(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable, const LongLists& lists = {});

}  // namespace pipescope::analysis
