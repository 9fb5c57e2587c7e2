#include "kernels/cuda/device/queue.h"

#include <algorithm>
#include <span>
#include <utility>

#include "kernels/base/assert.h"

namespace satchel::kernels::cuda {
namespace {

bool same(const std::unique_ptr<const Work>& a, const std::unique_ptr<const Work>& b) {
  return a->same_as(*b);
}

// All copies of arguments of a step as one: from the first to the end of the last. Between them
// lies only padding.
RingCopy whole_stretch(std::span<const std::unique_ptr<const Work>> works) {
  RingCopy all;
  for (const auto& work : works) {
    const RingCopy* each = work->ring_copy();
    if (each == nullptr) continue;
    if (all.bytes == 0) {
      all = *each;
      continue;
    }
    const auto at = static_cast<std::size_t>(each->from - all.from);
    SATCHEL_ASSERT(each->from >= all.from + all.bytes && each->to == all.to + at);
    all.bytes = at + each->bytes;
  }
  return all;
}

}  // namespace

cudaError_t RingCopy::send(cudaStream_t stream) const {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
}

Queue::~Queue() = default;

cudaError_t Queue::take_error() {
  return stopped_ != cudaSuccess ? stopped_ : std::exchange(unheard_, cudaSuccess);
}

void Queue::send_unheard() {
  if (unheard_ == cudaSuccess) unheard_ = send();
}

cudaError_t Queue::add_work(const Work& work) {
  if (const cudaError_t error = take_error()) return error;
  if (!is_sent_) {
    if (goes_as_known(work)) {
      ++n_held_;
      return cudaSuccess;
    }
    if (const cudaError_t error = send()) return error;
    is_sent_ = true;
  }
  if (now_.size() < kWorksMost)
    now_.push_back(work.copy());
  else
    is_too_long_ = true;
  return work.send(stream_);
}

// Whether a known step goes on from what is held with `work`.
bool Queue::goes_as_known(const Work& work) {
  const auto goes_on_so = [&](const Step& step) {
    return n_held_ < step.works.size() && step.works[n_held_]->same_as(work);
  };
  if (like_ < known_.size() && goes_on_so(*known_[like_])) return true;
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (goes_on_so(*known_[i]) && begins_as_held(*known_[i])) {
      like_ = i;
      return true;
    }
  return false;
}

bool Queue::begins_as_held(const Step& step) const {
  const Works& held = known_[like_]->works;
  return step.works.size() >= n_held_ &&
         std::equal(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(n_held_),
                    step.works.begin(), same);
}

cudaError_t Queue::send() {
  if (const cudaError_t error = take_error()) return error;
  if (n_held_ == 0) return cudaSuccess;
  is_sent_ = true;
  const Works& held = known_[like_]->works;
  for (std::size_t i = 0; i < n_held_; ++i) now_.push_back(held[i]->copy());
  n_held_ = 0;
  for (const auto& work : now_)  // the rest of a failed step is never sent
    if (const cudaError_t error = work->send(stream_)) return error;
  return cudaSuccess;
}

cudaError_t Queue::end_step() {
  cudaError_t error = take_error();
  if (error == cudaSuccess) error = is_sent_ ? cudaSuccess : end_held();
  const auto is_now = [&](const std::unique_ptr<Step>& step) {
    return std::ranges::equal(step->works, now_, same);
  };
  if (error == cudaSuccess && is_sent_ && std::ranges::none_of(known_, is_now)) remember();
  now_.clear();
  n_held_ = like_ = 0;
  is_sent_ = is_too_long_ = false;
  return error;
}

// A step that is held whole is a known one, or the beginning of one.
cudaError_t Queue::end_held() {
  if (n_held_ == 0) return cudaSuccess;
  const auto is_held = [&](const std::unique_ptr<Step>& step) {
    return step->works.size() == n_held_ && begins_as_held(*step);
  };
  const auto known = std::ranges::find_if(known_, is_held);
  if (known == known_.end()) return send();
  std::rotate(known_.begin(), known, known + 1);
  return launch_graph(*known_.front()) == cudaSuccess ? cudaSuccess : send_without_graph();
}

// For the most recent known step. A sticky error is reported when its work is sent.
cudaError_t Queue::send_without_graph() {
  cudaGetLastError();
  const std::unique_ptr<Step> step = std::move(known_.front());
  known_.erase(known_.begin());
  if (++n_refusals_ == kRefusalsMost) known_.clear();
  for (const auto& work : step->works)
    if (const cudaError_t error = work->send(stream_)) return error;
  return cudaSuccess;
}

void Queue::remember() {
  if (n_refusals_ == kRefusalsMost || is_too_long_ || now_.size() < kWorksLeast) return;
  if (known_.size() == kStepsKept) known_.pop_back();
  known_.insert(known_.begin(), std::make_unique<Step>(Step{.works = std::move(now_)}));
}

cudaError_t Queue::launch_graph(Step& step) {
  if (step.graph == nullptr)
    if (const cudaError_t error = make_graph(step)) return error;
  const cudaError_t error = cudaGraphLaunch(step.graph.get(), stream_);
  if (error == cudaSuccess) ++n_graphs_launched_;
  return error;
}

cudaError_t Queue::make_graph(Step& step) const {
  const RingCopy arguments = whole_stretch(step.works);
  cudaError_t error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  if (arguments.bytes > 0) error = arguments.send(stream_);
  for (const auto& work : step.works)
    if (error == cudaSuccess && work->ring_copy() == nullptr) error = work->send(stream_);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  if (error == cudaSuccess) error = ended;
  cudaGraphExec_t made = nullptr;
  if (error == cudaSuccess) error = cudaGraphInstantiate(&made, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  step.graph.reset(made);
  return error;
}

}  // namespace satchel::kernels::cuda
