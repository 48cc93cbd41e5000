#pragma once

// Small calls for tests of the clock, and what is read from their timelines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/clock/run.h"
#include "profiler/clock/timeline.h"

namespace pipescope::clock {

using model::Pass;

inline Piece pieceOf(Pass pass, std::int64_t ticks) {
  return {{}, pass, Ticks(ticks)};
}

/// A call of one replica with one stage at each place. `forward` and `backward` hold the ticks of the passes
/// of each stage.
inline Call callOf(const std::vector<std::int64_t>& forward, const std::vector<std::int64_t>& backward,
                   int microBatches) {
  Call call;
  call.iterations = 1;
  call.microBatches = microBatches;
  ReplicaCosts& replica = call.replicas.emplace_back();
  for (std::size_t s = 0; s < forward.size(); ++s) {
    call.placeOfStage.push_back(static_cast<int>(s));
    StageWork& work = replica.stages.emplace_back().works.emplace_back();
    work.forward = {pieceOf(Pass::forward, forward[s])};
    work.backward = {pieceOf(Pass::backward, backward[s])};
  }
  Order& order = call.orders.emplace_back();
  order.places.resize(forward.size());
  replica.sync.resize(forward.size());
  return call;
}

/// All forward passes of each place, then all backward passes in the reverse order.
inline void fillAndDrain(Call& call) {
  for (int s = 0; s < call.stageCount(); ++s) {
    std::vector<Task>& tasks = call.orders.front().places[static_cast<std::size_t>(s)];
    for (int k = 0; k < call.microBatches; ++k) tasks.push_back({s, k, -1, Pass::forward});
    for (int k = call.microBatches; k-- > 0;) tasks.push_back({s, k, -1, Pass::backward});
  }
}

inline Flow flowOf(int from, int to, std::int64_t ticks) {
  Flow flow;
  flow.fromStage = from;
  flow.toStage = to;
  flow.kind = from < to ? model::TransferKind::activation : model::TransferKind::gradient;
  flow.ticks = Ticks(ticks);
  return flow;
}

inline std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> spansOf(const Timeline& timeline,
                                                                             Pass pass) {
  std::vector<std::tuple<int, int, std::int64_t, std::int64_t>> spans;
  for (const PlacedPiece& p : timeline.placements)
    if (p.pass == pass) spans.emplace_back(p.work.stage, p.work.microBatch, p.start.count, p.end.count);
  std::sort(spans.begin(), spans.end());
  return spans;
}

inline Timeline run(const Call& call, const Host& host = {}, std::vector<Contention*> contention = {}) {
  Timeline timeline;
  const auto times = runCall(call, host, {.contention = std::move(contention), .sink = &timeline});
  EXPECT_TRUE(times.ok());
  // The rows must not change any time.
  EXPECT_EQ(times->end.count, runCall(call, host, {.contention = {}, .sink = nullptr})->end.count)
      << "only valid without contention";
  return timeline;
}

}  // namespace pipescope::clock
