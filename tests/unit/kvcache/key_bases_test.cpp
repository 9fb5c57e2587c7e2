// Key bases: there and back, as files, and of files that are none.
#include "kvcache/profile/key_bases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/half.h"
#include "kernels/base/rng.h"
#include "kernels/registry/registry.h"
#include "kvcache/base/hash.h"
#include "kvcache/cache/cache.h"
#include "unit/kvcache/cache_driver.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

std::vector<float> random_matrix(std::size_t d, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(d * d);
  for (float& x : out) x = static_cast<float>(rng.uniform() * 4 - 2);
  return out;
}
KeyBases of_lanes(const std::vector<std::size_t>& head_dims) {
  KeyBases bases{.model = "0123456789abcdef", .name = "a model", .source = "by hand", .lanes = {}};
  for (const std::size_t d : head_dims)
    bases.lanes.push_back({.head_dim = d, .to = random_matrix(d, 7 + d), .from = {}});
  return bases;
}
KeyBases made(const std::vector<std::size_t>& head_dims) {
  Result<KeyBases> bases = KeyBases::make(of_lanes(head_dims));
  EXPECT_TRUE(bases.ok()) << bases.error().message;
  return std::move(bases).value();
}
Error refused(std::string_view bytes, std::string_view remedy = "Delete the file") {
  const Result<KeyBases> bases = KeyBases::parse(bytes, "t.bases");
  EXPECT_FALSE(bases.ok());
  if (bases.ok()) return {};
  EXPECT_EQ(bases.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(bases.error().code, "KEY_BASES");
  EXPECT_THAT(bases.error().message, HasSubstr("t.bases"));
  EXPECT_THAT(bases.error().message, HasSubstr(std::string(remedy)));
  return bases.error();
}
// As if it had been written so.
std::string sealed(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(Hash128));
  const Hash128 hash = hash_bytes(std::as_bytes(std::span(bytes)));
  return bytes.append(reinterpret_cast<const char*>(hash.data()), hash.size());
}
// Behind magic, version, number of lanes and three texts.
std::size_t first_lane_at(const KeyBases& bases) {
  return 8 + 4 + 4 + 12 + bases.model.size() + bases.name.size() + bases.source.size();
}

TEST(KeyBases, turn_keys_and_queries_so_that_products_stay) {
  for (const std::size_t d : {1u, 16u, 64u, 80u, 128u, 256u}) {
    const KeyBases bases = made({d});
    const KeyBases::Lane& lane = bases.lanes[0];
    double worst = 0;
    for (std::size_t r = 0; r < d; ++r)
      for (std::size_t c = 0; c < d; ++c) {
        double sum = 0;
        for (std::size_t i = 0; i < d; ++i)
          sum += double{lane.to[r * d + i]} * double{lane.from[c * d + i]};
        worst = std::max(worst, std::abs(sum - (r == c ? 1 : 0)));
      }
    EXPECT_LT(worst, 1e-3) << d;
    for (const float x : lane.to) ASSERT_EQ(x, half_to_float(float_to_half(x)));
  }
}

TEST(KeyBases, are_the_same_after_a_file) {
  const KeyBases before = made({64, 16, 80});
  const std::string file = before.bytes();
  EXPECT_EQ(file.size(), first_lane_at(before) + 3 * 4 + 2 * (64 * 64 + 16 * 16 + 80 * 80) + 16);
  const Result<KeyBases> after = KeyBases::parse(file, "t.bases");
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->model, before.model);
  EXPECT_EQ(after->name, before.name);
  EXPECT_EQ(after->source, before.source);
  EXPECT_EQ(after->id, before.id);
  ASSERT_EQ(after->lanes.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(after->lanes[i].head_dim, before.lanes[i].head_dim);
    EXPECT_EQ(after->lanes[i].to, before.lanes[i].to);
    EXPECT_EQ(after->lanes[i].from, before.lanes[i].from);
  }
  EXPECT_EQ(after->bytes(), file);
}

TEST(KeyBases, are_known_by_their_matrices_and_not_by_their_texts) {
  KeyBases other = of_lanes({16, 16});
  const std::uint64_t id = made({16, 16}).id;
  other.name = "another name";
  EXPECT_EQ(KeyBases::make(other)->id, id);
  other.lanes[1].to[3] += 0.1f;
  EXPECT_NE(KeyBases::make(other)->id, id);
}

// What pages are bound to: whoever changes how keys are taken into coordinates reads chats again.
TEST(KeyBases, are_others_in_another_version_or_in_frames_of_another_length) {
  const KeyBases bases = made({16, 16});
  const auto id = [&](const KeyBasesForm& form) { return key_bases_id(bases.lanes, form); };
  EXPECT_EQ(id({}), bases.id);
  EXPECT_EQ(id({.version = kKeyBasesVersion, .frame_tokens = kernels::kFrameTokens}), bases.id);
  EXPECT_NE(id({.version = kKeyBasesVersion + 1}), bases.id);
  EXPECT_NE(id({.frame_tokens = kernels::kFrameTokens / 2}), bases.id);
  EXPECT_EQ(KeyBases::parse(bases.bytes(), "t.bases")->id, bases.id);
}

