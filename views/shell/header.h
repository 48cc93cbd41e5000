#pragma once
#include <QWidget>

#include "views/shell/palette.h"
#include "views/shell/profile_session.h"

class QComboBox;
class QLabel;

namespace pipescope::shell {

class ElidedLabel;

/// The strip above the pages: which profile, what was run, and the choice of the executable.
class Header : public QWidget {
  Q_OBJECT

 public:
  Header(const Palette& palette, ProfileSession& session, QWidget* parent = nullptr);
  /// What the session's profile is now; it has one.
  void follow();

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
};

}  // namespace pipescope::shell
