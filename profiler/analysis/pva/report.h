#pragma once
// Gives access to a profile under the names that libpva's users know: Report, Compilation, Execution, Tile,
// LivenessProgramStep, ExecutionStep … (see the public libpva reference for their meanings). Objects are
// small handles. They keep the profile open, may be copied and used from several threads, and read facts by
// block when a caller asks for them.
//
// Differences from libpva: A profile holds several executables, and a Compilation or an Execution belongs to
// one of them. A lookup that can fail on a damaged file returns a Result. The model of the devices has no
// edges, no code bytes of single programs and no variables by program, so these are missing.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::pva {

using base::Result;

struct GapBytes {
  std::int64_t includingGaps = 0, excludingGaps = 0;
};
/// The bytes of one category, by region of the memory.
struct CategoryMemory {
  std::int64_t total = 0, interleaved = 0, nonInterleaved = 0, overflowed = 0;
};
/// A type of vertex, named by its codelet; `size` counts the bytes of its code.
struct VertexType {
  std::string name;
  std::int64_t size = 0;
};
/// The vertices of one type on a tile. The code lies there once for all of them.
struct TileVertexMemory {
  VertexType type;
  std::int64_t count = 0, codeBytes = 0;
  std::int64_t vertexInstanceStateBytes = 0, vertexFieldDataBytes = 0;
};

namespace detail {
struct Profile;
}

class TileMemory {
 public:
  GapBytes total, interleaved, nonInterleaved, overflowed;
  std::int64_t alwaysLiveBytes = 0, notAlwaysLiveBytes = 0;
  std::map<std::string, CategoryMemory> category;  ///< libpva's category names → bytes
  /// Compilation::verticesForTile() of this tile.
  Result<std::vector<TileVertexMemory>> vertices() const;

 private:
  friend class Compilation;
  std::shared_ptr<const detail::Profile> profile_;
  model::ExecutableId executable_;
  std::int64_t tile_ = 0;
};
struct Tile {
  std::int64_t id = 0;  ///< unique over all devices
  std::int64_t ipu = 0;
  TileMemory memory;
};
struct Ipu {
  std::int64_t id = 0;
  std::vector<Tile> tiles;
};
/// One of the copies of the model that run side by side. Each copy has the same number of devices.
struct Replica {
  std::int64_t id = 0;
  std::vector<Ipu> ipus;
};
/// The size of the compiled program. libpva's numEdges is not known.
struct Graph {
  std::int64_t numComputeSets = 0, numVars = 0;
  std::int64_t numVertices = 0;  ///< 0 in a profile that was recorded without steps
};
/// The vertices of one type in a compute set.
struct ComputeSetVertices {
  /// As many vertices on each tile from `first` on.
  struct Part {
    std::int64_t first = 0, tiles = 0, each = 0;
  };
  VertexType type;
  std::int64_t count = 0, tiles = 0;  ///< vertices on all tiles; tiles that hold some
  std::int64_t tilesOfIpu = 0;
  std::vector<Part> parts;
  /// The vertices on each tile of the IPU.
  std::vector<std::int64_t> countByTile() const;
};
struct Variable {
  std::string name;
  std::int64_t size = 0;
};
/// The part of a variable that lies on one tile, or a piece of it: what is not always live has a piece for
/// each of its lives, and may be divided.
struct LoweredVariable {
  std::int64_t id = -1;  ///< id of the whole variable, which its parts share
  std::string name, category, shape;
  std::int64_t bytes = 0, tile = 0;
  bool alwaysLive = false;
  std::int64_t offset = -1;  ///< address on the tile; −1: never live
  std::string region;        ///< non_interleaved, interleaved or overflowed
  /// The program steps [firstStep, endStep) in which it is live; −1 for what is always live.
  std::int64_t firstStep = -1, endStep = -1;
};
struct LiveMemory {
  std::int64_t bytes = 0;
  std::vector<Variable> variables;
};
struct Target {
  std::string type, architecture;
  std::int64_t numIPUs = 0, tilesPerIpu = 0, numTiles = 0;
  std::int64_t bytesPerTile = 0, bytesPerIPU = 0, totalMemory = 0;
  std::int64_t clockFrequency = 0;  ///< Hz
  std::int64_t numReplicas = 1, ipusPerReplica = 0, tilesPerReplica = 0, memoryPerReplica = 0;
};
struct DebugContext {
  std::int64_t id = -1;
  std::string name, layer;
  std::vector<std::int64_t> parents;
};

class ComputeSet;
class ProgramVisitor;

