#pragma once
// Rows of what was compiled: executables, stages, operators, programs, segments and their steps.
#include <cstdint>
#include <string>

#include "profiler/model/row_declaration.h"

namespace pipescope::model {

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

/// Work of single units in a step (`--record tiles`). A unit that no row of the step names has no work in it.
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

/// Edge of the drawing of the model: operators are its nodes.
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

/// An operator that chips do together. Its time is that of its steps.
struct Collective {
  OperatorId op;
  MeshAxis axis = MeshAxis::data;
  std::string kind;
  std::int64_t ranks = 1;
  Bytes bytes, sent;
  PIPESCOPE_ROW("collective", blocks, "An operator that chips of several ranks or replicas do together") {
    visit("operator", row.op, "", "");
    visit("axis", row.axis, "", "MeshAxis along which the chips lie");
    visit("kind", row.kind, "", "AllReduce, AllGather, ReduceScatter, Broadcast, AllToAll or RingSend");
    visit("ranks", row.ranks, "", "chips that take part");
    visit("bytes", row.bytes, "B", "of the tensor: what a chip has before it, AllGather: after it");
    visit("sent", row.sent, "B", "that a chip sends, each time, if the tensor goes round a ring");
  }
};

/// Tensor of which each rank of a place has a part, or a weight that all ranks have whole.
struct Division {
  ExecutableId executable;
  MeshAxis axis = MeshAxis::tensor;
  std::int64_t ranks = 1;
  std::int32_t dimension = -1;
  bool weight = false;
  std::string tensor, shape;
  Bytes bytes;
  PIPESCOPE_ROW("division", blocks, "A tensor that the ranks of a place divide") {
    visit("executable", row.executable, "", "");
    visit("axis", row.axis, "", "MeshAxis of the ranks");
    visit("ranks", row.ranks, "", "number of parts; 1: all ranks have it whole");
    visit("dimension", row.dimension, "", "axis of the tensor that is divided; −1: none");
    visit("weight", row.weight, "", "a weight, not an activation");
    visit("tensor", row.tensor, "", "name path");
    visit("shape", row.shape, "", "before this division, e.g. 4096x4096 bfloat16");
    visit("bytes", row.bytes, "B", "before this division");
  }
};

}  // namespace pipescope::model
