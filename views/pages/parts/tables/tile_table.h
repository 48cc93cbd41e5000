#pragma once
#include <QWidget>

#include "profiler/geometry/timeline/timeline_scene.h"
#include "views/pages/parts/trace/trace_texts.h"
#include "views/shell/look/palette.h"

class QLabel;

namespace pipescope::pages {

class DataTable;

/// Shows what single tiles do in a step, the slowest first. If that was not recorded, the table says how to
/// record it.
class TileTable : public QWidget {
  Q_OBJECT

 public:
  explicit TileTable(const shell::Palette& palette, QWidget* parent = nullptr);

  /// Shows nothing, because no step is selected.
  void clear(bool recorded);
  void show(const TraceTexts& texts, const geometry::TimelineScene& scene,
            const geometry::TimelineItem& step);
  DataTable* table() const { return table_; }

 private:
  QLabel* sentence_;
  DataTable* table_;
};

}  // namespace pipescope::pages
