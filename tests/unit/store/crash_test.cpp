// Tests what is on the disk if a writer dies or the disk fails, at every file operation.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_vfs.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;
using Fault = FaultVfs::Fault;

/// Rows of two plain tables and of two tables in blocks, on as few pages as possible.
model::RowSet makeBatch(std::size_t count, std::uint64_t seed) {
  model::RowSet rows;
  rows.of<model::Property>() = makeRows<model::Property>(count, seed);
  rows.of<model::Device>() = makeRows<model::Device>(count, seed);
  rows.of<model::Placement>() = makeRows<model::Placement>(10 * count, seed);
  rows.of<model::Run>() = makeRows<model::Run>(count, seed);
  return rows;
}

const std::vector<model::RowSet>& batches() {
  static const std::vector<model::RowSet> all = {makeBatch(2, 1), makeBatch(9, 50), makeBatch(1, 7)};
  return all;
}

/// The rows of a profile with the first `count` batches.
const std::vector<std::string>& expected(std::size_t count) {
  static const std::vector<std::vector<std::string>> all = [] {
    std::vector<std::vector<std::string>> states(1);
    model::RowSet rows;
    for (const model::RowSet& batch : batches()) {
      rows.append(batch);
      states.push_back(render(rows));
    }
    return states;
  }();
  return all[count];
}

struct Ending {
  std::size_t commits = 0;  ///< commits that returned
  bool finished = false;
  bool killed = false;
};

/// Writes all batches in a child process that is killed at an operation. The child reports its progress
/// through a pipe.
Ending writeAndDie(const fs::path& path, int operation) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    FaultVfs faults;
    faults.failAt(Fault::kill, operation);
    auto writer = ProfileWriter::create(path);
    bool ok = writer.ok();
    for (std::size_t i = 0; ok && i < batches().size(); ++i) {
      ok = (*writer)->commit(batches()[i]).ok() && write(ends[1], "c", 1) == 1;
    }
    ok = ok && (*writer)->finish(model::ProfileState::complete, "").ok() && write(ends[1], "f", 1) == 1;
    _exit(ok ? 0 : 1);
  }
  close(ends[1]);
  Ending ending;
  for (char what = 0; read(ends[0], &what, 1) == 1;)
    what == 'c' ? void(++ending.commits) : void(ending.finished = true);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ending.killed = WIFSIGNALED(status);
  EXPECT_TRUE(ending.killed || WEXITSTATUS(status) == 0);
  return ending;
}

/// Checks a file after a death: it holds everything that was committed, at most one commit more, and a state.
void checkSurvivor(const fs::path& path, const Ending& ending) {
  const std::vector<std::string> found = readProfile(path);
  const std::size_t more = std::min(ending.commits + 1, batches().size());
  EXPECT_TRUE(found == expected(ending.commits) || found == expected(more));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  const auto state = (*reader)->state();
  ASSERT_OK(state);
  if (state->state != model::ProfileState::complete) {
    EXPECT_EQ(state->state, model::ProfileState::incomplete);
    EXPECT_EQ(state->reason, "the program that wrote it ended without closing the profile");
    EXPECT_FALSE(ending.finished);
  }
}

TEST(Crash, AWriterKilledAtAnyOperationLeavesEveryCommit) {
  for (int operation = 1;; ++operation) {
    SCOPED_TRACE(operation);
    const Folder folder;
    const fs::path path = folder / "profile.pop";
    const Ending ending = writeAndDie(path, operation);
    if (!ending.killed) {
      EXPECT_GT(operation, 40) << "fewer operations than three commits can have";
      break;
    }
    if (fs::exists(path)) {
      checkSurvivor(path, ending);
    } else {
      EXPECT_EQ(ending.commits, 0u);
    }
    // The remains of the dead writer do not disturb the next writer, which leaves one plain file.
    const FaultVfs withoutSync;
    writeProfile(path, {makeBatch(1, 3)});
    EXPECT_EQ(readProfile(path), render(makeBatch(1, 3)));
    EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
    if (HasFailure()) break;
  }
}

TEST(Crash, AnOlderProfileIsUntouchedUntilTheFirstCommit) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeBatch(5, 99)});
  const std::string older = readFile(path);
  bool replaced = false;
  for (int operation = 1; !replaced; ++operation) {
    SCOPED_TRACE(operation);
    const Ending ending = writeAndDie(path, operation);
    ASSERT_TRUE(ending.killed);
    replaced = readFile(path) != older;
    if (replaced) {
      checkSurvivor(path, ending);
    } else {
      EXPECT_EQ(ending.commits, 0u);
    }
  }
}

