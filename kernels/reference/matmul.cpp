#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/backend_reference.h"
#include "kernels/reference/dequant.h"

namespace satchel::kernels::reference {

namespace {

// Reads the file's bytes in place.
class ReferenceWeight final : public Weight {
 public:
  explicit ReferenceWeight(const WeightSource& source)
      : Weight(source.type, source.n_out, source.n_in), source_(source) {}
  std::size_t owned_bytes() const override { return 0; }
  const WeightSource& source() const { return source_; }

 private:
  WeightSource source_;
};

const WeightSource& source_of(const Weight& weight) {
  return static_cast<const ReferenceWeight&>(weight).source();
}

}  // namespace

Result<std::unique_ptr<Weight>> ReferenceBackend::load_weight(const WeightSource& source) {
  source.check();
  return std::unique_ptr<Weight>(std::make_unique<ReferenceWeight>(source));
}

Result<void> ReferenceBackend::embed(const Weight& weight, std::span<const std::int32_t> ids,
                                     float* out) {
  const WeightSource& table = source_of(weight);
  const std::size_t row = *row_bytes(table.type, table.n_in);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    SATCHEL_ASSERT(ids[i] >= 0 && id < table.n_out);
    dequantise_row(table.type, table.bytes.data() + id * row, table.n_in, out + i * table.n_in);
  }
  return {};
}

Result<void> ReferenceBackend::matmul(const Weight& of, const float* x, std::size_t n_tokens,
                                      float* out) {
  const WeightSource& weight = source_of(of);
  const std::size_t row = *row_bytes(weight.type, weight.n_in);
  std::vector<float> values(weight.n_in);
  for (std::size_t r = 0; r < weight.n_out; ++r) {
    dequantise_row(weight.type, weight.bytes.data() + r * row, weight.n_in, values.data());
    for (std::size_t t = 0; t < n_tokens; ++t) {
      double sum = 0;
      for (std::size_t i = 0; i < weight.n_in; ++i)
        sum += static_cast<double>(values[i]) * static_cast<double>(x[t * weight.n_in + i]);
      out[t * weight.n_out + r] = static_cast<float>(sum);
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
