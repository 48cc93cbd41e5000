#include "views/shell/look/picture_format.h"

#include <QBuffer>
#include <QFileInfo>
#include <QObject>
#include <QStringList>
#include <algorithm>

namespace pipescope::shell {

std::vector<PictureFormat> pictureFormats(bool drawings) {
  std::vector<PictureFormat> formats = {
      {{QStringLiteral("png")}, QObject::tr("PNG picture"), "PNG", base::FileKind::png},
      {{QStringLiteral("jpg"), QStringLiteral("jpeg")},
       QObject::tr("JPEG picture"),
       "JPEG",
       base::FileKind::jpeg},
      {{QStringLiteral("bmp")}, QObject::tr("BMP picture"), "BMP", base::FileKind::bmp}};
  if (drawings)
    formats.push_back({{QStringLiteral("svg")}, QObject::tr("SVG drawing"), nullptr, base::FileKind::svg});
  return formats;
}

base::Result<PictureFormat> pictureFormatOf(const QString& path, bool drawings) {
  const std::vector<PictureFormat> formats = pictureFormats(drawings);
  if (path == QLatin1String("-")) return formats.front();
  const QString ending = QFileInfo(path).suffix().toLower();
  QStringList known;
  for (const PictureFormat& format : formats) {
    if (std::ranges::find(format.endings, ending) != format.endings.end()) return format;
    for (const QString& one : format.endings) known << QLatin1Char('.') + one;
  }
  const QString last = known.takeLast();
  return base::badInput(QObject::tr("%1 does not end like a picture that can be written: choose a name that "
                                    "ends in %2 or %3.")
                            .arg(path, known.join(QStringLiteral(", ")), last)
                            .toStdString());
}

base::Result<QByteArray> encodedPicture(const QImage& image, const PictureFormat& format) {
  constexpr int kQuality = 95;  // quality of JPEG, so that thin lines and small letters stay sharp
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  const bool lossy = format.kind == base::FileKind::jpeg;
  if (format.qtName != nullptr && image.save(&buffer, format.qtName, lossy ? kQuality : -1)) return bytes;
  return base::badInput(
      QObject::tr("This installation of Qt cannot write a %1: choose a name that ends in .png.")
          .arg(format.name)
          .toStdString());
}

}  // namespace pipescope::shell
