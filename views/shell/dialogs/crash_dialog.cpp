#include "views/shell/dialogs/crash_dialog.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace pipescope::shell {

CrashDialog::CrashDialog(const QString& what, const QStringList& files, const QString& report,
                         const QString& path, QWidget* parent)
    : QDialog(parent) {
  setWindowTitle(tr("Pipescope crashed"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(20, 18, 20, 14);
  layout->setSpacing(10);
  auto* said = new QLabel(
      tr("The last session was ended by %1. Your profiles are whole: a note that was being written is "
         "undone, and a run goes on without the window.")
          .arg(what),
      this);
  auto* attach = new QLabel(tr("To report it, attach the text below, which is also in %1, and say what you "
                               "did last. It names files of "
                               "yours; add the profile itself only if you may give it away.")
                                .arg(path),
                            this);
  for (QLabel* label : {said, attach}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  }
  auto* text = new QPlainTextEdit(report, this);
  text->setReadOnly(true);
  text->setLineWrapMode(QPlainTextEdit::NoWrap);
  text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  text->setAccessibleName(tr("Report to attach"));
  layout->addWidget(said);
  layout->addWidget(attach);
  layout->addWidget(text, 1);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  auto* copy = buttons->addButton(tr("Copy the report"), QDialogButtonBox::ActionRole);
  connect(copy, &QPushButton::clicked, this, [report] { QGuiApplication::clipboard()->setText(report); });
  for (const QString& file : files) {
    auto* again =
        buttons->addButton(tr("Open %1 again").arg(QFileInfo(file).fileName()), QDialogButtonBox::ActionRole);
    again->setToolTip(file);
    connect(again, &QPushButton::clicked, this, [this, file, again] {
      again->setEnabled(false);
      Q_EMIT openWanted(file);
    });
  }
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  layout->addWidget(buttons);
  resize(720, 440);
}

}  // namespace pipescope::shell
