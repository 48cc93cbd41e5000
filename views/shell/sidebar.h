#pragma once
#include <QWidget>
#include <vector>

class QButtonGroup;
class QToolButton;

namespace pipescope::shell {

class Palette;
struct PageDefinition;

/// Lists the pages in groups, as icons with their names beside them. Pages without content are grey.
class Sidebar : public QWidget {
  Q_OBJECT

 public:
  Sidebar(const Palette& palette, const std::vector<PageDefinition>& pages, QWidget* parent = nullptr);
  void setCurrent(int index);
  /// Makes the name of a page grey, because the profile has no content for it. The sentence, which says why,
  /// is its tool tip; empty: it has content.
  void setLack(int index, const QString& sentence);
  QString lack(int index) const;
  static constexpr int kWidth = 102, kTextLeft = 23;  ///< kTextLeft: where the names of pages begin

 Q_SIGNALS:
  void chosen(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void fitText();
  void follow();
  const Palette& palette_;
  QButtonGroup* group_;
  std::vector<QToolButton*> buttons_;
  std::vector<QWidget*> heads_;
  std::vector<QString> icons_, docs_;
};

}  // namespace pipescope::shell
