#pragma once
// The rows of a profile, each declared once. A row's fields() names every column with its unit and meaning;
// the store's tables and codecs, headings and documentation derive from it. See columns.h for the machinery.
//
// Ticks are of the timebase of the row's device (Device::ticksPerSecond), counted from the first run's start.
// All int32 indices (stage, chunk, microBatch …) count from 0; −1 means "does not apply".
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/base/ids.h"
#include "profiler/base/units.h"
#include "profiler/model/enums.h"

namespace pipescope::model {

using base::Bytes;
using base::Ticks;

/// Plain rows are small facts, one SQL row each; blocks are long columns, coded and compressed in blocks.
enum class Storage { plain, blocks };

struct DeviceTag;
struct LinkTag;
struct LaneTag;
struct MemorySpaceTag;
struct ExecutableTag;
struct DebugContextTag;
struct OperatorTag;
struct ProgramTag;
struct SegmentTag;
struct VariableTag;
struct RunTag;
struct PlacementTag;
struct TransferTag;
struct CounterTag;
using DeviceId = base::Id<DeviceTag>;
using LinkId = base::Id<LinkTag>;
using LaneId = base::Id<LaneTag>;
using MemorySpaceId = base::Id<MemorySpaceTag>;
using ExecutableId = base::Id<ExecutableTag>;
using DebugContextId = base::Id<DebugContextTag>;
using OperatorId = base::Id<OperatorTag>;
using ProgramId = base::Id<ProgramTag>;
using SegmentId = base::Id<SegmentTag>;
using VariableId = base::Id<VariableTag>;
using RunId = base::Id<RunTag>;
using PlacementId = base::Id<PlacementTag>;
using TransferId = base::Id<TransferTag>;
using CounterId = base::Id<CounterTag>;

#define PIPESCOPE_ROW(name, storage, doc)               \
  static constexpr const char* kTable = name;           \
  static constexpr Storage kStorage = Storage::storage; \
  static constexpr const char* kDoc = doc;              \
  template <class Self, class Visit>                    \
  static void fields(Self& row, Visit&& visit)

// --- How the run was started -----------------------------------------------------------

struct Property {
  std::string key, value;
  PIPESCOPE_ROW("property", plain,
                "Facts about the profile: tool_version, created_utc, command_line, device_model …") {
    visit("key", row.key, "", "name of the fact");
    visit("value", row.value, "", "the fact as text");
  }
};

struct ConfigurationEntry {
  std::string path, value, origin;
  PIPESCOPE_ROW("configuration", plain, "Every option the run used, with where its value came from") {
    visit("path", row.path, "", "key as in the TOML file, e.g. training.gradient_accumulation");
    visit("value", row.value, "", "value as TOML");
    visit("origin", row.origin, "", "default, file, environment or flag");
  }
};

struct Target {
  std::string name, family, description;
  std::int64_t devices = 0, devicesUsed = 0;
  TickMeaning tickMeaning = TickMeaning::clockCycle;
  PIPESCOPE_ROW("target", plain, "The emulated system") {
    visit("name", row.name, "", "system name, e.g. pod4");
    visit("family", row.family, "", "kind of device model that emulated it, e.g. ipu");
    visit("description", row.description, "", "one line for people");
    visit("devices", row.devices, "", "devices of the partition");
    visit("devices_used", row.devicesUsed, "", "devices that hold a stage");
    visit("tick_meaning", row.tickMeaning, "", "TickMeaning: what a tick of its devices stands for");
  }
};

struct Device {
  DeviceId id;
  std::string kind, name;
  std::int64_t ticksPerSecond = 1'000'000;
  std::int64_t units = 1;
  std::string unitName, clock;
  PIPESCOPE_ROW("device", plain, "One accelerator") {
    visit("id", row.id, "", "");
    visit("kind", row.kind, "", "chip, e.g. mk2");
    visit("name", row.name, "", "e.g. IPU0");
    visit("ticks_per_second", row.ticksPerSecond, "1/s", "timebase of all ticks of this device");
    visit("units", row.units, "", "parallel units: tiles, cores");
    visit("unit_name", row.unitName, "", "tile, core …");
    visit("clock", row.clock, "", "clock of the chip or of its engines, for people; empty: not modelled");
  }
};

struct Link {
  LinkId id;
  DeviceId from, to;
  std::string name;
  double bytesPerSecond = 0;
  PIPESCOPE_ROW("link", plain, "A directed connection between two devices, or host (none) and a device") {
    visit("id", row.id, "", "");
    visit("from_device", row.from, "", "none: the host");
    visit("to_device", row.to, "", "none: the host");
    visit("name", row.name, "", "");
    visit("bytes_per_second", row.bytesPerSecond, "B/s", "capacity in this direction; 0: not modelled");
  }
};

struct Lane {
  LaneId id;
  DeviceId device;
  std::string name;
  LaneRole role = LaneRole::compute;
  ClockDomain clock = ClockDomain::emulated;
  PIPESCOPE_ROW("lane", plain, "A row of a timeline; what lies on one lane never overlaps") {
    visit("id", row.id, "", "");
    visit("device", row.device, "", "none: the host");
    visit("name", row.name, "", "");
    visit("role", row.role, "", "LaneRole");
    visit("clock", row.clock, "", "emulated or wall");
  }
};

struct MemorySpace {
  MemorySpaceId id;
  DeviceId device;
  std::string kind;
  std::int64_t units = 1;
  Bytes bytesPerUnit;
  Bytes interleavedStart;
  Bytes elementBytes = {};
  PIPESCOPE_ROW("memory_space", plain,
                "Memory of one kind on one device: 1,472 tiles of 624 KiB, one HBM …") {
    visit("id", row.id, "", "");
    visit("device", row.device, "", "none: the host");
    visit("kind", row.kind, "", "tile_memory, hbm, streaming_memory …");
    visit("units", row.units, "", "how many equal units");
    visit("bytes_per_unit", row.bytesPerUnit, "B", "capacity of one unit");
    visit("interleaved_start", row.interleavedStart, "B", "address where interleaved memory begins; 0: none");
    visit("element_bytes", row.elementBytes, "B", "of a memory element; 0: the memory has none");
  }
};

// --- What was compiled -----------------------------------------------------------------

struct Executable {
  ExecutableId id;
  std::string name;
  ExecutableKind kind = ExecutableKind::training;
  std::string strategy, schedule, recompute;
  std::int64_t stages = 0, microBatchSize = 0, microBatches = 0, deviceIterations = 0, replicas = 1;
  ScheduleKind scheduleKind = ScheduleKind::dependency;
  PIPESCOPE_ROW("executable", plain, "One compiled program: training, validation or inference") {
    visit("id", row.id, "", "");
    visit("name", row.name, "", "training, inference …");
    visit("kind", row.kind, "", "ExecutableKind");
    visit("strategy", row.strategy, "", "pipelined, sharded …");
    visit("schedule", row.schedule, "", "popart, gpipe …");
    visit("recompute", row.recompute, "", "pipeline or none");
    visit("stages", row.stages, "", "forward stages N");
    visit("micro_batch_size", row.microBatchSize, "samples", "b");
    visit("micro_batches", row.microBatches, "",
          "micro-batches of one flush: G in training, device iterations in inference");
    visit("device_iterations", row.deviceIterations, "", "D");
    visit("replicas", row.replicas, "", "R");
    visit("schedule_kind", row.scheduleKind, "", "ScheduleKind: what holds its passes back");
  }
};

struct Stage {
  ExecutableId executable;
  std::int32_t index = 0;
  DeviceId device;
  std::string blocks;
  std::int64_t stashEntries = 0;
  Bytes stashBytesPerEntry;
  PIPESCOPE_ROW("stage", plain, "A pipeline stage and the device that holds it") {
    visit("executable", row.executable, "", "");
    visit("index", row.index, "", "");
    visit("device", row.device, "", "");
    visit("blocks", row.blocks, "", "blocks of the stage, separated by spaces");
    visit("stash_entries", row.stashEntries, "", "ring-buffer entries of each stashed tensor");
    visit("stash_bytes_per_entry", row.stashBytesPerEntry, "B", "stashed tensors of one micro-batch");
  }
};

struct Boundary {
  ExecutableId executable;
  std::int32_t fromStage = -1, toStage = -1;
  TransferKind kind = TransferKind::activation;
  std::string tensor, shape;
  Bytes bytes;
  Ticks ticks;
  PIPESCOPE_ROW("boundary", plain, "A tensor that crosses between stages, per micro-batch") {
    visit("executable", row.executable, "", "");
    visit("from_stage", row.fromStage, "", "");
    visit("to_stage", row.toStage, "", "");
    visit("kind", row.kind, "", "activation (forward) or gradient (backward)");
    visit("tensor", row.tensor, "", "");
    visit("shape", row.shape, "", "e.g. 40x10x12x12 float32");
    visit("bytes", row.bytes, "B", "per micro-batch");
    visit("ticks", row.ticks, "ticks", "of its copy alone on the link");
  }
};

struct DebugContext {
  DebugContextId id, parent;
  std::string name, layer;
  PIPESCOPE_ROW("debug_context", blocks, "Names as a tree: the name path of an operation or variable") {
    visit("id", row.id, "", "");
    visit("parent", row.parent, "", "");
    visit("name", row.name, "", "own part of the path");
    visit("layer", row.layer, "", "model, operator, program …");
  }
};

struct Operator {
  OperatorId id;
  ExecutableId executable;
  DebugContextId debugContext;
  std::string kind;
  std::int32_t stage = -1;
  Pass pass = Pass::forward;
  double flops = 0;
  Bytes bytes;
  std::string block = {};
  PIPESCOPE_ROW("operator", blocks, "An operation of the graph in one pass of one stage, per micro-batch") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("debug_context", row.debugContext, "", "");
    visit("kind", row.kind, "", "operator type, e.g. Conv");
    visit("stage", row.stage, "", "");
    visit("pass", row.pass, "", "Pass");
    visit("flops", row.flops, "FLOP", "floating-point operations, a multiply-add counts 2");
    visit("bytes", row.bytes, "B", "operands and results");
    visit("block", row.block, "", "block of the model that it belongs to; empty: not known");
  }
};

