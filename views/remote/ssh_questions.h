#pragma once
#include <QHash>
#include <QObject>
#include <QTemporaryDir>
#include <map>

class QLocalServer;
class QLocalSocket;

namespace pipescope::remote {

/// A question of ssh: for a password, a passphrase or a code, or whether to trust a host.
struct Question {
  enum class Kind { secret, yesNo, notice };
  Kind kind = Kind::secret;
  QString text;
};

/// Gets the questions that ssh asks with the program in SSH_ASKPASS. That program is this program itself
/// (runQuestionHelper), which hands the question on through a socket that only this user can open.
class Questions : public QObject {
  Q_OBJECT

 public:
  explicit Questions(QObject* parent = nullptr);
  /// Returns the environment that ssh needs. `helper` is the program that calls runQuestionHelper().
  QHash<QString, QString> environment(const QString& helper) const;
  /// Says why questions cannot be asked; empty: they can.
  QString problem() const { return problem_; }

  void answer(int question, const QString& text);
  /// ssh then goes on without an answer.
  void decline(int question);

 Q_SIGNALS:
  void asked(int question, const pipescope::remote::Question& text);
  /// ssh does not wait for the answer any more.
  void withdrawn(int question);

 private:
  void accept();
  void read(int question);
  void reply(int question, const QByteArray& line);

  QTemporaryDir folder_;
  QLocalServer* server_;
  QString problem_;
  std::map<int, QLocalSocket*> open_;
  int next_ = 0;
};

/// True if ssh has started this process to ask a question.
bool isQuestionHelper();
/// Asks the program that started ssh, and prints its answer for ssh. Returns the exit status.
int runQuestionHelper(int argc, char** argv);

}  // namespace pipescope::remote
