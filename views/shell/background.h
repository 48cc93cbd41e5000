#pragma once
// Runs work on the thread pool and returns its result on the window's thread.
#include <QElapsedTimer>
#include <QFutureWatcher>
#include <QObject>
#include <QtConcurrent/QtConcurrentRun>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "profiler/base/progress.h"
#include "views/shell/heap.h"

namespace pipescope::shell {

/// Lets the window's thread cancel work and read its progress.
class SharedProgress : public base::Progress {
 public:
  void report(double fraction, std::string_view) override { fraction_ = fraction; }
  bool cancelled() const override { return cancelled_; }
  void cancel() { cancelled_ = true; }
  double fraction() const { return fraction_; }

 private:
  std::atomic<double> fraction_ = 0;
  std::atomic<bool> cancelled_ = false;
};

/// Runs work() on the global pool, then done(result) in the event loop of `context`'s thread. If `context` is
/// destroyed before that, done is not called. `work` must own what it needs (values and shared pointers) and
/// never refer to `context`. After long work, freed memory goes back to the system soon.
template <class Work, class Done>
void inBackground(QObject* context, Work work, Done done) {
  constexpr int kLongMs = 20;
  struct Outcome {
    std::optional<decltype(work())> value;
    bool wasLong = false;
  };
  using Holder = std::shared_ptr<Outcome>;  // QFuture requires default-constructible results
  auto* watcher = new QFutureWatcher<Holder>(context);
  QObject::connect(watcher, &QFutureWatcherBase::finished, context,
                   [watcher, done = std::move(done)]() mutable {
                     const Holder outcome = watcher->result();
                     watcher->deleteLater();
                     if (outcome->wasLong) giveMemoryBackSoon();
                     done(std::move(*outcome->value));
                   });
  watcher->setFuture(QtConcurrent::run([work = std::move(work)]() mutable {
    QElapsedTimer clock;
    clock.start();
    auto outcome = std::make_shared<Outcome>();
    outcome->value.emplace(work());
    outcome->wasLong = clock.elapsed() > kLongMs;
    return outcome;
  }));
}

/// Destroys a value on a worker, because very many rows take long to free.
template <class Value>
void dropInBackground(Value value) {
  auto held = std::make_shared<Value>(std::move(value));
  QtConcurrent::run([held = std::move(held)]() mutable { held.reset(); });
}

}  // namespace pipescope::shell