struct Program {
  ProgramId id, parent;
  ExecutableId executable;
  DeviceId device;
  std::string kind;
  DebugContextId debugContext;
  OperatorId op;
  std::int64_t count = 1;
  ProgramId target = {};
  PIPESCOPE_ROW("program", blocks, "The program tree: Sequence, Repeat, Call, OnTileExecute, DoExchange …") {
    visit("id", row.id, "", "");
    visit("parent", row.parent, "", "");
    visit("executable", row.executable, "", "");
    visit("device", row.device, "", "");
    visit("kind", row.kind, "", "program type");
    visit("debug_context", row.debugContext, "", "");
    visit("operator", row.op, "", "none for control flow and copies");
    visit("count", row.count, "", "of a Repeat: how often its children run; otherwise 1");
    visit("target", row.target, "", "of a Call: the Function whose code it runs");
  }
};

struct CompilerPass {
  ExecutableId executable;
  std::int32_t index = 0;
  std::string name;
  bool enabled = true;
  std::int64_t changes = 0;
  Bytes bytes;
  double ticks = 0;
  std::string summary;
  PIPESCOPE_ROW("compiler_pass", plain, "A pass of the compiler over an executable, and what it changed") {
    visit("executable", row.executable, "", "");
    visit("index", row.index, "", "order in which the passes ran");
    visit("name", row.name, "", "fold_constants, in_place …; its key is compile.<name>");
    visit("enabled", row.enabled, "", "0: switched off");
    visit("changes", row.changes, "", "nodes folded, results in place …: the summary says what is counted");
    visit("bytes", row.bytes, "B", "memory that it saves, sum over units and devices of one replica");
    visit("ticks", row.ticks, "ticks",
          "time that it saves per micro-batch, sum over devices; negative: it costs");
    visit("summary", row.summary, "", "what it changed, for people");
  }
};

