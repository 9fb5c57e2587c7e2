#include "kernels/cuda/device/queue.h"

#include <algorithm>
#include <utility>

namespace satchel::kernels::cuda {

Queue::~Queue() = default;

cudaError_t Queue::take_error() {
  return stopped_ != cudaSuccess ? stopped_ : std::exchange(unheard_, cudaSuccess);
}

void Queue::send_unheard() {
  if (unheard_ == cudaSuccess) unheard_ = send();
}

cudaError_t Queue::add(const Work& work) {
  if (const cudaError_t error = take_error()) return error;
  if (now_.size() == kWorksMost) {
    is_too_long_ = true;
    const cudaError_t error = send();
    return error != cudaSuccess ? error : work.send(stream_);
  }
  const bool is_held = n_sent_ == 0 && like_ < known_.size();
  now_.push_back(work);
  return is_held && goes_as_known() ? cudaSuccess : send();
}

// Whether a known step begins like this one, to which work has just been added.
bool Queue::goes_as_known() {
  const std::size_t last = now_.size() - 1;
  const auto begins_so = [&](const Step& step, std::size_t from) {
    return step.works.size() > last &&
           std::equal(now_.begin() + static_cast<std::ptrdiff_t>(from), now_.end(),
                      step.works.begin() + static_cast<std::ptrdiff_t>(from));
  };
  if (begins_so(*known_[like_], last)) return true;
  for (like_ = 0; like_ < known_.size(); ++like_)
    if (begins_so(*known_[like_], 0)) return true;
  return false;
}

cudaError_t Queue::send() {
  if (const cudaError_t error = take_error()) return error;
  while (n_sent_ < now_.size())
    if (const cudaError_t error = now_[n_sent_++].send(stream_)) {
      n_sent_ = now_.size();  // the rest of a failed step is never sent
      return error;
    }
  return cudaSuccess;
}

cudaError_t Queue::end_step() {
  const auto same = [&](const std::unique_ptr<Step>& step) { return step->works == now_; };
  const auto known = std::ranges::find_if(known_, same);
  const bool is_held = n_sent_ == 0 && !now_.empty();
  cudaError_t error = take_error();
  if (error != cudaSuccess) {
    // The step is over nevertheless.
  } else if (is_held && known != known_.end()) {
    std::rotate(known_.begin(), known, known + 1);
    if (launch_graph(*known_.front()) != cudaSuccess) error = send_without_graph();
  } else {
    error = send();
    if (error == cudaSuccess && known == known_.end()) remember();
  }
  now_.clear();
  n_sent_ = like_ = 0;
  is_too_long_ = false;
  return error;
}

// For the most recent known step. A sticky error is reported when its work is sent.
cudaError_t Queue::send_without_graph() {
  cudaGetLastError();
  known_.erase(known_.begin());
  if (++n_refusals_ == kRefusalsMost) known_.clear();
  return send();
}

void Queue::remember() {
  if (n_refusals_ == kRefusalsMost || is_too_long_ || now_.size() < kWorksLeast) return;
  if (known_.size() == kStepsKept) known_.pop_back();
  known_.insert(known_.begin(), std::make_unique<Step>(now_));
}

cudaError_t Queue::launch_graph(Step& step) {
  if (step.graph == nullptr)
    if (const cudaError_t error = make_graph(step)) return error;
  const cudaError_t error = cudaGraphLaunch(step.graph.get(), stream_);
  if (error == cudaSuccess) ++n_graphs_launched_;
  return error;
}

cudaError_t Queue::make_graph(Step& step) const {
  cudaError_t error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  for (const Work& work : step.works)
    if (error == cudaSuccess) error = work.send(stream_);
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
