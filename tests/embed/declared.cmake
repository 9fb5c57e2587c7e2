# The functions that HEADER declares, sorted, in `declared`.
file(STRINGS ${HEADER} lines REGEX "satchel_[a-z_]+\\(")
set(declared "")
foreach(line IN LISTS lines)
  if(line MATCHES "^[a-z].*(satchel_[a-z_]+)\\(")
    list(APPEND declared ${CMAKE_MATCH_1})
  endif()
endforeach()
list(REMOVE_ITEM declared satchel_init)  # C++'s own
list(SORT declared)
list(LENGTH declared n)
if(NOT n GREATER 30)
  message(FATAL_ERROR "Only ${n} functions were found in ${HEADER}")
endif()
