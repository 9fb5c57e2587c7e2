// Any bytes as a snapshot: manifest and records, checksums made right again, into a small cache.
// What is accepted is then attended to and saved again; the same bytes are thinned before that.
//   input   1 byte: recipe; 3 bytes: size of the manifest; the manifest; for each record its size
//           in 3 bytes, then the record
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/registry/registry.h"
#include "kvcache/cache/cache.h"
#include "kvcache/snapshot/record.h"
#include "kvcache/snapshot/snapshot.h"
#include "kvcache/snapshot/thin.h"
#include "mutate.h"
#include "support/key_bases.h"
#include "support/record_stores.h"
#include "support/selector.h"
#include "support/toy_coder.h"
#include "support/usable_recipes.h"
#include "target.h"

namespace satchel::fuzz {
namespace {

using kvcache::Cache;
using kvcache::CacheShape;
using kvcache::Manifest;
using kvcache::Recipe;
using kvcache::RecordEntry;
using kvcache::Snapshot;
using kvcache::SnapshotIdentity;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kTokens = 262, kHeadDim = 32;
const test::ToyCoder kCoder;
const kvcache::CacheKey kKey = kvcache::CacheKey::named("fuzz");

// One cache of each recipe, kept from input to input: a refused snapshot must leave it empty. And
// one of a model with recurrent layers.
struct Bench {
  std::shared_ptr<kvcache::Arena> arena;
  CacheShape shape;
  std::unique_ptr<Cache> cache;

