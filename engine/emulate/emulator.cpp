#include "engine/emulate/emulator.h"

#include <algorithm>
#include <optional>

#include "engine/emulate/row_writer.h"

namespace pipescope::emulate {

void Emulator::startLoader(const EmulatedExecutable& executable, clock::Host& host) {
  const ExecutableFacts& facts = executable.facts;
  const double rate = facts.host.samplesPerSecond(facts.replicas);
  if (rate <= 0) return;
  // A worker of PyTorch's loader prepares so many micro-batches before it waits for one to be taken.
  constexpr double kAhead = 2;
  const auto ticksPerSecond = static_cast<double>(system_.devices().front().ticksPerSecond);
  host.loaderStart = now_;
  host.loaderTicks = static_cast<double>(facts.microBatchSize) / rate * ticksPerSecond;
  const auto [before, first] = loaded_.try_emplace(executable.id, now_);
  const Ticks ahead(static_cast<std::int64_t>(kAhead * host.loaderTicks));
  if (!first) host.loaderStart = std::max(before->second, now_ - ahead);
  before->second = host.prepared(facts.iterations * facts.microBatches);
}

clock::Host Emulator::hostOf(const EmulatedExecutable& executable) {
  const ExecutableFacts& facts = executable.facts;
  clock::Host host;
  host.call = system_.callTicks();
  host.overlapsCopies = facts.overlapIo;
  const double seconds = facts.host.stepSeconds(facts.microBatchSize * facts.microBatches, facts.replicas);
  host.step = base::ticksFromSeconds(seconds, {system_.devices().front().ticksPerSecond});
  host.readsResults = facts.host.readsResults;
  startLoader(executable, host);
  return host;
}

model::Run Emulator::call(const EmulatedExecutable& executable, model::Run run, clock::Sink* sink) {
  run.executable = executable.id;
  run.start = now_;
  run.id = nextRun_;
  nextRun_ = model::RunId(nextRun_.value + 1);
  const clock::Host host = hostOf(executable);
  std::optional<RowWriter> rows;
  if (sink == nullptr && level_ != RecordLevel::off) sink = &rows.emplace(recorder_, executable, run.id);
  clock::RunOptions options;
  options.start = now_;
  for (const ReplicaPart& part : executable.parts) options.contention.push_back(part.contention.get());
  options.sink = sink;
  options.hostState = hosts_[executable.id];
  base::Result<clock::CallTimes> times = clock::runCall(executable.call, host, options);
  PIPESCOPE_CHECK(times.ok(), "the schedule's order deadlocks");
  times_ = std::move(times).value();
  hosts_[executable.id] = times_.hostState;
  run.end = now_ = times_.end;
  const model::RunId recorded = recorder_.add(run);
  PIPESCOPE_CHECK(recorded == run.id, "runs are recorded by the emulator only");
  return run;
}

}  // namespace pipescope::emulate
