#pragma once
#include <QObject>
#include <QString>
#include <map>

#include "views/shell/profile_session.h"

namespace pipescope::shell {

/// The profile that the window's profile is compared with: it is the source, and the window's own is the
/// target. It is opened on a worker, once; a file that changes later is compared again when it is chosen
/// again.
class Comparison : public QObject {
  Q_OBJECT

 public:
  explicit Comparison(Opener opener, QObject* parent = nullptr);

  void open(const QString& path);
  /// Compares with a profile that is not a file.
  void openSource(OpenedSource source, const QString& title);
  void clear();

  const ProfileSnapshot* snapshot() const { return snapshot_.catalog ? &snapshot_ : nullptr; }
  /// The reports of one of its executables that pages have computed.
  std::shared_ptr<sections::ReportCache> reports(model::ExecutableId executable);
  QString path() const { return path_; }
  QString title() const { return title_; }
  QString error() const { return error_; }  ///< empty after a success
  bool isOpening() const { return opening_; }

 Q_SIGNALS:
  void changed();  ///< another profile, none, an error, or one is being opened

 private:
  void drop();
  void start(std::function<base::Result<OpenedSource>()> opener);

  Opener opener_;
  OpenedSource opened_;
  ProfileSnapshot snapshot_;
  std::map<model::ExecutableId, std::shared_ptr<sections::ReportCache>> reports_;
  QString path_, title_, error_;
  bool opening_ = false;
  int generation_ = 0;
};

}  // namespace pipescope::shell
