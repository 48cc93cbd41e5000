#pragma once
#include <QPainter>
#include <QString>
#include <optional>
#include <vector>

#include "views/timeline/painters/timeline_look.h"

namespace pipescope::timeline {

/// Marks that users put onto a timeline: measured spans, marked times, and the notes of the profile as flags.
class Annotations {
 public:
  struct Span {
    base::Ticks from, to;
  };
  struct Flag {
    base::Ticks time;
    QString text;
  };

  const std::vector<Span>& spans() const { return spans_; }
  /// Marked times, ascending. Each is labelled with the time since the one before.
  const std::vector<base::Ticks>& markers() const { return markers_; }

  /// Keeps a span; the oldest goes when there are more than kMost.
  void addSpan(base::Ticks from, base::Ticks to);
  /// Marks a time, or removes the mark that is there. Does nothing when there are kMost marks already.
  void toggleMarker(base::Ticks time);
  void setFlags(std::vector<Flag> flags) { flags_ = std::move(flags); }
  /// Removes spans and marks. Flags stay, because they belong to the profile.
  void clear();

  /// A span that the user is measuring is painted like the others until finishMeasuring().
  void startMeasuring(base::Ticks at) { measured_ = Span{at, at}; }
  void measureTo(base::Ticks at) { measured_->to = at; }
  /// Keeps the span; false if it is empty.
  bool finishMeasuring();

  void paint(QPainter& painter, const TimelineLook& look) const;
  /// A veil over all rows, with its length on the axis.
  static void paintSpan(QPainter& painter, const TimelineLook& look, const Span& span);

  static constexpr std::size_t kMost = 20;  ///< spans, and marks

 private:
  void paintFlags(QPainter& painter, const TimelineLook& look) const;
  void paintMarkers(QPainter& painter, const TimelineLook& look) const;

  std::vector<Span> spans_;
  std::vector<base::Ticks> markers_;
  std::vector<Flag> flags_;
  std::optional<Span> measured_;
};

}  // namespace pipescope::timeline
