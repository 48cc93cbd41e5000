#include "engine/compile/passes/operator_signature.h"

#include "engine/ops/core/work_text.h"

namespace pipescope::compile {
namespace {

/// A text that is equal for operators that compute the same, whatever the names of their tensors.
class OperatorText {
 public:
  explicit OperatorText(const StageIr& stage) : stage_(stage) {}

  std::string of(const IrOperator& op) {
    addOperator(op);
    return std::move(text_);
  }

 private:
  void add(std::int64_t number) { text_ += std::to_string(number) + ","; }
  void add(const std::vector<std::int64_t>& list) {
    for (const std::int64_t each : list) add(each);
    text_ += ";";
  }

  void addOperator(const IrOperator& op) {
    text_ += op.kind + "(";
    for (const ops::Work& work : op.work) {
      add(std::vector{work.repeat, work.concurrent});
      ops::appendText(text_, work.item);
    }
    for (const IrOperator::Chain& chain : op.chains)
      add(std::vector{static_cast<std::int64_t>(chain.first), static_cast<std::int64_t>(chain.count)});
    for (const auto* list : {&op.inputs, &op.outputs}) {
      text_ += "|";
      for (const IrTensorId id : *list) addTensor(id);
    }
    text_ += ")";
  }

  /// Tensors are numbered in the order in which they first appear.
  void addTensor(IrTensorId id) {
    if (!id.valid()) return add(std::int64_t{-1});
    const auto number = local_.try_emplace(id, static_cast<std::int64_t>(local_.size())).first->second;
    const IrTensor& tensor = stage_.tensors[id];
    add(std::vector{number, tensor.copies});
    text_ += graph::toString(tensor.type) + ",";
  }

  const StageIr& stage_;
  std::string text_;
  std::map<IrTensorId, std::int64_t> local_;
};

}  // namespace

std::int64_t OperatorNumbers::of(const StageIr& stage, const IrOperator& op) {
  const auto next = static_cast<std::int64_t>(numbers_.size());
  return numbers_.try_emplace(OperatorText(stage).of(op), next).first->second;
}

}  // namespace pipescope::compile
