#pragma once

namespace pipescope::shell {

class MainWindow;

/// Asks for a file name and writes the report of the shown executable as a web page, on a worker. A notice
/// says that it was written, and a message reports a failure.
void saveReport(MainWindow& window);
/// The same for the comparison of the window's profile with its source.
void saveComparisonReport(MainWindow& window);

}  // namespace pipescope::shell
