#include "profiler/analysis/model/program_tree.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/model/origins.h"
#include "profiler/base/wrapping.h"

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

struct ProgramSums {
  std::int64_t programs = 0;
  Ticks ticks, exchanged;
  Bytes code;
};

/// Sums over the steps of one program.
struct ProgramSteps {
  Ticks ticks, exchanged, slowest;
  double mean = 0;
  std::int64_t activeUnits = 0;
  model::StepKind kind = model::StepKind::compute;
  bool any = false;  ///< it has steps
};

using ProgramCode = std::map<std::pair<model::DebugContextId, model::DeviceId>, Bytes>;

/// The places of programs by their ids. Ids nearly always follow each other, so that the place follows from
/// the first one.
class ProgramPlaces {
 public:
  /// Adds a program. The first one counts if several have the same id, as in a damaged file.
  void add(std::int64_t id) {
    const std::size_t place = count_++;
    if (place == 0) first_ = id;
    if (follows_ && static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(first_) == place) return;
    if (follows_)
      for (std::size_t i = 0; i < place; ++i) others_.emplace(first_ + static_cast<std::int64_t>(i), i);
    follows_ = false;
    others_.emplace(id, place);
  }
  std::optional<std::size_t> find(std::int64_t id) const {
    if (follows_) {
      const std::uint64_t place = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(first_);
      return place < count_ ? std::optional<std::size_t>(place) : std::nullopt;
    }
    const auto found = others_.find(id);
    return found == others_.end() ? std::nullopt : std::optional<std::size_t>(found->second);
  }

 private:
  std::int64_t first_ = 0;
  std::size_t count_ = 0;
  bool follows_ = true;
  std::unordered_map<std::int64_t, std::size_t> others_;  // places, if the ids leave some out
};

}  // namespace

struct ProgramReader::Programs {
  const Catalog& catalog;
  std::vector<model::Rows<model::Program>> blocks;  // keep the programs alive
  std::vector<const model::Program*> programs;
  ProgramPlaces places;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> children;
  std::vector<std::size_t> roots;
  std::vector<ProgramSteps> steps;  // sums of each program
  ProgramCode code;

  base::Status readPrograms(const model::ProfileSource& source, model::ExecutableId executable) {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> infos, source.blocks<model::Program>());
    for (std::size_t b = 0; b < infos.size(); ++b) {
      PIPESCOPE_ASSIGN(model::Rows<model::Program> rows, source.block<model::Program>(b));
      for (const model::Program& row : *rows) {
        if (row.executable != executable) continue;
        (row.parent.valid() ? children[row.parent.value] : roots).push_back(programs.size());
        places.add(row.id.value);
        programs.push_back(&row);
      }
      blocks.push_back(std::move(rows));
    }
    return {};
  }

  base::Status readSteps(const model::ProfileSource& source) {
    steps.resize(programs.size());
    return forAllRows<model::Step>(source, [this](const model::Step& row) {
      const std::optional<std::size_t> place = places.find(row.program.value);
      if (!place) return;
      ProgramSteps& own = steps[*place];
      own.any = true;
      addTo(own.ticks, row.ticks);
      own.kind = row.kind;
      if (row.kind == model::StepKind::exchange || row.kind == model::StepKind::globalExchange)
        addTo(own.exchanged, Ticks(row.bytesIn.count));
      own.activeUnits = std::max(own.activeUnits, row.activeUnits);
      if (row.kind != model::StepKind::compute) return;
      own.mean += row.meanTicks;
      addTo(own.slowest, row.maxTicks);
    });
  }

  /// A copy between devices has no steps, because its length depends on two devices. The time alone on the
  /// link is known. A device has one program for each tensor that it sends or receives, in the order of the
  /// boundaries.
  void readCopies(model::ExecutableId executable) {
    // If nothing else has a time, sums would be those of copies alone.
    if (std::ranges::none_of(steps, &ProgramSteps::any)) return;
    std::map<std::int32_t, model::DeviceId> deviceOf;
    for (const model::Stage* stage : catalog.stagesOf(executable)) deviceOf[stage->index] = stage->device;
    std::set<model::DeviceId> firstReplica;
    for (const auto& [stage, device] : deviceOf) firstReplica.insert(device);
    std::map<std::string, std::vector<const model::Boundary*>> byTensor;
    for (const model::Boundary& copy : catalog.boundaries) {
      if (copy.executable == executable && deviceOf[copy.fromStage] != deviceOf[copy.toStage])
        byTensor[copy.tensor].push_back(&copy);
    }
    std::map<std::pair<std::string, model::DeviceId>, std::size_t> seen;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const model::Program& row = *programs[i];
      if (row.kind != "GlobalExchange" || steps[i].any) continue;
      const std::string tensor = catalog.namePath(row.debugContext);
      std::size_t place = seen[{tensor, row.device}]++;
      for (const model::Boundary* copy : byTensor[tensor]) {
        const model::DeviceId from = deviceOf[copy->fromStage], to = deviceOf[copy->toStage];
        const bool here = !firstReplica.contains(row.device) || from == row.device || to == row.device;
        if (!here || place-- > 0) continue;
        steps[i].any = true;
        steps[i].kind = model::StepKind::globalExchange;
        steps[i].ticks = copy->ticks;
        if (to == row.device) steps[i].exchanged = Ticks(copy->bytes.count);
        break;
      }
    }
  }

  /// Code belongs to the program of the same name path.
  base::Status readCode(const model::ProfileSource& source, model::ExecutableId executable) {
    return forAllRows<model::Variable>(source, [&](const model::Variable& row) {
      if (row.executable != executable || !row.alwaysLive || !isCode(row.category)) return;
      const model::MemorySpace* space = catalog.memorySpaces.find(row.space);
      code[{row.debugContext, space == nullptr ? model::DeviceId() : space->device}] += row.bytes;
    });
  }
};

