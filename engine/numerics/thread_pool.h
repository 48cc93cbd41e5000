#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler/base/executor.h"

namespace pipescope::numerics {

/// A fixed number of threads, including the thread of the caller. Calls often follow each other within
/// microseconds, so an idle thread spins for some tens of microseconds before it sleeps (unless the pool has
/// more threads than the machine). Indices are taken in ascending order. A call from within a body, or during
/// the call of another thread, runs on the calling thread. A body must not throw: a CHECK reports the text of
/// the exception.
class ThreadPool : public base::Executor {
 public:
  /// `threads` is at least 1. With 1 no thread is started. If the system refuses to start as many, the pool
  /// has fewer.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const override { return workers_.size() + 1; }
  /// An exception by which memory ran out in a body is thrown here.
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override;

  /// Number of threads that this machine offers, at least 1.
  static std::size_t hardwareThreads();

 private:
  void work();
  /// Spins until condition() is true. Returns false if that takes too long.
  template <class Condition>
  bool lookOut(const Condition& condition) const;
  void takeIndices(const std::function<void(std::size_t)>& body, std::size_t count);

  std::mutex callMutex_;  ///< held during a call that uses the workers
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  // The current call. These are written under mutex_ while no worker is active.
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t count_ = 0;
  std::exception_ptr failure_;          ///< the first exception of the call, for its caller
  std::atomic<std::uint64_t> call_{0};  ///< counts calls; written under mutex_
  bool stop_ = false;
  std::size_t asleep_ = 0;
  int looks_ = 0;  ///< number of checks of a condition before sleeping
  // Threads write these all the time, so each has a cache line of its own.
  alignas(64) std::atomic<std::size_t> next_{0};
  alignas(64) std::atomic<std::size_t> active_{0};  ///< written under mutex_
  std::vector<std::jthread> workers_;
};

}  // namespace pipescope::numerics
