#pragma once
#include <QFrame>
#include <vector>

#include "views/shell/page.h"

class QLabel;
class QPushButton;

namespace pipescope::shell {

/// A line above the pages that leads through one profile in five steps, from the slow stage to a saved
/// report. It begins by itself with the first demo, and later only when it is asked for.
class Tour : public QFrame {
  Q_OBJECT

 public:
  Tour(Palette& palette, WindowSettings& settings, QWidget* parent = nullptr);
  /// Begins with the first step. The window must show a profile.
  void begin();
  /// Begins if the user has never seen the tour.
  void beginOnce();
  /// The present step, from 0; −1: the tour does not run.
  int step() const { return step_; }

 Q_SIGNALS:
  void placeWanted(const Place& place);
  void reportWanted();

 private:
  void show(int step);
  void end();
  void follow();

  Palette& palette_;
  WindowSettings& settings_;
  QLabel *title_, *text_;
  QPushButton *back_, *next_, *leave_;
  int step_ = -1;
};

}  // namespace pipescope::shell
