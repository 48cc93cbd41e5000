#include "profiler/analysis/model/program_tree.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "profiler/analysis/model/origins.h"

namespace pipescope::analysis {
namespace {

/// A hostile file may nest programs to any depth.
constexpr int kDeepest = 64;

/// Stops at the largest number instead of overflowing.
Ticks times(Ticks ticks, std::int64_t count) {
  std::int64_t product = 0;
  return Ticks(__builtin_mul_overflow(ticks.count, count, &product) ? std::numeric_limits<std::int64_t>::max()
                                                                    : product);
}
void addTo(Ticks& sum, Ticks part) {
  if (__builtin_add_overflow(sum.count, part.count, &sum.count))
    sum = Ticks(std::numeric_limits<std::int64_t>::max());
}

class TreeReader {
 public:
  TreeReader(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
             bool leaves)
      : source_(source), catalog_(catalog), executable_(executable), leaves_(leaves) {}

  Result<std::vector<ProgramNode>> run() {
    PIPESCOPE_TRY(readPrograms());
    PIPESCOPE_TRY(readSteps());
    readCopies();
    if (leaves_) PIPESCOPE_TRY(readCode());
    for (const std::size_t root : roots_) add(root, 0);
    countCallers();
    return std::move(nodes_);
  }

 private:
  struct Sums {
    std::int64_t programs = 0;
    Ticks ticks, exchanged;
    Bytes code;
  };
  /// What the steps of one program take.
  struct Steps {
    Ticks ticks, exchanged, slowest;
    double mean = 0;
    std::int64_t activeUnits = 0;
    model::StepKind kind = model::StepKind::compute;
  };

  /// A program is control flow if it has children, or is of a kind that may have some.
  bool isControl(std::size_t index) const {
    const std::string& kind = programs_[index].kind;
    return children_.contains(programs_[index].id.value) || kind == "Sequence" || kind == "Repeat" ||
           kind == "Call" || kind == "Function";
  }

