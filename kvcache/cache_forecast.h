// CacheForecast: what a cache would hold if text were read into it, lane by lane and page by page,
// without its memory and without a model. The same plans as reading itself goes by, so the bytes are
// those that a cache then takes (cache_forecast_test.cpp), as far as anybody can know them:
//   exact   where every token stays, or what each lane keeps is known beforehand (Allocator::known)
//   about   where the scores of the text share a total out: lanes are taken to keep what the model's
//           lane table says of such a share, or all alike where there is none
//   not     what is merely possible: of that cache_need() is the bound
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/base/result.h"
#include "kvcache/cache.h"

namespace satchel::kvcache {

class CacheForecast {
 public:
  // In an arena of so many bytes, of which others hold some all the time. It may be too small for the
  // cache: then nothing fits, but what would be held can still be counted.
  struct Memory {
    std::size_t arena_bytes = 0, others_bytes = 0;
  };
  static Result<CacheForecast> make(const CacheShape& shape, const Recipe& recipe,
                                    const Memory& memory);
  CacheForecast(CacheForecast&&) noexcept;
  ~CacheForecast();

  // As the Cache's.
  bool wants_pre_rope() const;
  ReadRequest reading_fits(const ReadRequest& request, Cache::OtherBytes other_bytes,
                           const void* context) const;
  // begin_reading() to commit(), whether or not it fits, with other_bytes taken beside it meanwhile.
  void read(const ReadRequest& request, std::size_t other_bytes);
  // What waits is decided, after the second pass where one is wanted. Whether anything did.
  bool decide();

  std::size_t n_tokens() const;
  std::size_t bytes() const;  // CacheStats::bytes

 private:
  struct State;
  explicit CacheForecast(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::kvcache
