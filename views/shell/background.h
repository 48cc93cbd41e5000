#pragma once
// Work on the pool, results on the window's thread.
#include <QFutureWatcher>
#include <QObject>
#include <QtConcurrent/QtConcurrentRun>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "profiler/base/progress.h"

namespace pipescope::shell {

/// Lets the window's thread stop work and see how far it is.
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

/// Runs work() on the global pool, then done(result) on the thread of `context`, in its event loop. If
/// `context` is gone by then, nothing is called. work must hold what it needs: shared pointers and values,
/// never `context`.
template <class Work, class Done>
void inBackground(QObject* context, Work work, Done done) {
  using Value = decltype(work());
  using Holder = std::shared_ptr<std::optional<Value>>;  // QFuture wants results that can be made of nothing
  auto* watcher = new QFutureWatcher<Holder>(context);
  QObject::connect(watcher, &QFutureWatcherBase::finished, context,
                   [watcher, done = std::move(done)]() mutable {
                     const Holder result = watcher->result();
                     watcher->deleteLater();
                     done(std::move(**result));
                   });
  watcher->setFuture(QtConcurrent::run(
      [work = std::move(work)]() mutable { return std::make_shared<std::optional<Value>>(work()); }));
}

}  // namespace pipescope::shell
