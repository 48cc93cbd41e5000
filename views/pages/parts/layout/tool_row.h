#pragma once
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <functional>

#include "views/shell/page.h"

namespace pipescope::pages {

/// A row of controls above a chart.
class ToolRow : public QWidget {
  Q_OBJECT

 public:
  explicit ToolRow(shell::PageContext& context, QWidget* parent = nullptr);

  QComboBox* combo(const QStringList& items, const QString& name, const QString& tip);
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