TEST(KeyBases, of_a_file_of_before_are_to_be_made_again) {
  const std::string file = made({16}).bytes();
  EXPECT_TRUE(file.starts_with("SATCHELK"));
  for (const char version : {'\1', '\2'}) {
    std::string before = file;
    before.replace(0, 9, std::string("SATCHELB") + version);
    EXPECT_THAT(refused(sealed(before), "Run \"satchel calibrate\" again").message,
                HasSubstr("from another version of Satchel"));
  }
  // A block of a saved cache: version 2 in two bytes, then its kind.
  std::string block = file;
  block.replace(0, 12, std::string("SATCHELB\2\0\1\0", 12));
  EXPECT_THAT(refused(sealed(block)).message, HasSubstr("is not a key bases file"));
}

TEST(KeyBases, without_an_inverse_are_not_made) {
  const auto flaw = [](std::vector<float> to) {
    KeyBases bases = of_lanes({16, 2});
    bases.lanes[1].to = std::move(to);
    const Result<KeyBases> made = KeyBases::make(std::move(bases));
    EXPECT_FALSE(made.ok());
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_THAT(flaw({1, 2, 2, 4}), HasSubstr("lane 1 is singular"));
  EXPECT_THAT(flaw({0, 0, 0, 0}), HasSubstr("lane 1 is singular"));
  EXPECT_THAT(flaw({1, 0, 0, 1e-5f}), HasSubstr("nearly singular"));
  EXPECT_THAT(flaw({1, 0, 0, 1e6f}), HasSubstr("too large for fp16"));
  EXPECT_THAT(flaw({1, 0, 0, std::numeric_limits<float>::quiet_NaN()}), HasSubstr("NaN"));
}

TEST(KeyBases, show_no_control_characters_on_a_terminal) {
  KeyBases bases = of_lanes({16});
  bases.name = "a \x1b[31mmodel\n";
  EXPECT_EQ(KeyBases::make(bases)->name, "a [31mmodel");
  std::string file = made({16}).bytes();
  file[8 + 4 + 4 + 4] = '\x1b';  // the first letter of the model
  EXPECT_THAT(refused(sealed(file)).message, HasSubstr("unprintable"));
}

TEST(KeyBases, of_a_file_that_is_cut_off_anywhere_are_refused) {
  const std::string file = made({16, 2}).bytes();
  for (std::size_t n = 0; n < file.size(); ++n) refused(std::string_view(file).substr(0, n));
  // Also where the checksum is right.
  for (std::size_t n = 24; n < file.size(); ++n) refused(sealed(file.substr(0, n)));
  refused(file + "x");
  refused(sealed(file + "x"));
}

TEST(KeyBases, of_a_file_with_a_flipped_bit_are_refused) {
  const std::string file = made({16, 2}).bytes();
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string flipped = file;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    refused(flipped);
  }
}

TEST(KeyBases, of_a_forged_file_are_refused_before_memory_is_taken) {
  const KeyBases bases = made({16, 2});
  const std::string file = bases.bytes();
  const auto with = [&](std::size_t at, std::uint32_t value) {
    std::string forged = file;
    for (std::size_t i = 0; i < 4; ++i) forged[at + i] = static_cast<char>(value >> (8 * i));
    return refused(sealed(forged), at == 8 ? "again" : "Delete the file").message;
  };
  const std::size_t lane = first_lane_at(bases);
  EXPECT_THAT(with(8, 1), HasSubstr("from another version"));
  EXPECT_THAT(with(12, 0), HasSubstr("no lanes"));
  EXPECT_THAT(with(12, 0xffffffffu), HasSubstr("no lanes, or too many"));
  EXPECT_THAT(with(12, 3), HasSubstr("impossible key size"));
  EXPECT_THAT(with(12, 1), HasSubstr("extra bytes after its last lane"));
  EXPECT_THAT(with(16, 0xffffffffu), HasSubstr("a text"));
  EXPECT_THAT(with(lane, 0), HasSubstr("impossible key size"));
  EXPECT_THAT(with(lane, kernels::kHeadDimMax + 1), HasSubstr("impossible key size"));
  EXPECT_THAT(with(lane, 256), HasSubstr("truncated"));
  EXPECT_THAT(with(lane + 4, 0x7c007c00u), HasSubstr("lane 0 contains a value that is NaN"));
  std::string zeros = file;
  std::fill_n(zeros.begin() + static_cast<std::ptrdiff_t>(lane + 4), 2 * 16 * 16, '\0');
  EXPECT_THAT(refused(sealed(zeros)).message, HasSubstr("lane 0 is singular"));
  EXPECT_THAT(refused(std::string(kKeyBasesBytesMax + 1, 'S')).message, HasSubstr("64 MiB"));
}

