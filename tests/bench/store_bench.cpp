// store_bench FOLDER [write|events|first|pipeline|windows]: writes the two big profiles into the folder and
// measures size, write speed, the first answer after opening, random windows, and memory. With a second
// argument it measures one of these with existing files. Run it on an idle machine.
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "profiler/analysis/timeline/range.h"
#include "profiler/store/file_sink.h"
#include "profiler/store/profile_reader.h"
#include "tests/bench/big_profile.h"

namespace pipescope::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using model::Ticks;

/// Processor time of this thread or of the process. It does not include other work of the machine.
double processorSeconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
T must(base::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "store_bench: %s\n", result.error().message.c_str());
  std::exit(1);
}
void must(const base::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "store_bench: %s\n", status.error().message.c_str());
  std::exit(1);
}

/// Keeps rows, to hand them to a sink as fast as the sink takes them.
class Keep : public record::Sink {
 public:
  base::Status commit(const model::RowSet& rows) override { return batches.push_back(rows), base::Status(); }
  base::Status finish(model::ProfileState, const std::string&) override { return {}; }
  std::vector<model::RowSet> batches;
};

/// Runs in a child process, so that the memory is that of the reader alone.
void inChild(const std::function<void()>& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

long memoryMegabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss / 1024;
}

double megabytes(const fs::path& path) {
  return static_cast<double>(fs::file_size(path)) * 1e-6;
}

void writePipeline(const fs::path& path) {
  const auto sink = must(store::FileSink::create(path));
  record::Recorder recorder(*sink);
  const PipelineShape shape;
  const auto start = Clock::now();
  must(recordPipeline(recorder, shape));
  std::printf("pipeline: %.3g emulated steps, %.1f MB, written in %.2f s\n",
              static_cast<double>(shape.emulatedSteps()), megabytes(path), since(start));
}

/// Measures with the generator, and then the sink alone.
void writeEvents(const fs::path& path) {
  EventShape shape;
  fs::remove(path);  // now, and not while the new one takes its place
  {
    const auto sink = must(store::FileSink::create(path));
    record::Recorder recorder(*sink);
    const auto start = Clock::now();
    const double before = processorSeconds(CLOCK_PROCESS_CPUTIME_ID), own = processorSeconds();
    must(recordEvents(recorder, shape));
    const double seconds = since(start), busy = processorSeconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    std::printf(
        "events: %.3g, %.1f MB, written in %.3f s: %.1f M/s with the generator on the same cores (processor "
        "%.3f s, of which "
        "the generator's thread %.3f s)\n",
        static_cast<double>(shape.events), megabytes(path), seconds,
        static_cast<double>(shape.events) / seconds * 1e-6, busy, processorSeconds() - own);
  }
  shape.events /= 4;
  Keep kept;
  record::Recorder recorder(kept);
  must(recordEvents(recorder, shape));
  const fs::path other = path.string() + ".sink";
  const auto sink = must(store::FileSink::create(other));
  const auto start = Clock::now();
  const double before = processorSeconds(CLOCK_PROCESS_CPUTIME_ID);
  for (model::RowSet& rows : kept.batches) must(sink->take(rows));
  must(sink->finish(model::ProfileState::complete, ""));
  const double seconds = since(start), busy = processorSeconds(CLOCK_PROCESS_CPUTIME_ID) - before;
  const auto events = static_cast<double>(shape.events);
  std::printf(
      "events: %.1f M/s by the sink alone, %.0f ns of processor each: two cores to themselves make %.1f M/s "
      "at most\n",
      events / seconds * 1e-6, busy / events * 1e9, 2e-6 * events / busy);
  fs::remove(other);
}

void firstAnswer(const fs::path& path) {
  base::SilentProgress progress;
  const auto start = Clock::now();
  const double before = processorSeconds();
  const std::shared_ptr<const store::ProfileReader> reader = must(store::ProfileReader::open(path));
  const auto opened = since(start);
  const auto catalog = must(analysis::loadCatalog(*reader));
  const auto known = since(start);
  const auto index = must(analysis::RangeIndex::make(reader, catalog));
  const model::Run* run = catalog->lastRunOf(model::ExecutableId(0));
  const Ticks span = run->end - run->start;
  const auto spans = must(
      index->steps({model::ExecutableId(0), run->start, run->end, {}}, Ticks(span.count / 1000), progress));
  std::printf(
      "first answer: %.1f ms (processor %.1f, open %.1f, catalog %.1f), %zu spans of all lanes at 1,000 "
      "pixels, %ld MB\n",
      since(start) * 1e3, (processorSeconds() - before) * 1e3, opened * 1e3, (known - opened) * 1e3,
      spans.size(), memoryMegabytes());
}

