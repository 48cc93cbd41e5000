// question_bench FILE [ROUNDS] [QUESTION]: measures how long the questions take that pages ask about a whole
// profile: the time of a round in which the file is opened anew, and the processor time of the thread that
// asks.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/model/operations.h"
#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/analysis/pipeline/waits.h"
#include "profiler/analysis/recorded_devices.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/operation_rows.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::bench {
namespace {

double threadMs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
}

struct Times {
  std::vector<double> wall, processor;
};

template <class Ask>
void measure(std::vector<std::pair<std::string, Times>>& all, const std::string& name, Ask ask) {
  const auto begun = std::chrono::steady_clock::now();
  const double before = threadMs();
  if (!ask()) fmt::print(stderr, "{} failed\n", name);
  const double processor = threadMs() - before;
  const double wall =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
  auto place = std::ranges::find(all, name, &std::pair<std::string, Times>::first);
  if (place == all.end()) place = all.insert(all.end(), {name, {}});
  place->second.wall.push_back(wall);
  place->second.processor.push_back(processor);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Reads the last call of the last rank that works. The rows may be those of another rank or replica that
/// does the same.
bool windowOfLastRank(const sections::Context& context) {
  const auto stands = analysis::recordedDevices(context.catalog, context.executable);
  const auto works = [](model::DeviceId device) { return device.valid(); };
  std::vector<model::DeviceId> working;
  std::ranges::copy_if(stands, std::back_inserter(working), works);
  if (working.empty()) return false;
  base::SilentProgress progress;
  analysis::TraceRequest request;
  request.executable = context.executable;
  const auto trace = analysis::loadTrace(context.source, context.catalog, request, progress);
  if (!trace.ok()) return false;
  const std::int32_t device = (*trace)->deviceIndex(working.back());
  return device >= 0 && !(*trace)->devices[static_cast<std::size_t>(device)].tracks.empty();
}

int run(const char* file, int rounds, const std::string& wanted) {
  std::vector<std::pair<std::string, Times>> all;
  using Question = std::function<bool(const sections::Context&)>;
  const std::vector<std::pair<std::string, Question>> questions = {
      {"execution", [](const auto& c) { return executionOf(c).ok(); }},
      {"stages", [](const auto& c) { return stagesOf(c).ok(); }},
      {"memory", [](const auto& c) { return memoryOf(c).ok(); }},
      {"waits and path", [](const auto& c) { return readWaitsAndPath(c).ok(); }},
      {"operations", [](const auto& c) { return operationsOf(c).ok(); }},
      {"tables of operations", [](const auto& c) { return shortOperationTables(c).ok(); }},
      {"tables with operators", [](const auto& c) { return operationTables(c, false).ok(); }},
      {"tables with programs", [](const auto& c) { return operationTables(c, true).ok(); }},
      {"longest programs", [](const auto& c) { return longestPrograms(c, {}, 1'000).ok(); }},
      {"window of the last rank", [](const auto& c) { return windowOfLastRank(c); }},
      {"pipeline",
       [](const auto& c) {
         base::SilentProgress progress;
         analysis::PipelineRequest request;
         request.executable = c.executable;
         return analysis::pipelineGrid(c.source, c.catalog, request, progress).ok();
       }},
      {"execution, stages, path, operations, pipeline", [](const auto& c) {
         base::SilentProgress progress;
         analysis::PipelineRequest request;
         request.executable = c.executable;
         return executionOf(c).ok() && stagesOf(c).ok() && readWaitsAndPath(c).ok() && operationsOf(c).ok() &&
                analysis::pipelineGrid(c.source, c.catalog, request, progress).ok();
       }}};
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [name, ask] : questions) {
      if (!wanted.empty() && name != wanted) continue;
      const auto source = store::ProfileReader::open(file);
      if (!source.ok()) return fmt::print(stderr, "{}\n", source.error().message), 2;
      const auto catalog = analysis::loadCatalog(**source);
      if (!catalog.ok() || (*catalog)->executables.empty()) return 2;
      const sections::Context context{**source, **catalog, (*catalog)->executables.front().id};
      measure(all, name, [&] { return ask(context); });
    }
  }
  fmt::print("{:<48} {:>9} {:>12}\n", "question, cold", "ms", "processor ms");
  for (const auto& [name, times] : all)
    fmt::print("{:<48} {:9.0f} {:12.0f}\n", name, median(times.wall), median(times.processor));
  return 0;
}

}  // namespace
}  // namespace pipescope::bench

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "usage: question_bench FILE [ROUNDS] [QUESTION]\n"), 2;
  return pipescope::bench::run(argv[1], argc > 2 ? std::atoi(argv[2]) : 3, argc > 3 ? argv[3] : "");
}
