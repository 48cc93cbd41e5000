// Runs a fuzz target over files, without libFuzzer: replay FILE-OR-FOLDER … Memory is limited to 2 GiB unless
// a sanitizer needs more. With --mutate N each file is also cut and changed in N ways, which are always the
// same.
#include <sys/resource.h>

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

void limitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{std::size_t{2} << 30, std::size_t{2} << 30};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::perror("setrlimit");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  limitMemory();
  int mutations = 0, runs = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--mutate" && i + 1 < argc) {
      mutations = std::atoi(argv[++i]);
      continue;
    }
    for (const fs::path& file : filesOf(argv[i])) {
      const Bytes bytes = read(file);
      std::printf("%s\n", file.filename().c_str());
      std::fflush(stdout);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      std::uint64_t state = bytes.size();
      for (int m = 0; m < mutations && !bytes.empty(); ++m) {
        const Bytes changed = mutated(bytes, state);
        LLVMFuzzerTestOneInput(changed.data(), changed.size());
      }
      runs += 1 + mutations;
    }
  }
  std::printf("%d inputs\n", runs);
  return runs > 0 ? 0 : 2;
}