struct Segment {
  SegmentId id;
  ExecutableId executable;
  DeviceId device;
  LaneId lane;
  std::int32_t stage = -1, chunk = 0;
  Pass pass = Pass::forward;
  std::string name;
  Ticks ticks;
  PIPESCOPE_ROW("segment", plain, "Work of a device whose length depends on nothing outside the device") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("device", row.device, "", "");
    visit("lane", row.lane, "", "lane its placements are drawn on");
    visit("stage", row.stage, "", "");
    visit("chunk", row.chunk, "", "");
    visit("pass", row.pass, "", "Pass");
    visit("name", row.name, "", "");
    visit("ticks", row.ticks, "ticks", "length");
  }
};

struct Step {
  SegmentId segment;
  LaneId lane;
  Ticks offset, ticks;
  StepKind kind = StepKind::compute;
  ProgramId program;
  std::int64_t activeUnits = 0;
  Ticks minTicks, maxTicks;
  double meanTicks = 0;
  Bytes bytesIn, bytesOut;
  PIPESCOPE_ROW("step", blocks, "What a segment does, in order") {
    visit("segment", row.segment, "", "");
    visit("lane", row.lane, "", "");
    visit("offset", row.offset, "ticks", "from the segment's start");
    visit("ticks", row.ticks, "ticks", "length");
    visit("kind", row.kind, "", "StepKind");
    visit("program", row.program, "", "");
    visit("active_units", row.activeUnits, "", "units with work");
    visit("min_ticks", row.minTicks, "ticks", "of the fastest active unit");
    visit("max_ticks", row.maxTicks, "ticks", "of the slowest unit");
    visit("mean_ticks", row.meanTicks, "ticks", "over all units of the device, idle ones included");
    visit("bytes_in", row.bytesIn, "B", "received, sum over units");
    visit("bytes_out", row.bytesOut, "B", "sent, sum over units");
  }
};

