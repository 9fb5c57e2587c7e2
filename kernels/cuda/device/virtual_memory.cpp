#include "kernels/cuda/device/virtual_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kCallsOfVersion = 12000;  // of CUDA: any driver that runs this build has them

template <class Call>
bool find_call(const char* name, Call& call) {
  void* at = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &at, kCallsOfVersion, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &at, cudaEnableDefault, &found);
#endif
  call = reinterpret_cast<Call>(at);
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess && at != nullptr;
}

CUmemAllocationProp memory_of(int card) {
  CUmemAllocationProp memory = {};
  memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  memory.location.id = card;
  return memory;
}

// Both kinds of errors use the same numbers.
cudaError_t error_of(CUresult result) {
  return static_cast<cudaError_t>(result);
}

}  // namespace

bool VirtualMemory::Calls::find() {
  return find_call("cuDeviceGet", device) && find_call("cuDeviceGetAttribute", attribute) &&
         find_call("cuMemGetAllocationGranularity", granularity) &&
         find_call("cuMemAddressReserve", reserve) && find_call("cuMemAddressFree", free) &&
         find_call("cuMemCreate", create) && find_call("cuMemRelease", release) &&
         find_call("cuMemMap", map) && find_call("cuMemUnmap", unmap) &&
         find_call("cuMemSetAccess", set_access);
}

bool VirtualMemory::Calls::card_can(int index) const {
  CUdevice card = 0;
  int can = 0;
  return device(&card, index) == CUDA_SUCCESS &&
         attribute(&can, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, card) ==
             CUDA_SUCCESS &&
         can != 0;
}

std::unique_ptr<VirtualMemory> VirtualMemory::reserve(std::size_t bytes, int card) {
  std::unique_ptr<VirtualMemory> made(new VirtualMemory);
  made->card_ = card;
  const bool is_there = made->calls_.find();
  cudaGetLastError();  // clears the error of a missing call; a sticky error is reported again
  if (!is_there || !made->calls_.card_can(card)) return nullptr;
  const CUmemAllocationProp memory = memory_of(card);
  if (made->calls_.granularity(&made->step_, &memory, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) !=
      CUDA_SUCCESS)
    return nullptr;
  made->capacity_ = bytes / made->step_ * made->step_;
  if (made->capacity_ == 0 ||
      made->calls_.reserve(&made->at_, made->capacity_, 0, 0, 0) != CUDA_SUCCESS)
    return nullptr;
  return made;
}

VirtualMemory::~VirtualMemory() {
  if (at_ == 0) return;
  CUdeviceptr at = at_;
  for (const std::size_t bytes : mapped_) {
    calls_.unmap(at, bytes);
    at += bytes;
  }
  calls_.free(at_, capacity_);
}

// Releases the handle at once, because the mapping keeps its memory.
cudaError_t VirtualMemory::grow(std::size_t bytes) {
  const CUmemAllocationProp memory = memory_of(card_);
  CUmemGenericAllocationHandle handle = 0;
  CUresult result = calls_.create(&handle, bytes, &memory, 0);
  if (result != CUDA_SUCCESS) return error_of(result);
  const CUdeviceptr at = at_ + bytes_;
  result = calls_.map(at, bytes, 0, handle, 0);
  const CUresult released = calls_.release(handle);
  if (result != CUDA_SUCCESS) return error_of(result);
  CUmemAccessDesc access = {};
  access.location = memory.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  result = released == CUDA_SUCCESS ? calls_.set_access(at, bytes, &access, 1) : released;
  if (result != CUDA_SUCCESS) {
    calls_.unmap(at, bytes);
    return error_of(result);
  }
  mapped_.push_back(bytes);
  bytes_ += bytes;
  return cudaSuccess;
}

}  // namespace satchel::kernels::cuda
