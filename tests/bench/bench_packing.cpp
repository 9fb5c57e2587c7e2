// What it costs the host to pack a weight for a GPU (kernels/cuda/weights): nanoseconds a value,
// value by value (the oracle of the tests, and the packer until 2026-11), by the packer on one
// thread (processor time both), and by it on all of them (wall time).
//
//   bench_packing [TYPE …]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cuda/weights/over_threads.h"
#include "kernels/cuda/weights/tile_layout.h"
#include "kernels/cuda/weights/tile_pack.h"
#include "support/tile_oracle.h"
#include "support/weights.h"

namespace {

using namespace satchel;
using namespace satchel::kernels;

constexpr std::size_t kOut = 1024, kIn = 4096, kRounds = 9;

double a_value(double nanoseconds) {
  return nanoseconds / static_cast<double>(kOut * kIn);
}
// Processor time, which other programs disturb less.
template <class Call>
double processor_ns(const Call& call) {
  const std::clock_t start = std::clock();
  call();
  return a_value(1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
}
template <class Call>
double wall_ns(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  call();
  return a_value(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
}

// False if the two differ.
bool bench(WeightType type) {
  const test::WeightFile file = test::random_weight(type, kOut, kIn, 1);
  const WeightSource source = file.source();
  const std::size_t n_tiles = kOut / cuda::kTileRows;
  std::vector<std::byte> want,
      got(n_tiles * cuda::tile_plan(cuda::tile_shape(type), kIn).tile_bytes);
  const auto pack = [&](std::size_t first, std::size_t n) {
    cuda::pack_tiles(source, first, n, got.data() + first * (got.size() / n_tiles));
  };
  double before = std::numeric_limits<double>::max(), one = before, all = before;
  for (std::size_t round = 0; round < kRounds; ++round) {  // in turn
    before = std::min(before, processor_ns([&] { want = test::tiles_value_by_value(source); }));
    one = std::min(one, processor_ns([&] { pack(0, n_tiles); }));
    all = std::min(all, wall_ns([&] { cuda::over_threads(n_tiles, 4, pack); }));
  }
  std::printf("%-8s %9.2f %9.2f %9.2f %7.1f\n", weight_type_traits(type).name, before, one, all,
              before / one);
  return got == want;
}

}  // namespace

int main(int n_args, char** args) {
  const std::vector<std::string> chosen(args + 1, args + n_args);
  std::printf("ns a value: value by value, words, words on all threads; times as fast\n");
  bool are_same = true;
  for (const QuantFormat& format : kQuantFormats) {
    const std::string name = weight_type_traits(format.type).name;
    if (chosen.empty() || std::ranges::find(chosen, name) != chosen.end())
      are_same = bench(format.type) && are_same;
  }
  if (!are_same) std::printf("the tiles differ\n");
  return are_same ? EXIT_SUCCESS : EXIT_FAILURE;
}