// --- Memory ----------------------------------------------------------------------------

struct Variable {
  VariableId id;
  ExecutableId executable;
  MemorySpaceId space;
  DebugContextId debugContext;
  std::string category, shape;
  Bytes bytes, maxUnitBytes;
  bool alwaysLive = false;
  std::int32_t stage = -1;
  std::string unitCategory = {};
  MemoryPlace place = MemoryPlace::anywhere;
  PIPESCOPE_ROW("variable", blocks, "A tensor or piece of program in a memory space") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "");
    visit("debug_context", row.debugContext, "", "name path");
    visit("category", row.category, "", "weight, optimizer_state, stash, activation, vertexCode …");
    visit("shape", row.shape, "", "e.g. 20x10x5x5 float32; empty for code");
    visit("bytes", row.bytes, "B", "sum over units");
    visit("max_unit_bytes", row.maxUnitBytes, "B", "on the unit that holds most of it");
    visit("always_live", row.alwaysLive, "", "1: reserved for the whole program");
    visit("stage", row.stage, "", "");
    visit("unit_category", row.unitCategory, "", "its category in unit_memory; empty: the same as category");
    visit("place", row.place, "", "MemoryPlace: the part of a unit's memory that it needs");
  }
};

struct LivenessStep {
  ExecutableId executable;
  MemorySpaceId space;
  std::int32_t index = 0;
  ProgramId program;
  Pass pass = Pass::forward;
  Bytes notAlwaysLive, maxUnitNotAlwaysLive;
  PIPESCOPE_ROW("liveness_step", blocks, "Program steps in compile order, with what is live during each") {
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "");
    visit("index", row.index, "", "position in the program of this space's device");
    visit("program", row.program, "", "");
    visit("pass", row.pass, "", "Pass");
    visit("not_always_live", row.notAlwaysLive, "B", "sum over units");
    visit("max_unit_not_always_live", row.maxUnitNotAlwaysLive, "B", "on the fullest unit");
  }
};

struct LifeInterval {
  VariableId variable;
  std::int32_t firstStep = 0, endStep = 0;
  PIPESCOPE_ROW("life_interval", blocks, "Steps in which a not-always-live variable is live") {
    visit("variable", row.variable, "", "");
    visit("first_step", row.firstStep, "", "LivenessStep::index, inclusive");
    visit("end_step", row.endStep, "", "exclusive");
  }
};

