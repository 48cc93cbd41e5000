#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "engine/emulate/device_program.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/emulate/link_uses.h"
#include "engine/emulate/peak_check.h"
#include "engine/emulate/record_counters.h"
#include "engine/emulate/record_edges.h"
#include "engine/emulate/record_memory.h"
#include "engine/emulate/replica_parts.h"

namespace pipescope::emulate {
namespace {

class ExecutableRecorder {
 public:
  ExecutableRecorder(record::Recorder& recorder, const devices::System& system, SystemIds& ids,
                     const compile::ExecutableIr& ir, RecordLevel level)
      : recorder_(recorder),
        system_(system),
        ids_(ids),
        ir_(ir),
        level_(level),
        names_(recorder),
        memory_(recorder, ids, names_, level) {}

  EmulatedExecutable record(const std::vector<devices::LoweredDevice>& lowered, schedules::Order order,
                            const ExecutableFacts& facts) {
    result_.facts = facts;
    fillCall(std::move(order));
    findCostLevels();
    recordFacts();
    recordStages();
    recordBoundaries();
    memory_.recordHost(ir_, result_.facts);
    const FlowsOfReplicas flows(system_, ir_);
    const std::vector<ReplicaClass> classes = replicaClasses(system_, ir_, lowered, facts, flows);
    for (const ReplicaClass& each : classes) recordReplica(each, flows, lowered);
    keepSharedUses(result_);
    recordClasses(classes);
    if (level_ != RecordLevel::off) recordEdges(recorder_, names_, result_.id, ir_, operators_);
    result_.abovePeak = recordLeastTimes(recorder_, system_, result_.id, lowered);
    recordOperatorPeaks(recorder_, result_.id, operatorPeaks_);
    recordReplayFacts(recorder_, system_, result_);
    return std::move(result_);
  }

 private:
  void fillCall(schedules::Order order) {
    clock::Call& call = result_.call;
    call.training = ir_.kind == model::ExecutableKind::training;
    call.iterations = static_cast<int>(result_.facts.iterations);
    call.microBatches = static_cast<int>(result_.facts.microBatches);
    call.blockingSends = result_.facts.blockingSends;
    call.sharesHost = result_.facts.sharedCompute > 0;
    call.output = result_.facts.output.forClock();
    call.orders = {std::move(order)};
  }

  void recordReplica(const ReplicaClass& replicas, const FlowsOfReplicas& flows,
                     const std::vector<devices::LoweredDevice>& lowered) {
    part_ = ReplicaPart();
    costs_ = clock::ReplicaCosts();
    trees_.clear();
    links_.emplace(system_, ir_.mesh);
    costs_.number = replicas.replica;
    part_.members = static_cast<std::int64_t>(replicas.members.size());
    part_.firstDevice = ir_.mesh.chip(replicas.replica, 0);
    part_.width = ir_.mesh.width;
    part_.placeStride = ir_.mesh.placeStride();
    for (int p = 0; p < result_.call.placeCount(); ++p) costs_.devices.push_back(deviceId(part_.deviceOf(p)));
    costs_.stages.resize(ir_.stages.size());
    recomputed_.assign(ir_.stages.size(), 0);
    for (clock::StageCosts& stage : costs_.stages) {
      stage.works.resize(1 + costLevels_.size());
      stage.workOf = levelOfMicroBatch_;
      stage.updates.resize(1);
    }
    part_.liveBytes.resize(costs_.devices.size());
    addFlows(stageFlows(ir_, replicas.replica), flows.beside(replicas.replica));
    // The first replica of equal ones is what was lowered, which is large.
    const bool asLowered = replicas.replica == 0 && result_.facts.scales.empty();
    std::vector<devices::LoweredDevice> copies;
    for (std::size_t i = 0; !asLowered && i < lowered.size(); ++i)
      copies.push_back(onReplica(lowered[i], replicas.replica, ir_.mesh, result_.facts));
    const std::vector<devices::LoweredDevice>& own = asLowered ? lowered : copies;
    for (const devices::LoweredDevice& device : own) recordDevice(device);
    addLoads();
    for (std::size_t s = 0; s < costs_.stages.size(); ++s)
      for (clock::OverlappedPiece& one : costs_.stages[s].overlapped) one.after += recomputed_[s];
    recordSync();
    if (result_.call.training && level_ != RecordLevel::off)
      recordCounters(recorder_, ids_, result_, own, part_);
    result_.parts.push_back(std::move(part_));
    result_.call.replicas.push_back(std::move(costs_));
  }

