#pragma once
#include <QDialog>
#include <QMap>

#include "views/shell/help/help_book.h"

class QLineEdit;
class QTextBrowser;
class QTextDocument;
class QToolButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace pipescope::shell {

class Palette;

/// Shows the help beside a window, which can be used meanwhile: contents or the hits of a search on the left,
/// and the text on the right.
class HelpWindow : public QDialog {
  Q_OBJECT

 public:
  HelpWindow(const Palette& palette, QWidget* parent);

  /// Shows a part of the help beside the window of this widget, which has at most one help window.
  static HelpWindow* showFor(const QWidget& widget, const Palette& palette, const QString& topic,
                             const QString& anchor = {});
  /// See HelpBook::panel(). The page is the nearest widget above that markAsPage() has marked.
  static const HelpSection* sectionOn(const QWidget& widget, const QString& title);
  /// Says that this widget is a page with a paragraph of this name in the help.
  static void markAsPage(QWidget& widget, const QString& page);

  /// Shows a part of the help. An unknown one leaves the window as it is.
  void showSection(const QString& topic, const QString& anchor);
  QLineEdit* box() const { return box_; }
  QTreeWidget* list() const { return list_; }
  QTextBrowser* browser() const { return browser_; }
  /// The part that is shown.
  const HelpSection* shown() const { return shown_; }
  /// Goes back to the part that was shown before, or forward again.
  void goBack() { goTo(at_ - 1); }
  void goForward() { goTo(at_ + 1); }

 protected:
  /// The arrow keys of the search go through its hits.
  bool eventFilter(QObject* watched, QEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  QToolButton* arrow(const QString& icon, const QString& tip, const QKeySequence& key,
                     void (HelpWindow::*go)());
  void follow();
  void goTo(int at);
  void step(int by);
  void remember();
  QTextDocument* documentOf(const QString& topic);
  void fill();
  void addHits(const QString& words);
  void addContents();
  void activate(QTreeWidgetItem* item);
  void followLink(const QString& link);
  void scrollTo(const HelpSection& section);
  void scrollLater();
  void mark();

  const Palette& palette_;
  const HelpBook& book_;
  QLineEdit* box_;
  QTreeWidget* list_;
  QTextBrowser* browser_;
  QString topic_;                            ///< topic whose text is shown
  QMap<QString, QTextDocument*> documents_;  ///< texts of topics that were shown
  const HelpSection* shown_ = nullptr;
  QToolButton *back_ = nullptr, *forward_ = nullptr;
  std::vector<const HelpSection*> visited_;  ///< parts in the order in which they were shown
  int at_ = -1;                              ///< the one of them that is shown
  bool isReturning_ = false;
};

}  // namespace pipescope::shell