struct UnitMemory {
  ExecutableId executable;
  MemorySpaceId space;
  std::string category, region;
  bool alwaysLive = false;
  std::int64_t firstUnit = 0, unitCount = 1;
  Bytes bytes;
  PIPESCOPE_ROW("unit_memory", plain, "Memory use per unit, run-length coded over equal neighbours") {
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "");
    visit("category", row.category, "", "libpva's category names, and gap");
    visit("region", row.region, "", "non_interleaved, interleaved or overflowed");
    visit("always_live", row.alwaysLive, "", "0: the peak of what shares addresses");
    visit("first_unit", row.firstUnit, "", "");
    visit("unit_count", row.unitCount, "", "units first_unit … first_unit + unit_count − 1 hold the same");
    visit("bytes", row.bytes, "B", "in each of these units");
  }
};

// --- What ran --------------------------------------------------------------------------

struct Run {
  RunId id;
  ExecutableId executable;
  std::string name;
  Ticks start, end;
  std::int64_t samples = 0;
  std::int64_t wallStartNs = 0, wallEndNs = 0;
  PIPESCOPE_ROW("run", blocks, "One call from the host, in both clocks") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("name", row.name, "", "");
    visit("start", row.start, "ticks", "of device 0's timebase");
    visit("end", row.end, "ticks", "");
    visit("samples", row.samples, "samples", "rows consumed");
    visit("wall_start_ns", row.wallStartNs, "ns",
          "host clock, since the program's start; 0: nothing ran on the host");
    visit("wall_end_ns", row.wallEndNs, "ns", "");
  }
};

struct Placement {
  PlacementId id;
  SegmentId segment;
  DeviceId device;
  Ticks start, end;
  RunId run;
  std::int32_t replica = 0, stage = -1, chunk = 0;
  Pass pass = Pass::forward;
  std::int32_t microBatch = -1, iteration = -1, slot = -1;
  PIPESCOPE_ROW("placement", blocks, "A segment on a device at a time") {
    visit("id", row.id, "", "dense, ascending");
    visit("segment", row.segment, "", "");
    visit("device", row.device, "", "");
    visit("start", row.start, "ticks", "");
    visit("end", row.end, "ticks", "");
    visit("run", row.run, "", "");
    visit("replica", row.replica, "", "");
    visit("stage", row.stage, "", "");
    visit("chunk", row.chunk, "", "");
    visit("pass", row.pass, "", "Pass");
    visit("micro_batch", row.microBatch, "", "of this iteration");
    visit("iteration", row.iteration, "", "device iteration within the run");
    visit("slot", row.slot, "", "pipeline cycle; −1 where the schedule has none");
  }
};

struct Transfer {
  TransferId id;
  LaneId fromLane, toLane;
  LinkId link;
  TransferKind kind = TransferKind::activation;
  Bytes bytes;
  Ticks start, end;
  PlacementId from;
  RunId run;
  std::int32_t iteration = -1, microBatch = -1, slot = -1;
  PIPESCOPE_ROW("transfer", blocks, "Bytes on their way between devices") {
    visit("id", row.id, "", "dense, ascending");
    visit("from_lane", row.fromLane, "", "");
    visit("to_lane", row.toLane, "", "");
    visit("link", row.link, "", "");
    visit("kind", row.kind, "", "TransferKind");
    visit("bytes", row.bytes, "B", "");
    visit("start", row.start, "ticks", "of the sending device");
    visit("end", row.end, "ticks", "");
    visit("from_placement", row.from, "", "what produced the bytes");
    visit("run", row.run, "", "");
    visit("iteration", row.iteration, "", "");
    visit("micro_batch", row.microBatch, "", "");
    visit("slot", row.slot, "", "");
  }
};

struct Wait {
  DeviceId device;
  Ticks start, end;
  WaitCause cause = WaitCause::fill;
  PlacementId waitedFor;
  DeviceId waitedForDevice;
  RunId run;
  std::int32_t iteration = -1, stage = -1, slot = -1;
  PIPESCOPE_ROW("wait", blocks, "A gap of a device and its cause") {
    visit("device", row.device, "", "");
    visit("start", row.start, "ticks", "");
    visit("end", row.end, "ticks", "");
    visit("cause", row.cause, "", "WaitCause");
    visit("waited_for", row.waitedFor, "", "the placement whose end bound it; none: the host");
    visit("waited_for_device", row.waitedForDevice, "", "");
    visit("run", row.run, "", "");
    visit("iteration", row.iteration, "", "");
    visit("stage", row.stage, "", "first stage of the waiting device");
    visit("slot", row.slot, "", "");
  }
};

