#include "profiler/replay/replay_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <tuple>

#include "profiler/analysis/block_walk.h"
#include "profiler/clock/ring_entries.h"
#include "profiler/replay/replayed_memory.h"

namespace pipescope::replay {
namespace {

class ReplayWriter {
 public:
  ReplayWriter(const ChangeContext& context, const Recording& recording, const Timeline& timeline,
               record::Recorder& recorder)
      : context_(context),
        recording_(recording),
        timeline_(timeline),
        recorder_(recorder),
        own_(fmt::format("replay.{}.", recording.executable.id.value)) {}

  base::Status write(const std::vector<Change>& changes, Extent extent, const std::string& stepInterval) {
    PIPESCOPE_TRY((copy<model::Device, model::Link, model::Lane, model::MemorySpace, model::Boundary,
                        model::Segment>()));
    recorder_.add(context_.catalog.target);
    writeFacts(changes);
    writeFact("step_interval", stepInterval);
    writeStages();
    if (extent == Extent::whole) {
      PIPESCOPE_TRY((
          copy<model::DebugContext, model::Operator, model::Program, model::LivenessStep, model::LifeInterval,
               model::CompilerPass, model::Step, model::StepUnits, model::Edge, model::VertexUse>()));
      PIPESCOPE_TRY(writeReplayedMemory(context_, recording_, recorder_));
    }
    writePlacements();
    writeTransfers();
    writeWaits();
    writeRun();
    writeOverlapped();
    writeTied();
    writeSharedLinks();
    if (extent == Extent::whole) PIPESCOPE_TRY(writeStretchedSteps());
    return {};
  }

 private:
  template <class... Rows>
  base::Status copy() {
    base::Status status;
    const auto one = [&](auto row) {
      using Row = decltype(row);
      if (status.ok())
        status = analysis::forAllRows<Row>(context_.source, [&](const Row& each) { recorder_.add(each); });
    };
    (one(Rows()), ...);
    return status;
  }

  void writeFacts(const std::vector<Change>& changes) {
    for (const model::Property& property : context_.catalog.properties) {
      const bool written = property.key.starts_with(own_) || property.key.starts_with("recorder_");
      if (!written && property.key != "replayed_with") recorder_.add(property);
    }
    std::string texts;
    for (const Change& change : changes)
      texts += (texts.empty() ? "" : " ") + spelledOut(recording_, change).text();
    recorder_.add(model::Property{"replayed_with", texts});
    const auto changed = std::find_if(changes.begin(), changes.end(),
                                      [](const Change& change) { return change.key == "micro_batch_costs"; });
    const std::string costs = context_.catalog.property(own_ + "micro_batch_costs");
    writeFact("micro_batch_costs", changed == changes.end() ? costs : changed->value);
    const clock::Host& host = recording_.host;
    writeFact("host_step_ticks", host.step.count > 0 ? fmt::format("{}", host.step.count) : "");
    writeFact("host_micro_batch_ticks", recording_.hostTicksPerMicroBatch > 0
                                            ? fmt::format("{}", recording_.hostTicksPerMicroBatch)
                                            : "");
    writeFact("host_reads_results", host.readsResults ? "1" : "");
    writeFact("loader_ticks", host.loaderTicks > 0 ? fmt::format("{}", host.loaderTicks) : "");
    writeFact("network_ticks", host.networkTicks > 0 ? fmt::format("{}", host.networkTicks) : "");
    for (const char* fact : {"updates_share_links", "stash_in_place", "shared_compute"})
      writeFact(fact, context_.catalog.property(own_ + fact));
    writeFact("copies_overlap", host.overlapsCopies ? "1" : "");
    writeFact("blocking_sends", recording_.blockingSends ? "1" : "");
    writeFact("sync_ticks",
              recording_.syncTicks.count > 0 ? fmt::format("{}", recording_.syncTicks.count) : "");
    writeOptions(changes);
  }

