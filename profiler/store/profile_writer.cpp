#include "profiler/store/profile_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "profiler/model/pyramid.h"
#include "profiler/store/batch.h"
#include "profiler/store/profile_path.h"
#include "profiler/store/sqlite_database.h"
#include "profiler/store/writer_lock.h"

namespace pipescope::store {
namespace fs = std::filesystem;

/// The coded rows of one transaction, and what the profile holds after it.
struct PreparedCommit {
  std::vector<CodedBatch> batches;
  Totals totals;
  model::PyramidBuilder pyramid;
  bool hasCall = false;  // a call from the host is among the rows

  std::int64_t payloadBytes() const {
    std::int64_t bytes = 0;
    for (const CodedBatch& batch : batches) bytes += batch.payloadBytes();
    return bytes;
  }
};

// Preparing and writing share no data, so both may run at the same time.
struct ProfileWriter::Impl {
  explicit Impl(std::size_t threads) : coder(threads) {}

  fs::path path, part, temporary;
  fs::path place;  // path of the file: `path`, `part`, or empty before the first commit
  std::vector<base::TemporaryName> names;  // files that a signal removes when it ends the program
  WriterOptions options;
  WriterLock lock;
  bool finished = false;

  BlockCoder coder;
  PreparedCommit prepared;
  std::vector<model::LevelNode> nodes;  // nodes of the rows in coding; the memory is used again

  std::optional<Database> database;  // file at `place`
  Totals totals;                     // totals of the committed rows
  model::PyramidBuilder pyramid;     // pyramid of the committed rows
  std::int64_t payloadBytes = 0;     // bytes of the committed payloads
  bool hasCall = false;              // the file at `part` should be at `path`

  template <class Set>
  base::Status prepare(std::span<Set> sets);
  std::shared_ptr<PreparedCommit> takePrepared();
  void forgetPrepared() { prepared = {{}, totals, pyramid, false}; }

  base::Status write(PreparedCommit& commit);
  base::Status openAtPlace();
  base::Error ofFirstCommit(const base::Error& error) const;
  base::Status commitFirst(const PreparedCommit& commit, Totals& next);
  base::Status commitMore(const std::vector<CodedBatch>& batches, Totals& next);
  base::Status writeTemporary(const std::vector<CodedBatch>& batches, Totals& next);
  base::Status publish();
  void close();
  base::Status end(const model::RowSet& lastRows, model::ProfileState state, const std::string& reason);
  base::Status writeLastRows(const model::RowSet& rows, bool withNodes, model::ProfileState state,
                             const std::string& reason);
  base::Status writeState(model::ProfileState state, const std::string& reason);
};

namespace {

constexpr std::chrono::milliseconds kNoPatience{0};

/// Runs `body` between BEGIN and COMMIT. If anything fails, the file stays as it was.
template <class Body>
base::Status transaction(Database& database, Body&& body) {
  PIPESCOPE_TRY(database.execute("BEGIN IMMEDIATE"));
  base::Status status = body();
  if (status.ok()) status = database.execute("COMMIT");
  // Some failures have rolled back already. If the rollback fails now, the next program that opens the file
  // does it.
  if (!database.autocommit()) static_cast<void>(database.execute("ROLLBACK"));
  return status;
}

base::Status writeAll(Database& database, const std::vector<CodedBatch>& batches, Totals& totals) {
  for (const CodedBatch& batch : batches) PIPESCOPE_TRY(batch.write(database));
  PIPESCOPE_TRY(writeTables(database, totals));
  return writeState(database, totals);
}

/// Number of plain rows from which a new file has large pages. SQLite fills these faster, and the few tables
/// that leave most of a page empty do not matter then.
constexpr std::int64_t kManyPlainRows = 16'384;

bool hasManyPlainRows(const Totals& totals) {
  std::int64_t rows = 0;
  model::forEachRowType([&]<class Row>() {
    if constexpr (Row::kStorage == model::Storage::plain)
      rows += totals.tables[model::tableIndexOf<Row>()].rows;
  });
  return rows >= kManyPlainRows;
}

base::Status createTables(Database& database) {
  PIPESCOPE_TRY(database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId)));
  PIPESCOPE_TRY(database.execute(fmt::format("PRAGMA user_version = {}", kUserVersion)));
  for (const KnownTable& table : knownTables()) PIPESCOPE_TRY(database.execute(table.create));
  return {};
}

}  // namespace

template <class Set>
base::Status ProfileWriter::Impl::prepare(std::span<Set> sets) {
  Totals next = prepared.totals;
  for (const model::RowSet& rows : sets) prepared.hasCall |= !rows.of<model::Run>().empty();
  const auto makeNodes = [&]() -> std::span<model::LevelNode> {
    nodes.clear();
    for (const model::RowSet& rows : sets) prepared.pyramid.add(rows, nodes);
    return nodes;
  };
  PIPESCOPE_ASSIGN(CodedBatch batch, CodedBatch::prepare(sets, makeNodes, coder, path.string(), next));
  prepared.totals = next;
  prepared.batches.push_back(std::move(batch));
  return {};
}

