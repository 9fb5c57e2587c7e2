#include "kernels/cuda/blas.h"

#include <dlfcn.h>

namespace satchel::kernels::cuda {
namespace {

// What cublas_api.h and library_types.h call them; the same in versions 12 and 13.
constexpr int kSuccess = 0, kAllocationFailed = 3;
constexpr int kHalf = 2, kFloat = 0, kSumsInFloat = 68, kAnyAlgorithm = -1, kAsIs = 0, kTurned = 1;
constexpr std::size_t kRoomBytes = std::size_t{32} << 20;  // what NVIDIA advises for sm_90

Error unsupported(const std::string& why) {
  return {
      ErrorKind::unsupported, "GPU_BLAS",
      "cuBLAS cannot be used (" + why +
          "). Install NVIDIA's libcublas 12 or 13, or leave it off: the backend has products of "
          "its own."};
}

template <class Function>
bool find(void* library, const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace

// Whether the card is lost too, it says itself.
Result<void> Blas::said(int status, const char* call) const {
  if (status == kSuccess) return {};
  if (status == kAllocationFailed)
    return Error{
        ErrorKind::out_of_memory, "GPU_MEMORY",
        "The GPU's memory is full: cuBLAS found no room. Close other programs that use it, "
        "or leave cuBLAS off."};
  SATCHEL_TRY(device_->finish());
  return Error{ErrorKind::device_lost, "GPU_CALL",
               std::string("cuBLAS refused a call (") + call + " said " + std::to_string(status) +
                   "). Saved chats are whole. Try again, or leave cuBLAS off."};
}

struct Blas::Functions {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, cudaStream_t stream);
  int (*set_workspace)(void* handle, void* at, std::size_t bytes);
  int (*multiply)(void* handle, int turn_a, int turn_b, int m, int n, int k, const void* alpha,
                  const void* a, int type_a, int step_a, const void* b, int type_b, int step_b,
                  const void* beta, void* c, int type_c, int step_c, int sums, int algorithm);
};

Blas::Blas(Device& device) : device_(&device) {}

Result<std::unique_ptr<Blas>> Blas::open(Device& device, std::span<const std::string> files) {
  Error why = unsupported("no file was named");
  for (const std::string& file : files) {
    std::unique_ptr<Blas> blas(new Blas(device));
    const Result<void> begun = blas->begin(file);
    if (begun.ok()) return blas;
    why = begun.error();
    if (why.code == "GPU_LOST") break;
  }
  return why;
}

Result<void> Blas::begin(const std::string& file) {
  library_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* reason = ::dlerror();
    return unsupported(reason == nullptr ? file : reason);
  }
  call_ = std::make_unique<Functions>();
  if (!find(library_, "cublasCreate_v2", call_->create) ||
      !find(library_, "cublasDestroy_v2", call_->destroy) ||
      !find(library_, "cublasSetStream_v2", call_->set_stream) ||
      !find(library_, "cublasSetWorkspace_v2", call_->set_workspace) ||
      !find(library_, "cublasGemmEx", call_->multiply))
    return unsupported(file + " lacks a function that is called");
  SATCHEL_TRY(said(call_->create(&handle_), "cublasCreate"));
  SATCHEL_TRY(said(call_->set_stream(handle_, device_->queue().stream()), "cublasSetStream"));
  SATCHEL_TRY_ASSIGN(room_, device_->allocate(kRoomBytes));
  return said(call_->set_workspace(handle_, room_.data(), room_.size()), "cublasSetWorkspace");
}

Blas::~Blas() {
  if (handle_ != nullptr) static_cast<void>(call_->destroy(handle_));
  if (library_ != nullptr) ::dlclose(library_);
}

// cuBLAS counts columns: our rows of n_in are its columns, so the product comes out turned.
Result<void> Blas::multiply(const Halves& args) const {
  const auto rows = static_cast<int>(args.n_rows), deep = static_cast<int>(args.n_in);
  const float one = 1, none = 0;
  return said(call_->multiply(handle_, kTurned, kAsIs, rows, static_cast<int>(args.n_tokens), deep,
                              &one, args.weight, kHalf, deep, args.x, kHalf, deep, &none, args.out,
                              kFloat, rows, kSumsInFloat, kAnyAlgorithm),
              "cublasGemmEx");
}

}  // namespace satchel::kernels::cuda
