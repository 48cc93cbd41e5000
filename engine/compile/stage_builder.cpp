#include "engine/compile/stage_builder.h"

#include <algorithm>

#include "engine/compile/multi_conv.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::compile {

using graph::Graph;
using graph::Node;
using graph::Tensor;
using graph::TensorId;
using graph::TensorRole;
using graph::TensorType;
using model::Pass;

StageBuilder::StageBuilder(const graph::Graph& graph, const std::vector<PartialGradient>& partial,
                           const std::vector<TiedWeight>& tied, const StageOfNodes& stageOf,
                           const std::vector<StageBoundary>& boundaries, const IrOptions& options,
                           const ops::OperatorRegistry& registry, int stage)
    : graph_(graph),
      partial_(partial),
      tied_(tied),
      stageOf_(stageOf),
      boundaries_(boundaries),
      options_(options),
      registry_(registry),
      stage_(stage),
      known_(graph.tensors().size()) {
  ir_.index = stage;
  for (const auto& [parameter, gradient] : graph_.parameterGradients)
    ofParameters_.push_back({parameter, gradient, true, 0});
  ofParameters_.insert(ofParameters_.end(), partial_.begin(), partial_.end());
  for (std::size_t place = 0; place < ofParameters_.size(); ++place)
    places_[ofParameters_[place].gradient].push_back(place);
}

base::Result<StageIr> StageBuilder::build() {
  addHostIn();
  PIPESCOPE_TRY(addForward());
  addHostOut();  // before the backward pass gives restored and recomputed values their own tensors
  if (training()) {
    PIPESCOPE_TRY(addBackward());
    addTiedSums();
    addAllReduce();
    addUpdate();
  }
  if (stashes()) ir_.stashEntries = options_.stashEntries[static_cast<std::size_t>(stage_)];
  std::erase_if(ir_.passes, [](const PassIr& p) { return p.operators.empty(); });
  // Lists grow by doubling, so those of long models hold up to twice what they need.
  ir_.tensors.shrink_to_fit();
  for (PassIr& each : ir_.passes) each.operators.shrink_to_fit();
  return std::move(ir_);
}

IrTensorId StageBuilder::add(std::string name, TensorType type, TensorUse use, std::int64_t copies) {
  ir_.tensors.push_back({std::move(name), std::move(type), use, copies});
  return IrTensorId(static_cast<std::int64_t>(ir_.tensors.size()) - 1);
}

/// A constant without a value is memory that stays on the device between calls.
TensorUse StageBuilder::constantUse(TensorId id) const {
  return graph_.constant(id) == nullptr ? TensorUse::cache : TensorUse::constant;
}

/// Micro-batches are other samples, so each has a cache of its own.
std::int64_t StageBuilder::copiesOf(TensorUse use) const {
  return use == TensorUse::cache ? options_.microBatches : 1;
}

IrTensorId StageBuilder::tensorFor(TensorId id) {
  if (!id.valid()) return {};
  if (known_[id].valid()) return known_[id];
  const Tensor& tensor = graph_.tensor(id);
  TensorUse use = TensorUse::activation;
  if (tensor.role == TensorRole::parameter) use = TensorUse::weight;
  if (tensor.role == TensorRole::constant) use = constantUse(id);
  if (tensor.role == TensorRole::input) use = TensorUse::input;
  if (tensor.role == TensorRole::gradient) use = TensorUse::gradient;
  const bool received = tensor.producer.valid() && !mine(graph_.node(tensor.producer));
  if (received) use = TensorUse::input;
  known_[id] = add(tensor.name, tensor.type, use, copiesOf(use));
  if (received && options_.gradientBuffers)
    ir_.tensors[known_[id]].kept = graph_.node(tensor.producer).pass == Pass::forward;
  return known_[id];
}

