#pragma once
// Makes the operating system refuse memory or files. Use it only in the child process of a death test.
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

/// Limits the address space that the process can still allocate to this many bytes.
inline void limitMemory(std::uint64_t more) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

/// Prevents the process from opening further files.
inline void limitFiles() {
  const rlimit limit{3, 3};
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace pipescope::data::testing
