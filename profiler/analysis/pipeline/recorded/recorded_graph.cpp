#include "profiler/analysis/pipeline/recorded/recorded_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {
namespace {

using model::Pass;
using model::TransferKind;

/// Chained in recorded order, because a worker computes one thing at a time.
bool isComputation(Pass pass) {
  return pass != Pass::collective;
}

/// Finds the first operation of each key. Filled first and asked later, it takes less time than a map.
template <class Key>
class FirstOfKeys {
 public:
  void add(const Key& key, std::size_t operation) { rows_.emplace_back(key, operation); }
  /// Call it after the last add().
  void sort() {
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(rows_.begin(), rows_.end(), before);
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    rows_.erase(std::unique(rows_.begin(), rows_.end(), same), rows_.end());
  }
  /// Null: no operation has this key.
  const std::size_t* find(const Key& key) const {
    const auto found = std::ranges::lower_bound(rows_, key, {}, &std::pair<Key, std::size_t>::first);
    return found == rows_.end() || found->first != key ? nullptr : &found->second;
  }
  const std::vector<std::pair<Key, std::size_t>>& all() const { return rows_; }

 private:
  std::vector<std::pair<Key, std::size_t>> rows_;
};

class GraphBuilder {
 public:
  /// `ranks` share the work of a place.
  GraphBuilder(const Catalog& catalog, std::int32_t ranks, std::vector<model::Placement> placements,
               std::vector<model::Transfer> transfers)
      : catalog_(catalog), placements_(std::move(placements)), transfers_(std::move(transfers)) {
    graph_.ranks = ranks;
    std::erase_if(placements_, [](const model::Placement& p) {
      return p.iteration < 0 || (p.stage < 0 && p.pass != Pass::update && p.pass != Pass::collective);
    });
    std::stable_sort(placements_.begin(), placements_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.start, a.end) < std::tie(b.start, b.end);
    });
  }

  RecordedGraph build() {
    nameTypes();
    for (const model::Placement& placement : placements_) addPlacement(placement);
    byId_.sort();
    ofDevice_.sort();
    ofReplica_.sort();
    received_.assign(placementOf_.size(), false);
    for (const auto& [key, list] : lists_) chain(list);
    addCollectives();
    addMessages();
    addDirectInputs();
    addIterations();
    graph_.ordered = graph_.graph.order();
    return std::move(graph_);
  }

 private:
  static constexpr std::size_t kNoOperation = SIZE_MAX;
  using Place = std::pair<model::DeviceId, std::int32_t>;  // device, iteration
  using Span = std::pair<Ticks, Ticks>;                    // start, end
  /// Key of device, iteration, micro-batch, pass and stage. A pass of a replica has the replica instead of
  /// the device.
  using PassKey = std::tuple<std::int64_t, std::int32_t, std::int32_t, Pass, std::int32_t>;

  const std::string& segmentName(const model::Placement& placement) const {
    static const std::string kNone;
    const model::Segment* segment = catalog_.segments.find(placement.segment);
    return segment == nullptr ? kNone : segment->name;
  }

  /// Passes whose names state the stage or micro-batch are of one type all the same.
  void nameTypes() {
    std::map<Pass, std::set<std::string>> names;
    for (const model::Placement& placement : placements_) {
      auto& known = names[placement.pass];
      if (known.size() < 2) known.insert(segmentName(placement));
    }
    for (const auto& [pass, known] : names)
      if (known.size() == 1 && !known.begin()->empty()) onlyName_[pass] = *known.begin();
  }

  std::int32_t typeOf(const model::Placement& placement) {
    const auto only = onlyName_.find(placement.pass);
    if (only != onlyName_.end()) return typeNamed(only->second);
    const bool named = placement.pass == Pass::collective || placement.pass == Pass::other;
    const std::string name = named ? segmentName(placement) : std::string();
    return typeNamed(name.empty() ? model::toString(placement.pass) : name);
  }

  std::int32_t typeNamed(const std::string& name) {
    const auto [found, isNew] = types_.try_emplace(name, static_cast<std::int32_t>(types_.size()));
    if (isNew) graph_.types.push_back(name);
    return found->second;
  }

  std::int32_t workerOf(model::DeviceId device) {
    const auto [found, isNew] = workers_.try_emplace(device, static_cast<std::int32_t>(workers_.size()));
    if (isNew) {
      const model::Device* row = catalog_.device(device);
      graph_.workers.push_back(row == nullptr ? "host" : row->name);
    }
    return found->second;
  }

  std::size_t add(const RecordedOperation& operation, Ticks start, Ticks end) {
    graph_.operations.push_back(operation);
    spans_.push_back({start, end});
    iterations_ = std::max(iterations_, operation.iteration + 1);
    return graph_.graph.add();
  }

  /// The replay lets operations that nothing joins begin together, such as those of data-parallel pipelines
  /// without common collectives, whose clocks may have nothing in common. An iteration takes as long as the
  /// longest of such parts.
  void addIterations() {
    const std::vector<std::size_t> parts = graph_.graph.parts();
    std::map<std::pair<std::int32_t, std::size_t>, std::pair<Ticks, Ticks>> spans;  // per iteration and part
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [start, end] = spans_[i];
      auto& span = spans.try_emplace({graph_.operations[i].iteration, parts[i]}, start, end).first->second;
      span = {std::min(span.first, start), std::max(span.second, end)};
    }
    graph_.iterations.assign(static_cast<std::size_t>(iterations_), 0);
    for (const auto& [place, span] : spans) {
      double& longest = graph_.iterations[static_cast<std::size_t>(place.first)];
      longest = std::max(longest, static_cast<double>((span.second - span.first).count));
    }
  }

  void addPlacement(const model::Placement& p) {
    // Iterations are numbered from 0 without gaps, so a larger number stands in a damaged file.
    if (p.iteration >= static_cast<std::int32_t>(placements_.size())) return;
    const std::int32_t replica = p.replica < 0 ? p.replica : p.replica / graph_.ranks;
    const std::int32_t rank = std::max(p.replica, 0) % graph_.ranks;
    RecordedOperation operation{workerOf(p.device), p.stage, replica, rank, p.iteration, typeOf(p)};
    operation.computes = isComputation(p.pass);
    graph_.passes += model::isComputePass(p.pass) ? 1 : 0;
    graph_.numbered += model::isComputePass(p.pass) && p.microBatch >= 0 ? 1 : 0;
    operation.ticks = static_cast<double>((p.end - p.start).count);
    const std::size_t index = add(operation, p.start, p.end);
    placementOf_.push_back(&p);
    byId_.add(p.id, index);
    computationBefore_.push_back(kNoOperation);
    lists_[{p.device, p.iteration}].push_back(index);
    graph_.stages = std::max(graph_.stages, p.stage + 1);
    graph_.replicas = std::max(graph_.replicas, replica + 1);
    if (p.pass == Pass::collective) return;
    const auto [last, isNew] = lastComputation_.try_emplace({p.device, p.iteration}, index);
    if (!isNew) {
      graph_.graph.follow(index, last->second);
      computationBefore_[index] = last->second;
      last->second = index;
    }
    if (p.microBatch >= 0) {
      ofDevice_.add({p.device.value, p.iteration, p.microBatch, p.pass, p.stage}, index);
      ofReplica_.add({p.replica, p.iteration, p.microBatch, p.pass, p.stage}, index);
    }
  }

  /// True if `before` had ended when `next` started. Clocks have a resolution of about a microsecond, so ends
  /// and starts may overlap a little.
  bool endedBefore(const model::Placement& before, const model::Placement& next) const {
    return endedBefore({before.start, before.end}, {next.start, next.end}, before.device);
  }
  bool endedBefore(const Span& before, const Span& next, model::DeviceId device) const {
    const auto shorter = std::min((before.second - before.first).count, (next.second - next.first).count);
    const auto microsecond = catalog_.timebase(device).ticksPerSecond / 1'000'000;
    return before.second.count <= next.first.count + std::max(shorter / 100, microsecond);
  }

  /// An operation of a device that may follow another one.
  struct Following {
    std::size_t operation, before;
    model::DeviceId device;
  };
  bool ended(const Following& f) const {
    return endedBefore(spans_[f.before], spans_[f.operation], f.device);
  }

  /// Lets collectives follow what had ended before them, and other operations follow the collectives.
  /// `list` is ordered by start.
  void chain(const std::vector<std::size_t>& list) {
    std::vector<Ticks> latestEnd;  // latest end up to each place of the list
    for (const std::size_t i : list)
      latestEnd.push_back(
          std::max(placementOf_[i]->end, latestEnd.empty() ? Ticks(INT64_MIN) : latestEnd.back()));
    for (std::size_t k = 1; k < list.size(); ++k) {
      const model::Placement& next = *placementOf_[list[k]];
      const model::Placement* nearest = nullptr;
      for (std::size_t j = k; j-- > 0;) {
        if (nearest != nullptr && latestEnd[j] <= nearest->start) break;
        const model::Placement& before = *placementOf_[list[j]];
        if (!endedBefore(before, next)) continue;
        if (nearest != nullptr && endedBefore(before, *nearest)) continue;
        if (nearest == nullptr) nearest = &before;
        if (before.pass == Pass::collective || next.pass == Pass::collective)
          graph_.graph.follow(list[k], list[j]);
      }
    }
  }

  void addCollectives() {
    std::map<std::tuple<model::LaneId, std::int64_t>, std::size_t> byEnd;  // lane, end
    for (const auto& [id, index] : byId_.all()) {
      const model::Placement& p = *placementOf_[index];
      const model::Segment* segment = catalog_.segments.find(p.segment);
      if (p.pass == Pass::collective && segment != nullptr) byEnd[{segment->lane, p.end.count}] = index;
    }
    for (const model::Transfer& transfer : transfers_) {
      if (transfer.kind != TransferKind::collective) continue;
      const std::size_t* const last = byId_.find(transfer.from);
      const auto member = byEnd.find({transfer.toLane, transfer.end.count});
      if (last == nullptr || member == byEnd.end()) continue;
      graph_.graph.join(*last, member->second);
      graph_.operations[member->second].ticks =
          std::max(0.0, static_cast<double>((transfer.end - transfer.start).count));
    }
  }

  void addMessages() {
    std::erase_if(transfers_, [&](const model::Transfer& t) {
      const bool message = t.kind == TransferKind::activation || t.kind == TransferKind::gradient;
      return !message || t.iteration < 0 || t.iteration >= iterations_;
    });
    std::stable_sort(transfers_.begin(), transfers_.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    std::vector<Following> receives;
    // The last message of each device, iteration, direction and side.
    std::map<std::tuple<model::DeviceId, std::int32_t, TransferKind, bool>, std::size_t> last;
    for (const model::Transfer& transfer : transfers_) {
      const model::DeviceId from = catalog_.deviceOf(transfer.fromLane);
      const model::DeviceId to = catalog_.deviceOf(transfer.toLane);
      const bool forward = transfer.kind == TransferKind::activation;
      const std::size_t* const producer = byId_.find(transfer.from);
      if (producer == nullptr) continue;
      // A device may compute several stages.
      const std::int32_t stage = placementOf_[*producer]->stage + (forward ? 1 : -1);
      const std::size_t* const consumer = ofDevice_.find({to.value, transfer.iteration, transfer.microBatch,
                                                          forward ? Pass::forward : Pass::backward, stage});
      if (consumer == nullptr) continue;
      graph_.messages = true;
      const std::size_t send = addSide(transfer, *producer), receive = addSide(transfer, *consumer);
      graph_.graph.join(send, receive);
      graph_.graph.follow(send, *producer);
      graph_.graph.follow(*consumer, receive);
      received_[*consumer] = true;
      const std::size_t before = computationBefore_[*consumer];
      if (before != kNoOperation) receives.push_back({receive, before, to});
      for (const bool sends : {true, false}) {
        const std::size_t own = sends ? send : receive;
        const auto [found, isNew] =
            last.try_emplace({sends ? from : to, transfer.iteration, transfer.kind, sends}, own);
        if (!isNew && ended({own, found->second, to})) graph_.graph.follow(own, found->second);
        found->second = own;
      }
    }
    followComputations(receives);
  }

  /// Lets receives follow the computation before the pass that needs them, unless the program posts them
  /// early, so that some of them transfer while this computation runs.
  void followComputations(const std::vector<Following>& receives) {
    constexpr double kFewEarly = 0.05;  // such as by errors of the clocks
    const auto early = std::ranges::count_if(receives, [&](const Following& f) { return !ended(f); });
    if (static_cast<double>(early) > kFewEarly * static_cast<double>(receives.size())) return;
    for (const Following& receive : receives)
      if (ended(receive)) graph_.graph.follow(receive.operation, receive.before);
  }

  /// Adds the side of a message that belongs to the worker of a pass.
  std::size_t addSide(const model::Transfer& transfer, std::size_t pass) {
    RecordedOperation side = graph_.operations[pass];
    side.type = typeNamed(transfer.kind == TransferKind::activation ? "forward-pp-comm" : "backward-pp-comm");
    side.computes = false;
    side.ticks = static_cast<double>((transfer.end - transfer.start).count);
    return add(side, transfer.start, transfer.end);
  }

  /// Lets passes of whose inputs no message is known follow the passes that make them: some traces have no
  /// messages, and others do not say what a kernel does that sends and receives at once.
  void addDirectInputs() {
    for (const auto& [key, index] : ofReplica_.all()) {
      const auto& [replica, iteration, microBatch, pass, stage] = key;
      if (pass != Pass::forward && pass != Pass::backward) continue;
      const std::size_t* const made = ofReplica_.find(
          {replica, iteration, microBatch, pass, pass == Pass::forward ? stage - 1 : stage + 1});
      if (made == nullptr || received_[index]) continue;
      // A device of several stages computes them in the recorded order.
      if (graph_.messages && placementOf_[*made]->device == placementOf_[index]->device) continue;
      graph_.graph.follow(index, *made);
    }
  }

  const Catalog& catalog_;
  std::vector<model::Placement> placements_;
  std::vector<model::Transfer> transfers_;
  RecordedGraph graph_;
  std::map<Pass, std::string> onlyName_;
  std::map<std::string, std::int32_t> types_;
  std::map<model::DeviceId, std::int32_t> workers_;
  std::vector<const model::Placement*> placementOf_;  // placements of operations that are no messages
  FirstOfKeys<model::PlacementId> byId_;
  std::map<Place, std::vector<std::size_t>> lists_;
  std::map<Place, std::size_t> lastComputation_;
  std::vector<std::size_t> computationBefore_;  // of operations that are no messages; kNoOperation: none
  std::vector<bool> received_;                  // passes whose inputs came in messages
  FirstOfKeys<PassKey> ofDevice_, ofReplica_;
  std::vector<Span> spans_;  // times of each operation
  std::int32_t iterations_ = 0;
};

}  // namespace

Result<RecordedGraph> recordedGraph(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable) {
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return RecordedGraph();
  PIPESCOPE_ASSIGN(std::vector<model::Placement> placements, rowsOfRun<model::Placement>(source, *run));
  PIPESCOPE_ASSIGN(std::vector<model::Transfer> transfers, rowsOfRun<model::Transfer>(source, *run));
  const auto ranks = static_cast<std::int32_t>(catalog.widthOf(executable));
  return GraphBuilder(catalog, ranks, std::move(placements), std::move(transfers)).build();
}

}  // namespace pipescope::analysis
