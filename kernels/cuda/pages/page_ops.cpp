#include "kernels/cuda/pages/page_ops.h"

#include <algorithm>
#include <vector>

#include "kernels/reference/page_codec.h"

namespace satchel::kernels::cuda {
namespace {

// The workspace of the kernels that encode; pages that do not fit go in several rounds. Chosen.
constexpr std::size_t kWorkBytesMost = std::size_t{64} << 20;

}  // namespace

Result<PageOps> PageOps::make(Device& device) {
  SATCHEL_TRY_ASSIGN(Buffer counts, device.allocate(sizeof(PageCounts)));
  return PageOps(device, std::move(counts));
}

Result<PagePlan> PageOps::plan_of(const PageLayout& layout) {
  if (layout.k.transform != Transform::basis || layout.k.code != nullptr)
    return page_plan(layout, {});
  SATCHEL_TRY_ASSIGN(const SentBasis sent, bases_.of(layout.k.basis, layout.head_dim));
  return page_plan(layout, sent.basis);
}

Result<void> PageOps::encode(std::span<const EncodeArgs> items, Arguments& arguments) {
  SATCHEL_TRY(bases_.begin());
  std::vector<EncodeItem> queued;
  PackShape shape(device_->shared_bytes_max());
  for (const EncodeArgs& args : items) {
    SATCHEL_TRY_ASSIGN(const PagePlan plan, plan_of(*args.layout));
    shape.add(plan);
    queued.push_back(
        {.plan = plan, .exact = args.exact, .log_counts = args.log_counts, .page = args.page});
  }
  SATCHEL_TRY(pack(queued, shape, arguments));
  for (const EncodeArgs& args : items)
    for (const Operand which : {Operand::k, Operand::v}) SATCHEL_TRY(encode_coded(args, which));
  return {};
}

Result<void> PageOps::pack(std::span<const EncodeItem> items, const PackShape& shape,
                           Arguments& arguments) {
  SATCHEL_TRY_ASSIGN(const auto [there], arguments.put(items));
  const std::size_t of_item = shape.work_floats() * sizeof(float);
  const std::size_t most =
      of_item == 0 ? items.size() : std::max<std::size_t>(kWorkBytesMost / of_item, 1);
  SATCHEL_TRY(device_->reserve(work_, std::min(items.size(), most) * of_item));
  for (std::size_t first = 0; first < items.size(); first += most)
    SATCHEL_TRY(device_->check(encode_pages(
        device_->queue(), there + first, std::min(most, items.size() - first), shape,
        reinterpret_cast<float*>(work_.data()), reinterpret_cast<PageCounts*>(counts_.data()))));
  return {};
}

// Encodes the operand's planes; the rest of the page has been queued.
Result<void> PageOps::encode_coded(const EncodeArgs& args, Operand which) {
  const PageLayout& layout = *args.layout;
  const OperandLayout& operand = layout.of(which);
  const std::size_t n = args.exact.n_tokens;
  if (operand.code == nullptr || n == 0) return {};
  std::vector<Half> rows(n * layout.head_dim);
  std::vector<std::byte> page(layout.bytes);
  const auto positions = std::span(page).subspan(layout.positions_at, n * sizeof(std::int32_t));
  SATCHEL_TRY(device_->download(
      std::as_writable_bytes(std::span(rows)),
      reinterpret_cast<const std::byte*>(which == Operand::k ? args.exact.k : args.exact.v)));
  SATCHEL_TRY(
      device_->download(positions, reinterpret_cast<const std::byte*>(args.exact.positions)));
  reference::encode_operand(layout, which, rows.data(), n, page.data(), in_main_memory_);
  for (const Plane& plane : operand.all())
    SATCHEL_TRY(
        device_->upload(args.page + plane.at, std::span(page).subspan(plane.at, plane.bytes)));
  return {};
}

Result<void> PageOps::decode(std::span<const DecodeArgs> items, Arguments& arguments) {
  SATCHEL_TRY(bases_.begin());
  std::vector<DecodeItem> queued;
  unsigned head_dim_max = 0;
  for (const DecodeArgs& args : items) {
    SATCHEL_TRY_ASSIGN(const PagePlan plan, plan_of(*args.layout));
    head_dim_max = std::max(head_dim_max, plan.head_dim);
    queued.push_back({.plan = plan,
                      .page = args.page,
                      .n_tokens = static_cast<unsigned>(args.n_tokens),
                      .k = args.k,
                      .v = args.v});
  }
  SATCHEL_TRY_ASSIGN(const auto there, arguments.put(std::span<const DecodeItem>(queued)));
  SATCHEL_TRY(device_->check(
      decode_pages(device_->queue(), std::get<0>(there), items.size(), head_dim_max)));
  for (const DecodeArgs& args : items)
    for (const Operand which : {Operand::k, Operand::v}) SATCHEL_TRY(decode_coded(args, which));
  return {};
}

Result<void> PageOps::decode_coded(const DecodeArgs& args, Operand which) {
  const PageLayout& layout = *args.layout;
  float* const to = which == Operand::k ? args.k : args.v;
  if (layout.of(which).code == nullptr || to == nullptr) return {};
  std::vector<std::byte> page(layout.bytes);
  std::vector<float> rows(args.n_tokens * layout.head_dim);
  SATCHEL_TRY(device_->download(page, args.page));
  reference::decode_operand(layout, which, page.data(), args.n_tokens, rows.data());
  return device_->upload(reinterpret_cast<std::byte*>(to), std::as_bytes(std::span(rows)));
}

Result<NumericWarnings> PageOps::take_warnings() {
  PageCounts counts;
  SATCHEL_TRY(device_->download(std::as_writable_bytes(std::span(&counts, 1)), counts_.data()));
  const PageCounts none = {};
  if (counts.n_nan + counts.n_infinite > 0)
    SATCHEL_TRY(device_->upload(counts_.data(), std::as_bytes(std::span(&none, 1))));
  const NumericWarnings before = std::exchange(in_main_memory_, {});
  return NumericWarnings{.n_nan = before.n_nan + counts.n_nan,
                         .n_infinite = before.n_infinite + counts.n_infinite};
}

}  // namespace satchel::kernels::cuda