  explicit Bench(std::string_view recipe, std::vector<kvcache::StateShape> states = {}) {
    arena =
        kvcache::Arena::open(kernels::open_backend("reference", {}).value(), 512u << 10).value();
    shape.layers.push_back({.n_heads = 1,
                            .n_kv_heads = 1,
                            .head_dim = kHeadDim,
                            .attention_scale = 0.176f,
                            .inverse_frequency = {1, 0.1}});
    shape.states = std::move(states);
    shape.selectors = test::selectors_of(shape);
    shape.key_bases = test::key_bases_of(shape, 1);
    cache = Cache::open(arena, shape, Recipe::builtin(recipe).value()).value();
  }
  static std::vector<float> values(std::size_t position) {
    std::vector<float> row(kHeadDim);
    for (std::size_t c = 0; c < row.size(); ++c)
      row[c] = static_cast<float>((position * 31 + c * 17) % 23) - 11;
    return row;
  }
  Result<void> attend(const kernels::Sequence& lanes, std::int32_t position, float* lse) const {
    const std::vector<float> q(kHeadDim, 0.5f);
    std::vector<float> out(kHeadDim);
    return arena->backend()->attend({.q = q.data(),
                                     .n_heads = 1,
                                     .n_kv_heads = 1,
                                     .head_dim = kHeadDim,
                                     .batch = {.positions = &position,
                                               .n_tokens = 1,
                                               .position_min = position,
                                               .position_max = position},
                                     .sequences = {&lanes, 1},
                                     .scale = shape.layers[0].attention_scale,
                                     .rope = shape.layers[0].rope(),
                                     .out = out.data(),
                                     .lse = lse});
  }
  // A state is the sum of the positions that were carried.
  Result<void> carry(std::size_t first, std::size_t n_tokens) const {
    kvcache::RecurrentStates& states = cache->states();
    for (std::size_t layer = 0; layer < states.n_layers(); ++layer)
      for (std::size_t done = 0, n = 0; done < n_tokens; done += n) {
        n = std::min(n_tokens - done, states.n_to_checkpoint(layer));
        const kernels::StateSequence carried = states.carry(layer, n);
        for (std::size_t i = 0; i < shape.states[layer].n_values; ++i)
          carried.behind[i] = (carried.before == nullptr ? 0.0f : carried.before[i] / 2) +
                              static_cast<float>(first + done);
        SATCHEL_TRY(states.keep(layer));
      }
    return {};
  }
  // Errors are for want of memory only.
  Result<void> step() const {
    const std::vector<float> row = values(cache->n_tokens()), q(kHeadDim, 0.5f);
    const auto position = static_cast<std::int32_t>(cache->n_tokens());
    SATCHEL_TRY(cache->begin_step());
    SATCHEL_TRY(cache->append(0, row.data(), row.data()));
    SATCHEL_TRY(cache->choose_pages(0, q.data()));
    float lse = 0;
    SATCHEL_TRY(attend(cache->lanes(0), position, &lse));
    if (cache->needs_step())
      SATCHEL_TRY(cache->observe_step(0, q.data(), &lse,
                                      {.positions = &position,
                                       .n_tokens = 1,
                                       .position_min = position,
                                       .position_max = position}));
    SATCHEL_TRY(carry(cache->n_tokens(), 1));
    return cache->end_step();
  }
  Result<void> read(kvcache::Prefill reading, std::size_t n, std::size_t first) const {
    SATCHEL_TRY(reading.begin_layer(0));
    for (std::size_t position = first; position < first + n; ++position) {
      const std::vector<float> row = values(position), q(kHeadDim, 0.5f);
      SATCHEL_TRY(reading.add_chunk(row.data(), row.data(), 1));
      float lse = 0;
      SATCHEL_TRY(attend(reading.lanes(), static_cast<std::int32_t>(position), &lse));
      SATCHEL_TRY(reading.observe(
          {.q = q.data(), .lse = &lse, .pre_rope_q = q.data(), .pre_rope_k = row.data()}));
    }
    SATCHEL_TRY(reading.end_layer());
    SATCHEL_TRY(carry(first, n));
    const auto done = reading.commit();
    return done.ok() ? Result<void>() : Result<void>(done.error());
  }
  Result<void> read_document(std::size_t n) const {
    SATCHEL_TRY_ASSIGN(kvcache::Prefill reading, cache->begin_prefill({.n_tokens = n}));
    return read(std::move(reading), n, cache->n_tokens());
  }
  Result<void> probe(std::size_t chunk) const {
    const auto job = cache->next_probe(chunk);
    if (!job) return {};
    const std::size_t first = cache->n_tokens();
    SATCHEL_TRY_ASSIGN(kvcache::Prefill reading, cache->begin_probe(*job, job->n_tokens, first));
    return read(std::move(reading), job->n_tokens, first);
  }
};

const std::vector<std::string>& recipes() {
  static const std::vector<std::string> kNames = test::usable_recipes();
  return kNames;
}
std::size_t n_recipes() {
  return recipes().size() + 1;
}
Bench made(std::size_t which) {
  if (which < recipes().size()) return Bench(recipes()[which]);
  return Bench("minikv", {{.n_values = 3}, {.n_values = 100, .n_exact = 4}});
}

Bench& bench(std::size_t which) {
  static const std::vector<std::unique_ptr<Bench>> kBenches = [] {
    std::vector<std::unique_ptr<Bench>> all;
    for (std::size_t i = 0; i < n_recipes(); ++i) all.push_back(std::make_unique<Bench>(made(i)));
    return all;
  }();
  return *kBenches[which];
}

const std::vector<std::int32_t>& token_ids() {
  static const std::vector<std::int32_t> kIds(kTokens + 30, 5);
  return kIds;
}

SnapshotIdentity identity(const Cache& cache, std::size_t n) {
  return {.model = "m", .recipe = cache.recipe().hash(), .tokens = std::span(token_ids()).first(n)};
}

void put_part(Input& out, const Bytes& bytes) {
  for (int shift = 0; shift < 24; shift += 8)
    out.push_back(static_cast<std::uint8_t>(bytes.size() >> shift));
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  out.insert(out.end(), begin, begin + bytes.size());
}

// The parts of an input; sizes are cut to what is there.
struct Parts {
  std::size_t recipe = 0;
  Bytes manifest = {};
  std::vector<Bytes> records = {};
};
Parts split(const std::uint8_t* bytes, std::size_t size) {
  Parts parts;
  if (size == 0) return parts;
  parts.recipe = bytes[0] % n_recipes();
  std::size_t at = 1;
  for (bool first = true; at + 3 <= size && parts.records.size() < 8; first = false) {
    const std::size_t asked = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
    at += 3;
    const std::size_t n = std::min(asked, size - at);
    const auto* begin = reinterpret_cast<const std::byte*>(bytes + at);
    (first ? parts.manifest : parts.records.emplace_back()).assign(begin, begin + n);
    at += n;
  }
  return parts;
}

Input join(const Parts& parts) {
  Input out = {static_cast<std::uint8_t>(parts.recipe)};
  put_part(out, parts.manifest);
  for (const Bytes& record : parts.records) put_part(out, record);
  return out;
}

// Sizes and checksums of records, then of the table.
void repair(Input& input) {
  Parts parts = split(input.data(), input.size());
  kvcache::sign_manifest(parts.manifest);
  Result<Manifest> manifest = kvcache::decode_manifest(parts.manifest);
  for (std::size_t i = 0; i < parts.records.size(); ++i) {
    Bytes& record = parts.records[i];
    kvcache::sign_record(record, kCoder);
    if (!manifest.ok() || i >= manifest->records.size()) continue;
    manifest->records[i].n_bytes = static_cast<std::uint32_t>(record.size());
    if (record.size() >= kvcache::kRecordHeaderBytes)
      manifest->records[i].checksum = kvcache::record_checksum(record);
  }
  if (manifest.ok()) parts.manifest = kvcache::encode_manifest(*manifest);
  input = join(parts);
}

// A few steps; a document, a few steps behind it, a part of a second pass; text that was moved.
Result<void> live(const Bench& on, std::size_t n_document, bool is_moved) {
  if (n_document > 0) SATCHEL_TRY(on.read_document(n_document));
  for (int i = 0; i < 2; ++i) SATCHEL_TRY(on.step());
  SATCHEL_TRY(on.probe(100));
  return is_moved ? on.cache->edit().move_text(n_document / 2, 3) : Result<void>();
}

std::vector<Input> seeds() {
  std::vector<Input> all;
  for (std::size_t which = 0; which < n_recipes(); ++which)
    for (const std::size_t n : {0u, 138u, 139u, 257u}) {
      const Bench on = made(which);
      const bool is_moved = n == 257 && on.shape.states.empty();
      if (!live(on, n, is_moved).ok()) continue;
      test::MemoryRecordStore store;
      store.stream_coder = n == 139 || n == 257 ? &kCoder : nullptr;  // tight records
      Snapshot snapshot(*on.cache, store, kKey);
      if (!snapshot.save(identity(*on.cache, on.cache->n_tokens())).ok()) continue;
      const auto add = [&] {
        Parts parts{.recipe = which, .manifest = store.caches[kKey].manifest->bytes};
        for (auto& [id, bytes] : store.caches[kKey].records) parts.records.push_back(bytes);
        Input input = join(parts);
        if (input.size() <= kInputBytesMax) all.push_back(std::move(input));
      };
      add();
      if (kvcache::thin_saved(store, kKey).value().n_records > 0) add();
    }
  return all;
}

// What cannot be read is not thinned; what is thinned can be restored as far as it could before.
void thin_and_restore(const Bench& on, test::MemoryRecordStore store) {
  const auto thinned = kvcache::thin_saved(store, kKey);
  SATCHEL_ASSERT(thinned.ok());
  Snapshot snapshot(*on.cache, store, kKey);
  SATCHEL_ASSERT(snapshot.restore(identity(*on.cache, kTokens)).ok());
  on.cache->clear();
}

// What was accepted must be usable: attended to, extended, looked at again, decided, moved, cut,
// saved. Only memory may be short.
void use_everything(const Bench& on, Snapshot& snapshot) {
  Cache& cache = *on.cache;
  const auto fits = [](const auto& result) {
    SATCHEL_ASSERT(result.ok() || result.error().kind == ErrorKind::out_of_memory ||
                   result.error().kind == ErrorKind::invalid);
  };
  for (int i = 0; i < 3; ++i) fits(on.step());
  fits(on.probe(64));
  fits(cache.compactor().end_turn());
  fits(cache.compactor().compact(kvcache::TriggerEvent::over_limit));
  fits(on.read_document(20));
  if (cache.n_tokens() > 8) fits(cache.edit().move_text(cache.n_tokens() / 2, 1));
  if (cache.n_tokens() > 40) fits(cache.edit().truncate(cache.n_tokens() - 30));
  if (cache.n_tokens() == 0 || cache.n_tokens() > token_ids().size()) return;
  const auto saved = snapshot.save(identity(cache, cache.n_tokens()));
  SATCHEL_ASSERT(saved.ok() || saved.error().kind == ErrorKind::out_of_memory);
}

}  // namespace

int run(const std::uint8_t* bytes, std::size_t size) {
  const Parts parts = split(bytes, size);
  const Bench& on = bench(parts.recipe);
  const std::size_t used = on.arena->used_bytes();
  test::MemoryRecordStore store;
  store.stream_coder = &kCoder;
  auto& rows = store.caches[kKey];
  const Result<Manifest> manifest = kvcache::decode_manifest(parts.manifest);
  rows.manifest = kvcache::SavedManifest{manifest.ok() ? manifest->generation : 1, parts.manifest};
  for (std::size_t i = 0; i < parts.records.size(); ++i) {
    const bool listed = manifest.ok() && i < manifest->records.size();
    rows.records[listed ? manifest->records[i].id : i + 1] = parts.records[i];
  }
  thin_and_restore(on, store);
  Snapshot snapshot(*on.cache, store, kKey);
  const auto report = snapshot.restore(identity(*on.cache, kTokens));
  SATCHEL_ASSERT(report.ok());
  SATCHEL_ASSERT(report->detail.empty() || report->reason != kvcache::RereadReason::none);
  if (report->n_tokens > 0) {
    use_everything(on, snapshot);
  } else {
    SATCHEL_ASSERT(on.cache->n_tokens() == 0 && on.arena->used_bytes() == used);
  }
  on.cache->clear();
  return 0;
}

extern const Target target{.name = "fuzz_record", .seeds = seeds, .repair = repair};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return satchel::fuzz::run(bytes, size);
}
