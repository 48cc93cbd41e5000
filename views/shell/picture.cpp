#include "views/shell/picture.h"

#include <QAction>
#include <QBuffer>
#include <QFileDialog>
#include <QFontDatabase>
#include <QImage>
#include <QMessageBox>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>

#include "views/shell/background.h"

namespace pipescope::shell {
namespace {

constexpr int kCaption = 22, kScale = 2;
const auto kFolder = QStringLiteral("picture_folder");

void draw(QPainter& painter, QWidget& widget, const QString& caption, const Palette& palette) {
  const QSize size = widget.size();
  painter.fillRect(QRect(0, 0, size.width(), size.height() + kCaption), palette.ui(Ui::window));
  widget.render(&painter, QPoint(), QRegion(), QWidget::DrawChildren);
  QFont small = widget.font();
  small.setPixelSize(11);
  painter.setFont(small);
  painter.setPen(palette.ui(Ui::muted));
  painter.drawText(QRect(8, size.height(), size.width() - 16, kCaption), Qt::AlignVCenter | Qt::AlignLeft,
                   QFontMetrics(small).elidedText(caption, Qt::ElideRight, size.width() - 16));
}

}  // namespace

QString provenance(const ProfileSession& session) {
  const Snapshot* snapshot = session.snapshot();
  if (snapshot == nullptr) return {};
  const analysis::Catalog& catalog = *snapshot->catalog;
  QStringList parts = {QObject::tr("Emulated")};
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

QByteArray pictureOf(QWidget& widget, const QString& caption, bool asSvg, const Palette& palette) {
  const QSize size(widget.width(), widget.height() + kCaption);
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (asSvg) {
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(), size));
    generator.setTitle(widget.accessibleName());
    generator.setDescription(caption);
    QPainter painter(&generator);
    draw(painter, widget, caption, palette);
  } else {
    QImage image(size * kScale, QImage::Format_RGB32);
    image.setDevicePixelRatio(kScale);
    {
      QPainter painter(&image);
      draw(painter, widget, caption, palette);
    }
    image.setText(QStringLiteral("Description"), caption);
    image.save(&buffer, "PNG");
  }
  return bytes;
}

base::Status writeFile(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
  return base::ioError(
      QObject::tr("%1 could not be written: %2. Choose a folder that exists and can be written to.")
          .arg(path, file.errorString())
          .toStdString());
}

void savePicture(QWidget& widget, const QString& name, PageContext& context) {
  auto* dialog = new QFileDialog(widget.window(), QObject::tr("Save the picture"),
                                 context.settings.value(kFolder).toString(),
                                 QObject::tr("PNG picture (*.png);;SVG drawing (*.svg)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(QStringLiteral("png"));
  dialog->selectFile(name + QStringLiteral(".png"));
  QObject::connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
    dialog->setDefaultSuffix(filter.contains(QStringLiteral("svg")) ? QStringLiteral("svg")
                                                                    : QStringLiteral("png"));
  });
  QObject::connect(dialog, &QFileDialog::fileSelected, &widget, [&widget, &context](const QString& path) {
    context.settings.setValue(kFolder, QFileInfo(path).path());
    const bool svg = path.endsWith(QStringLiteral(".svg"), Qt::CaseInsensitive);
    const QByteArray bytes = pictureOf(widget, provenance(context.session), svg, context.palette);
    inBackground(
        &widget, [path, bytes] { return writeFile(path, bytes); },
        [&widget](const base::Status& status) {
          if (status.ok()) return;
          QMessageBox::warning(widget.window(), QObject::tr("Save the picture"),
                               QString::fromStdString(status.error().message));
        });
  });
  dialog->open();
}

void addPictureAction(QWidget& owner, QWidget& widget, const QString& name, PageContext& context) {
  auto* action = new QAction(QObject::tr("Save picture…"), &owner);
  owner.addAction(action);
  owner.setContextMenuPolicy(Qt::ActionsContextMenu);
  QObject::connect(action, &QAction::triggered, &widget,
                   [&widget, name, &context] { savePicture(widget, name, context); });
}

}  // namespace pipescope::shell
