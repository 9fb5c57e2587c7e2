#include "simt/runtime_api.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "simt/findings.h"
#include "simt/memory.h"

struct KeptNode {
  std::function<cudaError_t()> work;
  simt::Node node;
};
using Kept = std::vector<KeptNode>;
struct SimtStream {
  int card = 0;
  std::optional<Kept> kept;  // while it captures
};
struct SimtEvent {};
struct SimtGraph {
  Kept works;
};
struct SimtGraphExec {
  Kept works;
  std::size_t n_copies;
};

namespace simt {
namespace {

constexpr std::size_t kSharedByDefault = 48 * 1024;

struct Api {
  cudaError_t sticky = cudaSuccess, last = cudaSuccess;
  std::optional<std::size_t> calls_until_failure;
  cudaError_t failure = cudaSuccess;
  bool has_failed = false, captures = false;
  std::size_t n_launches = 0;
  GraphLaunches graphs;
  std::optional<std::size_t> launches_until_skip;
  bool has_skipped = false;
  std::map<const void*, std::size_t> shared_bytes;  // a kernel may ask for, where more than usual
};
Api& api() {
  static Api state;
  return state;
}
thread_local int card_of_thread = 0;

cudaError_t said(cudaError_t error) {
  if (error != cudaSuccess) api().last = error;
  return error;
}

// At the head of every call that may fail: what it returns instead of doing its work.
cudaError_t refused() {
  Api& all = api();
  if (all.sticky != cudaSuccess) return said(all.sticky);
  if (!all.calls_until_failure.has_value()) return cudaSuccess;
  if ((*all.calls_until_failure)-- != 0) return cudaSuccess;
  all.calls_until_failure.reset();
  all.has_failed = true;
  if (all.failure == cudaErrorIllegalAddress || all.failure == cudaErrorLaunchFailure)
    all.sticky = all.failure;
  return said(all.failure);
}

// Of calls that wait or manage memory, which a capture does not allow.
cudaError_t refused_by_capture() {
  if (const cudaError_t error = refused()) return error;
  return api().captures ? said(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

bool is_config_valid(const cudaLaunchConfig_t& config, const void* kernel) {
  const auto found = api().shared_bytes.find(kernel);
  const std::size_t most = found == api().shared_bytes.end() ? kSharedByDefault : found->second;
  const auto n = config.blockDim.count();
  return n > 0 && n <= kBlockThreadsMax && config.gridDim.count() > 0 && config.gridDim.y < 65536 &&
         config.gridDim.z < 65536 && config.dynamicSmemBytes <= most;
}

// Of a stream that belongs to another card than the thread's current one.
// Where kernels do not run, nobody asks what was written, and a host that is timed should not pay.
void note_written(void* at, std::size_t bytes) {
  if (machine().runs_kernels) mark_written(static_cast<std::byte*>(at), bytes);
}
bool is_of_other_card(cudaStream_t stream) {
  return stream != nullptr && stream->card != card_of_thread;
}

bool is_skipped() {
  Api& all = api();
  if (!all.launches_until_skip.has_value() || (*all.launches_until_skip)-- != 0) return false;
  all.launches_until_skip.reset();
  return all.has_skipped = true;
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, const Call& call) {
  if (const cudaError_t error = refused()) return error;
  if (!is_config_valid(config, call.kernel)) return said(cudaErrorInvalidConfiguration);
  if (is_of_other_card(config.stream)) return said(cudaErrorInvalidDevice);
  ++api().n_launches;
  if (is_skipped() || !machine().runs_kernels) return cudaSuccess;
  const Launch launch{.kernel = call.kernel,
                      .grid = config.gridDim,
                      .block = config.blockDim,
                      .shared_bytes = config.dynamicSmemBytes,
                      .arguments = static_cast<const std::byte*>(call.object),
                      .arguments_bytes = call.bytes};
  if (!run(launch, [&] { call.invoke(call.object); })) api().sticky = cudaErrorIllegalAddress;
  return cudaSuccess;
}

bool is_capturing(cudaStream_t stream) {
  return stream != nullptr && stream->kept.has_value();
}
cudaError_t capture(cudaStream_t stream, std::function<cudaError_t()> work, Node node) {
  if (const cudaError_t error = refused()) return error;
  stream->kept->push_back({std::move(work), node});
  return cudaSuccess;
}
GraphLaunches graph_launches() {
  return api().graphs;
}

void fail_call(std::size_t n, cudaError_t error) {
  api().calls_until_failure = n;
  api().failure = error;
  api().has_failed = false;
}
void fail_no_call() {
  api().calls_until_failure.reset();
}
cudaError_t refuse_call() {
  return refused();
}
bool has_failed_call() {
  return api().has_failed;
}
std::size_t launches_so_far() {
  return api().n_launches;
}
void skip_launch(std::size_t n) {
  api().launches_until_skip = n;
  api().has_skipped = false;
}
bool has_skipped_launch() {
  return api().has_skipped;
}
void forget_sticky_error() {
  api().sticky = api().last = cudaSuccess;
}
Machine& machine() {
  static Machine state;
  return state;
}
int current_card() {
  return card_of_thread;
}

}  // namespace simt

using simt::api;
using simt::card_of_thread;
using simt::is_of_other_card;
using simt::machine;
using simt::note_written;
using simt::refused;
using simt::refused_by_capture;
using simt::said;

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidKernelImage:
      return "cudaErrorInvalidKernelImage";
    case cudaErrorNoKernelImageForDevice:
      return "cudaErrorNoKernelImageForDevice";
    case cudaErrorInvalidPtx:
      return "cudaErrorInvalidPtx";
    case cudaErrorJitCompilerNotFound:
      return "cudaErrorJitCompilerNotFound";
    case cudaErrorUnsupportedPtxVersion:
      return "cudaErrorUnsupportedPtxVersion";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
  }
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  return cudaGetErrorName(error);
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = api().last;
  api().last = api().sticky;
  return error;
}

cudaError_t cudaGetDeviceCount(int* n) {
  *n = 0;
  if (const cudaError_t error = refused()) return error;
  *n = static_cast<int>(machine().cards.size());
  return *n > 0 ? cudaSuccess : said(cudaErrorNoDevice);
}
cudaError_t cudaDriverGetVersion(int* version) {
  if (const cudaError_t error = refused()) return error;
  *version = machine().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  if (const cudaError_t error = refused()) return error;
  *version = machine().runtime;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = refused()) return error;
  if (device < 0 || static_cast<std::size_t>(device) >= machine().cards.size())
    return said(cudaErrorInvalidDevice);
  card_of_thread = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = refused()) return error;
  const simt::Machine::Card& card = machine().cards.at(static_cast<std::size_t>(device));
  *properties = {.name = "executor",
                 .totalGlobalMem = card.bytes,
                 .sharedMemPerBlockOptin = machine().shared_bytes,
                 .major = card.major,
                 .minor = card.minor,
                 .multiProcessorCount = machine().n_multiprocessors};
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t error = refused()) return error;
  *stream = new SimtStream{.card = card_of_thread, .kept = {}};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return refused_by_capture();
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  return refused_by_capture();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (const cudaError_t error = refused_by_capture()) return error;
  stream->kept.emplace();
  api().captures = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!simt::is_capturing(stream)) return said(cudaErrorInvalidValue);
  const Kept kept = std::move(*stream->kept);
  stream->kept.reset();
  api().captures = false;
  if (const cudaError_t error = refused()) return error;
  *graph = new SimtGraph{kept};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = nullptr;
  if (const cudaError_t error = refused()) return error;
  const auto is_copy = [](const KeptNode& each) { return each.node == simt::Node::copy; };
  *made = new SimtGraphExec{graph->works,
                            static_cast<std::size_t>(std::ranges::count_if(graph->works, is_copy))};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  if (const cudaError_t error = refused()) return error;
  api().graphs = {.n = api().graphs.n + 1,
                  .n_kernels = graph->works.size() - graph->n_copies,
                  .n_copies = graph->n_copies};
  if (!simt::machine().runs_kernels) return cudaSuccess;
  for (const KeptNode& each : graph->works)
    if (const cudaError_t error = each.work()) return error;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  if (const cudaError_t error = refused()) return error;
  *event = new SimtEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return refused();
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return refused();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return refused();
}

