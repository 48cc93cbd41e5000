// Turns blocks that do the same with different tensors into calls of one function: repeated layers, or a
// layer and its recomputed forward pass. The plan only says which calls are alike. A device keeps the code
// once if that saves more memory than copying the arguments takes, and reports it.
#include <algorithm>
#include <map>
#include <tuple>

#include "engine/compile/passes/pass.h"

namespace pipescope::compile {
namespace {

/// A text that is equal for operators that compute the same, whatever the names of their tensors.
class Signature {
 public:
  explicit Signature(const StagePlan& stage) : stage_(stage) {}

  std::string of(const PassPlan& pass, std::size_t first, std::size_t count) {
    text_.clear();
    local_.clear();
    for (std::size_t i = first; i < first + count; ++i) addOperator(pass.operators[i]);
    return std::move(text_);
  }

 private:
  void add(std::int64_t number) { text_ += std::to_string(number) + ","; }
  void add(const std::string& word) { text_ += word + ","; }
  void add(const std::vector<std::int64_t>& list) {
    for (const std::int64_t each : list) add(each);
    text_ += ";";
  }
  void add(graph::ElementType type) { add(static_cast<std::int64_t>(type)); }

  void addOperator(const PlanOperator& op) {
    text_ += op.kind + "(";
    for (const ops::Work& work : op.work) {
      add(static_cast<std::int64_t>(work.item.index()));
      add(std::vector{work.repeat, work.concurrent});
      std::visit([&](const auto& item) { addItem(item); }, work.item);
    }
    for (const PlanOperator::Chain& chain : op.chains)
      add(std::vector{static_cast<std::int64_t>(chain.first), static_cast<std::int64_t>(chain.count)});
    for (const auto* list : {&op.inputs, &op.outputs}) {
      text_ += "|";
      for (const PlanTensorId id : *list) addTensor(id);
    }
    text_ += ")";
  }

  /// Tensors are numbered in the order in which they first appear.
  void addTensor(PlanTensorId id) {
    if (!id.valid()) return add(std::int64_t{-1});
    const auto number = local_.try_emplace(id, static_cast<std::int64_t>(local_.size())).first->second;
    const PlanTensor& tensor = stage_.tensors[id];
    add(std::vector{number, static_cast<std::int64_t>(tensor.use), tensor.copies});
    add(graph::toString(tensor.type));
  }

  void addItem(const ops::Contraction& c) {
    add(std::vector{static_cast<std::int64_t>(c.phase), c.batch, c.groups, c.inputChannels, c.outputChannels,
                    std::int64_t{c.transposed}, std::int64_t{c.trained}});
    for (const auto* list : {&c.field, &c.kernel, &c.output, &c.stride, &c.dilation, &c.padding}) add(*list);
    add(c.type);
    add(c.accumulate);
  }
  void addItem(const ops::Map& m) {
    add(ops::toString(m.function));
    add(std::vector{m.elements, m.operands, std::int64_t{m.inPlace}});
    add(m.type);
  }
  void addItem(const ops::Reduce& r) {
    add(ops::toString(r.function));
    add(std::vector{r.outputs, r.depth, std::int64_t{r.contiguous}, r.run, r.rows});
    add(r.type);
  }
  void addItem(const ops::Pool& p) {
    add(ops::toString(p.function));
    add(std::vector{std::int64_t{p.backward}, p.batch, p.channels});
    for (const auto* list : {&p.field, &p.kernel, &p.output, &p.stride}) add(*list);
    add(p.type);
  }
  void addItem(const ops::Gather& g) {
    add(std::vector{g.rows, g.rowElements, g.tableRows});
    add(g.type);
  }
  void addItem(const ops::Scatter& s) {
    add(std::vector{s.rows, s.rowElements, s.tableRows, std::int64_t{s.accumulate}});
    add(s.type);
  }
  void addItem(const ops::Rearrange& r) {
    add(std::vector{r.elements, r.runElements});
    add(r.type);
  }
  void addItem(const ops::Sort& s) {
    add(std::vector{s.rows, s.rowElements, s.keep});
    add(s.type);
  }
  void addItem(const ops::Random& r) {
    add(r.elements);
    add(r.type);
  }
  void addItem(const ops::Collective& c) {
    add(std::vector{static_cast<std::int64_t>(c.kind), c.elements, c.group});
    add(c.type);
  }
  void addItem(const ops::HostCopy& h) {
    add(std::vector{std::int64_t{h.toDevice}, h.bytes.count, std::int64_t{h.remote}});
  }

  const StagePlan& stage_;
  std::string text_;
  std::map<PlanTensorId, std::int64_t> local_;
};

struct Candidate {
  StagePlan* stage;
  PassPlan* pass;
  PlanCall call;
};

/// Finds runs of operators that belong to one block, and groups them by device and signature. A run of a few
/// operators is too short to be a layer.
using Candidates = std::map<std::tuple<int, std::string>, std::vector<Candidate>>;
constexpr std::size_t kFewestOperators = 3;

void findStretches(StagePlan& stage, Candidates& found) {
  Signature signature(stage);
  for (PassPlan& pass : stage.passes) {
    std::size_t end = 0;
    for (std::size_t first = 0; first < pass.operators.size(); first = end) {
      const std::string& block = pass.operators[first].block;
      const bool again = pass.operators[first].again;
      end = first + 1;
      while (end < pass.operators.size() && pass.operators[end].block == block &&
             pass.operators[end].again == again)
        ++end;
      if (block.empty() || end - first < kFewestOperators) continue;
      found[{stage.device, signature.of(pass, first, end - first)}].push_back(
          {&stage, &pass, {"", block, first, end - first}});
    }
  }
}

/// Names functions after the block and pass of their first call. A block whose backward pass is interrupted
/// may give its name to several functions.
class FunctionNames {
 public:
  std::string unused(const Candidate& first) {
    const bool again = first.pass->operators[first.call.first].again;
    const model::Pass pass = again ? model::Pass::recompute : first.pass->pass;
    const std::string name = first.call.name + "/" + model::toString(pass) + "/function";
    const int before = used_[{first.stage->device, name}]++;
    return before == 0 ? name : name + std::to_string(before);
  }

 private:
  std::map<std::pair<int, std::string>, int> used_;
};

PassEffect outline(ExecutablePlan& plan) {
  PassEffect effect;
  effect.counts = "calls of functions whose code is kept once";
  Candidates found;
  FunctionNames names;
  for (StagePlan& stage : plan.stages) findStretches(stage, found);
  for (auto& [key, calls] : found) {
    if (calls.size() < 2) continue;
    const std::string function = names.unused(calls.front());
    for (Candidate& each : calls) {
      each.call.function = function;
      each.pass->calls.push_back(each.call);
    }
  }
  for (StagePlan& stage : plan.stages) {
    for (PassPlan& pass : stage.passes) std::ranges::sort(pass.calls, {}, &PlanCall::first);
  }
  return effect;
}

}  // namespace

PIPESCOPE_REGISTER_PASS(outline) {
  registry.add({"outline",
                "Repeated layers become calls of one function. A device keeps its code once where that saves "
                "more memory "
                "than copies of the arguments take.",
                50, nullptr, outline});
}

}  // namespace pipescope::compile
