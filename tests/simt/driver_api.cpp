// The driver's calls for virtual memory (include/cuda.h). A handle is the number of bytes it holds:
// they count from when they are mapped, as ours are at once.
#include <cuda.h>

#include <cstring>
#include <utility>

#include "simt/memory.h"
#include "simt/runtime_api.h"

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

CUresult refused() {
  return static_cast<CUresult>(simt::refuse_call());
}
CUresult valid(bool is) {
  return is ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
bool is_whole(unsigned long long bytes) {
  return bytes > 0 && bytes % kGranularity == 0;
}
std::byte* pointer(CUdeviceptr at) {
  return reinterpret_cast<std::byte*>(at);
}

}  // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return refused();
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = simt::machine().has_virtual_memory ? 1 : 0;
  return refused();
}

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return refused();
}

CUresult cuMemAddressReserve(CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  if (const CUresult error = refused()) return error;
  if (!is_whole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  std::byte* const reserved = simt::reserve_addresses(bytes);
  *at = reinterpret_cast<CUdeviceptr>(reserved);
  return reserved == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr at, std::size_t bytes) {
  return valid(simt::free_addresses(pointer(at), bytes));
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* memory, unsigned long long) {
  if (const CUresult error = refused()) return error;
  if (!is_whole(bytes) || memory->location.id != simt::current_card())
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > simt::kDeviceBytes - simt::device_bytes_used()) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle) {
  return refused();
}

CUresult cuMemMap(CUdeviceptr at, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  if (const CUresult error = refused()) return error;
  return valid(handle == bytes && offset == 0 && simt::map_memory(pointer(at), bytes));
}
CUresult cuMemUnmap(CUdeviceptr at, std::size_t bytes) {
  return valid(simt::unmap_memory(pointer(at), bytes));
}
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
  return refused();
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** at, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const std::pair<const char*, void*> calls[] = {
      {"cuDeviceGet", reinterpret_cast<void*>(cuDeviceGet)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(cuDeviceGetAttribute)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(cuMemGetAllocationGranularity)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(cuMemAddressFree)},
      {"cuMemCreate", reinterpret_cast<void*>(cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(cuMemRelease)},
      {"cuMemMap", reinterpret_cast<void*>(cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(cuMemSetAccess)}};
  *at = nullptr;
  *found = cudaDriverEntryPointSymbolNotFound;
  if (const cudaError_t error = simt::refuse_call()) return error;
  for (const auto& [name, call] : calls) {
    if (std::strcmp(name, symbol) != 0) continue;
    *at = call;
    *found = cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}
