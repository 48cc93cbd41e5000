#include "app/run/sweep/shared_work.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pipescope::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBeat{1};

/// One answer on its way: its index, whether the task's process ended without one, and its text.
void appendAnswer(std::string& bytes, std::int64_t index, const base::Result<std::string>& answer) {
  const std::string& text = answer.ok() ? *answer : answer.error().message;
  const std::int64_t head[] = {index, answer.ok() ? 1 : 0, static_cast<std::int64_t>(text.size())};
  bytes.append(reinterpret_cast<const char*>(head), sizeof head);
  bytes += text;
}

/// Joins the work of child processes with that of the other instances. It stands between them as the
/// Progress that runInProcesses() asks ten times a second whether to stop.
class SharedWork : public base::Progress {
 public:
  SharedWork(const ProcessAnswer& take, const base::Progress& progress, const numerics::Instances& instances)
      : take_(take), progress_(progress), instances_(instances) {}

  base::Status add(std::int64_t index, const base::Result<std::string>& answer) {
    appendAnswer(waiting_, index, answer);
    return {};
  }

  void report(double, std::string_view) override {}
  bool cancelled() const override {
    if (!stopped_ && Clock::now() - last_ >= kBeat) beat(false);
    return stopped_;
  }

  /// Exchanges until all instances have done their share.
  base::Status finish(const base::Status& own) {
    if (!own.ok() && own.error().kind != base::ErrorKind::cancelled) failed_ = own;
    while (!stopped_ && !beat(true)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    PIPESCOPE_TRY(failed_);
    return stopped_ ? base::Status(base::cancelled("The work was stopped by the user.")) : base::Status();
  }

 private:
  /// True once all instances are done.
  bool beat(bool done) const {
    exchange();
    const bool stops = progress_.cancelled() || !failed_.ok();
    stopped_ = instances_.sum(stops ? 1 : 0) > 0;
    last_ = Clock::now();
    return instances_.sum(done ? 0 : 1) == 0;
  }

  /// Every instance gives as many bytes as the longest one has.
  void exchange() const {
    const std::int64_t own = static_cast<std::int64_t>(waiting_.size());
    const std::vector<std::byte> lengths = instances_.gather(std::as_bytes(std::span(&own, 1)));
    std::vector<std::int64_t> sizes(lengths.size() / sizeof own);
    std::memcpy(sizes.data(), lengths.data(), lengths.size());
    const std::int64_t longest = *std::ranges::max_element(sizes);
    if (longest == 0) return;
    waiting_.resize(static_cast<std::size_t>(longest));
    const std::vector<std::byte> all = instances_.gather(std::as_bytes(std::span(waiting_)));
    for (std::size_t i = 0; i < sizes.size(); ++i)
      takeAll(reinterpret_cast<const char*>(all.data()) + i * static_cast<std::size_t>(longest), sizes[i]);
    waiting_.clear();
  }

  void takeAll(const char* bytes, std::int64_t size) const {
    for (std::int64_t at = 0; at < size && failed_.ok();) {
      std::int64_t head[3];
      std::memcpy(head, bytes + at, sizeof head);
      std::string text(bytes + at + sizeof head, static_cast<std::size_t>(head[2]));
      at += static_cast<std::int64_t>(sizeof head) + head[2];
      failed_ = head[1] != 0 ? take_(head[0], base::Result<std::string>(std::move(text)))
                             : take_(head[0], base::Result<std::string>(base::internalError(text)));
    }
  }

  const ProcessAnswer& take_;
  const base::Progress& progress_;
  const numerics::Instances& instances_;
  // These are mutable because the exchange happens in cancelled(), which is const.
  mutable std::string waiting_;  ///< own answers since the last exchange
  mutable base::Status failed_;
  mutable bool stopped_ = false;
  mutable Clock::time_point last_ = Clock::now();
};

}  // namespace

std::vector<std::int64_t> shareOf(const std::vector<std::int64_t>& tasks, int instance, int instances) {
  std::vector<std::int64_t> share;
  for (std::size_t i = static_cast<std::size_t>(instance); i < tasks.size();
       i += static_cast<std::size_t>(instances))
    share.push_back(tasks[i]);
  return share;
}

base::Status runShared(const std::vector<std::int64_t>& tasks, int processes, const ProcessTask& task,
                       const ProcessAnswer& take, const base::Progress& progress,
                       const numerics::Instances& instances) {
  SharedWork work(take, progress, instances);
  const auto add = [&](std::int64_t index, const base::Result<std::string>& answer) {
    return work.add(index, answer);
  };
  const std::vector<std::int64_t> own = shareOf(tasks, instances.index(), instances.count());
  return work.finish(runInProcesses(own, processes, task, add, work));
}

}  // namespace pipescope::app
