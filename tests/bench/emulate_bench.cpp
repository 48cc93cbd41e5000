// Measures emulation alone: placements per second by schedule, how the time grows, and one training step on
// 256 IPUs. The sink drops what is recorded. Times are those of one core.
// Usage: emulate_bench [ROUNDS [PART OF A NAME]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "engine/compiler/fixed_compiler.h"
#include "engine/compiler/record_compilation.h"
#include "engine/emulate/emulator.h"

namespace {

using namespace pipescope;

class Nowhere : public record::Sink {
 public:
  base::Status commit(const model::RowSet& rows) override {
    placements += rows.of<model::Placement>().size();
    all += rows.of<model::Placement>().size() + rows.of<model::Wait>().size() +
           rows.of<model::Transfer>().size() + rows.of<model::CounterSample>().size();
    return {};
  }
  base::Status finish(model::ProfileState, const std::string&) override { return {}; }
  std::size_t placements = 0, all = 0;
};

struct Measure {
  double seconds = 0, recordedSeconds = 0;
  std::size_t placements = 0, rows = 0;
};

/// Processor seconds of this thread, which do not include other work of the machine.
double coreSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double secondsOf(const emulate::EmulatedExecutable& executable, emulate::Emulator& emulator) {
  const double start = coreSeconds();
  emulator.call(executable, {});
  return coreSeconds() - start;
}

/// The medians of several calls, with and without recording.
Measure measure(const compile::Compilation& compilation, int rounds) {
  Measure result;
  std::vector<double> off, on;
  Nowhere sink, unused;
  record::Recorder recorder(sink), quiet(unused);
  const auto bare = compile::recordCompilation(quiet, compilation, emulate::RecordLevel::off);
  const auto recorded = compile::recordCompilation(recorder, compilation, emulate::RecordLevel::stages);
  emulate::Emulator recording(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::stages);
  emulate::Emulator silent(quiet, *compilation.system, bare.ids, emulate::RecordLevel::off);
  for (int round = 0; round < rounds; ++round) {
    off.push_back(secondsOf(bare.executables.front(), silent));
    (void)recorder.commit();
    sink.placements = sink.all = 0;
    on.push_back(secondsOf(recorded.executables.front(), recording));
    (void)recorder.commit();
    result.placements = sink.placements;
    result.rows = sink.all;
  }
  std::sort(off.begin(), off.end());
  std::sort(on.begin(), on.end());
  result.seconds = off[off.size() / 2];
  result.recordedSeconds = on[on.size() / 2];
  return result;
}

compile::Compilation must(base::Result<compile::Compilation> compilation) {
  if (compilation.ok()) return std::move(compilation).value();
  fmt::print(stderr, "{}\n", compilation.error().message);
  std::exit(2);
}

/// Cases whose names do not contain it are left out.
std::string wanted;

template <class Compile>
void print(const std::string& name, int rounds, Compile compiled) {
  if (name.find(wanted) == std::string::npos) return;
  const Measure m = measure(must(compiled()), rounds);
  fmt::print("{:<34} {:>12} {:>12} {:>10.3f} {:>10.3f} {:>8.0f}\n", name, m.placements, m.rows, m.seconds,
             m.recordedSeconds, m.recordedSeconds / static_cast<double>(m.placements) * 1e9);
}

compile::FixedRun fixedRun(const std::string& schedule, int stages, int microBatches, int iterations) {
  compile::FixedRun run;
  run.schedule = schedule;
  run.microBatches = microBatches;
  run.deviceIterations = iterations;
  run.exchange = 0.25;
  for (int s = 0; s < stages; ++s) run.stages.push_back({1.0 + s % 3, 0, 2.0 + s % 5, 0.5, -1});
  return run;
}

/// A perceptron with 256 layers, one on each IPU.
base::Result<compile::Compilation> manyIpus(const std::string& schedule) {
  std::string toml =
      "[system]\nname = \"pod256\"\n[execution]\nnumerics = false\nmode = \"training\"\n[data]\ndataset = "
      "\"synthetic\"\nsamples = 16384\n[model]\ninput = [256]\n[training]\nmicro_batch_size = "
      "8\ngradient_accumulation = 2048\n";
  for (int layer = 0; layer < 256; ++layer) {
    toml += fmt::format(
        "[[model.layers]]\ntype = \"linear\"\nname = \"linear{0}\"\nblock = \"layer{0}\"\nout_features = "
        "256\n",
        layer);
  }
  auto configuration = app::parseConfiguration(toml, "bench.toml");
  if (!configuration.ok()) {
    fmt::print(stderr, "{}\n", configuration.error().message);
    std::exit(2);
  }
  (void)configuration->setText("execution.schedule", schedule, config::Origin::flag);
  return app::compileRun(*configuration);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  if (argc > 2) wanted = argv[2];
  fmt::print("{:<34} {:>12} {:>12} {:>10} {:>10} {:>8}\n", "case", "placements", "rows", "off s", "record s",
             "ns each");
  for (const char* schedule : {"popart", "gpipe", "1f1b", "zb-h1", "interleaved-1f1b"}) {
    const bool split = std::string(schedule) == "zb-h1", chunks = std::string(schedule) == "interleaved-1f1b";
    // 64 devices; about 10⁷ placements each.
    const int g = 1024, each = split ? 3 : 2;
    const int iterations = 10'000'000 / (64 * g * each * (chunks ? 2 : 1)) + 1;
    print(fmt::format("{}, 64 devices", schedule), rounds,
          [&] { return compile::compileFixed(fixedRun(schedule, chunks ? 128 : 64, g, iterations)); });
  }
  for (const int g : {1024, 2048, 4096, 8192})
    print(fmt::format("1f1b, 64 devices, G {}", g), rounds,
          [&] { return compile::compileFixed(fixedRun("1f1b", 64, g, 8)); });
  for (const char* schedule : {"popart", "1f1b", "gpipe"})
    print(fmt::format("{}, step on 256 devices, G 2048", schedule), rounds,
          [&] { return compile::compileFixed(fixedRun(schedule, 256, 2048, 1)); });
  // 256 devices as 64 replicas of 4. Equal replicas are emulated once; each speed is emulated by itself.
  for (const char* kind : {"equal", "one straggler", "all recorded"}) {
    print(fmt::format("64 replicas of 4, {}", kind), rounds, [&] {
      compile::FixedRun run = fixedRun("1f1b", 4, 2048, 1);
      run.replicas = 64;
      run.collective = 3;
      if (std::string(kind) == "one straggler") run.scales = {{7, 0.9, 1}};
      run.recordAllReplicas = std::string(kind) == "all recorded";
      return compile::compileFixed(run);
    });
  }
  for (const char* schedule : {"popart", "1f1b", "gpipe"})
    print(fmt::format("{}, step on 256 IPUs, G 2048", schedule), rounds, [&] { return manyIpus(schedule); });
  return 0;
}
