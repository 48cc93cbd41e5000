// Plays a call: the host's part, the flushes of all replicas, and after each flush the weight update.
#include <algorithm>
#include <memory>

#include "profiler/replay/player.h"

namespace pipescope::replay {
namespace {

using Players = std::vector<std::unique_ptr<Player>>;

/// Sums of gradients over replicas, then weight updates. Replicas wait for each other here only.
class PlayedUpdate {
 public:
  PlayedUpdate(PlayerContext& context, Players& players)
      : context_(context), recording_(context.recording), players_(players) {}

  void run(int iteration) {
    const ReplayOrder& order = recording_.orderOf(iteration);
    const PiecePlace where{.iteration = iteration};
    if (order.serialUpdate) {
      for (const auto& player : players_) align(*player, player->slowest(), model::WaitCause::drain, where);
    }
    if (order.pipes > 1 && recording_.training()) meetMirrored(iteration);
    for (int device = 0; device < recording_.deviceCount(); ++device) {
      const bool any = updateDevice(device, iteration);
      if (!order.serialUpdate || !any) continue;
      for (const auto& player : players_) align(*player, device, model::WaitCause::update, where);
    }
  }

 private:
  /// Lets all devices of a replica wait for one of them.
  void align(Player& player, int device, model::WaitCause cause, const PiecePlace& where) {
    const PlayedDevice last = player.device(device);
    for (int d = 0; d < recording_.deviceCount(); ++d)
      player.wait(d, last.free, cause, last.last, device, where);
  }

  /// Two devices that hold the same stages wait for each other.
  void meetMirrored(int iteration) {
    const int count = recording_.deviceCount();
    for (int device = 0; 2 * device < count; ++device) {
      Player* last = players_.front().get();
      int slowest = device;
      for (const auto& player : players_) {
        for (const int place : {device, count - 1 - device}) {
          if (player->device(place).free <= last->device(slowest).free) continue;
          last = player.get();
          slowest = place;
        }
      }
      const PlayedDevice end = last->device(slowest);
      for (const auto& player : players_) {
        for (const int place : {device, count - 1 - device})
          player->wait(place, end.free, model::WaitCause::collective, end.last, last->replica(), slowest,
                       {.iteration = iteration});
      }
    }
  }

  const RecordedStage& stageOf(const Player& player, int stage) const {
    return player.recorded().stages[static_cast<std::size_t>(stage)];
  }
  static const Pieces& updateOf(const RecordedStage& stage, int iteration) {
    static const Pieces kNone;
    return stage.updates.empty() ? kNone
                                 : stage.updates[static_cast<std::size_t>(iteration) % stage.updates.size()];
  }

  bool updateDevice(int device, int iteration) {
    bool any = false;
    finishOverlapped(device, iteration);
    for (int stage = 0; stage < recording_.stageCount(); ++stage) {
      if (recording_.deviceOfStage[static_cast<std::size_t>(stage)] != device) continue;
      const PiecePlace where{.stage = stage, .iteration = iteration};
      const std::size_t count = updateOf(stageOf(*players_.front(), stage), iteration).size();
      for (std::size_t i = 0; i < count; ++i) placeAll(device, stage, i, where);
      any = any || count > 0;
    }
    return any;
  }

  void placeAll(int device, int stage, std::size_t index, const PiecePlace& where) {
    const Piece& first = updateOf(stageOf(*players_.front(), stage), where.iteration)[index];
    if (first.pass == model::Pass::collective && !recording_.measured) {
      Player& last = **std::max_element(players_.begin(), players_.end(), [&](const auto& a, const auto& b) {
        return a->device(device).free < b->device(device).free;
      });
      const PlayedDevice slowest = last.device(device);
      for (const auto& player : players_)
        player->wait(device, slowest.free, model::WaitCause::collective, slowest.last, last.replica(), device,
                     where);
    }
    for (const auto& player : players_) {
      const Pieces& own = updateOf(stageOf(*player, stage), where.iteration);
      if (index >= own.size()) continue;
      lagOf(*player, device, stage, index, where);
      player->place(device, own[index], where);
    }
  }

