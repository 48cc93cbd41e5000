#pragma once
#include <QWidget>
#include <vector>

class QButtonGroup;
class QToolButton;

namespace pipescope::shell {

class Palette;
struct PageDefinition;

/// Lists the pages as icons with their names below.
class Sidebar : public QWidget {
  Q_OBJECT

 public:
  Sidebar(const Palette& palette, const std::vector<PageDefinition>& pages, QWidget* parent = nullptr);
  void setCurrent(int index);
  static constexpr int kWidth = 88;

 Q_SIGNALS:
  void chosen(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow();
  const Palette& palette_;
  QButtonGroup* group_;
  std::vector<QToolButton*> buttons_;
  std::vector<QString> icons_;
};

}  // namespace pipescope::shell
