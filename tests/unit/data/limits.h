#pragma once
// Makes the operating system refuse things, in a child process of a death test only.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PIPESCOPE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PIPESCOPE_TEST_SANITIZED 1
#endif
#endif

namespace pipescope::data::testing {

/// Leaves this many bytes of address space to the process.
inline void limitMemory(std::uint64_t more) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

/// No further file can be opened.
inline void limitFiles() {
  const rlimit limit{3, 3};
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace pipescope::data::testing
