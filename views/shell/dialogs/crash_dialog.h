#pragma once
#include <QDialog>
#include <QStringList>

namespace pipescope::shell {

/// Says that the program crashed, shows the report to attach, and offers to open the files again.
class CrashDialog : public QDialog {
  Q_OBJECT

 public:
  /// `what`: a noun phrase for the cause. `report`: the text to attach, which is also in the file `path`.
  CrashDialog(const QString& what, const QStringList& files, const QString& report, const QString& path,
              QWidget* parent = nullptr);

 Q_SIGNALS:
  void openWanted(const QString& file);
};

}  // namespace pipescope::shell
