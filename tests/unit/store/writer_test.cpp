#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "fault_vfs.h"
#include "profiler/store/sqlite_database.h"
#include "profiler/store/writer_process.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

/// Checks that create() refuses with this sentence and leaves the file as it is.
void expectRefused(const fs::path& path, const std::string& sentence, ErrorKind kind) {
  const auto writer = ProfileWriter::create(path);
  EXPECT_THAT(writer, FailsWith(sentence));
  if (!writer.ok()) {
    EXPECT_EQ(writer.error().kind, kind);
  }
}

TEST(Writer, RefusesPathsThatCannotBeWritten) {
  const Folder folder;
  writeFile(folder / "file", "text");
  fs::create_directory(folder / "sub");
  expectRefused("", "no path is given for the profile", ErrorKind::badInput);
  expectRefused(folder.path(), "is a folder; name a file in it, such as " + (folder / "profile.pop").string(),
                ErrorKind::io);
  expectRefused(folder / "sub/", "is a folder; name a file in it", ErrorKind::io);
  expectRefused(folder / "missing/profile.pop",
                (folder / "missing").string() + " is not a folder; make it first", ErrorKind::io);
  expectRefused(folder / "file/profile.pop", (folder / "file").string() + " is not a folder", ErrorKind::io);
  expectRefused("/proc/profile.pop", "cannot write to the folder /proc: ", ErrorKind::io);
  for (const std::size_t length : {248, 300}) {
    expectRefused(folder / std::string(length, 'x'),
                  "the name of the profile, " + std::string(40, 'x') + "…, is longer than 247",
                  ErrorKind::badInput);
  }
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"file", "sub"}));
}

TEST(Writer, OverwritesNothingButProfiles) {
  const Folder folder;
  const std::string refusal =
      "exists and is not a Pipescope profile; it is left untouched. Choose another name.";
  for (const std::string& text : {std::string("a thesis"), std::string(10'000, 'x')}) {
    writeFile(folder / "file", text);
    expectRefused(folder / "file", refusal, ErrorKind::badInput);
    EXPECT_EQ(readFile(folder / "file"), text);
  }
  runSql(folder / "foreign.pop", "CREATE TABLE x(y); INSERT INTO x VALUES (1)");
  const std::string foreign = readFile(folder / "foreign.pop");
  expectRefused(folder / "foreign.pop", refusal, ErrorKind::badInput);
  EXPECT_EQ(readFile(folder / "foreign.pop"), foreign);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expectRefused(folder / "pipe", "exists and is not a plain file; it is left untouched", ErrorKind::badInput);
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"file", "foreign.pop", "pipe"}));
}

TEST(Writer, ReplacesProfilesOfAnyFormatEvenDamagedOnes) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(2, 0)});
  runSql(path, "PRAGMA user_version = 7003");
  fs::resize_file(path, 3000);
  writeProfile(path, {makeRowSet(1, 4)});
  EXPECT_EQ(readProfile(path), render(makeRowSet(1, 4)));
}

TEST(Writer, WritesWhereALinkPoints) {
  const Folder folder;
  fs::create_directory(folder / "disk");
  writeProfile(folder / "disk/real.pop", {});
  fs::create_symlink(folder / "disk/real.pop", folder / "profile.pop");
  writeProfile(folder / "profile.pop", {makeRowSet(1, 0)});
  EXPECT_TRUE(fs::is_symlink(folder / "profile.pop"));
  EXPECT_EQ(readProfile(folder / "disk/real.pop"), render(makeRowSet(1, 0)));
}

TEST(Writer, LeavesNothingWithoutACommit) {
  const Folder folder;
  for (const model::ProfileState state : {model::ProfileState::cancelled, model::ProfileState::incomplete}) {
    auto writer = ProfileWriter::create(folder / "profile.pop");
    ASSERT_OK(writer);
    EXPECT_EQ(folder.files(), std::vector<std::string>{".profile.pop.lock"});
    ASSERT_OK((*writer)->finish(state, "the user asked to stop"));
    EXPECT_TRUE(folder.files().empty());
  }
  ASSERT_OK(ProfileWriter::create(folder / "profile.pop"));  // destroyed at once
  EXPECT_TRUE(folder.files().empty());
}

