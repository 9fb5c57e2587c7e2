// Stands in for the driver's header of this name: the calls for virtual memory, which the executor
// does at once (driver_api.cpp). Errors have the numbers of the runtime's.
#pragma once

#include <cstddef>

enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_SUPPORTED = 801,
};
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
enum CUmemAllocationType { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemLocationType { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAccess_flags { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };
enum CUmemAllocationGranularity_flags { CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1 };
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemLocation location;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

enum CUdevice_attribute { CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102 };

CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* memory,
                                       CUmemAllocationGranularity_flags option);
CUresult cuMemAddressReserve(CUdeviceptr* at, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr address, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr at, std::size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* memory, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr at, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr at, std::size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr at, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t n);