namespace {

/// Makes the nodes of a tree, or only the sums of its roots.
class TreeMaker {
 public:
  enum class Nodes { none, control, all };
  TreeMaker(const ProgramReader::Programs& from, Nodes wanted)
      : from_(from), wanted_(wanted), code_(from.code) {
    if (wanted_ == Nodes::all) nodes_.reserve(from.programs.size());
  }

  std::vector<ProgramNode> tree() {
    for (const std::size_t root : from_.roots) add(root, 0);
    countCallers();
    return std::move(nodes_);
  }

  std::vector<ProgramNode> devices() {
    std::map<model::DeviceId, ProgramNode> devices;
    for (const std::size_t root : from_.roots) {
      const model::Program& row = *from_.programs[root];
      ProgramNode& sum = devices[row.device];
      const ProgramSums own = add(root, 0);
      base::addWrapped(sum.code.count, own.code.count);
      sum.programs += own.programs;
      if (row.kind == "Function") continue;
      base::addWrapped(sum.ticks.count, own.ticks.count);
      base::addWrapped(sum.exchanged.count, own.exchanged.count);
    }
    std::vector<ProgramNode> list;
    for (auto& [device, sum] : devices) {
      const model::Device* row = from_.catalog.device(device);
      sum.device = device;
      sum.kind = "Device";
      sum.name = row == nullptr ? std::string() : row->name;
      list.push_back(std::move(sum));
    }
    return list;
  }

 private:
  /// A program is control flow if it has children, or is of a kind that may have some.
  bool isControl(const model::Program& row) const {
    return row.kind == "Sequence" || row.kind == "Repeat" || row.kind == "Call" || row.kind == "Function" ||
           from_.children.contains(row.id.value);
  }

  /// Many programs share a name or its first parts, so each part is put before others once.
  const std::string& nameOf(model::DebugContextId id, int depth = 0) {
    static const std::string kNone;
    if (depth >= kDeepest) return kNone;
    const auto [found, isNew] = names_.try_emplace(id.value);
    std::string& name = found->second;
    if (!isNew) return name;
    if (!from_.catalog.debugContexts.contains(id)) return name;
    const model::DebugContext context = from_.catalog.debugContexts[id];
    if (context.parent.valid()) {
      const std::string& before = nameOf(context.parent, depth + 1);
      name = before.empty() ? context.name : before + "/" + context.name;
    } else {
      name = context.name;
    }
    return name;
  }

  /// Adds a program and those below it. Returns their sums for one run of the program.
  ProgramSums add(std::size_t index, int depth) {
    const model::Program& row = *from_.programs[index];
    const ProgramSteps& own = from_.steps[index];
    ProgramSums sums{0, own.ticks, own.exchanged, {}};
    // Programs of the same name, as in the forward pass and in recompute, share their code.
    if (const auto code = code_.find({row.debugContext, row.device}); code != code_.end())
      sums.code = std::exchange(code->second, Bytes());
    const bool leaf = depth > kDeepest || !isControl(row);
    if (leaf) {
      sums.programs = 1;
      if (wanted_ == Nodes::all) nodes_.push_back(leafNode(row, own, sums, depth));
      return sums;
    }
    const std::size_t place = nodes_.size();
    if (wanted_ != Nodes::none) nodes_.push_back(nodeOf(row, depth));
    if (const auto below = from_.children.find(row.id.value); below != from_.children.end()) {
      for (const std::size_t child : below->second) {
        const ProgramSums part = add(child, depth + 1);
        sums.programs += part.programs;
        sums.code += part.code;
        addTo(sums.ticks, part.ticks);
        addTo(sums.exchanged, part.exchanged);
      }
    }
    const std::int64_t count = std::max<std::int64_t>(1, row.count);
    sums.ticks = times(sums.ticks, count);
    sums.exchanged = times(sums.exchanged, count);
    if (wanted_ != Nodes::none) setSums(nodes_[place], sums);
    return sums;
  }

