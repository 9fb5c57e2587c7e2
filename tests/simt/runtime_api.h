// The part of CUDA's runtime that our code calls, done at once on the host. Errors stay as on a
// card: a kernel that touches what it must not leaves cudaErrorIllegalAddress, and every later call
// says so.
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <vector>

#include "simt/block.h"
#include "simt/fragments.h"
#include "simt/memory.h"

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidKernelImage = 200,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorInvalidPtx = 218,
  cudaErrorJitCompilerNotFound = 221,
  cudaErrorUnsupportedPtxVersion = 222,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlockOptin;
  int major, minor, multiProcessorCount;
};
cudaError_t cudaDriverGetVersion(int* version);  // 12040: of CUDA 12.4; 0: no driver
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);

cudaError_t cudaMemGetInfo(std::size_t* n_free, std::size_t* n_all);

using cudaStream_t = struct SimtStream*;
inline constexpr unsigned cudaStreamNonBlocking = 1;
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
using cudaEvent_t = struct SimtEvent*;
inline constexpr unsigned cudaEventDisableTiming = 2;
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

// Between the two calls launches and copies of the stream are kept, not done; what waits or gives
// memory is refused meanwhile.
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
using cudaGraph_t = struct SimtGraph*;
using cudaGraphExec_t = struct SimtGraphExec*;
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);

enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice
};
cudaError_t cudaMalloc(void** at, std::size_t bytes);
cudaError_t cudaFree(void* at);
cudaError_t cudaMallocHost(void** at, std::size_t bytes);
cudaError_t cudaFreeHost(void* at);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream);

// The driver's calls of the first card (include/cuda.h), by name.
#define CUDART_VERSION 13000
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess,
  cudaDriverEntryPointSymbolNotFound
};
inline constexpr unsigned long long cudaEnableDefault = 0;
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** at, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* found);

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  simt::Dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
struct cudaFuncAttributes {
  int numRegs;
  int ptxVersion;
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);

namespace simt {

// A kernel and what it is called with. Every thread reads it, so it is told to those who check
// reads.
struct Call {
  const void* kernel;
  const void* object;  // what invoke() is given
  std::size_t bytes;
  void (*invoke)(const void* object);
};
cudaError_t launch(const cudaLaunchConfig_t& config, const Call& call);
// Whether the stream keeps work for a graph; then what is to be done comes here.
bool is_capturing(cudaStream_t stream);
enum class Node { kernel, copy };
cudaError_t capture(cudaStream_t stream, std::function<cudaError_t()> work,
                    Node node = Node::kernel);
// How many graphs were launched so far, and what the last of them was made of.
struct GraphLaunches {
  std::size_t n = 0;
  std::size_t n_kernels = 0, n_copies = 0;  // nodes of the last one
};
GraphLaunches graph_launches();
// The n-th call of this API from now on (0: the next) that may fail returns `error` and does
// nothing.
void fail_call(std::size_t n, cudaError_t error);
void fail_no_call();
cudaError_t refuse_call();  // at the head of a call: what it returns instead, or cudaSuccess
bool has_failed_call();
std::size_t launches_so_far();
// The n-th launch from now on (0: the next) runs no block and says nothing of it.
void skip_launch(std::size_t n);
bool has_skipped_launch();
void forget_sticky_error();  // as a new process would

// What the machine is said to have. Kernels that run do so as they do, whatever it is.
struct Machine {
  int driver = 13000, runtime = 13000;  // versions of CUDA; driver 0: none is installed
  struct Card {
    int major = 9, minor = 0;
    cudaError_t kernels = cudaSuccess;                  // what it says when it is asked for one
    std::size_t bytes = kDeviceBytes, taken_bytes = 0;  // of memory; and by other programs
  };
  // All have the executor's memory and run its kernels. A stream belongs to the card that was the
  // thread's current one when it was made; a thread with another is refused.
  std::vector<Card> cards = std::vector<Card>(1);
  // That a block may ask for, at most kSharedBytesMax (block.h): of sm_86, 89 and 120, so that what
  // has less room than the largest cards is run too.
  std::size_t shared_bytes = 99 * 1024;
  // As many blocks of a product's sum are made as fill these.
  int n_multiprocessors = 8;
  // Of matrix units: the coarsest of all kinds of cards, so that tests' limits hold on every one.
  MatrixSums sums = kSumsBeforeHopper;
  bool has_virtual_memory = true;
  // False: launches and graphs are checked and counted, but do nothing. What is left is the work of
  // the host.
  bool runs_kernels = true;
};
Machine& machine();
int current_card();  // of this thread

}  // namespace simt

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  struct Bound {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> values;
  };
  const auto run = [of = *config, bound = Bound{kernel, {std::forward<Arguments>(arguments)...}}] {
    return simt::launch(of, {reinterpret_cast<const void*>(bound.kernel), &bound, sizeof bound,
                             [](const void* object) {
                               const auto& call = *static_cast<const Bound*>(object);
                               std::apply(call.kernel, call.values);
                             }});
  };
  return simt::is_capturing(config->stream) ? simt::capture(config->stream, run) : run();
}
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
