#include "views/pages/parts/layout/tool_row.h"

#include <QMenu>

#include "views/shell/look/icons.h"

namespace pipescope::pages {
namespace {

constexpr int kToolIndent = 8;  ///< above a chart that fills the window

}  // namespace

void ToolRow::setIndent(int pixels) {
  layout_->setContentsMargins(pixels, 6, pixels, 6);
}

ToolRow::ToolRow(shell::PageContext& context, QWidget* parent)
    : QWidget(parent), context_(context), layout_(new QHBoxLayout(this)) {
  layout_->setContentsMargins(kToolIndent, 6, kToolIndent, 6);
  layout_->setSpacing(4);
}

QComboBox* ToolRow::combo(const QStringList& items, const QString& name, const QString& tip) {
  auto* box = new QComboBox(this);
  box->addItems(items);
  box->setAccessibleName(name);
  box->setToolTip(tip);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  box->setFocusPolicy(Qt::TabFocus);
  layout_->addWidget(box);
  return box;
}

QLabel* ToolRow::label(const QString& text) {
  auto* made = new QLabel(text, this);
  shell::Palette::makeQuiet(*made);
  layout_->addWidget(made);
  return made;
}

QToolButton* ToolRow::button(const QString& name, const QString& tip, std::function<void()> run) {
  auto* made = new QToolButton(this);
  made->setAutoRaise(true);
  made->setToolTip(tip);
  made->setAccessibleName(tip);
  made->setFocusPolicy(Qt::TabFocus);
  const auto follow = [this, made, name] { made->setIcon(shell::icon(name, context_.palette)); };
  follow();
  connect(&context_.palette, &shell::Palette::changed, made, follow);
  connect(made, &QToolButton::clicked, this, [run = std::move(run)] { run(); });
  layout_->addWidget(made);
  return made;
}

QToolButton* ToolRow::pictureButton() {
  QToolButton* made = button(QStringLiteral("picture"), tr("Save picture as PNG or SVG"), [] {});
  auto* menu = new QMenu(made);
  menu->addAction(tr("Visible part…"), this, [this] { context_.savePicture(false); });
  menu->addAction(tr("Whole chart…"), this, [this] { context_.savePicture(true); });
  made->setMenu(menu);
  made->setPopupMode(QToolButton::InstantPopup);
  made->setStyleSheet(QStringLiteral("QToolButton::menu-indicator { image: none; }"));
  return made;
}

}  // namespace pipescope::pages
