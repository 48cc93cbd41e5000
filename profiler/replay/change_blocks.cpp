// A block of the model moves to the neighbouring stage. The times of the block come from the recorded
// operations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/replay/change.h"
#include "profiler/replay/owned_steps.h"

namespace pipescope::replay {
namespace {

using model::Pass;

std::vector<std::string> blocksOf(const model::Stage& stage) {
  std::istringstream words(stage.blocks);
  std::vector<std::string> blocks;
  for (std::string block; words >> block;) blocks.push_back(block);
  return blocks;
}

std::string joined(const std::vector<std::string>& blocks) {
  return fmt::format("{}", fmt::join(blocks, " "));
}

/// The forward operators of a block in the order of the program.
base::Result<std::vector<std::string>> layersOf(const ChangeContext& context, model::ExecutableId executable,
                                                const std::string& block) {
  std::vector<std::string> layers;
  PIPESCOPE_TRY(analysis::forAllRows<model::Operator>(context.source, [&](const model::Operator& op) {
    if (op.executable == executable && op.block == block && op.pass == Pass::forward)
      layers.push_back(context.catalog.namePath(op.debugContext));
  }));
  return layers;
}

/// True if an operator belongs to the block, or lies below one of its layers, as the update of a weight does.
bool isOf(const std::string& block, const std::set<std::string>& layers, const model::Operator& op,
          const std::string& path) {
  if (!op.block.empty()) return op.block == block;
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1))
    if (layers.contains(path.substr(0, slash))) return true;
  return false;
}

/// Returns the part of each segment's time that a block takes, by its steps.
base::Result<std::unordered_map<model::SegmentId, double>> sharesOf(const ChangeContext& context,
                                                                    model::ExecutableId executable,
                                                                    const std::string& block, int stage) {
  PIPESCOPE_ASSIGN(const std::vector<std::string> list, layersOf(context, executable, block));
  const std::set<std::string> layers(list.begin(), list.end());
  std::unordered_map<std::int64_t, bool> belongs;  // answer for each program
  const auto isOfBlock = [&](const model::Program& program) {
    const auto [known, added] = belongs.try_emplace(program.id.value, false);
    if (added) {
      const model::OperatorId id = program.op;
      const model::Operator op = context.catalog.operators[id];
      known->second = id.valid() && isOf(block, layers, op, context.catalog.namePath(op.debugContext));
    }
    return known->second;
  };
  PIPESCOPE_ASSIGN(
      const SegmentTicks ticks,
      ticksOfOwnSteps(context, executable, {stage},
                      [&](const model::Segment&, const model::Program& one) { return isOfBlock(one); }));
  std::unordered_map<model::SegmentId, double> shares;
  for (const auto& [segment, own] : ticks) {
    const Ticks length = context.catalog.segments.find(segment)->ticks;
    if (length.count > 0)
      shares[segment] = std::min(1.0, static_cast<double>(own.count) / static_cast<double>(length.count));
  }
  return shares;
}

/// Lets the transfers between two stages carry the tensor that leaves `block`, the last block before the new
/// border. Returns false if the recording does not tell its size or pace.
base::Result<bool> moveBorder(const ChangeContext& context, Recording& recording, const std::string& block,
                              int before, int after) {
  PIPESCOPE_ASSIGN(const std::vector<std::string> layers, layersOf(context, recording.executable.id, block));
  if (layers.empty()) return false;
  const std::string name = layers.back() + "/out";
  Bytes bytes;
  PIPESCOPE_TRY(analysis::forAllRows<model::Variable>(context.source, [&](const model::Variable& variable) {
    if (variable.executable == recording.executable.id && !variable.shape.empty() && bytes.count == 0 &&
        context.catalog.namePath(variable.debugContext) == name)
      bytes = variable.bytes;
  }));
  if (bytes.count <= 0) return false;
  bool all = true;
  for (ReplicaCosts& replica : recording.replicas) {
    for (Flow& flow : replica.flows) {
      if (std::minmax(flow.fromStage, flow.toStage) != std::minmax(before, after)) continue;
      if (flow.cost.tensors != 1 || flow.cost.ticksPerByte <= 0) {
        all = false;
        continue;
      }
      const Ticks more(
          std::llround(static_cast<double>((bytes - flow.bytes).count) * flow.cost.ticksPerByte));
      for (Ticks* ticks : {&flow.cost.alone, &flow.ticks}) *ticks = std::max(*ticks + more, Ticks(0));
      for (Ticks& ticks : flow.recorded) ticks = std::max(ticks + more, Ticks(0));
      flow.bytes = bytes;
    }
  }
  return all;
}

/// Ticks by pass that leave a stage.
struct Moved {
  double forward = 0, recompute = 0, backward = 0, weight = 0, update = 0;
  double* of(Pass pass) {
    switch (pass) {
      case Pass::forward:
        return &forward;
      case Pass::recompute:
        return &recompute;
      case Pass::backward:
        return &backward;
      case Pass::weightGradient:
        return &weight;
      case Pass::update:
        return &update;
      default:
        return nullptr;
    }
  }
};

/// Takes the block's part out of the pieces and adds it, divided by `count`, to `moved`.
void takeOut(Pieces& pieces, const std::unordered_map<model::SegmentId, double>& shares, double count,
             Moved& moved) {
  for (Piece& piece : pieces) {
    const auto share = shares.find(piece.segment);
    double* sum = moved.of(piece.pass);
    if (share == shares.end() || sum == nullptr) continue;
    const Ticks out = scaled(piece.ticks - piece.moved, share->second);
    piece.ticks -= out;
    piece.moved -= out;
    *sum += static_cast<double>(out.count) / count;
  }
}

