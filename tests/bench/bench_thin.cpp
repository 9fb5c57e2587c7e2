// What thinning a saved cache (kvcache/snapshot/thin.h) saves and costs, under Balanced:
//   bench_thin MODEL TEXT [PROMPT TOKENS] [SCORED TOKENS] [NEEDLE CONTEXTS]
// A text is prefilled, saved, thinned and restored; what follows it is scored by teacher forcing on
// the cache that was saved and on the one that was restored, and beside the exact cache. Needles of
// the families names, places and numbers are asked for on both. Speeds count bytes of the text in
// fp16 and CPU time of one core, verification included.
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
#include "app/eval/measure/passes.h"
#include "app/eval/needle_tasks/family.h"
#include "bench/rounds.h"
#include "kvcache/snapshot/record.h"
#include "kvcache/snapshot/snapshot.h"
#include "kvcache/snapshot/thin.h"
#include "runtime/engine.h"
#include "runtime/fidelity/fidelity.h"
#include "runtime/limits/presets.h"
#include "runtime/model/model.h"
#include "storage/kv/zstd_coder.h"
#include "support/record_stores.h"

namespace satchel::bench {
namespace {

using Ids = std::vector<std::int32_t>;
using kvcache::Cache;

const kvcache::CacheKey kKey = kvcache::CacheKey::named("bench");

double bytes_of(test::MemoryRecordStore& store) {
  double n = static_cast<double>(store.caches[kKey].manifest->bytes.size());
  for (const auto& [id, bytes] : store.caches[kKey].records) n += static_cast<double>(bytes.size());
  return n;
}

class Bench {
 public:
  explicit Bench(runtime::Engine& engine)
      : engine_(engine), recipe_(must(runtime::resolve_recipe("balanced"))) {
    store_.stream_coder = &coder_;
  }

  std::unique_ptr<Cache> packed(std::span<const std::int32_t> ids, std::size_t n_after,
                                std::span<float> logits) {
    auto cache = must(eval::open_cache(engine_, recipe_, ids.size() + n_after));
    must(eval::read_document(engine_, *cache, ids, {}, logits));
    must(eval::pack_document(engine_, *cache, ids, eval::TextForm::raw, {}));
    return cache;
  }
  // The same, saved, thinned and restored; tells sizes and speeds.
  std::unique_ptr<Cache> thinned(Cache& cache, std::span<const std::int32_t> ids,
                                 std::size_t n_after, bool tells) {
    const kvcache::SnapshotIdentity identity{.model = "m", .recipe = recipe_.hash(), .tokens = ids};
    must(store_.drop(kKey));
    (void)must(kvcache::Snapshot(cache, store_, kKey).save(identity));
    const double whole = bytes_of(store_),
                 fp16 = static_cast<double>(ids.size()) *
                        static_cast<double>(engine_.config().cache_shape().fp16_bytes_per_token());
    const double began = now_seconds(Time::of_thread);
    (void)must(kvcache::thin_saved(store_, kKey));
    const double thinning = now_seconds(Time::of_thread) - began;
    if (tells) {
      std::printf(
          "%zu tokens, fp16 %.1f MB: saved %.2f %%, thinned %.2f %% (%.2f bits), "
          "%.2f -> %.2f MB per 1,000 tokens\n",
          ids.size(), fp16 / 1e6, 100 * whole / fp16, 100 * bytes_of(store_) / fp16,
          16 * bytes_of(store_) / fp16, whole / 1e3 / static_cast<double>(ids.size()),
          bytes_of(store_) / 1e3 / static_cast<double>(ids.size()));
      std::printf("thins %.0f MB/s, decodes %.0f MB/s\n", fp16 / 1e6 / thinning,
                  fp16 / 1e6 / decode_seconds());
    }
    auto twin = must(eval::open_cache(engine_, recipe_, ids.size() + n_after));
    const auto report = must(kvcache::Snapshot(*twin, store_, kKey).restore(identity));
    if (report.n_tokens != ids.size() || report.n_thinned == 0) std::exit(1);
    return twin;
  }

  void score(const eval::ScoredText& text);
  void ask(std::size_t n_contexts);

 private:
  double decode_seconds() {
    kvcache::RecordCapacity capacity;
    return best_seconds([&] {
      for (const auto& [id, bytes] : store_.caches[kKey].records)
        (void)must(kvcache::decode_record(bytes, &coder_, capacity));
    });
  }
  bool answers(Cache& cache, const eval::Needle& needle);

