#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "profiler/base/version.h"
#include "profiler/store/format.h"
#include "profiler/store/notes.h"
#include "profiler/store/verify.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

void expectUnreadable(const fs::path& path, const std::string& sentence,
                      ErrorKind kind = ErrorKind::badInput) {
  const auto reader = ProfileReader::open(path);
  EXPECT_THAT(reader, FailsWith(sentence));
  if (reader.ok()) return;
  EXPECT_EQ(reader.error().kind, kind);
  EXPECT_TRUE(reader.error().message.starts_with(path.string())) << reader.error().message;
}

TEST(Reader, NamesWhatIsNoFile) {
  const Folder folder;
  EXPECT_THAT(ProfileReader::open(""), FailsWith("no path of a profile is given"));
  expectUnreadable(folder / "missing.pop", "does not exist; check the path", ErrorKind::io);
  expectUnreadable(folder.path(), "is a folder; name a profile in it", ErrorKind::io);
  expectUnreadable(folder / std::string(300, 'x'), "File name too long; check the path", ErrorKind::io);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expectUnreadable(folder / "pipe", "is not a plain file, so it cannot be a profile");
}

TEST(Reader, RefusesOtherKindsOfFiles) {
  const Folder folder;
  for (const std::string& bytes :
       {std::string(), std::string("text"), std::string(5000, '\0'), std::string("SQLite format 3\0", 16)}) {
    writeFile(folder / "file", bytes);
    expectUnreadable(folder / "file", "is not a profile: it is not an SQLite database");
  }
}

TEST(Reader, RefusesGraphcoresProfileAndOtherDatabases) {
  const Folder folder;
  // The profile of Graphcore is an SQLite database with tables of its own. Nothing more is published about
  // it.
  runSql(folder / "profile.pop", "CREATE TABLE Target(id INTEGER); CREATE TABLE Programs(id INTEGER)");
  expectUnreadable(
      folder / "profile.pop",
      "is an SQLite database, but not a Pipescope profile. If it is a profile.pop of Graphcore's "
      "tools: the layout of that file is not published, so pipescope cannot read it; open it with PopVision");
  runSql(folder / "other.db", "PRAGMA application_id = 1; CREATE TABLE property(key, value)");
  expectUnreadable(folder / "other.db", "is an SQLite database, but not a Pipescope profile");
}

TEST(Reader, RefusesOtherFormats) {
  const Folder folder;
  for (const std::uint32_t version : {0U, 1U, userVersionOf(kFormatMajor + 1, 0), userVersionOf(7, 3)}) {
    const fs::path path = folder / (formatName(version) + ".pop");
    writeProfile(path, {});
    runSql(path, "PRAGMA user_version = " + std::to_string(version));
    expectUnreadable(
        path, fmt::format("is a profile of format {}, and pipescope {} reads formats 0.8 to {}.x only. "
                          "Open it with the pipescope that wrote it, or make it anew with `pipescope "
                          "run` or `pipescope import`.",
                          formatName(version), base::version(), kFormatMajor));
  }
}

TEST(Reader, ReadsNewerMinors) {
  const Folder folder;
  const fs::path path = folder / "newer.pop";
  const model::RowSet rows = makeRowSet(3, 0);
  writeProfile(path, {rows});
  runSql(path, "PRAGMA user_version = " + std::to_string(kUserVersion + 1));
  runSql(path, "CREATE TABLE \"added\"(\"x\" INTEGER NOT NULL)");
  EXPECT_EQ(readProfile(path), render(rows));
  EXPECT_OK(writeNotes(path, {{0, {}, {}, {}, "still a newer file"}}));
  EXPECT_EQ(selectNumbers(path, "PRAGMA user_version"), std::vector<std::int64_t>{kUserVersion + 1});
}