std::shared_ptr<PreparedCommit> ProfileWriter::Impl::takePrepared() {
  auto taken = std::make_shared<PreparedCommit>(std::move(prepared));
  prepared = {{}, taken->totals, taken->pyramid, false};
  return taken;
}

base::Status ProfileWriter::Impl::write(PreparedCommit& commit) {
  if (commit.batches.empty()) return {};
  Totals next = commit.totals;
  next.commits = totals.commits;  // It was prepared before the last ones were written.
  PIPESCOPE_TRY(place.empty() ? commitFirst(commit, next) : commitMore(commit.batches, next));
  payloadBytes += commit.payloadBytes();
  totals = next;
  pyramid = std::move(commit.pyramid);
  return commit.hasCall && !options.onlyWhole ? publish() : base::Status();
}

/// Gives the file its final name, which may replace an older file. A database that is open is never renamed.
base::Status ProfileWriter::Impl::publish() {
  if (place == path) return {};
  hasCall = true;
  names.clear();
  database.reset();
  base::Status status = checkProfileOutput(path, options.rules);
  if (status.ok()) status = moveInto(part, path);
  if (!status.ok()) {
    return base::Error{status.error().kind,
                       fmt::format("{} The profile so far is {}.", status.error().message, part.string())};
  }
  place = path;
  return {};
}

/// Closes the file, and removes it if it stands beside an older one and holds no call.
void ProfileWriter::Impl::close() {
  database.reset();
  if (place == part && !hasCall) removeWithSiblings(part);
  names.clear();
}

base::Status ProfileWriter::Impl::writeTemporary(const std::vector<CodedBatch>& batches, Totals& next) {
  PIPESCOPE_ASSIGN(Database file, Database::open(temporary.string(), Database::Mode::create, kNoPatience));
  // A failed first commit deletes the file, so its journal need not survive.
  PIPESCOPE_TRY(file.execute("PRAGMA journal_mode = MEMORY"));
  PIPESCOPE_TRY(file.execute("PRAGMA synchronous = FULL"));
  if (hasManyPlainRows(next)) PIPESCOPE_TRY(file.execute("PRAGMA page_size = 16384"));
  // A map of the pages lets SQLite find a part of a long payload without reading what lies before it.
  PIPESCOPE_TRY(file.execute("PRAGMA auto_vacuum = INCREMENTAL"));
  return transaction(file, [&]() -> base::Status {
    PIPESCOPE_TRY(createTables(file));
    return writeAll(file, batches, next);
  });
}

base::Error ProfileWriter::Impl::ofFirstCommit(const base::Error& error) const {
  return aboutNamedFile(error, temporary, path);
}

base::Status ProfileWriter::Impl::commitFirst(const PreparedCommit& commit, Totals& next) {
  // Another program may have put a file there since.
  PIPESCOPE_TRY(checkProfileOutput(path, options.rules));
  removeWithSiblings(temporary);
  names = temporaryDatabase(temporary);
  base::Status status = writeTemporary(commit.batches, next);
  std::error_code failed;
  const bool waits = options.onlyWhole || (fs::exists(path, failed) && !commit.hasCall);
  const fs::path& first = waits ? part : path;
  if (status.ok()) status = moveInto(temporary, first);
  if (!status.ok()) return removeWithSiblings(temporary), ofFirstCommit(status.error());
  place = first;
  names.clear();
  if (place == part && !commit.hasCall) names = temporaryDatabase(part);
  totals = next;
  // If the file cannot be opened now, the next commit tries again and reports why. The rows of this commit
  // are safe.
  static_cast<void>(openAtPlace());
  return {};
}

base::Status ProfileWriter::Impl::openAtPlace() {
  const auto replaced = [&] {
    return base::ioError(fmt::format(
        "{} was removed or replaced while it was being written; run again and leave the file in its place.",
        place.string()));
  };
  if (database) return database->hasMoved() ? base::Status(replaced()) : base::Status();
  if (std::error_code failed; !fs::exists(place, failed)) return replaced();
  PIPESCOPE_ASSIGN(Database file,
                   Database::open(place.string(), Database::Mode::readWrite, options.patience));
  PIPESCOPE_TRY(file.execute("PRAGMA synchronous = FULL"));
  PIPESCOPE_TRY(
      // KiB; a commit that fits the cache holds its lock for a short time only
      file.execute("PRAGMA cache_size = -32768"));
  {
    PIPESCOPE_ASSIGN(Statement commits, file.prepare("SELECT \"commits\" FROM \"store_state\"", "opening"));
    PIPESCOPE_ASSIGN(const bool found, commits.step());
    if (!found || commits.integer(0) != totals.commits) return replaced();
  }
  database.emplace(std::move(file));
  return {};
}

base::Status ProfileWriter::Impl::commitMore(const std::vector<CodedBatch>& batches, Totals& next) {
  PIPESCOPE_TRY(openAtPlace());
  return transaction(*database, [&] { return writeAll(*database, batches, next); });
}