struct Counter {
  CounterId id;
  ExecutableId executable;
  DeviceId device;
  std::string name, unit;
  PIPESCOPE_ROW("counter", plain, "A value over time") {
    visit("id", row.id, "", "");
    visit("executable", row.executable, "", "");
    visit("device", row.device, "", "none: of the whole run");
    visit("name", row.name, "", "loss, accuracy, stash_entries, live_bytes …");
    visit("unit", row.unit, "", "");
  }
};

struct CounterSample {
  CounterId counter;
  Ticks time;
  RunId run;
  double value = 0;
  PIPESCOPE_ROW("counter_sample", blocks, "The value of a counter from this time on") {
    visit("counter", row.counter, "", "");
    visit("time", row.time, "ticks", "of its device, or of device 0");
    visit("run", row.run, "", "");
    visit("value", row.value, "", "in the counter's unit");
  }
};

struct Outcome {
  ExecutableId executable;
  std::string name, unit, basis;
  double value = 0;
  OutcomeKind kind = OutcomeKind::result;
  PIPESCOPE_ROW("outcome", plain,
                "What a run achieved: final_loss, test_accuracy, host_samples_per_second …") {
    visit("executable", row.executable, "", "none: of the whole run");
    visit("name", row.name, "", "");
    visit("unit", row.unit, "", "");
    visit("basis", row.basis, "", "over what: e.g. 'rows returned by the last call (output mode final)'");
    visit("value", row.value, "", "");
    visit("kind", row.kind, "", "OutcomeKind");
  }
};

struct Diagnostic {
  Severity severity = Severity::info;
  std::string code, text;
  ExecutableId executable;
  DeviceId device;
  PIPESCOPE_ROW("diagnostic", plain, "Something a user should know") {
    visit("severity", row.severity, "", "");
    visit("code", row.code, "", "e.g. out_of_memory");
    visit("text", row.text, "", "a sentence");
    visit("executable", row.executable, "", "");
    visit("device", row.device, "", "");
  }
};

struct Note {
  std::int64_t id = 0;
  DeviceId device;
  Ticks start, end;
  std::string text;
  PIPESCOPE_ROW("note", plain, "What somebody wrote at a place of the trace") {
    visit("id", row.id, "", "");
    visit("device", row.device, "", "none: whole trace");
    visit("start", row.start, "ticks", "");
    visit("end", row.end, "ticks", "");
    visit("text", row.text, "", "");
  }
};

/// What many rows that follow each other look like from afar. Made by the store while it writes (pyramid.h):
/// a node of level 1 stands for the next few rows of its lane, one of level n + 1 for eight of level n.
struct LevelNode {
  LevelContent content = LevelContent::placements;
  std::int32_t level = 1;
  LaneId lane;
  std::int64_t owner = -1;
  Ticks start, end, busy;
  std::int64_t count = 0;
  std::int32_t dominant = 0;
  Ticks dominantTicks;
  PIPESCOPE_ROW("level_node", blocks,
                "Neighbouring rows of one lane taken together, for pictures from afar") {
    visit("content", row.content, "", "LevelContent: what the rows are");
    visit("level", row.level, "", "1: of rows; n + 1: of eight nodes of level n");
    visit("lane", row.lane, "", "placements: of the segment; transfers: the sender's; none: waits");
    visit("owner", row.owner, "", "device; of steps the segment");
    visit("start", row.start, "ticks", "of the first row; steps: within the segment");
    visit("end", row.end, "ticks", "largest end");
    visit("busy", row.busy, "ticks", "sum of the rows' lengths");
    visit("count", row.count, "", "rows");
    visit("dominant", row.dominant, "", "Pass, WaitCause, TransferKind or StepKind with most time");
    visit("dominant_ticks", row.dominantTicks, "ticks", "its time");
  }
};