TEST(Reader, OtherMinorsHaveOtherColumnsAtTheEndOfTables) {
  const auto find = [](std::string_view name) {
    return *std::ranges::find(knownTables(), name, &KnownTable::name);
  };
  const KnownTable lane = find("lane");
  const std::string start = lane.create.substr(0, lane.create.size() - 1);
  for (const char* more : {"", ", \"x_2\" INTEGER NOT NULL", ", \"a\" REAL, \"b\" TEXT NOT NULL"})
    EXPECT_TRUE(isDefinition(lane, start + more + ")")) << more;
  EXPECT_TRUE(isDefinition(lane, start.substr(0, start.rfind(", \"")) + ")")) << "an older minor";
  for (const char* more :
       {", x INTEGER NOT NULL", ", \"\" REAL", ", \"a\" REAL AS (1)", ", \"a\" INTEGER NOT NULL DEFAULT 0",
        ", \"a\" REAL)", ", \"a\" BLOB", ", UNIQUE(\"id\")", ", \"a"})
    EXPECT_FALSE(isDefinition(lane, start + more + ")")) << more;
  EXPECT_FALSE(isDefinition(lane, start + ") STRICT"));
  for (const char* fixed : {"note", "store_state", "store_block"}) {
    const KnownTable table = find(fixed);
    EXPECT_TRUE(isDefinition(table, table.create));
    EXPECT_FALSE(isDefinition(table, table.create.substr(0, table.create.size() - 1) + ", \"a\" REAL)"))
        << fixed;
  }
}

/// Makes a file of format 0.8 of one that has no rows of the host.
void makeOlder(const fs::path& path) {
  runSql(path, "DELETE FROM store_table WHERE number >= " +
                   std::to_string(model::tableIndexOf<model::HostThread>()));
  runSql(path, "PRAGMA user_version = 8");
}

TEST(Reader, ReadsFilesOfTheFormatWithoutTheHost) {
  const Folder folder;
  const fs::path path = folder / "older.pop";
  model::RowSet rows = makeRowSet(3, 0);
  model::forEachRowType([&]<class Row>() {
    if constexpr (model::kIsOfHost<Row>) rows.of<Row>().clear();
  });
  writeProfile(path, {rows});
  makeOlder(path);
  EXPECT_EQ(readProfile(path), render(rows));
  base::SilentProgress progress;
  const auto verified = verify(path, progress);
  ASSERT_OK(verified);
  EXPECT_FALSE(verified->isDamaged());
  ASSERT_OK(writeNotes(path, {{0, {}, {}, {}, "still an older file"}}));
  EXPECT_EQ(selectNumbers(path, "PRAGMA user_version"), std::vector<std::int64_t>{8});
  EXPECT_OK(ProfileReader::open(path));
}

TEST(Reader, NamesTablesThatTheFormatOfAFileDoesNotHave) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(3, 0)});
  runSql(path, "PRAGMA user_version = 8");
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  ASSERT_FALSE((*reader)->damage().empty());
  EXPECT_EQ((*reader)->damage()[0],
            "the file has a table host_thread, which its format does not have: the number of its format is "
            "damaged");
}

