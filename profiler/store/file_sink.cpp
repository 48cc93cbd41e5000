#include "profiler/store/file_sink.h"

#include <fmt/format.h>
#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/base/machine.h"
#include "profiler/record/host_span.h"
#include "profiler/store/blocks/coder_threads.h"
#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

using Clock = std::chrono::steady_clock;

// Number of waiting rows of one table at which payloads are as full as they may be.
constexpr std::size_t kRowsToCode = kMostRowsPerPayload;

// A set with at least so many rows is coded as it came. Smaller sets are gathered first, so that blocks are
// long.
constexpr std::size_t kRowsOfTheirOwn = kRowsToCode / 4;

// Limit of empty sets that are kept for the recorder. It is more than are in use when the recorder adds
// 32,768 rows at a time.
constexpr std::size_t kMostSpare = 16;
constexpr std::size_t kMostSpareRows = kRowsToCode;

// Number of bytes that are written before `delay` has passed, so that little memory is held and little
// remains to be written at the end of a run.
constexpr std::int64_t kBytesToCommit = 4'000'000;
// Commits take longer on a slow disk. Coding waits when so many bytes are ready.
constexpr std::int64_t kMostPreparedBytes = 8 * kBytesToCommit;

/// Returns the number of first sets that are coded together: enough for all threads, and few enough to be
/// given back soon.
std::size_t setsAtOnce(std::span<const model::RowSet> sets) {
  constexpr std::size_t kRowsCodedTogether = 2 * kRowsToCode;
  std::size_t count = 0, rows = 0;
  while (count < sets.size() && rows < kRowsCodedTogether) rows += sets[count++].size();
  return count;
}

void moveRows(model::RowSet& from, model::RowSet& into) {
  model::forEachRowType([&]<class Row>() {
    auto &source = from.of<Row>(), &target = into.of<Row>();
    target.insert(target.end(), std::make_move_iterator(source.begin()),
                  std::make_move_iterator(source.end()));
    source.clear();
  });
}

}  // namespace

struct FileSink::Impl {
  std::unique_ptr<ProfileWriter> writer;
  FileSinkOptions options;

  std::mutex mutex;
  std::condition_variable wake, done;
  // `waiting` holds sets that were taken and are not coded, oldest first. `spare` holds empty sets, which go
  // round between the recorder and the thread so that their memory is used again.
  std::vector<model::RowSet> waiting, spare;
  std::size_t waitingRows = 0;
  std::size_t heldRows = 0;  // taken and not coded yet, including those in coding
  Clock::time_point oldest;  // time at which the oldest row that is not committed was taken
  bool uncommitted = false;  // rows were taken since the last transaction
  bool moreFollow = false;   // rows of the next transaction are still to come
  bool flush = false, stop = false, busy = false;
  base::Status status;  // status of the thread; the first failure stays

  double blockedSeconds = 0, busySeconds = 0;
  std::thread thread;

  // Belongs to the thread: the commit that is being written while coding continues, and what writing took so
  // far.
  struct Written {
    base::Status status;
    double seconds = 0;  // processor time
  };
  std::future<Written> writing;
  double writeSeconds = 0;

  void work();
  base::Status startCommit();
  base::Status waitForCommit();
  bool isEnough(std::int64_t bytes) const;
  void workOnce(std::unique_lock<std::mutex>& lock, bool commitNow, bool awaited);
  void giveBack(std::span<model::RowSet> sets, std::size_t rows);
  void queue(model::RowSet& rows, std::size_t count);
  base::Status hand(model::RowSet* rows, bool wait, bool whole = true);
  void join();
};

/// The thread codes waiting rows and commits when it is time, until it is told to stop.
void FileSink::Impl::work() {
  // The recorder may wait until rows are coded, so the limit must not exceed what it may hold.
  const std::size_t rowsToCode = std::clamp<std::size_t>(options.mostRowsHeld, 1, kRowsToCode);
  std::unique_lock lock(mutex);
  while (true) {
    const auto due = [&] { return uncommitted && !moreFollow && Clock::now() >= oldest + options.delay; };
    const auto ready = [&] { return flush || stop || waitingRows >= rowsToCode || due(); };
    while (!ready()) {
      uncommitted && !moreFollow ? void(wake.wait_until(lock, oldest + options.delay)) : wake.wait(lock);
    }
    const bool awaited = flush || stop, commitNow = awaited || due();
    busy = true;
    workOnce(lock, commitNow, awaited);
    busy = false;
    // a request that came meanwhile has to wait for another turn
    if (awaited && waitingRows == 0) flush = false;
    busySeconds = threadSeconds() + writer->threadSeconds() + writeSeconds;
    done.notify_all();
    if (stop && !uncommitted && !writing.valid())
      return;  // the request may have come while the last rows were coded
  }
}

/// `awaited`: somebody waits until everything is written.
void FileSink::Impl::workOnce(std::unique_lock<std::mutex>& lock, bool commitNow, bool awaited) {
  const Clock::time_point taken = Clock::now();
  std::vector<model::RowSet> sets = std::move(waiting);
  waiting.clear();
  waitingRows = 0;
  if (commitNow) uncommitted = false;
  const bool failed = !status.ok(), held = moreFollow;
  lock.unlock();
  base::Status result;
  for (std::span<model::RowSet> left(sets); !left.empty();) {
    const std::span<model::RowSet> group = left.first(setsAtOnce(left));
    std::size_t rows = 0;
    for (const model::RowSet& set : group) rows += set.size();
    if (!failed && result.ok() && rows > 0) {
      PIPESCOPE_HOST_SPAN(span, "profiler", "code rows");
      result = base::guarded([&] { return writer->prepare(group); });
    }
    giveBack(group, rows);
    left = left.subspan(group.size());
  }
  const bool commits = !held && (commitNow || isEnough(writer->preparedBytes()));
  if (!failed && result.ok() && commits) result = startCommit();
  if (awaited) {
    const base::Status last = waitForCommit();
    if (result.ok()) result = last;
  }
  lock.lock();
  if (commits && !commitNow) uncommitted = waitingRows > 0, oldest = taken;
  if (status.ok() && !result.ok()) status = result;
}

