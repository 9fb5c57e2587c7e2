// What the bytes of a page stand for, for every codec: a saved cache is read by later versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "kernels/base/rng.h"
#include "kvcache/snapshot/manifest.h"
#include "support/source_dir.h"
#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using kernels::PlaneKind;

constexpr std::size_t kDim = 64, kTokens = 128;

// Any codes, places that exist, and values between 0.5 and 2 in size: in each byte order all there
// is to a page, whoever encodes it.
void fill_plane(const kernels::Plane& plane, Rng& rng, std::byte* page) {
  const std::size_t n_bytes = plane.bits > 8 ? plane.bits / 8 : 1;  // of a value
  for (std::size_t i = 0; i < plane.bytes; ++i) {
    const auto any = static_cast<std::uint8_t>(rng.next() >> 32);
    const bool is_top = n_bytes > 1 && i % n_bytes == n_bytes - 1;
    std::uint8_t value = any;
    if (plane.kind == PlaneKind::kept_channels || plane.kind == PlaneKind::outlier_places)
      value = is_top ? 0 : any % kDim;
    else if (is_top)  // sign and exponent of fp16 or fp32
      value = static_cast<std::uint8_t>((any & 0x80) | (n_bytes == 2 ? 0x38 | (any & 7) : 0x3f));
    page[plane.at + i] = static_cast<std::byte>(value);
  }
}

// A number that moves with every value, and hardly with the rounding of their last bits.
double weighted_sum(const std::vector<float>& x) {
  Rng weights(5);
  double sum = 0;
  for (const float value : x) sum += (weights.uniform() - 0.5) * double{value};
  return sum;
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-5 * std::max(1.0, std::abs(b));
}

// By codec and parameters: the sums of K and V of its fixed page.
using Sums = std::map<std::string, std::pair<double, double>>;

Sums golden_sums() {
  std::ifstream file(test::source_dir() + "/tests/golden/codec/decoded.txt");
  Sums sums;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, bits;
    double k = 0, v = 0;
    if (words >> name >> bits >> k >> v) sums[name + " " + bits] = {k, v};
  }
  return sums;
}

Sums decoded_sums() {
  const auto backend = test::open_reference();
  Sums sums;
  for (const StageEntry* entry : stages_of(StageKind::codec))
    for (const std::string bits : {"default", "2", "3", "4", "5", "8"}) {
      const JsonNode node =
          parse_json(bits == "default" ? "{}" : "{\"bits\": " + bits + "}", "test").value();
      Params params(node, "test");
      const auto stage = entry->make(params);
      if (!stage.ok() || !params.check_all_known().ok()) continue;
      kernels::PageLayout layout = layout_of(static_cast<const Codec&>(**stage), kDim, kTokens);
      if (layout.k.transform == kernels::Transform::basis)  // key bases have a version of their own
        layout.k.transform = kernels::Transform::none;
      std::vector<std::byte> page(layout.bytes);
      std::vector<float> k(kTokens * kDim), v(kTokens * kDim);
      Rng rng(7);
      for (const kernels::OperandLayout* operand : {&layout.k, &layout.v})
        for (const kernels::Plane& plane : operand->all()) fill_plane(plane, rng, page.data());
      const kernels::DecodeArgs decode{.layout = &layout,
                                       .page = page.data(),
                                       .n_tokens = kTokens,
                                       .k = k.data(),
                                       .v = v.data()};
      EXPECT_TRUE(backend->decode_pages({&decode, 1}).ok());
      EXPECT_TRUE(backend->finish().ok());
      sums[std::string(entry->name) + " " + bits] = {weighted_sum(k), weighted_sum(v)};
    }
  return sums;
}

TEST(GoldenDecode, of_every_codec_is_what_saved_pages_stand_for) {
  const Sums golden = golden_sums(), now = decoded_sums();
  for (const auto& [name, sums] : now) {
    std::ostringstream line;
    line.precision(10);
    line << name << " " << sums.first << " " << sums.second;
    const auto known = golden.find(name);
    if (known == golden.end()) {
      ADD_FAILURE() << "A new codec: add to tests/golden/codec/decoded.txt:\n" << line.str();
      continue;
    }
    const bool is_same =
        is_near(sums.first, known->second.first) && is_near(sums.second, known->second.second);
    EXPECT_TRUE(is_same) << "Saved pages would now be read as other numbers. If that is meant, "
                            "raise the code's version in kCodeVersions (kvcache/snapshot/"
                            "manifest.h), and put into tests/golden/codec/decoded.txt:\n"
                         << line.str();
  }
  EXPECT_EQ(golden.size(), now.size()) << "decoded.txt lists a codec that is gone";
}

TEST(GoldenDecode, a_raised_version_is_in_the_bytes_that_caches_are_compared_by) {
  const Recipe recipe = Recipe::builtin("gear").value();
  CacheShape shape;
  shape.layers.push_back({.n_heads = 1, .n_kv_heads = 1, .head_dim = kDim, .attention_scale = 1});
  const CacheLayout layout(shape, recipe, TierLayouts::make(shape, recipe.pipeline()).value());
  const auto bytes = [&](std::vector<CodeVersion> codes, std::uint16_t numerics = 1) {
    return layout_bytes(layout, numerics, codes);
  };
  const std::vector<std::byte> first = bytes({});
  EXPECT_EQ(bytes({{"gear.k", 1}, {"", 1}}), first);
  EXPECT_EQ(bytes({{"kvquant", 2}}), first);  // not used here
  EXPECT_NE(bytes({{"gear.k", 2}}), first);
  EXPECT_NE(bytes({{"gear.k", 2}}), bytes({{"gear.k", 3}}));
  EXPECT_NE(bytes({{"", 2}}), first);  // exact pages
  EXPECT_NE(bytes({}, 2), first);
}

}  // namespace
}  // namespace satchel::kvcache
