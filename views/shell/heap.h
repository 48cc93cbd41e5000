#pragma once
// How the program's memory goes back to the system. Reading a large profile takes several times what is kept
// of it; without this, freed memory stays with the process, spread over the arenas of the threads that read.

namespace pipescope::shell {

/// The first statement of a program: large blocks are mapped one by one and so go back when they are freed
/// (the C library raises its threshold with each one that is freed, up to 32 MiB; a threshold that is set
/// stays), and workers share one arena, so that what one has freed serves the other.
void keepHeapSmall();

/// Gives free memory back, on a worker, once it has been asked for and then not again for a while. Called on
/// the window's thread.
void giveMemoryBackSoon();

}  // namespace pipescope::shell