PassIr& StageBuilder::pass(Pass kind) {
  // The order in which a micro-batch passes through them.
  static constexpr Pass order[] = {Pass::hostIn,  Pass::forward,    Pass::backward, Pass::weightGradient,
                                   Pass::hostOut, Pass::collective, Pass::update};
  const auto rank = [](Pass p) {
    return std::find(std::begin(order), std::end(order), p) - std::begin(order);
  };
  const auto place = std::lower_bound(ir_.passes.begin(), ir_.passes.end(), kind,
                                      [&](const PassIr& p, Pass k) { return rank(p.pass) < rank(k); });
  if (place != ir_.passes.end() && place->pass == kind) return *place;
  return *ir_.passes.insert(place, PassIr{kind, {}});
}

bool StageBuilder::isParameter(TensorId id) const {
  return id.valid() && graph_.tensor(id).role == TensorRole::parameter;
}

/// True if the node reads a parameter or computes the gradient of one.
bool StageBuilder::touchesParameter(const Node& node) const {
  const bool takes = std::ranges::any_of(node.inputs, [&](TensorId input) { return isParameter(input); });
  return takes || !gradientsOf(node).empty();
}

/// Marks the products as those of a trained layer. Devices expect its weights on the right, so a product that
/// is written with its weights on the left is turned over, and its gradients too.
void StageBuilder::markTrained(const Node& node, std::vector<ops::Work>& work) const {
  using Phase = ops::Contraction::Phase;
  std::vector<ops::Contraction*> products;
  for (ops::Work& each : work) {
    if (auto* product = std::get_if<ops::Contraction>(&each.item)) products.push_back(product);
  }
  for (ops::Contraction* product : products) product->trained = true;
  if (products.size() != 1) return;  // Recurrent layers, whose weights are on the right.
  const bool takes = std::ranges::any_of(node.inputs, [&](TensorId input) { return isParameter(input); });
  bool weightsOnLeft = false;
  switch (products.front()->phase) {
    case Phase::forward:
      weightsOnLeft = node.inputs.size() > 1 && isParameter(node.inputs[0]) && !isParameter(node.inputs[1]);
      break;
    case Phase::inputGradient:  // It reads the right operand.
      weightsOnLeft = !takes;
      break;
    case Phase::weightGradient:  // It reads the left operand.
      weightsOnLeft = takes;
      break;
  }
  if (weightsOnLeft) *products.front() = ops::transposedProduct(*products.front());
}

std::vector<PartialGradient> StageBuilder::gradientsOf(const Node& node) const {
  std::set<std::size_t> places;
  for (const TensorId output : node.outputs) {
    if (const auto known = places_.find(output); known != places_.end())
      places.insert(known->second.begin(), known->second.end());
  }
  std::vector<PartialGradient> found;
  for (const std::size_t place : places) found.push_back(ofParameters_[place]);
  return found;
}

bool StageBuilder::isPartial(const PartialGradient& part) const {
  return std::ranges::any_of(partial_, [&](const PartialGradient& each) {
    return each.parameter == part.parameter && each.gradient != part.gradient && each.place == part.place;
  });
}

base::Status StageBuilder::addPrepared(const Node& cast) {
  const Tensor& source = graph_.tensor(cast.inputs[0]);
  const auto use = source.role == TensorRole::parameter ? TensorUse::weight : constantUse(source.id);
  IrOperator op;
  op.name = ops::originOf(cast.name);
  op.kind = cast.op;
  op.block = cast.block;
  for (std::size_t i = 0; i < cast.outputs.size(); ++i) {
    const std::string name =
        source.name + "/float8" + (i % 2 == 1 ? "_scale" : "") + (i > 1 ? "_turned" : "");
    const TensorUse own = i % 2 == 1 ? TensorUse::constant : use;
    known_[cast.outputs[i]] = add(name, graph_.tensor(cast.outputs[i]).type, own, copiesOf(own));
    op.outputs.push_back(known_[cast.outputs[i]]);
  }
  if (!training()) return {};
  PIPESCOPE_ASSIGN(op.work, ops::workOf(graph_, cast, registry_));
  op.inputs = {tensorFor(cast.inputs[0])};
  castAgain_.push_back(std::move(op));
  return {};
}

