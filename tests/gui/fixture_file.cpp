// gui_fixture_file FILE [fixed|overflow|running|tiles] writes the tests' profile to a file, which the window
// can open.
#include <cstdio>
#include <cstring>

#include "profile_fixture.h"
#include "profiler/store/profile_writer.h"

int main(int argc, char** argv) {
  using namespace pipescope;
  if (argc < 2)
    return std::fprintf(stderr, "usage: gui_fixture_file FILE [fixed|overflow|running|tiles]\n"), 2;
  testing::FixtureOptions options;
  const char* variant = argc > 2 ? argv[2] : "";
  options.fixed = std::strcmp(variant, "fixed") == 0;
  options.tiles = std::strcmp(variant, "tiles") == 0;
  options.overflow = std::strcmp(variant, "overflow") == 0;
  options.finish = std::strcmp(variant, "running") != 0;
  const testing::ProfileFixture fixture(options);
  auto writer = store::ProfileWriter::create(argv[1]);
  if (!writer.ok()) return std::fprintf(stderr, "%s\n", writer.error().message.c_str()), 2;
  const model::RowSet rows = *fixture.profile()->everything();
  base::Status done = (*writer)->commit(rows);
  if (done.ok() && options.finish) done = (*writer)->finish(model::ProfileState::complete, "");
  if (!done.ok()) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
  return 0;
}
