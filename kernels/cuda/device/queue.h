// Queue: sends work to the card's stream. Each decode step queues the same few hundred launches, so
// a repeated step is sent as one CUDA graph. Work is held back while it matches a known step, and
// that step's graph is launched when the step ends, at a wait. Other work is sent at once.
//   same     kernel, shape and arguments match by value. Data that changes between steps must
//            therefore reach kernels through memory at a fixed address (Arguments).
//   cost     work that matches is compared and not stored
//   graphs   created when a step occurs the second time; the last kStepsKept are kept. A graph does
//            all copies of arguments (RingCopy) at its head, as one.
//   errors   CUDA's, of this call or of work held before it. If a graph cannot be created, its work
//            is sent one by one.
//   source   CUDA programming guide, "CUDA Graphs" (stream capture)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "kernels/base/released_by.h"

namespace satchel::kernels::cuda {

// A copy of arguments from pinned memory, which the host has written before the step ends. The
// copies of a step are one stretch, in order, and each place is used once (asserted), so that all
// of it can be copied before the step's first kernel.
struct RingCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  cudaError_t send(cudaStream_t stream) const;
  friend bool operator==(const RingCopy&, const RingCopy&) = default;
};

// One launch or copy, which can be compared, sent later, and sent again.
class Work {
 public:
  virtual ~Work() = default;
  virtual cudaError_t send(cudaStream_t stream) const = 0;
  virtual bool same_as(const Work& other) const = 0;
  virtual std::unique_ptr<const Work> copy() const = 0;
  virtual const RingCopy* ring_copy() const = 0;  // null: it is something else
};

// T has `cudaError_t send(stream) const` and ==, and holds plain values.
template <class T>
class WorkOf final : public Work {
 public:
  explicit WorkOf(const T& what) : what_(what) {
    static_assert(std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>);
  }
  cudaError_t send(cudaStream_t stream) const override { return what_.send(stream); }
  bool same_as(const Work& other) const override {
    return typeid(other) == typeid(WorkOf) && static_cast<const WorkOf&>(other).what_ == what_;
  }
  std::unique_ptr<const Work> copy() const override { return std::make_unique<WorkOf>(what_); }
  const RingCopy* ring_copy() const override {
    if constexpr (std::is_same_v<T, RingCopy>)
      return &what_;
    else
      return nullptr;
  }

 private:
  T what_;
};

class Queue {
 public:
  static constexpr std::size_t kStepsKept = 8;
  // Shorter steps are not worth a graph; longer ones are not held back, because the card would
  // wait. A step of 16 sequences of an 8B model has some 3,000 works.
  static constexpr std::size_t kWorksLeast = 8, kWorksMost = 8192;
  // After this many failures no more graphs are tried: a full memory may pass, a driver that
  // refuses graphs does not change. Chosen.
  static constexpr unsigned kRefusalsMost = 16;

  // sets_up_early: the card can set up a launch while the one before it runs (launch.h).
  explicit Queue(cudaStream_t stream, bool sets_up_early = false)
      : stream_(stream), sets_up_early_(sets_up_early) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  cudaStream_t stream() const { return stream_; }
  bool sets_up_early() const { return sets_up_early_; }
  template <class T>
  cudaError_t add(const T& what) {
    return add_work(WorkOf<T>(what));
  }
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
  using Works = std::vector<std::unique_ptr<const Work>>;
  struct Step {
    Works works;
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, ReleasedBy<& cudaGraphExecDestroy>>
        graph = nullptr;
  };

  cudaError_t add_work(const Work& work);
  cudaError_t take_error();
  bool goes_as_known(const Work& work);
  bool begins_as_held(const Step& step) const;
  cudaError_t end_held();
  cudaError_t launch_graph(Step& step);
  cudaError_t make_graph(Step& step) const;
  cudaError_t send_without_graph();
  void remember();

  cudaStream_t stream_;
  bool sets_up_early_;
  std::vector<std::unique_ptr<Step>> known_;  // most recent first
  // This step so far. Held: it is the first n_held_ works of known_[like_]. Sent: it is now_.
  bool is_sent_ = false;
  std::size_t like_ = 0, n_held_ = 0;
  Works now_;
  bool is_too_long_ = false;
  unsigned n_refusals_ = 0;
  cudaError_t unheard_ = cudaSuccess, stopped_ = cudaSuccess;
  std::size_t n_graphs_launched_ = 0;
  std::map<const void*, std::size_t> shared_bytes_;
};

}  // namespace satchel::kernels::cuda
