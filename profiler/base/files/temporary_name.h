#pragma once
// Files that must not stay behind when the program is ended by a signal, and names for files beside others.
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace pipescope::base {

/// Says that the file at a path is removed if a signal ends this process (see removeTemporaryFiles()). It
/// removes nothing by itself. A process that was forked does not remove the files of its parent.
class TemporaryName {
 public:
  TemporaryName() = default;
  explicit TemporaryName(const std::filesystem::path& path);
  TemporaryName(TemporaryName&& other) noexcept;
  TemporaryName& operator=(TemporaryName&& other) noexcept;
  ~TemporaryName() { forget(); }
  /// The file is no longer temporary, or is gone.
  void forget();

 private:
  std::size_t slot_ = kNone;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};

/// Lets signals that end the program wait while the object exists. A file is made and gets its TemporaryName
/// meanwhile, so that no signal comes between. It must not exist for long.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

/// Removes the files of all names of this process. A handler of a signal may call it.
void removeTemporaryFiles();

/// Removes temporary files and ends the program by this signal. Only a handler of a signal calls it.
void endBySignal(int signal);

/// After this call, signals that end the program (SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU) remove temporary
/// files first. A signal that is ignored stays ignored.
void removeTemporaryFilesOnSignals();

/// Restores the default action of a signal, except that temporary files are removed first.
void removeTemporaryFilesOn(int signal);

/// The path of a file beside `path`, named `before` + its name + `after`. A name that would be longer than a
/// file system takes is cut, and ends with a hash of the whole name. There is room for another `room` bytes
/// behind it, for databases have siblings.
std::filesystem::path besidePath(const std::filesystem::path& path, std::string_view before,
                                 std::string_view after, std::size_t room = 0);

/// The most bytes of a file's name that usual file systems take.
inline constexpr std::size_t kMostNameBytes = 255;

}  // namespace pipescope::base
