#pragma once
#include <QString>
#include <QStringList>
#include <optional>
#include <string>

namespace pipescope::gui {

/// The report of a crash, which the next start shows.
struct CrashNote {
  QString what;          ///< a noun phrase: "a segmentation fault", or the sentence of an internal fault
  QStringList profiles;  ///< files that were open
  QString report;        ///< text to attach to a report: version, cause, files, stack, the end of the log
  QString path;          ///< file that has the report
};

/// The file in which a crash leaves its note: crash.txt beside the log.
std::string crashNotePath();

/// Makes the process write a note when a signal such as SIGSEGV or SIGABRT ends it. `version`: the text of
/// --version. Call it once, before other threads start.
void noteCrashes(const std::string& version);
/// Writes the note of an internal fault, which `sentence` describes. The caller then ends the process.
void noteFault(const std::string& sentence);
/// Notes which files are open, for a crash that may come. Call it from one thread.
void noteOpenFiles(const QStringList& files);

/// Takes the note of the last crash, so that it is found once. The report is kept as last_crash.txt beside
/// the log. Call it before anything is logged, because a start begins the log anew.
std::optional<CrashNote> takeCrashNote();

}  // namespace pipescope::gui
