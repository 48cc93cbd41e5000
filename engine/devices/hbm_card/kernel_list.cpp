#include "engine/devices/hbm_card/kernel_list.h"

#include <algorithm>
#include <variant>

#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::hbm_card {
namespace {

using compile::IrOperator;
using compile::IrTensorId;
using compile::PassIr;
using compile::StageIr;

bool isFusedAttention(const IrOperator& op) {
  return op.kind.ends_with("FusedAttention");
}
bool startsWithProduct(const IrOperator& op) {
  return !op.work.empty() &&
         (isFusedAttention(op) || std::holds_alternative<ops::Contraction>(op.work.front().item));
}
bool isMove(const IrOperator& op) {
  return op.work.size() == 1 && op.work.front().repeat == 1 &&
         std::holds_alternative<ops::Rearrange>(op.work.front().item) && op.outputs.size() == 1 &&
         op.kind == "Transpose";
}
/// Bytes of what a piece of Work makes.
std::int64_t resultBytes(const ops::Work& work) {
  if (const auto* product = std::get_if<ops::Contraction>(&work.item)) {
    using Phase = ops::Contraction::Phase;
    std::int64_t elements = product->groups;
    const bool weights = product->phase == Phase::weightGradient;
    for (const std::int64_t extent : weights                                  ? product->kernel
                                     : product->phase == Phase::inputGradient ? product->field
                                                                              : product->output)
      elements *= extent;
    if (weights)
      return elements * product->inputChannels * product->outputChannels * graph::sizeOf(product->type);
    const std::int64_t channels =
        product->phase == Phase::inputGradient ? product->inputChannels : product->outputChannels;
    // Products of float8 make 16-bit results.
    return elements * product->batch * channels * std::max<std::int64_t>(2, graph::sizeOf(product->type));
  }
  if (const auto* map = std::get_if<ops::Map>(&work.item)) return map->elements * graph::sizeOf(map->type);
  return 0;
}
std::vector<std::size_t> valid(const std::vector<IrTensorId>& ids) {
  std::vector<std::size_t> found;
  for (const IrTensorId id : ids) {
    if (id.valid()) found.push_back(static_cast<std::size_t>(id.value));
  }
  return found;
}
/// Products of the work, each with a weight of its own, if there are any.
std::int64_t groupsOf(const ops::Work& work) {
  const auto* product = std::get_if<ops::Contraction>(&work.item);
  return product != nullptr ? product->groups : 1;
}
bool contains(const std::vector<std::size_t>& list, std::size_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}
void addOnce(std::vector<std::size_t>& list, std::size_t value) {
  if (!contains(list, value)) list.push_back(value);
}

}  // namespace

StageUses::StageUses(const StageIr& stage)
    : readers_(stage.tensors.size()),
      outlives_(stage.tensors.size()),
      isState_(stage.tensors.size()),
      productsOnly_(stage.tensors.size(), true),
      isRead_(stage.tensors.size()) {
  bytes_.reserve(stage.tensors.size());
  for (const compile::IrTensor& tensor : stage.tensors) bytes_.push_back(tensor.type.bytes().count);
  for (std::size_t i = 0; i < stage.tensors.size(); ++i) alias_.push_back(i);
  // Walks backwards, because the readers of a view's result read what the view hands on.
  for (auto pass = stage.passes.rbegin(); pass != stage.passes.rend(); ++pass) {
    for (auto op = pass->operators.rbegin(); op != pass->operators.rend(); ++op) {
      const std::vector<std::size_t> outputs = valid(op->outputs);
      const bool products =
          startsWithProduct(*op) || (op->work.empty() && !outputs.empty() && productsOnly_[outputs[0]]);
      for (const std::size_t input : valid(op->inputs)) {
        productsOnly_[input] = productsOnly_[input] && products;
        isRead_[input] = true;
      }
    }
  }
  std::vector<int> pass(stage.tensors.size(), -1);
  for (std::size_t p = 0; p < stage.passes.size(); ++p) {
    for (const IrOperator& op : stage.passes[p].operators) {
      alias(op);
      const bool view = isView(op);
      for (const auto* list : {&op.inputs, &op.outputs}) {
        for (const std::size_t tensor : valid(*list)) {
          const std::size_t held = root(tensor);
          if (list == &op.inputs && !view) ++readers_[held];
          if (pass[held] >= 0 && pass[held] != static_cast<int>(p)) outlives_[held] = true;
          pass[held] = static_cast<int>(p);
        }
      }
    }
  }
  findWeights(stage);
  for (std::size_t i = 0; i < stage.tensors.size(); ++i) {
    isState_[i] = stage.tensors.items()[i].use == compile::TensorUse::optimizerState;
    if (isAlwaysLive(stage.tensors.items()[i].use) || readers_[root(i)] == 0) outlives_[root(i)] = true;
  }
}

