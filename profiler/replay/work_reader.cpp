#include "profiler/replay/work_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <tuple>
#include <unordered_map>

namespace pipescope::replay {
namespace {

using model::Pass;
using model::Placement;

class WorkReader {
 public:
  WorkReader(const analysis::Catalog& catalog, const CallRows& rows, Recording& recording)
      : catalog_(catalog), rows_(rows), recording_(recording) {}

  base::Result<clock::RecordedStarts> read() {
    PIPESCOPE_TRY(countWork());
    readOverlapped();
    readTied();
    readDelays();
    addReplicas();
    sortPlacements();
    for (std::size_t i = 0; i < sorted_.size(); ++i) PIPESCOPE_TRY(addPlacement(i));
    findDelaysBeside();
    keepDifferentWorks();
    findOutputRule();
    return std::move(starts_);
  }

 private:
  int stageCount() const { return recording_.stageCount(); }
  bool known(const Placement& p) const {
    return p.iteration >= 0 && p.stage >= 0 && p.stage < stageCount() && p.end >= p.start && p.replica >= 0;
  }
  /// Collectives and other work of a trace run beside the passes.
  bool counts(const Placement& p) const {
    if (!known(p) || catalog_.segments.find(p.segment) == nullptr) return false;
    return !recording_.measured || p.pass == Pass::update ||
           (model::isComputePass(p.pass) && p.microBatch >= 0);
  }

  base::Status countWork() {
    std::int64_t microBatches = 0, iterations = 0, tasks = 0;
    for (const Placement& p : rows_.placements) {
      if (!counts(p)) continue;
      iterations = std::max<std::int64_t>(iterations, p.iteration + 1);
      microBatches = std::max<std::int64_t>(microBatches, p.microBatch + 1);
      tasks += p.microBatch >= 0 ? 1 : 0;
    }
    if (tasks == 0)
      return base::badInput(
          recording_.measured
              ? "No passes of pipeline stages were recognised in this trace, so there is nothing to replay; "
                "import it with rules that name them (pipescope import --rules)."
              : "The profile has no placements of passes, so there is nothing to replay: record it with "
                "--record stages or more.");
    // Each stage works for each micro-batch. A damaged file may claim any number.
    if (iterations * microBatches > tasks || iterations * microBatches * stageCount() > 64 * tasks)
      return base::badInput(
          "The placements of the profile do not belong to one pipeline; it may be damaged.");
    recording_.iterations = static_cast<int>(iterations);
    recording_.microBatches = recording_.recordedMicroBatches = static_cast<int>(microBatches);
    return {};
  }

  /// The property lists pairs of segments: a collective, and the piece of the backward pass before it.
  void readOverlapped() {
    std::istringstream words(
        catalog_.property(fmt::format("replay.{}.overlapped_collectives", recording_.executable.id.value)));
    std::int64_t collective = 0, after = 0;
    for (char colon = 0; words >> collective >> colon >> after && colon == ':';)
      afterOf_[model::SegmentId(collective)] = model::SegmentId(after);
  }

  /// The property lists sums over places, each with its number.
  void readTied() {
    std::istringstream words(
        catalog_.property(fmt::format("replay.{}.tied_sums", recording_.executable.id.value)));
    std::int64_t collective = 0;
    int number = 0;
    for (char colon = 0; words >> collective >> colon >> number && colon == ':';)
      tiedAs_[model::SegmentId(collective)] = number;
  }

  /// Reads how much longer others on the same links made the collectives of a pass, or others on the same
  /// cores the pass. The device waits for it after the pass.
  void readDelays() {
    if (recording_.measured) return;
    const auto cause = recording_.sharesHost ? model::WaitCause::host : model::WaitCause::collective;
    for (const model::Wait& wait : rows_.waits)
      if (wait.cause == cause && wait.waitedForDevice == wait.device)
        delays_[wait.waitedFor] = wait.end - wait.start;
    for (const auto& [collective, after] : afterOf_) ends_.try_emplace(after);
  }

  Ticks delayOf(const Placement& p) const {
    if (delays_.empty() || !model::isComputePass(p.pass)) return Ticks(0);
    const auto found = delays_.find(p.id);
    return found == delays_.end() ? Ticks(0) : found->second;
  }

