#include "engine/emulate/record_edges.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>

namespace pipescope::emulate {
namespace {

using compile::IrTensorId;
using model::OperatorId;

class EdgeRecorder {
 public:
  EdgeRecorder(record::Recorder& recorder, NameTree& names, model::ExecutableId executable,
               const compile::ExecutableIr& ir, const OperatorsOfPass& operators)
      : recorder_(recorder), names_(names), executable_(executable), ir_(ir), operators_(operators) {
    for (const compile::BoundaryTensor& boundary : ir.boundaries) crossing_.insert(boundary.name);
  }

  void record() {
    for (const compile::StageIr& stage : ir_.stages) recordStage(stage);
    recordBoundaries();
  }

 private:
  /// Ends of a stage's tensor: the operator that it comes from, and the stage's operators that read it before
  /// the stage itself has made it.
  struct Ends {
    OperatorId producer;
    std::vector<OperatorId> readers;
    const compile::IrTensor* tensor = nullptr;
  };

  void recordStage(const compile::StageIr& stage) {
    std::vector<OperatorId> producers(stage.tensors.size());
    std::vector<IrTensorId> inputs;
    for (const compile::PassIr& pass : stage.passes) {
      const auto recorded = operators_.find({stage.index, pass.pass});
      if (recorded == operators_.end() || recorded->second.size() != pass.operators.size()) continue;
      for (std::size_t i = 0; i < pass.operators.size(); ++i) {
        const compile::IrOperator& op = pass.operators[i];
        const OperatorId own = recorded->second[i];
        // An operator may read a tensor twice, as in x · x.
        inputs = op.inputs;
        std::ranges::sort(inputs);
        inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
        for (const IrTensorId input : inputs) read(stage, producers, input, own);
        for (const IrTensorId output : op.outputs) {
          if (!output.valid()) continue;
          producers[static_cast<std::size_t>(output.value)] = own;
          if (crossing_.empty()) continue;
          const std::string& name = stage.tensors[output].name;
          if (crossing_.contains(name)) ends_[{stage.index, name}].producer = own;
        }
      }
    }
  }

  void read(const compile::StageIr& stage, const std::vector<OperatorId>& producers, IrTensorId input,
            OperatorId reader) {
    if (!input.valid()) return;
    const compile::IrTensor& tensor = stage.tensors[input];
    const OperatorId producer = producers[static_cast<std::size_t>(input.value)];
    if (producer.valid()) {
      if (producer != reader) add(producer, reader, tensor);
      return;
    }
    if (!crossing_.contains(tensor.name)) return;
    Ends& ends = ends_[{stage.index, tensor.name}];
    ends.readers.push_back(reader);
    ends.tensor = &tensor;
  }

  /// A stage may pass on a tensor that it has received itself.
  OperatorId producerOf(const compile::BoundaryTensor& boundary) const {
    int stage = boundary.fromStage;
    for (std::size_t hops = 0; hops <= ir_.stages.size(); ++hops) {
      const auto ends = ends_.find({stage, boundary.name});
      if (ends != ends_.end() && ends->second.producer.valid()) return ends->second.producer;
      int from = -1;
      for (const compile::BoundaryTensor& other : ir_.boundaries) {
        if (other.name == boundary.name && other.toStage == stage) from = other.fromStage;
      }
      if (from < 0) return {};
      stage = from;
    }
    return {};
  }

  void recordBoundaries() {
    for (const compile::BoundaryTensor& boundary : ir_.boundaries) {
      const auto received = ends_.find({boundary.toStage, boundary.name});
      const OperatorId producer = producerOf(boundary);
      if (received == ends_.end() || !producer.valid()) continue;
      for (const OperatorId reader : received->second.readers)
        add(producer, reader, *received->second.tensor);
    }
  }

  void add(OperatorId from, OperatorId to, const compile::IrTensor& tensor) {
    recorder_.add(model::Edge{executable_, from, to, names_.at(tensor.name, "variable"),
                              toString(tensor.type), tensor.type.bytes()});
  }

  record::Recorder& recorder_;
  NameTree& names_;
  model::ExecutableId executable_;
  const compile::ExecutableIr& ir_;
  const OperatorsOfPass& operators_;
  std::unordered_set<std::string_view> crossing_;     ///< names of tensors that go from stage to stage
  std::map<std::pair<int, std::string>, Ends> ends_;  ///< keyed by stage and name of such a tensor
};

}  // namespace

void recordEdges(record::Recorder& recorder, NameTree& names, model::ExecutableId executable,
                 const compile::ExecutableIr& ir, const OperatorsOfPass& operators) {
  EdgeRecorder(recorder, names, executable, ir, operators).record();
}

}  // namespace pipescope::emulate
