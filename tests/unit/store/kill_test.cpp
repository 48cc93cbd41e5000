// Kills a recording process at random moments. Every file must open and hold a beginning of what was
// recorded. Rows become readable without a commit that waits for them, and what a reader has seen is never
// lost.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <random>

#include "profiler/store/file_sink.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kRowsAtOnce = 500;
constexpr int kDelayMs = 20;  // instead of 700, so that rows appear soon

/// Records placements until it is killed, and reports through the pipe how many it has handed over. With
/// `many`, bytes are written before they are due, while others are in coding.
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
  for (std::int64_t rows = 0;;) {
    if (write(pipeEnd, &rows, sizeof rows) != sizeof rows) _exit(1);
    for (int i = 0; i < kRowsAtOnce; ++i, ++rows) {
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
  }
}

std::int64_t rowsIn(const ProfileReader& reader) {
  const auto rows = reader.rows<model::Placement>();
  return rows.ok() ? static_cast<std::int64_t>((*rows)->size()) : -1;
}

/// Progress of a recording process: the number of rows that it has handed over by its last report, and how
/// many of them a reader has seen.
struct Progress {
  std::int64_t handedOver = 0;
  std::int64_t seen = 0;
};

/// Reads reports of the child until it has handed over `handedOver` rows, then waits until a reader sees at
/// least `seen` of them. The child goes on meanwhile: its reports are read, so that the pipe never stops it.
/// Nothing if the child ended or its file could not be read.
std::optional<Progress> waitForRows(const fs::path& path, int pipeEnd, std::int64_t handedOver,
                                    std::int64_t seen) {
  Progress now;
  do {  // The first report, of no rows, comes after the commit that makes the file.
    if (read(pipeEnd, &now.handedOver, sizeof now.handedOver) != sizeof now.handedOver) return std::nullopt;
  } while (now.handedOver < handedOver);
  if (seen == 0) return now;
  const auto reader = ProfileReader::open(path);
  if (!reader.ok()) return std::nullopt;
  while (now.seen < seen) {
    if (read(pipeEnd, &now.handedOver, sizeof now.handedOver) != sizeof now.handedOver) return std::nullopt;
    if (!(*reader)->refresh().ok()) return std::nullopt;
    now.seen = rowsIn(**reader);
    if (now.seen < 0) return std::nullopt;
  }
  return now;
}

/// Kills the child when it has handed over so many rows and, if `seen` is not 0, a reader has seen so many.
void killOnce(std::int64_t handedOver, std::int64_t seen, bool many) {
  SCOPED_TRACE(::testing::Message() << handedOver << (many ? " rows of many bytes" : " rows"));
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) recordForever(path, ends[1], many);
  close(ends[1]);
  const std::optional<Progress> progress = waitForRows(path, ends[0], handedOver, seen);
  kill(child, SIGKILL);
  EXPECT_TRUE(progress.has_value()) << "the recording process ended, or its file could not be read";
  // Reports that were read before count as well: the pipe may be empty when the process is killed.
  std::int64_t last = progress ? progress->handedOver : 0;
  for (std::int64_t report = 0; read(ends[0], &report, sizeof report) == sizeof report;) last = report;
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
  // Rows that a reader has seen stay, and nothing is there that was not handed over.
  EXPECT_GE(static_cast<std::int64_t>((*rows)->size()), progress ? progress->seen : 0);
  EXPECT_LE(static_cast<std::int64_t>((*rows)->size()), last + kRowsAtOnce);
  // A second run takes the path over.
  writeProfile(path, {makeRowSet(1, 0)});
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(Kill, AtRandomMomentsWhatWasSeenIsKept) {
  const char* full = std::getenv("PIPESCOPE_FULL_TESTS");
  const int times = full != nullptr && *full != '\0' ? 200 : 10;
  std::mt19937 random(7);
  for (int i = 0; i < times && !HasFailure(); ++i) {
    const std::int64_t handedOver = kRowsAtOnce * static_cast<std::int64_t>(random() % 200);
    // Every second process is killed after a reader has seen rows that nobody asked it to write.
    killOnce(handedOver, i % 4 < 2 ? 0 : handedOver + 1, i % 2 != 0);
  }
}

}  // namespace
}  // namespace pipescope::store::testing
