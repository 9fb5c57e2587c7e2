// What activations of 8 bits change in what a model says: along a text, next-token distributions
// beside those of 16 bits, every token kept exactly; and greedy answers of both.
//   bench_activations MODEL TEXT [PROMPT TOKENS] [LED TOKENS]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "app/eval/measure/agreement.h"
#include "app/eval/measure/packed_text.h"
#include "app/eval/measure/passes.h"
#include "runtime/engine.h"
#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kBlock = 32;  // led tokens of one draw for the standard error
constexpr std::size_t kGreedy = 200, kPrompts = 3;

using Ids = std::vector<std::int32_t>;

Result<std::unique_ptr<Engine>> open(const char* model, int activation_bits) {
  EngineOptions options;
  options.model = model;
  options.activation_bits = activation_bits;
  return Engine::open(options);
}

Result<void> print_agreement(Engine& exact, Engine& other, const Ids& ids, std::size_t n_prompt) {
  const eval::ScoredText text{.ids = ids, .n_prompt = n_prompt};
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, resolve_recipe("full"));
  SATCHEL_TRY_ASSIGN(const eval::ExactLogits logits, eval::exact_logits(exact, text, {}));
  SATCHEL_TRY_ASSIGN(const eval::Agreement found,
                     eval::measure_agreement(other, full, text, logits, {}));
  double kl = 0, same = 0, nll[2] = {}, squares = 0;
  const auto n = static_cast<double>(found.tokens.size());
  struct Block {
    double kl = 0, n = 0;  // the last may be shorter
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < found.tokens.size(); ++i) {
    const eval::Compared& token = found.tokens[i];
    if (i % kBlock == 0) blocks.emplace_back();
    blocks.back().kl += token.kl;
    ++blocks.back().n;
    kl += token.kl / n;
    same += (token.same ? 1 : 0) / n;
    nll[0] += token.exact_nll / n;
    nll[1] += token.packed_nll / n;
  }
  for (const Block& block : blocks) squares += std::pow(block.kl - block.n * kl, 2);
  std::printf("%zu led behind %zu: KL %.6f ± %.6f, same %.2f %%, nll %.5f (16 bits), %.5f\n",
              found.tokens.size(), n_prompt, kl, std::sqrt(squares) / n, 100 * same, nll[0],
              nll[1]);
  return {};
}

Result<Ids> greedy(Engine& engine, const Ids& prompt) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, resolve_recipe("full"));
  SATCHEL_TRY_ASSIGN(const Estimate needs,
                     engine.estimate(full, {.n_tokens = prompt.size() + kGreedy}));
  SATCHEL_TRY(engine.set_budget(needs.arena_bytes));
  SATCHEL_TRY_ASSIGN(const auto cache, kvcache::Cache::open(engine.state().arena,
                                                            engine.config().cache_shape(), full));
  std::vector<float> logits(engine.config().n_vocabulary);
  SATCHEL_TRY(eval::read_document(engine, *cache, prompt, {}, logits));
  Ids out;
  while (out.size() < kGreedy) {
    out.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
    SATCHEL_TRY(engine.model().decode_step(*cache, out.back(), logits));
  }
  return out;
}

Result<void> print_greedy(Engine& exact, Engine& other, const Ids& ids) {
  for (std::size_t i = 0; i < kPrompts; ++i) {
    const std::size_t n = ids.size() / (kPrompts + 1) * (i + 1);
    const Ids prompt(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
    SATCHEL_TRY_ASSIGN(const Ids want, greedy(exact, prompt));
    SATCHEL_TRY_ASSIGN(const Ids got, greedy(other, prompt));
    const auto first = std::ranges::mismatch(want, got).in1 - want.begin();
    std::printf("greedy behind %zu: the first %td of %zu tokens are the same\n", n, first, kGreedy);
  }
  return {};
}

Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.empty()) return text;
  return Error{ErrorKind::not_found, "PARAM", "\"" + path + "\" cannot be read, or is empty."};
}

Result<void> run(int argc, char** argv) {
  SATCHEL_TRY_ASSIGN(const std::string text, text_of(argv[2]));
  SATCHEL_TRY_ASSIGN(const auto exact, open(argv[1], 16));
  SATCHEL_TRY_ASSIGN(const auto other, open(argv[1], 8));
  SATCHEL_TRY_ASSIGN(Ids ids, raw_ids(exact->tokenizer(), text));
  const std::size_t n_prompt = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1500;
  const std::size_t n_led = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 500;
  ids.resize(std::min(ids.size(), n_prompt + n_led));
  std::printf("%s on %s\n", other->config().name.c_str(), other->device().c_str());
  SATCHEL_TRY(print_agreement(*exact, *other, ids, n_prompt));
  return print_greedy(*exact, *other, ids);
}

}  // namespace
}  // namespace satchel::runtime

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("bench_activations MODEL TEXT [PROMPT TOKENS] [LED TOKENS]\n", stderr);
    return 2;
  }
  const satchel::Result<void> done = satchel::runtime::run(argc, argv);
  if (done.ok()) return 0;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return 1;
}
