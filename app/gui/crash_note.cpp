#include "app/gui/crash_note.h"

#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "app/gui/log_file.h"

namespace pipescope::gui {
namespace {

// A handler of signals may neither allocate nor lock, so it writes texts that were made before.
constexpr std::size_t kMostText = 16'384;
using Text = std::array<char, kMostText>;
Text notePath, versionText;
// The handler reads one of the two texts while the other one is written.
std::array<Text, 2> openFiles;
std::atomic<std::size_t> openNow = 0;

constexpr const char* kCause = "cause: ";
constexpr const char* kFile = "open: ";
constexpr std::size_t kLogLines = 50;

void keep(const std::string& text, Text& in) {
  const std::size_t length = std::min(text.size(), in.size() - 1);
  std::copy_n(text.begin(), length, in.begin());
  in[length] = '\0';
}

void put(int file, const char* text) {
  std::size_t left = std::strlen(text);
  while (left > 0) {
    const ssize_t written = ::write(file, text, left);
    if (written <= 0) return;
    text += written;
    left -= static_cast<std::size_t>(written);
  }
}

void writeNote(const char* cause) {
  const int file = ::open(notePath.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  put(file, versionText.data());
  put(file, kCause);
  put(file, cause);
  put(file, "\n");
  put(file, openFiles[openNow].data());
  put(file, "stack:\n");
  constexpr int kMostFrames = 64;
  std::array<void*, kMostFrames> frames{};
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), kMostFrames), file);
  ::close(file);
}

const char* nameOf(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "a segmentation fault";
    case SIGBUS:
      return "a bus error";
    case SIGFPE:
      return "an arithmetic error";
    case SIGILL:
      return "an illegal instruction";
    default:
      return "an abort";
  }
}

void onSignal(int signal) {
  writeNote(nameOf(signal));
  // The handler was removed when it was called, so that the process ends as it would have without it.
  ::raise(signal);
}

QString endOfLog() {
  QFile log(QString::fromStdString(LogFile::path()));
  if (!log.open(QIODevice::ReadOnly)) return {};
  QStringList lines = QString::fromUtf8(log.readAll()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  while (lines.size() > static_cast<int>(kLogLines)) lines.removeFirst();
  return lines.join(QLatin1Char('\n'));
}

}  // namespace

std::string crashNotePath() {
  return (std::filesystem::path(LogFile::path()).parent_path() / "crash.txt").string();
}

void noteCrashes(const std::string& version) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(crashNotePath()).parent_path(), ignored);
  keep(crashNotePath(), notePath);
  keep(version + "\n", versionText);
  std::array<void*, 1> frame{};
  (void)backtrace(frame.data(), 1);  // its first call loads a library, which a handler may not do
  // A stack of its own lets the handler work when the stack has overflowed.
  static std::array<char, 65'536> stack;
  stack_t own{};
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  (void)sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    (void)sigaction(signal, &action, nullptr);
}

void noteFault(const std::string& sentence) {
  if (notePath[0] != '\0') writeNote(("an internal fault: " + sentence).c_str());
}

void noteOpenFiles(const QStringList& files) {
  std::string text;
  for (const QString& file : files) text += kFile + file.toStdString() + "\n";
  const std::size_t other = 1 - openNow;
  keep(text, openFiles[other]);
  openNow = other;
}

std::optional<CrashNote> takeCrashNote() {
  const QString path = QString::fromStdString(crashNotePath());
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return std::nullopt;
  const QString text = QString::fromUtf8(file.readAll());
  file.close();
  CrashNote note;
  for (const QString& line : text.split(QLatin1Char('\n'))) {
    if (line.startsWith(QLatin1String(kCause)) && note.what.isEmpty())
      note.what = line.mid(static_cast<int>(std::strlen(kCause)));
    if (line.startsWith(QLatin1String(kFile)))
      note.profiles << line.mid(static_cast<int>(std::strlen(kFile)));
  }
  note.report = text;
  const QString log = endOfLog();
  if (!log.isEmpty()) note.report += QStringLiteral("end of the log:\n") + log + QLatin1Char('\n');
  note.path = QFileInfo(path).dir().filePath(QStringLiteral("last_crash.txt"));
  QFile kept(note.path);
  if (kept.open(QIODevice::WriteOnly | QIODevice::Truncate)) kept.write(note.report.toUtf8());
  QFile::remove(path);
  if (note.what.isEmpty()) return std::nullopt;  // the disk was full, so nothing is known
  return note;
}

}  // namespace pipescope::gui