  /// Writes the options of the run. Those that the changes set have what the replayed call has.
  void writeOptions(const std::vector<Change>& changes) {
    if (context_.catalog.configuration.empty()) return;  // A recorded trace has no options.
    std::map<std::string, std::string> set;
    const auto valueOf = [&](const std::string& key) -> std::string {
      if (key == kAccumulationKey) return fmt::format("{}", recording_.microBatches);
      if (key == kScheduleKey) return fmt::format("\"{}\"", recording_.executable.schedule);
      if (key == kRecomputeKey) return fmt::format("\"{}\"", recording_.executable.recompute);
      if (key.ends_with(".replication_factor")) return fmt::format("{}", recording_.executable.replicas);
      return {};
    };
    for (const Change& change : changes) {
      const std::string key = spelledOut(recording_, change).key;
      if (const std::string value = valueOf(key); !value.empty()) set[key] = value;
    }
    for (model::ConfigurationEntry entry : context_.catalog.configuration) {
      const auto changed = set.find(entry.path);
      if (changed != set.end()) {
        if (entry.value != changed->second) entry = {entry.path, changed->second, "what-if"};
        set.erase(changed);
      }
      recorder_.add(entry);
    }
    for (const auto& [path, value] : set) recorder_.add(model::ConfigurationEntry{path, value, "what-if"});
  }

  void writeFact(const char* name, const std::string& value) {
    if (!value.empty()) recorder_.add(model::Property{own_ + name, value});
  }

  /// Writes which piece of the last backward pass each overlapped collective follows; see
  /// record_replay_facts.
  void writeOverlapped() {
    std::string pairs;
    for (std::size_t r = 0; r < recording_.replicas.size(); ++r) {
      const ReplicaCosts& replica = recording_.replicas[r];
      for (int s = 0; s < recording_.stageCount(); ++s) {
        const Pieces& backward = recording_.work(replica, s, 0, recording_.microBatches - 1).backward;
        for (const OverlappedPiece& one : replica.stages[static_cast<std::size_t>(s)].overlapped) {
          const auto after = static_cast<std::size_t>(one.after);
          if (after >= backward.size()) continue;
          pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : " ", idOf(r, s, one.piece),
                               idOf(r, s, backward[after]));
        }
      }
    }
    writeFact("overlapped_collectives", pairs);
  }

  /// Writes the axes of collectives in passes that share links; see record_replay_facts.
  void writeSharedLinks() {
    std::istringstream words(context_.catalog.property(own_ + "shared_links"));
    std::map<model::SegmentId, int> axes;
    std::int64_t segment = 0;
    int axis = 0;
    for (char colon = 0; words >> segment >> colon >> axis && colon == ':';)
      axes[model::SegmentId(segment)] = axis;
    if (axes.empty()) return;
    std::map<std::int64_t, int> written;
    for (std::size_t r = 0; r < recording_.replicas.size(); ++r)
      for (int s = 0; s < recording_.stageCount(); ++s)
        for (const StageWork& work : recording_.replicas[r].stages[static_cast<std::size_t>(s)].works)
          for (const Pieces* pieces : {&work.forward, &work.backward, &work.weight})
            for (const Piece& piece : *pieces)
              if (const auto found = axes.find(piece.segment); found != axes.end() && piece.delay.count > 0)
                written[idOf(r, s, piece)] = found->second;
    std::string pairs;
    for (const auto& [id, along] : written)
      pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : " ", id, along);
    writeFact("shared_links", pairs);
  }

