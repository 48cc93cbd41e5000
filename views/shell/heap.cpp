#include "views/shell/heap.h"

#include <QCoreApplication>
#include <QThreadPool>
#include <QTimer>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace pipescope::shell {
namespace {
constexpr int kHeapQuietMs = 200;
}

void keepHeapSmall() {
#ifdef __GLIBC__
  constexpr int kThreshold = 1 << 20, kArenas = 2;  // one for the window's thread, one for all workers
  mallopt(M_MMAP_THRESHOLD, kThreshold);
  mallopt(M_ARENA_MAX, kArenas);
#endif
}

void giveMemoryBackSoon() {
#ifdef __GLIBC__
  static const char* const kName = "giveMemoryBack";
  auto* application = QCoreApplication::instance();
  if (application == nullptr) return;
  auto* timer = application->findChild<QTimer*>(QLatin1String(kName), Qt::FindDirectChildrenOnly);
  if (timer == nullptr) {
    timer = new QTimer(application);
    timer->setObjectName(QLatin1String(kName));
    timer->setSingleShot(true);
    QObject::connect(timer, &QTimer::timeout, application,
                     [] { QThreadPool::globalInstance()->start([] { malloc_trim(0); }); });
  }
  timer->start(kHeapQuietMs);
#endif
}

}  // namespace pipescope::shell
