#pragma once
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <functional>

#include "views/shell/page.h"

namespace pipescope::pages {

/// The indents of controls above panels: of a page that scrolls, and of one that has its tools itself.
inline constexpr int kScrolledIndent = 18, kSplitIndent = 0;

/// A row of controls above a chart.
class ToolRow : public QWidget {
  Q_OBJECT

 public:
  explicit ToolRow(shell::PageContext& context, QWidget* parent = nullptr);

  QComboBox* combo(const QStringList& items, const QString& name, const QString& tip);
  /// The pixels at the left and right, so that the controls begin where the panels below them do.
  void setIndent(int pixels);
  /// Adds a quiet word that says what the control behind it is for.
  QLabel* label(const QString& text);
  /// Adds a button whose icon follows the theme.
  QToolButton* button(const QString& icon, const QString& tip, std::function<void()> run);
  /// Adds a button that saves a picture of the page: the visible part or the whole chart.
  QToolButton* pictureButton();
  void add(QWidget* widget, int stretch = 0) { layout_->addWidget(widget, stretch); }
  void space(int pixels = 8) { layout_->addSpacing(pixels); }
  void stretch() { layout_->addStretch(); }

 protected:
  shell::PageContext& context_;

 private:
  QHBoxLayout* layout_;
};

}  // namespace pipescope::pages