base::Status StageBuilder::addNode(const Node& node, Pass kind) {
  if (graph::intAttribute(node, "prepared", 0) != 0) {
    return addPrepared(node);
  }
  IrOperator op;
  op.name = ops::originOf(node.name);
  op.kind = node.op;
  op.block = node.block;
  op.again = node.pass == Pass::recompute;
  op.group = graph::stringAttribute(node, kMultiConv, "");
  gatherBlockOf(node, kind);
  PIPESCOPE_ASSIGN(op.work, ops::workOf(graph_, node, registry_));
  if (training() && touchesParameter(node)) markTrained(node, op.work);
  for (const TensorId input : node.inputs) {
    if (input.valid()) op.inputs.push_back(tensorFor(input));
  }
  const int replaced = registry_.find(node.op)->replacedInput;
  if (replaced >= 0 && static_cast<std::size_t>(replaced) < node.inputs.size())
    op.replaced = tensorFor(node.inputs[static_cast<std::size_t>(replaced)]);
  for (const IrTensorId input : op.inputs) restoreBefore(input, kind, op.again);
  for (const TensorId output : node.outputs) op.outputs.push_back(tensorFor(output));
  pass(kind).operators.push_back(std::move(op));
  return {};
}

void StageBuilder::addHostIn() {
  for (const TensorId input : graph_.inputs) {
    const bool used = std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
      return mine(node) && std::find(node.inputs.begin(), node.inputs.end(), input) != node.inputs.end();
    });
    if (!used) continue;
    const Tensor& tensor = graph_.tensor(input);
    pass(Pass::hostIn)
        .operators.push_back({tensor.name,
                              "HostLoad",
                              {{ops::HostCopy{true, tensor.type.bytes()}, 1, ""}},
                              {},
                              {tensorFor(input)}});
  }
}

base::Status StageBuilder::addForward() {
  for (const StageBoundary& b : boundaries_) {
    if (b.toStage == stage_) tensorFor(b.tensor);  // received even where it is only passed on
  }
  fetchWeights(Pass::forward, {Pass::forward});
  for (const Node& node : graph_.nodes()) {
    if (node.pass == Pass::forward && mine(node)) PIPESCOPE_TRY(addNode(node, Pass::forward));
  }
  return {};
}

std::set<TensorId> StageBuilder::neededByBackward() const {
  std::set<TensorId> needed;
  for (const Node& node : graph_.nodes()) {
    if (node.pass == Pass::forward || !mine(node)) continue;
    for (const TensorId input : node.inputs) {
      if (!input.valid()) continue;
      const Tensor& tensor = graph_.tensor(input);
      const bool kept = tensor.role == TensorRole::parameter || tensor.role == TensorRole::constant;
      const bool forward = !tensor.producer.valid() || graph_.node(tensor.producer).pass == Pass::forward;
      if (!kept && forward && tensor.role != TensorRole::gradient) needed.insert(input);
    }
  }
  return needed;
}

void StageBuilder::keepInPlace(TensorId id, std::int64_t entries) {
  while (true) {
    const graph::NodeId maker = graph_.tensor(id).producer;
    if (!maker.valid() || !mine(graph_.node(maker)) || graph_.node(maker).inputs.empty()) break;
    const auto made = ops::workOf(graph_, graph_.node(maker), registry_);
    const TensorId viewed = graph_.node(maker).inputs[0];
    const bool view = made && made->empty() && viewed.valid() &&
                      graph_.tensor(viewed).type.bytes() == graph_.tensor(id).type.bytes();
    if (!view) break;
    id = viewed;
  }
  IrTensor& tensor = ir_.tensors[tensorFor(id)];
  if (isAlwaysLive(tensor.use)) return;
  tensor.use = TensorUse::stash;
  tensor.copies = entries;
}

