#include "views/shell/look/picture.h"

#include <QAbstractScrollArea>
#include <QAction>
#include <QBuffer>
#include <QFile>
#include <QFileDialog>
#include <QFontDatabase>
#include <QImage>
#include <QMessageBox>
#include <QPainter>
#include <QSvgGenerator>
#include <vector>

#include "views/shell/background.h"

namespace pipescope::shell {
namespace {

constexpr int kCaption = 22, kTitle = 30, kScale = 2, kSide = 8;
const auto kFolder = QStringLiteral("picture_folder");

/// Hides the scroll bars of a widget and of what it contains for as long as it lives.
class WithoutScrollBars {
 public:
  explicit WithoutScrollBars(QWidget& widget) {
    QList<QAbstractScrollArea*> areas = widget.findChildren<QAbstractScrollArea*>();
    if (auto* own = qobject_cast<QAbstractScrollArea*>(&widget)) areas << own;
    for (QAbstractScrollArea* area : areas) {
      kept_.push_back({area, area->horizontalScrollBarPolicy(), area->verticalScrollBarPolicy()});
      area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
      area->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    }
  }
  ~WithoutScrollBars() {
    for (const Kept& kept : kept_) {
      kept.area->setHorizontalScrollBarPolicy(kept.horizontal);
      kept.area->setVerticalScrollBarPolicy(kept.vertical);
    }
  }
  WithoutScrollBars(const WithoutScrollBars&) = delete;
  WithoutScrollBars& operator=(const WithoutScrollBars&) = delete;

 private:
  struct Kept {
    QAbstractScrollArea* area;
    Qt::ScrollBarPolicy horizontal, vertical;
  };
  std::vector<Kept> kept_;
};

QSize sizeWithTexts(const QWidget& widget) {
  return {widget.width(), kTitle + widget.height() + kCaption};
}

void draw(QPainter& painter, const Picture& picture, const QString& caption, const Palette& palette) {
  QWidget& widget = *picture.widget;
  const QSize size = sizeWithTexts(widget);
  const int room = size.width() - 2 * kSide;
  painter.fillRect(QRect(QPoint(), size), palette.ui(Ui::window));
  const auto write = [&](int y, int height, const QFont& font, Ui colour, const QString& text) {
    painter.setFont(font);
    painter.setPen(palette.ui(colour));
    painter.drawText(QRect(kSide, y, room, height), Qt::AlignVCenter | Qt::AlignLeft,
                     QFontMetrics(font).elidedText(text, Qt::ElideRight, room));
  };
  QFont title = widget.font();
  title.setPixelSize(15);
  title.setBold(true);
  write(0, kTitle, title, Ui::text, picture.title);
  QFont small = widget.font();
  small.setPixelSize(11);
  write(size.height() - kCaption, kCaption, small, Ui::muted, caption);
  widget.render(&painter, QPoint(0, kTitle), QRegion(), QWidget::DrawChildren);
}

base::Result<QByteArray> drawn(const Picture& picture, const QString& caption, const PictureFormat& format,
                               const Palette& palette) {
  const QSize size = sizeWithTexts(*picture.widget);
  if (format.kind == base::FileKind::svg) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(), size));
    generator.setTitle(picture.title);
    generator.setDescription(caption);
    QPainter painter(&generator);
    draw(painter, picture, caption, palette);
    painter.end();
    return bytes;
  }
  QImage image(size * kScale, QImage::Format_RGB32);
  image.setDevicePixelRatio(kScale);
  {
    QPainter painter(&image);
    draw(painter, picture, caption, palette);
  }
  image.setText(QStringLiteral("Title"), picture.title);
  image.setText(QStringLiteral("Description"), caption);
  return encodedPicture(image, format);
}

/// "PNG picture (*.png)".
QString filterOf(const PictureFormat& format) {
  QStringList patterns;
  for (const QString& ending : format.endings) patterns << QStringLiteral("*.") + ending;
  return QStringLiteral("%1 (%2)").arg(format.name, patterns.join(QLatin1Char(' ')));
}

base::Status drawToFile(const Picture& picture, bool whole, const QString& path, PageContext& context,
                        const std::function<void(QByteArray, base::FileKind)>& write) {
  PIPESCOPE_ASSIGN(const PictureFormat format, pictureFormatOf(path, true));
  PIPESCOPE_ASSIGN(const QByteArray bytes,
                   pictureOf(picture, whole, provenance(context.session), format, context.palette));
  write(bytes, format.kind);
  return {};
}

}  // namespace

