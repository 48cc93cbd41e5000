#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "profiler/base/executor.h"

namespace pipescope::store {

/// Runs work on the calling thread and on threads of its own, which are started when they are first needed.
/// Only one thread may call parallelFor at a time.
class CoderThreads final : public base::Executor {
 public:
  /// `threads` includes the thread of the caller.
  explicit CoderThreads(std::size_t threads) : wanted_(threads) {}
  ~CoderThreads() override;
  std::size_t threads() const override { return wanted_; }
  /// An exception of the body, such as that of missing memory, reaches the caller when all threads have ended
  /// what they do; the rest is left out.
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override;
  /// Runs the task on a thread of its own when no parallelFor needs it. If there is no such thread, the task
  /// runs at once. Returns false and drops the task if too many wait already. Tasks that still wait at the
  /// end do not run. Thread-safe.
  bool later(std::function<void()> task);
  /// Processor time of its own threads, without that of the caller.
  double seconds() const;

  /// A waiting task may hold memory that the next block could be decoded into.
  static constexpr std::size_t kMostLater = 8;

 private:
  void start();
  void work(std::size_t number);
  void takeAll(std::unique_lock<std::mutex>& lock);

  const std::size_t wanted_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t next_ = 0, count_ = 0, running_ = 0;
  std::exception_ptr failure_;  ///< first exception of the work that is under way
  std::deque<std::function<void()>> later_;
  bool stop_ = false;
  std::vector<double> seconds_;  // seconds of each thread
  std::vector<std::thread> started_;
};

/// Processor time of the calling thread.
double threadSeconds();

}  // namespace pipescope::store