  base::Status readPrograms() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Program>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Program> rows, source_.block<model::Program>(b));
      for (const model::Program& row : *rows) {
        if (row.executable != executable_) continue;
        index_.emplace(row.id.value, programs_.size());
        (row.parent.valid() ? children_[row.parent.value] : roots_).push_back(programs_.size());
        programs_.push_back(row);
      }
    }
    return {};
  }

  base::Status readSteps() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(b));
      for (const model::Step& row : *rows) {
        if (!index_.contains(row.program.value)) continue;
        Steps& steps = steps_[row.program.value];
        addTo(steps.ticks, row.ticks);
        steps.kind = row.kind;
        if (row.kind == model::StepKind::exchange || row.kind == model::StepKind::globalExchange)
          addTo(steps.exchanged, Ticks(row.bytesIn.count));
        steps.activeUnits = std::max(steps.activeUnits, row.activeUnits);
        if (row.kind != model::StepKind::compute) continue;
        steps.mean += row.meanTicks;
        addTo(steps.slowest, row.maxTicks);
      }
    }
    return {};
  }

  /// A copy between devices has no steps, because its length depends on two devices. Its time alone on the
  /// link is known. A device has one program for each tensor that it sends or receives, in the order of the
  /// boundaries.
  void readCopies() {
    if (steps_.empty()) return;  // nothing else has a time, so sums would be those of copies alone
    std::map<std::int32_t, model::DeviceId> deviceOf;
    for (const model::Stage* stage : catalog_.stagesOf(executable_)) deviceOf[stage->index] = stage->device;
    std::set<model::DeviceId> firstReplica;
    for (const auto& [stage, device] : deviceOf) firstReplica.insert(device);
    std::map<std::pair<std::string, model::DeviceId>, std::size_t> seen;
    for (const model::Program& row : programs_) {
      if (row.kind != "GlobalExchange" || steps_.contains(row.id.value)) continue;
      const std::string tensor = catalog_.namePath(row.debugContext);
      std::size_t place = seen[{tensor, row.device}]++;
      for (const model::Boundary& copy : catalog_.boundaries) {
        if (copy.executable != executable_ || copy.tensor != tensor) continue;
        const model::DeviceId from = deviceOf[copy.fromStage], to = deviceOf[copy.toStage];
        const bool here = !firstReplica.contains(row.device) || from == row.device || to == row.device;
        if (from == to || !here || place-- > 0) continue;
        Steps& steps = steps_[row.id.value];
        steps.kind = model::StepKind::globalExchange;
        steps.ticks = copy.ticks;
        if (to == row.device) steps.exchanged = Ticks(copy.bytes.count);
        break;
      }
    }
  }

  model::DeviceId spaceDevice(model::MemorySpaceId id) const {
    const model::MemorySpace* space = catalog_.memorySpaces.find(id);
    return space == nullptr ? model::DeviceId() : space->device;
  }

  /// Code belongs to the program of the same name path.
  base::Status readCode() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Variable>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Variable> rows, source_.block<model::Variable>(b));
      for (const model::Variable& row : *rows) {
        if (row.executable == executable_ && row.alwaysLive && isCode(row.category))
          code_[{row.debugContext, spaceDevice(row.space)}] += row.bytes;
      }
    }
    return {};
  }

  /// Adds a control program and those below it. Returns their sums for one run of the program.
  Sums add(std::size_t index, int depth) {
    const model::Program& row = programs_[index];
    Sums sums;
    const auto own = steps_.find(row.id.value);
    if (own != steps_.end()) sums = {0, own->second.ticks, own->second.exchanged, {}};
    // Programs of the same name, as in the forward pass and in recompute, share their code.
    if (const auto code = code_.find({row.debugContext, row.device}); code != code_.end())
      sums.code = std::exchange(code->second, Bytes());
    const bool leaf = !isControl(index) || depth > kDeepest;
    if (leaf) {
      sums.programs = 1;
      if (!leaves_) return sums;
    }
    const std::size_t place = nodes_.size();
    ProgramNode node;
    node.id = row.id;
    node.device = row.device;
    node.kind = row.kind;
    node.name = catalog_.namePath(row.debugContext);
    node.depth = depth;
    node.count = std::max<std::int64_t>(1, row.count);
    node.target = row.target;
    node.context = row.debugContext;
    if (leaf) {
      node.programs = 1;
      node.ticks = sums.ticks;
      node.code = sums.code;
      node.exchanged = Bytes(sums.exchanged.count);
      if (own != steps_.end()) {
        node.step = own->second.kind;
        node.activeUnits = own->second.activeUnits;
        if (own->second.slowest.count > 0)
          node.tileBalance = own->second.mean / static_cast<double>(own->second.slowest.count);
      }
      nodes_.push_back(std::move(node));
      return sums;
    }
    nodes_.push_back(std::move(node));
    if (const auto below = children_.find(row.id.value); below != children_.end()) {
      for (const std::size_t child : below->second) {
        const Sums part = add(child, depth + 1);
        sums.programs += part.programs;
        sums.code += part.code;
        addTo(sums.ticks, part.ticks);
        addTo(sums.exchanged, part.exchanged);
      }
    }
    sums.ticks = times(sums.ticks, nodes_[place].count);
    sums.exchanged = times(sums.exchanged, nodes_[place].count);
    nodes_[place].programs = sums.programs;
    nodes_[place].ticks = sums.ticks;
    nodes_[place].code = sums.code;
    nodes_[place].exchanged = Bytes(sums.exchanged.count);
    return sums;
  }

  void countCallers() {
    std::unordered_map<std::int64_t, std::size_t> functions;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind == "Function") functions.emplace(nodes_[i].id.value, i);
    }
    for (ProgramNode& node : nodes_) {
      const auto function = functions.find(node.target.value);
      if (!node.target.valid() || function == functions.end()) continue;
      ProgramNode& target = nodes_[function->second];
      node.targetName = target.name;
      ++target.callers;
      addTo(target.ticks, node.ticks);
      target.exchanged += node.exchanged;
    }
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  std::vector<model::Program> programs_;
  std::unordered_map<std::int64_t, std::size_t> index_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> children_;
  std::vector<std::size_t> roots_;
  bool leaves_;
  std::unordered_map<std::int64_t, Steps> steps_;
  std::map<std::pair<model::DebugContextId, model::DeviceId>, Bytes> code_;
  std::vector<ProgramNode> nodes_;
};

}  // namespace

Result<std::vector<ProgramNode>> controlPrograms(const model::ProfileSource& source, const Catalog& catalog,
                                                 model::ExecutableId executable) {
  return TreeReader(source, catalog, executable, false).run();
}

Result<std::vector<ProgramNode>> programTree(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable) {
  return TreeReader(source, catalog, executable, true).run();
}

Result<std::vector<model::CompilerPass>> compilerPasses(const model::ProfileSource& source,
                                                        model::ExecutableId executable) {
  PIPESCOPE_ASSIGN(const model::Rows<model::CompilerPass> rows, source.rows<model::CompilerPass>());
  std::vector<model::CompilerPass> found;
  for (const model::CompilerPass& row : *rows) {
    if (row.executable == executable) found.push_back(row);
  }
  std::ranges::stable_sort(found, {}, &model::CompilerPass::index);
  return found;
}

}  // namespace pipescope::analysis
