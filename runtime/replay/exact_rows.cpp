#include "runtime/replay/exact_rows.h"

#include "kernels/base/assert.h"
#include "runtime/replay/replay.h"

namespace satchel::runtime {

Result<void> ExactRows::keep(kvcache::Cache& cache, std::size_t n_tokens, const std::byte* kept) {
  SATCHEL_ASSERT(empty());
  const std::size_t n = fidelity_rows(n_tokens), bytes = kept_bytes(model_.config(), n);
  kvcache::Arena& arena = cache.arena();
  const Result<kvcache::ExtentId> extent = arena.take(bytes);
  if (!extent.ok()) return {};
  const Result<void> copied = model_.backend().copy(arena.at(*extent), kept, bytes);
  if (!copied.ok()) {
    arena.give(*extent);
    return copied;
  }
  arena_ = &arena;
  extent_ = *extent;
  end_ = cache.n_tokens();
  n_ = n;
  return {};
}

void ExactRows::drop() {
  if (!empty()) arena_->give(extent_);
  n_ = end_ = 0;
}

std::size_t ExactRows::bytes() const {
  return empty() ? 0 : arena_->bytes_of(extent_);
}

Result<Fidelity> ExactRows::compare(kvcache::Cache& cache, std::span<const std::int32_t> tokens,
                                    const std::stop_token& stop) const {
  SATCHEL_ASSERT(!empty());
  const auto exact = [this] { return measured_rows(model_.config(), n_, arena_->at(extent_)); };
  Fidelity measured;
  {
    SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease compressed,
                       replay_rows(model_, {.cache = cache,
                                            .ids = tokens.subspan(end_ - n_, n_),
                                            .first = end_ - n_,
                                            .before = tokens.first(end_ - n_),
                                            .stop = stop}));
    SATCHEL_TRY_ASSIGN(
        measured, compare_rows(model_, cache.arena(),
                               {.exact = [&exact] { return exact().rows; },
                                .compressed = reinterpret_cast<const float*>(compressed.data()),
                                .n_tokens = n_}));
  }
  SATCHEL_TRY_ASSIGN(measured.attention_kept,
                     attention_kept(model_, {.cache = cache,
                                             .end = end_,
                                             .n_tokens = n_,
                                             .exact = [&exact] { return exact().samples; },
                                             .stop = stop}));
  return measured;
}

}  // namespace satchel::runtime
