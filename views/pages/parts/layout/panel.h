#pragma once
#include <QFrame>
#include <QList>

#include <optional>

#include "views/shell/beside.h"
#include "views/shell/look/palette.h"

class QLabel;
class QSplitter;
class QTabWidget;
class QVBoxLayout;

namespace pipescope::shell {
class HelpMark;
}  // namespace pipescope::shell

namespace pipescope::pages {

/// A bordered area with a heading, the denominator of its figures, and a body. A question mark opens the
/// paragraph that the help has on the panel.
class Panel : public QFrame {
  Q_OBJECT

 public:
  explicit Panel(const shell::Palette& palette, const QString& title = {}, QWidget* parent = nullptr);
  void setTitle(const QString& title, const QString& basis = {});
  /// The title of the paragraph in the help, for a panel whose own title changes.
  void setHelp(const QString& title);
  QVBoxLayout* body() const { return body_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow();
  const shell::Palette& palette_;
  QLabel *title_, *basis_;
  shell::HelpMark* help_;
  QVBoxLayout* body_;
  bool hasOwnHelp_ = false;
};

/// A page that fills the window. It has tools at the top, a panel with the chart, and below a splitter a
/// panel with tables in tabs.
class SplitArea : public QWidget {
  Q_OBJECT

 public:
  SplitArea(const shell::Palette& palette, QLayout* tools, QWidget* parent = nullptr);
  Panel* picture() const { return picture_; }
  QTabWidget* tabs() const { return tabs_; }
  /// Shows figures of what is selected in the first tab, or in a wide window in a panel beside the tabs.
  void setFacts(QWidget* facts, const QString& title);
  /// Shares the height between the picture and the tabs.
  void setShares(int picture, int tabs);
  /// Says that nothing is selected. While the tab of figures is shown, which then has few of them, the tabs
  /// get only the height that these need, unless the user has moved the splitter.
  void setNothingSelected(bool nothing);
  /// True while the tabs have only that height.
  bool isFolded() const { return folded_; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void placeFacts();
  void fold();
  void shareOut();

  QSplitter* splitter_;
  QWidget* lower_ = nullptr;  ///< what lies below the picture
  Panel *picture_, *beside_;
  QTabWidget* tabs_;
  QWidget* facts_ = nullptr;
  QString factsTitle_;
  int pictureShare_ = 3, tabsShare_ = 2;
  bool nothing_ = false, folded_ = false, moved_ = false;  ///< moved_: by the user
};

/// Shows one of several widgets. The hidden ones need no room, which they do in a QStackedWidget: that one is
/// never smaller than the largest of its widgets.
class OneOf : public QWidget {
  Q_OBJECT

 public:
  explicit OneOf(QWidget* parent = nullptr);

  /// The first widget is shown, and the others are hidden.
  void add(QWidget* widget);
  void showOnly(int index);
  QWidget* current() const { return widgets_[current_]; }

 private:
  QVBoxLayout* layout_;
  QList<QWidget*> widgets_;
  int current_ = 0;
};

/// A figure in large letters with its meaning. A link leads to the page that explains it. In a comparison it
/// also has the other profile's figure and the change.
class FigureCard : public QFrame, public shell::Beside {
  Q_OBJECT

 public:
  explicit FigureCard(const shell::Palette& palette, QWidget* parent = nullptr);
  void setFigure(const QString& caption, const QString& value, const QString& detail, const QString& link,
                 shell::Ui colour = shell::Ui::text);
  /// The figure as a number, from which a comparison computes the change. `shown`: its text, if the card
  /// shows other words. `growsWithWork`: it is only judged if both profiles do the same work.
  void setAmount(std::optional<double> amount, bool moreIsBetter, const QString& shown = {},
                 bool growsWithWork = false);
  QString besideName() const override { return caption_; }
  void showBeside(const shell::Beside* source, const shell::BesideTerms& terms) override;
  /// The line with the other profile's figure; empty: none.
  QString beside() const { return beside_; }
  shell::Ui besideColour() const { return besideColour_; }
  QString value() const { return value_; }
  shell::Ui colour() const { return colour_; }
  QString caption() const { return caption_; }
  QString detail() const { return detail_; }
  /// The part of the detail that fits into four lines of `width` pixels, in which spaces between figures and
  /// units do not break. The tool tip shows all of it.
  QString detailShown(int width) const;
  /// The value in `width` pixels: without the brackets at its end if it were hardly larger than other texts
  /// with them.
  QString valueShown(int width) const;
  QSize sizeHint() const override { return {240, heightForWidth(240)}; }
  QSize minimumSizeHint() const override { return {170, 90}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 Q_SIGNALS:
  void clicked();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void enterEvent(QEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  QFont valueFont() const;
  int linesOf(const QString& text, int width) const;
  int detailLines(int width) const;  // number of lines, at most four
  const shell::Palette& palette_;
  QString caption_, value_, detail_, link_;
  shell::Ui colour_ = shell::Ui::text, besideColour_ = shell::Ui::muted;
  std::optional<double> amount_;
  bool moreIsBetter_ = false, growsWithWork_ = false;
  QString beside_, amountText_;
};

}  // namespace pipescope::pages
