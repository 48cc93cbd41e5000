#pragma once
#include <QObject>
#include <functional>
#include <vector>

#include "profiler/geometry/timeline/time_axis.h"
#include "views/shell/page.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::pages {

/// Shows notes of the profile as flags on a timeline, and asks for new ones.
class TraceNotes : public QObject {
  Q_OBJECT

 public:
  TraceNotes(shell::PageContext& context, timeline::TimelineCanvas& canvas, QWidget* parent);

  /// Shows the notes that were read from the profile.
  void show(std::vector<model::Note> notes);
  const std::vector<model::Note>& notes() const { return notes_; }
  /// Asks for the text of a note at the selection, or in the middle of the view. An empty text removes the
  /// note.
  void ask(const geometry::TimeScale& scale, base::Ticks middle);

 Q_SIGNALS:
  void kept();
  void failed(const QString& sentence);

 private:
  void keep(model::Note note, const QString& written);

  shell::PageContext& context_;
  timeline::TimelineCanvas& canvas_;
  QWidget* parent_;
  std::vector<model::Note> notes_;
};

}  // namespace pipescope::pages