class Program {
 public:
  Program() = default;
  std::int64_t id() const { return id_; }
  std::string name() const;  ///< name path
  std::string type() const;  ///< OnTileExecute, DoExchange, Sync …
  /// The children in program order. A Call has the children of its function, under the names of this call.
  std::vector<Program> children() const;
  std::int64_t count() const;             ///< runs of the children of a Repeat; 1 for other types
  std::optional<Program> target() const;  ///< Function whose code a Call runs
  DebugContext debugContext() const;
  /// Cycles of each tile of the program's IPU in one execution. Only OnTileExecute, DoExchange and Sync
  /// programs have them; empty if the profile does not.
  Result<std::vector<std::int64_t>> estimatedCyclesByTile() const;
  std::optional<ComputeSet> computeSet() const;  ///< compute set of an OnTileExecute
  /// Calls the visitor's member function for this type. It does not visit the children.
  void accept(ProgramVisitor& visitor) const;

 private:
  friend class Compilation;
  friend class Execution;
  friend class ExecutionStep;
  friend class LivenessProgramStep;
  Program(std::shared_ptr<const detail::Profile> profile, std::int64_t id)
      : profile_(std::move(profile)), id_(id) {}
  std::shared_ptr<const detail::Profile> profile_;
  std::int64_t id_ = -1;
};

/// Override the functions that you need; the defaults do nothing. visitProgram() handles all other types.
class ProgramVisitor {
 public:
  virtual ~ProgramVisitor() = default;
  virtual void visitOnTileExecute(const Program&) {}
  virtual void visitDoExchange(const Program&) {}
  virtual void visitGlobalExchange(const Program&) {}
  virtual void visitStreamCopy(const Program&) {}
  virtual void visitSync(const Program&) {}
  virtual void visitSequence(const Program&) {}
  virtual void visitRepeat(const Program&) {}
  virtual void visitCall(const Program&) {}
  virtual void visitFunction(const Program&) {}
  virtual void visitProgram(const Program&) {}
};

class LivenessProgramStep {
 public:
  std::int64_t index() const { return row_.index; }
  Program program() const;
  std::int64_t notAlwaysLiveBytes() const { return row_.notAlwaysLive.count; }
  /// Returns the memory with its variables. It reads the variables' life intervals.
  Result<LiveMemory> notAlwaysLiveMemory() const;
  /// Returns the memory of one tile of this step's IPU, largest variable first. It reads the unit maps
  /// and fails if there are none.
  Result<LiveMemory> notAlwaysLiveMemoryForTile(std::int64_t tile) const;
  std::int64_t ipu() const;  ///< the IPU that runs the program

 private:
  friend class Compilation;
  std::shared_ptr<const detail::Profile> profile_;
  model::LivenessStep row_;
};

/// The computation that an OnTileExecute program runs.
class ComputeSet {
 public:
  std::string name() const { return program_.name(); }
  Program program() const { return program_; }
  Result<std::vector<std::int64_t>> estimatedCyclesByTile() const { return program_.estimatedCyclesByTile(); }
  /// Empty in a profile that was recorded without steps, and if an earlier call of a function holds the code.
  Result<std::vector<ComputeSetVertices>> vertices() const;

 private:
  friend class Compilation;
  friend class Program;
  ComputeSet(std::shared_ptr<const detail::Profile> profile, Program program)
      : profile_(std::move(profile)), program_(std::move(program)) {}
  std::shared_ptr<const detail::Profile> profile_;
  Program program_;
};

class Compilation {
  friend class TileMemory;

 public:
  std::int64_t executable() const { return executable_.value; }  ///< id of its row
  Target target() const;
  /// Returns the tiles of all devices of the executable, with the memory of each.
  Result<std::vector<Tile>> tiles() const;
  /// Returns the same tiles grouped by device; replicas() groups those devices.
  Result<std::vector<Ipu>> ipus() const;
  Result<std::vector<Replica>> replicas() const;
  Result<Graph> graph() const;
  Result<std::vector<Program>> rootPrograms() const;  ///< the programs that have no parent
  Result<std::vector<Program>> programs() const;      ///< all programs, in the order of the profile
  /// Every option that the run used, by its key; libpva has the options of Poplar's engine here.
  Result<std::map<std::string, std::string>> engineOptions() const;
  /// Returns the compute sets of all devices, in the order of the programs. The compute sets of a function
  /// are listed for each of its calls.
  Result<std::vector<ComputeSet>> computeSets() const;
  Result<std::vector<LivenessProgramStep>> livenessProgramSteps(std::int64_t ipu = 0) const;
  Result<std::vector<Variable>> alwaysLiveVariables() const;
  /// Returns the variables on a tile, largest first. Both functions read the unit maps. They fail if
  /// there are none or the tile does not exist.
  Result<std::vector<Variable>> alwaysLiveVariablesForTile(std::int64_t tile) const;
  Result<std::vector<LoweredVariable>> loweredVariablesForTile(std::int64_t tile) const;
  /// Returns the types of vertices on a tile, most bytes first.
  Result<std::vector<TileVertexMemory>> verticesForTile(std::int64_t tile) const;