  runtime::Engine& engine_;
  const kvcache::Recipe recipe_;
  const storage::ZstdCoder coder_;
  test::MemoryRecordStore store_;
};

void Bench::score(const eval::ScoredText& text) {
  const std::size_t n_vocabulary = engine_.config().n_vocabulary, n = text.n_scored();
  const eval::ExactLogits exact = must(eval::exact_logits(engine_, text, {}));
  std::vector<float> first(n_vocabulary);
  const auto prompt = text.ids.first(text.n_prompt);
  const auto cache = packed(prompt, n, first), twin = thinned(*cache, prompt, n, true);
  std::vector<float> a = first, b = first;
  double kl = 0, kl_saved = 0, kl_thin = 0, same = 0;
  for (std::size_t i = 1; i < n; ++i) {  // the first comes from before
    must(engine_.model().decode_step(*cache, text.ids[text.n_prompt + i - 1], a));
    must(engine_.model().decode_step(*twin, text.ids[text.n_prompt + i - 1], b));
    const auto row = std::span<const float>(exact.rows).subspan(i * n_vocabulary, n_vocabulary);
    kl_saved += runtime::compare_logits(row, a, n_vocabulary).kl;
    kl_thin += runtime::compare_logits(row, b, n_vocabulary).kl;
    const runtime::Fidelity both = runtime::compare_logits(a, b, n_vocabulary);
    kl += both.kl;
    same += both.agreement;
  }
  const auto m = static_cast<double>(n - 1);
  std::printf("KL beside what was saved %.5f, same next token %.2f %%; beside exact %.5f -> %.5f\n",
              kl / m, 100 * same / m, kl_saved / m, kl_thin / m);
}

bool Bench::answers(Cache& cache, const eval::Needle& needle) {
  const auto copy = must(cache.fork());
  std::vector<float> logits(engine_.config().n_vocabulary);
  Ids said;
  for (const std::int32_t id :
       must(engine_.tokenizer().encode(needle.ask, runtime::SpecialText::as_text)))
    must(engine_.model().decode_step(*copy, id, logits));
  std::string words;
  while (said.size() < eval::needle_answer_tokens(needle)) {
    const auto id = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    if (engine_.tokenizer().ends_turn(id)) break;
    said.push_back(id);
    words = engine_.tokenizer().text(said);
    if (eval::needle_said_enough(words, needle)) break;
    must(engine_.model().decode_step(*copy, id, logits));
  }
  return eval::needle_score(words, needle) > 0.5;
}

void Bench::ask(std::size_t n_contexts) {
  std::size_t n = 0, n_saved = 0, n_thin = 0, n_lost = 0, n_won = 0;
  const eval::CountTokens count = [&](std::string_view text) -> Result<std::size_t> {
    return must(engine_.tokenizer().encode(text, runtime::SpecialText::as_text)).size();
  };
  std::vector<float> logits(engine_.config().n_vocabulary);
  for (const char* family : {"names", "places", "numbers"})
    for (std::size_t seed = 1; seed <= n_contexts; ++seed) {
      const eval::NeedleContext context = must(eval::make_needle_context(
          *eval::find_needle_family(family), {.n_tokens = 1300, .seed = seed}, count));
      std::string text;
      for (const std::string& part : context.parts) text += part;
      const Ids ids = must(engine_.tokenizer().encode(text, runtime::SpecialText::as_text));
      const auto cache = packed(ids, 200, logits), twin = thinned(*cache, ids, 200, false);
      for (const eval::Needle& needle : context.needles) {
        const bool saved = answers(*cache, needle), thin = answers(*twin, needle);
        ++n;
        n_saved += saved;
        n_thin += thin;
        n_lost += saved && !thin;
        n_won += thin && !saved;
      }
    }
  std::printf("needles: %zu asked, right %zu as saved, %zu thinned (lost %zu, won %zu)\n", n,
              n_saved, n_thin, n_lost, n_won);
}

}  // namespace

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "bench_thin MODEL TEXT [PROMPT] [SCORED] [NEEDLE CONTEXTS]\n");
    return 2;
  }
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? static_cast<std::size_t>(std::atoll(argv[i])) : otherwise;
  };
  runtime::EngineOptions options;
  options.model = argv[1];
  const auto engine = must(runtime::Engine::open(options));
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Ids ids = must(engine->tokenizer().encode(text, runtime::SpecialText::as_text));
  const std::size_t n_prompt = number(3, 1924), n_scored = number(4, 400);
  if (n_prompt + n_scored > ids.size()) {
    std::fprintf(stderr, "The text has %zu tokens only.\n", ids.size());
    return 2;
  }
  Bench bench(*engine);
  bench.score({.ids = std::span(ids).first(n_prompt + n_scored), .n_prompt = n_prompt});
  if (const std::size_t n = number(5, 0); n > 0) bench.ask(n);
  return 0;
}

}  // namespace satchel::bench

int main(int argc, char** argv) {
  return satchel::bench::run(argc, argv);
}