/// Prints the times of the first `count` windows.
void printWindows(double fraction, std::vector<double> seconds, std::vector<double> busy, std::size_t count) {
  seconds.resize(count), busy.resize(count);
  std::sort(seconds.begin(), seconds.end());
  std::sort(busy.begin(), busy.end());
  const std::size_t middle = count / 2, p99 = count - count / 100 - 1;
  std::printf(
      "windows of %.3g %%, %zu of a reader just opened: median %.2f ms, p99 %.2f ms, largest %.2f ms "
      "(processor: %.2f, %.2f)\n",
      fraction * 100, count, seconds[middle] * 1e3, seconds[p99] * 1e3, seconds.back() * 1e3,
      busy[middle] * 1e3, busy[p99] * 1e3);
}

void windows(const fs::path& path, double fraction, Ticks resolution) {
  base::SilentProgress progress;
  const std::shared_ptr<const store::ProfileReader> reader = must(store::ProfileReader::open(path));
  const auto catalog = must(analysis::loadCatalog(*reader));
  const auto index = must(analysis::RangeIndex::make(reader, catalog));
  const model::Run* run = catalog->lastRunOf(model::ExecutableId(0));
  const double span = static_cast<double>((run->end - run->start).count);
  std::mt19937_64 random(1);
  std::vector<double> seconds, busy;
  std::vector<analysis::StepSpan> answer;  // memory is used again, as in a view
  std::size_t spans = 0;
  constexpr std::size_t kFirst = 300, kAll = 1000;
  for (std::size_t i = 0; i < kAll; ++i) {
    const double at = std::uniform_real_distribution<double>(0, span * (1 - fraction))(random);
    const Ticks from = run->start + Ticks(static_cast<std::int64_t>(at));
    const Ticks to = from + Ticks(static_cast<std::int64_t>(span * fraction));
    const auto start = Clock::now();
    const double before = processorSeconds();
    must(index->steps({model::ExecutableId(0), from, to, {}}, resolution, progress, answer));
    spans += answer.size();
    seconds.push_back(since(start));
    busy.push_back(processorSeconds() - before);
  }
  for (const std::size_t count : {kFirst, kAll}) printWindows(fraction, seconds, busy, count);
  std::printf("%zu spans each, %ld MB in the end\n", spans / kAll, memoryMegabytes());
}

}  // namespace
}  // namespace pipescope::bench

int main(int argc, char** argv) {
  using namespace pipescope::bench;
  using pipescope::model::Ticks;
  const std::filesystem::path folder = argc > 1 ? argv[1] : "", pipeline = folder / "pipeline.pop",
                              events = folder / "events.pop";
  struct Part {
    const char* name;
    std::function<void()> measure;
  };
  const std::vector<Part> parts = {{"write", [&] { writePipeline(pipeline); }},
                                   {"events", [&] { writeEvents(events); }},
                                   {"first", [&] { firstAnswer(pipeline); }},
                                   {"pipeline", [&] { windows(pipeline, 0.0001, Ticks(0)); }},
                                   {"pipeline", [&] { windows(pipeline, 0.01, Ticks(2'000'000)); }},
                                   {"windows", [&] { windows(events, 0.001, Ticks(0)); }}};
  const std::string only = argc > 2 ? argv[2] : "";
  const auto wanted = [&](const Part& part) { return only.empty() || only == part.name; };
  if (argc < 2 || argc > 3 || std::none_of(parts.begin(), parts.end(), wanted))
    return std::fprintf(stderr, "usage: store_bench FOLDER [write|events|first|pipeline|windows]\n"), 2;
  for (const Part& part : parts) {
    if (wanted(part)) inChild(part.measure);
  }
  return 0;
}