TEST(Reader, RefusesWalMode) {
  const Folder folder;
  writeProfile(folder / "profile.pop", {});
  runSql(folder / "profile.pop", "PRAGMA journal_mode = WAL");
  expectUnreadable(folder / "profile.pop", "is in SQLite's WAL mode, which pipescope never uses");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(Reader, RefusesHostileSchemas) {
  const struct {
    const char* sql;
    std::string sentence;
  } cases[] = {
      {"CREATE VIEW v AS SELECT 1", "has a view (v), unlike a profile of format "},
      {"DROP TABLE device; CREATE VIEW device AS SELECT * FROM lane", "has a view (device)"},
      {"CREATE TRIGGER t AFTER INSERT ON lane BEGIN DELETE FROM device; END", "has a trigger (t)"},
      {"CREATE TEMP TABLE unused(x); CREATE VIRTUAL TABLE f USING fts5(x)", "has a virtual table (f)"},
      {"CREATE INDEX i ON device(name)", "has another definition of table device (i)"},
      {"ALTER TABLE device ADD COLUMN extra", "has another definition of table device (device)"},
      {"DROP TABLE device; CREATE TABLE device(id)", "has another definition of table device (device)"},
      {"DROP TABLE device", "tables, unlike a profile of format " + formatName(kUserVersion)},
  };
  for (const auto& [sql, sentence] : cases) {
    const Folder folder;
    writeProfile(folder / "profile.pop", {});
    runSql(folder / "profile.pop", sql);
    expectUnreadable(folder / "profile.pop", sentence);
  }
}

TEST(Reader, IgnoresPlainTablesItDoesNotKnow) {
  const Folder folder;
  writeProfile(folder / "profile.pop", {makeRowSet(2, 0)});
  runSql(folder / "profile.pop",
         "CREATE TABLE remarks(x UNIQUE); CREATE INDEX i ON remarks(x); INSERT INTO remarks VALUES (1)");
  EXPECT_EQ(readProfile(folder / "profile.pop"), render(makeRowSet(2, 0)));
}

TEST(Reader, ReadsWhereNothingCanBeWritten) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  writeProfile(folder / "sub/profile.pop", {makeRowSet(2, 0)});
  fs::permissions(folder / "sub/profile.pop", fs::perms::owner_read);
  fs::permissions(folder / "sub", fs::perms::owner_read | fs::perms::owner_exec);
  // Root can write in spite of the permissions. In that case the file must at least be unchanged.
  EXPECT_EQ(readProfile(folder / "sub/profile.pop"), render(makeRowSet(2, 0)));
  fs::permissions(folder / "sub", fs::perms::owner_all);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "sub"), fs::directory_iterator()), 1);
}

TEST(Reader, ShowsTheProfileAsOfTheLastRefresh) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(makeRowSet(3, 0)));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  const std::int64_t revision = (*reader)->revision();
  ASSERT_OK((*writer)->commit(makeRowSet(4, 9)));
  EXPECT_GT((*reader)->revision(), revision);
  EXPECT_EQ(render(*(*reader)->everything()), render(makeRowSet(3, 0)));
  const auto changed = (*reader)->refresh();
  ASSERT_OK(changed);
  EXPECT_TRUE(*changed);
  model::RowSet both = makeRowSet(3, 0);
  both.append(makeRowSet(4, 9));
  EXPECT_EQ(render(*(*reader)->everything()), render(both));
  EXPECT_FALSE(*(*reader)->refresh());
  ASSERT_OK((*writer)->finish(model::ProfileState::complete, ""));
  EXPECT_TRUE(*(*reader)->refresh());
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::complete);
}

TEST(Reader, KeepsTheOldFileWhenANewRunReplacesIt) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(3, 0)});
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_FALSE((*reader)->replaced());
  writeProfile(path, {makeRowSet(2, 4)});
  EXPECT_TRUE((*reader)->replaced());
  EXPECT_EQ(render(*(*reader)->everything()), render(makeRowSet(3, 0)));
  EXPECT_EQ(readProfile(path), render(makeRowSet(2, 4)));
}

TEST(Reader, SaysWhenTheFileHasGoneAndCannotBeReadAnyMore) {
  const Folder folder;
  writeProfile(folder / "profile.pop", {makeRowSet(3, 0)});
  const auto reader = ProfileReader::open(folder / "profile.pop");
  ASSERT_OK(reader);
  const std::int64_t revision = (*reader)->revision();
  fs::rename(folder / "profile.pop", folder / "moved.pop");
  fs::resize_file(folder / "moved.pop", 0);
  const auto refreshed = (*reader)->refresh();
  EXPECT_THAT(refreshed, FailsWith("was removed or replaced since it was opened; open it again"));
  EXPECT_EQ((*reader)->revision(), revision);
}

TEST(Reader, ALockedFileIsAnErrorAfterAWhile) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(1, 0)});
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto reader = ProfileReader::open(path, {.cache = nullptr, .patience = std::chrono::milliseconds(0)});
  EXPECT_THAT(reader, FailsWith(" is locked by another program"));
  sqlite3_close(other);
  EXPECT_OK(ProfileReader::open(path));
}

