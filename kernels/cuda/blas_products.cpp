#include "kernels/cuda/blas_products.h"

#include <algorithm>

#include "kernels/cuda/counts.h"
#include "kernels/cuda/half_products.h"

namespace satchel::kernels::cuda {
Result<BlasProducts::Opened> BlasProducts::open(Device& device,
                                                std::span<const std::string> files) {
  Opened opened;
  if (files.empty()) return opened;
  Result<std::unique_ptr<Blas>> blas = Blas::open(device, files);
  SATCHEL_TRY(device.finish());
  if (blas.ok())
    opened.products = std::make_unique<BlasProducts>(device, std::move(blas).value());
  else
    opened.why_not = blas.error().message;
  return opened;
}

Result<void> BlasProducts::multiply(std::span<const Product> products, const float* x,
                                    std::size_t n_tokens) {
  if (products.empty()) return {};
  const std::size_t n_in = products[0].weight->n_in, n_bytes = padded256(n_tokens * n_in * 2);
  SATCHEL_TRY(device_->make_room(activations_, n_bytes + n_tokens * sizeof(float)));
  SATCHEL_TRY(device_->check(round_activations(
      device_->queue(), x, n_tokens, n_in, reinterpret_cast<std::uint16_t*>(activations_.data()),
      reinterpret_cast<float*>(activations_.data() + n_bytes))));
  for (const Product& each : products) SATCHEL_TRY(multiply_one(each, n_tokens));
  return {};
}

// As many rows at a time as fit with what they give, whole tiles of them.
Result<void> BlasProducts::multiply_one(const Product& product, std::size_t n_tokens) {
  const std::size_t n_in = product.weight->n_in, n_out = product.weight->n_out;
  const std::size_t fit = slice_bytes_ / (n_in * 2 + n_tokens * sizeof(float));
  const std::size_t most = std::max<std::size_t>(fit / kTileRows, 1) * kTileRows;
  const std::size_t rows_bytes = padded256(most * n_in * 2);
  SATCHEL_TRY(device_->make_room(slice_, rows_bytes + most * n_tokens * sizeof(float)));
  auto* rows = reinterpret_cast<std::uint16_t*>(slice_.data());
  auto* out = reinterpret_cast<float*>(slice_.data() + rows_bytes);
  const std::byte* inverse = activations_.data() + padded256(n_tokens * n_in * 2);
  for (std::size_t first = 0; first < n_out; first += most) {
    const std::size_t n = std::min(most, n_out - first);
    SATCHEL_TRY(device_->check(round_rows(device_->queue(), *product.weight, first, n, rows)));
    SATCHEL_TRY(device_->check(device_->queue().send()));  // it goes to the stream by itself
    SATCHEL_TRY(blas_->multiply({.weight = rows,
                                 .x = reinterpret_cast<const std::uint16_t*>(activations_.data()),
                                 .out = out,
                                 .n_rows = n,
                                 .n_in = n_in,
                                 .n_tokens = n_tokens}));
    SATCHEL_TRY(device_->check(put_rows(device_->queue(), product, first, n, out,
                                        reinterpret_cast<const float*>(inverse), n_tokens)));
  }
  return {};
}

}  // namespace satchel::kernels::cuda
