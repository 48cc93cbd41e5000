#pragma once
// Corrects the figures of a system by measurements of whole steps, and writes a device with what was found.
#include <optional>
#include <string>
#include <vector>

#include "app/run/calibrate/fit.h"
#include "app/run/sweep/validation.h"
#include "engine/config/configuration.h"
#include "engine/devices/system_registry.h"
#include "profiler/base/progress.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::app {

struct CalibrationRequest {
  std::string system;        ///< NAME, perhaps with :DEVICES and xBOXES
  std::string measurements;  ///< the file's name, for the sources of figures
  MeasuredTable measured;
  std::vector<std::string> only;  ///< names of properties to fit; empty: all
  int processes = 1;
};

struct CalibratedProperty {
  devices::CorrectedProperty property;
  std::vector<std::string> figures;        ///< those that the files state
  double factor = 1, least = 1, most = 1;  ///< the intervals of all properties hold together with 95 %
  double least80 = 1, most80 = 1;          ///< the interval of this one alone holds with 80 %
  std::string refusal = {};                ///< reason why it keeps its value; empty: it was fitted
  bool atBound = false;                    ///< a figure has the largest value that it may have
};

/// A measured time: emulated ÷ measured − 1 before and after the fit, and if this row is left out.
struct CalibratedRow {
  const MeasuredRow* row = nullptr;
  double before = 0, after = 0, leftOut = 0;
};

/// Memory that programs hold besides the tensors of the emulation, as measured.
struct MeasuredWorkspace {
  double bytes = 0, least = 0, most = 0;  ///< mean, and its interval
  std::vector<double> before, leftOut;  ///< emulated ÷ measured − 1 of each row, and if the row is left out
  /// Standard deviation of ln(emulated ÷ measured) of a further row. `isReserved`: the device's figures
  /// reserve the bytes.
  double error(bool isReserved) const;
};

/// The row that would narrow the interval of a property most if it were measured next.
struct ProposedRow {
  std::string settings;  ///< "tensor_parallel=8, micro_batch_size=2"
  std::string property;
  double before = 1, after = 1;  ///< factor between the middle and either end of its 80 % interval
};

struct Calibration {
  devices::SystemFigures figures;
  std::vector<CalibratedProperty> properties;
  std::vector<CalibratedRow> rows;
  double noise = 0;
  /// Standard deviation of ln(emulated ÷ measured) of a further row: that of rows left out, with what few
  /// rows do not tell.
  double stepError = 0;
  std::optional<ProposedRow> next;             ///< none: no row near the measured ones narrows an interval
  std::optional<MeasuredWorkspace> workspace;  ///< none: fewer than two rows state memory

  /// True if the measurements prove that programs hold more than their tensors.
  bool hasWorkspace() const { return workspace && workspace->least > 0 && !figures.reservedMemory.empty(); }
};
/// True if something was fitted, so that there is a device to write.
bool determinesAnything(const Calibration& calibration);

/// Fits the properties that the family of the system lists to the times of the measurements; the prior is the
/// value of each figure, as wide as its grade says. Each row counts once: its step time, or else its rate.
/// The request must outlive the result. The caller must have a single thread. Errors: an unknown property, a
/// family without properties, fewer than two rows with a time, a row that cannot be emulated, cancelled.
base::Result<Calibration> calibrate(const config::Configuration& configuration,
                                    const CalibrationRequest& request, base::Progress& progress);

/// The file of the calibrated device: the figures that were fitted, on top of the system as a base.
std::string calibratedToml(const Calibration& calibration, const CalibrationRequest& request);

/// Tables "properties" and "rows".
sections::Section calibrationSection(const Calibration& calibration);

}  // namespace pipescope::app
