#include "views/pages/parts/tables/table_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QKeyEvent>
#include <QMenu>
#include <QMessageBox>
#include <QTableView>
#include <algorithm>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/data/text.h"
#include "views/shell/background.h"
#include "views/shell/dialogs/saved_notice.h"
#include "views/shell/look/picture.h"
#include "views/shell/main_window.h"

namespace pipescope::pages {
namespace {

void saveCsv(QTableView& view) {
  auto* dialog =
      new QFileDialog(view.window(), tr("Save the table"), QString(), tr("Comma-separated values (*.csv)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(QStringLiteral("csv"));
  if (const QString name = view.accessibleName(); !name.isEmpty())
    dialog->selectFile(name + QStringLiteral(".csv"));
  QObject::connect(dialog, &QFileDialog::fileSelected, &view, [&view](const QString& path) {
    shell::inBackground(
        &view,
        [path, bytes = tableCsv(view).toUtf8()] {
          return shell::writeFile(path, bytes, base::FileKind::csv);
        },
        [&view, path](const base::Status& status) {
          auto* window = qobject_cast<shell::MainWindow*>(view.window());
          if (status.ok() && window != nullptr) window->savedNotice()->show(path);
          if (!status.ok())
            QMessageBox::warning(view.window(), tr("Save the table"),
                                 QString::fromStdString(status.error().message));
        });
  });
  dialog->open();
}

int shownColumns(const QTableView& view) {
  int shown = 0;
  for (int c = 0; c < view.model()->columnCount(); ++c) shown += view.isColumnHidden(c) ? 0 : 1;
  return shown;
}

}  // namespace

QString headingOf(const QAbstractItemModel& model, int column) {
  return model.headerData(column, Qt::Horizontal).toString().replace(QLatin1Char('\n'), QLatin1Char(' '));
}

QString fullTextOf(const QModelIndex& cell) {
  const QVariant full = cell.data(kFullTextRole);
  return (full.isValid() ? full : cell.data()).toString();
}

namespace {

/// True for a column that is hidden, but not only for lack of room.
bool isLeftOut(const QTableView& view, int column) {
  return view.isColumnHidden(column) && !view.property(kYieldedColumns).toList().contains(column);
}

}  // namespace

QString tableCsv(const QTableView& view) {
  const auto quoted = [](QString field) {
    if (!field.contains(QLatin1Char(',')) && !field.contains(QLatin1Char('"')) &&
        !field.contains(QLatin1Char('\n')))
      return field;
    return QLatin1Char('"') + field.replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"');
  };
  const QAbstractItemModel& model = *view.model();
  const auto heading = [&](int c) {
    const QString text = headingOf(model, c), unit = model.headerData(c, Qt::Horizontal, kRawRole).toString();
    return unit.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, unit);
  };
  const auto cell = [&](int row, int c) {
    const QVariant raw = model.index(row, c).data(kRawRole);
    if (!raw.isValid()) return fullTextOf(model.index(row, c));
    return raw.userType() == QMetaType::Double ? text(sections::plainNumber(raw.toDouble())) : raw.toString();
  };
  QStringList lines;
  for (int row = -1; row < model.rowCount(); ++row) {
    QStringList fields;
    for (int c = 0; c < model.columnCount(); ++c) {
      if (isLeftOut(view, c)) continue;
      fields << quoted(row < 0 ? heading(c) : cell(row, c));
    }
    lines << fields.join(QLatin1Char(','));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

void copyRows(const QTableView& view) {
  const QAbstractItemModel& model = *view.model();
  QStringList lines, headings;
  for (int c = 0; c < model.columnCount(); ++c) {
    if (!isLeftOut(view, c)) headings << headingOf(model, c);
  }
  lines << headings.join(QLatin1Char('\t'));
  QModelIndexList rows = view.selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());
  for (const QModelIndex& row : rows) {
    QStringList cells;
    for (int c = 0; c < model.columnCount(); ++c) {
      if (!isLeftOut(view, c)) cells << copied(fullTextOf(model.index(row.row(), c)));
    }
    lines << cells.join(QLatin1Char('\t'));
  }
  QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

bool isPageKey(const QKeyEvent& key) {
  constexpr Qt::KeyboardModifiers kCommands = Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier;
  return !(key.modifiers() & kCommands) && !key.text().isEmpty() && key.text().front().isPrint() &&
         key.key() != Qt::Key_Space;
}

void addTableActions(QMenu& menu, QTableView& view) {
  menu.addAction(tr("Copy selected rows"), &view, [&view] { copyRows(view); })
      ->setEnabled(view.selectionModel()->hasSelection());
  menu.addAction(tr("Copy all as CSV"), &view,
                 [&view] { QApplication::clipboard()->setText(tableCsv(view)); });
  menu.addAction(tr("Save as CSV…"), &view, [&view] { saveCsv(view); });
  menu.addSeparator();
  for (int c = 0; c < view.model()->columnCount(); ++c) {
    QAction* column = menu.addAction(headingOf(*view.model(), c));
    column->setCheckable(true);
    column->setChecked(!view.isColumnHidden(c));
    QObject::connect(column, &QAction::toggled, &view, [&view, c](bool on) {
      if (on || shownColumns(view) > 1) view.setColumnHidden(c, !on);
    });
  }
}

}  // namespace pipescope::pages
