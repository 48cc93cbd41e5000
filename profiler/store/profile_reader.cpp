#include "profiler/store/profile_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "profiler/store/blocks/block_codec.h"
#include "profiler/store/blocks/checksum.h"
#include "profiler/store/blocks/coder_threads.h"
#include "profiler/store/blocks/column_keeper.h"
#include "profiler/store/blocks/compact_columns.h"
#include "profiler/store/format.h"
#include "profiler/store/payload_reader.h"
#include "profiler/store/profile_path.h"
#include "profiler/store/reader_database.h"
#include "profiler/store/row_reader.h"
#include "profiler/store/snapshot.h"

namespace pipescope::store {
namespace fs = std::filesystem;
namespace {

bool isPlain(std::size_t table) {
  return model::tables()[table].storage == model::Storage::plain;
}

std::string nameOf(std::size_t table) {
  return std::string("table ") + model::tables()[table].name;
}

std::string nameOfRows(const BlockRecord& record) {
  return fmt::format("rows {} to {} of table {}", record.firstRow, record.firstRow + record.info.rows - 1,
                     model::tables()[static_cast<std::size_t>(record.table)].name);
}

/// One thread for all readers, in addition to those that ask; none on a machine with one processor.
CoderThreads& keeperThreads() {
  static CoderThreads threads(std::min(2U, std::thread::hardware_concurrency()));
  return threads;
}

std::uint64_t nextReaderNumber() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

struct ProfileReader::Impl {
  explicit Impl(Database opened) : database(std::move(opened)), payloads(database) {}

  std::string path;
  std::chrono::milliseconds patience{0};
  std::shared_ptr<BlockCache> cache;
  const std::uint64_t number = nextReaderNumber();

  std::mutex databaseMutex;  // locked around every use of the connection
  Database database;
  PayloadReader payloads;
  std::int64_t lastRevision = 0;
  bool otherMinor = false;  // the file may have other columns than this program

  RecentColumns recent;
  RecentPriors priors;
  SeenBlocks seen;
  std::optional<ColumnKeeper> keeper;

  mutable std::mutex snapshotMutex;  // locked around the pointer; what it points to never changes
  std::shared_ptr<const Snapshot> snapshot;

  std::shared_ptr<const Snapshot> current() const {
    const std::lock_guard lock(snapshotMutex);
    return snapshot;
  }

