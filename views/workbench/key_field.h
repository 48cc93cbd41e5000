#pragma once
#include <QWidget>

#include "views/workbench/services.h"

class QLabel;
class QLineEdit;

namespace pipescope::workbench {

/// The editor of one key: a check box, a choice, or a line of text, and below it what is wrong with the
/// value.
class KeyField : public QWidget {
  Q_OBJECT

 public:
  KeyField(const KeyRow& key, const QString& path, const QString& toml, QWidget* parent = nullptr);
  const QString& path() const { return path_; }
  /// Shows another value, without a problem. Tells nobody.
  void setValue(const QString& toml);
  /// Shows a sentence below the value; empty: none.
  void setProblem(const QString& sentence);
  QString problem() const;
  /// The widget that takes the keyboard.
  QWidget* editor() const { return editor_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 Q_SIGNALS:
  void edited(const QString& path, const QString& toml);

 private:
  QWidget* makeEditor(const QString& toml);

  KeyRow key_;
  QString path_;
  QWidget* editor_ = nullptr;
  QLabel* problem_ = nullptr;
};

/// Returns the facts about a key, for tool tips.
QString keyTip(const KeyRow& key);

}  // namespace pipescope::workbench
