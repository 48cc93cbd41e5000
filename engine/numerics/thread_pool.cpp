#include "engine/numerics/thread_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "profiler/base/check.h"
#include "profiler/base/log.h"
#include "profiler/base/machine.h"
#include "profiler/record/host_span.h"

namespace pipescope::numerics {
namespace {

thread_local bool insideBody = false;

/// Number of times that a thread checks a condition before it sleeps. The checks take some tens of
/// microseconds, about as long as waking a thread up.
constexpr int kLooks = 1500;

/// Tells the processor that this thread is waiting.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// Memory that ran out passes on. No other exception may leave a body.
void callBody(const std::function<void(std::size_t)>& body, std::size_t index) {
  try {
    body(index);
  } catch (const std::exception& problem) {
    if (base::machineTrouble(problem)) throw;
    PIPESCOPE_CHECK(false, std::string("exception in parallel work: ") + problem.what());
  } catch (...) {
    PIPESCOPE_CHECK(false, "exception in parallel work");
  }
}

/// True if another thread, and what threads allocate when they start, have room in the address space. The C
/// library ends the program if it cannot note a thread's first object with a destructor.
bool hasRoomForThread() {
  constexpr std::size_t kRoom = std::size_t{192} << 20;
  void* room = ::mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  ::munmap(room, kRoom);
  return true;
}

void sayFewerThreads(std::size_t threads, std::size_t asked, const std::string& reason) {
  base::log(base::LogLevel::warning, "Work goes on with " + std::to_string(threads) + " of " +
                                         std::to_string(asked) + " threads, because " + reason + ".");
}

}  // namespace

ThreadPool::ThreadPool(std::size_t threads) {
  PIPESCOPE_CHECK(threads >= 1, "a thread pool needs a thread");
  if (threads <= hardwareThreads()) looks_ = kLooks;
  for (std::size_t i = 1; i < threads; ++i) {
    if (!hasRoomForThread()) {
      sayFewerThreads(i, threads, "the address space has no room for more");
      return;
    }
    try {
      workers_.emplace_back([this, i] {
        record::nameHostThread("worker " + std::to_string(i));
        work();
      });
    } catch (const std::system_error& problem) {
      sayFewerThreads(i, threads, "the system refuses to start more: " + problem.code().message());
      return;
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

std::size_t ThreadPool::hardwareThreads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

template <class Condition>
bool ThreadPool::lookOut(const Condition& condition) const {
  for (int i = 0; i < looks_; ++i) {
    if (condition()) return true;
    pause();
  }
  return condition();
}

void ThreadPool::parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::unique_lock call(callMutex_, std::defer_lock);
  if (insideBody || workers_.empty() || count <= 1 || !call.try_lock()) {
    for (std::size_t i = 0; i < count; ++i) callBody(body, i);
    return;
  }
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    next_ = 0;
    ++call_;
    wake = asleep_ > 0;
  }
  if (wake) wake_.notify_all();
  takeIndices(body, count);
  // Waits only for workers that came in time. One that wakes up late finds nothing to do.
  lookOut([this] { return active_ == 0; });
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return active_ == 0; });
  body_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::takeIndices(const std::function<void(std::size_t)>& body, std::size_t count) {
  insideBody = true;
  try {
    for (std::size_t i = next_++; i < count; i = next_++) callBody(body, i);
  } catch (...) {
    next_ = count;  // The rest is of no use.
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  insideBody = false;
}

void ThreadPool::work() {
  for (std::uint64_t seen = 0;;) {
    lookOut([&] { return call_ != seen; });
    std::unique_lock lock(mutex_);
    ++asleep_;
    wake_.wait(lock, [&] { return stop_ || call_ != seen; });
    --asleep_;
    if (stop_) return;
    seen = call_;
    if (!body_) continue;
    const std::function<void(std::size_t)>& body = *body_;
    const std::size_t count = count_;
    ++active_;
    lock.unlock();
    takeIndices(body, count);
    lock.lock();
    if (--active_ == 0) done_.notify_one();
  }
}

}  // namespace pipescope::numerics
