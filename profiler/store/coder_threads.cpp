#include "profiler/store/coder_threads.h"

#include <time.h>

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
  if (started_.empty()) {
    seconds_.resize(wanted_ - 1);
    for (std::size_t i = 0; i + 1 < wanted_; ++i) started_.emplace_back([this, i] { work(i); });
  }
  body_ = &body;
  next_ = 0;
  count_ = count;
  wake_.notify_all();
  takeAll(lock);
  done_.wait(lock, [&] { return running_ == 0; });
}

void CoderThreads::takeAll(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t index = next_++;
    ++running_;
    lock.unlock();
    (*body_)(index);
    lock.lock();
    if (--running_ == 0 && next_ >= count_) done_.notify_all();
  }
}

void CoderThreads::work(std::size_t number) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || next_ < count_; });
    if (stop_) return;
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