 private:
  Result<std::vector<Program>> programsWhere(const std::function<bool(const model::Program&)>& wanted) const;
  friend class Report;
  std::shared_ptr<const detail::Profile> profile_;
  model::ExecutableId executable_;
};

struct StepIpu {
  std::int64_t ipu = 0, cycles = 0;
  std::int64_t cyclesFrom = 0, cyclesTo = 0;  ///< absolute, in the device's ticks
  std::int64_t activeTiles = 0;
  double tileBalance = 0;  ///< mean ÷ slowest over all tiles
  std::int64_t dataIn = 0, dataOut = 0;
};

class ExecutionStep {
 public:
  Program program() const;
  std::string name() const { return program().name(); }
  std::string kind() const { return model::toString(step_.kind); }
  StepIpu ipu() const;
  /// The cycles by tile of the step's program.
  Result<std::vector<std::int64_t>> cyclesByTile() const { return program().estimatedCyclesByTile(); }
  std::int64_t stage() const { return placement_.stage; }
  std::int64_t microBatch() const { return placement_.microBatch; }

 private:
  friend class Execution;
  std::shared_ptr<const detail::Profile> profile_;
  model::Placement placement_;
  model::Step step_;
};

struct Run {
  std::int64_t id = 0;
  std::string name;
  std::int64_t cyclesFrom = 0, cyclesTo = 0;
  double startMicroseconds = 0, endMicroseconds = 0;  ///< emulated
  std::int64_t samples = 0;
};

/// A step in a window, or several neighbouring steps of a lane that are shorter than the window's resolution.
struct WindowSpan {
  std::int64_t ipu = 0;  ///< −1: the host
  std::string lane, kind;
  std::string name;  ///< name path of a single step; empty for several
  std::int64_t cyclesFrom = 0, cyclesTo = 0;
  std::int64_t steps = 1;  ///< 0: not counted
};

class Execution {
 public:
  std::vector<Run> runs() const;
  /// Adds up the time from start to end of every run.
  std::int64_t totalCycles() const;
  /// Calls visit for every step of a run, placement by placement, until it returns false. It collects
  /// nothing, so a run may have any length.
  base::Status forEachStep(std::int64_t run, const std::function<bool(const ExecutionStep&)>& visit) const;
  /// Returns the steps of a run. Fails if there are more than `most`.
  Result<std::vector<ExecutionStep>> steps(std::int64_t run, std::size_t most = 10'000'000) const;
  /// Returns what the devices do from `cyclesFrom` to `cyclesTo`, by lane and time. Steps shorter than
  /// `resolution` cycles are joined with their neighbours; 0 gives every step. The cost depends on the window
  /// and the resolution, not on the length of the run.
  Result<std::vector<WindowSpan>> window(std::int64_t cyclesFrom, std::int64_t cyclesTo,
                                         std::int64_t resolution = 0) const;

 private:
  friend class Report;
  std::shared_ptr<const detail::Profile> profile_;
  model::ExecutableId executable_;
};

struct Operation {
  DebugContext debugContext;
  std::string name, kind, pass;
  std::int64_t stage = -1;
  double flops = 0;
  std::int64_t bytes = 0;
};

/// The level of detail of the recorded times, in libpva's words.
struct InstrumentationSettings {
  std::string compute;  ///< Tile: times of every tile; Ipu: of every step; Device: of every stage; Off: none
  std::string externalExchange;  ///< Tile (times of every transfer) or Off
};

class Report {
 public:
  static Result<Report> make(std::shared_ptr<const model::ProfileSource> source);
  std::vector<std::string> executables() const;
  /// The next three functions take the name of an executable. An empty name means the first one.
  Result<Compilation> compilation(const std::string& executable = "") const;
  Result<Execution> execution(const std::string& executable = "") const;
  Result<std::vector<Operation>> operations(const std::string& executable = "") const;
  /// Derives the settings from the rows that were recorded.
  Result<InstrumentationSettings> instrumentationSettings() const;
  std::string property(const std::string& key) const;
  /// Returns the name, layer and parent of a debug context. An id of −1 means that there is none.
  DebugContext debugContext(std::int64_t id) const;
  /// The debug context of a variable, by the variable's id. It reads the variables.
  Result<DebugContext> debugContextOfVariable(std::int64_t id) const;
  std::string pipescopeVersion() const { return property("tool_version"); }
  const model::ProfileSource& source() const;

 private:
  std::shared_ptr<const detail::Profile> profile_;
};

}  // namespace pipescope::pva
