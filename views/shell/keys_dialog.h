#pragma once
#include <QDialog>

namespace pipescope::shell {

class Actions;
class Palette;

/// All keys, by group.
class KeysDialog : public QDialog {
  Q_OBJECT

 public:
  KeysDialog(const Actions& actions, const Palette& palette, QWidget* parent = nullptr);
};

}  // namespace pipescope::shell
