// bench_records MODEL TEXT [recipe …]: what the coding of saved records saves on the pages of a
// real text, and how fast it is, for each recipe (all built-in ones, every token kept) and zstd
// level.
//   H        order-0 entropy of all planes, as a share of their bytes: what no coder of single
//            bytes gets below
//   decode   a record until it is verified, per second of one core; plain: the same of one that is
//            not tight. Best of several rounds, in CPU time: other programs share the machine
//   MB       2^20 bytes of values before coding
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "bench/rounds.h"
#include "kvcache/recipes/pipeline.h"
#include "kvcache/recipes/recipe.h"
#include "kvcache/snapshot/record.h"
#include "runtime/contract/cache_key.h"
#include "runtime/engine.h"
#include "storage/kv/zstd_coder.h"
#include "support/record_stores.h"

namespace satchel::bench {
namespace {

using kvcache::CacheKey;

const CacheKey kKey = runtime::cache_key({1});
constexpr double kMega = 1 << 20;

double cpu_seconds() {
  return now_seconds(Time::of_thread);
}

// Codes nothing, but sums up what an order-0 coder would make of it.
class EntropyMeter final : public kvcache::StreamCoder {
 public:
  std::uint16_t number() const override { return 0; }
  std::size_t encode(std::span<const std::byte> from, std::span<std::byte>) const override {
    std::array<double, 256> counts = {};
    for (const std::byte value : from) counts[std::to_integer<std::size_t>(value)] += 1;
    const auto n = static_cast<double>(from.size());
    for (const double count : counts)
      if (count > 0) coded += count * std::log2(n / count) / 8;
    plain += n;
    return 0;
  }
  bool decode(std::span<const kvcache::CodedStream>) const override { return false; }
  mutable double coded = 0, plain = 0;
};

struct Saved {
  double bytes = 0, values = 0;
  double save_seconds = 0, decode_seconds = 1e9;
};

// Everything anew, with that coder.
Saved save(runtime::Session& session, test::MemoryRecordStore& store,
           const kvcache::StreamCoder* coder) {
  must(store.drop(kKey));
  store.stream_coder = coder;
  Saved saved;
  double begin = cpu_seconds();
  (void)must(session.save());
  saved.save_seconds = cpu_seconds() - begin;
  kvcache::RecordCapacity capacity;
  for (int round = 0; round < 7; ++round) {
    saved.bytes = saved.values = 0;
    begin = cpu_seconds();
    for (const auto& [id, bytes] : store.caches[kKey].records) {
      const kvcache::Record record = must(kvcache::decode_record(bytes, coder, capacity));
      saved.bytes += static_cast<double>(bytes.size());
      saved.values += static_cast<double>(record.values.size());
    }
    saved.decode_seconds = std::min(saved.decode_seconds, cpu_seconds() - begin);
  }
  return saved;
}

bool can_have(const runtime::Engine& engine, std::string_view recipe) {
  const kvcache::CacheShape shape = engine.config().cache_shape();
  return must(kvcache::Recipe::builtin(recipe)).pipeline().check(shape).ok();
}

void measure(runtime::Engine& engine, const std::string& name, const std::string& text) {
  test::MemoryRecordStore store;
  runtime::SessionOptions options(must(must(kvcache::Recipe::builtin(name)).with_keep(1)));
  options.records = &store;
  options.chat = {1};
  const auto session = must(engine.new_session(options));
  (void)must(session->add_document("text", text));
  (void)must(session->read({}, {}));
  const EntropyMeter meter;
  const Saved plain = save(*session, store, &meter);
  const double mega = plain.values / kMega;
  std::printf("%-14s %7.2f MB  H %.3f  plain %6.0f MB/s\n", name.c_str(), mega,
              meter.coded / meter.plain, mega / plain.decode_seconds);
  for (const int level : {1, 3, 9}) {
    const storage::ZstdCoder coder(level);
    const Saved tight = save(*session, store, &coder);
    std::printf("  zstd %d  saves %5.1f %%  encodes %6.0f MB/s  decodes %6.0f MB/s\n", level,
                100 - 100 * tight.bytes / plain.bytes, mega / tight.save_seconds,
                mega / tight.decode_seconds);
  }
}

}  // namespace

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "bench_records MODEL TEXT [recipe ...]\n");
    return 2;
  }
  runtime::EngineOptions options;
  options.model = argv[1];
  const auto engine = must(runtime::Engine::open(options));
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> names(argv + 3, argv + argc);
  if (names.empty())
    for (const kvcache::BuiltinRecipe& recipe : kvcache::builtin_recipes())
      if (can_have(*engine, recipe.name)) names.emplace_back(recipe.name);
  for (const std::string& name : names) measure(*engine, name, text);
  return 0;
}

}  // namespace satchel::bench

int main(int argc, char** argv) {
  return satchel::bench::run(argc, argv);
}
