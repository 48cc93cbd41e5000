#include "views/workbench/predictor.h"

#include <QProcess>
#include <QTimer>

namespace pipescope::workbench {
namespace {
constexpr int kKnown = 64, kKilledMs = 1000;
}  // namespace

QString sentenceOf(const QByteArray& standardError) {
  QString sentence;
  for (const QByteArray& line : standardError.split('\n')) {
    const QString text = QString::fromUtf8(line).trimmed();
    if (!text.isEmpty() && !text.startsWith(QStringLiteral("note: "))) sentence = text;
  }
  if (sentence.startsWith(QStringLiteral("pipescope: "))) sentence.remove(0, 11);
  return sentence;
}

Predictor::Predictor(QString program, QObject* parent)
    : QObject(parent), program_(std::move(program)), known_(kKnown) {}

Predictor::~Predictor() {
  if (process_.isNull()) return;
  process_->disconnect();
  process_->kill();
  process_->waitForFinished(kKilledMs);
}

void Predictor::cancel() {
  ++question_;
  busy_ = false;
  if (process_.isNull()) return;
  QProcess* old = process_.data();
  process_.clear();
  old->disconnect();
  connect(old, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), old, &QObject::deleteLater);
  connect(old, &QProcess::errorOccurred, old, [old](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) old->deleteLater();
  });
  old->kill();
}

void Predictor::predict(const QString& toml) {
  cancel();
  busy_ = true;
  if (const Prediction* held = known_.object(toml)) {
    QTimer::singleShot(0, this, [this, toml, prediction = *held, question = question_] {
      if (question != question_) return;
      busy_ = false;
      Q_EMIT answered(toml, prediction);
    });
    return;
  }
  auto* process = new QProcess(this);
  process_ = process;
  connect(process, &QProcess::errorOccurred, this, [this, process, toml](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    process->deleteLater();
    process_.clear();
    busy_ = false;
    Q_EMIT failed(toml, tr("Nothing can be predicted, because %1 cannot be started: install it beside "
                           "pipescope-gui, from the same version.")
                            .arg(program_));
  });
  connect(process, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), this,
          [this, process, toml](int status, QProcess::ExitStatus how) {
            finish(*process, toml, how == QProcess::NormalExit && status == 0);
          });
  process->start(program_, {QStringLiteral("plan"), QStringLiteral("/dev/stdin"), QStringLiteral("--present"),
                            QStringLiteral("--format"), QStringLiteral("json"), QStringLiteral("--progress"),
                            QStringLiteral("off")});
  process->write(toml.toUtf8());
  process->closeWriteChannel();
}

void Predictor::finish(QProcess& process, const QString& toml, bool normally) {
  const QByteArray output = process.readAllStandardOutput();
  QString sentence = sentenceOf(process.readAllStandardError());
  process.deleteLater();
  process_.clear();
  busy_ = false;
  if (!normally) {
    sentence.remove(QStringLiteral("/dev/stdin: "));
    Q_EMIT failed(toml, sentence.isEmpty() ? tr("The prediction ended early.") : sentence);
    return;
  }
  const base::Result<Prediction> prediction = parsePrediction(output);
  if (!prediction.ok()) {
    Q_EMIT failed(toml, QString::fromStdString(prediction.error().message));
    return;
  }
  known_.insert(toml, new Prediction(*prediction));
  Q_EMIT answered(toml, *prediction);
}

}  // namespace pipescope::workbench
