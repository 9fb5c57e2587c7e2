// What presets are for models that bear no rounding.
#include "runtime/limits/precision_floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "kvcache/layout/tier_layouts.h"
#include "runtime/chat/memory_settings.h"
#include "runtime/file_estimate.h"
#include "runtime/limits/presets.h"
#include "support/source_dir.h"
#include "support/temp_folder.h"

namespace satchel::runtime {
namespace {

TEST(PrecisionFloor, raises_presets_and_leaves_other_recipes) {
  for (const PrecisionFloor& floor : precision_floors())
    for (const Preset& preset : presets()) {
      const kvcache::Recipe plain = resolve_recipe(preset.name).value();
      const kvcache::Recipe raised = suited(plain, floor.architecture).value();
      EXPECT_NE(raised.hash(), plain.hash()) << preset.name << " of " << floor.architecture;
      EXPECT_EQ(preset_of(raised), preset.name);
      EXPECT_EQ(suited(raised, floor.architecture)->hash(), raised.hash()) << "once is enough";
      EXPECT_EQ(suited(plain, "llama")->hash(), plain.hash());
    }
  const kvcache::Recipe other = resolve_recipe("kivi-2").value();
  EXPECT_EQ(suited(other, "gpt-oss")->hash(), other.hash());
  const kvcache::Recipe third = resolve_recipe("compact")->with_keep(0.3).value();
  EXPECT_NE(suited(third, "gpt-oss")->hash(), third.hash()) << "a preset with another share";
  EXPECT_EQ(suited(third, "gpt-oss")->keep(), 0.3);
}

// The recipe's tiers, those under memory pressure included, and what text passes through that waits
// for its codec where memory is short; Full has no codec to wait for.
TEST(PrecisionFloor, keeps_every_key_of_a_lane_exact_where_it_says_16_bits) {
  for (const char* name : {"full", "balanced", "compact", "extreme"}) {
    const kvcache::Recipe recipe = suited(resolve_recipe(name).value(), "gpt-oss").value();
    const kvcache::CacheShape shape{.layers = {{.n_heads = 1, .n_kv_heads = 1, .head_dim = 64}}};
    const auto layouts = kvcache::TierLayouts::make(shape, recipe.pipeline());
    ASSERT_TRUE(layouts.ok());
    const bool packs = std::string_view(name) != "full";
    for (std::size_t tier = packs ? kvcache::kTierEight : kvcache::kTierRecipe;
         tier < layouts->n_tiers(); ++tier)
      EXPECT_TRUE(layouts->of(static_cast<std::uint8_t>(tier), {.head_dim = 64}, 128).k.is_exact())
          << name << ", tier " << tier;
  }
}

// A copy of a fixture that says it has room for more than 128 tokens.
void copy_with_context(const std::string& from, const std::string& key, std::uint32_t context,
                       const std::filesystem::path& to) {
  std::ifstream file(from, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  const std::size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos) << key;
  std::memcpy(&bytes[at + key.size() + sizeof(std::uint32_t)], &context, sizeof context);
  std::ofstream(to, std::ios::binary) << bytes;
}

TEST(PrecisionFloor, is_in_the_estimate_of_a_file) {
  const test::TempFolder folder;
  const std::string golden = test::source_dir() + "/tests/golden/model/";
  copy_with_context(golden + "arch_gpt_oss.gguf", "gpt-oss.context_length", 4096,
                    folder / "gpt_oss.gguf");
  copy_with_context(golden + "arch_llama.gguf", "llama.context_length", 4096,
                    folder / "llama.gguf");
  const auto bytes_of = [&](const std::string& model, const char* recipe) {
    const auto found =
        estimate_file({.file = folder / (model + ".gguf"),
                       .profiles = {},
                       .backend = "reference",
                       .backend_options = {}},
                      resolve_recipe(recipe).value(), {.n_tokens = 4000, .budget_bytes = 1});
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? found->estimate.cache_bytes : 0;
  };
  // Keys of every other layer, which has no window, take 16 bits instead of 4.
  EXPECT_GT(bytes_of("gpt_oss", "balanced"), bytes_of("gpt_oss", "kivi-4") * 5 / 4);
  EXPECT_EQ(bytes_of("llama", "balanced"), bytes_of("llama", "ladder-4"));
}

}  // namespace
}  // namespace satchel::runtime