  /// Writes the number of each sum over places; see record_replay_facts.
  void writeTied() {
    std::string pairs;
    for (std::size_t r = 0; r < recording_.replicas.size(); ++r)
      for (int s = 0; s < recording_.stageCount(); ++s)
        for (const TiedPiece& one : recording_.replicas[r].stages[static_cast<std::size_t>(s)].tied)
          pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : " ", idOf(r, s, one.piece), one.number);
    writeFact("tied_sums", pairs);
  }

  /// Number of the written segment of a piece.
  std::int64_t idOf(std::size_t replica, int stage, const Piece& piece) {
    return segmentOf({static_cast<int>(replica),
                      recording_.placeOfStage[static_cast<std::size_t>(stage)],
                      {.stage = stage},
                      piece.segment,
                      piece.pass,
                      Ticks(0),
                      piece.ticks})
        .value;
  }

  void writeStages() {
    for (const model::Executable& executable : context_.catalog.executables)
      recorder_.add(executable.id == recording_.executable.id ? recording_.executable : executable);
    for (const model::Stage& stage : context_.catalog.stages)
      if (stage.executable != recording_.executable.id) recorder_.add(stage);
    const std::vector<std::int64_t> stash = clock::ringEntries(recording_.orders.front());
    for (model::Stage stage : recording_.stages) {
      if (static_cast<std::size_t>(stage.index) < stash.size())
        stage.stashEntries = stash[static_cast<std::size_t>(stage.index)];
      recorder_.add(stage);
    }
  }

  model::DeviceId deviceOf(int replica, int device) const {
    return recording_.replicas[static_cast<std::size_t>(replica)].devices[static_cast<std::size_t>(device)];
  }

  /// The lane of work that was not recorded: that of the device's compute, or of its transfers for a sync.
  model::LaneId laneFor(model::DeviceId device, model::Pass pass) const {
    model::LaneId found;
    for (const model::Segment& segment : context_.catalog.segments) {
      const bool sync = segment.pass == model::Pass::sync;
      if (segment.device == device && (sync || model::isComputePass(segment.pass)) &&
          (!found.valid() || sync == (pass == model::Pass::sync)))
        found = segment.lane;
    }
    return found;
  }

  /// The segment of this length: the recorded one, or a copy of it.
  model::SegmentId segmentOf(const clock::PlacedPiece& piece) {
    const model::Segment* recorded = context_.catalog.segments.find(piece.segment);
    const Ticks ticks = piece.end - piece.start;
    if (recorded != nullptr && recorded->ticks == ticks && recorded->pass == piece.pass) return piece.segment;
    const model::DeviceId device = deviceOf(piece.replica, piece.place);
    const auto key = std::make_tuple(piece.segment, device, piece.work.stage, piece.pass, ticks);
    const auto [known, added] = segments_.try_emplace(key);
    if (!added) return known->second;
    model::Segment row;
    if (recorded != nullptr) row = *recorded;
    row.executable = recording_.executable.id;
    row.device = device;
    row.stage = piece.work.stage;
    row.pass = piece.pass;
    row.ticks = ticks;
    if (recorded == nullptr) {
      row.lane = laneFor(device, piece.pass);
      row.name = piece.work.stage < 0
                     ? "external sync"
                     : fmt::format("stage{}/{}", piece.work.stage, model::toString(piece.pass));
    } else {
      stretched_.push_back({piece.segment, {}, recorded->ticks, ticks});
    }
    known->second = recorder_.add(row);
    if (recorded != nullptr) stretched_.back().made = known->second;
    return known->second;
  }

  int chunkOf(int stage) const {
    if (stage < 0) return 0;
    const auto at = recording_.placeOfStage.begin() + stage;
    return static_cast<int>(std::count(recording_.placeOfStage.begin(), at, *at));
  }

  void writePlacements() {
    for (const clock::PlacedPiece& piece : timeline_.placements) {
      model::Placement row;
      row.segment = segmentOf(piece);
      row.device = deviceOf(piece.replica, piece.place);
      row.start = piece.start;
      row.end = piece.end;
      row.run = model::RunId(0);
      row.replica = recording_.replicas[static_cast<std::size_t>(piece.replica)].number;
      row.stage = piece.work.stage;
      row.chunk = chunkOf(piece.work.stage);
      row.pass = piece.pass;
      row.microBatch = piece.work.microBatch;
      row.iteration = piece.work.iteration;
      row.slot = piece.work.slot;
      recorder_.add(row);
    }
  }

  void writeTransfers() {
    for (const clock::PlacedTransfer& transfer : timeline_.transfers) {
      const Flow& flow = recording_.replicas[static_cast<std::size_t>(transfer.replica)]
                             .flows[static_cast<std::size_t>(transfer.flow)];
      if (!flow.fromLane.valid()) continue;
      model::Transfer row;
      row.fromLane = flow.fromLane;
      row.toLane = flow.toLane;
      row.link = flow.link;
      row.kind = flow.kind;
      row.bytes = flow.bytes;
      row.start = transfer.start;
      row.end = transfer.end;
      row.from = transfer.from;
      row.run = model::RunId(0);
      row.iteration = transfer.work.iteration;
      row.microBatch = transfer.work.microBatch;
      row.slot = transfer.work.slot;
      recorder_.add(row);
    }
  }

  void writeWaits() {
    for (const clock::Wait& wait : timeline_.waits) {
      model::Wait row;
      row.device = deviceOf(wait.replica, wait.place);
      row.start = wait.start;
      row.end = wait.end;
      row.cause = wait.cause;
      row.waitedFor = wait.waitedFor;
      if (wait.waitedForPlace >= 0)
        row.waitedForDevice = deviceOf(wait.waitedForReplica, wait.waitedForPlace);
      row.run = model::RunId(0);
      row.iteration = wait.work.iteration;
      row.stage = wait.stage;
      row.slot = wait.work.slot;
      recorder_.add(row);
    }
  }

  void writeRun() {
    model::Run run = recording_.run;
    run.start = timeline_.start;
    run.end = timeline_.end;
    run.samples = samplesOf(recording_, context_.catalog);
    run.wallStartNs = run.wallEndNs = 0;
    recorder_.add(run);
  }

  base::Status writeStretchedSteps() {
    std::map<model::SegmentId, std::vector<model::Step>> steps;
    for (const Stretched& one : stretched_) steps[one.recorded];
    PIPESCOPE_TRY(analysis::forAllRows<model::Step>(context_.source, [&](const model::Step& step) {
      if (const auto wanted = steps.find(step.segment); wanted != steps.end()) wanted->second.push_back(step);
    }));
    for (const Stretched& one : stretched_) {
      if (one.before.count <= 0) continue;
      const double factor = static_cast<double>(one.after.count) / static_cast<double>(one.before.count);
      for (model::Step step : steps[one.recorded]) {
        const Ticks end = scaled(step.offset + step.ticks, factor);
        step.segment = one.made;
        step.offset = scaled(step.offset, factor);
        step.ticks = end - step.offset;
        step.minTicks = std::min(scaled(step.minTicks, factor), step.ticks);
        step.maxTicks = std::min(scaled(step.maxTicks, factor), step.ticks);
        step.meanTicks *= factor;
        recorder_.add(step);
      }
    }
    return {};
  }

  struct Stretched {
    model::SegmentId recorded, made;
    Ticks before, after;
  };
  const ChangeContext& context_;
  const Recording& recording_;
  const Timeline& timeline_;
  record::Recorder& recorder_;
  std::string own_;  ///< beginning of the keys of what a replay needs to know of the executable
  std::map<std::tuple<model::SegmentId, model::DeviceId, int, model::Pass, Ticks>, model::SegmentId>
      segments_;
  std::vector<Stretched> stretched_;
};

}  // namespace

std::int64_t samplesOf(const Recording& recording, const analysis::Catalog& catalog) {
  const model::Executable* before = catalog.executable(recording.executable.id);
  const double replicas =
      before == nullptr || before->replicas < 1
          ? 1
          : static_cast<double>(recording.executable.replicas) / static_cast<double>(before->replicas);
  return std::llround(static_cast<double>(recording.run.samples) * replicas * recording.microBatches /
                      recording.recordedMicroBatches);
}

base::Status writeReplay(const ChangeContext& context, const Recording& recording, const Timeline& timeline,
                         const std::vector<Change>& changes, Extent extent, record::Recorder& recorder,
                         const std::string& stepInterval) {
  return ReplayWriter(context, recording, timeline, recorder).write(changes, extent, stepInterval);
}

}  // namespace pipescope::replay