  /// A collective beside the last backward pass starts when all replicas have its gradients and the one
  /// before it at its place has ended. If it starts later, others on the same links made it so much longer.
  void findDelaysBeside() {
    if (besideStarts_.empty()) return;
    for (int iteration = 0; iteration < recording_.iterations; ++iteration)
      for (int place = 0; place <= *std::ranges::max_element(recording_.placeOfStage); ++place)
        findDelaysBeside(iteration, place);
  }

  void findDelaysBeside(int iteration, int place) {
    struct One {
      Ticks ready;
      std::size_t stage = 0, index = 0;
    };
    std::vector<One> all;
    const std::vector<StageCosts>& stages = recording_.replicas.front().stages;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (recording_.placeOfStage[s] != place) continue;
      for (std::size_t k = 0; k < stages[s].overlapped.size(); ++k) {
        One one{Ticks(INT64_MIN), s, k};
        for (const ReplicaCosts& replica : recording_.replicas) {
          if (replica.stages[s].overlapped.size() != stages[s].overlapped.size()) return;
          const model::SegmentId own = replica.stages[s].overlapped[k].piece.segment;
          const std::vector<Ticks>& ends = ends_[afterOf_.at(own)];
          if (static_cast<std::size_t>(iteration) >= ends.size()) return;
          one.ready = std::max(one.ready, ends[static_cast<std::size_t>(iteration)]);
        }
        all.push_back(one);
      }
    }
    std::ranges::stable_sort(all, {}, &One::ready);
    Ticks free{INT64_MIN};
    for (const One& one : all) {
      const OverlappedPiece& piece = stages[one.stage].overlapped[one.index];
      const std::vector<Ticks>& starts = besideStarts_[piece.piece.segment];
      if (static_cast<std::size_t>(iteration) >= starts.size()) return;
      const Ticks start = starts[static_cast<std::size_t>(iteration)],
                  delay = start - std::max(free, one.ready);
      free = start + piece.piece.ticks;
      if (delay.count <= 0) continue;
      for (ReplicaCosts& replica : recording_.replicas) {
        std::vector<Ticks>& delays = replica.stages[one.stage].overlapped[one.index].delays;
        delays.resize(static_cast<std::size_t>(recording_.iterations));
        delays[static_cast<std::size_t>(iteration)] = delay;
      }
    }
  }

  /// Notes a time of an iteration; the last one counts.
  static void note(std::vector<Ticks>& times, int iteration, Ticks time) {
    if (times.size() <= static_cast<std::size_t>(iteration))
      times.resize(static_cast<std::size_t>(iteration) + 1);
    times[static_cast<std::size_t>(iteration)] = time;
  }

