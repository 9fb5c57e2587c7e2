// Packs one page. A page takes some microseconds: not worth a second thread.
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/contract/row_order.h"
#include "kernels/cpu/cache_ops.h"
#include "kernels/cpu/encode_table.h"
#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::cpu {
namespace {

struct Slots {
  std::uint16_t of[256];
  explicit Slots(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) of[i] = static_cast<std::uint16_t>(slot_of_entry(n, i));
  }
};

Half* halves(std::byte* page, std::size_t at) {
  return reinterpret_cast<Half*>(page + at);
}

}  // namespace

Result<EncodeHealth> encode_page(const CpuContext& context, AttendScratch& scratch,
                                 const PageLayout& layout, const ExactRun& exact, std::byte* page) {
  SATCHEL_ASSERT(exact.n_tokens == kPageTokens);
  const EncodeTable& table = context.level == CpuLevel::avx2 ? kEncodeAvx2 : kEncodeAvx512;
  const std::size_t d = layout.head_dim, n = kPageTokens * d;
  // NaN and infinities are counted and mended value by value; they should not be there.
  if (layout.form == PageForm::exact16 || !table.all_finite(exact.k, n) ||
      !table.all_finite(exact.v, n))
    return reference::encode_page(layout, exact, page);

  SATCHEL_TRY_ASSIGN(float* const x, scratch.take(n));
  std::memset(page + layout.v_codes_at, 0, layout.bytes - layout.v_codes_at);  // the padding
  std::memcpy(page + layout.positions_at, exact.positions, kPageTokens * sizeof(std::int32_t));
  const Slots of_channel(d), of_token(kPageTokens);
  table.load(exact.k, kPageTokens, d, x);
  table.encode({.x = x,
                .n_rows = kPageTokens,
                .n_columns = d,
                .bits = layout.k_bits,
                .group = layout.k_group,
                .slots = of_channel.of,
                .scales = halves(page, layout.k_scale_at),
                .zeros = halves(page, layout.k_zero_at),
                .codes = page + layout.k_codes_at});
  table.load_turned(exact.v, kPageTokens, d, x);
  table.encode({.x = x,
                .n_rows = d,
                .n_columns = kPageTokens,
                .bits = layout.v_bits,
                .group = layout.v_group,
                .slots = of_token.of,
                .scales = halves(page, layout.v_scale_at),
                .zeros = halves(page, layout.v_zero_at),
                .codes = page + layout.v_codes_at});
  return EncodeHealth{};
}

Result<void> decode_page(const CpuContext&, const PageLayout& layout, const std::byte* page,
                         float* k, float* v) {
  return reference::decode_page(layout, page, k, v);  // no operation on a hot path needs it
}

}  // namespace satchel::kernels::cpu
