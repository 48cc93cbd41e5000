#include "profiler/store/file_sink.h"

#include <fmt/format.h>
#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/store/coder_threads.h"
#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

using Clock = std::chrono::steady_clock;

// Payloads are as full as they may be when this many rows of one table wait.
constexpr std::size_t kRowsToCode = kMostRowsPerPayload;

// What is at least as much is coded as it came; less is gathered first, so that blocks are long.
constexpr std::size_t kRowsOfTheirOwn = kRowsToCode / 4;

// Sets that are kept for the recorder: more than may be on their way when it adds them by 32,768 rows.
constexpr std::size_t kMostSpare = 16;
constexpr std::size_t kMostSpareRows = kRowsToCode;

// As much is written before `delay` has passed: little is held, and little is left to be written at the end
// of a run.
constexpr std::int64_t kBytesToCommit = 4'000'000;
// Where the disk is slow, commits are longer; coding waits for it when so much is ready.
constexpr std::int64_t kMostPreparedBytes = 8 * kBytesToCommit;

/// How many of the first sets are coded together: enough for all threads, few enough to be given back soon.
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
  // Taken and not coded, oldest first; and empty sets whose memory is used again: they go round between the
  // recorder and the thread.
  std::vector<model::RowSet> waiting, spare;
  std::size_t waitingRows = 0;
  std::size_t heldRows = 0;  // taken and not coded: those that wait and those that are being coded
  Clock::time_point oldest;  // when the first row that is not committed was taken
  bool uncommitted = false;  // rows were taken since the last transaction
  bool flush = false, stop = false, busy = false;
  base::Status status;  // of the thread; the first failure stays

  double blockedSeconds = 0, busySeconds = 0;
  std::thread thread;

  // Of the thread: the commit that is being written while it goes on coding, and what writing took so far.
  struct Written {
    base::Status status;
    double seconds = 0;  // of processor time
  };
  std::future<Written> writing;
  double writeSeconds = 0;

  void work();
  base::Status startCommit();
  base::Status waitForCommit();
  bool isEnough(std::int64_t bytes) const;
  void workOnce(std::unique_lock<std::mutex>& lock, bool commitNow, bool awaited);
  void giveBack(std::span<model::RowSet> sets);
  void queue(model::RowSet& rows, std::size_t count);
  base::Status hand(model::RowSet* rows, bool wait);
  void join();
};

/// The thread: codes what waits, commits when it is time, until it is told to stop.
void FileSink::Impl::work() {
  // The recorder may be waiting for rows to be coded that are fewer.
  const std::size_t rowsToCode = std::clamp<std::size_t>(options.mostRowsHeld, 1, kRowsToCode);
  std::unique_lock lock(mutex);
  while (true) {
    const auto due = [&] { return uncommitted && Clock::now() >= oldest + options.delay; };
    const auto ready = [&] { return flush || stop || waitingRows >= rowsToCode || due(); };
    while (!ready()) {
      uncommitted ? void(wake.wait_until(lock, oldest + options.delay)) : wake.wait(lock);
    }
    const bool awaited = flush || stop, commitNow = awaited || due();
    busy = true;
    workOnce(lock, commitNow, awaited);
    busy = false;
    if (awaited && waitingRows == 0) flush = false;  // who asked meanwhile has to wait for another turn
    busySeconds = threadSeconds() + writer->threadSeconds() + writeSeconds;
    done.notify_all();
    if (stop && !uncommitted && !writing.valid())
      return;  // it may have been told while it coded the last rows
  }
}

/// `awaited`: somebody waits until all is written.
void FileSink::Impl::workOnce(std::unique_lock<std::mutex>& lock, bool commitNow, bool awaited) {
  const Clock::time_point taken = Clock::now();
  std::vector<model::RowSet> sets = std::move(waiting);
  waiting.clear();
  waitingRows = 0;
  if (commitNow) uncommitted = false;
  const bool failed = !status.ok();
  lock.unlock();
  base::Status result;
  for (std::span<model::RowSet> left(sets); !left.empty();) {
    const std::span<model::RowSet> group = left.first(setsAtOnce(left));
    const bool any = std::ranges::any_of(group, [](const model::RowSet& rows) { return !rows.empty(); });
    if (!failed && result.ok() && any) result = writer->prepare(group);
    giveBack(group);
    left = left.subspan(group.size());
  }
  const bool commits = commitNow || isEnough(writer->preparedBytes());
  if (!failed && result.ok() && commits) result = startCommit();
  if (awaited) {
    const base::Status last = waitForCommit();
    if (result.ok()) result = last;
  }
  lock.lock();
  if (commits && !commitNow) uncommitted = waitingRows > 0, oldest = taken;
  if (status.ok() && !result.ok()) status = result;
}

/// Whether so many bytes are to be written now rather than when it is time.
bool FileSink::Impl::isEnough(std::int64_t bytes) const {
  const bool isWriting =
      writing.valid() && writing.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  return bytes >= (isWriting ? kMostPreparedBytes : kBytesToCommit);
}

/// Of the commit that was started last, if any; says once how it ended.
base::Status FileSink::Impl::waitForCommit() {
  if (!writing.valid()) return {};
  const Written written = writing.get();
  writeSeconds += written.seconds;
  return written.status;
}

/// Writes what is prepared on a thread of its own, after the commit before.
base::Status FileSink::Impl::startCommit() {
  PIPESCOPE_TRY(waitForCommit());
  writing = std::async(std::launch::async, [this, commit = writer->takePrepared()] {
    base::Status ended = writer->write(*commit);
    return Written{std::move(ended), threadSeconds()};
  });
  return {};
}

/// Empty sets that the recorder fills next: fresh memory costs as much as coding what lies in it.
void FileSink::Impl::giveBack(std::span<model::RowSet> sets) {
  std::size_t rows = 0, longest = 0;
  for (model::RowSet& set : sets) {
    rows += set.size();
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
  done.notify_all();  // there is room again
}

/// Takes `rows` over; leaves an empty set.
void FileSink::Impl::queue(model::RowSet& rows, std::size_t count) {
  const bool gathers = !waiting.empty() && (count < kRowsOfTheirOwn) && waiting.back().size() < kRowsToCode;
  if (gathers) return moveRows(rows, waiting.back());
  model::RowSet next;
  if (!spare.empty()) {
    next = std::move(spare.back());
    spare.pop_back();
  } else {
    // What comes next is most likely as much again; growing to it step by step takes twice the memory.
    model::forEachRowType([&]<class Row>() { next.of<Row>().reserve(rows.of<Row>().size()); });
  }
  waiting.push_back(std::exchange(rows, std::move(next)));
}

base::Status FileSink::Impl::hand(model::RowSet* rows, bool wait) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return heldRows <= options.mostRowsHeld || !status.ok(); });
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
  impl_->thread = std::thread([state = impl_.get()] { state->work(); });
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
  return std::unique_ptr<FileSink>(new FileSink(std::move(impl)));
}

base::Status FileSink::commit(const model::RowSet& rows) {
  model::RowSet copy = rows;
  return impl_->hand(&copy, true);
}

base::Status FileSink::take(model::RowSet& rows) {
  return impl_->hand(&rows, false);
}

base::Status FileSink::finish(model::ProfileState state, const std::string& reason) {
  Impl& impl = *impl_;
  impl.join();
  if (!impl.status.ok()) {
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
