#include "kvcache/recipes/recipe.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/base/json.h"
#include "kvcache/layout/tier_layouts.h"
#include "kvcache/recipes/pipeline.h"
#include "support/source_dir.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string minikv() {
  for (const BuiltinRecipe& recipe : builtin_recipes())
    if (recipe.name == "minikv") return std::string(recipe.json);
  return "";
}
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string message(const std::string& json) {
  const Result<Recipe> recipe = Recipe::parse(json, "mine.json");
  if (recipe.ok()) return "accepted";
  EXPECT_EQ(recipe.error().code, "RECIPE");
  return recipe.error().message;
}

Result<TierLayouts> layouts(const Recipe& recipe, std::size_t head_dim) {
  const LayerShape layer{.n_heads = 2, .n_kv_heads = 1, .head_dim = head_dim};
  return TierLayouts::make({.layers = {layer}}, recipe.pipeline());
}

std::string builtin_name(const testing::TestParamInfo<BuiltinRecipe>& row) {
  std::string name(row.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class EveryBuiltin : public testing::TestWithParam<BuiltinRecipe> {};
TEST_P(EveryBuiltin, parses_under_its_file_name_and_has_layouts) {
  const Result<Recipe> recipe = Recipe::builtin(GetParam().name);
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->name(), GetParam().name);
  EXPECT_FALSE(recipe->source().empty());
  EXPECT_FALSE(recipe->differs().empty());
  EXPECT_EQ(recipe->hash().size(), 32u);
  for (const std::size_t head_dim : {64u, 80u, 96u, 128u, 256u})
    EXPECT_TRUE(layouts(*recipe, head_dim).ok()) << head_dim;
  EXPECT_FALSE(layouts(*recipe, 7).ok());
}
TEST_P(EveryBuiltin, equals_what_its_canonical_text_gives) {
  const Recipe recipe = Recipe::builtin(GetParam().name).value();
  const Recipe again = Recipe::parse(recipe.json()).value();
  EXPECT_EQ(again.json(), recipe.json());
  EXPECT_EQ(again.hash(), recipe.hash());
  EXPECT_EQ(recipe.with_keep(recipe.keep())->hash(), recipe.hash());
}
INSTANTIATE_TEST_SUITE_P(Builtin, EveryBuiltin,
                         testing::ValuesIn(builtin_recipes().begin(), builtin_recipes().end()),
                         builtin_name);

TEST(Recipe, an_unknown_name_lists_the_known_ones) {
  const auto recipe = Recipe::builtin("h3o");
  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().kind, ErrorKind::not_found);
  EXPECT_THAT(recipe.error().message, HasSubstr("ladder-2, ladder-3, ladder-4"));
}

TEST(Recipe, with_keep_changes_the_share_and_the_hash_and_nothing_else) {
  const Recipe half = Recipe::builtin("minikv").value();
  const Recipe quarter = half.with_keep(0.25).value();
  EXPECT_EQ(quarter.keep(), 0.25);
  EXPECT_EQ(quarter.name(), "minikv");
  EXPECT_NE(quarter.hash(), half.hash());
  EXPECT_EQ(quarter.with_keep(0.5)->hash(), half.hash());
  EXPECT_FALSE(half.with_keep(1)->pipeline().decides());
  for (const double keep : {0.0, -1.0, 1.5}) EXPECT_FALSE(half.with_keep(keep).ok()) << keep;
}

TEST(Recipe, full_refuses_any_keep_but_one) {
  const Recipe full = Recipe::builtin("full").value();
  EXPECT_TRUE(full.with_keep(1).ok());
  const auto half = full.with_keep(0.5);
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().message, "Recipe \"full\" keeps every token; it takes no other share.");
}

// The codecs of a recipe and of its steps under memory pressure, without spaces.
std::vector<std::string> codecs_of(const Recipe& recipe) {
  const JsonNode root = parse_json(recipe.json(), "test").value();
  std::vector<std::string> codecs = {canonical_json(*root.find("codec"))};
  const JsonNode* const steps = root.find("room");
  for (std::size_t i = 0; steps != nullptr && i < steps->items.size(); ++i)
    codecs.push_back(canonical_json(steps->items[i]));
  return codecs;
}

TEST(Recipe, with_bits_from_rounds_no_number_to_fewer) {
  const std::string k8v8 = R"({"k":{"bits":8,"use":"klt"},"v":{"bits":8,"use":"klt"}})";
  EXPECT_THAT(codecs_of(Recipe::builtin("ladder-4")->with_bits_from(8, 8).value()),
              ElementsAre(k8v8));
  EXPECT_THAT(codecs_of(Recipe::builtin("full")->with_bits_from(8, 8).value()),
              ElementsAre(R"({"k":"exact","v":"exact"})", R"({"codec":)" + k8v8 + "}"));
  EXPECT_THAT(codecs_of(Recipe::builtin("satchel")->with_bits_from(16, 0).value()),
              ElementsAre(R"({"k":"exact","v":{"bits":4,"use":"klt"}})",
                          R"({"codec":{"k":"exact","v":{"bits":3,"use":"klt"}}})",
                          R"({"share":0.5})",
                          R"({"codec":{"k":"exact","v":{"bits":2,"use":"klt"}}})"));
}

