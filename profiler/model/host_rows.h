#pragma once
// Rows of the host's work while it computed and emulated: spans and values over its wall clock.
//
// Times are nanoseconds of the host's steady clock, counted like Run::wallStartNs. Events before the program
// was loaded, such as compiling, have negative times. The content hash leaves all these rows out.
#include <string>
#include <type_traits>

#include "profiler/model/row_declaration.h"

namespace pipescope::model {

struct HostThreadTag;
struct HostNameTag;
struct HostSeriesTag;
using HostThreadId = base::Id<HostThreadTag>;
using HostNameId = base::Id<HostNameTag>;
using HostSeriesId = base::Id<HostSeriesTag>;

struct HostThread {
  HostThreadId id;
  std::string process, name;
  PIPESCOPE_ROW("host_thread", blocks, "A thread of the host whose spans were recorded") {
    visit("id", row.id, "", "dense, ascending");
    visit("process", row.process, "", "of a run of several instances: which of them; otherwise empty");
    visit("name", row.name, "", "main, data reader, worker 1 …");
  }
};

struct HostName {
  HostNameId id;
  std::string channel, name;
  PIPESCOPE_ROW("host_name", blocks, "The name of spans and events") {
    visit("id", row.id, "", "dense, ascending");
    visit("channel", row.channel, "", "who names it: compiler, data, numerics … or a channel of the user");
    visit("name", row.name, "", "");
  }
};

struct HostSpan {
  HostThreadId thread;
  HostNameId name;
  Ticks start, end;
  PIPESCOPE_ROW("host_span", blocks, "What a thread did from when to when; spans of a thread may nest") {
    visit("thread", row.thread, "", "");
    visit("name", row.name, "", "");
    visit("start", row.start, "ns", "of the wall clock; the rows of a thread ascend by their end");
    visit("end", row.end, "ns", "equal to the start: an event without a length");
  }
};

struct HostSeries {
  HostSeriesId id;
  std::string chart, name, unit;
  PIPESCOPE_ROW("host_series", blocks, "A value over wall time that a program of the user recorded") {
    visit("id", row.id, "", "dense, ascending");
    visit("chart", row.chart, "", "series of one chart are drawn together");
    visit("name", row.name, "", "");
    visit("unit", row.unit, "", "");
  }
};

struct HostSample {
  HostSeriesId series;
  Ticks time;
  double value = 0;
  PIPESCOPE_ROW("host_sample", blocks, "The value of a host series from this time on") {
    visit("series", row.series, "", "");
    visit("time", row.time, "ns", "of the wall clock");
    visit("value", row.value, "", "in the series' unit");
  }
};

/// True for the rows of this header.
template <class Row>
inline constexpr bool kIsOfHost =
    std::is_same_v<Row, HostThread> || std::is_same_v<Row, HostName> || std::is_same_v<Row, HostSpan> ||
    std::is_same_v<Row, HostSeries> || std::is_same_v<Row, HostSample>;

}  // namespace pipescope::model