  /// Records which replica stands for each one, as "0x3 3 0x28", unless the first one does for all.
  void recordClasses(const std::vector<ReplicaClass>& classes) {
    if (classes.size() < 2 || classes.size() == static_cast<std::size_t>(ir_.mesh.replicas)) return;
    std::vector<int> like(static_cast<std::size_t>(ir_.mesh.replicas), 0);
    for (const ReplicaClass& each : classes)
      for (const int member : each.members) like[static_cast<std::size_t>(member)] = each.replica;
    std::string text;
    for (std::size_t i = 0, end = 0; i < like.size(); i = end) {
      while (end < like.size() && like[end] == like[i]) ++end;
      text += (text.empty() ? "" : " ") + std::to_string(like[i]);
      if (end - i > 1) text += "x" + std::to_string(end - i);
    }
    recorder_.add(model::Property{fmt::format("replicas_like.{}", result_.id.value), text});
  }

  void recordFacts() {
    model::Executable row;
    row.name = ir_.name;
    row.kind = ir_.kind;
    row.strategy = result_.facts.strategy;
    row.schedule = result_.facts.schedule;
    row.scheduleKind = result_.order().progression;
    row.recompute = result_.facts.recompute;
    row.stages = static_cast<std::int64_t>(ir_.stages.size());
    row.microBatchSize = result_.facts.microBatchSize;
    row.microBatches = result_.facts.microBatches;
    row.deviceIterations = result_.facts.deviceIterations;
    row.replicas = ir_.mesh.replicas;
    result_.id = recorder_.add(row);
    const int pipes = result_.order().pipes;
    if (pipes > 1)
      recorder_.add(model::Property{fmt::format("pipes.{}", result_.id.value), fmt::format("{}", pipes)});
    if (ir_.mesh.placesOutermost)
      recorder_.add(model::Property{fmt::format("place_stride.{}", result_.id.value),
                                    fmt::format("{}", ir_.mesh.placeStride())});
    if (ir_.mesh.width > 1) {
      recorder_.add(
          model::Property{fmt::format("width.{}", result_.id.value), fmt::format("{}", ir_.mesh.width)});
      recorder_.add(model::Property{fmt::format("axes.{}", result_.id.value), ir_.mesh.describeRanks()});
    }
    if (result_.facts.expertImbalance > 0) {
      const std::string own = fmt::format("{}", result_.id.value);
      recorder_.add(
          model::Property{"expert_imbalance." + own, fmt::format("{}", result_.facts.expertImbalance)});
      recorder_.add(
          model::Property{"hottest_expert_rank." + own, fmt::format("{}", result_.facts.hottestRank)});
    }
    for (model::Division division : result_.facts.divisions) {
      division.executable = result_.id;
      recorder_.add(division);
    }
    memory_.begin(result_.id);
  }

  void recordStages() {
    for (const compile::StageIr& stage : ir_.stages) {
      std::vector<int>& places = result_.call.placeOfStage;
      result_.chunkOfStage.push_back(static_cast<int>(std::ranges::count(places, stage.place)));
      places.push_back(stage.place);
      result_.stashEntries.push_back(stage.stashEntries);
      result_.stashBytesPerEntry.push_back(stage.stashBytesPerEntry);
      std::string blocks;
      for (const std::string& block : stage.blocks) blocks += (blocks.empty() ? "" : " ") + block;
      recorder_.add(model::Stage{result_.id, stage.index, deviceId(ir_.mesh.chip(0, stage.place)), blocks,
                                 stage.stashEntries, stage.stashBytesPerEntry});
    }
  }

