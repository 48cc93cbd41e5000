#include "profiler/store/file_sink.h"

#include <fmt/format.h>
#include <time.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

using Clock = std::chrono::steady_clock;

// Blocks are as full as they may be when this many rows of one table wait.
constexpr std::size_t kRowsToCode = 4 * kMostRowsPerBlock;

double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void moveRows(model::RowSet& from, model::RowSet& into) {
  model::forEachRowType([&]<class Row>() {
    auto &source = from.of<Row>(), &target = into.of<Row>();
    if (target.empty()) {
      target.swap(source);
    } else {
      target.insert(target.end(), std::make_move_iterator(source.begin()), std::make_move_iterator(source.end()));
    }
    source.clear();
  });
}

}  // namespace

struct FileSink::Impl {
  std::unique_ptr<ProfileWriter> writer;
  FileSinkOptions options;

  std::mutex mutex;
  std::condition_variable wake, done;
  // Taken and not coded; being coded. Three sets of rows go round (the third is the recorder's), so that their
  // memory is reserved once.
  model::RowSet waiting, coding;
  std::size_t waitingRows = 0;
  Clock::time_point oldest;  // when the first row that is not committed was taken
  bool uncommitted = false;  // rows were taken since the last transaction
  bool flush = false, stop = false, busy = false;
  base::Status status;  // of the thread; the first failure stays

  double blockedSeconds = 0, busySeconds = 0;
  std::thread thread;

  void work();
  void workOnce(std::unique_lock<std::mutex>& lock, bool commitNow);
  base::Status hand(model::RowSet* rows, bool wait);
  void join();
};

/// The thread: codes what waits, commits when it is time, until it is told to stop.
void FileSink::Impl::work() {
  std::unique_lock lock(mutex);
  while (true) {
    const auto due = [&] { return uncommitted && Clock::now() >= oldest + options.delay; };
    const auto ready = [&] { return flush || stop || waitingRows >= kRowsToCode || due(); };
    while (!ready()) {
      uncommitted ? void(wake.wait_until(lock, oldest + options.delay)) : wake.wait(lock);
    }
    const bool commitNow = flush || stop || due();
    busy = true;
    workOnce(lock, commitNow);
    busy = false;
    if (commitNow && waitingRows == 0) flush = false;
    busySeconds = threadSeconds();
    done.notify_all();
    if (stop && waitingRows == 0) return;
  }
}

void FileSink::Impl::workOnce(std::unique_lock<std::mutex>& lock, bool commitNow) {
  model::RowSet& rows = coding;
  std::swap(rows, waiting);
  waitingRows = 0;
  if (commitNow) uncommitted = false;
  const bool failed = !status.ok();
  lock.unlock();
  done.notify_all();  // there is room again
  base::Status result;
  if (!failed) {
    if (!rows.empty()) result = writer->prepare(rows);
    if (result.ok() && commitNow) result = writer->commitPrepared();
  }
  rows.clear();
  lock.lock();
  if (status.ok() && !result.ok()) status = result;
}

base::Status FileSink::Impl::hand(model::RowSet* rows, bool wait) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return waitingRows <= options.mostWaitingRows || !status.ok(); });
  if (rows != nullptr && status.ok()) {
    const std::size_t count = rows->size();
    if (!uncommitted) uncommitted = true, oldest = Clock::now();
    waitingRows += count;
    moveRows(*rows, waiting);
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
  PIPESCOPE_ASSIGN(impl->writer, ProfileWriter::create(path, options.writer));
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
  base::Status written = impl.status;
  if (written.ok()) {
    model::RowSet cost;
    cost.of<model::Property>() = {
        {"recorder_blocked_seconds", fmt::format("{:.6f}", impl.blockedSeconds)},
        {"recorder_thread_seconds", fmt::format("{:.6f}", impl.busySeconds)},
        {"recorder_bytes", std::to_string(impl.writer->payloadBytes())}};
    // Nothing at the path yet: only a complete profile is to be left there, and finish() knows that.
    if (impl.writer->exists()) written = impl.writer->commit(cost);
  } else {
    impl.writer->discardPrepared();
  }
  const base::Status ended = impl.writer->finish(
      written.ok() ? state : model::ProfileState::incomplete, written.ok() ? reason : written.error().message);
  return written.ok() ? ended : written;
}

}  // namespace pipescope::store
