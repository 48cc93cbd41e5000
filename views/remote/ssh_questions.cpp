#include "views/remote/ssh_questions.h"

#include <QCoreApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalServer>
#include <QLocalSocket>
#include <cstdio>

namespace pipescope::remote {
namespace {

constexpr const char* kSocketVariable = "PIPESCOPE_QUESTIONS";
constexpr qint64 kMostQuestionBytes = 65'536;
const auto kText = QStringLiteral("text"), kHint = QStringLiteral("hint"), kAnswer = QStringLiteral("answer");

Question::Kind kindOf(const QString& text, const QString& hint) {
  if (hint == QLatin1String("none")) return Question::Kind::notice;
  if (hint == QLatin1String("confirm") || text.contains(QLatin1String("(yes/no")))
    return Question::Kind::yesNo;
  return Question::Kind::secret;
}

QByteArray lineOf(const QJsonObject& object) {
  return QJsonDocument(object).toJson(QJsonDocument::Compact) + '\n';
}

}  // namespace

Questions::Questions(QObject* parent) : QObject(parent), server_(new QLocalServer(this)) {
  server_->setSocketOptions(QLocalServer::UserAccessOption);
  if (!folder_.isValid() || !server_->listen(folder_.filePath(QStringLiteral("questions"))))
    problem_ = tr("Questions of ssh cannot be shown: %1.")
                   .arg(folder_.isValid() ? server_->errorString() : folder_.errorString());
  connect(server_, &QLocalServer::newConnection, this, &Questions::accept);
}

QHash<QString, QString> Questions::environment(const QString& helper) const {
  QHash<QString, QString> made{{QStringLiteral("SSH_ASKPASS"), helper},
                               {QStringLiteral("SSH_ASKPASS_REQUIRE"), QStringLiteral("force")},
                               {QString::fromLatin1(kSocketVariable), server_->fullServerName()}};
  // Older versions of ssh ask this way only if there is a display.
  if (!qEnvironmentVariableIsSet("DISPLAY")) made.insert(QStringLiteral("DISPLAY"), QStringLiteral(":0"));
  return made;
}

void Questions::accept() {
  while (QLocalSocket* socket = server_->nextPendingConnection()) {
    const int question = next_++;
    open_[question] = socket;
    connect(socket, &QLocalSocket::readyRead, this, [this, question] { read(question); });
    connect(socket, &QLocalSocket::disconnected, this, [this, question] {
      const auto found = open_.find(question);
      if (found == open_.end()) return;
      found->second->deleteLater();
      open_.erase(found);
      Q_EMIT withdrawn(question);
    });
    read(question);
  }
}

void Questions::read(int question) {
  const auto found = open_.find(question);
  if (found == open_.end() || !found->second->canReadLine()) return;
  const QJsonObject asked = QJsonDocument::fromJson(found->second->readLine(kMostQuestionBytes)).object();
  const QString text = asked[kText].toString();
  Q_EMIT this->asked(question, Question{kindOf(text, asked[kHint].toString()), text});
}

void Questions::reply(int question, const QByteArray& line) {
  const auto found = open_.find(question);
  if (found == open_.end()) return;
  QLocalSocket* socket = found->second;
  open_.erase(found);
  socket->write(line);
  socket->flush();
  connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
  socket->disconnectFromServer();
}

void Questions::answer(int question, const QString& text) {
  reply(question, lineOf({{kAnswer, text}}));
}

void Questions::decline(int question) {
  reply(question, lineOf({}));
}

bool isQuestionHelper() {
  return qEnvironmentVariableIsSet(kSocketVariable);
}

int runQuestionHelper(int argc, char** argv) {
  QCoreApplication application(argc, argv);
  QLocalSocket socket;
  socket.connectToServer(qEnvironmentVariable(kSocketVariable));
  if (!socket.waitForConnected()) return 1;
  socket.write(lineOf({{kText, argc > 1 ? QString::fromLocal8Bit(argv[1]) : QString()},
                       {kHint, qEnvironmentVariable("SSH_ASKPASS_PROMPT")}}));
  while (!socket.canReadLine() && socket.waitForReadyRead(-1)) {
  }
  const QJsonObject reply = QJsonDocument::fromJson(socket.readLine(kMostQuestionBytes)).object();
  if (!reply.contains(kAnswer)) return 1;
  const QByteArray answer = reply[kAnswer].toString().toLocal8Bit() + '\n';
  std::fwrite(answer.constData(), 1, static_cast<std::size_t>(answer.size()), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace pipescope::remote
