// Runs a fuzz target over files, without libFuzzer: replay FILE-OR-FOLDER … Memory is limited to 2 GiB unless
// a sanitizer needs more. With --mutate N each file is also cut and changed in N ways, which are always the
// same, or in ten times as many with PIPESCOPE_FULL_TESTS set. At the end it says which input took the most
// processor time, and how much memory the program had.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// g++ says which sanitizers it uses by macros, clang by features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PIPESCOPE_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PIPESCOPE_SANITIZED
#endif
#endif

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

std::vector<fs::path> filesOf(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(place)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Bytes read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Returns a copy with one byte changed, a range removed or doubled, or the end cut off.
Bytes mutated(const Bytes& bytes, std::uint64_t& state) {
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return below == 0 ? 0 : static_cast<std::size_t>(state >> 33) % below;
  };
  Bytes copy = bytes;
  const std::size_t at = random(bytes.size()),
                    length = random(std::min<std::size_t>(16, bytes.size() - at)) + 1;
  const auto from = copy.begin() + static_cast<std::ptrdiff_t>(at);
  const auto to = from + static_cast<std::ptrdiff_t>(std::min(length, bytes.size() - at));
  switch (random(4)) {
    case 0:
      copy[at] = static_cast<std::uint8_t>(random(256));
      break;
    case 1:
      copy.erase(from, to);
      break;
    case 2: {
      const Bytes part(from, to);
      copy.insert(copy.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
      break;
    }
    default:
      copy.resize(at);
  }
  return copy;
}

/// Processor time of the process so far; the time that others take from the machine does not count.
double processorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// The input that took longest.
struct Longest {
  double seconds = 0;
  std::string file;
  int mutation = 0;  ///< 0: the file itself
};

void run(const Bytes& bytes, const fs::path& file, int mutation, Longest& longest) {
  const double start = processorSeconds();
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  const double seconds = processorSeconds() - start;
  if (seconds > longest.seconds) longest = {seconds, file.filename().string(), mutation};
}

void limitMemory() {
#ifndef PIPESCOPE_SANITIZED
  const rlimit limit{std::size_t{2} << 30, std::size_t{2} << 30};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::perror("setrlimit");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  limitMemory();
  int mutations = 0, runs = 0;
  Longest longest;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--mutate" && i + 1 < argc) {
      mutations = std::atoi(argv[++i]) * (std::getenv("PIPESCOPE_FULL_TESTS") != nullptr ? 10 : 1);
      continue;
    }
    for (const fs::path& file : filesOf(argv[i])) {
      const Bytes bytes = read(file);
      std::printf("%s\n", file.filename().c_str());
      std::fflush(stdout);
      run(bytes, file, 0, longest);
      std::uint64_t state = bytes.size();
      for (int m = 0; m < mutations && !bytes.empty(); ++m) {
        run(mutated(bytes, state), file, m + 1, longest);
      }
      runs += 1 + mutations;
    }
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%d inputs; the longest took %.2f s (%s, mutation %d); %ld MB\n", runs, longest.seconds,
              longest.file.c_str(), longest.mutation, used.ru_maxrss / 1024);
  return runs > 0 ? 0 : 2;
}
