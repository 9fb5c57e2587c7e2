// Encodes pages, each by one thread. The reference's loops encode what the level's kernel does not:
// operands with a codec's own loops, exact ones, and values that are not finite.
#include <atomic>
#include <cmath>
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/contract/plane_halves.h"
#include "kernels/contract/row_order.h"
#include "kernels/contract/transform.h"
#include "kernels/cpu/backend/backend_cpu.h"
#include "kernels/reference/codec_mixed_bit.h"
#include "kernels/reference/page_codec.h"

namespace satchel::kernels::cpu {
namespace {

// x [n_rows, n_columns] into the planes of an affine operand.
void pack(const EncodeTable& table, const OperandLayout& operand, const float* x,
          std::size_t n_rows, std::size_t n_columns, std::byte* page) {
  const Plane &codes = operand.at(PlaneKind::codes), *low = operand.find(PlaneKind::low_codes);
  const Plane* const zeros = operand.find(PlaneKind::zero);
  std::uint16_t slots[kHeadDimMax];
  for (std::size_t i = 0; i < n_columns; ++i)
    slots[i] = static_cast<std::uint16_t>(slot_of_entry(n_columns, i));
  table.encode({.x = x,
                .n_rows = n_rows,
                .n_columns = n_columns,
                .bits = codes.bits + (low == nullptr ? std::size_t{0} : 1),
                .group = codes.group,
                .clips = operand.clips,
                .slots = slots,
                .scales = halves(page, operand.at(PlaneKind::scale)),
                .zeros = zeros == nullptr ? nullptr : halves(page, *zeros),
                .codes = page + codes.at,
                .low_codes = low == nullptr ? nullptr : page + low->at});
}

class PagePacker {
 public:
  // x: 5 / 4 · kPageTokens · head_dim floats of scratch
  PagePacker(const KernelTable& kernels, const EncodeArgs& args, float* x)
      : table_(kernels.encode),
        transform_keys_(kernels.attend.transform_keys),
        args_(args),
        layout_(*args.layout),
        n_(args.exact.n_tokens),
        x_(x) {}

  void run(NumericWarnings& warnings) {
    reference::encode_frame(args_);
    for (const Operand which : {Operand::k, Operand::v}) {
      const Half* from = which == Operand::k ? args_.exact.k : args_.exact.v;
      const OperandLayout& operand = layout_.of(which);
      // The reference counts and mends NaN and infinities, which are not expected.
      const bool is_known = operand.is_affine() || operand.is_mixed_bit();
      if (n_ == 0 || !is_known || !table_.all_finite(from, n_ * layout_.head_dim))
        reference::encode_operand(layout_, which, from, n_, args_.page, warnings);
      else if (operand.is_mixed_bit())
        mixed_bit_keys();
      else if (which == Operand::k)
        keys();
      else
        values();
    }
  }

 private:
  void keys() {
    const std::size_t d = layout_.head_dim;
    transformed(layout_.k, args_.exact.k, x_);
    pack(table_, layout_.k, x_, n_, d, args_.page);
  }

  // Channels become rows; missing tokens are columns of zeros, which are encoded as zero bytes.
  void values() {
    const std::size_t d = layout_.head_dim, capacity = layout_.capacity;
    if (n_ < capacity) std::memset(x_, 0, d * capacity * sizeof(float));
    table_.load_transformed(args_.exact.v, n_, d, x_, capacity);
    if (layout_.v.transform == Transform::hadamard) {
      const std::size_t block = hadamard_block(d);
      table_.transform_columns(x_, d, capacity, block,
                               static_cast<float>(1 / std::sqrt(static_cast<double>(block))));
      table_.clamp(x_, d * capacity);
    }
    pack(table_, layout_.v, x_, d, capacity, args_.page);
  }

  void mixed_bit_keys() {
    transformed(layout_.k, args_.exact.k, x_);
    auto* const codes = reinterpret_cast<std::uint8_t*>(x_ + n_ * layout_.head_dim);
    table_.encode_mixed_bit({.x = x_,
                             .n_tokens = n_,
                             .head_dim = layout_.head_dim,
                             .quad_bits = layout_.k.quad_bits.data(),
                             .scales = halves(args_.page, layout_.k.at(PlaneKind::scale)),
                             .zeros = halves(args_.page, layout_.k.at(PlaneKind::zero)),
                             .codes = codes});
    reference::put_mixed_bit_codes(layout_, layout_.k, codes, n_, args_.page);
  }

  void transformed(const OperandLayout& operand, const Half* from, float* to) {
    const std::size_t d = layout_.head_dim;
    table_.load(from, n_ * d, to);
    if (operand.transform == Transform::none) return;
    if (operand.transform == Transform::basis) {
      rotate_rows(operand.basis.rope, -frame_of(layout_, args_.page), to, n_, d);
      transform_keys_(operand.basis.to, to, n_, d);
    } else {
      transform_rows(operand.transform, to, n_, d);
    }
    table_.clamp(to, n_ * d);
  }

  const EncodeTable& table_;
  decltype(AttendTable::transform_keys) transform_keys_;
  const EncodeArgs& args_;
  const PageLayout& layout_;
  std::size_t n_;
  float* x_;
};

}  // namespace

Result<void> CpuBackend::encode_pages(std::span<const EncodeArgs> items) {
  std::size_t values = 0;
  for (const EncodeArgs& args : items)
    values = std::max(values, kPageTokens * std::size_t{args.layout->head_dim} * 5 / 4);
  SATCHEL_TRY_ASSIGN(float* const memory, scratch_.take(context_.pool.n_threads() * values));
  std::atomic<std::size_t> n_nan = 0, n_infinite = 0;
  context_.pool.parallel_for(
      items.size(), 1, [&](std::size_t begin, std::size_t, std::size_t thread) {
        NumericWarnings warnings;
        PagePacker(context_.kernels, items[begin], memory + thread * values).run(warnings);
        n_nan += warnings.n_nan;
        n_infinite += warnings.n_infinite;
      });
  warnings_.n_nan += n_nan;
  warnings_.n_infinite += n_infinite;
  return {};
}

// By the reference's loops, because no hot path decodes whole pages.
Result<void> CpuBackend::decode_pages(std::span<const DecodeArgs> items) {
  context_.pool.parallel_for(items.size(), 1, [&](std::size_t begin, std::size_t, std::size_t) {
    reference::decode_page(items[begin]);
  });
  return {};
}

}  // namespace satchel::kernels::cpu