  void addReplicas() {
    std::map<int, std::size_t> placeOf;
    for (const Placement& p : rows_.placements) {
      if (!counts(p)) continue;
      const auto [place, added] = placeOf.try_emplace(p.replica, recording_.replicas.size());
      if (added) {
        recording_.replicas.emplace_back();
        recording_.replicas.back().number = p.replica;
        recording_.replicas.back().stages.resize(static_cast<std::size_t>(stageCount()));
      }
      addDevice(recording_.replicas[place->second], p);
    }
    std::sort(recording_.replicas.begin(), recording_.replicas.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    for (std::size_t r = 0; r < recording_.replicas.size(); ++r)
      replicaOf_[recording_.replicas[r].number] = r;
    const std::size_t perStage =
        static_cast<std::size_t>(recording_.iterations) * static_cast<std::size_t>(recording_.microBatches);
    const std::size_t stages = static_cast<std::size_t>(stageCount());
    works_.assign(recording_.replicas.size(), std::vector<StageWork>(perStage * stages));
    starts_.tasks.assign(recording_.replicas.size(),
                         std::vector<Ticks>(perStage * stages * clock::kTaskPasses, Ticks(INT64_MIN)));
    starts_.updates.assign(
        recording_.replicas.size(),
        std::vector<std::vector<Ticks>>(static_cast<std::size_t>(recording_.iterations) * stages));
    if (!recording_.measured) return;
    recording_.orders.assign(static_cast<std::size_t>(recording_.iterations), clock::Order());
    int devices = 0;
    for (const int device : recording_.placeOfStage) devices = std::max(devices, device + 1);
    for (clock::Order& order : recording_.orders) order.places.resize(static_cast<std::size_t>(devices));
  }

  /// Adds the devices of a replica. In an emulated profile, those of neighbouring places lie equally far
  /// apart.
  void addDevice(ReplicaCosts& replica, const Placement& p) {
    const auto local = static_cast<std::size_t>(recording_.placeOfStage[static_cast<std::size_t>(p.stage)]);
    if (replica.devices.size() <= local) replica.devices.resize(local + 1);
    replica.devices[local] = p.device;
    if (recording_.measured) return;
    const std::int64_t stride = catalog_.placeStrideOf(recording_.executable.id);
    for (std::size_t d = 0; d < replica.devices.size(); ++d)
      replica.devices[d] = model::DeviceId(
          p.device.value + (static_cast<std::int64_t>(d) - static_cast<std::int64_t>(local)) * stride);
  }

  /// Sorts the placements by replica and device in the order of work. Emulated placements are recorded in
  /// that order.
  void sortPlacements() {
    for (const Placement& p : rows_.placements) {
      if (counts(p))
        sorted_.push_back(&p);
      else
        addSync(p);
    }
    std::sort(sorted_.begin(), sorted_.end(), [&](const Placement* a, const Placement* b) {
      if (recording_.measured)
        return std::tie(a->replica, a->device, a->start, a->id) <
               std::tie(b->replica, b->device, b->start, b->id);
      return std::tie(a->replica, a->device, a->id) < std::tie(b->replica, b->device, b->id);
    });
  }

  void addSync(const Placement& p) {
    const auto replica = replicaOf_.find(p.replica);
    if (p.pass != Pass::sync || replica == replicaOf_.end()) return;
    ReplicaCosts& own = recording_.replicas[replica->second];
    for (std::size_t d = 0; d < own.devices.size(); ++d) {
      if (own.devices[d] != p.device) continue;
      own.sync.resize(own.devices.size());
      own.sync[d] = {p.segment, p.pass, p.end - p.start};
    }
  }

  /// Returns the pass that a load or store belongs to: the work that follows it if that is for the same
  /// micro-batch, otherwise the work before it.
  Pass kindOfRemote(std::size_t i) const {
    const Placement& p = *sorted_[i];
    for (std::size_t k = i + 1; k < sorted_.size() && sorted_[k]->device == p.device; ++k) {
      if (sorted_[k]->pass == Pass::remote || sorted_[k]->pass == Pass::collective) continue;
      const Placement& next = *sorted_[k];
      if (std::tie(next.iteration, next.stage, next.microBatch) ==
              std::tie(p.iteration, p.stage, p.microBatch) &&
          next.pass != Pass::hostOut)
        return clock::taskPassOf(next.pass);
      break;
    }
    return last_;
  }

  base::Status addPlacement(std::size_t i) {
    const Placement& p = *sorted_[i];
    const Piece piece{.segment = p.segment, .pass = p.pass, .ticks = p.end - p.start, .delay = delayOf(p)};
    const std::size_t r = replicaOf_.at(p.replica);
    if (const auto end = ends_.find(p.segment); end != ends_.end())
      note(end->second, p.iteration, p.end + piece.delay);
    if (const auto tied = tiedAs_.find(p.segment); tied != tiedAs_.end()) {
      if (p.iteration == 0)
        recording_.replicas[r].stages[static_cast<std::size_t>(p.stage)].tied.push_back(
            {piece, tied->second});
      return {};
    }
    if (afterOf_.contains(p.segment)) {
      addOverlapped(r, p, piece);
      return {};
    }
    if (p.microBatch < 0 || p.pass == Pass::update) {
      addUpdate(r, p, piece);
      return {};
    }
    StageWork& work = works_[r][placeOf(p)];
    if (p.pass == Pass::hostIn) {
      work.hostIn.push_back(piece);
    } else if (p.pass == Pass::hostOut) {
      work.hostOut.push_back(piece);
    } else {
      const bool compute = model::isComputePass(p.pass);
      const Pass kind = compute ? clock::taskPassOf(p.pass) : kindOfRemote(i);
      PIPESCOPE_TRY(addTask(r, p, kind));
      work.of(kind).push_back(piece);
      last_ = kind;
    }
    return {};
  }

  std::size_t placeOf(const Placement& p) const {
    return recording_.indexOf(p.iteration, p.microBatch) * static_cast<std::size_t>(stageCount()) +
           static_cast<std::size_t>(p.stage);
  }

  base::Status addTask(std::size_t r, const Placement& p, Pass kind) {
    Ticks& start = starts_.tasks[r][placeOf(p) * clock::kTaskPasses + clock::taskPassIndex(kind)];
    if (start.count == INT64_MIN) {
      start = p.start;
    } else if (!recording_.measured ||
               (lastTask_ != nullptr && *lastTask_ == clock::Task{p.stage, p.microBatch, -1, kind} &&
                lastReplica_ == r)) {
      return {};
    } else {
      return base::badInput(
          fmt::format("Stage {} works on micro-batch {} of iteration {} at two different times, so it is not "
                      "clear what waits for what; the trace cannot be replayed.",
                      p.stage, p.microBatch, p.iteration));
    }
    if (!recording_.measured) return {};
    clock::Order& order = recording_.orders[static_cast<std::size_t>(p.iteration)];
    order.splitBackward = order.splitBackward || kind == model::Pass::weightGradient;
    // Replicas work in the same order; the first one states it.
    std::vector<clock::Task>& tasks =
        order.places[static_cast<std::size_t>(recording_.placeOfStage[static_cast<std::size_t>(p.stage)])];
    const clock::Task task{p.stage, p.microBatch, -1, kind};
    if (r == 0) tasks.push_back(task);
    current_ = task;
    lastTask_ = &current_;
    lastReplica_ = r;
    return {};
  }

  void addUpdate(std::size_t r, const Placement& p, const Piece& piece) {
    if (model::isComputePass(p.pass) || p.pass == Pass::sync) return;
    StageCosts& stage = recording_.replicas[r].stages[static_cast<std::size_t>(p.stage)];
    stage.updates.resize(static_cast<std::size_t>(recording_.iterations));
    stage.updates[static_cast<std::size_t>(p.iteration)].push_back(piece);
    starts_
        .updates[r][static_cast<std::size_t>(p.iteration) * static_cast<std::size_t>(stageCount()) +
                    static_cast<std::size_t>(p.stage)]
        .push_back(p.start);
  }

  void addOverlapped(std::size_t r, const Placement& p, const Piece& piece) {
    note(besideStarts_[p.segment], p.iteration, p.start);
    if (p.iteration != 0) return;
    OverlappedPiece overlapped{piece, -1};
    const model::SegmentId after = afterOf_.at(p.segment);
    for (int k = 0; k < recording_.microBatches; ++k) {
      const std::size_t place = recording_.indexOf(0, k) * static_cast<std::size_t>(stageCount());
      const Pieces& backward = works_[r][place + static_cast<std::size_t>(p.stage)].backward;
      for (std::size_t i = 0; i < backward.size(); ++i)
        if (backward[i].segment == after) overlapped.after = static_cast<int>(i);
    }
    recording_.replicas[r].stages[static_cast<std::size_t>(p.stage)].overlapped.push_back(overlapped);
  }

  /// A stage may not work for each micro-batch: with two pipes it sees half of them, and a trace may lack
  /// some. Another order may give it others, which are then like those before them.
  void fillGaps(std::size_t r, std::size_t s) {
    const std::size_t stages = static_cast<std::size_t>(stageCount());
    const auto ran = [&](std::size_t i) {
      const auto first = starts_.tasks[r].begin() + static_cast<std::ptrdiff_t>(i * clock::kTaskPasses);
      return std::any_of(first, first + clock::kTaskPasses,
                         [](Ticks start) { return start.count != INT64_MIN; });
    };
    std::vector<StageWork>& works = works_[r];
    std::size_t like = s;
    while (like < works.size() && !ran(like)) like += stages;
    if (like >= works.size()) return;
    for (std::size_t i = s; i < works.size(); i += stages) {
      if (ran(i)) {
        like = i;
      } else {
        works[i] = works[like];
      }
    }
  }

  void keepDifferentWorks() {
    constexpr std::size_t kMostDifferent = 64;
    const std::size_t stages = static_cast<std::size_t>(stageCount());
    for (std::size_t r = 0; r < works_.size(); ++r) {
      for (std::size_t s = 0; s < stages; ++s) {
        fillGaps(r, s);
        StageCosts& stage = recording_.replicas[r].stages[s];
        for (std::size_t i = s; i < works_[r].size(); i += stages) {
          const StageWork& work = works_[r][i];
          auto same = stage.works.end();
          if (stage.works.size() <= kMostDifferent)
            same = std::find(stage.works.begin(), stage.works.end(), work);
          stage.workOf.push_back(static_cast<int>(same - stage.works.begin()));
          if (same == stage.works.end()) stage.works.push_back(work);
        }
        const bool equal = std::adjacent_find(stage.updates.begin(), stage.updates.end(),
                                              std::not_equal_to<>()) == stage.updates.end();
        if (equal && stage.updates.size() > 1) stage.updates.resize(1);
      }
      recording_.replicas[r].sync.resize(recording_.replicas[r].devices.size());
    }
  }

  /// All micro-batches then have what the returned ones send.
  void findOutputRule() {
    std::vector<std::int64_t> returned;
    const std::int64_t count = static_cast<std::int64_t>(recording_.iterations) * recording_.microBatches;
    const ReplicaCosts& first = recording_.replicas.front();
    for (std::int64_t i = 0; i < count; ++i) {
      const bool any = std::any_of(first.stages.begin(), first.stages.end(), [&](const StageCosts& stage) {
        const auto index = static_cast<std::size_t>(stage.workOf[static_cast<std::size_t>(i)]);
        return !stage.works[index].hostOut.empty();
      });
      if (any) returned.push_back(i);
    }
    clock::OutputRule& rule = recording_.output;
    const auto found = static_cast<std::int64_t>(returned.size());
    if (found == count) return;
    rule.mode = found == 0 ? clock::OutputRule::Mode::none : clock::OutputRule::Mode::everyN;
    if (found == 1 && returned.front() + 1 == count) rule.mode = clock::OutputRule::Mode::last;
    if (found > 0) rule.period = returned.front() + 1;
    for (ReplicaCosts& replica : recording_.replicas) {
      for (StageCosts& stage : replica.stages) {
        const auto sender = std::find_if(stage.works.begin(), stage.works.end(),
                                         [](const StageWork& work) { return !work.hostOut.empty(); });
        if (sender == stage.works.end()) continue;
        const Pieces stores = sender->hostOut;
        for (StageWork& work : stage.works)
          if (work.hostOut.empty()) work.hostOut = stores;
      }
    }
  }

  const analysis::Catalog& catalog_;
  const CallRows& rows_;
  Recording& recording_;
  clock::RecordedStarts starts_;
  std::map<int, std::size_t> replicaOf_;
  std::vector<const Placement*> sorted_;
  std::vector<std::vector<StageWork>> works_;  ///< works of each replica, by iteration, micro-batch and stage
  std::unordered_map<model::SegmentId, model::SegmentId> afterOf_;
  std::unordered_map<model::SegmentId, int> tiedAs_;      ///< numbers of sums over places
  std::unordered_map<model::PlacementId, Ticks> delays_;  ///< waits for shared links, and other ones
  /// Times in each iteration: ends of the pieces of the last backward pass that collectives beside it follow,
  /// and starts of these collectives.
  std::unordered_map<model::SegmentId, std::vector<Ticks>> ends_, besideStarts_;
  Pass last_ = model::Pass::forward;
  clock::Task current_;
  const clock::Task* lastTask_ = nullptr;
  std::size_t lastReplica_ = 0;
};

}  // namespace

base::Result<clock::RecordedStarts> addWork(const analysis::Catalog& catalog, const CallRows& rows,
                                            Recording& recording) {
  return WorkReader(catalog, rows, recording).read();
}

}  // namespace pipescope::replay
