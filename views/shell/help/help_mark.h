#pragma once
#include <QToolButton>

namespace pipescope::shell {

class Palette;

/// Makes the built-in help on a worker, because it takes longer than a frame.
class HelpShelf : public QObject {
  Q_OBJECT

 public:
  /// One for the program. It lives as long as the application.
  static HelpShelf& instance();
  bool isReady() const { return ready_; }
  /// Begins unless it has begun.
  void prepare();

 Q_SIGNALS:
  void ready();

 private:
  using QObject::QObject;
  bool begun_ = false, ready_ = false;
};

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