/// True if so many bytes are written now and not when the time comes.
bool FileSink::Impl::isEnough(std::int64_t bytes) const {
  const bool isWriting =
      writing.valid() && writing.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  return bytes >= (isWriting ? kMostPreparedBytes : kBytesToCommit);
}

/// Waits for the commit that was started last, if there is one. Returns its error once.
base::Status FileSink::Impl::waitForCommit() {
  if (!writing.valid()) return {};
  const Written written = writing.get();
  writeSeconds += written.seconds;
  return written.status;
}

/// Writes what is prepared on a thread of its own, after the previous commit.
base::Status FileSink::Impl::startCommit() {
  PIPESCOPE_TRY(waitForCommit());
  const auto write = [this, commit = writer->takePrepared()] {
    base::Status ended = base::guarded([&] { return writer->write(*commit); });
    return Written{std::move(ended), threadSeconds()};
  };
  try {
    writing = std::async(std::launch::async, write);
  } catch (const std::system_error&) {  // no further thread can be started
    std::promise<Written> written;
    written.set_value(write());
    writing = written.get_future();
  }
  return {};
}

/// Keeps empty sets for the recorder to fill, because new memory costs as much as coding its contents.
/// `rows` is the number of rows that the sets held when the recorder handed them over.
void FileSink::Impl::giveBack(std::span<model::RowSet> sets, std::size_t rows) {
  std::size_t longest = 0;
  for (model::RowSet& set : sets) {
    longest = std::max(longest, set.size());
    set.clear();
  }
  {
    const std::lock_guard lock(mutex);
    heldRows -= rows;
    for (model::RowSet& set : sets) {
      if (longest <= kMostSpareRows && spare.size() < kMostSpare) spare.push_back(std::move(set));
    }
  }
  done.notify_all();  // There is room again.
}

/// Takes `rows` over and leaves an empty set.
void FileSink::Impl::queue(model::RowSet& rows, std::size_t count) {
  const bool gathers = !waiting.empty() && (count < kRowsOfTheirOwn) && waiting.back().size() < kRowsToCode;
  if (gathers) return moveRows(rows, waiting.back());
  model::RowSet next;
  if (!spare.empty()) {
    next = std::move(spare.back());
    spare.pop_back();
  } else {
    // The next set probably has the same size. Letting it grow step by step would take twice the memory.
    model::forEachRowType([&]<class Row>() { next.of<Row>().reserve(rows.of<Row>().size()); });
  }
  waiting.push_back(std::exchange(rows, std::move(next)));
}

base::Status FileSink::Impl::hand(model::RowSet* rows, bool wait, bool whole) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return heldRows <= options.mostRowsHeld || !status.ok(); });
  moreFollow = !whole;
  if (rows != nullptr && status.ok()) {
    const std::size_t count = rows->size();
    if (!uncommitted) uncommitted = true, oldest = Clock::now();
    waitingRows += count;
    heldRows += count;
    queue(*rows, count);
  }
  if (wait) {
    flush = true;
    wake.notify_all();
    done.wait(lock, [&] { return !flush && !busy; });
  } else {
    wake.notify_all();
  }
  blockedSeconds += std::chrono::duration<double>(Clock::now() - start).count();
  return status;
}

void FileSink::Impl::join() {
  if (!thread.joinable()) return;
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  wake.notify_all();
  thread.join();
}

FileSink::FileSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->thread = std::thread([state = impl_.get()] {
    record::nameHostThread("profile writer");
    state->work();
  });
}

FileSink::~FileSink() {
  impl_->join();
}

base::Result<std::unique_ptr<FileSink>> FileSink::create(const std::filesystem::path& path,
                                                         FileSinkOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  WriterOptions writer = options.writer;
  writer.threads = std::min(options.coders, std::size_t{std::max(1U, std::thread::hardware_concurrency())});
  PIPESCOPE_ASSIGN(impl->writer, ProfileWriter::create(path, writer));
  return base::guarded([&]() -> base::Result<std::unique_ptr<FileSink>> {
    return std::unique_ptr<FileSink>(new FileSink(std::move(impl)));
  });
}

base::Status FileSink::commit(const model::RowSet& rows) {
  model::RowSet copy = rows;
  return impl_->hand(&copy, true);
}

base::Status FileSink::take(model::RowSet& rows) {
  return impl_->hand(&rows, false);
}

void FileSink::gather(model::RowSet& rows) {
  static_cast<void>(impl_->hand(&rows, false, false));
}

bool FileSink::isAtPath() const {
  return impl_->writer->isAtPath();
}

base::Status FileSink::finish(model::ProfileState state, const std::string& reason) {
  Impl& impl = *impl_;
  impl.join();
  if (!impl.status.ok()) {
    // Nothing becomes of a part if only a whole profile counts.
    if (!impl.options.writer.onlyWhole)
      static_cast<void>(impl.writer->finish(model::ProfileState::incomplete, impl.status.error().message));
    return impl.status;
  }
  model::RowSet cost;
  cost.of<model::Property>() = {{"recorder_blocked_seconds", fmt::format("{:.6f}", impl.blockedSeconds)},
                                {"recorder_thread_seconds", fmt::format("{:.6f}", impl.busySeconds)},
                                {"recorder_bytes", std::to_string(impl.writer->payloadBytes())}};
  return impl.writer->finish(state, reason, cost);
}

}  // namespace pipescope::store