QString provenance(const ProfileSession& session) {
  const ProfileSnapshot* snapshot = session.snapshot();
  if (snapshot == nullptr) return {};
  const analysis::Catalog& catalog = *snapshot->catalog;
  QStringList parts = {catalog.measured() ? QObject::tr("Imported trace") : QObject::tr("Emulated")};
  const QString model = QString::fromStdString(catalog.property("device_model")),
                tool = QString::fromStdString(catalog.property("tool_version"));
  if (!model.isEmpty()) parts << QObject::tr("device model %1").arg(model);
  if (!tool.isEmpty()) parts << QStringLiteral("pipescope ") + tool;
  const model::Executable* executable = catalog.executable(session.executable());
  parts << (executable == nullptr
                ? session.title()
                : QStringLiteral("%1, %2").arg(session.title(), QString::fromStdString(executable->name)));
  return parts.join(QStringLiteral(" · "));
}

base::Result<QByteArray> pictureOf(const Picture& picture, bool whole, const QString& caption,
                                   const PictureFormat& format, const Palette& palette) {
  const WithoutScrollBars hidden(*picture.widget);
  const std::function<void()> undo = whole && picture.showWhole ? picture.showWhole() : nullptr;
  Picture titled = picture;
  if (whole && !picture.wholeTitle.isEmpty()) titled.title = picture.wholeTitle;
  base::Result<QByteArray> bytes = drawn(titled, caption, format, palette);
  if (undo) undo();
  return bytes;
}

base::Status writeFile(const QString& path, const QByteArray& bytes, base::FileKind kind) {
  PIPESCOPE_ASSIGN(base::OutputFile file,
                   base::OutputFile::create(QFile::encodeName(path).toStdString(), kind, {}));
  PIPESCOPE_TRY(file.write({bytes.constData(), static_cast<std::size_t>(bytes.size())}));
  return file.close();
}

void savePicture(const Picture& picture, bool whole, const QString& name, PageContext& context) {
  QWidget* const widget = picture.widget;
  const std::vector<PictureFormat> formats = pictureFormats(true);
  QStringList filters;
  for (const PictureFormat& format : formats) filters << filterOf(format);
  // The name of a picture begins with that of its profile. Pictures of other profiles then do not replace it.
  const QFileInfo profile(context.session.title());
  const QString folder = context.settings.value(kFolder).toString(),
                prefix = context.session.path().isEmpty() ? QString()
                                                          : profile.completeBaseName() + QLatin1Char('_');
  auto* dialog = new QFileDialog(widget->window(), QObject::tr("Save the picture"),
                                 folder.isEmpty() && !prefix.isEmpty() ? context.session.folder() : folder,
                                 filters.join(QStringLiteral(";;")));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(formats.front().endings.front());
  dialog->selectFile(prefix + name + QLatin1Char('.') + dialog->defaultSuffix());
  QObject::connect(dialog, &QFileDialog::filterSelected, dialog, [dialog, formats](const QString& filter) {
    for (const PictureFormat& format : formats) {
      if (filterOf(format) == filter) dialog->setDefaultSuffix(format.endings.front());
    }
  });
  QObject::connect(
      dialog, &QFileDialog::fileSelected, widget, [picture, whole, &context](const QString& path) {
        context.settings.setValue(kFolder, QFileInfo(path).path());
        const auto report = [widget = picture.widget, path, &context](const base::Status& status) {
          if (status.ok()) return context.saved(path);
          QMessageBox::warning(widget->window(), QObject::tr("Save the picture"),
                               QString::fromStdString(status.error().message));
        };
        const auto write = [&](const QByteArray& bytes, base::FileKind kind) {
          inBackground(
              picture.widget, [path, bytes, kind] { return writeFile(path, bytes, kind); }, report);
        };
        if (const base::Status drawn = drawToFile(picture, whole, path, context, write); !drawn.ok())
          report(drawn);
      });
  dialog->open();
}

void addPictureAction(QWidget& owner, const std::function<Picture()>& picture, const QString& name,
                      PageContext& context) {
  auto* action = new QAction(QObject::tr("Save picture…"), &owner);
  owner.addAction(action);
  owner.setContextMenuPolicy(Qt::ActionsContextMenu);
  QObject::connect(action, &QAction::triggered, &owner,
                   [picture, name, &context] { savePicture(picture(), false, name, context); });
}

}  // namespace pipescope::shell
