// Tests files that were cut, changed or forged. Opening them gives an error sentence or a profile with named
// holes, but never other rows than were written, a crash or a hang.
#include <random>

#include "profiler/store/batch.h"
#include "profiler/store/verify.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

/// Reads everything that can be read. Whatever is read without an error must be what was written.
void expectRightOrRefused(const fs::path& path, const model::RowSet& written, int& refusals) {
  const auto reader = ProfileReader::open(path);
  if (!reader.ok()) {
    ++refusals;
    EXPECT_TRUE(reader.error().message.starts_with(path.string())) << reader.error().message;
    EXPECT_NE(reader.error().kind, base::ErrorKind::internal) << reader.error().message;
    return;
  }
  for (std::size_t table = 0; table < model::kTableCount; ++table) {
    const auto rows = (*reader)->table(table);
    if (!rows.ok()) {
      ++refusals;
      EXPECT_TRUE(rows.error().message.starts_with(path.string())) << rows.error().message;
      EXPECT_NE(rows.error().message.find(model::tables()[table].name), std::string::npos)
          << rows.error().message;
      continue;
    }
    EXPECT_EQ(render(*rows), render(written.only(table)));
  }
}

struct Sample {
  Sample() : rows(makeRowSet(3, 0)) {
    writeProfile(folder / "whole.pop", {makeRowSet(3, 0), makeRowSet(2, 11)});
    rows.append(makeRowSet(2, 11));
    bytes = readFile(folder / "whole.pop");
  }
  Folder folder;
  model::RowSet rows;
  std::string bytes;
};

TEST(Damage, AFileCutAnywhereIsRefused) {
  const Sample sample;
  for (std::size_t length = 0; length < sample.bytes.size(); length += 512) {
    SCOPED_TRACE(length);
    writeFile(sample.folder / "cut.pop", sample.bytes.substr(0, length));
    int refusals = 0;
    expectRightOrRefused(sample.folder / "cut.pop", sample.rows, refusals);
    EXPECT_GT(refusals, 0);
  }
}

TEST(Damage, AFileWithoutItsLastBytesIsIncomplete) {
  const Sample sample;
  writeFile(sample.folder / "cut.pop", sample.bytes.substr(0, sample.bytes.size() - 512));
  const auto reader = ProfileReader::open(sample.folder / "cut.pop");
  if (!reader.ok()) return;  // The missing part was needed for opening.
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::incomplete);
  EXPECT_EQ((*reader)->state()->reason, "the file's end is missing: it has " +
                                            std::to_string(sample.bytes.size() - 512) + " of " +
                                            std::to_string(sample.bytes.size()) + " bytes");
}

TEST(Damage, VerifyCallsAFileCutAnywhereDamaged) {
  const Sample sample;
  base::SilentProgress progress;
  const fs::path path = sample.folder / "cut.pop";
  for (const std::size_t length : {0, 1, 15, 16, 50, 99, 100, 511}) {
    SCOPED_TRACE(length);
    writeFile(path, sample.bytes.substr(0, length));
    const auto verified = verify(path, progress);
    ASSERT_OK(verified);
    EXPECT_TRUE(verified->isDamaged());
  }
  for (std::size_t length = 512; length < sample.bytes.size(); length += 512) {
    SCOPED_TRACE(length);
    writeFile(path, sample.bytes.substr(0, length));
    const auto verified = verify(path, progress);
    ASSERT_OK(verified);
    EXPECT_TRUE(verified->isDamaged());
    EXPECT_FALSE(verified->isComplete());
    EXPECT_EQ(verified->contentHash, "");
  }
}

TEST(Damage, VerifyRecognisesAProfileWhoseHeaderIsDamaged) {
  const Sample sample;
  base::SilentProgress progress;
  const fs::path path = sample.folder / "changed.pop";
  for (const auto& [place, count] :
       {std::pair<std::size_t, std::size_t>{0, 1}, {0, 16}, {0, 100}, {16, 2}, {18, 1}, {68, 4}, {0, 4096}}) {
    SCOPED_TRACE(place);
    std::string bytes = sample.bytes;
    for (std::size_t i = place; i < place + count; ++i) bytes[i] = '\x55';
    writeFile(path, bytes);
    const auto verified = verify(path, progress);
    ASSERT_OK(verified);
    EXPECT_TRUE(verified->isDamaged());
  }
}

