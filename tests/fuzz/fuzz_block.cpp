// Any bytes as a snapshot: manifest and blocks, checksums made right again, into a small cache. What
// is accepted is then attended to and saved again.
//   input   1 byte: recipe; 3 bytes: size of the manifest; the manifest; for each block its size in
//           3 bytes, then the block
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/contract/registry.h"
#include "kvcache/cache.h"
#include "kvcache/snapshot/block.h"
#include "kvcache/snapshot/snapshot.h"
#include "mutate.h"
#include "support/block_stores.h"
#include "target.h"

namespace satchel::fuzz {
namespace {

using kvcache::BlockEntry;
using kvcache::Cache;
using kvcache::CacheShape;
using kvcache::Manifest;
using kvcache::Recipe;
using kvcache::Snapshot;
using kvcache::SnapshotIdentity;
using Bytes = std::vector<std::byte>;

constexpr kvcache::ChatId kChat{1};
constexpr std::size_t kTokens = 262;
constexpr const char* kRecipes[] = {"full", "minikv", "minikv-g64"};

// One cache of each recipe, kept from input to input: a refused snapshot must leave it empty.
struct Bench {
  std::unique_ptr<kernels::Backend> backend;
  CacheShape shape;
  std::unique_ptr<Cache> cache;

  explicit Bench(const char* recipe)
      : backend(kernels::open_backend("reference", {}).value()),
        shape{.n_layers = 1,
              .n_heads = 1,
              .n_kv_heads = 1,
              .head_dim = 64,
              .attention_scale = 0.125f},
        cache(Cache::open(*backend, shape, Recipe::builtin(recipe).value(), 512u << 10).value()) {}

  void step() {
    const std::size_t n = cache->n_tokens();
    std::vector<float> values(shape.head_dim);
    for (std::size_t c = 0; c < values.size(); ++c)
      values[c] = static_cast<float>((n * 31 + c * 17) % 23) - 11;
    if (!cache->begin_step().ok()) return;
    (void)cache->append(0, values.data(), values.data()).ok();
    (void)cache->end_step().ok();
  }
};

Bench& bench(std::size_t which) {
  static Bench benches[] = {Bench(kRecipes[0]), Bench(kRecipes[1]), Bench(kRecipes[2])};
  return benches[which];
}

const std::vector<std::int32_t>& token_ids() {
  static const std::vector<std::int32_t> kIds(kTokens + 10, 5);
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
  std::vector<Bytes> blocks = {};
};
Parts split(const std::uint8_t* bytes, std::size_t size) {
  Parts parts;
  if (size == 0) return parts;
  parts.recipe = bytes[0] % std::size(kRecipes);
  std::size_t at = 1;
  for (bool first = true; at + 3 <= size && parts.blocks.size() < 8; first = false) {
    const std::size_t asked = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
    at += 3;
    const std::size_t n = std::min(asked, size - at);
    const auto* begin = reinterpret_cast<const std::byte*>(bytes + at);
    (first ? parts.manifest : parts.blocks.emplace_back()).assign(begin, begin + n);
    at += n;
  }
  return parts;
}

Input join(const Parts& parts) {
  Input out = {static_cast<std::uint8_t>(parts.recipe)};
  put_part(out, parts.manifest);
  for (const Bytes& block : parts.blocks) put_part(out, block);
  return out;
}

// Sizes and checksums of blocks, then of the table.
void repair(Input& input) {
  Parts parts = split(input.data(), input.size());
  kvcache::sign_manifest(parts.manifest);
  Result<Manifest> manifest = kvcache::decode_manifest(parts.manifest);
  for (std::size_t i = 0; i < parts.blocks.size(); ++i) {
    Bytes& block = parts.blocks[i];
    kvcache::sign_block(block);
    if (!manifest.ok() || i >= manifest->blocks.size()) continue;
    manifest->blocks[i].n_bytes = static_cast<std::uint32_t>(block.size());
    if (block.size() >= kvcache::kBlockHeaderBytes)
      manifest->blocks[i].checksum = kvcache::block_checksum(block);
  }
  if (manifest.ok()) parts.manifest = kvcache::encode_manifest(*manifest);
  input = join(parts);
}

std::vector<Input> seeds() {
  std::vector<Input> all;
  for (std::size_t which = 0; which < std::size(kRecipes); ++which)
    for (const std::size_t n : {2u, 40u, 140u, 262u}) {
      Bench made(kRecipes[which]);
      while (made.cache->n_tokens() < n) made.step();
      test::MemoryBlockStore store;
      Snapshot snapshot(*made.cache, store, kChat);
      if (!snapshot.save(identity(*made.cache, n)).ok()) continue;
      Parts parts{.recipe = which, .manifest = store.chats[kChat].manifest->bytes};
      for (auto& [id, bytes] : store.chats[kChat].blocks) parts.blocks.push_back(bytes);
      Input input = join(parts);
      if (input.size() <= kInputBytesMax) all.push_back(std::move(input));
    }
  return all;
}

// What was accepted must be usable: attended to, extended, saved.
void use_everything(Bench& on, Snapshot& snapshot) {
  Cache& cache = *on.cache;
  const std::vector<float> q(on.shape.head_dim, 0.5f);
  const auto position = static_cast<std::int32_t>(cache.n_tokens());
  std::vector<float> out(q.size()), lse(1);
  SATCHEL_ASSERT(on.backend
                     ->attend({.q = q.data(),
                               .n_tokens = 1,
                               .n_heads = 1,
                               .head_dim = q.size(),
                               .positions = std::span(&position, 1),
                               .lanes = cache.lanes(0),
                               .scale = on.shape.attention_scale,
                               .out = out.data(),
                               .lse = lse.data()})
                     .ok());
  for (int i = 0; i < 3; ++i) on.step();
  SATCHEL_ASSERT(snapshot.save(identity(cache, cache.n_tokens())).ok());
}

}  // namespace

int run(const std::uint8_t* bytes, std::size_t size) {
  const Parts parts = split(bytes, size);
  Bench& on = bench(parts.recipe);
  test::MemoryBlockStore store;
  auto& rows = store.chats[kChat];
  const Result<Manifest> manifest = kvcache::decode_manifest(parts.manifest);
  rows.manifest = kvcache::SavedManifest{manifest.ok() ? manifest->generation : 1, parts.manifest};
  for (std::size_t i = 0; i < parts.blocks.size(); ++i) {
    const bool listed = manifest.ok() && i < manifest->blocks.size();
    rows.blocks[listed ? manifest->blocks[i].id : i + 1] = parts.blocks[i];
  }
  Snapshot snapshot(*on.cache, store, kChat);
  const auto report = snapshot.restore(identity(*on.cache, kTokens));
  SATCHEL_ASSERT(report.ok());
  if (report->outcome == kvcache::RestoreOutcome::restored) {
    use_everything(on, snapshot);
  } else {
    SATCHEL_ASSERT(!report->message.empty());
  }
  SATCHEL_ASSERT(report->outcome == kvcache::RestoreOutcome::restored ||
                 on.cache->stats().bytes == on.cache->pool().used_bytes());
  on.cache->clear();
  return 0;
}

extern const Target target{.name = "fuzz_block", .seeds = seeds, .repair = repair};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return satchel::fuzz::run(bytes, size);
}