TEST_P(EveryBuiltin, is_as_it_was_with_no_floor_and_can_be_raised_to_any) {
  const Recipe recipe = Recipe::builtin(GetParam().name).value();
  EXPECT_EQ(recipe.with_bits_from(0, 0)->hash(), recipe.hash());
  const std::pair<std::size_t, std::size_t> floors[] = {{8, 8}, {16, 0}, {0, 16}, {16, 16}};
  for (const auto& [k, v] : floors) {
    const auto raised = recipe.with_bits_from(k, v);
    ASSERT_TRUE(raised.ok()) << raised.error().message;
    EXPECT_EQ(raised->with_bits_from(k, v)->hash(), raised->hash());
    EXPECT_EQ(raised->name(), recipe.name());
  }
}

TEST(Recipe, different_bits_for_k_and_v_make_their_own_layout) {
  const std::string json =
      replaced(minikv(), "\"bits\": 2, \"group\": 16 },", "\"bits\": 4, \"group\": 32 },");
  const Recipe recipe = Recipe::parse(json).value();
  const TierLayouts made = layouts(recipe, 64).value();
  const kernels::PageLayout& layout = made.of(kTierRecipe, {.head_dim = 64}, 128);
  const kernels::Plane &k = layout.k.at(kernels::PlaneKind::codes),
                       &v = layout.v.at(kernels::PlaneKind::codes);
  EXPECT_EQ(k.bits, 4);
  EXPECT_EQ(k.group, 32);
  EXPECT_EQ(v.bits, 2);
  EXPECT_EQ(v.group, 16);
  EXPECT_EQ(recipe.pipeline().codecs()[0].name, "minikv2 4 bits / minikv2 2 bits");
}

TEST(Recipe, spaces_and_the_order_of_keys_do_not_change_the_hash) {
  const Recipe one = Recipe::parse(
                         R"({ "recipe": 1, "name": "full", "source": "ours",
               "differs": "nothing is left out and nothing is rounded beyond fp16", "keep": 1,
               "trigger": { "use": "never" }, "codec": { "k": "exact", "v": "exact" },
               "reader": { "use": "all" } })")
                         .value();
  const Recipe other =
      Recipe::parse(
          "{\"name\":\"full\",\n\n\"recipe\" : 1.0 ,\"source\":\"ours\",\"differs\":"
          "\"nothing is left out and nothing is rounded beyond fp16\",\"reader\":"
          "{\"use\":\"all\"},\"keep\":1e0,\"trigger\":{\"use\":\"never\"},"
          "\"codec\":{\"v\":\"exact\",\"k\":\"exact\"}}")
          .value();
  EXPECT_EQ(other.hash(), one.hash());
}

TEST(Recipe, messages_name_file_line_place_and_what_would_be_right) {
  const std::string good = minikv();
  EXPECT_EQ(message(good), "accepted");
  EXPECT_EQ(message(replaced(good, "\"bits\": 2", "\"bits\": 5")),
            "mine.json line 10: \"bits\" must be 2, 4 or 8, but is 5.");
  EXPECT_EQ(
      message(replaced(good, "\"min_tokens\": 256", "\"min_tokens\": 0")),
      "mine.json line 4: \"min_tokens\" must be a whole number from 1 to 1073741824, but is 0.");
  EXPECT_EQ(message(replaced(good, "\"delta\": 7", "\"delta\": \"steep\"")),
            "mine.json line 7: \"delta\" must be a number from 1 to 1000, but is \"steep\".");
  EXPECT_EQ(message(replaced(good, "\"keep\": 0.5", "\"keep\": 0")),
            "mine.json line 3: \"keep\" must be above 0 and at most 1, but is 0.");
  EXPECT_EQ(message(replaced(good, "\"delta\"", "\"dleta\"")),
            "mine.json line 7: unknown parameter \"dleta\". Known: delta, constant.");
  EXPECT_EQ(message(replaced(good, "\"merger\"", "\"murger\"")),
            "mine.json line 9: unknown key \"murger\". Known keys: recipe, name, source, differs, "
            "keep, tail, short_tail, trigger, scorer, filter, allocator, assigner, merger, codec, "
            "reader, room.");
  EXPECT_EQ(message(replaced(good, "\"top_k\"", "\"top_q\"")),
            "mine.json line 8: there is no assigner \"top_q\". Choose one of: representatives, "
            "staircase, "
            "top_k, two_tiers.");
  EXPECT_EQ(message(replaced(good, "\"tail\": 128", "\"tail\": 64")),
            "mine.json line 6: \"filter\" must protect at least 4 sinks and a tail of 128.");
  EXPECT_THAT(message(replaced(good, "\"recipe\": 1", "\"recipe\": 2")),
              HasSubstr("\"recipe\" must be 1"));
  EXPECT_EQ(message(replaced(good, "{ \"use\": \"none\" }", "\"nearest_kept\"")), "accepted");
}

