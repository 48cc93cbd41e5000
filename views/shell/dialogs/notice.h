#pragma once
#include <QWidget>

class QLabel;

namespace pipescope::shell {

class Palette;

enum class NoticeKind { info, warning, error };

/// A strip above the content. It says what is being read, or what failed while older content stays.
class NoticeBar : public QWidget {
  Q_OBJECT

 public:
  explicit NoticeBar(const Palette& palette, QWidget* parent = nullptr);
  void setNotice(NoticeKind kind, const QString& sentence);
  void clear();
  QString sentence() const { return sentence_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow();
  const Palette& palette_;
  QLabel *icon_, *text_;
  NoticeKind kind_ = NoticeKind::info;
  QString sentence_;
};

/// Fills a page that has no content with an icon and a sentence.
class NoticePane : public QWidget {
  Q_OBJECT

 public:
  explicit NoticePane(const Palette& palette, QWidget* parent = nullptr);
  void setNotice(NoticeKind kind, const QString& sentence);
  QString sentence() const { return sentence_; }

 private:
  void follow();
  const Palette& palette_;
  QLabel *icon_, *text_;
  NoticeKind kind_ = NoticeKind::info;
  QString sentence_;
};

}  // namespace pipescope::shell
