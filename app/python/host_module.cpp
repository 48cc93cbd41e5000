#include "app/python/host_module.h"

#include "profiler/record/host_span.h"

namespace pipescope::python {

namespace py = pybind11;

void defineHost(py::module_& m) {
  using record::HostNameId;
  using record::HostSeriesId;
  using record::OpenHostSpan;
  py::class_<HostNameId>(m, "Name", "A name of spans in a channel.")
      .def(py::init([](const std::string& channel, const std::string& name) {
             return record::hostName(channel, name);
           }),
           py::arg("channel"), py::arg("name"));
  py::class_<HostSeriesId>(m, "Series", "A series of values over wall time.")
      .def(py::init([](const std::string& chart, const std::string& name, const std::string& unit) {
             return record::hostSeries(chart, name, unit);
           }),
           py::arg("chart"), py::arg("name"), py::arg("unit"))
      .def("add", &record::addHostSample, py::arg("value"));
  py::class_<OpenHostSpan>(m, "Span", "Begins with its construction.")
      .def(py::init<HostNameId>(), py::arg("name"))
      .def("end", &OpenHostSpan::end);
  m.def("event", &record::addHostEvent, py::arg("name"));
  m.def("is_traced", &record::hostIsTraced, "True while a profile records the host.");
  m.def("name_thread", &record::nameHostThread, py::arg("name"), "Names the calling thread.");
}

}  // namespace pipescope::python
