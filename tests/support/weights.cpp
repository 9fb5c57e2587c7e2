#include "support/weights.h"

#include <cstring>

#include "kernels/base/half.h"
#include "kernels/base/rng.h"

namespace satchel::test {
namespace {

using kernels::WeightType;

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Makes the header of one block (random bytes so far) hold sane scales.
void set_scales(WeightType type, std::byte* block, Rng& rng) {
  const auto half = [&](double low, double high) {
    return float_to_half(static_cast<float>(low + (high - low) * rng.uniform()));
  };
  switch (type) {
    case WeightType::f32:
      return put(block, static_cast<float>(rng.uniform() * 0.4 - 0.2));
    case WeightType::f16:
      return put(block, half(-0.2, 0.2));
    case WeightType::bf16: {
      const float value = static_cast<float>(rng.uniform() * 0.4 - 0.2);
      return std::memcpy(block, reinterpret_cast<const char*>(&value) + 2, 2), void();
    }
    case WeightType::q4_0:
      return put(block, half(-0.02, 0.02));
    case WeightType::q5_0:
      return put(block, half(-0.01, 0.01));
    case WeightType::q8_0:
      return put(block, half(0.0005, 0.0015));
    case WeightType::q4_1:
      put(block, half(0.01, 0.02));
      return put(block + 2, half(-0.2, 0.0));
    case WeightType::q5_1:
      put(block, half(0.005, 0.01));
      return put(block + 2, half(-0.2, 0.0));
    case WeightType::q4_k:
      put(block, half(0.0002, 0.0004));
      return put(block + 2, half(0.0, 0.004));
    case WeightType::q5_k:
      put(block, half(0.0001, 0.0002));
      return put(block + 2, half(0.0, 0.004));
    case WeightType::q6_k:
      return put(block + 208, half(0.00005, 0.0001));
    case WeightType::q2_k:
      put(block + 80, half(0.004, 0.008));
      return put(block + 82, half(0.0, 0.01));
    case WeightType::q3_k:
      return put(block + 108, half(0.0015, 0.003));
    case WeightType::iq1_s:
      return put(block, half(0.01, 0.02));
    case WeightType::iq1_m: {  // a nibble of each of four words
      const unsigned d = half(0.01, 0.02);
      for (unsigned i = 0; i < 4; ++i)
        block[49 + 2 * i] =
            (block[49 + 2 * i] & std::byte{15}) | static_cast<std::byte>((d >> (4 * i) & 15u) << 4);
      return;
    }
    case WeightType::iq2_s:
    case WeightType::iq2_xs:
    case WeightType::iq2_xxs:
      return put(block, half(0.001, 0.002));
    case WeightType::iq3_xxs:
      return put(block, half(0.0003, 0.0006));
    case WeightType::iq3_s:
      return put(block, half(0.0004, 0.0008));
    case WeightType::iq4_nl:
      return put(block, half(-0.0015, 0.0015));
    case WeightType::iq4_xs:
      return put(block, half(0.00003, 0.00006));
    case WeightType::mxfp4:
      block[0] = static_cast<std::byte>(119 + rng.uniform() * 4);
      return;
    case WeightType::tq1_0:
      return put(block + 52, half(0.1, 0.2));
    case WeightType::tq2_0:
      return put(block + 64, half(0.1, 0.2));
  }
}

}  // namespace

WeightFile::WeightFile(WeightType type, std::size_t n_out, std::size_t n_in)
    : type_(type), n_out_(n_out), n_in_(n_in), bytes_(*kernels::row_bytes(type, n_in) * n_out) {}

WeightFile random_weight(WeightType type, std::size_t n_out, std::size_t n_in, std::uint64_t seed) {
  WeightFile file(type, n_out, n_in);
  Rng rng(seed);
  for (std::byte& b : file.bytes()) b = static_cast<std::byte>(rng.next() >> 56);
  const std::size_t block = kernels::weight_type_traits(type).block_bytes;
  for (std::size_t at = 0; at < file.bytes().size(); at += block)
    set_scales(type, file.bytes().data() + at, rng);
  return file;
}

std::vector<float> random_values(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = -2;
    for (int k = 0; k < 4; ++k) sum += rng.uniform();
    out[i] = static_cast<float>(sum * 1.73 * (i % 50 == 49 ? 10 : 1));
  }
  return out;
}

}  // namespace satchel::test
