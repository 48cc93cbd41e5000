// Plans what happens to the gradients and weights of a stage: accumulation, sums over replicas and updates.
// It also adds the loads, stores, gathers and scatters of tensors that lie off the chip or are shared out
// over replicas.
#include <algorithm>

#include "engine/compile/stage_builder.h"

namespace pipescope::compile {

using graph::Node;
using graph::Tensor;
using graph::TensorId;
using graph::TensorRole;
using graph::TensorType;
using model::Pass;
using Kind = ops::Collective::Kind;

/// A share has ⌈n/R⌉ elements; the last one is padded.
TensorType StageBuilder::shareOf(const TensorType& type, Holders holders) const {
  const std::int64_t count = holdersOf(holders);
  return {type.element, {(type.elements() + count - 1) / count}};
}

StageBuilder::Holders StageBuilder::holders(const Tensor& parameter) const {
  return options_.expertWeights.contains(parameter.name) ? Holders::contexts : Holders::all;
}

std::int64_t StageBuilder::holdersOf(Holders holders) const {
  return holders == Holders::replicas ? options_.mesh.replicas
                                      : options_.mesh.holders(holders == Holders::contexts);
}

StageBuilder::Home StageBuilder::makeHome(const std::string& name, const TensorType& type, TensorUse use,
                                          const TensorLocation& location, Holders holders) {
  Home home;
  home.remote = location.offChip && type.elements() >= location.leastOffChip;
  home.sharded = location.sharded && holdersOf(holders) > 1 && type.elements() >= location.leastSharded;
  home.type = home.sharded ? shareOf(type, holders) : type;
  home.id = add(name, home.type, use);
  ir_.tensors.back().remote = home.remote;
  return home;
}

void StageBuilder::addRemoteCopy(Pass kind, const std::string& name, bool toDevice, IrTensorId from,
                                 IrTensorId to) {
  const base::Bytes bytes = ir_.tensors[from].type.bytes();
  const char* copies = toDevice ? "RemoteLoad" : "RemoteStore";
  std::vector<IrOperator>& operators = pass(kind).operators;
  // Copies that follow each other are one exchange, as in PopART.
  if (!operators.empty() && operators.back().kind == copies) {
    IrOperator& before = operators.back();
    std::get<ops::HostCopy>(before.work.front().item).bytes += bytes;
    before.inputs.push_back(from);
    before.outputs.push_back(to);
    return;
  }
  const ops::Work copy{ops::HostCopy{toDevice, bytes, true}, 1, ""};
  operators.push_back({name, copies, {copy}, {from}, {to}});
}

void StageBuilder::addCollective(Pass kind, const std::string& name, Kind what,
                                 const std::vector<IrTensorId>& from, const std::vector<IrTensorId>& to,
                                 graph::ElementType element, std::int64_t elements, Holders holders) {
  const ops::Work work{
      ops::Collective{.kind = what, .elements = elements, .type = element, .holders = holders}, 1, ""};
  pass(kind).operators.push_back({name, ops::toString(what), {work}, from, to});
}

bool StageBuilder::gathersByBlock() const {
  const TensorLocation& location = options_.locations.weights;
  return options_.gatherByBlock && location.sharded && !location.offChip && holdersOf(Holders::all) > 1;
}

void StageBuilder::fetchWeights(Pass kind, const std::set<Pass>& readers) {
  const TensorLocation& location = options_.locations.weights;
  if ((!location.offChip && !location.sharded) || gathersByBlock()) return;
  std::set<TensorId> read;
  for (const Node& node : graph_.nodes()) {
    if (!mine(node) || !readers.contains(node.pass)) continue;
    for (const TensorId input : node.inputs) {
      if (input.valid() && graph_.tensor(input).role == TensorRole::parameter) read.insert(input);
    }
  }
  fetch(kind, read, "stage" + std::to_string(stage_) + "/gather_weights");
}

/// Finds the blocks whose nodes read weights in a pass, in the order of their first such nodes.
void StageBuilder::findBlocksWithWeights(Pass kind) {
  std::vector<BlockWeights>& blocks = blocksOf_[kind];
  std::map<std::string, std::size_t> places;
  for (const Node& node : graph_.nodes()) {
    const bool same = (node.pass == Pass::forward) == (kind == Pass::forward);
    if (!same || !mine(node)) continue;
    for (const TensorId input : node.inputs) {
      if (!isParameter(input)) continue;
      const auto [place, isNew] = places.try_emplace(node.block, blocks.size());
      if (isNew) blocks.push_back({node.block, {}});
      blocks[place->second].weights.insert(input);
    }
  }
}

void StageBuilder::gatherBlockOf(const Node& node, Pass kind) {
  if (!gathersByBlock() || std::ranges::none_of(node.inputs, [&](TensorId id) { return isParameter(id); }))
    return;
  if (!blocksOf_.contains(kind)) findBlocksWithWeights(kind);
  const std::vector<BlockWeights>& blocks = blocksOf_[kind];
  const auto own = std::ranges::find(blocks, node.block, &BlockWeights::block);
  PIPESCOPE_CHECK(own != blocks.end(), "a block that reads weights is known");
  // The block behind it is gathered beside this one's work (DeepSpeed's prefetching).
  for (auto block = own; block != blocks.end() && block - own < 2; ++block) {
    if (!gathered_.insert({kind, block->block}).second) continue;
    fetch(kind, block->weights,
          (block->block.empty() ? "stage" + std::to_string(stage_) : block->block) + "/gather_weights");
  }
}

void StageBuilder::fetch(Pass kind, const std::set<TensorId>& read, const std::string& name) {
  const TensorLocation& location = options_.locations.weights;
  struct Gathered {
    std::vector<IrTensorId> shares, whole;
    std::int64_t elements = 0;
  };
  std::map<std::pair<graph::ElementType, Holders>, Gathered> gathers;
  for (const TensorId id : read) {
    const Tensor& tensor = graph_.tensor(id);
    if (!weightHomes_.contains(id)) {
      const Home made = makeHome(tensor.name, tensor.type, TensorUse::weight, location, holders(tensor));
      weightHomes_[id] = made;
      known_[id] = made.remote || made.sharded
                       ? add(tensor.name + "/loaded", tensor.type, TensorUse::gatheredWeight)
                       : made.id;
    }
    const Home& home = weightHomes_[id];
    IrTensorId share = home.id;
    if (home.remote) {
      share = home.sharded ? add(tensor.name + "/share", home.type, TensorUse::gatheredWeight) : known_[id];
      addRemoteCopy(kind, tensor.name + "/load", true, home.id, share);
    }
    if (!home.sharded) continue;
    Gathered& gathered = gathers[{tensor.type.element, holders(tensor)}];
    gathered.shares.push_back(share);
    gathered.whole.push_back(known_[id]);
    gathered.elements += tensor.type.elements();
  }
  for (const auto& [key, g] : gathers)
    addCollective(kind, name, Kind::allGather, g.shares, g.whole, key.first, g.elements, key.second);
}

void StageBuilder::addAccumulate(const PartialGradient& part, Pass kind) {
  const Tensor& parameter = graph_.tensor(part.parameter);
  const TensorId gradient = part.gradient;
  const IrTensorId made = tensorFor(gradient);
  if (options_.microBatches <= 1 && !options_.gradientBuffers && part.updates && !isPartial(part)) {
    const TensorType& type = graph_.tensor(gradient).type;
    const TensorLocation& location = options_.locations.accumulators;
    const bool keepsShare = location.sharded && !options_.gradientBuckets.empty() &&
                            holdersOf(holders(parameter)) > 1 && type.elements() >= location.leastSharded;
    if (!keepsShare) {
      gradients_.push_back({{made, false, false, type}, parameter.id, false});
      return;
    }
    const TensorType own = shareOf(type, holders(parameter));
    const IrTensorId share = add(parameter.name + "/gradient_share", own, TensorUse::gradient);
    scatterGradient(made, share, parameter, {}, kind);
    gradients_.push_back({{share, false, true, own}, parameter.id, true});
    return;
  }
  const TensorType sums{options_.accumulator.value_or(parameter.type.element), parameter.type.shape};
  const std::string name = parameter.name + "/accumulator";
  const Home home =
      makeHome(name, sums, TensorUse::accumulator, options_.locations.accumulators, holders(parameter));
  IrTensorId source = made, target = home.id;
  if (home.sharded) {
    source = add(parameter.name + "/gradient_share",
                 shareOf(graph_.tensor(gradient).type, holders(parameter)), TensorUse::gradient);
  }
  if (home.remote) {
    target = add(name + "/loaded", home.type, TensorUse::gradient);
    addRemoteCopy(kind, name + "/load", true, home.id, target);
  }
  const ops::Work sum{ops::Map{ops::MapFunction::add, home.type.elements(), 2, sums.element, true}, 1, ""};
  IrOperator accumulate{parameter.name + "/accumulate", "Accumulate", {sum}, {source, target}, {target}};
  if (home.sharded) {
    scatterGradient(made, source, parameter, std::move(accumulate), kind);
  } else {
    pass(kind).operators.push_back(std::move(accumulate));
  }
  if (home.remote) addRemoteCopy(kind, name + "/store", false, target, home.id);
  if (part.updates) gradients_.push_back({home, parameter.id, home.sharded});
}

void StageBuilder::scatterGradient(IrTensorId gradient, IrTensorId share, const Tensor& parameter,
                                   std::optional<IrOperator> then, Pass kind) {
  const graph::ElementType element = parameter.type.element;
  if (options_.gradientBuckets.empty() || options_.locations.accumulators.offChip) {
    addCollective(kind, parameter.name + "/reduce_scatter", summing(), {gradient}, {share}, element,
                  parameter.type.elements(), holders(parameter));
    if (then) pass(kind).operators.push_back(std::move(*then));
    return;
  }
  if (pending_.element != element || pending_.holders != holders(parameter)) scatterPending(kind);
  pending_.element = element;
  pending_.holders = holders(parameter);
  pending_.gradients.push_back(gradient);
  pending_.shares.push_back(share);
  pending_.elements += parameter.type.elements();
  if (then) pending_.then.push_back(std::move(*then));
  if (base::Bytes(pending_.elements * graph::sizeOf(element)) >= options_.gradientBuckets.back())
    scatterPending(kind);
}

void StageBuilder::scatterPending(Pass kind) {
  if (pending_.gradients.empty()) return;
  addCollective(kind, "stage" + std::to_string(stage_) + "/scatter_gradients" + std::to_string(scatters_++),
                summing(), pending_.gradients, pending_.shares, pending_.element, pending_.elements,
                pending_.holders);
  // The operators that add up the shares come behind the next bundle, so that nothing waits for this one.
  addScattered(kind);
  scattered_ = std::move(pending_.then);
  pending_ = {};
}

void StageBuilder::addScattered(Pass kind) {
  for (IrOperator& op : scattered_) pass(kind).operators.push_back(std::move(op));
  scattered_.clear();
}

Kind StageBuilder::summing() const {
  return options_.reduceScatter ? Kind::reduceScatter : Kind::allReduce;
}

/// True if a replica updates only its share and then sends it to the others.
bool StageBuilder::updatesShare(const Gradient& gradient) const {
  const TensorLocation& state = options_.locations.optimizerState;
  const Tensor& parameter = graph_.tensor(gradient.parameter);
  const std::int64_t elements = parameter.type.elements();
  const auto weight = weightHomes_.find(gradient.parameter);
  return holdersOf(holders(parameter)) > 1 &&
         ((state.sharded && elements >= state.leastSharded) || gradient.summed ||
          (weight != weightHomes_.end() && weight->second.sharded));
}

void StageBuilder::addTiedSums() {
  for (const Gradient& gradient : gradients_) {
    const auto tied = std::ranges::find(tied_, gradient.parameter, &TiedWeight::parameter);
    if (tied == tied_.end()) continue;
    ops::Collective sum{.elements = gradient.home.type.elements(),
                        .type = gradient.home.type.element,
                        .axis = model::MeshAxis::pipe};
    sum.places.assign(tied->places.begin(), tied->places.end());
    const IrTensorId id = gradient.home.id;
    pass(Pass::collective)
        .operators.push_back({graph_.tensor(gradient.parameter).name + "/tied_sum",
                              ops::toString(sum.kind),
                              {{sum, 1, ""}},
                              {id},
                              {id}});
  }
}

void StageBuilder::addAllReduce() {
  if (holdersOf(Holders::all) <= 1 && !options_.mesh.mirrored) return;
  const std::vector<base::Bytes>& limits = options_.gradientBuckets;
  struct Bucket {
    Kind kind;
    graph::ElementType element;
    Holders holders;
    std::vector<IrTensorId> tensors;
    std::int64_t elements = 0;
  };
  std::vector<Bucket> made;
  std::map<std::tuple<Kind, graph::ElementType, Holders>, std::size_t> open;
  for (Gradient& gradient : gradients_) {
    const Holders own = holders(graph_.tensor(gradient.parameter));
    if (gradient.summed || (holdersOf(own) <= 1 && !options_.mesh.mirrored)) continue;
    if (gradient.home.remote) {
      const std::string name = graph_.tensor(gradient.parameter).name + "/accumulator";
      const IrTensorId loaded = add(name + "/summed", gradient.home.type, TensorUse::gradient);
      addRemoteCopy(Pass::collective, name + "/fetch", true, gradient.home.id, loaded);
      gradient.home.id = loaded;
      gradient.home.remote = false;
    }
    const Kind kind = updatesShare(gradient) ? summing() : Kind::allReduce;
    const graph::ElementType element = gradient.home.type.element;
    const auto [found, added] = open.try_emplace({kind, element, own}, made.size());
    const std::size_t index = found->second;
    if (added) made.push_back({kind, element, own, {}, 0});
    made[index].tensors.push_back(gradient.home.id);
    made[index].elements += gradient.home.type.elements();
    const base::Bytes bytes(made[index].elements * graph::sizeOf(element));
    const bool full = !limits.empty() && bytes >= limits[std::min(index, limits.size() - 1)];
    if (full || !options_.mergeCollectives) open.erase(found);
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Bucket& bucket = made[i];
    const std::string name = "stage" + std::to_string(stage_) +
                             (bucket.kind == Kind::allReduce ? "/all_reduce" : "/reduce_scatter") +
                             (made.size() > 1 ? std::to_string(i) : "");
    addCollective(Pass::collective, name, bucket.kind, bucket.tensors, bucket.tensors, bucket.element,
                  bucket.elements, bucket.holders);
  }
}

void StageBuilder::addUpdate() {
  std::vector<Gradient> byParameter = gradients_;
  std::sort(byParameter.begin(), byParameter.end(),
            [](const Gradient& a, const Gradient& b) { return a.parameter < b.parameter; });
  if (options_.gradientBuffers && options_.masterWeights) {
    for (Gradient& gradient : byParameter) addMainGradient(gradient);
  }
  addNorms();
  for (const Gradient& gradient : byParameter) addUpdateOf(gradient);
  for (const auto& [key, weights] : updatedShares_) {
    const auto& [element, holders] = key;
    std::int64_t elements = 0;
    for (const IrTensorId id : weights) elements += ir_.tensors[id].type.elements();
    addCollective(Pass::update, "stage" + std::to_string(stage_) + "/all_gather", Kind::allGather, weights,
                  weights, element, elements, holders);
  }
  for (IrOperator& op : castAgain_) pass(Pass::update).operators.push_back(std::move(op));
}

/// Optimizers of Megatron-LM copy all gradients before they look for overflows and norms.
void StageBuilder::addMainGradient(Gradient& gradient) {
  const graph::ElementType element = gradient.home.type.element;
  if (gradient.home.remote || graph::sizeOf(element) >= graph::sizeOf(graph::ElementType::float32)) return;
  const Tensor& parameter = graph_.tensor(gradient.parameter);
  const bool share = updatesShare(gradient) && !gradient.home.sharded;
  TensorType type = share ? shareOf(gradient.home.type, holders(parameter)) : gradient.home.type;
  type.element = graph::ElementType::float32;
  const std::string name = parameter.name + "/main_gradient";
  const IrTensorId copy = add(name, type, TensorUse::gradient);
  const ops::Work cast{ops::Map{ops::MapFunction::cast, type.elements(), 1, type.element, false}, 1, ""};
  pass(Pass::update).operators.push_back({name, "Cast", {cast}, {gradient.home.id}, {copy}});
  gradient.home.id = copy;
  gradient.home.type = type;
}

/// LAMB, LARS and clipping need sums over a whole parameter. If the parameter is shared out, each replica
/// sums its share, and these sums are added up over replicas.
void StageBuilder::addNorms() {
  std::int64_t norms = 0;
  for (const Gradient& gradient : gradients_) {
    if (!updatesShare(gradient)) continue;
    const Tensor& parameter = graph_.tensor(gradient.parameter);
    for (const ops::Work& work :
         options_.optimizer.of(parameter.name).work(shareOf(parameter.type, holders(parameter)))) {
      const auto* sum = std::get_if<ops::Reduce>(&work.item);
      norms += sum != nullptr && sum->outputs == 1 ? 1 : 0;
    }
  }
  if (norms == 0) return;
  const std::string name = "stage" + std::to_string(stage_) + "/norms";
  const IrTensorId sums = add(name, {graph::ElementType::float32, {norms}}, TensorUse::gradient);
  addCollective(Pass::update, name, Kind::allReduce, {sums}, {sums}, graph::ElementType::float32, norms,
                Holders::all);
}

void StageBuilder::addUpdateOf(const Gradient& gradient) {
  const Tensor& tensor = graph_.tensor(gradient.parameter);
  const bool share = updatesShare(gradient);
  IrOperator op;
  op.name = tensor.name + "/update";
  op.kind = options_.optimizer.kind;
  const OptimizerCost& cost = options_.optimizer.of(tensor.name);
  const Holders own = holders(tensor);
  op.work = cost.work(share ? shareOf(tensor.type, own) : tensor.type);
  std::vector<std::pair<IrTensorId, IrTensorId>> stores;  // tensor on the chip, and the one that is kept
  const auto onChip = [&](const std::string& name, IrTensorId kept, bool changes) {
    const IrTensor row = ir_.tensors[kept];
    if (!row.remote) return kept;
    const IrTensorId loaded = add(name + "/updated", row.type, TensorUse::gradient);
    addRemoteCopy(Pass::update, name + "/fetch", true, kept, loaded);
    if (changes) stores.emplace_back(loaded, kept);
    return loaded;
  };
  const IrTensorId sum = onChip(tensor.name + "/accumulator", gradient.home.id, false);
  const auto home = weightHomes_.find(gradient.parameter);
  const bool whole = home == weightHomes_.end() || !home->second.sharded;
  const IrTensorId weight =
      home == weightHomes_.end() ? tensorFor(gradient.parameter) : onChip(tensor.name, home->second.id, true);
  op.inputs = {sum, weight};
  op.outputs = {weight};
  TensorLocation location = options_.locations.optimizerState;
  location.sharded = false;  // decided for the whole parameter
  for (const OptimizerCost::State& state : cost.states(tensor.type)) {
    const std::string name = tensor.name + "/" + state.name;
    const Home kept = makeHome(name, share ? shareOf(state.type, own) : state.type, TensorUse::optimizerState,
                               location, own);
    op.inputs.push_back(onChip(name, kept.id, true));
    if (kept.remote) op.outputs.push_back(op.inputs.back());
  }
  pass(Pass::update).operators.push_back(std::move(op));
  if (share && whole) {
    // A weight that leaves the chip at once is gathered by itself. The others are gathered together at the
    // end.
    if (!options_.mergeCollectives || (home != weightHomes_.end() && home->second.remote)) {
      addCollective(Pass::update, tensor.name + "/all_gather", Kind::allGather, {weight}, {weight},
                    tensor.type.element, tensor.type.elements(), own);
    } else {
      updatedShares_[{tensor.type.element, own}].push_back(weight);
    }
  }
  for (const auto& [from, to] : stores) {
    const std::string name = ir_.tensors[to].name;
    addRemoteCopy(Pass::update, name + "/store", false, from, to);
  }
}

}  // namespace pipescope::compile
