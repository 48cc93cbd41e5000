#pragma once
// Returns memory to the system. Reading a large profile takes several times the memory that is kept. Without
// these functions, the freed memory would stay with the process, spread over the arenas of the threads that
// read.

namespace pipescope::shell {

/// Call this first in main(). It makes the C library map large blocks one by one, so that they go back to the
/// system when they are freed. (By itself the library raises the threshold up to 32 MiB with each block that
/// is freed.) It also lets all workers share one arena, so that one can reuse what another has freed.
void keepHeapSmall();

/// Returns free memory to the system, on a worker, some time after the last call. Call it on the window's
/// thread.
void giveMemoryBackSoon();

}  // namespace pipescope::shell
