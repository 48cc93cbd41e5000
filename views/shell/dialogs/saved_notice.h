#pragma once
#include <QTimer>
#include <QWidget>

class QLabel;

namespace pipescope::shell {

class Palette;

/// Says for some seconds that a file was written, with a link that opens it.
class SavedNotice : public QWidget {
  Q_OBJECT

 public:
  explicit SavedNotice(const Palette& palette, QWidget* parent = nullptr);
  void show(const QString& path);
  QString text() const;

 Q_SIGNALS:
  void openWanted(const QString& path);

 private:
  QLabel* text_;
  QTimer timer_;
  QString path_;
};

}  // namespace pipescope::shell
