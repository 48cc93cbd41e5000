// Kills a recording process at random moments. Every file must open, and at most the last second may be
// missing.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "profiler/store/file_sink.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

std::int64_t nowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// The rows that the child has handed over, and when.
struct Handed {
  std::int64_t rows, ms;
};

constexpr int kDelayMs = 200;  // instead of 700, so that the test takes less time

/// Records placements until it is killed, and reports through the pipe what it has handed over. With `many`,
/// bytes are written before they are due, while others are in coding.
[[noreturn]] void recordForever(const fs::path& path, int pipeEnd, bool many) {
  FileSinkOptions options;
  options.delay = std::chrono::milliseconds(kDelayMs);
  auto sink = FileSink::create(path, options);
  if (!sink.ok()) _exit(1);
  record::Recorder recorder(**sink);
  recorder.add(model::Property{"first", "commit"});
  if (!recorder.commit().ok()) _exit(1);
  std::mt19937_64 random(1);
  const auto number = [&] { return static_cast<std::int64_t>(random() >> 1); };
  Handed handed{0, nowMs()};
  if (write(pipeEnd, &handed, sizeof handed) != sizeof handed) _exit(1);
  for (std::int64_t rows = 0;;) {
    for (int i = 0; i < 500; ++i, ++rows) {
      model::Placement row;
      row.start = model::Ticks(10 * rows);
      row.end = model::Ticks(10 * rows + 7);
      if (many) {
        row.end = model::Ticks(number());
        row.id = model::PlacementId(number()), row.segment = model::SegmentId(number());
        row.device = model::DeviceId(number()), row.run = model::RunId(number());
      }
      recorder.add(row);
    }
    if (!recorder.commitIfDue().ok()) _exit(1);
    handed = {rows, nowMs()};
    if (write(pipeEnd, &handed, sizeof handed) != sizeof handed) _exit(1);
    usleep(500);
  }
}

void killOnce(int delayMs, bool many) {
  SCOPED_TRACE(::testing::Message() << delayMs << (many ? " many bytes" : ""));
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) recordForever(path, ends[1], many);
  close(ends[1]);
  std::vector<Handed> all(1);
  ASSERT_EQ(read(ends[0], all.data(), sizeof(Handed)), static_cast<ssize_t>(sizeof(Handed)));
  Handed next{};
  const std::int64_t end = nowMs() + delayMs;
  while (nowMs() < end && read(ends[0], &next, sizeof next) == sizeof next) all.push_back(next);
  kill(child, SIGKILL);
  const std::int64_t killed = nowMs();
  while (read(ends[0], &next, sizeof next) == sizeof next) all.push_back(next);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));

  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::incomplete);
  EXPECT_EQ((*reader)->state()->reason, "the program that wrote it ended without closing the profile");
  const auto rows = (*reader)->rows<model::Placement>();
  ASSERT_OK(rows);
  for (std::size_t i = 0; i < (*rows)->size(); ++i)
    ASSERT_EQ((**rows)[i].start.count, static_cast<std::int64_t>(10 * i)) << "row " << i;
  // Rows that were handed over a second before the end must be there. The sink was given a fifth of that
  // time.
  std::int64_t due = 0;
  for (const Handed& handed : all) {
    if (handed.ms <= killed - 1000) due = handed.rows;
  }
  EXPECT_GE(static_cast<std::int64_t>((*rows)->size()), due);
  EXPECT_LE(static_cast<std::int64_t>((*rows)->size()), all.back().rows + 500);
  // A second run takes the path over.
  writeProfile(path, {makeRowSet(1, 0)});
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(Kill, AtRandomMomentsAtMostTheLastSecondIsMissing) {
  const char* full = std::getenv("PIPESCOPE_FULL_TESTS");
  const int times = full != nullptr && *full != '\0' ? 200 : 10;
  std::mt19937 random(7);
  for (int i = 0; i < times && !HasFailure(); ++i) {
    // Every fifth process runs so long that rows must be there.
    killOnce(i % 5 == 4 ? 1100 + static_cast<int>(random() % 300) : static_cast<int>(random() % 300),
             i % 2 != 0);
  }
}

}  // namespace
}  // namespace pipescope::store::testing