void putIn(Pieces& pieces, Pass pass, double ticks) {
  if (ticks <= 0) return;
  const auto piece =
      std::find_if(pieces.begin(), pieces.end(), [&](const Piece& one) { return one.pass == pass; });
  const Ticks added(static_cast<std::int64_t>(ticks + 0.5));
  if (piece != pieces.end()) {
    piece->ticks += added;
    piece->moved += added;
  } else {
    pieces.push_back({{}, pass, added, Ticks(0), added});
  }
}

bool recomputes(const StageCosts& stage) {
  return std::any_of(stage.works.begin(), stage.works.end(), [](const StageWork& work) {
    return std::any_of(work.backward.begin(), work.backward.end(),
                       [](const Piece& piece) { return piece.pass == Pass::recompute; });
  });
}

void moveTimes(ReplicaCosts& replica, const std::unordered_map<model::SegmentId, double>& shares, int from,
               int to) {
  StageCosts& source = replica.stages[static_cast<std::size_t>(from)];
  StageCosts& target = replica.stages[static_cast<std::size_t>(to)];
  Moved moved;
  const bool again = recomputes(source);
  for (StageWork& work : source.works)
    for (Pieces* pieces : {&work.forward, &work.backward, &work.weight})
      takeOut(*pieces, shares, static_cast<double>(source.works.size()), moved);
  for (Pieces& update : source.updates)
    takeOut(update, shares, static_cast<double>(source.updates.size()), moved);
  if (!again) moved.recompute = moved.forward;
  if (!recomputes(target)) moved.recompute = 0;
  for (StageWork& work : target.works) {
    putIn(work.forward, Pass::forward, moved.forward);
    putIn(work.backward, Pass::recompute, moved.recompute);
    putIn(work.backward, Pass::backward, moved.backward);
    putIn(work.weight, Pass::weightGradient, moved.weight);
  }
  if (target.updates.empty() && moved.update > 0) target.updates.resize(1);
  for (Pieces& update : target.updates) putIn(update, Pass::update, moved.update);
}

base::Status changeBlock(const ChangeContext& context, Changed& changed, const std::string&,
                         const std::string& value) {
  Recording& recording = changed.recording;
  const std::size_t colon = value.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return base::badInput(fmt::format("move wants BLOCK:STAGE, such as move=B2:0, but got \"{}\".", value));
  const std::string block = value.substr(0, colon);
  PIPESCOPE_ASSIGN(const int to, stageNamed(recording, value.substr(colon + 1)));
  int from = -1;
  std::string known;
  for (const model::Stage& stage : recording.stages) {
    const std::vector<std::string> blocks = blocksOf(stage);
    if (!blocks.empty()) known += (known.empty() ? "" : " | ") + stage.blocks;
    if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) from = stage.index;
  }
  if (known.empty())
    return base::badInput("The recording names no blocks in its stages, so no block can move.");
  if (from < 0)
    return base::badInput(
        fmt::format("There is no block \"{}\". The stages hold the blocks {}.", block, known));
  std::vector<std::string> own = blocksOf(recording.stages[static_cast<std::size_t>(from)]);
  std::vector<std::string> other = blocksOf(recording.stages[static_cast<std::size_t>(to)]);
  const bool atEdge = to == from + 1 ? own.back() == block : to + 1 == from && own.front() == block;
  if (!atEdge)
    return base::badInput(fmt::format(
        "Block {} of stage {} cannot move to stage {}: only the last block of a stage can move to the next "
        "stage, and only the first one to the stage before.",
        block, from, to));
  if (own.size() == 1)
    return base::badInput(
        fmt::format("Block {} is the only one of stage {}, which would then be empty.", block, from));
  PIPESCOPE_ASSIGN(const auto shares, sharesOf(context, recording.executable.id, block, from));
  const model::Stage& recorded =
      *context.catalog.stagesOf(recording.executable.id)[static_cast<std::size_t>(from)];
  const std::vector<std::string> before = blocksOf(recorded);
  if (std::ranges::find(before, block) == before.end())
    return base::badInput(
        fmt::format("Block {} has already been moved to stage {}, and the recording tells its times only for "
                    "the stage that "
                    "held it: name the stages between which it moves in one run of pipescope run instead.",
                    block, from));
  if (shares.empty())
    return base::badInput(fmt::format(
        "The recording holds no times of the operations of block {}: record the run with --record steps.",
        block));
  for (ReplicaCosts& replica : recording.replicas) moveTimes(replica, shares, from, to);
  std::erase(own, block);
  other.insert(to > from ? other.begin() : other.end(), block);
  recording.stages[static_cast<std::size_t>(from)].blocks = joined(own);
  recording.stages[static_cast<std::size_t>(to)].blocks = joined(other);
  changed.stashUnknown = true;
  const std::string& border = to > from ? own.back() : block;
  PIPESCOPE_ASSIGN(const bool sized,
                   moveBorder(context, recording, border, std::min(from, to), std::max(from, to)));
  const char* transfers =
      sized ? "carry the output of block {} after the move"
            : "are taken as recorded, although the output of block {} crosses the border now";
  changed.remarks.push_back(
      fmt::format("Transfers between stages {} and {} {}. The recording does not tell "
                  "whether the moved block fits into the memory there.",
                  std::min(from, to), std::max(from, to), fmt::format(fmt::runtime(transfers), border)));
  if (recording.executable.replicas > 1 && recording.training)
    changed.remarks.push_back(fmt::format(
        "Sums of gradients are taken as recorded, although those of block {} move to stage {} too.", block,
        to));
  return {};
}

}  // namespace

std::vector<ChangeKind> blockChanges() {
  return {{"move", "place of a block",
           "BLOCK:STAGE: the first or last block of a stage moves to the neighbouring stage", changeBlock}};
}

}  // namespace pipescope::replay
