// The host's time for a token, with a driver that does nothing: a model with the layers and heads
// of an 8B, narrow, on the cuda backend over the executor's runtime API. Left out: what a driver
// takes to launch a graph, and logits, which here are few.
//   bench_decode_host [LAYERS [KV_HEADS [STEPS]]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "simt/memory.h"
#include "simt/runtime_api.h"
#include "unit/runtime/tiny_model.h"

int main(int n_arguments, char** arguments) {
  using namespace satchel;
  const auto argument = [&](int i, std::size_t otherwise) {
    return i < n_arguments ? static_cast<std::size_t>(std::atoi(arguments[i])) : otherwise;
  };
  const runtime::TinyShape shape{.type = kernels::WeightType::q4_0,
                                 .n_layers = argument(1, 32),
                                 .n_heads = 32,
                                 .n_kv_heads = argument(2, 8),
                                 .head_dim = 128,
                                 .width = 64,
                                 .ffn_width = 64};
  simt::machine().runs_kernels = false;
  const simt::DeviceIsOpen open;  // else each copy opens it, which takes the system milliseconds
  auto backend = kernels::cuda::make_backend();
  if (!backend.ok()) return 1;
  runtime::TestModel model = runtime::tiny_model_on(std::move(backend).value(), shape);
  const std::size_t n_steps = argument(3, 400);
  const auto cache = model.cache("kivi-4", n_steps + 100);
  std::vector<float> logits(shape.n_vocabulary);
  std::vector<double> repeated;  // µs of steps that were a graph
  for (std::size_t step = 0; step < n_steps; ++step) {
    const std::size_t n_before = simt::graph_launches().n;
    const auto begin = std::chrono::steady_clock::now();
    if (!model.model->decode_step(*cache, 1, logits).ok()) return 1;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (simt::graph_launches().n == n_before + 1) repeated.push_back(took.count());
  }
  if (repeated.empty()) return 1;
  std::ranges::sort(repeated);
  const simt::GraphLaunches graph = simt::graph_launches();
  std::printf("%zu layers, %zu KV heads: a step is %zu kernels and %zu copies\n", shape.n_layers,
              shape.n_kv_heads, graph.n_kernels, graph.n_copies);
  std::printf("host, steps that repeat (%zu of %zu): least %.1f, median %.1f us a token\n",
              repeated.size(), n_steps, repeated.front(), repeated[repeated.size() / 2]);
}
