#pragma once
#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <memory>

#include "profiler/analysis/catalog.h"
#include "profiler/model/source.h"

namespace pipescope::shell {

/// A profile that was opened, and how to ask for what has been added since. All of it is called on workers
/// only.
struct OpenedSource {
  std::shared_ptr<const model::ProfileSource> source;
  /// Moves on to the last commit; true: there was one. Empty: the source moves on by itself.
  std::function<base::Result<bool>()> refresh;
  /// Puts these notes in place of those that the profile has. Empty: it cannot be written to.
  std::function<base::Status(const std::vector<model::Note>&)> keepNotes;
};
/// Opens a file. The program hands it in, so that views know no file format.
using Opener = std::function<base::Result<OpenedSource>(const std::string& path)>;

/// A profile at one revision. Immutable and shared; pages hold on to it until the next one is there.
struct Snapshot {
  std::shared_ptr<const model::ProfileSource> source;
  std::shared_ptr<const analysis::Catalog> catalog;
};

/// The profile of a window: opens and follows it on workers, keeps the last good snapshot while it does. A
/// file that is replaced, as by another run, is opened again once it has stopped changing.
class ProfileSession : public QObject {
  Q_OBJECT

 public:
  explicit ProfileSession(Opener opener, QObject* parent = nullptr);

  /// `executable` by name; empty: the first. An older opening that has not finished is forgotten.
  void open(const QString& path, const QString& executable = {});
  /// A profile that is not a file.
  void openSource(OpenedSource source, const QString& title);
  /// Opens the same file again; keeps the executable.
  void reload();

  const Snapshot* snapshot() const { return snapshot_.catalog ? &snapshot_ : nullptr; }
  QString path() const { return path_; }
  QString title() const { return title_; }
  bool isOpening() const { return opening_; }
  /// The sentence of the last failure; empty after a success.
  QString error() const { return error_; }

  model::ExecutableId executable() const { return executable_; }
  void setExecutable(model::ExecutableId executable);
  bool canKeepNotes() const { return static_cast<bool>(opened_.keepNotes); }
  /// On a worker; then done(status) on the window's thread, unless `context` is gone.
  void keepNotes(QObject* context, std::vector<model::Note> notes,
                 std::function<void(const base::Status&)> done);
  /// False, with nothing changed, where the profile has none of that name.
  bool setExecutableByName(const QString& name);

 Q_SIGNALS:
  void opened();  ///< another profile
  void grown();   ///< the same one, with more in it
  void executableChanged();
  void stateChanged();  ///< opening, failed, opened: what a status line shows

 private:
  struct Attempt;
  /// How a file looks from outside; two that differ are two files.
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
  Snapshot snapshot_;
  QString path_, title_, error_;
  model::ExecutableId executable_;
  QTimer timer_, watch_;
  Stamp stamp_, changed_;  ///< when it was opened; while it changes
  bool opening_ = false, polling_ = false, watching_ = false;
  int generation_ = 0;
};

}  // namespace pipescope::shell
