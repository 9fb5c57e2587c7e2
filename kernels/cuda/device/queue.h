// Queue: sends work to the card's stream. Each decode step queues the same few hundred launches, so
// a repeated step is sent as one CUDA graph. Work is held back while it matches a known step, and
// that step's graph is launched when the step ends, at a wait. Other work is sent at once.
//   same     kernel, shape and arguments match by value. Data that changes between steps must
//            therefore reach kernels through memory at a fixed address (Arguments).
//   graphs   created when a step occurs the second time; the last kStepsKept are kept
//   errors   CUDA's, of this call or of work held before it. If a graph cannot be created, its work
//            is sent one by one.
//   source   CUDA programming guide, "CUDA Graphs" (stream capture)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "kernels/base/released_by.h"

namespace satchel::kernels::cuda {

// One launch or copy, which can be compared, sent later, and sent again. T has `cudaError_t
// send(stream) const` and ==, and holds plain values.
class Work {
 public:
  template <class T>
  explicit Work(const T& what) : kind_(&kKind<T>) {
    static_assert(sizeof(T) <= sizeof bytes_ && alignof(T) <= alignof(std::max_align_t));
    static_assert(std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>);
    new (bytes_) T(what);
  }
  cudaError_t send(cudaStream_t stream) const { return kind_->send(bytes_, stream); }
  friend bool operator==(const Work& a, const Work& b) {
    return a.kind_ == b.kind_ && a.kind_->equal(a.bytes_, b.bytes_);
  }

 private:
  struct Kind {
    cudaError_t (*send)(const std::byte* of, cudaStream_t stream);
    bool (*equal)(const std::byte* a, const std::byte* b);
  };
  template <class T>
  static const T& as(const std::byte* at) {
    return *std::launder(reinterpret_cast<const T*>(at));
  }
  template <class T>
  static constexpr Kind kKind = {
      [](const std::byte* of, cudaStream_t stream) { return as<T>(of).send(stream); },
      [](const std::byte* a, const std::byte* b) { return as<T>(a) == as<T>(b); }};

  const Kind* kind_;
  alignas(
      std::max_align_t) std::byte bytes_[1280];  // the largest argument is the frequencies of RoPE
};

class Queue {
 public:
  static constexpr std::size_t kStepsKept = 8;
  // Shorter steps are not worth a graph; longer ones are not held back, because the card would
  // wait.
  static constexpr std::size_t kWorksLeast = 8, kWorksMost = 2048;
  // After this many failures no more graphs are tried: a full memory may pass, a driver that
  // refuses graphs does not change. Chosen.
  static constexpr unsigned kRefusalsMost = 16;

  explicit Queue(cudaStream_t stream) : stream_(stream) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  cudaStream_t stream() const { return stream_; }
  cudaError_t add(const Work& work);
  // Sends held work to the stream now: needed before anything else is sent there, and before memory
  // that it uses is freed.
  cudaError_t send();
  // The same if no caller can take an error: the next call returns it.
  void send_unheard();
  // From now on every call returns this error, and nothing is sent.
  void stop(cudaError_t error) { stopped_ = error; }
  // Ends the step: the caller waits for the stream next.
  cudaError_t end_step();
  std::size_t n_graphs_launched() const { return n_graphs_launched_; }
  // The most shared memory that a kernel was launched with. It must not be allowed less later,
  // because a graph may hold a launch that needs more.
  std::size_t& shared_bytes_of(const void* kernel) { return shared_bytes_[kernel]; }

 private:
  struct Step {
    std::vector<Work> works;
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, ReleasedBy<&cudaGraphExecDestroy>>
        graph;
  };

  cudaError_t take_error();
  bool goes_as_known();
  cudaError_t launch_graph(Step& step);
  cudaError_t make_graph(Step& step) const;
  cudaError_t send_without_graph();
  void remember();

  cudaStream_t stream_;
  std::vector<std::unique_ptr<Step>> known_;  // most recent first
  std::vector<Work> now_;                     // of this step so far
  std::size_t n_sent_ = 0;                    // of now_; the rest is held
  std::size_t like_ = 0;                      // index of the known step that now_ matches so far
  bool is_too_long_ = false;
  unsigned n_refusals_ = 0;
  cudaError_t unheard_ = cudaSuccess, stopped_ = cudaSuccess;
  std::size_t n_graphs_launched_ = 0;
  std::map<const void*, std::size_t> shared_bytes_;
};

}  // namespace satchel::kernels::cuda
