#pragma once
#include <QDialog>
#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace pipescope::shell {

/// An entry that users choose by typing a part of its name.
struct PaletteEntry {
  QString name, detail;
  std::function<void()> run;
};

/// A text box above a list. Typing narrows the list, and Enter runs the chosen entry, or else the first.
class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(std::vector<PaletteEntry> commands, QWidget* parent);
  QLineEdit* box() const { return box_; }
  QListWidget* list() const { return list_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void narrow(const QString& text);
  void runCurrent();

  std::vector<PaletteEntry> commands_;
  QLineEdit* box_;
  QListWidget* list_;
};

}  // namespace pipescope::shell
