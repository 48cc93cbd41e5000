#include "engine/data/digits/digit_set.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "engine/data/digits/digit_renderer.h"
#include "engine/data/digits/mnist_files.h"
#include "engine/data/idx_file.h"
#include "profiler/base/check.h"

namespace pipescope::data {

namespace {

constexpr std::int64_t imagesPerTask = 256;  ///< takes about 5 ms
/// Images between two checks of `cancelled`, which takes under 0.1 s on one core.
constexpr std::int64_t imagesPerRound = 4096;

struct Drawn {
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
};

/// The position of a split within the whole work, in images.
struct Share {
  std::int64_t before;
  std::int64_t all;
};

base::Status drawSplit(Drawn& drawn, std::uint64_t seed, DataSplit split, Share share,
                       base::Progress& progress, base::Executor& executor) {
  constexpr std::size_t pixels = digitSide * digitSide;
  const auto count = static_cast<std::int64_t>(drawn.labels.size());
  for (std::int64_t round = 0; round < count; round += imagesPerRound) {
    progress.report(static_cast<double>(share.before + round) / static_cast<double>(share.all),
                    "generating digits");
    if (progress.cancelled()) return base::cancelled("generating digits was cancelled; nothing was kept");
    const std::int64_t end = std::min(count, round + imagesPerRound);
    const auto tasks = static_cast<std::size_t>((end - round + imagesPerTask - 1) / imagesPerTask);
    executor.parallelFor(tasks, [&](std::size_t task) {
      const std::int64_t first = round + static_cast<std::int64_t>(task) * imagesPerTask;
      for (std::int64_t i = first; i < std::min(end, first + imagesPerTask); ++i) {
        const DigitImage image = renderDigit(seed, split, i);
        const auto at = static_cast<std::size_t>(i);
        drawn.labels[at] = image.label;
        std::copy(image.pixels.begin(), image.pixels.end(),
                  drawn.pixels.begin() + static_cast<std::ptrdiff_t>(at * pixels));
      }
    });
  }
  return {};
}

base::Status writeSplit(const std::filesystem::path& directory, DataSplit split, const Drawn& drawn) {
  const auto count = static_cast<std::int64_t>(drawn.labels.size());
  constexpr auto side = static_cast<std::int64_t>(digitSide);
  PIPESCOPE_TRY(writeIdx(directory / mnistFileName(split, IdxKind::images), std::array{count, side, side},
                         drawn.pixels));
  return writeIdx(directory / mnistFileName(split, IdxKind::labels), std::array{count}, drawn.labels);
}

}  // namespace

base::Status writeDigitSet(const std::filesystem::path& directory, const DigitSetOptions& options,
                           base::Progress& progress, base::Executor& executor) {
  PIPESCOPE_CHECK(options.trainCount >= 1 && options.testCount >= 1,
                  "a digit set has at least one image of each kind");
  const std::int64_t all = options.trainCount + options.testCount;
  std::int64_t before = 0;
  for (const DataSplit split : {DataSplit::train, DataSplit::test}) {
    const std::int64_t count = split == DataSplit::train ? options.trainCount : options.testCount;
    Drawn drawn;
    drawn.labels.resize(static_cast<std::size_t>(count));
    drawn.pixels.resize(static_cast<std::size_t>(count) * digitSide * digitSide);
    PIPESCOPE_TRY(drawSplit(drawn, options.seed, split, {before, all}, progress, executor));
    PIPESCOPE_TRY(writeSplit(directory, split, drawn));
    before += count;
  }
  progress.report(1.0, "generating digits");
  return {};
}

}  // namespace pipescope::data