TEST(Crash, AnInterruptedOlderProfileIsReplacedWithoutItsJournal) {
  // Kills a writer in its second commit, so that a journal lies next to the file. A new profile must not take
  // the journal for its own.
  bool journalSeen = false;
  for (int operation = 1; operation < 200; ++operation) {
    const Folder folder;
    const fs::path path = folder / "profile.pop";
    if (!writeAndDie(path, operation).killed) break;
    if (!fs::exists(folder / "profile.pop-journal")) continue;
    journalSeen = true;
    const FaultVfs withoutSync;
    writeProfile(path, {batches()[1]});
    EXPECT_EQ(readProfile(path), render(batches()[1]));
    EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
  }
  EXPECT_TRUE(journalSeen);
}

TEST(Crash, WithoutWriteAccessAnInterruptedProfileSaysWhatToDo) {
  for (int operation = 1; operation < 200; ++operation) {
    const Folder folder;
    const fs::path path = folder / "profile.pop";
    const Ending ending = writeAndDie(path, operation);
    ASSERT_TRUE(ending.killed) << "no operation left a journal to be rolled back";
    FaultVfs faults;
    faults.setReadOnly(true);
    if (!fs::exists(path) || ProfileReader::open(path).ok()) continue;
    EXPECT_THAT(ProfileReader::open(path),
                FailsWith("was left in the middle of a commit, and undoing that needs write "
                          "access; copy it and " +
                          path.string() + "-journal to a folder"));
    faults.setReadOnly(false);
    checkSurvivor(path, ending);
    return;
  }
}

/// Fails each operation in turn until a commit succeeds. After each failure the file is as before, and the
/// same commit then succeeds.
void failEverywhere(Fault fault) {
  for (std::size_t batch = 0; batch < batches().size(); ++batch) {
    for (int operation = 1;; ++operation) {
      SCOPED_TRACE("batch " + std::to_string(batch) + ", operation " + std::to_string(operation));
      const Folder folder;
      const fs::path path = folder / "profile.pop";
      FaultVfs faults;
      auto writer = ProfileWriter::create(path);
      ASSERT_OK(writer);
      for (std::size_t i = 0; i < batch; ++i) ASSERT_OK((*writer)->commit(batches()[i]));
      faults.failAt(fault, operation);
      const base::Status status = (*writer)->commit(batches()[batch]);
      if (!faults.happened()) {
        EXPECT_OK(status);
        EXPECT_GT(operation, 5);
        break;
      }
      faults.failAt(Fault::none, 0);
      if (!status.ok()) {
        EXPECT_EQ(status.error().kind, fault == Fault::full ? base::ErrorKind::machine : base::ErrorKind::io);
        EXPECT_THAT(status, FailsWith(fault == Fault::full ? "no space is left on the disk"
                                                           : "the system reported an error"));
        if (batch == 0) {
          EXPECT_FALSE(fs::exists(path));
        } else {
          EXPECT_EQ(readProfile(path), expected(batch));
        }
        ASSERT_OK((*writer)->commit(batches()[batch]));
      }
      EXPECT_EQ(readProfile(path), expected(batch + 1));
      ASSERT_OK((*writer)->finish(model::ProfileState::complete, ""));
      EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Crash, AFullDiskAtAnyOperationKeepsTheFileAndTheCommitCanBeRepeated) {
  failEverywhere(Fault::full);
}

TEST(Crash, AnInputOutputErrorAtAnyOperationKeepsTheFileAndTheCommitCanBeRepeated) {
  failEverywhere(Fault::ioError);
}

TEST(Crash, OnAFullDiskTheProfileSoFarIsKeptAndEndsAsIncomplete) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  FaultVfs faults;
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(batches()[0]));
  faults.setDiskFull(true);
  const base::Status status = (*writer)->commit(batches()[1]);
  EXPECT_THAT(status,
              FailsWith("no space is left on the disk (adding rows); what was committed before is kept"));
  EXPECT_EQ(status.error().kind, base::ErrorKind::machine);
  ASSERT_OK((*writer)->finish(model::ProfileState::incomplete, status.error().message));
  EXPECT_EQ(readProfile(path), expected(1));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::incomplete);
  EXPECT_EQ((*reader)->state()->reason, status.error().message);
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(Crash, OnADiskThatIsFullFromTheStartNothingIsLeft) {
  const Folder folder;
  FaultVfs faults;
  faults.setDiskFull(true);
  auto writer = ProfileWriter::create(folder / "profile.pop");
  ASSERT_OK(writer);
  const base::Status status = (*writer)->commit(batches()[0]);
  EXPECT_THAT(status, FailsWith("/profile.pop: no space is left on the disk"));
  EXPECT_THAT(status, FailsWith("; nothing was written. Free some space"));
  EXPECT_OK((*writer)->finish(model::ProfileState::incomplete, "no space"));
  EXPECT_TRUE(folder.files().empty());
}

}  // namespace
}  // namespace pipescope::store::testing
