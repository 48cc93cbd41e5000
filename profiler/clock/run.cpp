#include "profiler/clock/run.h"

#include <algorithm>
#include <optional>
#include <span>

#include "profiler/clock/update_phase.h"

namespace pipescope::clock {
namespace {

class RunningCall {
 public:
  RunningCall(const Call& call, const Host& host, const RunOptions& options, Learning* learning)
      : call_(call), host_(host), options_(options), update_(call, replicas_) {
    times_.hostState = options.hostState;
    for (std::size_t r = 0; r < call.replicas.size(); ++r) {
      replicas_.push_back(std::make_unique<RunningReplica>(RunningReplica{
          PlaceClocks(call, static_cast<int>(r), options.start, options.sink, learning), nullptr}));
      Contention* const contention = r < options.contention.size() ? options.contention[r] : nullptr;
      replicas_.back()->flush = Flush::make(call, host, replicas_.back()->clocks, contention);
    }
    if (!options.contention.empty() && OverlappedCollectives::areThereIn(call))
      beside_.emplace(call, replicas_);
  }

  base::Result<CallTimes> run() {
    waitAll(options_.start + host_.call, {});
    for (int iteration = 0; iteration < call_.iterations; ++iteration) {
      waitForHost(iteration);
      if (!runFlushes(iteration))
        return base::badInput(
            call_.blockingSends
                ? "The order of work cannot be run: devices wait for each other, because a send ends only "
                  "when the receiver takes the message."
                : "The order of work cannot be run: a pass waits for one that comes after it on the same "
                  "device.");
      update_.run(iteration, beside_ ? &*beside_ : nullptr);
      times_.iterationEnds.push_back(last().clock(last().slowest()).free);
      if (options_.sink != nullptr) options_.sink->pause();
    }
    finish();
    return std::move(times_);
  }

 private:
  /// Replicas run one after another, unless collectives that they share depend on what else runs. Returns
  /// false if the order waits for itself.
  bool runFlushes(int iteration) {
    if (beside_) {
      beside_->begin();
      return runTogether({replicas_.data(), replicas_.size()}, iteration);
    }
    return std::ranges::all_of(replicas_, [&](const auto& replica) {
      return runTogether({&replica, 1}, iteration);
    });
  }

  bool runTogether(std::span<const std::unique_ptr<RunningReplica>> replicas, int iteration) {
    for (const auto& replica : replicas) replica->flush->begin(iteration, beside_ ? &*beside_ : nullptr);
    for (;;) {
      Ticks now = Flush::kNever;
      for (const auto& replica : replicas) now = std::min(now, replica->flush->next());
      if (now == Flush::kNever) break;
      for (const auto& replica : replicas)
        if (replicas.size() == 1 || replica->flush->next() == now) replica->flush->process(now);
      if (beside_) beside_->start(now);
      for (const auto& replica : replicas) replica->flush->retime(now);
    }
    bool all = true;
    for (const auto& replica : replicas) all = replica->flush->end() && all;
    return all;
  }

  /// Lets all places wait for the host.
  void waitAll(Ticks until, const WorkOf& of) {
    for (const auto& replica : replicas_) {
      for (int p = 0; p < replica->clocks.places(); ++p)
        replica->clocks.wait(p, until, model::WaitCause::host, {}, -1, of);
    }
  }

  /// The replica whose slowest place ends last.
  PlaceClocks& last() const {
    const auto end = [](const auto& replica) {
      return replica->clocks.clock(replica->clocks.slowest()).free;
    };
    return (*std::ranges::max_element(replicas_, {}, end))->clocks;
  }

  /// Lets all places wait until the host has issued the step.
  void waitForHost(int iteration) {
    if (host_.step.count == 0) return;
    const Ticks ready = last().clock(last().slowest()).free;
    Ticks issued = ready + host_.step;
    if (iteration == 0 && host_.firstDelay) {
      issued = ready + *host_.firstDelay;
    } else if (!host_.readsResults && times_.hostState.started) {
      issued = times_.hostState.lastStart + host_.step;
    }
    waitAll(issued, {.iteration = iteration});
    times_.hostState = {true, std::max(issued, ready)};
  }

  /// Lets all places wait for the last place of all replicas.
  void finish() {
    PlaceClocks& slow = last();
    const int place = slow.slowest();
    const PlaceClock clock = slow.clock(place);
    for (const auto& replica : replicas_) {
      if (call_.measured) break;
      for (int p = 0; p < replica->clocks.places(); ++p)
        replica->clocks.wait(p, clock.free, model::WaitCause::drain, clock.last, slow.replica(), place,
                             {.iteration = call_.iterations - 1});
    }
    times_.end = clock.free;
    times_.computed = replicas_.front()->clocks.computed();
  }

  const Call& call_;
  const Host& host_;
  const RunOptions& options_;
  RunningReplicas replicas_;
  UpdatePhase update_;
  std::optional<OverlappedCollectives> beside_;  ///< none: none of them share links
  CallTimes times_;
};

/// Gives each micro-batch a copy of its own of what its stage does, and each iteration one of its update.
void separateWorks(Call& call) {
  for (ReplicaCosts& replica : call.replicas) {
    for (StageCosts& stage : replica.stages) {
      std::vector<StageWork> works;
      for (int& index : stage.workOf) {
        works.push_back(stage.works[static_cast<std::size_t>(index)]);
        index = static_cast<int>(works.size()) - 1;
      }
      stage.works = std::move(works);
      if (stage.updates.empty()) continue;
      std::vector<Pieces> updates;
      for (int i = 0; i < call.iterations; ++i)
        updates.push_back(stage.updates[static_cast<std::size_t>(i) % stage.updates.size()]);
      stage.updates = std::move(updates);
    }
  }
}

}  // namespace

base::Result<CallTimes> runCall(const Call& call, const Host& host, const RunOptions& options) {
  return RunningCall(call, host, options, nullptr).run();
}

base::Result<CallTimes> learnLags(Call& call, const Host& host, const RecordedStarts& starts, Ticks start) {
  separateWorks(call);
  Learning learning{call, starts};
  const RunOptions options{.start = start};
  return RunningCall(call, host, options, &learning).run();
}

}  // namespace pipescope::clock
