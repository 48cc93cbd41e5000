// Exports recorded runs to other tools' formats and imports them again: what the events tell must stay as it
// was.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "profiler/export/chrome.h"
#include "profiler/export/perfetto.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

namespace fs = std::filesystem;

/// A path of the test's own, because tests run beside each other.
fs::path ownPath(const std::string& ending) {
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ranges::replace(name, '/', '_');
  return fs::path(::testing::TempDir()) / (name + ending);
}

/// The export of a recorded run, imported again.
ImportedTrace exportedAndImported(const ImportedTrace& trace, bool perfetto) {
  const fs::path file = ownPath(perfetto ? ".pftrace" : ".json");
  {
    std::ofstream text(file, std::ios::binary);
    base::SilentProgress progress;
    const exporting::ChromeRequest request{trace.profile, *trace.catalog, model::ExecutableId(0)};
    const auto write = [&](std::string_view part) {
      text << part;
      return base::Status();
    };
    const base::Status done = perfetto ? exporting::exportPerfetto(request, write, progress)
                                       : exporting::exportChrome(request, write, progress);
    EXPECT_TRUE(done.ok());
  }
  return ImportedTrace(file);
}

class RecordedRoundTrip : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Formats, RecordedRoundTrip, ::testing::Values(false, true),
                         [](const auto& format) { return format.param ? "perfetto" : "chrome"; });

TEST_P(RecordedRoundTrip, KeepsKernelsAndTheirLaunches) {
  const ImportedTrace before(fs::path(PIPESCOPE_TEST_DATA) / "alexnet.json.gz");
  const ImportedTrace after = exportedAndImported(before, GetParam());
  for (const char* name : {"kernels", "collectives", "engines"})
    EXPECT_EQ(toJson(before.section(name)), toJson(after.section(name))) << name;
}

TEST_P(RecordedRoundTrip, KeepsTheAcceleratorsOfSeveralRanksApart) {
  const ImportedTrace before(fs::path(PIPESCOPE_TEST_DATA) / "dlrm.tar.gz");
  const ImportedTrace after = exportedAndImported(before, GetParam());
  EXPECT_EQ(after.catalog->devices.size(), before.catalog->devices.size());
  EXPECT_EQ(toJson(before.section("kernels")), toJson(after.section("kernels")));
}

/// Two stages, of which the second is slow: the first one waits for it and then for the host, and both drain.
TEST_P(RecordedRoundTrip, KeepsWaitsAndTheirCauses) {
  const fs::path folder = ownPath("");
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::string events[2];
  const auto add = [&](int rank, const std::string& name, int start, int end) {
    events[rank] += (events[rank].empty() ? "[" : ",") +
                    std::string(R"({"ph":"X","pid":1,"tid":1,"name":")") + name + R"(","ts":)" +
                    std::to_string(start) + R"(,"dur":)" + std::to_string(end - start) + "}";
  };
  for (const int step : {0, 1}) {
    const int t = step * 1000;
    for (const int rank : {0, 1}) add(rank, "ProfilerStep#" + std::to_string(step), t, t + 990);
    add(0, "stage0/forward/mb0", t + 10, t + 60);
    add(0, "gloo:send", t + 61, t + 70);
    add(1, "gloo:recv", t + 5, t + 75);
    add(1, "stage1/forward/mb0", t + 80, t + 280);
    add(1, "stage1/backward/mb0", t + 285, t + 700);
    add(1, "gloo:send", t + 701, t + 710);
    add(0, "gloo:recv", t + 75, t + 720);
    add(0, "stage0/backward/mb0", t + 750, t + 850);
  }
  for (const int rank : {0, 1})
    std::ofstream(folder / ("rank" + std::to_string(rank) + ".json")) << events[rank] << "]";
  const ImportedTrace before(folder);
  ASSERT_GT(before.section("waits").tables.at(0).rows.size(), 3U);
  const ImportedTrace after = exportedAndImported(before, GetParam());
  for (const char* name : {"waits", "stages", "planned", "stragglers"})
    EXPECT_EQ(toJson(before.section(name)), toJson(after.section(name))) << name;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace pipescope::analysis
