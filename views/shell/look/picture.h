#pragma once
// Saves charts as images or SVG drawings with their title above and a line below that says where the figures
// come from.
#include "profiler/base/files/output_file.h"
#include "profiler/base/result.h"
#include "views/shell/look/picture_format.h"
#include "views/shell/page.h"

namespace pipescope::shell {

/// Line under a picture: "Emulated · device model ipu-mk2 0.1.0 · pipescope 0.1.0 · mnist.pop, training".
QString provenance(const ProfileSession& session);

/// Draws the picture without scroll bars, in the theme's colours: as SVG, or as an image of twice the size on
/// the screen. `whole`: all of its content instead of the visible part. Error: Qt cannot write the format.
base::Result<QByteArray> pictureOf(const Picture& picture, bool whole, const QString& caption,
                                   const PictureFormat& format, const Palette& palette);

/// Asks for a file name and writes the file on a worker. A notice says that it was written, and a message
/// reports a failure.
void savePicture(const Picture& picture, bool whole, const QString& name, PageContext& context);

/// Writes bytes of a kind into a file. Only files of this kind and empty files are replaced. The error names
/// the file and what to do. For workers.
base::Status writeFile(const QString& path, const QByteArray& bytes, base::FileKind kind);

/// Adds "Save picture…" to the context menu of `owner`.
void addPictureAction(QWidget& owner, const std::function<Picture()>& picture, const QString& name,
                      PageContext& context);

}  // namespace pipescope::shell
