#include "recorded_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "engine/devices/fixed/fixed_system.h"
#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"
#include "profiler/store/profile_reader.h"
#include "profiler/store/profile_writer.h"

namespace pipescope::tests {
namespace {

template <class T>
T must(base::Result<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.error().message;
  return std::move(result).value();
}
void must(const base::Status& status) {
  ASSERT_TRUE(status.ok()) << status.error().message;
}

}  // namespace

app::ScheduleTable tableOf(const compile::FixedRun& run) {
  return must(app::scheduleTable(run));
}

double units(base::Ticks ticks) {
  return static_cast<double>(ticks.count) / static_cast<double>(devices::kFixedTicksPerUnit);
}

compile::FixedRun fixedRun(const std::string& schedule, int microBatches, const std::vector<double>& forward,
                           const std::vector<double>& backward) {
  compile::FixedRun run;
  run.schedule = schedule;
  run.microBatches = microBatches;
  run.training = !backward.empty();
  for (std::size_t s = 0; s < forward.size(); ++s)
    run.stages.push_back({forward[s], 0, backward.empty() ? 0 : backward[s], 0});
  return run;
}

compile::FixedRun laidOutRun(const std::string& schedule, int devices, int microBatches,
                             const std::vector<double>& forward, const std::vector<double>& backward) {
  compile::FixedRun run;
  run.schedule = schedule;
  run.microBatches = microBatches;
  const schedules::ScheduleDefinition* definition = must(schedules::findSchedule(schedule));
  const int chunks = must(schedules::chunksPerDevice(*definition, 0));
  const int stages = definition->pipes > 1 ? devices : devices * chunks;
  for (int s = 0; s < stages; ++s) {
    const std::size_t i = static_cast<std::size_t>(s);
    run.stages.push_back({forward[i % forward.size()], 0, backward[i % backward.size()], 0, -1});
  }
  return run;
}

namespace {

void emulate(const compile::FixedRun& run, int calls, record::Sink& sink) {
  const compile::Compilation compilation = must(compile::compileFixed(run));
  record::Recorder recorder(sink);
  const compile::RecordedCompilation recorded =
      compile::recordCompilation(recorder, compilation, emulate::RecordLevel::steps);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::steps);
  for (int call = 0; call < calls; ++call) emulator.call(recorded.executables.front(), {});
  must(recorder.finish(model::ProfileState::complete));
}

RecordedSchedule readBack(std::shared_ptr<model::ProfileSource> source) {
  RecordedSchedule read;
  read.file = std::move(source);
  read.catalog = must(analysis::loadCatalog(*read.file));
  read.placements = *must(read.file->rows<model::Placement>());
  read.waits = *must(read.file->rows<model::Wait>());
  read.transfers = *must(read.file->rows<model::Transfer>());
  read.executable = read.catalog->executables.front().id;
  return read;
}

}  // namespace

RecordedSchedule record(const compile::FixedRun& run, int calls) {
  static int number = 0;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("pipescope_schedule_" + std::to_string(getpid()) + "_" + std::to_string(number++) + ".pop");
  emulate(run, calls, *must(store::ProfileWriter::create(path)));
  RecordedSchedule read = readBack(must(store::ProfileReader::open(path)));
  std::filesystem::remove(path);  // the open reader keeps the file
  return read;
}

RecordedSchedule recordInMemory(const compile::FixedRun& run, int calls) {
  const auto profile = std::make_shared<record::MemoryProfile>();
  emulate(run, calls, *profile);
  return readBack(profile);
}

double computeSpan(const RecordedSchedule& recorded) {
  base::Ticks start(INT64_MAX), end(0);
  for (const model::Placement& p : recorded.placements) {
    if (!model::isComputePass(p.pass)) continue;
    start = std::min(start, p.start);
    end = std::max(end, p.end);
  }
  return units(end - start);
}

}  // namespace pipescope::tests
