#pragma once
#include <QDialog>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "views/remote/sftp_session.h"
#include "views/remote/ssh_questions.h"
#include "views/shell/window_settings.h"

class QCheckBox;
class QComboBox;
class QDialogButtonBox;
class QFrame;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace pipescope::remote {

/// Values that the program gives to the dialog.
struct RemoteSetup {
  SshProgram ssh;
  QString cache;   ///< folder of the copies
  QString helper;  ///< program that calls runQuestionHelper(); empty: ssh asks nothing
};

/// Opens a file of another machine: connect, browse, fetch. Questions of ssh appear within the dialog.
class RemoteDialog : public QDialog {
  Q_OBJECT

 public:
  RemoteDialog(const RemoteSetup& setup, shell::WindowSettings& settings, QWidget* parent = nullptr);

  /// Connects at once and fetches the file again if it has changed.
  void fetchAgain(const RemoteFile& file);

  // Access to the fields, for tests.
  QComboBox* hosts() const { return hosts_; }
  QLineEdit* path() const { return path_; }
  QTreeWidget* entries() const { return entries_; }
  QPushButton* connectButton() const { return connect_; }
  QPushButton* openButton() const { return open_; }
  QPushButton* stopButton() const { return stop_; }
  QCheckBox* hiddenFiles() const { return hidden_; }
  QString status() const;
  bool isAsking() const;
  QLabel* question() const { return question_; }
  QLineEdit* answerField() const { return answer_; }
  QPushButton* answerButton() const { return yes_; }
  QPushButton* declineButton() const { return no_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 Q_SIGNALS:
  /// A copy is there. The dialog has closed.
  void fetched(const QString& copy, bool wasKept);

 private:
  void build();
  QFrame* makeQuestion();
  void startConnecting();
  void showEntries(const QByteArray& folder, const std::vector<RemoteEntry>& entries);
  void fillEntries();
  void sortBy(int column);
  void sortListed();
  void proposeFolder();
  void activate(QTreeWidgetItem* item);
  void openChosen();
  void ask(int question, const Question& what);
  void withdraw(int question);
  void reply(bool accepts);
  void say(const QString& sentence, bool isError);
  void enable();
  void rememberHost();
  QByteArray chosenPath() const;

  RemoteSetup setup_;
  shell::WindowSettings& settings_;
  Questions questions_;
  SftpSession session_;
  std::optional<RemoteFile> again_;  ///< fetched as soon as the connection stands
  QByteArray folder_;
  int sortedBy_ = 0;                             ///< column of the list
  bool turned_ = false;                          ///< the order is turned around
  std::vector<RemoteEntry> all_, listed_;        ///< what the folder holds, and what of it is shown
  std::vector<std::pair<int, Question>> asked_;  ///< the first one is shown

  QComboBox* hosts_ = nullptr;
  QLineEdit *path_ = nullptr, *answer_ = nullptr;
  QPushButton *connect_ = nullptr, *open_ = nullptr, *stop_ = nullptr, *yes_ = nullptr, *no_ = nullptr;
  QCheckBox* hidden_ = nullptr;
  QTreeWidget* entries_ = nullptr;
  QLabel *status_ = nullptr, *question_ = nullptr;
  QFrame* questionFrame_ = nullptr;
  QProgressBar* progress_ = nullptr;
};

}  // namespace pipescope::remote
