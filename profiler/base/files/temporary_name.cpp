#include "profiler/base/files/temporary_name.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace pipescope::base {
namespace {

/// A handler of a signal may not wait for a lock, so each slot changes hands in one step.
struct TemporarySlot {
  std::atomic<char*> path{nullptr};
  std::atomic<pid_t> owner{0};
};

/// Number of slots: more than the files that a process writes at the same time.
constexpr std::size_t kSlots = 64;
std::array<TemporarySlot, kSlots> slots;

/// Threads that are making a file which has no name here yet.
std::atomic<int> makingFiles{0};
std::atomic<bool> ending{false};

/// Waits up to a second, in which the other side does what it has to do. A handler of a signal may call it.
template <typename Condition>
void waitWhile(Condition condition) {
  constexpr int kMostMilliseconds = 1000;
  for (int i = 0; i < kMostMilliseconds && condition(); ++i) poll(nullptr, 0, 1);
}

/// FNV-1a (Fowler, Noll, Vo) as 16 hexadecimal digits.
std::string nameHash(std::string_view name) {
  std::uint64_t state = 0xcbf29ce484222325ULL;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; state >>= 4) digits[i] = "0123456789abcdef"[state & 15];
  return digits;
}

}  // namespace

TemporaryName::TemporaryName(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  char* text = strdup((failed ? path : absolute).c_str());
  for (std::size_t i = 0; i < kSlots && text != nullptr; ++i) {
    // A slot is taken by its owner first, so that a signal never sees a path without one.
    pid_t nobody = 0;
    if (!slots[i].owner.compare_exchange_strong(nobody, getpid())) continue;
    slots[i].path = text;
    slot_ = i;
    return;
  }
  std::free(text);
}

TemporaryName::TemporaryName(TemporaryName&& other) noexcept : slot_(std::exchange(other.slot_, kNone)) {}

TemporaryName& TemporaryName::operator=(TemporaryName&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

void TemporaryName::forget() {
  if (slot_ == kNone) return;
  std::free(slots[slot_].path.exchange(nullptr));
  slots[slot_].owner = 0;
  slot_ = kNone;
}

SignalsWait::SignalsWait() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU, SIGALRM}) sigaddset(&held, signal);
  // This thread takes no signal meanwhile. Another one may, and waits in its handler.
  pthread_sigmask(SIG_BLOCK, &held, &before_);
  ++makingFiles;
  if (!ending) return;
  --makingFiles;
  waitWhile([] { return true; });  // a signal ends the program
  ++makingFiles;
}

SignalsWait::~SignalsWait() {
  --makingFiles;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void endBySignal(int signal) {
  ending = true;
  removeTemporaryFiles();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void removeTemporaryFiles() {
  waitWhile([] { return makingFiles > 0; });
  const pid_t own = getpid();
  for (TemporarySlot& slot : slots) {
    if (slot.owner != own) continue;
    if (const char* path = slot.path.exchange(nullptr)) unlink(path);
  }
}

void removeTemporaryFilesOn(int signal) {
  std::signal(signal, endBySignal);
}

void removeTemporaryFilesOnSignals() {
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU}) {
    if (std::signal(signal, endBySignal) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

std::filesystem::path besidePath(const std::filesystem::path& path, std::string_view before,
                                 std::string_view after, std::size_t room) {
  const std::string name = path.filename().string();
  const std::size_t most = kMostNameBytes - before.size() - after.size() - room;
  std::string middle = name;
  if (middle.size() > most) {
    const std::string hash = "~" + nameHash(name);
    std::size_t kept = most - hash.size();
    // Characters of UTF-8 are not cut in two.
    while (kept > 0 && (static_cast<unsigned char>(middle[kept]) & 0xC0) == 0x80) --kept;
    middle = middle.substr(0, kept) + hash;
  }
  return path.parent_path() / (std::string(before) + middle + std::string(after));
}

}  // namespace pipescope::base