TEST(Recipe, a_list_of_codecs_makes_tiers_finest_first) {
  const Recipe recipe = Recipe::builtin("zipcache-2t").value();
  ASSERT_EQ(recipe.pipeline().codecs().size(), 2u);
  EXPECT_EQ(recipe.pipeline().codecs()[0].name, "minikv2 4 bits");
  EXPECT_EQ(recipe.pipeline().codecs()[1].name, "minikv2 2 bits");
  EXPECT_TRUE(recipe.pipeline().decides());  // nothing goes, but tiers differ
  const TierLayouts made = layouts(recipe, 64).value();
  EXPECT_EQ(made.n_tiers(), kTierRecipe + 2u);
  EXPECT_GT(made.of(kTierRecipe, {.head_dim = 64}, 128).bytes,
            made.of(kTierRecipe + 1, {.head_dim = 64}, 128).bytes);
  const std::string exact = "{ \"k\": \"exact\", \"v\": \"exact\" }";
  const std::string one = std::string(Recipe::builtin("snapkv").value().json());
  const auto with = [&](const std::string& codec) {
    JsonNode root = parse_json(one, "t").value();
    *root.find("codec") = parse_json(codec, "t").value();
    return message(canonical_json(root));
  };
  EXPECT_EQ(with("[" + exact + "]"), "accepted");
  std::string seven = exact;
  for (int i = 0; i < 6; ++i) seven += "," + exact;
  EXPECT_THAT(with("[]"), HasSubstr("\"codec\" must list 1 to 6 tiers."));
  EXPECT_THAT(with("[" + seven + "]"), HasSubstr("\"codec\" must list 1 to 6 tiers."));
  EXPECT_THAT(with("{ \"k\": \"exact\" }"), HasSubstr("\"codec\" must be { \"k\": …, \"v\": … }."));
}

// "5.25 / 3.25": a full page of each tier of its own, the reader's note beside it.
std::string bits_per_value(const Recipe& recipe) {
  constexpr std::size_t kDim = 64;
  const TierLayouts made = layouts(recipe, kDim).value();
  std::ostringstream text;
  const std::size_t end = kTierRecipe + recipe.pipeline().n_own_codecs();
  for (std::size_t tier = kTierRecipe; tier < end; ++tier) {
    const std::size_t bytes =
        made.of(static_cast<std::uint8_t>(tier), {.head_dim = kDim}, 128).bytes +
        recipe.pipeline().reader().note_bytes(kDim);
    text << (tier == kTierRecipe ? "" : " / ") << static_cast<double>(bytes) * 8 / (2 * 128 * kDim);
  }
  return text.str();
}

TEST(Recipe, the_table_of_recipes_says_the_bits_of_their_pages) {
  std::ifstream file(test::source_dir() + "/kvcache/recipes/README.md");
  std::map<std::string, std::string, std::less<>> table;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `"))
      table[line.substr(3, line.find('`', 3) - 3)] =
          line.substr(line.rfind("| ", line.size() - 3) + 2, std::string::npos);
  for (const BuiltinRecipe& recipe : builtin_recipes())
    EXPECT_TRUE(table.contains(recipe.name)) << "no row for " << recipe.name;
  for (const auto& [name, bits] : table) {
    const Result<Recipe> recipe = Recipe::builtin(name);
    ASSERT_TRUE(recipe.ok()) << recipe.error().message;
    EXPECT_EQ(bits, bits_per_value(*recipe) + " |") << name;
  }
}

TEST(Recipe, a_short_tail_lets_the_filters_protect_less) {
  const std::string kvzip = Recipe::builtin("kvzip").value().json();
  EXPECT_EQ(Recipe::builtin("kvzip")->pipeline().short_tail(), 16u);
  EXPECT_EQ(Recipe::builtin("minikv")->pipeline().short_tail(), 128u);
  EXPECT_THAT(message(replaced(kvzip, "\"short_tail\":16", "\"short_tail\":15")),
              HasSubstr("\"short_tail\" must be a whole number from 16 to 128, but is 15."));
  EXPECT_THAT(message(replaced(kvzip, "\"short_tail\":16,", "")),
              HasSubstr("must protect at least 4 sinks and a tail of 128"));
}

