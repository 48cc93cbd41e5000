#include "views/shell/actions.h"

namespace pipescope::shell {

QAction* Actions::add(const QString& group, const QString& text, const QList<QKeySequence>& keys,
                      std::function<void()> run) {
  auto* action = new QAction(text, this);
  action->setShortcuts(keys);
  connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
  QStringList shown;
  for (const QKeySequence& key : keys) shown << key.toString(QKeySequence::NativeText);
  QString what = text;
  what.remove(QLatin1Char('&')).remove(QStringLiteral("…"));
  entries_.push_back({group, what, shown.join(QStringLiteral("  ·  ")), action});
  return action;
}

void Actions::describe(const QString& group, const QString& what, const QString& keys) {
  entries_.push_back({group, what, keys, nullptr});
}

}  // namespace pipescope::shell
