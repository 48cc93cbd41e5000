#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler/base/executor.h"

namespace pipescope::numerics {

/// A fixed number of threads, the caller's included; idle ones sleep. Indices are taken in ascending order. A
/// call from within a body, or while another thread's call is under way, runs on the calling thread. A body
/// that throws is a broken invariant: the call ends with a CHECK that holds the exception's text.
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
  void takeIndices(const std::function<void(std::size_t)>& body, std::size_t count);

  std::mutex callMutex_;  ///< held during a call that uses the workers
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  // Of the current call; written under mutex_ while no worker is active.
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::uint64_t call_ = 0;
  std::size_t active_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace pipescope::numerics
