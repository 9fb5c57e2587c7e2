# cmake -P: what a configuration finds of CUDA, without one.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../../packaging/cmake/cuda.cmake)
satchel_find_nvcc()
if(SATCHEL_NVCC_PATH)
  satchel_cuda_targets(targets cards)
  message(STATUS "CUDA backend: nvcc ${SATCHEL_NVCC_VERSION} (${SATCHEL_NVCC_PATH}), ${cards}; ${targets}")
endif()
