#include "views/shell/dialogs/keys_dialog.h"

#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <vector>

#include "views/shell/actions.h"
#include "views/shell/look/palette.h"

namespace pipescope::shell {
namespace {

constexpr int kScrollBar = 14, kMargin = 80;

QWidget* groupTable(const QString& title, const std::vector<const Actions::Entry*>& entries) {
  auto* table = new QWidget;
  auto* grid = new QGridLayout(table);
  grid->setContentsMargins(0, 0, 0, 8);
  grid->setHorizontalSpacing(18);
  grid->setVerticalSpacing(5);
  auto* heading = new QLabel(title, table);
  QFont bold = heading->font();
  bold.setBold(true);
  heading->setFont(bold);
  grid->addWidget(heading, 0, 0, 1, 2);
  int row = 1;
  for (const Actions::Entry* entry : entries) {
    auto* keys = new QLabel(entry->keys, table);
    Palette::makeLink(*keys);
    grid->addWidget(keys, row, 0);
    grid->addWidget(new QLabel(entry->what, table), row, 1);
    ++row;
  }
  grid->setColumnMinimumWidth(0, 150);
  grid->setColumnStretch(1, 1);
  return table;
}

}  // namespace

KeysDialog::KeysDialog(const Actions& actions, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keys"));
  std::vector<std::pair<QString, std::vector<const Actions::Entry*>>> groups;
  for (const Actions::Entry& entry : actions.entries()) {
    if (entry.keys.isEmpty()) continue;
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == entry.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {entry.group, {}});
    group->second.push_back(&entry);
  }
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(20, 18, 20, 14);
  // The list is longer than a small screen.
  auto* area = new QScrollArea(this);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setAccessibleName(tr("Keys"));
  auto* content = new QWidget(area);
  auto* columns = new QHBoxLayout(content);
  columns->setContentsMargins(0, 0, kScrollBar, 0);
  columns->setSpacing(36);
  std::vector<QVBoxLayout*> sides;
  std::vector<std::size_t> filled(2, 0);
  for (int i = 0; i < 2; ++i) {
    sides.push_back(new QVBoxLayout);
    columns->addLayout(sides.back(), 1);
  }
  for (const auto& [title, entries] : groups) {
    const std::size_t side = filled[0] <= filled[1] ? 0 : 1;
    sides[side]->addWidget(groupTable(title, entries));
    filled[side] += entries.size() + 2;
  }
  for (QVBoxLayout* side : sides) side->addStretch();
  area->setWidget(content);
  layout->addWidget(area);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  layout->addWidget(buttons);
  const QSize wanted = content->sizeHint(), room = parent != nullptr ? parent->size() : wanted;
  area->setMinimumWidth(std::min(wanted.width(), room.width() - kMargin));
  resize(std::min(wanted.width() + kMargin, room.width()),
         std::min(wanted.height() + kMargin, room.height()));
}

}  // namespace pipescope::shell