  void recordBoundaries() {
    for (const compile::BoundaryTensor& tensor : ir_.boundaries) {
      const auto chipOf = [&](int stage) {
        return ir_.mesh.chip(0, ir_.stages[static_cast<std::size_t>(stage)].place);
      };
      const int from = chipOf(tensor.fromStage), to = chipOf(tensor.toStage);
      Ticks ticks;
      if (from != to) ticks = system_.transferTicks({{from, to, tensor.type.bytes()}}).front();
      recorder_.add(model::Boundary{result_.id, tensor.fromStage, tensor.toStage, tensor.kind, tensor.name,
                                    toString(tensor.type), tensor.type.bytes(), ticks});
    }
  }

  /// The link that joins two devices. Where the way leads over several, its links are recorded instead, as
  /// the property "route.EXECUTABLE.FROM.TO" with their ids in order.
  model::LinkId linkOf(int from, int to) {
    if (const auto known = ids_.links.find({from, to}); known != ids_.links.end()) return known->second;
    if (const devices::LinkInfo* direct = directLink(from, to)) return recordLink(recorder_, ids_, *direct);
    std::string ids;
    model::LinkId last;
    const std::vector<devices::LinkInfo> route = system_.route(from, to);
    for (const devices::LinkInfo& link : route) {
      last = recordLink(recorder_, ids_, link);
      ids += (ids.empty() ? "" : " ") + std::to_string(last.value);
    }
    if (route.size() == 1) return last;
    if (!route.empty() && routes_.insert({from, to}).second)
      recorder_.add(model::Property{
          fmt::format("route.{}.{}.{}", result_.id.value, deviceId(from).value, deviceId(to).value), ids});
    return {};
  }

  /// Returns the link of the system that joins two devices; null: there is none. The recorder need not have
  /// it yet, because links are recorded when they are first used.
  const devices::LinkInfo* directLink(int from, int to) {
    const auto key = [](int one, int other) { return (std::int64_t{one} << 32) + other; };
    if (direct_.empty()) {
      direct_.reserve(system_.links().size());
      for (const devices::LinkInfo& link : system_.links()) direct_[key(link.from, link.to)] = &link;
    }
    const auto found = direct_.find(key(from, to));
    return found == direct_.end() ? nullptr : found->second;
  }

  /// `beside` are flows of other replicas that share a link with these. Replicas are assumed to run in step.
  void addFlows(const std::vector<StageFlow>& all, FlowLists beside) {
    std::vector<devices::Flow> flows;
    std::vector<double> slowdowns;
    for (const StageFlow& flow : all) {
      const auto [from, to, bytes] = flow.flow;
      flows.push_back(flow.flow);
      // Each rank sends to its counterpart, and the place goes on when the last of them has its part.
      const int width = ir_.mesh.width;
      slowdowns.push_back(1 / std::min(scaleOfPlace(result_.facts, from, width).link,
                                       scaleOfPlace(result_.facts, to, width).link));
      clock::Flow& own = costs_.flows.emplace_back();
      own.fromStage = flow.fromStage;
      own.toStage = flow.toStage;
      own.kind = flow.kind;
      own.bytes = bytes;
      own.fromLane = transferLane(from);
      own.toLane = transferLane(to);
      own.link = linkOf(from, to);
    }
    if (flows.empty()) return;
    if (result_.order().progression == model::ScheduleKind::barrier) {
      const std::vector<Ticks> together = ticksBeside(system_, flows, beside);
      for (std::size_t i = 0; i < flows.size(); ++i)
        costs_.flows[i].ticks = slower(together[i], slowdowns[i]);
      return;
    }
    part_.contention =
        std::make_shared<LinkContention>(system_, std::move(flows), std::move(slowdowns), std::move(beside));
    for (std::size_t i = 0; i < costs_.flows.size(); ++i)
      costs_.flows[i].ticks = part_.contention->alone(static_cast<int>(i));
  }

  /// Adds what collectives do to links, which is known once all devices of the replica are recorded.
  void addLoads() {
    if (costs_.linkUses.empty()) return;
    if (part_.contention == nullptr)
      part_.contention = std::make_shared<LinkContention>(system_, std::vector<devices::Flow>());
    part_.contention->setLoads(sharesCores() ? std::vector<LinkLoad>{coresLoad()} : links_->loads());
  }

