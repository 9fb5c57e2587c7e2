// bench_gpu [--backend NAME] [--small] [--tokens N --tier NAME] [PART …]: what a backend's
// operations reach, a line of JSON each. Parts: decode, prefill, cache, weights, moe; all of them
// where none is named.
// tests/gpu/run.sh puts the lines beside the bandwidth of the same run and makes a report of them.
//   --backend  cuda where nothing is said; another one, with --small, tries the program itself
//   --tokens   attention over so many tokens alone, decoding of one tier ("4 bits"), for a profiler
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/measure.h"
#include "kernels/registry/registry.h"
#include "support/open_named.h"

namespace satchel::bench {
namespace {

struct Asked {
  bool small = false;
  std::size_t n_tokens = 0;
  std::string tier = {};
  std::vector<std::string> parts = {};
};

int run(const std::string& name, const kernels::BackendOptions& options, const Asked& asked) {
  auto opened = kernels::open_backend(name, options);
  if (!opened.ok()) {
    say({{"op", "skipped"}, {"why", opened.error().message}});
    return 77;
  }
  const Setting setting{**opened, asked.small, asked.n_tokens, asked.tier};
  say({{"op", "device"}, {"backend", name}, {"device", setting.backend.device()}});
  const auto wanted = [&](const char* part) {
    return asked.parts.empty() || std::ranges::find(asked.parts, part) != asked.parts.end();
  };
  if (wanted("decode")) bench_decode_attention(setting);
  if (wanted("prefill")) bench_prefill_attention(setting);
  if (wanted("cache")) bench_cache_operations(setting);
  if (wanted("weights")) bench_weights(setting);
  if (wanted("moe")) bench_moe(setting);
  return 0;
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  std::string name = "cuda";
  const satchel::kernels::BackendOptions options = satchel::test::options_here();
  satchel::bench::Asked asked;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0)
      asked.small = true;
    else if (std::strcmp(argv[i], "--backend") == 0 && i + 1 < argc)
      name = argv[++i];
    else if (std::strcmp(argv[i], "--tokens") == 0 && i + 1 < argc)
      asked.n_tokens = std::stoul(argv[++i]);
    else if (std::strcmp(argv[i], "--tier") == 0 && i + 1 < argc)
      asked.tier = argv[++i];
    else
      asked.parts.emplace_back(argv[i]);
  }
  return satchel::bench::run(name, options, asked);
}
