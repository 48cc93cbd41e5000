#pragma once
// A test fixture that shows the trace of the test profile, and finds items on it.
#include <QLabel>
#include <QWheelEvent>

#include "views/pages/parts/facts.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {

using geometry::RowKind;
using geometry::TimelineItem;
using timeline::TimelineCanvas;

class TracePageTest : public WindowTest {
 protected:
  void openTrace(const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), QStringLiteral("trace"));
    canvas = child<TimelineCanvas>();
    ASSERT_NE(canvas, nullptr);
    ASSERT_NE(canvas->scene().model(), nullptr);
  }

  const analysis::Trace& trace() const { return *canvas->scene().model()->trace; }
  const shell::TimeRange& range() const { return window->timeRange(); }

  /// The middle of an item, in the viewport's coordinates.
  QPoint centre(const TimelineItem& item) const {
    const auto box = canvas->scene().boxOf(canvas->window(), item);
    EXPECT_TRUE(box.has_value());
    if (!box) return {};
    return {TimelineCanvas::kGutter + box->x + box->width / 2,
            TimelineCanvas::kTop + box->y + box->height / 2};
  }

  /// The first wait of a device that has this cause and starts after this time.
  TimelineItem findWait(int device, model::WaitCause cause, base::Ticks after) const {
    const auto& waits = trace().devices[static_cast<std::size_t>(device)].tracks.front().waits;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].cause == cause && waits[i].start >= after &&
          waits[i].end - waits[i].start > base::Ticks(20'000))
        return canvas->scene().waitItem(device, static_cast<int>(i));
    }
    return {};
  }

  TimelineItem findPass(int device, model::Pass pass, int microBatch, int iteration) const {
    const analysis::TraceTrack& track = trace().devices[static_cast<std::size_t>(device)].tracks.front();
    for (std::size_t i = 0; i < track.placements.size(); ++i) {
      const analysis::TracePlacement& p = track.placements[i];
      if (p.pass == pass && p.microBatch == microBatch && p.iteration == iteration)
        return canvas->scene().passItem({device, 0, static_cast<std::int32_t>(i)});
    }
    return {};
  }

  void click(const TimelineItem& item) {
    QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {}, centre(item));
  }
  void wheel(const QPoint& at, int turn, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(at, canvas->viewport()->mapToGlobal(at), {}, {0, turn}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(canvas->viewport(), &event);
  }
  QStringList labels() const {
    QStringList texts;
    for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) texts << label->text();
    return texts;
  }
  QString detail(const QString& name) const { return child<pages::FactGrid>()->value(name); }

  std::unique_ptr<ProfileFixture> fixture;
  TimelineCanvas* canvas = nullptr;
};

}  // namespace pipescope::testing
