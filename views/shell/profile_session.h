#pragma once
#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <memory>

#include "profiler/analysis/catalog.h"
#include "profiler/model/source.h"

namespace pipescope::sections {
struct ReportCache;
}

namespace pipescope::shell {

/// An opened profile and the functions that read more of it later. They are called on workers only.
struct OpenedSource {
  std::shared_ptr<const model::ProfileSource> source;
  /// Moves on to the last commit and returns true if there was a new one. Empty if the source does so by
  /// itself.
  std::function<base::Result<bool>()> refresh;
  /// Replaces the notes of the profile. Empty if the profile is read-only.
  std::function<base::Status(const std::vector<model::Note>&)> keepNotes;
  /// The file that was opened if another path was asked for, such as its folder. Empty: that path.
  std::string path = {};
  /// The name for titles if that of the file says too little, as that of a trace's import does; empty: that
  /// of the file.
  std::string title = {};
  /// The folder in which the user keeps what was opened, if it is not that of the file, such as the folder of
  /// the traces that an import was made of. Empty: that of the file.
  std::string folder = {};
};
/// Opens a file. The program passes this function in, so that views need not know the file format.
using Opener = std::function<base::Result<OpenedSource>(const std::string& path)>;

/// A profile at one revision. It is immutable and shared, and pages keep it until they have the next one.
struct ProfileSnapshot {
  std::shared_ptr<const model::ProfileSource> source;
  std::shared_ptr<const analysis::Catalog> catalog;
};

/// The profile of a window. It is opened and followed on workers, and the last good snapshot stays meanwhile.
/// When another run replaces the file, it is opened again as soon as it stops changing.
class ProfileSession : public QObject {
  Q_OBJECT

 public:
  explicit ProfileSession(Opener opener, QObject* parent = nullptr);

  /// Opens a file and shows the executable of that name; empty: the first. An older request that has not
  /// finished is dropped.
  void open(const QString& path, const QString& executable = {});
  /// Shows a profile that is not a file.
  void openSource(OpenedSource source, const QString& title);
  /// Shows a profile that is open already, and does not follow it.
  void share(const ProfileSnapshot& snapshot, const QString& title);
  /// Opens the same file again and keeps the executable.
  void reload();

  const ProfileSnapshot* snapshot() const { return snapshot_.catalog ? &snapshot_ : nullptr; }
  /// The file of the profile that is shown; without one, the file that is being opened.
  QString path() const;
  /// The folder in which dialogs begin; empty: no profile is open.
  QString folder() const;
  QString title() const;
  /// The file that is being opened or could not be opened, which a reload reads; else the one shown.
  QString wantedPath() const { return path_; }
  QString wantedTitle() const { return title_; }
  bool isOpening() const { return opening_; }
  /// The last error; empty after a success.
  QString error() const { return error_; }

  model::ExecutableId executable() const { return executable_; }
  /// The reports of this executable that pages have computed, so that each is computed once.
  std::shared_ptr<sections::ReportCache> reports() const { return reports_; }
  void setExecutable(model::ExecutableId executable);
  bool canKeepNotes() const { return static_cast<bool>(opened_.keepNotes); }
  /// Writes notes on a worker, then calls done(status) on the window's thread unless `context` is destroyed.
  void keepNotes(QObject* context, std::vector<model::Note> notes,
                 std::function<void(const base::Status&)> done);
  /// Returns false and changes nothing if the profile has no executable of that name.
  bool setExecutableByName(const QString& name);

 Q_SIGNALS:
  void opened();  ///< another profile is shown
  void grown();   ///< the profile has grown
  void executableChanged();
  void stateChanged();  ///< opening, failed or opened, for the status line

 private:
  struct Attempt;
  /// Identifies a file: two files with different stamps are different.
  struct Stamp {
    bool exists = false;
    qint64 size = 0, modified = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp stampOf(const QString& path);
  void start(std::function<base::Result<OpenedSource>()> opener, const QString& executable);
  void finish(const Attempt& attempt, const QString& executable);
  void poll();
  void watch();
  void watchFrom(const Stamp& stamp);
  void fail(const QString& sentence);

  Opener opener_;
  OpenedSource opened_;
  void show(ProfileSnapshot snapshot);

  ProfileSnapshot snapshot_;
  std::shared_ptr<sections::ReportCache> reports_;
  QString path_, title_, error_;    ///< the file that was opened last
  QString shownPath_, shownTitle_;  ///< the one in the snapshot
  model::ExecutableId executable_;
  QTimer timer_, watch_;
  Stamp stamp_, changed_;  ///< stamps of the opened file, and of a file that is still changing
  bool opening_ = false, polling_ = false, watching_ = false;
  int generation_ = 0;
};

}  // namespace pipescope::shell
