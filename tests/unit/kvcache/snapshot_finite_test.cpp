// What is no number is not saved: it would be refused as damaged each time the chat is opened.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "kernels/base/half.h"
#include "kvcache/snapshot/finite_values.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;

template <class Number>
std::array<Number, 9> numbers_with(Number one, std::size_t at) {
  std::array<Number, 9> all;
  all.fill(static_cast<Number>(1));
  all[at] = one;
  return all;
}

TEST(FiniteValues, are_told_from_others_at_every_place) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t at = 0; at < 9; ++at) {
    for (const float bad : {infinity, -infinity, nan}) {
      const auto floats = numbers_with(bad, at);
      EXPECT_FALSE(are_finite_floats(std::as_bytes(std::span(floats)))) << at;
      std::array<Half, 9> halves;
      for (std::size_t i = 0; i < 9; ++i) halves[i] = float_to_half(floats[i]);
      EXPECT_FALSE(are_finite_halves(std::as_bytes(std::span(halves)))) << at;
    }
    const auto largest = numbers_with(-std::numeric_limits<float>::max(), at);
    EXPECT_TRUE(are_finite_floats(std::as_bytes(std::span(largest)))) << at;
    std::array<Half, 9> halves;
    halves.fill(float_to_half(-65504.0f));
    EXPECT_TRUE(are_finite_halves(std::as_bytes(std::span(halves)))) << at;
  }
}

void make_infinite(CacheState& cache, void* half) {
  const Half infinite = float_to_half(std::numeric_limits<float>::infinity());
  ASSERT_TRUE(
      cache.backend.upload(static_cast<std::byte*>(half), std::as_bytes(std::span(&infinite, 1)))
          .ok());
}

TEST(SnapshotFinite, what_is_infinite_is_not_saved_and_what_was_saved_before_stays) {
  const std::array<std::function<void*(CacheState&)>, 3> places = {
      [](CacheState& cache) { return cache.lanes[0].sinks().k; },
      [](CacheState& cache) { return cache.lanes[1].tail().v; },
      [](CacheState& cache) -> void* {
        const PageRecord& page = cache.lanes[1].pages().back();
        for (const kernels::Plane& plane : page.layout->k.all())
          if (holds_halves(plane)) return cache.arena.at(page.extent) + plane.at;
        return nullptr;
      }};
  for (std::size_t place = 0; place < places.size(); ++place) {
    MemoryRecordStore store;
    Saved cache(store, small("full"));
    ASSERT_TRUE(cache.driver.read(700).ok());
    ASSERT_TRUE(cache.save().ok());
    ASSERT_TRUE(cache.driver.read(300).ok());
    CacheState& state = cache.driver.cache().state();
    void* const at = places[place](state);
    ASSERT_NE(at, nullptr) << place;
    make_infinite(state, at);
    const auto saved = cache.save();
    ASSERT_FALSE(saved.ok()) << place;
    EXPECT_EQ(saved.error().code, "CACHE_NAN");
    Saved reader(store, small("full"));
    const auto report = reader.restore(1000);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->reason, RereadReason::none) << report->detail;
    EXPECT_EQ(report->n_tokens, 700u);
  }
}

}  // namespace
}  // namespace satchel::kvcache
