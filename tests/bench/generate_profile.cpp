// generate_profile pipeline|events FILE [DIVISOR]: writes a profile with 10⁹ emulated steps, or with 10⁷
// unrepeated events. DIVISOR makes it so many times smaller.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "profiler/store/file_sink.h"
#include "tests/bench/big_profile.h"

int main(int argc, char** argv) {
  using namespace pipescope;
  const std::string kind = argc > 2 ? argv[1] : "";
  if (kind != "pipeline" && kind != "events") {
    std::fprintf(stderr, "usage: generate_profile pipeline|events FILE [DIVISOR]\n");
    return 2;
  }
  const int divisor = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  auto writer = store::FileSink::create(argv[2]);
  if (!writer.ok()) return std::fprintf(stderr, "%s\n", writer.error().message.c_str()), 1;
  record::Recorder recorder(**writer);
  const auto start = std::chrono::steady_clock::now();
  base::Status status;
  if (kind == "pipeline") {
    bench::PipelineShape shape;
    shape.microBatches = std::max(1, shape.microBatches / divisor);
    std::printf("%lld emulated steps\n", static_cast<long long>(shape.emulatedSteps()));
    status = bench::recordPipeline(recorder, shape);
  } else {
    bench::EventShape shape;
    shape.events = std::max<std::int64_t>(1, shape.events / divisor);
    std::printf("%lld events\n", static_cast<long long>(shape.events));
    status = bench::recordEvents(recorder, shape);
  }
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.error().message.c_str()), 1;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto cpu = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  std::printf("%.1f MB in %.2f s (%.2f s of processor), %ld MB of memory\n",
              static_cast<double>(std::filesystem::file_size(argv[2])) * 1e-6, seconds,
              cpu(used.ru_utime) + cpu(used.ru_stime), used.ru_maxrss / 1024);
  return 0;
}