void StageUses::findWeights(const StageIr& stage) {
  std::vector<bool> weights(stage.tensors.size());
  for (std::size_t i = 0; i < stage.tensors.size(); ++i) {
    const compile::TensorUse use = stage.tensors.items()[i].use;
    weights[i] = use == compile::TensorUse::weight || use == compile::TensorUse::gatheredWeight;
  }
  for (const PassIr& pass : stage.passes) {
    for (const IrOperator& op : pass.operators) {
      const std::vector<std::size_t> inputs = valid(op.inputs);
      if (std::ranges::none_of(inputs, [&](std::size_t input) { return weights[input]; })) continue;
      if (startsWithProduct(op)) weightProducts_.insert(op.name);
      if (inputs.size() > 1) continue;  // it is neither a view nor a cast
      for (const std::size_t output : valid(op.outputs)) weights[output] = true;
    }
  }
}

bool StageUses::multipliesWeights(const IrOperator& op) const {
  return startsWithProduct(op) && weightProducts_.contains(op.name);
}

std::size_t StageUses::root(std::size_t tensor) const {
  while (alias_[tensor] != tensor) tensor = alias_[tensor];
  return tensor;
}

bool StageUses::isView(const IrOperator& op) const {
  const std::vector<std::size_t> outputs = valid(op.outputs);
  return op.work.empty() || (isMove(op) && !outputs.empty() && readers_.size() > outputs[0] &&
                             productsOnly_[outputs[0]] && root(outputs[0]) != outputs[0]);
}

void StageUses::alias(const IrOperator& op) {
  const std::vector<std::size_t> inputs = valid(op.inputs), outputs = valid(op.outputs);
  if (inputs.empty() || outputs.empty()) return;
  const bool readByProducts = isMove(op) && productsOnly_[outputs[0]] && isRead_[outputs[0]];
  if ((op.work.empty() || readByProducts) && root(inputs[0]) != root(outputs[0]))
    alias_[root(outputs[0])] = root(inputs[0]);
}

namespace {

class Lister {
 public:
  Lister(const PassIr& pass, const StageUses& uses, const CardModel& model)
      : pass_(pass), uses_(uses), model_(model) {}

  base::Result<KernelList> list() {
    for (std::size_t i = 0; i < pass_.operators.size(); ++i) PIPESCOPE_TRY(add(static_cast<int>(i)));
    return std::move(list_);
  }

 private:
  base::Status add(int index) {
    const IrOperator& op = pass_.operators[static_cast<std::size_t>(index)];
    const auto begin = static_cast<std::int32_t>(list_.kernels.size());
    if (accumulates(op)) {
      list_.first.push_back(begin - 1);
      list_.end.push_back(begin);
      return {};
    }
    std::vector<ListedKernel> own;
    if (!uses_.isView(op)) {
      for (const ops::Work& work : op.work) PIPESCOPE_TRY(lowerOne(op, work, own));
    }
    describe(op, index, own);
    issueGroups(op, own);
    // Without a bound on the rows of an expert the host asks for them (C: Megatron-LM,
    // core/transformer/moe/token_dispatcher.py: cuda_sync_point; DeepEP: a dispatch waits for its count).
    if (op.kind == "ExpertDispatch" && !own.empty()) own.back().kernel.hostReads = true;
    if (own.size() == 1) list_.chains += static_cast<std::int64_t>(op.chains.size());
    std::int32_t first = begin;
    if (!own.empty() && !list_.kernels.empty() && fuses(list_.kernels.back(), own.front())) {
      fuse(list_.kernels.back(), own.front());
      own.erase(own.begin());
      --first;
    }
    list_.kernels.insert(list_.kernels.end(), std::make_move_iterator(own.begin()),
                         std::make_move_iterator(own.end()));
    list_.first.push_back(first);
    list_.end.push_back(static_cast<std::int32_t>(list_.kernels.size()));
    return {};
  }

  /// True if the product before makes the gradient that the operator adds to its accumulator, and nothing
  /// else reads it. The product then adds its result itself.
  bool accumulates(const IrOperator& op) {
    if (!model_.figures().productsAccumulate || op.kind != "Accumulate" || list_.kernels.empty())
      return false;
    ListedKernel& product = list_.kernels.back();
    const std::size_t gradient = uses_.root(valid(op.inputs).front()),
                      sum = uses_.root(valid(op.outputs).front());
    if (product.kernel.engine != Engine::matrix || !contains(product.makes, gradient) ||
        uses_.readers(gradient) != 1)
      return false;
    std::erase(product.makes, gradient);
    addOnce(product.makes, sum);
    addOnce(product.reads, sum);
    return true;
  }

  base::Status lowerOne(const IrOperator& op, const ops::Work& work, std::vector<ListedKernel>& own) const {
    const std::string what = op.name + " (" + op.kind + ")";
    if (work.repeat < 1) return base::badInput(what + ": a repeat count below 1.");
    PIPESCOPE_ASSIGN(EngineKernel kernel, model_.lowerWork(work.item, what));
    const auto repeat = static_cast<double>(work.repeat);
    kernel.arithmetic *= repeat;
    kernel.onChipBytes *= work.repeat;
    if (kernel.groupBytes > 0) kernel.groupBytes *= work.repeat;
    kernel.bytesIn *= work.repeat;
    kernel.bytesOut *= work.repeat;
    // A repeated kernel starts anew each time only if it depends on the time before.
    if (!kernel.elementwise && work.concurrent == 0) kernel.starts = work.repeat;
    ListedKernel listed;
    listed.kernel = kernel;
    listed.path = op.name + (work.label.empty() ? "" : "/" + work.label);
    listed.op = 0;
    listed.handed = resultBytes(work);
    listed.fusable = kernel.engine == Engine::vector && !kernel.barrier &&
                     (kernel.elementwise || std::holds_alternative<ops::Reduce>(work.item));
    if (!own.empty() && joins(own.back(), listed)) {
      fuse(own.back(), listed);
    } else {
      own.push_back(std::move(listed));
    }
    return {};
  }

