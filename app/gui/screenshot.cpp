#include "app/gui/screenshot.h"

#include <QCoreApplication>
#include <QEvent>
#include <QFile>
#include <QPixmap>
#include <QWidget>
#include <cstdio>
#include <utility>

#include "profiler/base/printable.h"
#include "views/shell/look/picture_format.h"

namespace pipescope::gui {
namespace {
constexpr int kLookMs = 50, kSettledLooks = 4, kMostLooks = 120 * 1000 / kLookMs;

void say(const QString& sentence) {
  std::fprintf(stderr, "pipescope-gui: %s\n", base::printable(sentence.toStdString()).c_str());
}

/// Writes the picture. The rules decide which file it may replace.
base::Status save(const QPixmap& picture, const QString& file, const base::OutputRules& rules) {
  PIPESCOPE_ASSIGN(const shell::PictureFormat format, shell::pictureFormatOf(file, false));
  PIPESCOPE_ASSIGN(const QByteArray bytes, shell::encodedPicture(picture.toImage(), format));
  PIPESCOPE_ASSIGN(base::OutputFile output,
                   base::OutputFile::create(QFile::encodeName(file).toStdString(), format.kind, rules));
  PIPESCOPE_TRY(output.write({bytes.constData(), static_cast<std::size_t>(bytes.size())}));
  return output.close();
}
}  // namespace

Screenshot::Screenshot(ScreenshotSubject subject, QString file, base::OutputRules rules, QObject* parent)
    : QObject(parent), subject_(std::move(subject)), file_(std::move(file)), rules_(std::move(rules)) {
  connect(&timer_, &QTimer::timeout, this, &Screenshot::look);
  timer_.start(kLookMs);
}

/// Requires several settled checks in a row, because one finished load may start another.
void Screenshot::look() {
  settled_ = subject_.settled() != nullptr ? settled_ + 1 : 0;
  if (++looks_ > kMostLooks) {
    say(tr("The page was not loaded within two minutes."));
    timer_.stop();
    return QCoreApplication::exit(1);
  }
  if (settled_ >= kSettledLooks) finish();
}

void Screenshot::finish() {
  timer_.stop();
  // A layout may change a size that another layout depends on.
  constexpr int kMostLayouts = 8;
  for (int i = 0; i < kMostLayouts; ++i) QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  if (const base::Status saved = save(subject_.settled()->grab(), file_, rules_); !saved.ok()) {
    say(QString::fromStdString(saved.error().message));
    return QCoreApplication::exit(saved.error().kind == base::ErrorKind::machine ? 1 : 2);
  }
  const QString error = subject_.error();
  if (!error.isEmpty()) say(error);
  QCoreApplication::exit(error.isEmpty() ? 0 : 2);
}

}  // namespace pipescope::gui
