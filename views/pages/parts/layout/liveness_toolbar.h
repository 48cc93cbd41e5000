#pragma once
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

#include "views/pages/parts/data/liveness_data.h"
#include "views/shell/look/palette.h"

namespace pipescope::pages {

/// The controls above the liveness chart.
class LivenessToolbar : public QHBoxLayout {
  Q_OBJECT

 public:
  /// Units whose bytes the chart shows.
  enum class Source { sum, fullest, one };

  LivenessToolbar(const shell::Palette& palette, QWidget* owner);

  /// The chosen memory space; none before the first setSpaces().
  model::MemorySpaceId space() const;
  void setSpaces(const std::vector<LivenessSpace>& spaces);
  void selectSpace(model::MemorySpaceId space);
  Source source() const { return static_cast<Source>(source_->currentIndex()); }
  void setSource(Source source) { source_->setCurrentIndex(static_cast<int>(source)); }
  /// Memory in one piece has no tiles to choose from. `unit`: the tile that is shown; −1: none by itself.
  void setUnits(const LivenessSpace& space, std::int64_t unit, bool showsOne);
  bool withAlwaysLive() const { return always_->isChecked(); }
  void setAlwaysLiveEnabled(bool enabled) { always_->setEnabled(enabled); }
  void setTraceEnabled(bool enabled) { trace_->setEnabled(enabled); }

 Q_SIGNALS:
  void spaceChosen();
  void sourceChosen();
  void tileChosen(int tile);
  void alwaysLiveChanged();
  void moveWanted(int steps);
  void peakWanted();
  void nameWanted(const QString& part);
  void traceWanted();

 private:
  void addMoves(const shell::Palette& palette, QWidget* owner);

  QComboBox *device_, *source_;
  QSpinBox* tile_;
  QCheckBox* always_;
  QLineEdit* name_;
  QPushButton* trace_;
};

}  // namespace pipescope::pages
