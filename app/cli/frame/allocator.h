#pragma once

namespace pipescope::cli {

/// Makes the arenas of jemalloc, from which threads get their memory, before there is a second thread. By
/// default the first thread that uses an arena makes it, and jemalloc 5.3 crashes where there is no memory
/// left for one.
void makeArenas();

}  // namespace pipescope::cli
