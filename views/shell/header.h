#pragma once
#include <QWidget>
#include <optional>

#include "views/shell/look/palette.h"
#include "views/shell/profile_session.h"

class QComboBox;
class QLabel;

namespace pipescope::shell {

class ElidedLabel;

/// The strip above the pages. It names the profile and what was run, and lets users choose the executable.
class Header : public QWidget {
  Q_OBJECT

 public:
  Header(const Palette& palette, ProfileSession& session, QWidget* parent = nullptr);
  /// Shows the session's present profile. There must be one.
  void follow();
  /// Says, while a file is dragged over the window, that it can be dropped here to compare it.
  void offerComparison(bool offer);
  /// The ended calls of the shown executable as a share of the planned ones; none if their number is not
  /// known or nothing runs.
  std::optional<double> progress() const;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString stateText() const;
  QString executableText() const;

  const Palette& palette_;
  ProfileSession& session_;
  QLabel *badge_, *executableLabel_;
  ElidedLabel *title_, *facts_;
  QComboBox* executables_;
  bool offering_ = false;
};

}  // namespace pipescope::shell