  template <class Attempt>
  std::invoke_result_t<Attempt, bool&> tried(Attempt&& attempt);
  template <class Body>
  std::invoke_result_t<Body> read(Body&& body);
  base::Result<Snapshot> load(const Snapshot* earlier);
  base::Result<std::vector<BlockBytes>> readBytes(const std::vector<const BlockRecord*>& records);
  base::Result<DecodedBlock> decodeBytes(const BlockRecord& record, BlockBytes found, DecodedPart part);
  base::Result<DecodedBlock> readBlock(const BlockEntry& entry, std::size_t table, DecodedPart part);
  base::Result<std::shared_ptr<const model::ColumnBlock>> keepColumns(const BlockRecord& record,
                                                                      DecodedBlock decoded);
  BlockCache::Key columnsKey(const BlockRecord& record) const {
    return {number, static_cast<std::size_t>(record.table), record.id, true};
  }
  base::Result<DecodedRows> readRows(const BlockEntry& entry, std::size_t table);
  base::Result<std::shared_ptr<const model::ColumnBlock>> readColumns(std::size_t table, std::size_t block);
  void readAhead(std::size_t table, const std::vector<std::size_t>& blocks);
  base::Result<DecodedRows> readPlain(const TableTotals& totals, std::size_t table);
  base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block);
  /// Fails if the table is damaged as a whole, or if the block does not exist.
  base::Status checkPlace(const TableContent& content, std::size_t table, std::size_t block) const;
  base::Error unreadable(const std::string& what, std::string_view problem) const {
    return base::badInput(fmt::format("{}: {} cannot be read: {}.", path, what, problem));
  }
};

/// Calls attempt(needsRollback). If an interrupted writer has left an unfinished commit, undoes that commit
/// and calls again.
template <class Attempt>
std::invoke_result_t<Attempt, bool&> ProfileReader::Impl::tried(Attempt&& attempt) {
  const std::lock_guard lock(databaseMutex);
  bool needsRollback = false;
  auto result = attempt(needsRollback);
  if (!result.ok() && database.hasMoved()) {
    return base::ioError(path + " was removed or replaced since it was opened; open it again.");
  }
  if (!needsRollback) return result;
  if (!rollBack(path, patience).ok()) {
    return base::ioError(
        path + " was left in the middle of a commit, and undoing that needs write access; copy it and " +
        path + "-journal to a folder that can be written, and open the copy.");
  }
  return attempt(needsRollback);
}

/// Runs `body` in one read transaction.
template <class Body>
std::invoke_result_t<Body> ProfileReader::Impl::read(Body&& body) {
  return tried([&](bool& needsRollback) -> std::invoke_result_t<Body> {
    PIPESCOPE_TRY(database.execute("BEGIN"));
    auto result = body();
    needsRollback = !result.ok() && database.needsRollback();
    static_cast<void>(database.execute("COMMIT"));
    return result;
  });
}

base::Result<Snapshot> ProfileReader::Impl::load(const Snapshot* earlier) {
  return read([&]() -> base::Result<Snapshot> {
    if (earlier == nullptr) PIPESCOPE_TRY(checkSchema(database));
    return loadSnapshot(database, earlier);
  });
}

/// Reads all blocks in one transaction, because locking the file takes as long as reading a block.
base::Result<std::vector<BlockBytes>> ProfileReader::Impl::readBytes(
    const std::vector<const BlockRecord*>& records) {
  return tried([&](bool& needsRollback) -> base::Result<std::vector<BlockBytes>> {
    std::vector<BlockBytes> all;
    base::Status status;
    for (const BlockRecord* record : records) {
      base::Result<BlockBytes> found = payloads.read(*record, priors.find(*record), nameOfRows(*record));
      if (!found.ok()) status = found.error();
      if (!found.ok()) break;
      all.push_back(std::move(*found));
    }
    needsRollback = !status.ok() && database.needsRollback();
    payloads.end();
    if (!status.ok()) return status.error();
    return all;
  });
}

base::Result<DecodedBlock> ProfileReader::Impl::decodeBytes(const BlockRecord& record, BlockBytes found,
                                                            DecodedPart part) {
  const std::uint32_t priorsCrc32 =
      found.priors ? found.priors->crc32 : Checksum().bytes(found.priorBytes).value();
  const bool complete = static_cast<std::int64_t>(found.bytes.size()) == record.bytes;
  if (!complete || Checksum(priorsCrc32).bytes(found.bytes).value() != record.bytesCrc32)
    return unreadable(nameOfRows(record), "the block does not agree with its checksum");
  if (!found.priors) {
    base::Result<std::vector<Priors>> decoded = decodePriors(found.priorBytes);
    if (!decoded.ok()) return unreadable(nameOfRows(record), decoded.error().message);
    found.priors = std::make_shared<const PayloadPriors>(PayloadPriors{priorsCrc32, std::move(*decoded)});
    priors.keep(record, found.priors);
  }
  const RowReader& reader = rowReader(static_cast<std::size_t>(record.table));
  base::Result<DecodedBlock> block = decodeBlock(
      found.bytes, static_cast<std::size_t>(record.info.rows), record.rawBytes, reader.types, part,
      found.priors->priors, otherMinor ? ColumnDefaults(reader.defaults) : ColumnDefaults());
  if (!block.ok()) return unreadable(nameOfRows(record), block.error().message);
  return block;
}

base::Result<DecodedBlock> ProfileReader::Impl::readBlock(const BlockEntry& entry, std::size_t table,
                                                          DecodedPart part) {
  if (!entry.problem.empty()) return unreadable(nameOf(table), entry.problem);
  PIPESCOPE_ASSIGN(std::vector<BlockBytes> found, readBytes({&entry.record}));
  return decodeBytes(entry.record, std::move(found.front()), part);
}

base::Result<DecodedRows> ProfileReader::Impl::readRows(const BlockEntry& entry, std::size_t table) {
  PIPESCOPE_ASSIGN(DecodedBlock block, readBlock(entry, table, DecodedPart::all));
  base::Result<DecodedRows> rows =
      rowReader(table).toRows(block, static_cast<std::size_t>(entry.record.info.rows));
  recycle(std::move(block));
  if (!rows.ok()) return unreadable(nameOfRows(entry.record), rows.error().message);
  return rows;
}

base::Result<DecodedRows> ProfileReader::Impl::readPlain(const TableTotals& totals, std::size_t table) {
  base::Result<DecodedRows> rows = read([&] { return rowReader(table).readPlain(database, totals); });
  const bool namesFile = rows.ok() || rows.error().message.starts_with(path);
  if (namesFile || rows.error().kind != base::ErrorKind::badInput) return rows;
  return unreadable(nameOf(table), rows.error().message);
}

ProfileReader::ProfileReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ProfileReader::~ProfileReader() {
  impl_->keeper.reset();
  impl_->cache->forget(impl_->number);
}

base::Result<std::shared_ptr<ProfileReader>> ProfileReader::open(const fs::path& path, OpenOptions options) {
  if (path.empty()) return base::badInput("no path of a profile is given.");
  std::error_code failed;
  const std::string absolute = fs::absolute(path, failed).string();
  PIPESCOPE_ASSIGN(Database database, openForReading(absolute, options.patience));
  auto impl = std::make_unique<Impl>(std::move(database));
  impl->path = absolute;
  impl->patience = options.patience;
  impl->cache = options.cache ? options.cache : BlockCache::ofProcess();
  impl->keeper.emplace(impl->cache, keeperThreads());
  PIPESCOPE_ASSIGN(const FileHeader header, impl->database.header());
  impl->otherMinor = header.userVersion != kUserVersion;
  PIPESCOPE_ASSIGN(Snapshot snapshot, impl->load(nullptr));
  impl->lastRevision = snapshot.commits;
  impl->snapshot = std::make_shared<const Snapshot>(std::move(snapshot));
  return std::shared_ptr<ProfileReader>(new ProfileReader(std::move(impl)));
}

base::Result<model::SourceState> ProfileReader::state() const {
  const auto snapshot = impl_->current();
  if (snapshot->state.state == model::ProfileState::running && isDead(snapshot->writer)) {
    return model::SourceState{model::ProfileState::incomplete,
                              "the program that wrote it ended without closing the profile"};
  }
  return snapshot->state;
}

std::vector<std::string> ProfileReader::damage() const {
  return impl_->current()->damage;
}

std::int64_t ProfileReader::revision() const {
  const base::Result<std::int64_t> commits = impl_->read([this] { return readCommits(impl_->database); });
  const std::lock_guard lock(impl_->databaseMutex);
  if (commits.ok()) impl_->lastRevision = *commits;
  return impl_->lastRevision;
}

base::Result<bool> ProfileReader::refresh() {
  const auto earlier = impl_->current();
  PIPESCOPE_ASSIGN(Snapshot next, impl_->load(earlier.get()));
  const bool changed = next.commits != earlier->commits;
  const std::lock_guard lock(impl_->snapshotMutex);
  // Another thread may have been faster and have seen a later commit.
  if (next.commits >= impl_->snapshot->commits)
    impl_->snapshot = std::make_shared<const Snapshot>(std::move(next));
  return changed;
}

bool ProfileReader::replaced() const {
  const std::lock_guard lock(impl_->databaseMutex);
  return impl_->database.hasMoved();
}

const std::string& ProfileReader::path() const {
  return impl_->path;
}

std::string ProfileReader::lastCommitUtc() const {
  return impl_->current()->lastCommitUtc;
}

base::Result<std::vector<model::BlockInfo>> ProfileReader::directory(std::size_t table) const {
  const auto snapshot = impl_->current();
  const TableContent& content = snapshot->tables[table];
  if (!content.problem.empty()) return impl_->unreadable(nameOf(table), content.problem);
  std::vector<model::BlockInfo> infos;
  if (isPlain(table)) {
    infos.emplace_back().rows = content.totals.rows;
  } else {
    for (const BlockEntry& entry : content.blocks) infos.push_back(entry.record.info);
  }
  return infos;
}

base::Status ProfileReader::Impl::checkPlace(const TableContent& content, std::size_t table,
                                             std::size_t block) const {
  if (!content.problem.empty()) return unreadable(nameOf(table), content.problem);
  if (block < (isPlain(table) ? 1 : content.blocks.size())) return {};
  return base::internalError(
      fmt::format("{}: table {} has no block {}.", path, model::tables()[table].name, block));
}

base::Result<std::shared_ptr<const void>> ProfileReader::Impl::decode(std::size_t table, std::size_t block) {
  const auto now = current();
  const TableContent& content = now->tables[table];
  PIPESCOPE_TRY(checkPlace(content, table, block));
  const BlockCache::Key key{number, table,
                            isPlain(table) ? content.totals.rows : content.blocks[block].record.id, false};
  if (BlockCache::Value known = cache->find(key)) return known;
  PIPESCOPE_ASSIGN(const DecodedRows decoded, isPlain(table) ? readPlain(content.totals, table)
                                                             : readRows(content.blocks[block], table));
  return cache->insert(key, decoded.rows, decoded.bytes);
}

base::Result<std::shared_ptr<const model::ColumnBlock>> ProfileReader::Impl::readColumns(std::size_t table,
                                                                                         std::size_t block) {
  const auto now = current();
  const TableContent& content = now->tables[table];
  PIPESCOPE_TRY(checkPlace(content, table, block));
  const BlockEntry& entry = content.blocks[block];
  const BlockCache::Key key = columnsKey(entry.record);
  if (RecentColumns::Block known = recent.find(key)) return known;
  if (const BlockCache::Value known = cache->find(key)) {
    auto columns = ColumnPool::ofProcess()->expanded(*std::static_pointer_cast<const CompactColumns>(known));
    recent.keep(key, columns);
    return columns;
  }
  PIPESCOPE_ASSIGN(DecodedBlock decoded, readBlock(entry, table, DecodedPart::integers));
  return keepColumns(entry.record, std::move(decoded));
}

base::Result<std::shared_ptr<const model::ColumnBlock>> ProfileReader::Impl::keepColumns(
    const BlockRecord& record, DecodedBlock decoded) {
  const BlockCache::Key key = columnsKey(record);
  if (const base::Status fits = rowReader(key.table).checkColumns(decoded.columns); !fits.ok())
    return unreadable(nameOfRows(record), fits.error().message);
  auto columns =
      ColumnPool::ofProcess()->adopted(decoded.columns, static_cast<std::size_t>(record.info.rows));
  recent.keep(key, columns);
  if (seen.again(key)) static_cast<void>(keeper->keep(key, columns));
  recycle(std::move(decoded));
  return columns;
}

/// Reads several blocks at once. It uses one thread, because waking another takes as long as decoding its
/// share.
void ProfileReader::Impl::readAhead(std::size_t table, const std::vector<std::size_t>& blocks) {
  const auto now = current();
  const std::vector<BlockEntry>& entries = now->tables[table].blocks;
  std::vector<const BlockRecord*> missing;
  for (const std::size_t block : blocks) {
    if (block >= entries.size() || missing.size() >= RecentColumns::kMost || !entries[block].problem.empty())
      continue;
    const BlockRecord& record = entries[block].record;
    const BlockCache::Key key = columnsKey(record);
    if (recent.find(key) == nullptr && cache->find(key) == nullptr) missing.push_back(&record);
  }
  if (missing.size() < 2) return;
  base::Result<std::vector<BlockBytes>> found = readBytes(missing);
  for (std::size_t i = 0; found.ok() && i < missing.size(); ++i) {
    base::Result<DecodedBlock> decoded =
        decodeBytes(*missing[i], std::move((*found)[i]), DecodedPart::integers);
    if (decoded.ok()) static_cast<void>(keepColumns(*missing[i], std::move(*decoded)));
  }
}

base::Result<std::shared_ptr<const void>> ProfileReader::decode(std::size_t table, std::size_t block) const {
  return impl_->decode(table, block);
}

base::Result<std::shared_ptr<const model::ColumnBlock>> ProfileReader::integerColumns(
    std::size_t table, std::size_t block) const {
  return isPlain(table) ? ProfileSource::integerColumns(table, block) : impl_->readColumns(table, block);
}

void ProfileReader::expectColumns(std::size_t table, const std::vector<std::size_t>& blocks) const {
  if (!isPlain(table)) impl_->readAhead(table, blocks);
}

base::Result<std::vector<ColumnRange>> ProfileReader::columnRanges(std::size_t table,
                                                                   std::size_t block) const {
  const auto snapshot = impl_->current();
  const TableContent& content = snapshot->tables[table];
  std::vector<ColumnRange> ranges;
  if (isPlain(table)) return std::vector<ColumnRange>(model::tables()[table].columns.size());
  if (block >= content.blocks.size() || !content.blocks[block].problem.empty() ||
      !decodeRanges(content.blocks[block].record.ranges, rowReader(table).types, ranges, impl_->otherMinor)) {
    return base::badInput(fmt::format("{}: block {} of table {} has no ranges.", impl_->path, block,
                                      model::tables()[table].name));
  }
  return ranges;
}

}  // namespace pipescope::store
