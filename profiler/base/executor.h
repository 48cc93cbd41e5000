#pragma once
#include <cstddef>
#include <functional>

namespace pipescope::base {

/// Runs independent pieces of work. The program makes one executor and passes it on. Results must not depend
/// on the number of threads, so callers split work by its shape and combine the results in index order.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::size_t threads() const = 0;
  /// Calls body(0) … body(count − 1) in any order and on any thread. It returns when all calls are done.
  virtual void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) = 0;
};

/// Runs every call on the calling thread, in ascending order.
class SerialExecutor : public Executor {
 public:
  std::size_t threads() const override { return 1; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
};

}  // namespace pipescope::base
