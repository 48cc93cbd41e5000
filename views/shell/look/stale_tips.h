#pragma once
#include <QObject>

namespace pipescope::shell {

/// Hides a tool tip when a key is pressed: what it describes may then have moved away from the pointer. Qt
/// does so only when the pointer or the focus moves.
class StaleTips : public QObject {
  Q_OBJECT

 public:
  /// Watches all windows of the program.
  explicit StaleTips(QObject* parent);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace pipescope::shell