  bool sharesCores() const { return result_.facts.sharedCompute > 0; }
  /// The load of a place on the cores that it shares with others: each of so many fills its part.
  LinkLoad coresLoad() const {
    return {.shares = {{.link = 0, .share = 1 / result_.facts.sharedCompute}}, .always = true};
  }

  /// The list of collectives of a segment in a pass, or beside one, that may share links with others; −1: it
  /// has none. Behind a barrier nothing computes while data is sent.
  int linkUsesOf(const devices::LoweredPass& pass, const devices::LoweredSegment& segment, int device) {
    const bool beside = pass.pass == model::Pass::collective && segment.after >= 0 && segment.tied < 0;
    if ((!beside && !model::isComputePass(pass.pass)) ||
        result_.order().progression == model::ScheduleKind::barrier)
      return -1;
    std::vector<clock::LinkUse> uses;
    if (!sharesCores())
      uses = links_->of(pass, segment, device);
    else if (!beside && segment.ticks.count > 0)
      uses.push_back({Ticks(0), segment.ticks, Ticks(0), 0});
    if (uses.empty()) return -1;
    costs_.linkUses.push_back(std::move(uses));
    return static_cast<int>(costs_.linkUses.size()) - 1;
  }

  ProgramTree& treeOf(int device) {
    const ProgramTree::Loops loops{ir_.name, result_.facts.iterations, result_.facts.microBatches};
    return trees_.try_emplace(device, recorder_, names_, result_.id, deviceId(device), loops).first->second;
  }

  void recordDevice(const devices::LoweredDevice& device) {
    ProgramTree& tree = treeOf(device.device);
    for (const devices::LoweredPass& pass : device.passes) recordPass(device.device, tree, pass);
    for (const compile::BoundaryTensor& tensor : ir_.boundaries) {
      const int from = part_.deviceOf(ir_.stages[static_cast<std::size_t>(tensor.fromStage)].place),
                to = part_.deviceOf(ir_.stages[static_cast<std::size_t>(tensor.toStage)].place);
      if (from != to && (from == device.device || to == device.device))
        tree.addExternal("GlobalExchange", tensor.name);
    }
    memory_.recordDevice(device, costs_.number, tree);
  }

  void recordPass(int device, ProgramTree& tree, const devices::LoweredPass& pass) {
    tree.beginPass(pass);
    // Replicas share their operators.
    const auto [known, added] = operators_.try_emplace({pass.stage, pass.pass});
    std::vector<model::OperatorId>& operators = known->second;
    for (const devices::LoweredOperator& op :
         added ? pass.operators : std::vector<devices::LoweredOperator>()) {
      operators.push_back(recorder_.add(model::Operator{{},
                                                        result_.id,
                                                        names_.at(op.name, "operator"),
                                                        op.kind,
                                                        pass.stage,
                                                        op.pass.value_or(pass.pass),
                                                        op.flops,
                                                        op.bytes,
                                                        op.block}));
      if (op.collective) recordCollective(operators.back(), *op.collective);
      recorder_.gather();
      if (op.leastSeconds > 0) operatorPeaks_.push_back({operators.back(), op.flops / op.leastSeconds});
    }
    for (const devices::LoweredSegment& segment : pass.segments) {
      model::Segment row;
      row.executable = result_.id;
      row.device = deviceId(device);
      row.lane = lane(device, segment.lane);
      row.stage = pass.stage;
      row.pass = segment.pass.value_or(pass.pass);
      row.name = segment.name;
      row.ticks = segment.ticks;
      const model::SegmentId id = recorder_.add(row);
      addPiece(0, pass, segment,
               {.segment = id,
                .pass = row.pass,
                .ticks = segment.ticks,
                .uses = linkUsesOf(pass, segment, device)});
      std::vector<model::ProgramId> programs;
      for (const devices::LoweredStep& step : segment.steps) {
        const model::OperatorId op =
            step.op < 0 ? model::OperatorId() : operators[static_cast<std::size_t>(step.op)];
        programs.push_back(tree.addStep(step, op));
        if (level_ >= RecordLevel::steps) recordStep(id, device, step, programs.back());
        recorder_.gather();
      }
      recordLevels(device, pass, segment, row, id, programs);
    }
  }

