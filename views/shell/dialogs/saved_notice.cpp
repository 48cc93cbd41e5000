#include "views/shell/dialogs/saved_notice.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>

#include "views/shell/look/palette.h"

namespace pipescope::shell {
namespace {
constexpr int kShownMs = 12'000;
}

SavedNotice::SavedNotice(const Palette& palette, QWidget* parent) : QWidget(parent), text_(new QLabel(this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 12, 0);
  layout->addWidget(text_);
  text_->setTextFormat(Qt::RichText);
  text_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  text_->setFocusPolicy(Qt::TabFocus);
  text_->setAccessibleName(tr("Saved file"));
  setVisible(false);
  timer_.setSingleShot(true);
  timer_.setInterval(kShownMs);
  connect(&timer_, &QTimer::timeout, this, &QWidget::hide);
  connect(text_, &QLabel::linkActivated, this, [this] { Q_EMIT openWanted(path_); });
  // A label with a link keeps the colour that the link had when its text was set.
  connect(&palette, &Palette::changed, this, [this] {
    if (isVisible()) show(path_);
  });
}

void SavedNotice::show(const QString& path) {
  path_ = path;
  const QFileInfo file(path);
  text_->setText(tr("Saved <a href=\"open\">%1</a>").arg(file.fileName().toHtmlEscaped()));
  text_->setToolTip(tr("Opens %1").arg(path));
  setVisible(true);
  timer_.start();
}

QString SavedNotice::text() const {
  return text_->text();
}

}  // namespace pipescope::shell
