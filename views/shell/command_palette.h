#pragma once
#include <QDialog>
#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace pipescope::shell {

/// Something that can be chosen by typing part of its name.
struct Command {
  QString name, detail;
  std::function<void()> run;
};

/// A box with a list below: what is typed narrows the list, Enter runs the first or the chosen one.
class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(std::vector<Command> commands, QWidget* parent);
  QLineEdit* box() const { return box_; }
  QListWidget* list() const { return list_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void narrow(const QString& text);
  void runCurrent();

  std::vector<Command> commands_;
  QLineEdit* box_;
  QListWidget* list_;
};

}  // namespace pipescope::shell
