#include "recorded_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "engine/devices/fixed/fixed_system.h"
#include "engine/emulate/emulator.h"
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

double units(base::Ticks ticks) {
  return static_cast<double>(ticks.count) / static_cast<double>(devices::kFixedTicksPerUnit);
}

app::FixedRun fixedRun(const std::string& schedule, int microBatches, const std::vector<double>& forward,
                       const std::vector<double>& backward) {
  app::FixedRun run;
  run.schedule = schedule;
  run.microBatches = microBatches;
  run.training = !backward.empty();
  for (std::size_t s = 0; s < forward.size(); ++s)
    run.stages.push_back({forward[s], 0, backward.empty() ? 0 : backward[s], 0});
  return run;
}

RecordedSchedule record(const app::FixedRun& run, int calls) {
  static int number = 0;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("pipescope_schedule_" + std::to_string(getpid()) + "_" + std::to_string(number++) + ".pop");
  {
    const app::Compilation compilation = must(app::compileFixed(run));
    const auto writer = must(store::ProfileWriter::create(path));
    record::Recorder recorder(*writer);
    const app::RecordedCompilation recorded =
        app::recordCompilation(recorder, compilation, emulate::RecordLevel::steps);
    emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::steps);
    for (int call = 0; call < calls; ++call) emulator.call(recorded.executables.front(), {});
    must(recorder.finish(model::ProfileState::complete));
  }
  RecordedSchedule read;
  read.file = must(store::ProfileReader::open(path));
  read.catalog = must(analysis::loadCatalog(*read.file));
  read.placements = *must(read.file->rows<model::Placement>());
  read.waits = *must(read.file->rows<model::Wait>());
  read.transfers = *must(read.file->rows<model::Transfer>());
  read.executable = read.catalog->executables.front().id;
  std::filesystem::remove(path);  // the open reader keeps it
  return read;
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
