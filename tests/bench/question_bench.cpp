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

/// The trace as the window's page first reads it: what is too large is shown in summary.
std::shared_ptr<const analysis::Trace> overviewOf(const sections::Context& context) {
  base::SilentProgress progress;
  analysis::TraceRequest request;
  request.executable = context.executable;
  request.mostRows = 60'000;
  request.mostSteps = 120'000;
  auto trace = analysis::loadTrace(context.source, context.catalog, request, progress);
  return trace.ok() ? *trace : nullptr;
}

/// Reads a twentieth of the call row by row, as the page does when somebody zooms into it, and looks for the
/// last rank that works there. The rows may be those of another rank or replica that does the same.
bool windowOfLastRank(const sections::Context& context, std::shared_ptr<const analysis::Trace> overview) {
  const auto stands = analysis::recordedDevices(context.catalog, context.executable);
  model::DeviceId last;
  for (const model::DeviceId device : stands)
    if (device.valid()) last = device;
  if (!last.valid() || !overview) return false;
  const auto holdsLast = [last](const analysis::Trace& trace) {
    const std::int32_t device = trace.deviceIndex(last);
    return device >= 0 && !trace.devices[static_cast<std::size_t>(device)].tracks.empty();
  };
  if (!overview->large) return holdsLast(*overview);
  base::SilentProgress progress;
  analysis::TraceRequest request;
  request.executable = context.executable;
  const base::Ticks length = overview->end - overview->start;
  request.from = overview->start + base::Ticks(length.count / 2);
  request.to = request.from + base::Ticks(length.count / 20);
  request.mostRows = 240'000;
  request.mostSteps = 600'000;
  request.large = std::move(overview);
  const auto trace = analysis::loadTrace(context.source, context.catalog, request, progress);
  return trace.ok() && holdsLast(**trace);
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
      {"tables with operators",
       [](const auto& c) {
         auto tables = shortOperationTables(c);
         if (tables.ok()) addOperatorRows(*tables);
         return tables.ok();
       }},
      {"tables with programs",
       [](const auto& c) {
         auto tables = shortOperationTables(c);
         return tables.ok() && addProgramRows(c, *tables).ok();
       }},
      {"longest programs", [](const auto& c) { return longestPrograms(c, {}, 1'000).ok(); }},
      {"first picture of the trace", [](const auto& c) { return overviewOf(c) != nullptr; }},
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
      measure(all, name, [&, &question = ask] { return question(context); });
    }
    const std::string window = "window of the last rank";
    if (!wanted.empty() && wanted != window) continue;
    const auto source = store::ProfileReader::open(file);
    if (!source.ok()) return 2;
    const auto catalog = analysis::loadCatalog(**source);
    if (!catalog.ok() || (*catalog)->executables.empty()) return 2;
    const sections::Context context{**source, **catalog, (*catalog)->executables.front().id};
    auto overview = overviewOf(context);
    measure(all, window, [&] { return windowOfLastRank(context, std::move(overview)); });
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
