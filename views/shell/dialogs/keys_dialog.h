#pragma once
#include <QDialog>

namespace pipescope::shell {

class Actions;

/// Lists all keys by group.
class KeysDialog : public QDialog {
  Q_OBJECT

 public:
  KeysDialog(const Actions& actions, QWidget* parent = nullptr);
};

}  // namespace pipescope::shell
