// Exports carry the rows of emulated runs, and the import restores them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/export/chakra.h"
#include "profiler/export/chrome.h"
#include "profiler/export/perfetto.h"
#include "profiler/import/trace_import.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

namespace fs = std::filesystem;
using base::Ticks;

std::string exported(const model::RowSet& rows, const std::string& format, model::ExecutableId executable,
                     std::optional<model::RunId> call = {}) {
  record::MemoryProfile profile;
  EXPECT_TRUE(profile.commit(rows).ok());
  EXPECT_TRUE(profile.finish(model::ProfileState::incomplete, "The \"disk\" was full.").ok());
  const auto catalog = loadCatalog(profile).value();
  std::string text;
  base::SilentProgress progress;
  const auto write = [&](std::string_view part) { return text += part, base::Status(); };
  exporting::ChromeRequest request{profile, *catalog, executable};
  request.run = call;
  const base::Status done = format == "chrome"     ? exporting::exportChrome(request, write, progress)
                            : format == "perfetto" ? exporting::exportPerfetto(request, write, progress)
                                                   : exporting::exportChakra(request, write, progress);
  EXPECT_TRUE(done.ok());
  return text;
}

struct Imported {
  importing::ImportSummary summary;
  model::RowSet rows;
  model::SourceState state;

  explicit Imported(const fs::path& path) { read(path); }
  explicit Imported(const std::string& trace) {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(name, '/', '_');
    const fs::path file = fs::path(::testing::TempDir()) / (name + ".trace");
    std::ofstream(file, std::ios::binary) << trace;
    read(file);
    fs::remove(file);
  }

 private:
  void read(const fs::path& path) {
    record::MemoryProfile profile;
    record::Recorder recorder(profile);
    base::SilentProgress progress;
    importing::ImportRequest request;
    request.paths = {path};
    request.temporaryFolder = ::testing::TempDir();
    const auto result = importing::importTraces(request, recorder, progress);
    EXPECT_TRUE(result.ok()) << result.error().message;
    if (result.ok()) summary = *result;
    rows = profile.everything().value();
    state = profile.state().value();
  }
};

/// The fields of a row as text, bit by bit.
template <class Row>
std::string textOf(const Row& row) {
  std::string text = Row::kTable;
  Row::fields(row, [&](const char* name, const auto& field, const char*, const char*) {
    using Field = std::remove_cvref_t<decltype(field)>;
    text += std::string(" ") + name + "=";
    if constexpr (std::is_same_v<Field, std::string>) {
      text += field;
    } else if constexpr (std::is_same_v<Field, double>) {
      text += std::isnan(field) ? "nan" : std::to_string(std::bit_cast<std::int64_t>(field));
    } else {
      text += std::to_string(model::toInteger(field));
    }
  });
  return text;
}

template <class Row>
std::vector<std::string> textsOf(const model::RowSet& rows) {
  std::vector<std::string> texts;
  for (const Row& row : rows.of<Row>()) texts.push_back(textOf(row));
  return texts;
}