/// Where a variable lies. A unit that no row of the variable names holds nothing of it. Where addresses are
/// not recorded, because they differ from unit to unit, analysis/memory/unit_layout.h works them out.
struct VariableUnits {
  VariableId variable;
  std::int64_t firstUnit = 0, unitCount = 1;
  Bytes bytes;
  std::int64_t address = -1;
  PIPESCOPE_ROW("variable_units", blocks, "Unit map of a variable, run-length coded over equal neighbours") {
    visit("variable", row.variable, "", "ascending");
    visit("first_unit", row.firstUnit, "", "");
    visit("unit_count", row.unitCount, "", "units first_unit … first_unit + unit_count − 1 hold as much");
    visit("bytes", row.bytes, "B", "in each of these units");
    visit("address", row.address, "B", "in each of these units; -1: laid out by the reader");
  }
};

/// What single units do in a step (`--record tiles`). A unit that no row of the step names has no work in it.
struct StepUnits {
  SegmentId segment;
  std::int64_t step = 0;
  std::int64_t firstUnit = 0, unitCount = 1;
  Ticks ticks;
  PIPESCOPE_ROW("step_units", blocks,
                "Time of single units in a step, run-length coded over equal neighbours") {
    visit("segment", row.segment, "", "of the step");
    visit("step", row.step, "", "the step: its row in table step, from 0; ascending");
    visit("first_unit", row.firstUnit, "", "");
    visit("unit_count", row.unitCount, "", "units first_unit … first_unit + unit_count − 1 take as long");
    visit("ticks", row.ticks, "ticks", "that each of these units works in the step");
  }
};

/// What the drawing of the model consists of: operators are its nodes.
struct Edge {
  ExecutableId executable;
  OperatorId from, to;
  DebugContextId tensor;
  std::string shape;
  Bytes bytes;
  PIPESCOPE_ROW("edge", blocks, "A tensor that one operator makes and another one reads") {
    visit("executable", row.executable, "", "");
    visit("from_operator", row.from, "", "makes the tensor");
    visit("to_operator", row.to, "", "reads it, maybe on another device");
    visit("tensor", row.tensor, "", "name path");
    visit("shape", row.shape, "", "e.g. 40x10x12x12 float32");
    visit("bytes", row.bytes, "B", "of the tensor");
  }
};

/// The vertices of one type in one compute set. Their code lies once on a unit for each type, however many
/// compute sets run it.
struct VertexUse {
  ExecutableId executable;
  MemorySpaceId space;
  ProgramId program;
  std::string type;
  std::int64_t firstUnit = 0, unitCount = 1, count = 1;
  Bytes code, state, lists;
  PIPESCOPE_ROW("vertex_use", blocks, "Vertices of a compute set by type, run-length coded over units") {
    visit("executable", row.executable, "", "");
    visit("memory_space", row.space, "", "that holds their code and data");
    visit("program", row.program, "", "the compute set");
    visit("type", row.type, "", "codelet with its template arguments");
    visit("first_unit", row.firstUnit, "", "");
    visit("unit_count", row.unitCount, "", "units first_unit … first_unit + unit_count − 1 have as many");
    visit("count", row.count, "", "vertices on each of these units");
    visit("code_bytes", row.code, "B", "of the type's code on each of these units");
    visit("state_bytes", row.state, "B", "of all these vertices' own state on each of these units");
    visit("list_bytes", row.lists, "B", "of the lists that they point to, on each of these units");
  }
};

#undef PIPESCOPE_ROW

/// All row types; a table's index is its place here, and its number in files: add new ones at the end.
using AllRows =
    std::tuple<Property, ConfigurationEntry, Target, Device, Link, Lane, MemorySpace, Executable, Stage,
               Boundary, DebugContext, Operator, Program, Segment, Step, Variable, LivenessStep, LifeInterval,
               UnitMemory, Run, Placement, Transfer, Wait, Counter, CounterSample, Outcome, Diagnostic, Note,
               LevelNode, CompilerPass, StepUnits, VariableUnits, Edge, VertexUse>;

}  // namespace pipescope::model
