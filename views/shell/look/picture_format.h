#pragma once
// The formats in which pictures are written. The ending of a file's name chooses one.
#include <QByteArray>
#include <QImage>
#include <QString>
#include <vector>

#include "profiler/base/files/file_kind.h"
#include "profiler/base/result.h"

namespace pipescope::shell {

struct PictureFormat {
  std::vector<QString> endings;  ///< endings of file names, the usual one first
  QString name;                  ///< name for people
  const char* qtName;            ///< name for QImageWriter; null: a drawing, which no image becomes
  base::FileKind kind;
};

/// All formats, or without drawings.
std::vector<PictureFormat> pictureFormats(bool drawings);

/// The format that the name asks for; PNG for standard output ("-"). The error names the endings that work.
base::Result<PictureFormat> pictureFormatOf(const QString& path, bool drawings);

/// The image in a format that is no drawing. Error: this installation of Qt cannot write the format.
base::Result<QByteArray> encodedPicture(const QImage& image, const PictureFormat& format);

}  // namespace pipescope::shell
