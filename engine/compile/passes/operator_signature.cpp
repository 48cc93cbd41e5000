#include "engine/compile/passes/operator_signature.h"

namespace pipescope::compile {
namespace {

/// A text that is equal for operators that compute the same, whatever the names of their tensors.
class OperatorText {
 public:
  explicit OperatorText(const StagePlan& stage) : stage_(stage) {}

  std::string of(const PlanOperator& op) {
    addOperator(op);
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
    add(std::vector{number, tensor.copies});
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

}  // namespace

std::int64_t OperatorNumbers::of(const StagePlan& stage, const PlanOperator& op) {
  const auto next = static_cast<std::int64_t>(numbers_.size());
  return numbers_.try_emplace(OperatorText(stage).of(op), next).first->second;
}

}  // namespace pipescope::compile
