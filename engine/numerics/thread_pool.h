#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler/base/executor.h"

namespace pipescope::numerics {

/// A fixed number of threads, the caller's included. Calls often follow each other within microseconds, so a
/// thread that has nothing to do looks out for some tens of microseconds before it sleeps (never where there
/// are more threads than the machine has). Indices are taken in ascending order. A call from within a body,
/// or while another thread's call is under way, runs on the calling thread. A body that throws is a broken
/// invariant: the call ends with a CHECK that holds the exception's text.
class ThreadPool : public base::Executor {
 public:
  /// `threads` of at least 1; 1 starts none.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const override { return workers_.size() + 1; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override;

  /// Threads this machine offers, at least 1.
  static std::size_t hardwareThreads();

 private:
  void work();
  /// True as soon as condition() is; false after a short while without.
  template <class Condition>
  bool lookOut(const Condition& condition) const;
  void takeIndices(const std::function<void(std::size_t)>& body, std::size_t count);

  std::mutex callMutex_;  ///< held during a call that uses the workers
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  // Of the current call; written under mutex_ while no worker is active.
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::uint64_t> call_{0};  ///< counts calls; written under mutex_
  bool stop_ = false;
  std::size_t asleep_ = 0;
  int looks_ = 0;  ///< how often to look before sleeping
  // Apart from each other and from what is only read: threads write them all the time.
  alignas(64) std::atomic<std::size_t> next_{0};
  alignas(64) std::atomic<std::size_t> active_{0};  ///< written under mutex_
  std::vector<std::jthread> workers_;
};

}  // namespace pipescope::numerics