/// If the disk is full, readers do without the last nodes. If it has no room for `lastRows` either, the
/// profile says that it is incomplete.
base::Status ProfileWriter::Impl::end(const model::RowSet& lastRows, model::ProfileState state,
                                      const std::string& reason) {
  base::Status written = writeLastRows(lastRows, true, state, reason);
  const auto full = [&] { return !written.ok() && written.error().kind == base::ErrorKind::machine; };
  if (full()) written = writeLastRows(lastRows, false, state, reason);
  if (written.ok() || place.empty()) return written;
  if (lastRows.empty()) return writeState(state, reason);
  static_cast<void>(writeState(model::ProfileState::incomplete, written.error().message));
  return written;
}

/// Writes the last rows of the run, the nodes of the last rows of lanes and the state in one transaction.
base::Status ProfileWriter::Impl::writeLastRows(const model::RowSet& rows, bool withNodes,
                                                model::ProfileState state, const std::string& reason) {
  forgetPrepared();
  const auto makeNodes = [&]() -> std::span<model::LevelNode> {
    nodes.clear();
    prepared.pyramid.add(rows, nodes);
    if (withNodes) prepared.pyramid.flush(nodes);
    return nodes;
  };
  PIPESCOPE_ASSIGN(CodedBatch batch, CodedBatch::prepare(std::span(&rows, 1), makeNodes, coder, path.string(),
                                                         prepared.totals));
  prepared.batches.push_back(std::move(batch));
  prepared.totals.state = state;
  prepared.totals.reason = reason;
  return write(*takePrepared());
}

base::Status ProfileWriter::Impl::writeState(model::ProfileState state, const std::string& reason) {
  PIPESCOPE_TRY(openAtPlace());
  Totals next = totals;
  next.state = state;
  next.reason = reason;
  const auto write = [&] {
    return transaction(*database, [&] { return store::writeState(*database, next); });
  };
  base::Status status = write();
  if (status.ok() || status.error().kind != base::ErrorKind::machine) return status;
  // A full disk has no room for a journal. This change overwrites a row within one page, so it can do
  // without.
  PIPESCOPE_TRY(database->execute("PRAGMA journal_mode = MEMORY"));
  return write();
}

ProfileWriter::ProfileWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ProfileWriter::~ProfileWriter() {
  if (impl_->place.empty()) removeWithSiblings(impl_->temporary);
  if (!impl_->finished) impl_->close();
}

base::Result<std::unique_ptr<ProfileWriter>> ProfileWriter::create(const fs::path& path,
                                                                   WriterOptions options) {
  PIPESCOPE_ASSIGN(const fs::path target, outputPath(path));
  PIPESCOPE_TRY(checkProfileOutput(target, options.rules));
  auto impl = std::make_unique<Impl>(std::max<std::size_t>(1, options.threads));
  impl->path = target;
  impl->part = partPath(target);
  impl->temporary = temporaryPath(target);
  impl->options = options;
  PIPESCOPE_ASSIGN(impl->lock, WriterLock::acquire(target));
  impl->totals.writer = thisProcess();
  impl->forgetPrepared();
  return std::unique_ptr<ProfileWriter>(new ProfileWriter(std::move(impl)));
}

base::Status ProfileWriter::commit(const model::RowSet& rows) {
  base::Status status = prepare(rows);
  if (status.ok()) status = impl_->write(*takePrepared());
  if (!status.ok()) impl_->forgetPrepared();
  return status;
}

base::Status ProfileWriter::prepare(std::span<const model::RowSet> sets) {
  if (impl_->finished) return base::internalError(impl_->path.string() + ": rows after the profile's end.");
  return impl_->prepare(sets);
}

base::Status ProfileWriter::prepare(std::span<model::RowSet> sets) {
  if (impl_->finished) return base::internalError(impl_->path.string() + ": rows after the profile's end.");
  return impl_->prepare(sets);
}

std::int64_t ProfileWriter::preparedBytes() const {
  return impl_->prepared.payloadBytes();
}

std::shared_ptr<PreparedCommit> ProfileWriter::takePrepared() {
  return impl_->takePrepared();
}

base::Status ProfileWriter::write(PreparedCommit& commit) {
  return impl_->write(commit);
}

const fs::path& ProfileWriter::path() const {
  return impl_->path;
}

bool ProfileWriter::isAtPath() const {
  return impl_->place == impl_->path;
}

std::int64_t ProfileWriter::payloadBytes() const {
  return impl_->payloadBytes;
}

double ProfileWriter::threadSeconds() const {
  return impl_->coder.seconds();
}

base::Status ProfileWriter::finish(model::ProfileState state, const std::string& reason) {
  return finish(state, reason, {});
}

base::Status ProfileWriter::finish(model::ProfileState state, const std::string& reason,
                                   const model::RowSet& lastRows) {
  Impl& impl = *impl_;
  if (impl.finished) return base::internalError(impl.path.string() + ": the profile has been ended before.");
  const bool completes = state == model::ProfileState::complete;
  if (!impl.place.empty() || completes) PIPESCOPE_TRY(impl.end(lastRows, state, reason));
  if (completes || (impl.options.onlyWhole && !impl.place.empty())) PIPESCOPE_TRY(impl.publish());
  impl.close();
  impl.lock.release();
  impl.finished = true;
  return {};
}

}  // namespace pipescope::store