cudaError_t cudaMemGetInfo(std::size_t* n_free, std::size_t* n_all) {
  if (const cudaError_t error = refused()) return error;
  const simt::Machine::Card& card = machine().cards.at(static_cast<std::size_t>(card_of_thread));
  *n_all = card.bytes;
  *n_free = *n_all - card.taken_bytes - simt::device_bytes_used();
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  *at = nullptr;
  if (const cudaError_t error = refused_by_capture()) return error;
  if (bytes <= simt::kDeviceBytes - simt::device_bytes_used()) *at = simt::allocate_device(bytes);
  return *at == nullptr ? said(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaFree(void* at) {
  if (at == nullptr || simt::release_device(static_cast<std::byte*>(at))) return api().sticky;
  return said(cudaErrorInvalidValue);
}
cudaError_t cudaMallocHost(void** at, std::size_t bytes) {
  *at = nullptr;
  if (const cudaError_t error = refused_by_capture()) return error;
  *at = std::malloc(bytes);
  return *at == nullptr ? said(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaFreeHost(void* at) {
  std::free(at);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (simt::is_capturing(stream))
    return simt::capture(
        stream, [=] { return cudaMemcpyAsync(to, from, bytes, kind, nullptr); }, simt::Node::copy);
  if (const cudaError_t error = refused()) return error;
  if (is_of_other_card(stream)) return said(cudaErrorInvalidDevice);
  const bool from_device = kind != cudaMemcpyHostToDevice,
             to_device = kind != cudaMemcpyDeviceToHost;
  if (from_device != simt::is_device(from, bytes) || to_device != simt::is_device(to, bytes))
    return said(cudaErrorInvalidValue);
  const auto* first = static_cast<const std::byte*>(from);
  if (first < static_cast<std::byte*>(to) + bytes && to < first + bytes)
    return said(cudaErrorInvalidValue);  // a card would do it in any order
  const simt::DeviceIsOpen open;
  std::memmove(to, from, bytes);
  if (to_device) note_written(to, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  if (simt::is_capturing(stream))
    return simt::capture(stream, [=] { return cudaMemsetAsync(at, value, bytes, nullptr); });
  if (const cudaError_t error = refused()) return error;
  if (!simt::is_device(at, bytes)) return said(cudaErrorInvalidValue);
  const simt::DeviceIsOpen open;
  std::memset(at, value, bytes);
  note_written(at, bytes);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  if (const cudaError_t error = refused()) return error;
  *attributes = {};
  return said(machine().cards.at(static_cast<std::size_t>(card_of_thread)).kernels);
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  if (const cudaError_t error = refused()) return error;
  if (value < 0 || static_cast<std::size_t>(value) > machine().shared_bytes)
    return said(cudaErrorInvalidValue);
  api().shared_bytes[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
