// Weights on their way to the card: tiles as the layout places each value, made in stretches by
// several threads, without a copy of the whole.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/backend/backend_cuda.h"
#include "kernels/cuda/device/transfers.h"
#include "kernels/cuda/weights/over_threads.h"
#include "kernels/cuda/weights/tile_layout.h"
#include "kernels/cuda/weights/tile_pack.h"
#include "kernels/reference/dequant.h"
#include "simt/on_executor.h"
#include "support/tile_oracle.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace satchel::kernels::cuda {
namespace {

class WeightLoading : public OnExecutor {};

// Rows and values that do not fill a tile or a chunk among them. Memory is full of ones before.
TEST_F(WeightLoading, packs_each_types_tiles_as_they_are_value_by_value) {
  for (const QuantFormat& format : kQuantFormats) {
    const std::size_t unit = format.blocks() * 32;
    for (const std::size_t n_out : {1u, 16u, 35u})
      for (const std::size_t n_in : {unit, 3 * unit, 8 * unit}) {
        SCOPED_TRACE(std::string(weight_type_traits(format.type).name) + " " +
                     std::to_string(n_out) + " x " + std::to_string(n_in));
        std::vector<std::byte> file(n_out * *row_bytes(format.type, n_in));
        std::uint32_t state = 1;
        for (std::byte& b : file) b = static_cast<std::byte>((state = state * 1664525u + 1u) >> 24);
        const WeightSource source{.type = format.type, .n_out = n_out, .n_in = n_in, .bytes = file};
        const std::vector<std::byte> want = test::tiles_value_by_value(source);
        const std::size_t tile = tile_plan(tile_shape(format.type), n_in).tile_bytes;
        std::vector<std::byte> got(want.size(), std::byte{0xff});
        for (std::size_t first = 0; first * tile < want.size(); ++first)
          pack_tiles(source, first, 1, got.data() + first * tile);
        EXPECT_EQ(got, want);
        got.assign(want.size(), std::byte{0xff});
        pack_tiles(source, 0, want.size() / tile, got.data());
        EXPECT_EQ(got, want);
      }
  }
}

TEST_F(WeightLoading, divides_a_loop_among_threads_each_part_once) {
  for (const std::size_t n : {0u, 1u, 7u, 1000u})
    for (const std::size_t grain : {1u, 3u, 2000u}) {
      std::vector<std::atomic<int>> taken(n);
      over_threads(n, grain, [&](std::size_t first, std::size_t n_part) {
        EXPECT_LE(n_part, grain);
        for (std::size_t i = first; i < first + n_part; ++i) ++taken[i];
      });
      for (const auto& each : taken) EXPECT_EQ(each, 1);
    }
}

// Larger than two slots; the owner of the file hears of each byte once.
TEST_F(WeightLoading, of_a_matrix_larger_than_the_slots_gives_its_rows_and_lets_the_file_go) {
  constexpr std::size_t kOut = 2500, kIn = 8192;
  const auto backend = value_of(make_backend());
  for (const WeightType type : {WeightType::q8_0, WeightType::iq1_s}) {
    const test::WeightFile file = test::random_weight(type, kOut, kIn, 1);
    WeightSource source = file.source();
    std::size_t n_let_go = 0;
    source.done_with = [&](std::span<const std::byte> part) {
      EXPECT_EQ(part.data(), source.bytes.data() + n_let_go);
      n_let_go += part.size();
    };
    const auto table = value_of(backend->load_weight(source));
    EXPECT_GT(table->owned_bytes(), 2 * kSlotBytes);
    EXPECT_EQ(n_let_go, source.bytes.size());
    const std::vector<std::int32_t> ids = {0, 999, 1023, 1024, 2047, 2048, 2499};
    Buffer out = value_of(backend->allocate(ids.size() * kIn * sizeof(float)));
    ASSERT_TRUE(backend->embed(*table, ids, reinterpret_cast<float*>(out.data())).ok());
    std::vector<float> got(ids.size() * kIn), want(kIn);
    ASSERT_TRUE(backend->download(std::as_writable_bytes(std::span(got)), out.data()).ok());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::size_t row = source.bytes.size() / kOut;
      dequantise_row(type, source.bytes.data() + static_cast<std::size_t>(ids[i]) * row, kIn,
                     want.data());
      const auto of_row = std::span(got).subspan(i * kIn, kIn);
      EXPECT_TRUE(std::ranges::equal(of_row, want)) << "row " << ids[i];
    }
  }
}

// Where no slots can be had; and a piece that is larger than one.
TEST_F(WeightLoading, does_without_slots) {
  for (const bool has_slots : {false, true}) {
    const std::size_t n_in = has_slots ? kSlotBytes / 4 + 256 : 256, n_out = 3;
    const auto backend = value_of(make_backend());
    const test::WeightFile file = test::random_weight(WeightType::iq1_s, n_out, n_in, 2);
    if (!has_slots) simt::fail_call(2, cudaErrorMemoryAllocation);  // zeroing; the slots' stream
    const auto table = value_of(backend->load_weight(file.source()));
    simt::fail_no_call();
    Buffer out = value_of(backend->allocate(n_in * sizeof(float)));
    const std::int32_t id = 2;
    ASSERT_TRUE(backend->embed(*table, {&id, 1}, reinterpret_cast<float*>(out.data())).ok());
    std::vector<float> got(n_in), want(n_in);
    ASSERT_TRUE(backend->download(std::as_writable_bytes(std::span(got)), out.data()).ok());
    const std::size_t row = file.source().bytes.size() / n_out;
    dequantise_row(WeightType::iq1_s, file.source().bytes.data() + 2 * row, n_in, want.data());
    EXPECT_TRUE(got == want);
  }
}

}  // namespace
}  // namespace satchel::kernels::cuda
