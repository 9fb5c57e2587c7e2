// bench_gpu [--backend NAME] [--small] [PART …]: what a backend's operations reach,
// a line of JSON each. Parts: decode, prefill, cache, weights; all of them where none is named.
// tests/gpu/run.sh puts the lines beside the bandwidth of the same run and makes a report of them.
//   --backend  cuda where nothing is said; another one, with --small, tries the program itself
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/measure.h"
#include "kernels/registry/registry.h"
#include "support/open_named.h"

namespace satchel::bench {
namespace {

int run(const std::string& name, const kernels::BackendOptions& options, bool small,
        const std::vector<std::string>& parts) {
  auto opened = kernels::open_backend(name, options);
  if (!opened.ok()) {
    say({{"op", "skipped"}, {"why", opened.error().message}});
    return 77;
  }
  const Setting setting{**opened, small};
  say({{"op", "device"}, {"backend", name}, {"device", setting.backend.device()}});
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  if (wanted("decode")) bench_decode_attention(setting);
  if (wanted("prefill")) bench_prefill_attention(setting);
  if (wanted("cache")) bench_cache_operations(setting);
  if (wanted("weights")) bench_weights(setting);
  return 0;
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  std::string name = "cuda";
  const satchel::kernels::BackendOptions options = satchel::test::options_here();
  bool small = false;
  std::vector<std::string> parts;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0)
      small = true;
    else if (std::strcmp(argv[i], "--backend") == 0 && i + 1 < argc)
      name = argv[++i];
    else
      parts.emplace_back(argv[i]);
  }
  return satchel::bench::run(name, options, small, parts);
}