TEST(Writer, AnOlderProfileStaysUntilTheFirstCommit) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(2, 0)});
  const std::string older = readFile(path);
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  EXPECT_EQ(readFile(path), older);
  ASSERT_OK((*writer)->commit(makeRowSet(1, 0)));
  EXPECT_EQ(readProfile(path), render(makeRowSet(1, 0)));
}

/// Rows as of a run before its first call.
model::RowSet rowsWithoutCall() {
  model::RowSet rows = makeRowSet(1, 0);
  rows.of<model::Run>().clear();
  return rows;
}

TEST(Writer, BesideAnOlderProfileTheNewOneIsAPartUntilTheFirstCall) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(2, 0)});
  const std::string older = readFile(path);
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(rowsWithoutCall()));
  ASSERT_OK((*writer)->commit(rowsWithoutCall()));
  EXPECT_EQ(readFile(path), older);
  model::RowSet all = rowsWithoutCall();
  all.append(rowsWithoutCall());
  EXPECT_EQ(readProfile(folder / "profile.pop.part"), render(all));
  EXPECT_FALSE((*writer)->isAtPath());
  ASSERT_OK((*writer)->commit(makeRowSet(1, 5)));
  all.append(makeRowSet(1, 5));
  EXPECT_TRUE((*writer)->isAtPath());
  EXPECT_EQ(readProfile(path), render(all));
  ASSERT_OK((*writer)->commit(makeRowSet(1, 7)));
  ASSERT_OK((*writer)->finish(model::ProfileState::incomplete, "stopped"));
  all.append(makeRowSet(1, 7));
  EXPECT_EQ(readProfile(path), render(all));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(Writer, WithoutAnOlderProfileTheFirstCommitIsAtThePath) {
  const Folder folder;
  auto writer = ProfileWriter::create(folder / "profile.pop");
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(rowsWithoutCall()));
  EXPECT_TRUE((*writer)->isAtPath());
  EXPECT_EQ(readProfile(folder / "profile.pop"), render(rowsWithoutCall()));
}

TEST(Writer, ARunThatEndsBeforeItsFirstCallLeavesTheOlderProfile) {
  using enum model::ProfileState;
  for (const auto state :
       {std::optional(cancelled), std::optional(incomplete), std::optional<model::ProfileState>()}) {
    const Folder folder;
    const fs::path path = folder / "profile.pop";
    writeProfile(path, {makeRowSet(2, 0)});
    const std::string older = readFile(path);
    {
      auto writer = ProfileWriter::create(path);
      ASSERT_OK(writer);
      ASSERT_OK((*writer)->commit(rowsWithoutCall()));
      if (state) ASSERT_OK((*writer)->finish(*state, "refused"));
    }
    EXPECT_EQ(readFile(path), older);
    EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
  }
}

TEST(Writer, ACompleteProfileWithoutCallsReplacesTheOlderOne) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(2, 0)});
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(rowsWithoutCall()));
  ASSERT_OK((*writer)->finish(model::ProfileState::complete, ""));
  EXPECT_EQ(readProfile(path), render(rowsWithoutCall()));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(Writer, ThePartReplacesOnlyProfiles) {
  const Folder folder;
  const fs::path path = folder / "profile.pop", part = folder / "profile.pop.part";
  writeFile(part, "a thesis");
  ASSERT_OK(ProfileWriter::create(path));  // no part is needed
  writeProfile(path, {makeRowSet(1, 0)});
  expectRefused(path, part.string() + " exists and is not a Pipescope profile; it is left untouched",
                ErrorKind::badInput);
  EXPECT_EQ(readFile(part), "a thesis");
  fs::remove(part);
  fs::copy_file(path, part);  // as a killed run leaves it
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(makeRowSet(1, 3)));
  ASSERT_OK((*writer)->finish(model::ProfileState::complete, ""));
  EXPECT_EQ(readProfile(path), render(makeRowSet(1, 3)));
}