TEST(Damage, VerifyRefusesWhatIsNoProfileOfThisFormat) {
  const Sample sample;
  base::SilentProgress progress;
  writeFile(sample.folder / "letter", std::string(5000, 'x'));
  EXPECT_THAT(verify(sample.folder / "letter", progress), FailsWith("is not a profile"));
  runSql(sample.folder / "other.db", "CREATE TABLE x(y)");
  EXPECT_THAT(verify(sample.folder / "other.db", progress), FailsWith("not a Pipescope profile"));
  runSql(sample.folder / "whole.pop", "PRAGMA user_version = 7003");
  EXPECT_THAT(verify(sample.folder / "whole.pop", progress), FailsWith("is a profile of format 7.3"));
}

TEST(Damage, VerifyTellsAnIncompleteProfileFromADamagedOne) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  base::SilentProgress progress;
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(makeRowSet(2, 0)));
  ASSERT_OK((*writer)->finish(model::ProfileState::incomplete, "the disk was full"));
  const auto incomplete = verify(path, progress);
  ASSERT_OK(incomplete);
  EXPECT_FALSE(incomplete->isDamaged());
  EXPECT_FALSE(incomplete->isComplete());
  EXPECT_EQ(incomplete->contentHash.size(), 32u);
  runSql(path, "UPDATE store_state SET reason = 'x'");
  const auto damaged = verify(path, progress);
  ASSERT_OK(damaged);
  ASSERT_EQ(damaged->holes.size(), 1u);
  EXPECT_EQ(damaged->holes[0], "the entry that says how the run ended is damaged");
}

TEST(Damage, ChangedBytesNeverChangeRows) {
  const Sample sample;
  std::mt19937 random(4);
  int refusals = 0;
  for (int i = 0; i < 600; ++i) {
    std::string bytes = sample.bytes;
    // The headers of the file and of its pages matter most, so every third change hits one of them.
    std::size_t place = random() % bytes.size();
    if (i % 3 == 0) place = place / 4096 * 4096 + random() % 110;
    if (place >= bytes.size()) continue;
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << random() % 8));
    SCOPED_TRACE("byte " + std::to_string(place));
    writeFile(sample.folder / "changed.pop", bytes);
    expectRightOrRefused(sample.folder / "changed.pop", sample.rows, refusals);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refusals, 100);
}

TEST(Damage, OverwrittenPagesNeverChangeRows) {
  const Sample sample;
  std::mt19937 random(5);
  for (std::size_t page = 0; page * 4096 < sample.bytes.size(); ++page) {
    for (const bool zeros : {true, false}) {
      std::string bytes = sample.bytes;
      for (std::size_t i = 0; i < 4096; ++i) bytes[page * 4096 + i] = static_cast<char>(zeros ? 0 : random());
      SCOPED_TRACE(page);
      writeFile(sample.folder / "changed.pop", bytes);
      int refusals = 0;
      expectRightOrRefused(sample.folder / "changed.pop", sample.rows, refusals);
    }
  }
}

/// The error of reading a table after some SQL has changed the profile.
template <class Row>
std::string afterSql(const std::string& sql) {
  const Folder folder;
  writeProfile(folder / "profile.pop", {makeRowSet(3, 0), makeRowSet(2, 11), makeRowSet(4, 5)});
  runSql(folder / "profile.pop", sql);
  const auto reader = ProfileReader::open(folder / "profile.pop");
  if (!reader.ok()) return reader.error().message;
  const auto rows = (*reader)->rows<Row>();
  return rows.ok() ? "read" : rows.error().message;
}

