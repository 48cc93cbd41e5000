#pragma once
#include <QAction>
#include <QKeySequence>
#include <QObject>
#include <functional>
#include <vector>

namespace pipescope::shell {

/// The actions of a window with their keys. Menus, the table of keys and the command palette are made from
/// it.
class Actions : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// Adds a line to the table of keys only, for keys that a canvas handles itself.
  struct Entry {
    QString group, what, keys;
    QAction* action = nullptr;
  };

  QAction* add(const QString& group, const QString& text, const QList<QKeySequence>& keys,
               std::function<void()> run);
  void describe(const QString& group, const QString& what, const QString& keys);
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace pipescope::shell