TEST(Recipe, a_tail_of_all_lanes_bounds_the_short_one) {
  const std::string kvzip = Recipe::builtin("kvzip").value().json();
  const auto with = [&](const std::string& keys) {
    return replaced(kvzip, "\"short_tail\":16", keys);
  };
  const Recipe sixteen = Recipe::parse(with("\"tail\":16"), "").value();
  EXPECT_EQ(sixteen.pipeline().tail(), 16u);
  EXPECT_EQ(sixteen.pipeline().short_tail(), 16u);
  EXPECT_THAT(message(with("\"tail\":129")),
              HasSubstr("\"tail\" must be a whole number from 16 to 128, but is 129."));
  EXPECT_THAT(message(with("\"tail\":32,\"short_tail\":33")),
              HasSubstr("\"short_tail\" must be a whole number from 16 to 32, but is 33."));
}

TEST(Recipe, a_flag_is_true_or_false) {
  const std::string h2o = Recipe::builtin("h2o").value().json();
  EXPECT_THAT(message(replaced(h2o, "\"decoding\":true", "\"decoding\":1")),
              HasSubstr("\"decoding\" must be true or false, but is 1."));
}

TEST(Recipe, a_merger_needs_a_decision_inside_the_layer) {
  const std::string d2o = Recipe::builtin("d2o").value().json();
  EXPECT_TRUE(Recipe::builtin("d2o")->pipeline().decides_in_layer());
  for (const char* name : {"xkv", "kvzip"})
    EXPECT_FALSE(Recipe::builtin(name)->pipeline().decides_in_layer()) << name;
  EXPECT_THAT(message(replaced(d2o, "\"uniform\"", "\"over_all\"")),
              HasSubstr("a merger needs exact K and V"));
  const std::string refit = Recipe::builtin("satchel-refit").value().json();
  for (const std::string& json : {d2o, refit})
    EXPECT_THAT(message(replaced(json, "\"end_of_prompt\"", "\"end_of_turn\"")),
                HasSubstr("a merger needs exact K and V"));
}

TEST(Recipe, filters_see_the_protected_ends_and_do_not_spread_them) {
  const Recipe recipe = Recipe::builtin("ada-kv").value();  // pools over 7
  const TokenSpan span{.n_layers = 1, .n_lanes = 1, .n_tokens = 300, .keep = 0.5};
  std::vector<float> scores(300, 1);
  scores[100] = 5;
  scores[280] = 9;  // inside the tail
  recipe.pipeline().filter(span, scores);
  EXPECT_EQ(recipe.pipeline().n_protected(span), 36u);
  EXPECT_EQ(scores[3], kNeverEvict);
  EXPECT_EQ(scores[4], 1);
  EXPECT_EQ(scores[97], 5);
  EXPECT_EQ(scores[104], 1);
  EXPECT_EQ(scores[267], 1);
  EXPECT_EQ(scores[268], kNeverEvict);
}

TEST(Recipe, a_missing_part_is_named) {
  for (const char* key : {"recipe", "name", "source", "differs", "trigger", "scorer", "filter",
                          "allocator", "assigner", "merger", "codec", "reader"}) {
    JsonNode root = parse_json(minikv(), "t").value();
    std::erase_if(root.members, [&](const auto& member) { return member.first == key; });
    EXPECT_THAT(message(canonical_json(root)), HasSubstr("\"" + std::string(key) + "\""));
  }
}

TEST(Recipe, damaged_texts_are_refused_with_a_place) {
  EXPECT_THAT(message(""), HasSubstr("mine.json line 1"));
  EXPECT_THAT(message("[]"), HasSubstr("a recipe must be an object"));
  EXPECT_THAT(message("{\n\"a\": 1,\n\"a\": 2 }"), HasSubstr("line 3: \"a\" occurs twice"));
  EXPECT_THAT(message("{ \"keep\": 1e999 }"), HasSubstr("invalid JSON"));
  EXPECT_THAT(message("{ \"name\": \"\xff\" }"), HasSubstr("invalid JSON"));
  EXPECT_THAT(message(std::string(65, '[')), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(message(std::string(70000, ' ')), HasSubstr("at most 64 KiB"));
  const std::string good = minikv();
  const std::size_t end = good.find_last_of('}');
  for (std::size_t n = 0; n <= end; ++n) EXPECT_NE(message(good.substr(0, n)), "accepted") << n;
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const char other : {'\0', '"', '}', '\x80', '9'}) {
      std::string changed = good;
      changed[i] = other;
      (void)message(changed);  // refused or not, it comes back
    }
}

}  // namespace
}  // namespace satchel::kvcache
