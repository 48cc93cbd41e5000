#include "profiler/store/blocks/coder_threads.h"

#include <time.h>

#include <system_error>
#include <utility>

namespace pipescope::store {

double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

CoderThreads::~CoderThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : started_) thread.join();
}

void CoderThreads::parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) {
  if (count < 2 || wanted_ < 2) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::unique_lock lock(mutex_);
  start();
  body_ = &body;
  next_ = 0;
  count_ = count;
  wake_.notify_all();
  takeAll(lock);
  done_.wait(lock, [&] { return running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void CoderThreads::start() {
  if (!started_.empty()) return;
  seconds_.resize(wanted_ - 1);
  try {
    for (std::size_t i = 0; i + 1 < wanted_; ++i) started_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {
    // The system refuses to start more. The caller does their part, too.
  }
}

bool CoderThreads::later(std::function<void()> task) {
  if (wanted_ < 2) return task(), true;
  {
    const std::lock_guard lock(mutex_);
    if (later_.size() >= kMostLater) return false;
    start();
    if (!started_.empty()) later_.push_back(std::exchange(task, nullptr));
  }
  if (task) return task(), true;
  wake_.notify_one();
  return true;
}

void CoderThreads::takeAll(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t index = next_++;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*body_)(index);
    } catch (...) {  // The caller gets it when no thread uses its data any more.
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      if (!failure_) failure_ = failure;
      next_ = count_;
    }
    if (--running_ == 0 && next_ >= count_) done_.notify_all();
  }
}

void CoderThreads::work(std::size_t number) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || next_ < count_ || !later_.empty(); });
    if (stop_) return;
    if (next_ >= count_) {
      const std::function<void()> task = std::move(later_.front());
      later_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
    takeAll(lock);
    seconds_[number] = threadSeconds();
  }
}

double CoderThreads::seconds() const {
  const std::lock_guard lock(mutex_);
  double sum = 0;
  for (const double seconds : seconds_) sum += seconds;
  return sum;
}

}  // namespace pipescope::store