/// Adds the copy of a value into its ring in the forward pass. The copy out of it comes right before its
/// first use, or with the other loads at the start of the backward pass if the ring lies off the chip.
void StageBuilder::addStash(TensorId id) {
  const Tensor& tensor = graph_.tensor(id);
  const std::int64_t entries =
      std::max<std::int64_t>(1, options_.stashEntries[static_cast<std::size_t>(stage_)]);
  if (options_.stashInPlace) return keepInPlace(id, entries);
  const Home ring = makeHome(tensor.name + "/stash", tensor.type, TensorUse::stash,
                             options_.locations.activations, Holders::replicas);
  ir_.tensors[ring.id].copies = entries;
  const IrTensorId restored = add(tensor.name + "/restored", tensor.type, TensorUse::activation);
  if (ring.remote) {
    addRemoteCopy(Pass::forward, tensor.name + "/stash", false, tensorFor(id), ring.id);
    addRemoteCopy(Pass::backward, tensor.name + "/restore", true, ring.id, restored);
  } else {
    const ops::Work copy{ops::Rearrange{tensor.type.elements(), tensor.type.elements(), tensor.type.element},
                         1, ""};
    pass(Pass::forward)
        .operators.push_back({tensor.name + "/stash", "Stash", {copy}, {tensorFor(id)}, {ring.id}});
    restores_[restored] = {tensor.name + "/restore", "Restore", {copy}, {ring.id}, {restored}};
    ir_.stashBytesPerEntry += tensor.type.bytes();
  }
  rings_[id] = ring.id;
  known_[id] = restored;
}

void StageBuilder::restoreBefore(IrTensorId tensor, Pass kind, bool again) {
  const auto found = restores_.find(tensor);
  if (found == restores_.end()) return;
  found->second.again = again;
  pass(kind).operators.push_back(std::move(found->second));
  restores_.erase(found);
}

base::Status StageBuilder::addBackward() {
  // Activations that the backward pass needs are kept off the chip even if a stage holds only one
  // micro-batch.
  const bool keeps = stage_ + options_.lastStagesKeep >= static_cast<int>(options_.stashEntries.size());
  const bool leaves = options_.locations.activations.offChip && !keeps;
  if (stashes() || leaves) {
    for (const TensorId id : neededByBackward()) addStash(id);
    for (const IrTensor& tensor : ir_.tensors) {
      if (options_.stashInPlace && tensor.use == TensorUse::stash)
        ir_.stashBytesPerEntry += tensor.type.bytes();
    }
  }
  fetchWeights(Pass::backward, {Pass::recompute, Pass::backward, Pass::weightGradient});
  std::set<graph::NodeId> weightNodes;
  if (options_.splitBackward) weightNodes = weightGradientNodes();
  for (const Node& node : graph_.nodes()) {
    if (node.pass == Pass::forward || !mine(node) || weightNodes.contains(node.id)) continue;
    PIPESCOPE_TRY(addGradientNode(node, Pass::backward));
  }
  scatterPending(Pass::backward);
  addScattered(Pass::backward);
  addWeightStash(weightNodes);
  for (const Node& node : graph_.nodes()) {
    if (weightNodes.contains(node.id)) PIPESCOPE_TRY(addGradientNode(node, Pass::weightGradient));
  }
  scatterPending(Pass::weightGradient);
  addScattered(Pass::weightGradient);
  return {};
}

base::Status StageBuilder::addGradientNode(const Node& node, Pass kind) {
  PIPESCOPE_TRY(addNode(node, kind));
  for (const PartialGradient& part : gradientsOf(node)) addAccumulate(part, kind);
  return {};
}