  void recordCollective(model::OperatorId op, const ops::Collective& collective) {
    const auto ranks = static_cast<std::int64_t>(ir_.mesh.group(part_.firstDevice, collective).size());
    if (ranks < 2) return;
    const Bytes bytes(collective.elements * graph::sizeOf(collective.type));
    recorder_.add(model::Collective{op, collective.axis, ops::toString(collective.kind), ranks, bytes,
                                    Bytes(ops::sentBytes(collective.kind, bytes.count, ranks))});
  }

  /// Micro-batches that take as long share a level. The executable of training alone has costs.
  void findCostLevels() {
    for (const double cost : result_.facts.microBatchCosts) {
      const auto known = std::find(costLevels_.begin(), costLevels_.end(), cost);
      const auto level = static_cast<int>(known - costLevels_.begin());
      if (known == costLevels_.end() && cost != 1) costLevels_.push_back(cost);
      levelOfMicroBatch_.push_back(cost == 1 ? 0 : level + 1);
    }
  }

  /// Records the segment once more for each level of costs, with the programs of the first. Only the compute
  /// of a micro-batch depends on its cost.
  void recordLevels(int device, const devices::LoweredPass& pass, const devices::LoweredSegment& segment,
                    const model::Segment& recorded, model::SegmentId id,
                    const std::vector<model::ProgramId>& programs) {
    for (std::size_t level = 0; level < costLevels_.size(); ++level) {
      if (!model::isComputePass(recorded.pass)) {
        addPiece(level + 1, pass, segment, {id, recorded.pass, recorded.ticks});
        continue;
      }
      devices::LoweredSegment slowed = segment;
      slowDown(slowed, costLevels_[level]);
      model::Segment row = recorded;
      row.ticks = slowed.ticks;
      const model::SegmentId own = recorder_.add(row);
      addPiece(
          level + 1, pass, segment,
          {.segment = own, .pass = row.pass, .ticks = row.ticks, .uses = linkUsesOf(pass, slowed, device)});
      for (std::size_t i = 0; i < slowed.steps.size() && level_ >= RecordLevel::steps; ++i)
        recordStep(own, device, slowed.steps[i], programs[i]);
    }
  }

  void recordStep(model::SegmentId segment, int device, const devices::LoweredStep& step,
                  model::ProgramId program) {
    for (const devices::LoweredUnitTicks& units : step.units) {
      if (level_ == RecordLevel::tiles)
        recorder_.add(
            model::StepUnits{segment, recorder_.added<model::Step>(), units.first, units.count, units.ticks});
    }
    recorder_.add(model::Step{segment, lane(device, step.lane), step.offset, step.ticks, step.kind, program,
                              step.activeUnits, step.minTicks, step.maxTicks, step.meanTicks, step.bytesIn,
                              step.bytesOut});
  }

  /// Records the external sync as a segment of its own on each device. A system in which it costs nothing has
  /// none.
  void recordSync() {
    const std::size_t count = costs_.devices.size();
    costs_.sync.resize(count);
    const Ticks ticks = system_.syncTicks(static_cast<int>(count));
    if (ticks.count <= 0 || count < 2 || result_.order().progression != model::ScheduleKind::barrier) return;
    for (std::size_t d = 0; d < count; ++d) {
      const int device = part_.deviceOf(static_cast<int>(d));
      model::Segment row;
      row.executable = result_.id;
      row.device = deviceId(device);
      row.lane = transferLane(device);
      row.pass = model::Pass::sync;
      row.name = "external sync";
      row.ticks = ticks;
      const model::SegmentId id = recorder_.add(row);
      costs_.sync[d] = {id, model::Pass::sync, ticks};
      devices::LoweredStep step;
      step.kind = model::StepKind::sync;
      step.lane = system_.devices()[static_cast<std::size_t>(device)].transferLane;
      step.ticks = step.minTicks = step.maxTicks = ticks;
      if (level_ >= RecordLevel::steps)
        recordStep(id, device, step, treeOf(device).addExternal("Sync", "external sync"));
    }
  }

