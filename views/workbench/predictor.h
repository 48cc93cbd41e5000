#pragma once
#include <QCache>
#include <QObject>
#include <QPointer>
#include <memory>

#include "views/workbench/prediction.h"

class QProcess;

namespace pipescope::workbench {

/// Predicts configurations in child processes, one at a time. A newer question ends the present one.
class Predictor : public QObject {
  Q_OBJECT

 public:
  explicit Predictor(QString program, QObject* parent = nullptr);
  ~Predictor() override;

  /// Answers soon by answered() or failed(). A recent prediction is not made again.
  void predict(const QString& toml);
  /// Ends the present prediction; nothing is answered then.
  void cancel();
  bool isBusy() const { return busy_; }

 Q_SIGNALS:
  void answered(const QString& toml, const pipescope::workbench::Prediction& prediction);
  void failed(const QString& toml, const QString& sentence);

 private:
  void finish(QProcess& process, const QString& toml, bool normally);

  QString program_;
  QPointer<QProcess> process_;
  QCache<QString, Prediction> known_;
  bool busy_ = false;
  int question_ = 0;
};

/// The sentence of a child that failed: the last line that it wrote, without the program's name.
QString sentenceOf(const QByteArray& standardError);

}  // namespace pipescope::workbench