std::set<graph::NodeId> StageBuilder::weightGradientNodes() const {
  std::set<TensorId> ofParameters, sent;
  for (const auto& [parameter, gradient] : graph_.parameterGradients) ofParameters.insert(gradient);
  for (const PartialGradient& part : partial_) ofParameters.insert(part.gradient);
  for (const StageBoundary& b : boundaries_) sent.insert(b.tensor);
  // A layer's last steps with its own weight gradient (reshaping the sum of a bias) belong to it, and so does
  // the sum over the uses of a shared parameter.
  const auto layer = [](const Node& node) { return node.name.substr(0, node.name.rfind('/')); };
  const auto belongs = [&](const Node& user, const Node& node) {
    return user.op == "Sum" || layer(user) == layer(node);
  };
  std::map<TensorId, std::vector<const Node*>> users;
  std::set<graph::NodeId> found;
  for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
    if (node->pass != Pass::backward) continue;
    const bool weights = std::all_of(node->outputs.begin(), node->outputs.end(), [&](TensorId output) {
      const bool parameter = ofParameters.contains(output);
      const std::vector<const Node*>& readers = users[output];
      return !sent.contains(output) && (parameter || !readers.empty()) &&
             std::all_of(readers.begin(), readers.end(), [&](const Node* user) {
               return found.contains(user->id) && (parameter || belongs(*user, *node));
             });
    });
    if (weights && mine(*node)) found.insert(node->id);
    for (const TensorId input : node->inputs) {
      if (input.valid()) users[input].push_back(&*node);
    }
  }
  return found;
}

void StageBuilder::addWeightStash(const std::set<graph::NodeId>& nodes) {
  const std::int64_t entries =
      options_.weightEntries.empty() ? 0 : options_.weightEntries[static_cast<std::size_t>(stage_)];
  if (nodes.empty() || !training() || entries <= 1) return;
  std::set<TensorId> read, made;
  for (const graph::NodeId id : nodes) {
    const Node& node = graph_.node(id);
    made.insert(node.outputs.begin(), node.outputs.end());
    for (const TensorId input : node.inputs) {
      if (input.valid()) read.insert(input);
    }
  }
  for (const TensorId id : read) {
    const Tensor& tensor = graph_.tensor(id);
    if (made.contains(id) || tensor.role == TensorRole::parameter || tensor.role == TensorRole::constant)
      continue;
    if (options_.stashInPlace) {
      keepInPlace(id, entries);
      continue;
    }
    const ops::Work copy{ops::Rearrange{tensor.type.elements(), tensor.type.elements(), tensor.type.element},
                         1, ""};
    // Values that the forward pass stashed stay in their rings until here. The others get rings of their own.
    auto ring = rings_.find(id);
    if (ring == rings_.end()) {
      const Home home = makeHome(tensor.name + "/weight_stash", tensor.type, TensorUse::stash,
                                 options_.locations.activations, Holders::replicas);
      ir_.tensors.back().copies = entries;
      if (home.remote) {
        addRemoteCopy(Pass::backward, tensor.name + "/weight_stash", false, tensorFor(id), home.id);
      } else {
        pass(Pass::backward)
            .operators.push_back(
                {tensor.name + "/weight_stash", "Stash", {copy}, {tensorFor(id)}, {home.id}});
      }
      ring = rings_.emplace(id, home.id).first;
    }
    const IrTensorId restored = add(tensor.name + "/weight_restored", tensor.type, TensorUse::activation);
    if (ir_.tensors[ring->second].remote) {
      addRemoteCopy(Pass::weightGradient, tensor.name + "/weight_restore", true, ring->second, restored);
    } else {
      pass(Pass::weightGradient)
          .operators.push_back(
              {tensor.name + "/weight_restore", "Restore", {copy}, {ring->second}, {restored}});
    }
    known_[id] = restored;
  }
}

void StageBuilder::addHostOut() {
  std::vector<TensorId> results = graph_.outputs;
  if (training() && graph_.loss) results.push_back(*graph_.loss);
  for (const TensorId id : results) {
    const Tensor& tensor = graph_.tensor(id);
    if (!tensor.producer.valid() || !mine(graph_.node(tensor.producer))) continue;
    pass(Pass::hostOut)
        .operators.push_back({tensor.name + "/out",
                              "HostStore",
                              {{ops::HostCopy{false, tensor.type.bytes()}, 1, ""}},
                              {tensorFor(id)},
                              {}});
  }
}

}  // namespace pipescope::compile
