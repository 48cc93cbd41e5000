#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "profiler/base/executor.h"

namespace pipescope::store {

/// The calling thread and a few of its own, which are started when they are first needed. One caller of
/// parallelFor at a time.
class CoderThreads final : public base::Executor {
 public:
  /// The caller's is one of them.
  explicit CoderThreads(std::size_t threads) : wanted_(threads) {}
  ~CoderThreads() override;
  std::size_t threads() const override { return wanted_; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override;
  /// Runs the task on a thread of its own when there is nothing to share out; at once where there is no such
  /// thread. False: as many wait as may, and this one is dropped. What still waits at the end is not run.
  /// Thread-safe.
  bool later(std::function<void()> task);
  /// Processor time of its own threads, without the caller's.
  double seconds() const;

  static constexpr std::size_t kMostLater =
      8;  ///< each may hold memory that the next block to be decoded could have

 private:
  void start();
  void work(std::size_t number);
  void takeAll(std::unique_lock<std::mutex>& lock);

  const std::size_t wanted_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t next_ = 0, count_ = 0, running_ = 0;
  std::deque<std::function<void()>> later_;
  bool stop_ = false;
  std::vector<double> seconds_;  // by thread
  std::vector<std::thread> started_;
};

/// Processor time of the calling thread.
double threadSeconds();

}  // namespace pipescope::store
