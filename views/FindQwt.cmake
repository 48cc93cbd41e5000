# Finds Qwt for Qt 5 and makes Qwt::Qwt.
#
# qwt_series_store.h writes ~QwtSeriesStore<T>(), which g++ 11 and later refuse in C++20. A corrected copy of all
# headers is made (quoted includes resolve beside the including header, so one alone would not do).
find_path(QWT_INCLUDE_DIR qwt_plot.h PATH_SUFFIXES qwt qwt-qt5)
find_library(QWT_LIBRARY NAMES qwt-qt5 qwt)
if(QWT_INCLUDE_DIR)
  file(STRINGS "${QWT_INCLUDE_DIR}/qwt_global.h" _qwt_version REGEX "define +QWT_VERSION_STR")
  string(REGEX REPLACE ".*\"([0-9.]+)\".*" "\\1" QWT_VERSION "${_qwt_version}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Qwt REQUIRED_VARS QWT_LIBRARY QWT_INCLUDE_DIR VERSION_VAR QWT_VERSION)
if(Qwt_FOUND AND NOT TARGET Qwt::Qwt)
  set(_qwt_copy "${CMAKE_BINARY_DIR}/qwt-compat")
  file(GLOB _qwt_headers "${QWT_INCLUDE_DIR}/*.h")
  foreach(_qwt_header IN LISTS _qwt_headers)
    get_filename_component(_qwt_name "${_qwt_header}" NAME)
    file(READ "${_qwt_header}" _qwt_text)
    string(REPLACE "~QwtSeriesStore<T>()" "~QwtSeriesStore()" _qwt_text "${_qwt_text}")
    file(CONFIGURE OUTPUT "${_qwt_copy}/${_qwt_name}" CONTENT "${_qwt_text}" @ONLY)
  endforeach()
  add_library(Qwt::Qwt UNKNOWN IMPORTED GLOBAL)
  set_target_properties(Qwt::Qwt PROPERTIES IMPORTED_LOCATION "${QWT_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${_qwt_copy}" INTERFACE_LINK_LIBRARIES "Qt5::Widgets")
endif()