  void lagOf(Player& player, int device, int stage, std::size_t index, const PiecePlace& where) {
    const auto r = static_cast<std::size_t>(player.replica());
    const auto s = static_cast<std::size_t>(stage), iteration = static_cast<std::size_t>(where.iteration);
    if (context_.learning == nullptr) {
      Ticks own = updateOf(stageOf(player, stage), where.iteration)[index].lag;
      return player.lag(device, own, {}, model::WaitCause::host, where);
    }
    std::vector<Pieces>& updates = context_.learning->replicas[r].stages[s].updates;
    const auto& starts =
        context_.starts->updates[r][iteration * static_cast<std::size_t>(recording_.stageCount()) + s];
    player.lag(device, updates[iteration % updates.size()][index].lag,
               index < starts.size() ? starts[index] : Ticks(INT64_MIN), model::WaitCause::host, where);
  }

  struct Overlapped {
    int stage = 0;
    std::size_t index = 0;
    Ticks ready, ticks;
    Player* late = nullptr;  ///< the replica whose gradients come last
  };

  std::vector<Overlapped> overlappedOf(int device, int iteration) const {
    std::vector<Overlapped> all;
    for (int s = 0; s < recording_.stageCount(); ++s) {
      if (recording_.deviceOfStage[static_cast<std::size_t>(s)] != device) continue;
      const std::vector<OverlappedPiece>& pieces = stageOf(*players_.front(), s).overlapped;
      for (std::size_t k = 0; k < pieces.size(); ++k) {
        Overlapped one{s, k, Ticks(INT64_MIN), pieces[k].piece.ticks, nullptr};
        for (const auto& player : players_) {
          const Pieces& backward =
              recording_.work(player->recorded(), s, iteration, recording_.microBatches - 1).backward;
          Ticks ready = player->backwardStart(s);
          const int after = stageOf(*player, s).overlapped[k].after;
          for (int i = 0; i <= after && i < static_cast<int>(backward.size()); ++i)
            ready += backward[static_cast<std::size_t>(i)].ticks;
          if (ready > one.ready) {
            one.ready = ready;
            one.late = player.get();
          }
        }
        all.push_back(one);
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ready < b.ready; });
    return all;
  }

  /// A device has one lane for these collectives, so they follow one another. The device then waits for the
  /// last one.
  void finishOverlapped(int device, int iteration) {
    const std::vector<Overlapped> all = overlappedOf(device, iteration);
    if (all.empty()) return;
    Ticks free{INT64_MIN}, bound{INT64_MIN};
    Player* late = nullptr;
    std::vector<std::int64_t> last(players_.size(), -1);
    for (const Overlapped& one : all) {
      Ticks start = free;
      if (one.ready > start) {
        start = bound = one.ready;
        late = one.late;
      }
      free = start + one.ticks;
      for (std::size_t p = 0; p < players_.size(); ++p)
        last[p] =
            players_[p]->placeOnOwnLane(device, stageOf(*players_[p], one.stage).overlapped[one.index].piece,
                                        start, {.stage = one.stage, .iteration = iteration});
    }
    const PiecePlace where{.stage = all.back().stage, .iteration = iteration};
    for (std::size_t p = 0; p < players_.size(); ++p) {
      if (late != nullptr && late != players_[p].get())
        players_[p]->wait(device, bound, model::WaitCause::collective, late->device(device).last,
                          late->replica(), device, where);
      players_[p]->wait(device, free, model::WaitCause::collective, last[p], device, where);
    }
  }

  PlayerContext& context_;
  const Recording& recording_;
  Players& players_;
};

class PlayedCall {
 public:
  explicit PlayedCall(PlayerContext& context)
      : context_(context), recording_(context.recording), update_(context, players_) {
    for (int r = 0; r < static_cast<int>(recording_.replicas.size()); ++r)
      players_.push_back(std::make_unique<Player>(context, r));
  }

