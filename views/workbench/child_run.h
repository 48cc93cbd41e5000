#pragma once
#include <QObject>
#include <QPointer>
#include <QTimer>

#include "profiler/base/result.h"

class QProcess;

namespace pipescope::workbench {

/// Program that is run, and the place of its files.
struct RunRequest {
  QString program;  ///< path of pipescope
  QString folder, name;
  QString toml;
  QString former;  ///< the profile with which the new one is compared; empty: none
};

enum class RunState { preparing, running, stopping, complete, stopped, failed };
QString nameOf(RunState state);
inline bool isOver(RunState state) {
  return state == RunState::complete || state == RunState::stopped || state == RunState::failed;
}

/// A run in a child process: it writes NAME.toml and NAME.pop, with a number if the name is taken.
class ChildRun : public QObject {
  Q_OBJECT

 public:
  explicit ChildRun(RunRequest request, QObject* parent = nullptr);
  /// Stops a run that still goes on; its profile so far is kept.
  ~ChildRun() override;

  void start();
  /// Asks the run to end after the present call. A second request ends it at once.
  void stop();

  RunState state() const { return state_; }
  const RunRequest& request() const { return request_; }
  /// Path of the profile; empty until the files have their names.
  QString profile() const { return profile_; }
  QString configuration() const { return configuration_; }
  double fraction() const { return fraction_; }
  QString activity() const { return activity_; }
  /// Says why the run failed or ended early; empty: it did not.
  QString sentence() const { return sentence_; }
  /// Output of the run, without its progress.
  QString log() const { return log_; }
  bool hasProfile() const { return hasProfile_; }

 Q_SIGNALS:
  void changed();         ///< state or progress
  void logged();          ///< the log has grown
  void profileStarted();  ///< the profile can be opened, while it still grows
  void ended();

 private:
  void launch();
  void readOutput();
  void readLine(const QByteArray& line);
  void finish(int status, bool normally);
  void fail(const QString& sentence);
  void lookForProfile();

  RunRequest request_;
  QString profile_, configuration_, activity_, sentence_, log_;
  QPointer<QProcess> process_;
  QByteArray rest_;
  QTimer look_;
  RunState state_ = RunState::preparing;
  double fraction_ = 0;
  bool hasProfile_ = false, looking_ = false;
};

}  // namespace pipescope::workbench
