#pragma once
#include <QWidget>
#include <memory>

#include "views/pages/parts/data/liveness_data.h"
#include "views/shell/background.h"
#include "views/shell/page.h"

class QLabel;

namespace pipescope::timeline {
class ItemChart;
class Legend;
}  // namespace pipescope::timeline

namespace pipescope::pages {

/// Lives of the variables of a memory space, as bars over program steps. They are read when they are first
/// looked at. A click selects a variable on all pages.
class LifetimesView : public QWidget {
  Q_OBJECT

 public:
  LifetimesView(shell::PageContext& context, shell::Page& page, QWidget* parent);

  /// Shows the lives of this content, and marks the steps from `first` to `last`. Does nothing while hidden.
  void showLives(std::shared_ptr<const LivenessData> content, int first, int last);

 private:
  void read();
  void draw();
  QString note() const;
  shell::Selected subjectOf(int row) const;

  shell::PageContext& context_;
  shell::Page& page_;
  QLabel* note_;
  timeline::ItemChart* chart_;
  timeline::Legend* legend_;
  std::shared_ptr<const LivenessData> data_;
  std::shared_ptr<const LivenessData> readFor_;  ///< content whose lives were read
  std::shared_ptr<shell::SharedProgress> progress_;
  LifeRows lives_;
  int first_ = -1, last_ = -1;
};

}  // namespace pipescope::pages
