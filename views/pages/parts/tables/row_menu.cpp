#include "views/pages/parts/tables/row_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QTimer>
#include <array>
#include <utility>

#include "views/pages/parts/data/text.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/shell/main_window.h"

namespace pipescope::pages {
namespace {

/// The keys of columns that name what a row is about, and those that name a device.
constexpr std::array kNameColumns = {"operation", "name", "variable", "program", "tensor", "block"};
constexpr std::array kDeviceColumns = {"device_name", "device"};

/// The text of a row in the first of these columns that has one. Numbers are no names.
template <class Keys>
QString textIn(const sections::SectionTable& table, const std::vector<sections::Cell>& row,
               const Keys& keys) {
  for (const char* key : keys) {
    for (std::size_t c = 0; c < table.columns.size() && c < row.size(); ++c) {
      const auto* found = std::get_if<std::string>(&row[c]);
      if (table.columns[c].key == key && found != nullptr && !found->empty()) return text(*found);
    }
  }
  return {};
}

/// Shows a page and finds a name on it, once its content has been read.
void findOn(shell::MainWindow& window, const QString& page, const QString& name) {
  constexpr int kLookMs = 20;
  window.showPage(page);
  auto* timer = new QTimer(&window);
  QObject::connect(timer, &QTimer::timeout, &window, [&window, timer, name, shown = window.currentPage()] {
    const bool left = window.currentPage() != shown;
    if (!left && !window.isSettled()) return;
    timer->stop();
    timer->deleteLater();
    if (!left) window.findBar()->begin(name);
  });
  timer->start(kLookMs);
}

}  // namespace

RowSubject subjectOf(const sections::SectionTable& table, int row) {
  RowSubject subject;
  if (row < 0 || row >= static_cast<int>(table.rows.size())) return subject;
  const std::vector<sections::Cell>& cells = table.rows[static_cast<std::size_t>(row)];
  subject.name = textIn(table, cells, kNameColumns);
  subject.device = textIn(table, cells, kDeviceColumns);
  const bool ofStages = table.key == "stages" || table.key == "memory";
  for (std::size_t c = 0; c < table.columns.size() && c < cells.size(); ++c) {
    const std::string& key = table.columns[c].key;
    const auto* number = std::get_if<std::int64_t>(&cells[c]);
    if (number != nullptr && (key == "stage" || (key == "index" && ofStages)))
      subject.stage = static_cast<int>(*number);
  }
  return subject;
}

void addRowActions(QMenu& menu, QWidget& from, const RowSubject& subject) {
  auto* window = qobject_cast<shell::MainWindow*>(from.window());
  const QString name = !subject.name.isEmpty() ? subject.name : subject.device;
  if (!name.isEmpty())
    menu.addAction(tr("Copy name"), &from, [name] { QApplication::clipboard()->setText(name); });
  QMenu* pages = window == nullptr ? nullptr : menu.addMenu(tr("Show in"));
  if (pages != nullptr && !subject.name.isEmpty()) {
    for (const auto& [page, title] :
         {std::pair("trace", tr("Trace")), std::pair("operations", tr("Operations")),
          std::pair("programs", tr("Programs")), std::pair("graph", tr("Graph")),
          std::pair("memory", tr("Memory")), std::pair("liveness", tr("Liveness"))})
      pages->addAction(title, window, [window, page = QString::fromLatin1(page), name = subject.name] {
        findOn(*window, page, name);
      });
  }
  const auto offer = [&](const char* page, const QString& title) {
    pages->addAction(title, window, [window, page = QString::fromLatin1(page), subject] {
      window->go({page, {}, subject.stage, subject.device});
    });
  };
  if (pages != nullptr && subject.name.isEmpty() && !subject.device.isEmpty()) offer("trace", tr("Trace"));
  if (pages != nullptr && subject.stage >= 0) {
    offer("stages", tr("Stages"));
    offer("waits", tr("Waits"));
  }
  if (pages != nullptr && pages->isEmpty()) {
    delete pages;
    pages = nullptr;
  }
  if (!menu.isEmpty()) menu.addSeparator();
}

}  // namespace pipescope::pages