TEST(Writer, AForeignFileThatReplacesTheOlderProfileIsKeptAndThePartToo) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(1, 0)});
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(rowsWithoutCall()));
  fs::remove(path);
  writeFile(path, "a thesis");
  EXPECT_THAT((*writer)->commit(makeRowSet(1, 3)),
              FailsWith("it is left untouched. Choose another name. The profile so far is " + path.string() +
                        ".part."));
  static_cast<void>((*writer)->finish(model::ProfileState::incomplete, "refused"));
  EXPECT_EQ(readFile(path), "a thesis");
  model::RowSet all = rowsWithoutCall();
  all.append(makeRowSet(1, 3));
  EXPECT_EQ(readProfile(folder / "profile.pop.part"), render(all));
}

TEST(Writer, OverwriteReplacesOtherFiles) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeFile(path, "a thesis");
  WriterOptions options;
  options.rules.overwrite = true;
  auto writer = ProfileWriter::create(path, options);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(rowsWithoutCall()));
  EXPECT_EQ(readFile(path), "a thesis");
  ASSERT_OK((*writer)->commit(makeRowSet(1, 3)));
  model::RowSet all = rowsWithoutCall();
  all.append(makeRowSet(1, 3));
  EXPECT_EQ(readProfile(path), render(all));
}

TEST(Writer, StandardOutputIsNoPlaceForAProfile) {
  expectRefused("-", "A Pipescope profile cannot be written to standard output", ErrorKind::badInput);
}

TEST(Writer, StateAndReasonAreReadBack) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(makeRowSet(1, 0)));
  auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::running);
  EXPECT_THAT((*reader)->lastCommitUtc(), ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
  ASSERT_OK((*writer)->finish(model::ProfileState::cancelled, "stopped by Ctrl-C"));
  ASSERT_OK((*reader)->refresh());
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::cancelled);
  EXPECT_EQ((*reader)->state()->reason, "stopped by Ctrl-C");
  EXPECT_THAT((*writer)->commit(makeRowSet(1, 0)), FailsWith("rows after the profile's end"));
  EXPECT_THAT((*writer)->finish(model::ProfileState::complete, ""),
              FailsWith("the profile has been ended before"));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(Writer, WithoutFinishTheStateStaysRunning) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  {
    auto writer = ProfileWriter::create(path);
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->commit(makeRowSet(1, 0)));
  }
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::running);  // this process is alive
}

TEST(Writer, ASecondWriterOnOnePathIsRefused) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto first = ProfileWriter::create(path);
  ASSERT_OK(first);
  const std::string sentence = path.string() + " is being written by another run (process " +
                               std::to_string(getpid()) + "); wait for it, or choose another path.";
  expectRefused(path, sentence, ErrorKind::io);
  fs::create_symlink(path, folder / "link.pop");
  ASSERT_OK((*first)->commit(makeRowSet(1, 0)));
  expectRefused(path, sentence, ErrorKind::io);
  expectRefused(folder / "link.pop", sentence, ErrorKind::io);
  ASSERT_OK(ProfileWriter::create(folder / "other.pop"));
  ASSERT_OK((*first)->finish(model::ProfileState::complete, ""));
  EXPECT_OK(ProfileWriter::create(path));
}

