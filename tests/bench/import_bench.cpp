// import_bench FOLDER [EVENTS …]: writes traces in Chrome's JSON format, imports each of them plain and
// compressed, and opens the profile. It prints wall time, processor time and memory; run it on an idle
// machine. Without numbers it takes 10⁶ and 10⁷ events (1.6 GB of JSON in the folder).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "profiler/analysis/timeline/range.h"
#include "profiler/import/trace_import.h"
#include "profiler/store/file_sink.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "import_bench: %s\n", message.c_str());
  std::exit(1);
}

/// Two threads that take what comes next, as those of the command line.
class TwoThreads : public base::Executor {
 public:
  ~TwoThreads() override {
    call(nullptr, 0);
    other_.join();
  }
  std::size_t threads() const override { return 2; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override {
    call(&body, count);
    take();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return idle_; });
  }

 private:
  void call(const std::function<void(std::size_t)>* body, std::size_t count) {
    {
      const std::lock_guard lock(mutex_);
      body_ = body;
      count_ = count;
      next_ = 0;
      idle_ = false;
    }
    wake_.notify_one();
  }
  void take() {
    for (std::size_t i = next_++; i < count_; i = next_++) (*body_)(i);
  }
  void work() {
    for (std::unique_lock lock(mutex_);;) {
      wake_.wait(lock, [this] { return !idle_; });
      if (body_ == nullptr) return;
      lock.unlock();
      take();
      lock.lock();
      idle_ = true;
      done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;
  bool idle_ = true;
  std::thread other_{[this] { work(); }};
};

/// A trace as PyTorch's profiler writes it: threads with nested operators, and kernels with their launches.
void writeTrace(const fs::path& path, std::int64_t events) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail(path.string() + " cannot be written.");
  std::mt19937 random(7);
  std::fputs(
      "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0, \"world_size\": 1}, \"traceEvents\": [\n",
      file);
  std::int64_t written = 0;
  for (std::int64_t call = 0; written < events; ++call) {
    const std::int64_t at = 1'700'000'000'000'000 + call * 40;
    const unsigned name = random() % 400;
    std::fprintf(file,
                 "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::operator_%u\", \"pid\": 4242, "
                 "\"tid\": %u,\n"
                 "    \"ts\": %lld.%03u, \"dur\": 31.250,\n    \"args\": {\"External id\": %lld, \"Ev Idx\": "
                 "%lld}},\n",
                 name, 4242 + static_cast<unsigned>(call % 4), static_cast<long long>(at), name,
                 static_cast<long long>(call), static_cast<long long>(call));
    std::fprintf(file,
                 "  {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "
                 "4242, \"tid\": %u,\n"
                 "    \"ts\": %lld.500, \"dur\": 5.125,\n    \"args\": {\"External id\": %lld, "
                 "\"correlation\": %lld}},\n",
                 4242 + static_cast<unsigned>(call % 4), static_cast<long long>(at + 3),
                 static_cast<long long>(call), static_cast<long long>(call + 1));
    std::fprintf(
        file,
        "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void kernel_%u<float>(float*, int)\", \"pid\": "
        "0, \"tid\": 7,\n"
        "    \"ts\": %lld.250, \"dur\": 30.000,\n"
        "    \"args\": {\"correlation\": %lld, \"device\": 0, \"stream\": 7, \"grid\": [80, 1, 1]}}%s\n",
        name, static_cast<long long>(at + 8), static_cast<long long>(call + 1),
        written + 3 >= events ? "" : ",");
    written += 3;
  }
  std::fputs("]}\n", file);
  std::fclose(file);
}

void compress(const fs::path& from, const fs::path& to) {
  std::FILE* const in = std::fopen(from.c_str(), "rb");
  const gzFile out = gzopen(to.c_str(), "wb6");
  std::vector<char> buffer(1 << 20);
  for (std::size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), in)) > 0;)
    gzwrite(out, buffer.data(), static_cast<unsigned>(count));
  gzclose(out);
  std::fclose(in);
}

/// Runs in a process of its own and prints its times and its memory.
void measured(const char* what, const std::function<void()>& body) {
  std::fflush(stdout);
  const auto start = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  if (status != 0) std::exit(1);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  std::printf("  %-22s %6.2f s wall, %6.2f s user, %5.2f s system, %4ld MB\n", what,
              std::chrono::duration<double>(Clock::now() - start).count(), seconds(used.ru_utime),
              seconds(used.ru_stime), used.ru_maxrss / 1024);
}

void import(const fs::path& trace, const fs::path& profile) {
  store::FileSinkOptions options;
  options.writer.rules.overwrite = true;
  const auto sink = store::FileSink::create(profile.string(), options);
  if (!sink.ok()) fail(sink.error().message);
  record::Recorder recorder(**sink);
  importing::ImportRequest request;
  request.paths = {trace};
  request.temporaryFolder = profile.parent_path();
  TwoThreads threads;
  request.executor = &threads;
  base::SilentProgress progress;
  const auto imported = importing::importTraces(request, recorder, progress);
  if (!imported.ok()) fail(imported.error().message);
}

/// Reads the data of the window's first picture: the small tables and all lanes at 1,000 columns.
void open(const fs::path& profile) {
  const auto opened = store::ProfileReader::open(profile.string());
  if (!opened.ok()) fail(opened.error().message);
  const std::shared_ptr<const store::ProfileReader> reader = *opened;
  const auto catalog = analysis::loadCatalog(*reader);
  if (!catalog.ok()) fail(catalog.error().message);
  const auto index = analysis::RangeIndex::make(reader, *catalog);
  if (!index.ok()) fail(index.error().message);
  const model::Run* const run = (*catalog)->lastRunOf(model::ExecutableId(0));
  if (run == nullptr) fail("the profile has no run.");
  base::SilentProgress progress;
  const base::Ticks pixel((run->end - run->start).count / 1000);
  const auto spans = (*index)->steps({model::ExecutableId(0), run->start, run->end, {}}, pixel, progress);
  if (!spans.ok()) fail(spans.error().message);
}

int run(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: import_bench FOLDER [EVENTS …]\n"), 2;
  const fs::path folder = argv[1];
  std::vector<std::int64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {1'000'000, 10'000'000};
  for (const std::int64_t events : sizes) {
    const fs::path trace = folder / ("import_" + std::to_string(events) + ".json"),
                   packed = trace.string() + ".gz", profile = folder / "import.pop";
    if (!fs::exists(trace)) writeTrace(trace, events);
    if (!fs::exists(packed)) compress(trace, packed);
    std::printf("%lld events, %.0f MB\n", static_cast<long long>(events),
                static_cast<double>(fs::file_size(trace)) * 1e-6);
    measured("import, gzip", [&] { import(packed, profile); });
    measured("import", [&] { import(trace, profile); });
    measured("open", [&] { open(profile); });
  }
  return 0;
}

}  // namespace
}  // namespace pipescope::bench

int main(int argc, char** argv) {
  return pipescope::bench::run(argc, argv);
}
