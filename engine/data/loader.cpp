#include "engine/data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "profiler/base/check.h"
#include "profiler/base/number_text.h"
#include "profiler/record/host_span.h"

namespace pipescope::data {

namespace {

constexpr std::int64_t rowsPerRead = 256;  ///< rows between two checks whether to stop
/// Time between two checks of Progress::cancelled while waiting.
constexpr std::chrono::milliseconds lookInterval(50);

}  // namespace

class Loader::Worker {
 public:
  Worker(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
      : dataset_(std::move(dataset)), options_(options), fields_(dataset_->fields()) {
    calls_ = dataset_->size() / (options_.shape.rows() * options_.partition.instances);
  }
  ~Worker() {
    cancel();
    if (thread_.joinable()) thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  base::Status start() {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      return base::machineError(fmt::format(
          "cannot start the thread that reads data: {}; close other programs and try again", error.what()));
    }
    return {};
  }

  std::int64_t callsPerEpoch() const { return calls_; }

  base::Result<std::optional<Batch>> next(const base::Progress& progress) {
    PIPESCOPE_HOST_SPAN(span, "waiting", "wait for a batch");
    std::unique_lock lock(mutex_);
    while (!stopped_ && !ready_ && !failure_ && !finished_) {
      if (progress.cancelled()) break;
      changed_.wait_for(lock, lookInterval);
    }
    if (stopped_ || progress.cancelled()) return base::cancelled("reading data was cancelled");
    if (ready_) {
      Batch batch = std::move(*ready_);
      ready_.reset();
      changed_.notify_all();
      return std::optional<Batch>(std::move(batch));
    }
    if (failure_) return *failure_;
    return std::optional<Batch>();
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  void run() {
    record::nameHostThread("data reader");
    try {
      produce();
    } catch (const std::bad_alloc&) {
      fail(tooLarge());
    } catch (const std::length_error&) {  // larger than a vector can be
      fail(tooLarge());
    }
  }

  base::Error tooLarge() const {
    return base::machineError(
        fmt::format("not enough memory for a call of {} samples of {}; make the micro-batch size or the "
                    "device iterations smaller",
                    base::groupedText(options_.shape.rows()), toString(fields_)));
  }

  void produce() {
    for (std::int64_t epoch = options_.firstEpoch; epoch < options_.firstEpoch + options_.epochs; ++epoch) {
      const std::vector<std::int64_t> order = orderOf(epoch);
      const std::int64_t start =
          rangeOf(dataset_->size(), options_.shape.rows(), options_.partition, epoch, options_.shuffle).first;
      for (std::int64_t call = 0; call < calls_; ++call) {
        if (!waitForRoom()) return;
        const std::int64_t first = start + call * options_.shape.rows();
        Batch batch{epoch, call, options_.shape.rows(), {}};
        const auto indices =
            std::span(order).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(batch.rows));
        if (base::Status read = readRows(indices, batch); !read.ok()) return fail(read.error());
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
        ready_ = std::move(batch);
        changed_.notify_all();
      }
    }
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  std::vector<std::int64_t> orderOf(std::int64_t epoch) const {
    PIPESCOPE_HOST_SPAN(span, "data", "shuffle");
    return epochOrder(dataset_->size(), options_.seed, epoch, options_.shuffle);
  }

  /// Waits until the caller has taken the previous batch. Returns false if the loader must stop.
  bool waitForRoom() {
    PIPESCOPE_HOST_SPAN(span, "waiting", "wait until a batch is taken");
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || !ready_; });
    return !stopped_;
  }

  /// If the loader stops midway, the batch is incomplete and the caller drops it.
  base::Status readRows(std::span<const std::int64_t> indices, Batch& batch) {
    PIPESCOPE_HOST_SPAN(span, "data", "prepare a batch");
    std::vector<std::size_t> widths;
    for (const Field& field : fields_) {
      const std::int64_t most = std::numeric_limits<std::int64_t>::max() / graph::sizeOf(field.type.element);
      if (field.type.elements() > most / static_cast<std::int64_t>(indices.size())) return tooLarge();
      widths.push_back(static_cast<std::size_t>(field.type.bytes().count));
      batch.fields.emplace_back(indices.size() * widths.back());
    }
    std::vector<std::span<std::byte>> parts(fields_.size());
    for (std::size_t row = 0; row < indices.size() && !stopping();
         row += static_cast<std::size_t>(rowsPerRead)) {
      const std::size_t rows = std::min(static_cast<std::size_t>(rowsPerRead), indices.size() - row);
      for (std::size_t f = 0; f < parts.size(); ++f)
        parts[f] = std::span(batch.fields[f]).subspan(row * widths[f], rows * widths[f]);
      PIPESCOPE_HOST_SPAN(reading, "data", "read rows");
      PIPESCOPE_TRY(dataset_->read(indices.subspan(row, rows), parts));
    }
    return {};
  }

  bool stopping() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  void fail(base::Error error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
    changed_.notify_all();
  }

  const std::shared_ptr<const Dataset> dataset_;
  const LoaderOptions options_;
  const std::vector<Field> fields_;
  std::int64_t calls_ = 0;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::optional<Batch> ready_;
  std::optional<base::Error> failure_;
  bool finished_ = false;
  bool stopped_ = false;

  std::thread thread_;
};

base::Result<std::unique_ptr<Loader>> Loader::create(std::shared_ptr<const Dataset> dataset,
                                                     const LoaderOptions& options) {
  PIPESCOPE_CHECK(dataset != nullptr, "a loader without a data set");
  PIPESCOPE_TRY(checkBatchShape(options.shape));
  if (options.epochs < 1 || options.firstEpoch < 0) {
    return base::badInput(
        fmt::format("{} epochs from epoch {} cannot be read; give at least one epoch, the first not below 0",
                    options.epochs, options.firstEpoch));
  }
  const Partition& part = options.partition;
  if (part.instances < 1 || part.instance < 0 || part.instance >= part.instances) {
    return base::badInput(
        fmt::format("instance {} of {} cannot read; instances count from 0", part.instance, part.instances));
  }
  if (part.instances > 1 && options.shape.rows() > dataset->size() / part.instances) {
    return base::badInput(fmt::format(
        "one call takes {} samples in each of {} instances, but there are only {}: make one of them smaller",
        base::groupedText(options.shape.rows()), part.instances, dataset->description()));
  }
  if (options.shape.rows() > dataset->size()) {
    return base::badInput(fmt::format(
        "one call takes {} samples ({} micro-batch size × {} device iterations × {} gradient "
        "accumulation × {} replicas) but there are only {}: make one of them smaller",
        base::groupedText(options.shape.rows()), options.shape.microBatch, options.shape.deviceIterations,
        options.shape.accumulation, options.shape.replicas, dataset->description()));
  }
  auto worker = std::make_unique<Worker>(std::move(dataset), options);
  PIPESCOPE_TRY(worker->start());
  return std::unique_ptr<Loader>(new Loader(std::move(worker)));
}

Loader::Loader(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
Loader::~Loader() = default;

std::int64_t Loader::callsPerEpoch() const {
  return worker_->callsPerEpoch();
}
base::Result<std::optional<Batch>> Loader::next(const base::Progress& progress) {
  return worker_->next(progress);
}
void Loader::cancel() {
  worker_->cancel();
}

}  // namespace pipescope::data