TEST(Damage, EverySentenceNamesTableAndRows) {
  const auto expectSentence = [](const std::string& found, const std::string& sentence) {
    EXPECT_NE(found.find(sentence), std::string::npos) << found;
  };
  using model::Device;
  using model::Placement;
  const std::string number = std::to_string(model::tableIndexOf<Placement>());
  expectSentence(afterSql<Device>("UPDATE device SET ticks_per_second = 'x' WHERE rowid = 2"),
                 "table device cannot be read: row 1 is damaged.");
  expectSentence(afterSql<Device>("DELETE FROM device WHERE rowid = 2"),
                 "table device cannot be read: it holds 8 of its 9 rows.");
  expectSentence(afterSql<Device>("UPDATE device SET name = 'other' WHERE rowid = 2"),
                 "table device cannot be read: its rows do not agree with their checksum.");
  expectSentence(afterSql<model::Lane>("UPDATE lane SET role = 1000 WHERE rowid = 1"),
                 "table lane cannot be read: row 0 is damaged.");
  expectSentence(afterSql<Device>("DELETE FROM store_table"),
                 "table device cannot be read: its entry in store_table is damaged or missing.");
  expectSentence(afterSql<Device>("UPDATE store_table SET rows = 8"),
                 "its entry in store_table is damaged or missing.");
  expectSentence(
      afterSql<Placement>("UPDATE store_payload SET payload = x'00'"),
      "rows 0 to 2 of table placement cannot be read: the block does not agree with its checksum.");
  expectSentence(afterSql<Placement>("DELETE FROM store_payload"),
                 "the block does not agree with its checksum.");
  const std::string lost =
      ": table placement cannot be read: rows 3 to 4 are lost, because the directory of blocks is damaged.";
  const std::string second = "WHERE table_number = " + number + " AND first_row = 3";
  expectSentence(afterSql<Placement>("DELETE FROM store_block " + second), lost);
  expectSentence(afterSql<Placement>("UPDATE store_block SET start = 0, crc32 = 5 " + second), lost);
  expectSentence(afterSql<Placement>("UPDATE store_block SET rows = 'two' " + second), lost);
  expectSentence(afterSql<Placement>("DELETE FROM store_block"), "rows 0 to 8 are lost");
  expectSentence(afterSql<Device>("DELETE FROM store_block"), "read");
}

TEST(Damage, AroundAHoleTheRestIsRead) {
  const Folder folder;
  writeProfile(folder / "profile.pop", {makeRowSet(3, 0), makeRowSet(2, 11), makeRowSet(4, 5)});
  runSql(folder / "profile.pop", "DELETE FROM store_block WHERE first_row = 3");
  const auto reader = ProfileReader::open(folder / "profile.pop");
  ASSERT_OK(reader);
  const auto blocks = (*reader)->blocks<model::Wait>();
  ASSERT_OK(blocks);
  ASSERT_EQ(blocks->size(), 3u);
  EXPECT_EQ((*blocks)[1].rows, 0);
  EXPECT_FALSE((*blocks)[1].hasTime);
  EXPECT_OK((*reader)->block<model::Wait>(0));
  EXPECT_THAT((*reader)->block<model::Wait>(1), FailsWith("rows 3 to 4 are lost"));
  EXPECT_THAT((*reader)->ranges<model::Wait>(1), FailsWith("block 1 of table wait has no ranges"));
  const auto last = (*reader)->block<model::Wait>(2);
  ASSERT_OK(last);
  EXPECT_EQ((*last)->size(), 4u);
}

TEST(Damage, ADamagedStateIsIncomplete) {
  for (const char* sql : {"UPDATE store_state SET state = 0", "DELETE FROM store_state",
                          "UPDATE store_state SET reason = x'00'"}) {
    const Folder folder;
    writeProfile(folder / "profile.pop", {makeRowSet(1, 0)});
    runSql(folder / "profile.pop", sql);
    const auto reader = ProfileReader::open(folder / "profile.pop");
    ASSERT_OK(reader);
    EXPECT_EQ((*reader)->state()->state, model::ProfileState::incomplete);
    EXPECT_EQ((*reader)->state()->reason, "the entry that says how the run ended is damaged");
    EXPECT_EQ(readProfile(folder / "profile.pop"), render(makeRowSet(1, 0)));
  }
}

/// Replaces a row of the directory and makes its checksum right, as a forger can.
void forge(const fs::path& path, BlockRecord record) {
  const std::string crc = std::to_string(checksumOf(record));
  runSql(path,
         "UPDATE store_block SET first_row = " + std::to_string(record.firstRow) + ", rows = " +
             std::to_string(record.info.rows) + ", raw_bytes = " + std::to_string(record.rawBytes) +
             ", bytes = " + std::to_string(record.bytes) + ", \"offset\" = " + std::to_string(record.offset) +
             ", prior_bytes = " + std::to_string(record.priorBytes) +
             ", payload = " + std::to_string(record.payload) +
             ", bytes_crc32 = 0, ranges = x'', crc32 = " + crc + " WHERE id = " + std::to_string(record.id));
}

