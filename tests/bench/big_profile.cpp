#include "tests/bench/big_profile.h"

#include <algorithm>
#include <string>
#include <vector>

namespace pipescope::bench {
namespace {

using model::Bytes;
using model::Pass;
using model::StepKind;
using model::Ticks;

constexpr std::int64_t kMk2Clock = 1'330'000'000, kTiles = 1472, kTileBytes = 624 * 1024;

/// A number that depends only on its arguments.
std::uint64_t mix(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15ULL + b * 0xC2B2AE3D27D4EB4FULL + c * 0x165667B19E3779F9ULL + 1;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}
/// 0 … below − 1.
std::int64_t pick(std::uint64_t number, std::int64_t below) {
  return static_cast<std::int64_t>(number % static_cast<std::uint64_t>(below));
}
std::uint64_t u(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

constexpr const char* kParts[] = {
    "attention/qkv", "attention/scores", "attention/softmax", "attention/context", "attention/project",
    "norm1",         "feed_forward/up",  "feed_forward/gelu", "feed_forward/down", "norm2"};
constexpr const char* kKinds[] = {
    "MatMul", "MatMul", "Softmax",           "MatMul", "MatMul", "LayerNormalization", "MatMul",
    "Gelu",   "MatMul", "LayerNormalization"};
constexpr int kPartCount = 10;

struct Op {
  Pass pass;
  int microBatch;
};

/// 1F1B: at most N − s micro-batches are in flight on stage s.
std::vector<Op> order(int stage, int stages, int microBatches) {
  std::vector<Op> ops;
  const int warmUp = std::min(stages - stage, microBatches);
  int forward = 0, backward = 0;
  while (forward < warmUp) ops.push_back({Pass::forward, forward++});
  while (backward < microBatches) {
    ops.push_back({Pass::recompute, backward});
    ops.push_back({Pass::backward, backward++});
    if (forward < microBatches) ops.push_back({Pass::forward, forward++});
  }
  return ops;
}

class Pipeline {
 public:
  Pipeline(record::Recorder& recorder, const PipelineShape& shape) : recorder_(recorder), shape_(shape) {}

  base::Status record() {
    addCircumstances();
    for (int d = 0; d < shape_.devices; ++d) addStage(d);
    PIPESCOPE_TRY(recorder_.commit());
    PIPESCOPE_TRY(place());
    model::Run run;
    run.executable = executable_;
    run.name = "training epoch 1 call 1";
    run.end = *std::max_element(free_.begin(), free_.end());
    run.samples = shape_.microBatches;
    recorder_.add(run);
    return recorder_.finish(model::ProfileState::complete);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void addCircumstances() {
    recorder_.add(model::Property{"tool_version", "bench"});
    recorder_.add(model::Property{"times", "made up by a generator; no device model was involved"});
    recorder_.add(model::Target{"pod256", "ipu", "generated", shape_.devices, shape_.devices});
    recorder_.add(model::Executable{{},
                                    "training",
                                    model::ExecutableKind::training,
                                    "pipelined",
                                    "1f1b",
                                    "pipeline",
                                    shape_.devices,
                                    1,
                                    shape_.microBatches,
                                    1,
                                    1});
    executable_ = model::ExecutableId(0);
    for (int d = 0; d < shape_.devices; ++d) {
      const auto id =
          recorder_.add(model::Device{{}, "mk2", "IPU" + std::to_string(d), kMk2Clock, tiles_, "tile"});
      devices_.push_back(id);
      using model::LaneRole;
      std::vector<model::LaneId>& lanes = lanes_.emplace_back();
      for (const LaneRole role : {LaneRole::compute, LaneRole::exchange, LaneRole::host})
        lanes.push_back(recorder_.add(model::Lane{{}, id, model::toString(role), role, {}}));
      spaces_.push_back(recorder_.add(
          model::MemorySpace{{}, id, "tile_memory", tiles_, Bytes(kTileBytes), Bytes(kTileBytes / 2)}));
    }
    for (int d = 0; d + 1 < shape_.devices; ++d) {
      down_.push_back(recorder_.add(model::Link{{}, devices_[at(d)], devices_[at(d + 1)], "", 32e9}));
      up_.push_back(recorder_.add(model::Link{{}, devices_[at(d + 1)], devices_[at(d)], "", 32e9}));
    }
  }

  void addStage(int d) {
    const std::string layer = "layer" + std::to_string(d);
    recorder_.add(model::Stage{executable_, d, devices_[at(d)], layer, shape_.devices - d, Bytes(1 << 20)});
    const auto root = recorder_.add(model::DebugContext{{}, {}, layer, "scope"});
    names_.clear();
    for (const char* part : kParts)
      names_.push_back(recorder_.add(model::DebugContext{{}, root, part, "model"}));
    segments_.emplace_back();
    lengths_.emplace_back();
    addSegment(d, Pass::forward, shape_.forwardSteps);
    addSegment(d, Pass::recompute, shape_.forwardSteps);
    addSegment(d, Pass::backward, shape_.forwardSteps * 2);
    counters_.push_back(recorder_.add(model::Counter{{}, executable_, devices_[at(d)], "stash_entries", ""}));
    addVariables(d);
  }

  void addSegment(int d, Pass pass, int steps) {
    std::vector<model::OperatorId> operators;
    for (int p = 0; p < kPartCount; ++p)
      operators.push_back(recorder_.add(model::Operator{
          {}, executable_, names_[at(p)], kKinds[p], d, pass, 1e9 + 1e6 * p, Bytes((1 << 20) + p)}));
    model::Segment segment{{}, executable_, devices_[at(d)], lanes_[at(d)][0], d, 0, pass, "", {}};
    segment.name = std::string(pass == Pass::forward     ? "F"
                               : pass == Pass::recompute ? "R"
                                                         : "B") +
                   std::to_string(d);
    const model::SegmentId id(static_cast<std::int64_t>(d) * 3 + static_cast<std::int64_t>(pass));
    Ticks offset;
    for (int i = 0; i < steps; ++i) offset += addStep(d, id, operators, pass, i, steps, offset);
    segment.ticks = offset;
    segments_.back().push_back(recorder_.add(segment));
    lengths_.back().push_back(offset);
  }

  Ticks addStep(int d, model::SegmentId segment, const std::vector<model::OperatorId>& operators, Pass pass,
                int i, int steps, Ticks offset) {
    const int part = i * kPartCount / steps;
    const auto place = u(static_cast<std::int64_t>(pass) * 10'000 + i);
    // The kind of the step depends on its place in the layer. Its length also depends on the stage.
    const StepKind kind = i % 3 == 0 ? StepKind::exchange : i % 3 == 1 ? StepKind::sync : StepKind::compute;
    const std::int64_t base = kind == StepKind::compute    ? 800 + pick(mix(place), 6000)
                              : kind == StepKind::exchange ? 150 + pick(mix(place), 700)
                                                           : 20;
    model::Step step;
    step.segment = segment;
    step.lane = lanes_[at(d)][kind == StepKind::exchange ? 1 : 0];
    step.offset = offset;
    step.kind = kind;
    step.ticks = Ticks(kind == StepKind::sync ? base : base + pick(mix(place, u(d)), 1 + base / 20));
    step.program = recorder_.add(model::Program{{},
                                                {},
                                                executable_,
                                                devices_[at(d)],
                                                kind == StepKind::exchange ? "DoExchange"
                                                : kind == StepKind::sync   ? "Sync"
                                                                           : "OnTileExecute",
                                                names_[at(part)],
                                                operators[at(part)]});
    if (kind == StepKind::compute) {
      step.activeUnits = tiles_ - pick(mix(place, 1), tiles_ * 200 / kTiles);
      step.minTicks = Ticks(step.ticks.count * 3 / 4);
      step.meanTicks = static_cast<double>(step.ticks.count) * 0.875;
    } else if (kind == StepKind::exchange) {
      step.activeUnits = tiles_;
      step.minTicks = step.ticks;
      step.meanTicks = static_cast<double>(step.ticks.count);
      step.bytesIn = step.bytesOut = Bytes(step.ticks.count * 4 * tiles_);
    }
    step.maxTicks = step.ticks;
    if (shape_.tiles && kind == StepKind::compute) {
      const std::int64_t half = tiles_ / 2;
      recorder_.add(model::StepUnits{segment, recorder_.added<model::Step>(), 0, half, step.ticks});
      recorder_.add(model::StepUnits{segment, recorder_.added<model::Step>(), half, step.activeUnits - half,
                                     step.minTicks});
    }
    recorder_.add(step);
    return step.ticks;
  }

  void addVariables(int d) {
    constexpr int kVariables = 200;
    const int steps = shape_.forwardSteps * 4;
    for (int v = 0; v < kVariables; ++v) {
      const bool alwaysLive = v < 60;
      const auto id = recorder_.add(model::Variable{{},
                                                    executable_,
                                                    spaces_[at(d)],
                                                    names_[at(v % kPartCount)],
                                                    alwaysLive ? "weight" : "activation",
                                                    "1024x1024 float16",
                                                    Bytes(1 << 21),
                                                    Bytes(1 << 11),
                                                    alwaysLive,
                                                    d});
      if (shape_.tiles) {
        recorder_.add(model::VariableUnits{id, 0, tiles_ / 2, Bytes(1 << 11)});
        recorder_.add(model::VariableUnits{id, tiles_ / 2, tiles_ / 2, Bytes(1 << 10)});
      }
      if (alwaysLive) continue;
      const auto first = static_cast<std::int32_t>(pick(mix(u(v), 3), steps));
      const auto end =
          static_cast<std::int32_t>(std::min<std::int64_t>(steps, first + 1 + pick(mix(u(v), 4), 100)));
      recorder_.add(model::LifeInterval{id, first, end});
    }
    for (int s = 0; s < steps; ++s) {
      const std::int64_t live = (20 + pick(mix(u(s), u(d) / 16, 9), 60)) << 20;
      recorder_.add(model::LivenessStep{
          executable_, spaces_[at(d)], s, model::ProgramId(static_cast<std::int64_t>(d) * steps + s),
          s < shape_.forwardSteps ? Pass::forward : Pass::backward, Bytes(live), Bytes(live / tiles_)});
    }
    for (const char* category : {"variable", "vertexCode", "controlCode", "internalExchangeCode"})
      recorder_.add(model::UnitMemory{executable_, spaces_[at(d)], category, "non_interleaved", true, 0,
                                      tiles_, Bytes(40'000 + pick(mix(u(d)), 20'000))});
  }

  base::Status place() {
    free_.assign(at(shape_.devices), Ticks());
    std::vector<std::vector<Op>> ops;
    for (int s = 0; s < shape_.devices; ++s) ops.push_back(order(s, shape_.devices, shape_.microBatches));
    std::vector<std::size_t> next(ops.size(), 0);
    const auto cells = ops.size() * at(shape_.microBatches);
    forwardDone_.assign(cells, Ticks(-1));
    backwardDone_.assign(cells, Ticks(-1));
    // Every device does what it can in each round, so that the rows of a round are close together in time.
    for (bool any = true; any;) {
      any = false;
      for (int s = 0; s < shape_.devices; ++s) {
        for (int burst = 0; burst < 3 && next[at(s)] < ops[at(s)].size(); ++burst) {
          if (!placeOne(s, ops[at(s)][next[at(s)]])) break;
          ++next[at(s)];
          any = true;
        }
      }
      PIPESCOPE_TRY(recorder_.commitIfDue());
    }
    return {};
  }

  std::size_t cell(int stage, int microBatch) const {
    return at(stage) * at(shape_.microBatches) + at(microBatch);
  }

  /// Returns false if an input of the operation is not there yet.
  bool placeOne(int s, const Op& op) {
    const bool first = s == 0, last = s + 1 == shape_.devices;
    Ticks ready;
    int from = -1;
    if (op.pass == Pass::forward && !first) {
      from = s - 1, ready = forwardDone_[cell(s - 1, op.microBatch)];
    } else if (op.pass == Pass::recompute && !last) {
      from = s + 1, ready = backwardDone_[cell(s + 1, op.microBatch)];
    }
    if (ready.count < 0) return false;
    if (ready > free_[at(s)]) {
      recorder_.add(
          model::Wait{devices_[at(s)],
                      free_[at(s)],
                      ready,
                      op.microBatch < shape_.devices ? model::WaitCause::fill : model::WaitCause::slowerStage,
                      {},
                      devices_[at(from)],
                      model::RunId(0),
                      0,
                      s,
                      -1});
      free_[at(s)] = ready;
    }
    const auto index = static_cast<std::size_t>(op.pass);
    const Ticks start = free_[at(s)], end = start + lengths_[at(s)][index];
    const auto id = recorder_.add(model::Placement{{},
                                                   segments_[at(s)][index],
                                                   devices_[at(s)],
                                                   start,
                                                   end,
                                                   model::RunId(0),
                                                   0,
                                                   s,
                                                   0,
                                                   op.pass,
                                                   op.microBatch,
                                                   0,
                                                   -1});
    free_[at(s)] = end;
    finishOp(s, op, end, id);
    return true;
  }

  void finishOp(int s, const Op& op, Ticks end, model::PlacementId id) {
    constexpr Ticks kTransferTicks(2500);
    const bool forward = op.pass == Pass::forward;
    if (op.pass == Pass::recompute) return;
    (forward ? forwardDone_ : backwardDone_)[cell(s, op.microBatch)] = end + kTransferTicks;
    const int to = forward ? s + 1 : s - 1;
    recorder_.add(
        model::CounterSample{counters_[at(s)], end, model::RunId(0), static_cast<double>(op.microBatch % 7)});
    if (to < 0 || to >= shape_.devices) return;
    recorder_.add(model::Transfer{{},
                                  lanes_[at(s)][1],
                                  lanes_[at(to)][1],
                                  forward ? down_[at(s)] : up_[at(to)],
                                  forward ? model::TransferKind::activation : model::TransferKind::gradient,
                                  Bytes(1 << 16),
                                  end,
                                  end + kTransferTicks,
                                  id,
                                  model::RunId(0),
                                  0,
                                  op.microBatch,
                                  -1});
  }

  record::Recorder& recorder_;
  const PipelineShape shape_;
  const std::int64_t tiles_ = shape_.tilesPerDevice;
  model::ExecutableId executable_;
  std::vector<model::DeviceId> devices_;
  std::vector<std::vector<model::LaneId>> lanes_;
  std::vector<model::MemorySpaceId> spaces_;
  std::vector<model::LinkId> down_, up_;
  std::vector<model::DebugContextId> names_;  // names in the stage that is being added
  std::vector<std::vector<model::SegmentId>> segments_;
  std::vector<std::vector<Ticks>> lengths_;
  std::vector<model::CounterId> counters_;
  std::vector<Ticks> free_, forwardDone_, backwardDone_;
};

}  // namespace

base::Status recordPipeline(record::Recorder& recorder, const PipelineShape& shape) {
  return Pipeline(recorder, shape).record();
}

base::Status recordEvents(record::Recorder& recorder, const EventShape& shape) {
  constexpr std::int64_t kSegmentSteps = 1'000'000;
  recorder.add(model::Property{"tool_version", "bench"});
  recorder.add(model::Target{"imported", "ipu", "generated", 1, 1});
  const auto device = recorder.add(model::Device{{}, "mk2", "IPU0", kMk2Clock, kTiles, "tile"});
  std::vector<model::LaneId> lanes;
  for (int i = 0; i < shape.lanes; ++i)
    lanes.push_back(recorder.add(model::Lane{{}, device, "lane" + std::to_string(i), {}, {}}));
  const auto executable = recorder.add(model::Executable{});
  std::vector<model::ProgramId> programs;
  std::vector<std::int64_t> lengthOf;  // approximate length of each program
  for (int i = 0; i < shape.programs; ++i) {
    lengthOf.push_back(400 + pick(mix(u(i), 5), 8000));
    const auto name = recorder.add(model::DebugContext{{}, {}, "kernel" + std::to_string(i), "program"});
    programs.push_back(recorder.add(model::Program{{}, {}, executable, device, "OnTileExecute", name, {}}));
  }
  std::vector<Ticks> free(lanes.size());
  model::SegmentId segment;
  Ticks segmentStart;
  std::vector<std::uint64_t> programOf(lanes.size());
  const auto closeSegment = [&] {
    Ticks end = *std::max_element(free.begin(), free.end());
    recorder.add(model::Segment{{}, executable, device, lanes[0], -1, 0, Pass::forward, "imported", end});
    recorder.add(model::Placement{{},
                                  segment,
                                  device,
                                  segmentStart,
                                  segmentStart + end,
                                  model::RunId(0),
                                  0,
                                  -1,
                                  0,
                                  Pass::forward,
                                  -1,
                                  0,
                                  -1});
    segmentStart += end;
    std::fill(free.begin(), free.end(), Ticks());
  };
  for (std::int64_t i = 0; i < shape.events; ++i) {
    if (i % kSegmentSteps == 0) {
      if (i > 0) closeSegment();
      segment = model::SegmentId(i / kSegmentSteps);
    }
    const std::uint64_t random = mix(u(i));
    // The order of their starts, in which a trace is recorded.
    const auto lane = static_cast<std::size_t>(std::min_element(free.begin(), free.end()) - free.begin());
    std::uint64_t& program = programOf[lane];
    if (random % 64 == 0) {
      program = mix(random) % programs.size();
    } else if (++program == programs.size()) {
      program = 0;
    }
    const std::int64_t base = lengthOf[program];
    model::Step step;
    step.segment = segment;
    step.lane = lanes[lane];
    step.offset = free[lane] + Ticks((random >> 8) % 10 < 3 ? pick(random >> 16, 64) : 0);
    step.ticks = Ticks(base + pick(random >> 24, 1 + base / 25) - base / 50);
    step.program = programs[program];
    free[lane] = step.offset + step.ticks;
    recorder.add(step);
    if (i % 32768 == 0) PIPESCOPE_TRY(recorder.commitIfDue());
  }
  closeSegment();
  model::Run run;
  run.executable = executable;
  run.name = "imported";
  run.end = segmentStart;
  recorder.add(run);
  return recorder.finish(model::ProfileState::complete);
}

}  // namespace pipescope::bench
