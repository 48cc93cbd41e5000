#pragma once
#include <QWidget>

class QLabel;
class QLineEdit;

namespace pipescope::shell {

class Palette;

/// Searches the present page for a text, forwards and backwards.
class FindBar : public QWidget {
  Q_OBJECT

 public:
  FindBar(const Palette& palette, QWidget* parent = nullptr);
  /// Opens the bar. A text that is given is looked for at once.
  void begin(const QString& text = {});
  /// "3 of 12", "nothing found".
  void setAnswer(const QString& sentence);
  QString answer() const;
  QLineEdit* box() const { return box_; }

 Q_SIGNALS:
  void wanted(const QString& text, int direction);  ///< 0: the text has changed
  void closed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  const Palette& palette_;
  QLineEdit* box_;
  QLabel* answer_;
};

}  // namespace pipescope::shell