  /// Returns false if the order waits for itself.
  bool run() {
    const Ticks begin = recording_.run.start + recording_.host.call;
    all([&](Player& player, int d) { player.wait(d, begin, model::WaitCause::host, -1, -1, {}); });
    for (int iteration = 0; iteration < recording_.iterations; ++iteration) {
      waitForHost(iteration);
      for (const auto& player : players_)
        if (!player->flush(iteration)) return false;
      update_.run(iteration);
    }
    finish();
    return true;
  }

 private:
  template <class Use>
  void all(Use use) {
    for (const auto& player : players_)
      for (int d = 0; d < recording_.deviceCount(); ++d) use(*player, d);
  }

  Player& last() const {
    return **std::max_element(players_.begin(), players_.end(), [](const auto& a, const auto& b) {
      return a->device(a->slowest()).free < b->device(b->slowest()).free;
    });
  }

  /// Lets all devices wait until the host has issued the step.
  void waitForHost(int iteration) {
    const RecordedHost& host = recording_.host;
    if (host.step.count == 0) return;
    const Ticks ready = last().device(last().slowest()).free;
    Ticks issued = ready + host.step;
    if (iteration == 0) {
      issued = ready + host.firstDelay;
    } else if (!host.readsResults) {
      issued = lastStart_ + host.step;
    }
    all([&](Player& player, int d) {
      player.wait(d, issued, model::WaitCause::host, -1, -1, {.iteration = iteration});
    });
    lastStart_ = std::max(issued, ready);
  }

  void finish() {
    Player& slow = last();
    const int device = slow.slowest();
    const PlayedDevice clock = slow.device(device);
    if (!recording_.measured) {
      const PiecePlace where{.iteration = recording_.iterations - 1};
      all([&](Player& player, int d) {
        player.wait(d, clock.free, model::WaitCause::drain, clock.last, slow.replica(), device, where);
      });
    }
    context_.timeline.start = recording_.run.start;
    context_.timeline.end = clock.free + recording_.tail;
  }

  PlayerContext& context_;
  const Recording& recording_;
  Players players_;
  PlayedUpdate update_;
  Ticks lastStart_;
};

/// Gives each micro-batch a copy of its own of what its stage does.
void separateWorks(Recording& recording) {
  for (RecordedReplica& replica : recording.replicas) {
    for (RecordedStage& stage : replica.stages) {
      std::vector<StageWork> works;
      for (int& index : stage.workOf) {
        works.push_back(stage.works[static_cast<std::size_t>(index)]);
        index = static_cast<int>(works.size()) - 1;
      }
      stage.works = std::move(works);
      if (stage.updates.empty()) continue;
      std::vector<Pieces> updates;
      for (int i = 0; i < recording.iterations; ++i)
        updates.push_back(stage.updates[static_cast<std::size_t>(i) % stage.updates.size()]);
      stage.updates = std::move(updates);
    }
  }
}

base::Status play(PlayerContext& context) {
  if (PlayedCall(context).run()) return {};
  return base::badInput(
      "The recorded order of work cannot be replayed: a pass waits for one that comes after it on the same "
      "device.");
}

}  // namespace

base::Result<Timeline> replayCall(const Recording& recording, Detail detail) {
  Timeline timeline;
  PlayerContext context{recording, timeline, detail == Detail::rows};
  PIPESCOPE_TRY(play(context));
  return timeline;
}

base::Status setLags(Recording& recording, const RecordedStarts& starts) {
  separateWorks(recording);
  recording.tail = Ticks(0);
  Timeline timeline;
  PlayerContext context{recording, timeline, false, &recording, &starts};
  PIPESCOPE_TRY(play(context));
  recording.tail = recording.run.end - timeline.end;
  return {};
}

bool RecordedOutputRule::returns(std::int64_t index, std::int64_t count) const {
  if (mode == Mode::all) return true;
  if (mode == Mode::none) return false;
  return mode == Mode::last ? index + 1 == count : (index + 1) % period == 0;
}

}  // namespace pipescope::replay