// Sealed, so that what is behind the checksum is met as well.
TEST(KeyBases, of_random_bytes_are_refused_or_whole) {
  const std::string file = made({16, 2, 8}).bytes();
  Rng rng(3);
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(rng.uniform() * double(n));
  };
  std::size_t n_whole = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = file;
    for (std::size_t i = 0, n = 1 + below(6); i < n; ++i)
      bytes[8 + below(bytes.size() - 8)] = static_cast<char>(below(256));
    if (below(4) == 0) bytes.resize(16 + below(bytes.size() - 16));
    if (below(8) == 0)
      for (char& c : bytes) c = static_cast<char>(below(256));
    const Result<KeyBases> bases = KeyBases::parse(sealed(bytes), "t.bases");
    if (!bases.ok()) {
      ASSERT_EQ(bases.error().code, "KEY_BASES");
      continue;
    }
    ++n_whole;
    for (const KeyBases::Lane& lane : bases->lanes) {
      ASSERT_EQ(lane.to.size(), lane.head_dim * lane.head_dim);
      ASSERT_EQ(lane.from.size(), lane.to.size());
      for (const float x : lane.from) ASSERT_TRUE(std::isfinite(x));
    }
    ASSERT_EQ(bases->bytes(), sealed(bytes));
  }
  EXPECT_GT(n_whole, 100u) << "some changes leave a file whole";
}

// A rotation of neighbouring channels, by so much.
std::vector<float> rotation(std::size_t d, double angle) {
  std::vector<float> out(d * d);
  for (std::size_t i = 0; i < d; i += 2) {
    out[i * d + i] = out[(i + 1) * d + i + 1] = static_cast<float>(std::cos(angle));
    out[i * d + i + 1] = static_cast<float>(std::sin(angle));
    out[(i + 1) * d + i] = static_cast<float>(-std::sin(angle));
  }
  return out;
}
KeyBases with_values(double angle) {
  KeyBases bases = of_lanes({16, 4});
  bases.values = {rotation(16, angle), rotation(4, angle)};
  return KeyBases::make(std::move(bases)).value();
}

TEST(KeyBases, with_values_are_the_same_after_a_file_and_have_the_id_of_those_without) {
  const KeyBases before = with_values(0.5);
  const std::string file = before.bytes();
  EXPECT_EQ(file[8], '\4');
  EXPECT_EQ(file.size(), made({16, 4}).bytes().size() + 2 * (16 * 16 + 4 * 4));
  const Result<KeyBases> after = KeyBases::parse(file, "t.bases");
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->values, before.values);
  EXPECT_EQ(after->values_id, before.values_id);
  EXPECT_EQ(after->bytes(), file);
  EXPECT_EQ(before.id, made({16, 4}).id) << "saved keys stay valid";
  EXPECT_EQ(made({16, 4}).values_id, 0u);
  EXPECT_EQ(made({16, 4}).bytes()[8], '\3') << "earlier programs read it";
  EXPECT_NE(before.values_id, 0u);
  EXPECT_NE(with_values(0.6).values_id, before.values_id);
}

TEST(KeyBases, whose_values_are_no_rotation_are_refused) {
  KeyBases bases = of_lanes({16, 4});
  bases.values = {rotation(16, 1), std::vector<float>(16, 0.5f)};
  const Result<KeyBases> wrong = KeyBases::make(bases);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("values' matrix computed for lane 1 is not"));
  const KeyBases good = with_values(0.5);
  const std::size_t values = first_lane_at(good) + 4 + 2 * 16 * 16;
  std::string file = good.bytes();
  file[values + 1] = '\x7c';  // infinity
  file[values] = '\0';
  EXPECT_THAT(refused(sealed(file)).message, HasSubstr("values' matrix of lane 0 is not"));
  for (std::size_t n = 24; n < file.size(); n += 7) refused(sealed(good.bytes().substr(0, n)));
}

TEST(KeyBases, of_another_model_open_no_cache) {
  const std::shared_ptr<kernels::Backend> backend = kernels::open_backend("reference", {}).value();
  CacheShape shape;
  shape.layers = {{.n_heads = 2, .n_kv_heads = 1, .head_dim = 16, .attention_scale = 0.25f}};
  const auto opens = [&](const KeyBases& bases) {
    shape.key_bases = std::make_shared<const KeyBases>(bases);
    std::shared_ptr<Arena> arena = Arena::open(backend, kPlenty).value();
    const auto cache = Cache::open(std::move(arena), shape, Recipe::builtin("full").value());
    return cache.ok() ? std::string() : cache.error().code;
  };
  EXPECT_EQ(opens(made({16})), "");
  EXPECT_EQ(opens(made({16, 16})), "KEY_BASES");
  EXPECT_EQ(opens(made({8})), "KEY_BASES");
}

TEST(KeyBases, suit_a_cache_of_as_many_lanes_of_their_sizes_with_windows_or_not) {
  CacheShape shape;
  shape.layers = {{.n_heads = 4, .n_kv_heads = 2, .head_dim = 16},
                  {.n_heads = 4, .n_kv_heads = 1, .head_dim = 2, .window = 32}};
  EXPECT_TRUE(shape.suits(made({16, 16, 2})));
  EXPECT_FALSE(shape.suits(made({16, 16})));
  EXPECT_FALSE(shape.suits(made({16, 16, 2, 2})));
  EXPECT_FALSE(shape.suits(made({16, 2, 16})));
}

}  // namespace
}  // namespace satchel::kvcache