  ProgramNode nodeOf(const model::Program& row, int depth) {
    ProgramNode node;
    node.id = row.id;
    node.device = row.device;
    node.kind = row.kind;
    node.name = nameOf(row.debugContext);
    node.depth = depth;
    node.count = std::max<std::int64_t>(1, row.count);
    node.target = row.target;
    node.context = row.debugContext;
    return node;
  }

  static void setSums(ProgramNode& node, const ProgramSums& sums) {
    node.programs = sums.programs;
    node.ticks = sums.ticks;
    node.code = sums.code;
    node.exchanged = Bytes(sums.exchanged.count);
  }

  ProgramNode leafNode(const model::Program& row, const ProgramSteps& own, const ProgramSums& sums,
                       int depth) {
    ProgramNode node = nodeOf(row, depth);
    setSums(node, sums);
    if (!own.any) return node;
    node.step = own.kind;
    node.activeUnits = own.activeUnits;
    if (own.slowest.count > 0) node.tileBalance = own.mean / static_cast<double>(own.slowest.count);
    return node;
  }

  void countCallers() {
    std::unordered_map<std::int64_t, std::size_t> functions;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind == "Function") functions.emplace(nodes_[i].id.value, i);
    }
    for (ProgramNode& node : nodes_) {
      if (!node.target.valid()) continue;
      const auto function = functions.find(node.target.value);
      if (function == functions.end()) continue;
      ProgramNode& target = nodes_[function->second];
      node.targetName = target.name;
      ++target.callers;
      addTo(target.ticks, node.ticks);
      target.exchanged += node.exchanged;
    }
  }

  const ProgramReader::Programs& from_;
  const Nodes wanted_;
  ProgramCode code_;  // code that no program has taken yet
  std::unordered_map<std::int64_t, std::string> names_;
  std::vector<ProgramNode> nodes_;
};

}  // namespace
ProgramReader::ProgramReader(std::unique_ptr<const Programs> programs) : programs_(std::move(programs)) {}
ProgramReader::ProgramReader(ProgramReader&&) noexcept = default;
ProgramReader::~ProgramReader() = default;

Result<ProgramReader> ProgramReader::read(const model::ProfileSource& source, const Catalog& catalog,
                                          model::ExecutableId executable) {
  auto programs = std::make_unique<Programs>(Programs{catalog});
  PIPESCOPE_TRY(programs->readPrograms(source, executable));
  PIPESCOPE_TRY(programs->readSteps(source));
  programs->readCopies(executable);
  PIPESCOPE_TRY(programs->readCode(source, executable));
  return ProgramReader(std::move(programs));
}

std::int64_t ProgramReader::roots() const {
  return static_cast<std::int64_t>(programs_->roots.size());
}
std::int64_t ProgramReader::size() const {
  return static_cast<std::int64_t>(programs_->programs.size());
}
std::vector<ProgramNode> ProgramReader::control() const {
  return TreeMaker(*programs_, TreeMaker::Nodes::control).tree();
}
std::vector<ProgramNode> ProgramReader::tree() const {
  return TreeMaker(*programs_, TreeMaker::Nodes::all).tree();
}
std::vector<ProgramNode> ProgramReader::devices() const {
  return TreeMaker(*programs_, TreeMaker::Nodes::none).devices();
}

Result<std::vector<ProgramNode>> controlPrograms(const model::ProfileSource& source, const Catalog& catalog,
                                                 model::ExecutableId executable) {
  ProgramReader::Programs programs{catalog};
  PIPESCOPE_TRY(programs.readPrograms(source, executable));
  PIPESCOPE_TRY(programs.readSteps(source));
  programs.readCopies(executable);
  return TreeMaker(programs, TreeMaker::Nodes::control).tree();
}

Result<std::vector<ProgramNode>> programTree(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable) {
  PIPESCOPE_ASSIGN(const ProgramReader reader, ProgramReader::read(source, catalog, executable));
  return reader.tree();
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
