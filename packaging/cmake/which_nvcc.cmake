# cmake -P: prints the nvcc that a build would take, for scripts; nothing where there is none.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/cuda.cmake)
satchel_look_for_nvcc(nvcc)
if(nvcc)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${nvcc})
endif()
