#pragma once
#include <QToolButton>

namespace pipescope::shell {

class Palette;

/// A question mark beside a title, which opens what the help says of it. It is hidden where the help says
/// nothing.
class HelpMark : public QToolButton {
  Q_OBJECT

 public:
  HelpMark(const Palette& palette, QWidget* parent);
  void setTitle(const QString& title);
  const QString& title() const { return title_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void look();
  QString title_;
};

}  // namespace pipescope::shell