/// Many rows of a table may refer to one long text, so that a small file claims to hold any amount of text.
TEST(Damage, RowsThatShareTheirTextAreRefused) {
  constexpr std::size_t kLong = 200'000, kRows = 20;
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  model::RowSet rows;
  rows.of<model::Property>().push_back({"long", std::string(kLong, 'x')});
  for (std::size_t i = 1; i < kRows; ++i) rows.of<model::Property>().push_back({"k", "v"});
  writeProfile(path, {rows});
  const auto number = [&](const char* sql) {
    return static_cast<std::size_t>(selectNumbers(path, sql).at(0));
  };
  const std::size_t page =
      (number("SELECT rootpage FROM sqlite_master WHERE name = 'property'") - 1) * number("PRAGMA page_size");
  std::string bytes = readFile(path);
  // A page of rows begins with its kind (13), its number of rows at byte 3, and their places from byte 8 on.
  ASSERT_EQ(bytes[page], 13);
  ASSERT_EQ(static_cast<std::size_t>(bytes[page + 4]), kRows);
  for (std::size_t i = 1; i < kRows; ++i) bytes.replace(page + 8 + 2 * i, 2, bytes, page + 8, 2);
  writeFile(path, bytes);
  const auto reader = ProfileReader::open(path);
  // The first rows whose texts are longer than the file together.
  const std::string refused = "row " + std::to_string(bytes.size() / (kLong + 4)) + " is damaged";
  if (!reader.ok()) {
    EXPECT_NE(reader.error().message.find(refused), std::string::npos) << reader.error().message;
  } else {
    EXPECT_THAT((*reader)->rows<model::Property>(), FailsWith(refused));
  }
}

TEST(Damage, ForgedCountsReserveNoMemory) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  model::RowSet rows;
  rows.of<model::Placement>().resize(5);
  writeProfile(path, {rows});
  BlockRecord record;
  record.id = 1;
  record.table = model::tableIndexOf<model::Placement>();
  record.info.hasTime = true;
  record.payload = 1;
  for (const auto& [firstRow, count, raw] :
       {std::tuple(std::int64_t{0}, kHuge, std::int64_t{100}),
        std::tuple(std::int64_t{0}, std::int64_t{5}, kHuge),
        std::tuple(kHuge, std::int64_t{5}, std::int64_t{100}),
        std::tuple(std::int64_t{-5}, std::int64_t{5}, std::int64_t{100})}) {
    record.firstRow = firstRow;
    record.info.rows = count;
    record.rawBytes = raw;
    record.bytes = 100;
    forge(path, record);
    const auto reader = ProfileReader::open(path);
    ASSERT_OK(reader);
    EXPECT_THAT((*reader)->rows<model::Placement>(), FailsWith("cannot be read"));
  }
  record.firstRow = 0, record.info.rows = 5, record.rawBytes = 100;
  for (std::int64_t BlockRecord::*field :
       {&BlockRecord::bytes, &BlockRecord::offset, &BlockRecord::priorBytes, &BlockRecord::payload}) {
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{1} << 20, kMostBytes, kHuge}) {
      BlockRecord forged = record;
      forged.*field = value;
      forge(path, forged);
      const auto reader = ProfileReader::open(path);
      ASSERT_OK(reader);
      EXPECT_THAT((*reader)->rows<model::Placement>(), FailsWith("cannot be read"));
    }
  }
  TableTotals totals{kHuge, kHuge, 0};
  const std::int64_t device = model::tableIndexOf<model::Device>();
  runSql(path, "UPDATE store_table SET rows = " + std::to_string(kHuge) +
                   ", blocks = rows, rows_crc32 = 0, crc32 = " +
                   std::to_string(checksumOf(device, "device", totals)) +
                   " WHERE number = " + std::to_string(device));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_THAT((*reader)->rows<model::Device>(), FailsWith("its entry in store_table is damaged or missing"));
}

}  // namespace
}  // namespace pipescope::store::testing
