// What the host did in the test profile: three threads with nested spans, events and a series.
#include "fixture_host.h"

namespace pipescope::testing {
namespace {

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

FixtureHost::FixtureHost(record::Recorder& recorder) : recorder_(recorder) {
  for (const char* thread : {"main", "worker 1", "data reader"})
    threads_.push_back(recorder.add(model::HostThread{{}, "", thread}));
  queue_ = recorder.add(model::HostSeries{{}, "queue", "length", "batches"});
}

void FixtureHost::add(std::size_t thread, const char* channel, const char* name, std::int64_t startMs,
                      std::int64_t endMs) {
  const auto [place, isNew] = names_.try_emplace(std::string(channel) + "/" + name);
  if (isNew) place->second = recorder_.add(model::HostName{{}, channel, name});
  recorder_.add(
      model::HostSpan{threads_[thread], place->second, base::Ticks(startMs * kMs), base::Ticks(endMs * kMs)});
}

void FixtureHost::addCall(std::int64_t startMs, std::int64_t endMs) {
  for (int part = 0; part < 3; ++part)
    add(2, "data", "read rows", startMs - 300 + 60 * part, startMs - 250 + 60 * part);
  add(2, "data", "prepare a batch", startMs - 300, startMs - 120);
  add(0, "data", "wait for a batch", startMs - 40, startMs - 2);
  const std::int64_t length = (endMs - startMs) / 4;
  for (int update = 0; update < 4; ++update) {
    const std::int64_t from = startMs + update * length, computed = length * 6 / 7;
    for (int thread = 0; thread < 2; ++thread) {
      for (int micro = 0; micro < 5; ++micro)
        add(static_cast<std::size_t>(thread), "numerics", "micro-batch", from + micro * computed / 5 + thread,
            from + (micro + 1) * computed / 5 - 2 + thread);
    }
    add(0, "numerics", "micro-batches", from, from + computed);
    add(0, "numerics", "update weights", from + computed, from + length - 1);
  }
  add(0, "numerics", "compute a call", startMs, endMs);
  add(0, "user", "checkpoint", endMs + 1, endMs + 1);
  recorder_.add(model::HostSample{queue_, base::Ticks(startMs * kMs), static_cast<double>(++calls_ % 3)});
  last_ = endMs + 20;
}

void FixtureHost::addTraining() {
  add(0, "run", "training", 100, last_);
}

}  // namespace pipescope::testing
