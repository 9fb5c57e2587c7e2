// A decode step of a whole model on the cuda backend: how many works its graph is made of. Kernels
// do not run; only the host's side counts.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "simt/memory.h"
#include "simt/on_executor.h"
#include "simt/runtime_api.h"
#include "support/source_dir.h"
#include "support/value_of.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::kernels::cuda {
namespace {

using runtime::TestModel;
using runtime::TinyShape;
using testing::AllOf, testing::Ge, testing::Le;

// As many heads and layers as a llama of 8B has, narrow.
TinyShape shape_of(std::size_t n_layers, std::size_t n_kv_heads) {
  return {.type = WeightType::q4_0,
          .n_layers = n_layers,
          .n_heads = 32,
          .n_kv_heads = n_kv_heads,
          .head_dim = 64,
          .width = 64,
          .ffn_width = 64};
}

class DecodeStep : public OnExecutor {
 protected:
  DecodeStep() { simt::machine().runs_kernels = false; }
  static constexpr std::size_t kSteps = 16;  // the sinks, then into the tail
  simt::DeviceIsOpen open_;  // else each copy opens it, which takes the system milliseconds

  static simt::GraphLaunches graph_of(const TinyShape& shape, std::size_t n_sequences = 1) {
    TestModel model = runtime::tiny_model_on(value_of(make_backend()), shape);
    return graph_of(model, shape.n_vocabulary, n_sequences);
  }
  // The graph of the last of some steps that are alike; n counts those that were launched.
  static simt::GraphLaunches graph_of(TestModel& model, std::size_t n_vocabulary,
                                      std::size_t n_sequences = 1) {
    std::vector<std::unique_ptr<kvcache::Cache>> caches;
    std::vector<float> logits(n_vocabulary);
    std::vector<runtime::DecodeItem> items;
    for (std::size_t i = 0; i < n_sequences; ++i) {
      caches.push_back(model.cache("kivi-4", 200));
      items.push_back({.cache = caches.back().get(), .logits = logits});
    }
    const simt::GraphLaunches before = simt::graph_launches();
    for (std::size_t step = 0; step < kSteps; ++step) EXPECT_TRUE(model.model->decode(items).ok());
    simt::GraphLaunches graph = simt::graph_launches();
    graph.n -= before.n;
    return graph;
  }
  static TestModel golden_model(const std::string& name) {
    TestModel out;
    out.file = std::make_unique<runtime::GgufFile>(value_of(runtime::GgufFile::open(
        test::source_dir() + "/tests/golden/model/arch_" + name + ".gguf")));
    out.backend = value_of(make_backend());
    auto config = value_of(runtime::ModelConfig::from(*out.file));
    config.work_limits = out.backend->work_limits();
    out.model = value_of(runtime::Model::load(*out.backend, *out.file, std::move(config), {}));
    return out;
  }
};

TEST_F(DecodeStep, of_a_layer_is_few_works) {
  const simt::GraphLaunches two = graph_of(shape_of(2, 8)), three = graph_of(shape_of(3, 8));
  EXPECT_EQ(three.n_kernels - two.n_kernels, 12u);
  EXPECT_EQ(three.n_copies - two.n_copies, 0u);
  EXPECT_EQ(two.n_kernels - 2 * (three.n_kernels - two.n_kernels), 6u) << "beside the layers";
  EXPECT_EQ(two.n_copies, 1u);
}

// Sinks and tail differ in where lanes lie, so a step or two of the sixteen are sent as they come.
TEST_F(DecodeStep, is_a_graph_whatever_the_number_of_heads_layers_and_sequences) {
  EXPECT_GE(graph_of(shape_of(32, 8)).n, 10u);
  EXPECT_GE(graph_of(shape_of(32, 32)).n, 10u);
  EXPECT_GE(graph_of(shape_of(80, 8)).n, 10u);
  EXPECT_GE(graph_of(shape_of(32, 8), 3).n, 10u);
}

// A wait within a step would make several of it.
TEST_F(DecodeStep, of_experts_is_one_graph_too) {
  for (const char* name : {"gpt_oss", "qwen3moe", "lfm2moe", "nemotron_h_moe", "gemma4_moe",
                           "qwen35moe", "granitemoe"}) {
    SCOPED_TRACE(name);
    TestModel model = golden_model(name);
    constexpr std::size_t kVocabulary = 160;
    for (const std::size_t n_sequences : {1u, 3u})
      EXPECT_THAT(graph_of(model, kVocabulary, n_sequences).n, AllOf(Ge(10u), Le(kSteps)))
          << n_sequences;
  }
}

}  // namespace
}  // namespace satchel::kernels::cuda