/// Rows of every table with a value of its own in every field that may have any.
model::RowSet rowsOfAllTables() {
  model::RowSet rows;
  std::int64_t next = 3;
  model::forEachRowType([&]<class Row>() {
    for (int r = 0; r < 3; ++r) {
      Row row;
      Row::fields(row, [&](const char*, auto& field, const char*, const char*) {
        using Field = std::remove_cvref_t<decltype(field)>;
        ++next;
        if constexpr (std::is_same_v<Field, std::string>) {
          field = "\"text\"\\\n\té " + std::to_string(r % 2 == 0 ? next : 1);
        } else if constexpr (std::is_same_v<Field, double>) {
          using Limits = std::numeric_limits<double>;
          field = r == 0   ? 0.1 * static_cast<double>(next)
                  : r == 1 ? Limits::quiet_NaN()
                           : -Limits::infinity();
        } else if constexpr (std::is_enum_v<Field> || std::is_same_v<Field, bool>) {
          model::fromInteger(field, r % 2);
        } else if constexpr (requires { field.valid(); }) {
          field = Field(r);  // every table has rows with these ids
        } else {
          model::fromInteger(field, next * (r == 2 ? 1'000 : 1));
        }
      });
      if constexpr (requires { row.executable; }) row.executable = model::ExecutableId(0);
      if constexpr (requires { row.run; }) row.run = model::RunId(r % 2);
      rows.of<Row>().push_back(row);
    }
  });
  rows.of<model::Executable>().resize(1);
  rows.of<model::Property>()[0].key = "least_seconds.0.model";
  for (model::Device& device : rows.of<model::Device>()) device.ticksPerSecond = 1'330'000'000;
  const auto order = [](auto& list) {
    std::int64_t time = 5;
    for (auto& row : list) {
      row.start = Ticks(time);
      row.end = Ticks(time += 1'234'567'891);
    }
  };
  order(rows.of<model::Placement>());
  order(rows.of<model::Transfer>());
  order(rows.of<model::Wait>());
  // The kinds of samples and steps are the exports' own affair; times of a step lie within its segment.
  for (model::Step& step : rows.of<model::Step>()) step.offset = Ticks(0), step.ticks = Ticks(7);
  rows.of<model::StepUnits>()[0].step = 0;
  rows.of<model::StepUnits>()[1].step = 1;
  rows.of<model::StepUnits>()[2].step = 2;
  return rows;
}

class CarriedRows : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Formats, CarriedRows, ::testing::Values("chrome", "perfetto", "chakra"),
                         [](const auto& format) { return format.param; });

TEST_P(CarriedRows, RestoreEveryFieldOfEveryTable) {
  const model::RowSet before = rowsOfAllTables();
  const Imported after(exported(before, GetParam(), model::ExecutableId(0)));
  EXPECT_TRUE(after.summary.restored);
  EXPECT_TRUE(after.summary.findings.empty());
  EXPECT_EQ(after.state.state, model::ProfileState::incomplete);
  EXPECT_EQ(after.state.reason, "The \"disk\" was full.");
  model::forEachRowType([&]<class Row>() {
    if (std::is_same_v<Row, model::LevelNode>) return;  // made of other rows by the store
    std::vector<std::string> texts = textsOf<Row>(after.rows);
    if (std::is_same_v<Row, model::Property>) {
      ASSERT_FALSE(texts.empty());
      EXPECT_NE(texts.back().find("restored_from"), std::string::npos);
      texts.pop_back();
    }
    EXPECT_EQ(texts, textsOf<Row>(before)) << Row::kTable;
  });
}

/// Two executables, whose rows alternate, and two calls of the second one.
model::RowSet twoExecutables() {
  model::RowSet rows;
  for (int e = 0; e < 2; ++e)
    rows.of<model::Executable>().push_back({model::ExecutableId(e), e == 0 ? "training" : "inference"});
  rows.of<model::Device>().push_back({model::DeviceId(0), "mk2", "IPU0", 1'000'000});
  rows.of<model::Lane>().push_back({model::LaneId(0), model::DeviceId(0), "compute"});
  rows.of<model::Property>() = {{"replay.0.order", "a"}, {"replay.1.order", "b"}, {"figure.1x", "c"}};
  for (int i = 0; i < 6; ++i) {
    const model::ExecutableId owner(i % 2);
    model::Operator op;
    op.id = model::OperatorId(i);
    op.executable = owner;
    op.flops = i;
    rows.of<model::Operator>().push_back(op);
    model::Program program;
    program.id = model::ProgramId(i);
    program.parent = model::ProgramId(i - 2);
    program.target = model::ProgramId(i + 2);
    program.executable = owner;
    program.op = model::OperatorId(i);
    rows.of<model::Program>().push_back(program);
    model::Segment segment;
    segment.id = model::SegmentId(i);
    segment.executable = owner;
    segment.device = model::DeviceId(0);
    segment.lane = model::LaneId(0);
    segment.ticks = Ticks(10);
    rows.of<model::Segment>().push_back(segment);
    model::Step step;
    step.segment = segment.id;
    step.lane = model::LaneId(0);
    step.ticks = Ticks(10);
    step.program = program.id;
    rows.of<model::Step>().push_back(step);
    rows.of<model::StepUnits>().push_back({segment.id, i, 0, 1, Ticks(i)});
  }
  for (int r = 0; r < 3; ++r) {
    rows.of<model::Run>().push_back({model::RunId(r), model::ExecutableId(r == 0 ? 0 : 1), "call",
                                     Ticks(100 * r), Ticks(100 * r + 90), 10 * r});
    for (int p = 0; p < 2; ++p) {
      model::Placement placement;
      placement.id = model::PlacementId(2 * r + p);
      placement.segment = model::SegmentId(2 * p + (r == 0 ? 0 : 1));
      placement.device = model::DeviceId(0);
      placement.start = Ticks(100 * r + 20 * p);
      placement.end = placement.start + Ticks(10);
      placement.run = model::RunId(r);
      placement.stage = 0;
      rows.of<model::Placement>().push_back(placement);
    }
    model::Wait wait;
    wait.device = model::DeviceId(0);
    wait.start = Ticks(100 * r + 10);
    wait.end = Ticks(100 * r + 20);
    wait.run = model::RunId(r);
    wait.waitedFor = model::PlacementId(2 * r);
    rows.of<model::Wait>().push_back(wait);
  }
  return rows;
}

TEST_P(CarriedRows, LeaveOutOtherExecutablesAndCalls) {
  const Imported after(exported(twoExecutables(), GetParam(), model::ExecutableId(1), model::RunId(2)));
  ASSERT_TRUE(after.summary.restored);
  const model::RowSet& rows = after.rows;
  ASSERT_EQ(rows.of<model::Executable>().size(), 1U);
  EXPECT_EQ(rows.of<model::Executable>()[0].name, "inference");
  std::vector<std::string> keys;
  for (const model::Property& row : rows.of<model::Property>()) keys.push_back(row.key + "=" + row.value);
  keys.resize(2);
  EXPECT_EQ(keys, (std::vector<std::string>{"replay.0.order=b", "figure.1x=c"}));
  // Operators 1, 3 and 5 are 0, 1 and 2 now, and so are programs and segments.
  ASSERT_EQ(rows.of<model::Operator>().size(), 3U);
  EXPECT_EQ(rows.of<model::Operator>()[2].flops, 5);
  ASSERT_EQ(rows.of<model::Program>().size(), 3U);
  for (int i = 0; i < 3; ++i) {
    const model::Program& program = rows.of<model::Program>()[static_cast<std::size_t>(i)];
    EXPECT_EQ(program.executable.value, 0);
    EXPECT_EQ(program.op.value, i);
    EXPECT_EQ(program.parent.value, i - 1);
    EXPECT_EQ(program.target.value, i == 2 ? -1 : i + 1);
    const model::StepUnits& units = rows.of<model::StepUnits>()[static_cast<std::size_t>(i)];
    EXPECT_EQ(units.step, i);
    EXPECT_EQ(units.ticks.count, 2 * i + 1);
  }
  // Both calls of the executable are known, but only what ran in the second one.
  ASSERT_EQ(rows.of<model::Run>().size(), 2U);
  EXPECT_EQ(rows.of<model::Run>()[1].samples, 20);
  ASSERT_EQ(rows.of<model::Placement>().size(), 2U);
  EXPECT_EQ(rows.of<model::Placement>()[0].start.count, 200);
  EXPECT_EQ(rows.of<model::Placement>()[1].segment.value, 1);
  EXPECT_EQ(rows.of<model::Placement>()[1].run.value, 1);
  ASSERT_EQ(rows.of<model::Wait>().size(), 1U);
  EXPECT_EQ(rows.of<model::Wait>()[0].waitedFor.value, 0);
}

/// Texts that do not become short by compression are more than the only pass of a Chakra trace carries.
TEST_P(CarriedRows, MayBeManyForFewEvents) {
  model::RowSet rows = twoExecutables();
  rows.of<model::Placement>().resize(1);
  rows.of<model::Wait>().clear();
  std::mt19937 random;
  std::string text(6 << 20, ' ');
  for (char& letter : text) letter = static_cast<char>('0' + random() % 64);
  rows.of<model::Property>() = {{"long", text}};
  rows.of<model::Diagnostic>() = {{model::Severity::info, "test", "also " + text, {}, {}}};
  const Imported after(exported(rows, GetParam(), model::ExecutableId(0)));
  ASSERT_TRUE(after.summary.restored);
  EXPECT_TRUE(after.summary.findings.empty());
  ASSERT_EQ(after.rows.of<model::Diagnostic>().size(), 1U);
  EXPECT_TRUE(after.rows.of<model::Diagnostic>()[0].text == "also " + text);
  EXPECT_TRUE(after.rows.of<model::Property>()[0].value == text);
  EXPECT_EQ(after.rows.of<model::Placement>().size(), 1U);
}

TEST(CarriedRowsOfAChangedTrace, AreNotRestored) {
  const std::string trace = exported(twoExecutables(), "chrome", model::ExecutableId(1));
  ASSERT_TRUE(Imported(trace).summary.restored);
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string changed = trace;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  const std::pair<std::string_view, std::string_view> changes[] = {
      {"\"table\":\"operator\"", "\"table\":\"oper\""},
      {"\"flops\":[1,3,5]", "\"flops\":[1,3]"},
      {"\"flops\":[1,3,5]", "\"flops\":\"five\""},
      {"\"flops\":[1,3,5]", "\"flop\":[1,3,5]"},
      {"\"clock\":\"\"", "\"clock\":{\"texts\":[\"a\"],\"indices\":[1]}"},
      {"\"role\":0", "\"role\":256"},
      {"\"offset\":0", "\"offset\":9000000000000000000"},
      {"\"state\":3", "\"status\":3"},
      {"\"pieces\":", "\"pieces\":1"},
      {"\"cat\":\"wait\",\"ts\":", "\"cat\":\"wait\",\"was\":"}};
  for (const auto& [from, to] : changes) {
    const Imported after(replaced(from, to));
    EXPECT_FALSE(after.summary.restored) << to;
    EXPECT_EQ(after.rows.of<model::Executable>().size(), 1U);
    EXPECT_EQ(after.rows.of<model::Executable>()[0].name.find("inference"), std::string::npos) << to;
    ASSERT_FALSE(after.summary.findings.empty()) << to;
    EXPECT_NE(
        (after.summary.findings[0] + after.summary.findings.back()).find("changed after it was exported"),
        std::string::npos)
        << after.summary.findings[0];
  }
}

TEST(CarriedRowsOfAChakraTrace, AreNotRestoredFromADamagedOne) {
  const std::string trace = exported(twoExecutables(), "chakra", model::ExecutableId(1), model::RunId(2));
  ASSERT_TRUE(Imported(trace).summary.restored);
  std::string damaged = trace;
  const std::size_t packed = damaged.find("x\x9C");  // zlib's first bytes
  ASSERT_NE(packed, std::string::npos);
  damaged[packed] = 'y';
  for (const std::string& changed : {damaged, trace.substr(0, trace.size() - 1)}) {
    const Imported after(changed);
    EXPECT_FALSE(after.summary.restored);
    EXPECT_EQ(after.summary.events, changed == damaged ? 2 : 1);
    ASSERT_FALSE(after.summary.findings.empty());
    EXPECT_NE(
        (after.summary.findings[0] + after.summary.findings.back()).find("changed after it was exported"),
        std::string::npos)
        << after.summary.findings[0];
  }
}

TEST(CarriedRowsOfSeveralTraces, AreNotRestored) {
  const fs::path folder = fs::path(::testing::TempDir()) / "CarriedRowsOfSeveralTraces";
  fs::create_directories(folder);
  for (const int call : {1, 2})
    std::ofstream(folder / ("rank" + std::to_string(call) + ".json"), std::ios::binary)
        << exported(twoExecutables(), "chrome", model::ExecutableId(1), model::RunId(call));
  const Imported after(folder);
  fs::remove_all(folder);
  EXPECT_FALSE(after.summary.restored);
  EXPECT_EQ(after.summary.ranks, 2);
  ASSERT_FALSE(after.summary.findings.empty());
  EXPECT_NE(after.summary.findings[0].find("only if it is imported alone"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::analysis
