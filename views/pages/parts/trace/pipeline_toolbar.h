#pragma once
#include <QCheckBox>
#include <QSpinBox>

#include "profiler/geometry/timeline/pipeline_scene.h"
#include "views/pages/parts/layout/run_toolbar.h"

namespace pipescope::pages {

/// The controls above a pipeline: time or table, colours, and the highlighted micro-batch.
class PipelineToolbar : public RunToolbar {
  Q_OBJECT

 public:
  PipelineToolbar(shell::PageContext& context, shell::Page& owner);

  geometry::PipelineOptions options() const;
  /// Highlights a micro-batch; −1: none.
  void setPath(int microBatch) { path_->setValue(microBatch); }
  void setMicroBatches(int count);
  void setCriticalKnown(bool known) { critical_->setEnabled(known); }

 Q_SIGNALS:
  void allWanted();

 private:
  void addPath();

  QComboBox *mode_ = nullptr, *colours_ = nullptr;
  QSpinBox* path_ = nullptr;
  QCheckBox* critical_ = nullptr;
};

}  // namespace pipescope::pages
