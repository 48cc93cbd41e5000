#pragma once
#include <QAction>
#include <QKeySequence>
#include <QObject>
#include <functional>
#include <vector>

namespace pipescope::shell {

/// Everything that can be done, with its keys: menus and the key table are made from it.
class Actions : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// A line of the key table. Keys of a canvas have no action: the canvas handles them.
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