model::RowSet countedBatch(std::int64_t first, std::int64_t count) {
  model::RowSet rows;
  for (std::int64_t i = first; i < first + count; ++i) {
    rows.of<model::Placement>().emplace_back().id = model::PlacementId(i);
    rows.of<model::Property>().push_back({std::to_string(i), "value"});
  }
  return rows;
}

/// Checks that the reader shows a number of whole batches of 10 rows, and returns that number.
std::int64_t checkWholeBatches(const ProfileReader& reader) {
  const auto placements = reader.rows<model::Placement>();
  const auto properties = reader.rows<model::Property>();
  EXPECT_OK(placements);
  EXPECT_OK(properties);
  if (!placements.ok() || !properties.ok()) return 0;
  const auto count = static_cast<std::int64_t>((*placements)->size());
  EXPECT_EQ(count % 10, 0);
  EXPECT_EQ((*properties)->size(), (*placements)->size());
  for (std::int64_t i = 0; i < count; ++i) {
    if ((**placements)[static_cast<std::size_t>(i)].id.value != i) return ADD_FAILURE(), 0;
  }
  return count / 10;
}

TEST(Reader, AnotherProcessGrowsTheFileWhileItIsRead) {
  constexpr std::int64_t kBatches = 150;
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  int toParent[2], toChild[2];
  ASSERT_EQ(pipe(toParent), 0);
  ASSERT_EQ(pipe(toChild), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go = 0;
    auto writer = ProfileWriter::create(path);
    bool ok = writer.ok() && (*writer)->commit(countedBatch(0, 10)).ok();
    ok = ok && write(toParent[1], "c", 1) == 1 && read(toChild[0], &go, 1) == 1;
    for (std::int64_t i = 1; ok && i < kBatches; ++i) ok = (*writer)->commit(countedBatch(10 * i, 10)).ok();
    ok = ok && (*writer)->finish(model::ProfileState::complete, "").ok();
    _exit(ok ? 0 : 1);
  }
  close(toParent[1]);
  char committed = 0;
  ASSERT_EQ(read(toParent[0], &committed, 1), 1) << "the child could not write";
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  std::int64_t seen = checkWholeBatches(**reader);
  EXPECT_EQ(seen, 1);
  ASSERT_EQ(write(toChild[1], "g", 1), 1);
  while ((*reader)->state()->state == model::ProfileState::running) {
    const std::int64_t revision = (*reader)->revision();
    ASSERT_OK((*reader)->refresh());
    const std::int64_t batches = checkWholeBatches(**reader);
    ASSERT_GE(batches, std::min(revision, kBatches));
    ASSERT_GE(batches, seen);
    seen = batches;
  }
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::complete);
  EXPECT_EQ(seen, kBatches);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "readers made a commit fail";
  for (const int end : {toParent[0], toChild[0], toChild[1]}) close(end);
}

TEST(Reader, ManyThreadsReadWhileThisProcessWrites) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(countedBatch(0, 10)));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        // The directory may change between two reads, so each block is checked by itself.
        EXPECT_OK((*reader)->refresh());
        const auto blocks = (*reader)->blocks<model::Placement>();
        ASSERT_OK(blocks);
        std::int64_t next = 0;
        for (std::size_t b = 0; b < blocks->size(); ++b) {
          const auto block = (*reader)->block<model::Placement>(b);
          ASSERT_OK(block);
          for (const model::Placement& placement : **block) ASSERT_EQ(placement.id.value, next++);
        }
        EXPECT_GE((*reader)->revision(), 1);
      }
    });
  }
  for (std::int64_t i = 1; i < 60; ++i) EXPECT_OK((*writer)->commit(countedBatch(10 * i, 10)));
  done = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK((*reader)->refresh());
  EXPECT_EQ(checkWholeBatches(**reader), 60);
}

}  // namespace
}  // namespace pipescope::store::testing