  model::DeviceId deviceId(int index) const { return ids_.devices[static_cast<std::size_t>(index)]; }

  model::LaneId transferLane(int device) {
    return lane(device, system_.devices()[static_cast<std::size_t>(device)].transferLane);
  }
  model::LaneId lane(int device, model::LaneRole role) {
    const devices::DeviceInfo& info = system_.devices()[static_cast<std::size_t>(device)];
    return recordLane(recorder_, ids_, info, deviceId(device), role);
  }

  /// Adds a piece to the work `index` of its stage, or to what the stage does once per iteration.
  void addPiece(std::size_t index, const devices::LoweredPass& pass, const devices::LoweredSegment& segment,
                const clock::Piece& piece) {
    const auto s = static_cast<std::size_t>(pass.stage);
    clock::StageCosts& stage = costs_.stages[s];
    clock::StageWork& work = stage.works[index];
    switch (pass.pass) {
      case model::Pass::collective:
      case model::Pass::update:
        if (index > 0) return;
        if (segment.tied >= 0) {
          stage.tied.push_back({piece, tiedNumber(pass.operators[static_cast<std::size_t>(segment.tied)])});
        } else if (pass.pass == model::Pass::collective && segment.after >= 0) {
          stage.overlapped.push_back({piece, segment.after});
        } else {
          stage.updates.front().push_back(piece);
        }
        return;
      case model::Pass::recompute:
        // The levels of a segment follow each other, so all works have as many of them so far.
        work.backward.insert(work.backward.begin() + recomputed_[s], piece);
        if (index == costLevels_.size()) ++recomputed_[s];
        return;
      case model::Pass::hostIn:
        return work.hostIn.push_back(piece);
      case model::Pass::hostOut:
        return work.hostOut.push_back(piece);
      default:
        PIPESCOPE_CHECK(model::isComputePass(pass.pass), "no place for pass " + model::toString(pass.pass));
    }
    work.of(pass.pass).push_back(piece);
  }

  /// The number of a sum over places. Places know it by the name of its weight.
  int tiedNumber(const devices::LoweredOperator& sum) {
    return tied_.try_emplace(sum.name, static_cast<int>(tied_.size())).first->second;
  }

  record::Recorder& recorder_;
  const devices::System& system_;
  SystemIds& ids_;
  const compile::ExecutableIr& ir_;
  RecordLevel level_;
  NameTree names_;
  MemoryRecorder memory_;
  std::map<int, ProgramTree> trees_;  ///< tree of each device of the replica that is being recorded
  OperatorsOfPass operators_;
  std::vector<OperatorPeak> operatorPeaks_;
  std::vector<double> costLevels_;      ///< different costs of micro-batches besides 1
  std::vector<int> levelOfMicroBatch_;  ///< index into StageCosts::works; empty: the costs as compiled
  std::optional<LinkUses> links_;       ///< collectives of the replica that is being recorded
  ReplicaPart part_;                    ///< the replica that is being recorded
  clock::ReplicaCosts costs_;           ///< costs of the replica
  /// Links of the system, by both ends; filled when asked for.
  std::unordered_map<std::int64_t, const devices::LinkInfo*> direct_;
  std::set<std::pair<int, int>> routes_;  ///< pairs of devices whose way over several links is recorded
  std::vector<int> recomputed_;           ///< pieces of each stage's backward work that recompute
  std::map<std::string, int> tied_;       ///< sums over places, by name
  EmulatedExecutable result_;
};

}  // namespace

EmulatedExecutable recordExecutable(record::Recorder& recorder, const devices::System& system, SystemIds& ids,
                                    const compile::ExecutableIr& ir,
                                    const std::vector<devices::LoweredDevice>& lowered,
                                    schedules::Order order, const ExecutableFacts& facts, RecordLevel level) {
  return ExecutableRecorder(recorder, system, ids, ir, level).record(lowered, std::move(order), facts);
}

}  // namespace pipescope::emulate
