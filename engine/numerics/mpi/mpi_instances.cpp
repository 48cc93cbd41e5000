// Instances that talk through MPI. This is a module of its own, so that only programs under a launcher load
// MPI (instance_module.h).
#include <mpi.h>

#include <algorithm>
#include <array>

#include "engine/numerics/instances.h"

namespace pipescope::numerics {
namespace {

/// Elements that an instance adds and passes on at a time. While it adds one chunk, its neighbours work on
/// others.
constexpr std::size_t kChunk = std::size_t{1} << 15U;

/// Adds the time of its life to a sum.
class WaitTimer {
 public:
  explicit WaitTimer(double& seconds) : seconds_(seconds), begun_(MPI_Wtime()) {}
  ~WaitTimer() { seconds_ += MPI_Wtime() - begun_; }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  double& seconds_;
  double begun_;
};

class MpiInstances : public Instances {
 public:
  MpiInstances() {
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    MPI_Comm_rank(MPI_COMM_WORLD, &index_);
    std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
    int length = 0;
    MPI_Get_processor_name(own.data(), &length);
    hosts_.resize(own.size() * static_cast<std::size_t>(count_));
    MPI_Allgather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts_.data(), MPI_MAX_PROCESSOR_NAME,
                  MPI_CHAR, MPI_COMM_WORLD);
  }

  int count() const override { return count_; }
  int index() const override { return index_; }
  std::string host(int index) const override {
    return hosts_.data() + static_cast<std::size_t>(index) * MPI_MAX_PROCESSOR_NAME;
  }

  double waitedSeconds() const override { return waited_; }

  /// Each instance adds its replicas to the sum of the instances before it and passes it on; the last one
  /// knows the whole sum and tells the others.
  void sumInOrder(std::span<const std::span<float>> parts) const override {
    if (parts.empty()) return;
    const WaitTimer timer(waited_);
    const std::span<float> sum = parts.front();
    own_.resize(std::min(kChunk, sum.size()));
    for (std::size_t first = 0; first < sum.size(); first += kChunk)
      addChunk(parts, first, std::min(kChunk, sum.size() - first));
    for (std::size_t first = 0; first < sum.size(); first += kMostAtOnce) {
      const std::size_t count = std::min(kMostAtOnce, sum.size() - first);
      MPI_Bcast(sum.data() + first, static_cast<int>(count), MPI_FLOAT, count_ - 1, MPI_COMM_WORLD);
    }
    for (const std::span<float> part : parts.subspan(1)) std::ranges::copy(sum, part.begin());
  }

  std::int64_t sum(std::int64_t value) const override {
    const WaitTimer timer(waited_);
    std::int64_t total = 0;
    MPI_Allreduce(&value, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return total;
  }

  void broadcast(std::span<std::byte> bytes) const override {
    const WaitTimer timer(waited_);
    for (std::size_t first = 0; first < bytes.size(); first += kMostAtOnce) {
      const std::size_t count = std::min(kMostAtOnce, bytes.size() - first);
      MPI_Bcast(bytes.data() + first, static_cast<int>(count), MPI_BYTE, 0, MPI_COMM_WORLD);
    }
  }

  std::vector<std::byte> gather(std::span<const std::byte> bytes) const override {
    const WaitTimer timer(waited_);
    std::vector<std::byte> all(bytes.size() * static_cast<std::size_t>(count_));
    MPI_Allgather(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, all.data(),
                  static_cast<int>(bytes.size()), MPI_BYTE, MPI_COMM_WORLD);
    return all;
  }

 private:
  static constexpr std::size_t kMostAtOnce = std::size_t{1} << 28U;  // MPI counts in int
  static constexpr int kTag = 1;

  void addChunk(std::span<const std::span<float>> parts, std::size_t first, std::size_t count) const {
    const std::span<float> sum = parts.front().subspan(first, count);
    const auto elements = static_cast<int>(count);
    if (index_ > 0) {
      const std::span<float> own = std::span(own_).first(count);
      std::ranges::copy(sum, own.begin());
      MPI_Recv(sum.data(), elements, MPI_FLOAT, index_ - 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (std::size_t i = 0; i < count; ++i) sum[i] += own[i];
    }
    for (const std::span<float> part : parts.subspan(1)) {
      const std::span<const float> added = part.subspan(first, count);
      for (std::size_t i = 0; i < count; ++i) sum[i] += added[i];
    }
    if (index_ + 1 < count_) MPI_Send(sum.data(), elements, MPI_FLOAT, index_ + 1, kTag, MPI_COMM_WORLD);
  }

  int count_ = 1, index_ = 0;
  std::vector<char> hosts_;
  mutable double waited_ = 0;
  mutable std::vector<float> own_;  ///< the first replica's values of a chunk
};

}  // namespace
}  // namespace pipescope::numerics

/// Joins the other instances; null if MPI cannot start. The result lives until the process ends.
extern "C" const pipescope::numerics::Instances* pipescope_join_instances() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return nullptr;
  static const pipescope::numerics::MpiInstances instances;
  return &instances;
}

/// Waits for all instances and leaves. An instance that ends without it has failed, and the launcher ends the
/// others.
extern "C" void pipescope_leave_instances() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
}