  /// Libraries multiply groups with weights of their own one by one, in several streams (C:
  /// TransformerEngine, multi-stream cuBLAS), so the host issues a kernel for each of them.
  void issueGroups(const IrOperator& op, std::vector<ListedKernel>& own) const {
    if (!uses_.multipliesWeights(op)) return;
    for (const ops::Work& work : op.work) {
      for (ListedKernel& kernel : own) {
        if (kernel.kernel.engine == Engine::matrix)
          kernel.kernel.issues = std::max(kernel.kernel.issues, groupsOf(work));
      }
    }
  }

  /// The vector work of an operator continues in the same kernel until a barrier. Reductions that are
  /// barriers run together.
  static bool joins(const ListedKernel& before, const ListedKernel& next) {
    if (before.kernel.engine != Engine::vector || next.kernel.engine != Engine::vector) return false;
    return !before.kernel.barrier || next.kernel.barrier;
  }

  static void fuse(ListedKernel& into, ListedKernel& next) {
    EngineKernel& kernel = into.kernel;
    kernel.arithmetic += next.kernel.arithmetic;
    kernel.units = std::max(kernel.units, next.kernel.units);
    kernel.onChipBytes += next.kernel.onChipBytes;
    kernel.againBytes += next.kernel.againBytes;
    kernel.workspace += next.kernel.workspace;
    if (kernel.tableBytes == 0)
      kernel.tableBytes = next.kernel.tableBytes, kernel.pickedBytes = next.kernel.pickedBytes;
    kernel.spread = std::max(kernel.spread, next.kernel.spread);
    kernel.wastedBytes += next.kernel.wastedBytes;
    kernel.barrier = kernel.barrier || next.kernel.barrier;
    kernel.starts = std::max(kernel.starts, next.kernel.starts);
    kernel.issues = std::max(kernel.issues, next.kernel.issues);
    kernel.hostReads = kernel.hostReads || next.kernel.hostReads;
    into.fusable = into.fusable && next.fusable;
    into.handed = std::max(into.handed, next.handed);
    for (const std::size_t tensor : next.reads) {
      if (!contains(into.makes, tensor)) addOnce(into.reads, tensor);
    }
    for (const std::size_t tensor : next.makes) addOnce(into.makes, tensor);
    if (!next.path.empty() && next.op != into.op && !next.makes.empty()) {
      kernel.name = "Fused";
      into.op = next.op;
    }
  }

  bool fuses(const ListedKernel& before, const ListedKernel& next) const {
    if (!before.fusable || !next.fusable || before.kernel.engine != Engine::vector) return false;
    if (before.reads.size() + next.reads.size() > model_.figures().mostOperands) return false;
    return std::any_of(next.reads.begin(), next.reads.end(),
                       [&](std::size_t tensor) { return contains(before.makes, tensor); });
  }

  /// The first kernel of an operator reads its operands, kernels after a barrier read them again, and the
  /// last kernel makes the results.
  void describe(const IrOperator& op, int index, std::vector<ListedKernel>& own) const {
    for (std::size_t k = 0; k < own.size(); ++k) {
      own[k].op = index;
      own[k].part = isFusedAttention(op) ? index : -1;
      const bool again = k > 0 && own[k - 1].kernel.barrier;
      if (k == 0 || again) {
        for (const std::size_t input : valid(op.inputs)) addOnce(own[k].reads, uses_.root(input));
        if (again) own[k].readsAgain = own[k].reads;
      }
      if (k + 1 == own.size()) {
        for (const std::size_t output : valid(op.outputs)) addOnce(own[k].makes, uses_.root(output));
        for (const std::size_t input : valid(op.inputs)) {
          if (uses_.isState(uses_.root(input))) addOnce(own[k].makes, uses_.root(input));
        }
      }
      const std::vector<std::size_t> results = valid(op.outputs);
      if (k > 0 && own[k].kernel.engine != own[k - 1].kernel.engine && !results.empty())
        own[k].continues = static_cast<std::int64_t>(uses_.root(results[0]));
      // A kernel that works in place reads and makes the same tensor.
      if (own[k].fusable && k + 1 == own.size() && own[k].makes.empty()) own[k].fusable = false;
    }
  }

  const PassIr& pass_;
  const StageUses& uses_;
  const CardModel& model_;
  KernelList list_;
};

}  // namespace

base::Result<KernelList> listKernels(const PassIr& pass, const StageUses& uses, const CardModel& model) {
  return Lister(pass, uses, model).list();
}

}  // namespace pipescope::devices::hbm_card