TEST(Writer, AFileThatIsRemovedOrReplacedMeanwhileIsAnError) {
  for (const bool replaced : {false, true}) {
    const Folder folder;
    const fs::path path = folder / "profile.pop";
    auto writer = ProfileWriter::create(path);
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->commit(makeRowSet(1, 0)));
    fs::rename(path, folder / "moved.pop");
    if (replaced) writeFile(path, "something else");
    const base::Status status = (*writer)->commit(makeRowSet(1, 0));
    EXPECT_THAT(status, FailsWith(path.string() + " was removed or replaced while it was being written"));
    EXPECT_EQ(status.error().kind, ErrorKind::io);
    EXPECT_THAT((*writer)->finish(model::ProfileState::complete, ""), FailsWith("was removed or replaced"));
    EXPECT_EQ(readProfile(folder / "moved.pop"), render(makeRowSet(1, 0)));
    if (replaced) {
      EXPECT_EQ(readFile(path), "something else");
    }
  }
}

TEST(Writer, AForeignFileThatAppearsBeforeTheFirstCommitIsUntouched) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  writeFile(path, "a thesis");
  EXPECT_THAT((*writer)->commit(makeRowSet(1, 0)), FailsWith("exists and is not a Pipescope profile"));
  EXPECT_EQ(readFile(path), "a thesis");
}

TEST(Writer, AFolderThatAppearsDuringTheFirstCommitIsAnError) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  FaultVfs vfs;
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  vfs.setObserver([&] { fs::create_directory(path); });
  EXPECT_THAT((*writer)->commit(makeRowSet(1, 0)),
              FailsWith("cannot put the profile at " + path.string() + ": Is a directory; check the folder"));
}

TEST(Writer, ALockedFileIsAnErrorAfterAWhileAndTheCommitCanBeRepeated) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto writer = ProfileWriter::create(path, {.patience = std::chrono::milliseconds(0)});
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(makeRowSet(1, 0)));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN; SELECT * FROM property", nullptr, nullptr, nullptr), SQLITE_OK);
  const base::Status status = (*writer)->commit(makeRowSet(1, 5));
  EXPECT_THAT(status,
              FailsWith(path.string() + " is locked by another program (COMMIT); close that program"));
  EXPECT_EQ(status.error().kind, ErrorKind::io);
  EXPECT_EQ(readProfile(path), render(makeRowSet(1, 0)));
  sqlite3_close(other);
  ASSERT_OK((*writer)->commit(makeRowSet(1, 5)));
  model::RowSet both = makeRowSet(1, 0);
  both.append(makeRowSet(1, 5));
  EXPECT_EQ(readProfile(path), render(both));
}

TEST(Writer, AFolderThatCannotBeWrittenLaterIsAnError) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  auto writer = ProfileWriter::create(folder / "sub/profile.pop");
  ASSERT_OK(writer);
  fs::remove_all(folder / "sub");
  EXPECT_THAT((*writer)->commit(makeRowSet(1, 0)), FailsWith("sub is not a folder. Make it first"));
}

TEST(Database, MistakesOfOursAreInternalErrors) {
  const Folder folder;
  auto database =
      Database::open((folder / "x").string(), Database::Mode::create, std::chrono::milliseconds(0));
  ASSERT_OK(database);
  const base::Status status = database->execute("nonsense");
  EXPECT_THAT(status, FailsWith("SQLite error 1 (nonsense: "));
  EXPECT_EQ(status.error().kind, ErrorKind::internal);
}

TEST(WriterProcess, OnlyAProcessThatIsCertainlyGoneIsDead) {
  const WriterProcess self = thisProcess();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_FALSE(isDead(self));
  WriterProcess other = self;
  other.start += 1;
  EXPECT_TRUE(isDead(other)) << "the same id, given to a later process";
  other = self;
  other.pid = 0x7ffffff0;
  EXPECT_TRUE(isDead(other)) << "more than Linux gives out";
  other.host += "x";
  EXPECT_FALSE(isDead(other)) << "of other hosts nothing is known";
  other = self;
  other.boot = "another boot";
  EXPECT_TRUE(isDead(other));
  EXPECT_FALSE(isDead({}));
}

}  // namespace
}  // namespace pipescope::store::testing
