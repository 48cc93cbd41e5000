#pragma once
// Charts as picture files: PNG or SVG, with what the figures are written below.
#include <QWidget>

#include "profiler/base/result.h"
#include "views/shell/page.h"

namespace pipescope::shell {

/// "Emulated · device model ipu-mk2 0.1.0 · pipescope 0.1.0 · mnist.pop, training".
QString provenance(const ProfileSession& session);

/// Draws the widget with a line of text below it, in its theme's colours. `asSvg`: as vectors; otherwise as
/// PNG at twice the size on the screen.
QByteArray pictureOf(QWidget& widget, const QString& caption, bool asSvg, const Palette& palette);

/// Asks where to and writes it on a worker; a failure is shown in a message.
void savePicture(QWidget& widget, const QString& name, PageContext& context);

/// Writes bytes; the sentence of an error names the file and what to do. For workers.
base::Status writeFile(const QString& path, const QByteArray& bytes);

/// "Save picture…" in the context menu of `owner`, drawing `widget`.
void addPictureAction(QWidget& owner, QWidget& widget, const QString& name, PageContext& context);

}  // namespace pipescope::shell
