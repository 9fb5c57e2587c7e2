// What the tests of snapshots share: a driver with its snapshot over a store, and texts of every
// kind.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cache_driver.h"
#include "kvcache/base/json.h"
#include "kvcache/snapshot/record.h"
#include "kvcache/snapshot/snapshot.h"
#include "support/record_stores.h"
#include "support/sanitized.h"
#include "support/usable_recipes.h"

namespace satchel::kvcache {

inline const CacheKey kChat = {.name = "chat 7", .owner = 7};

inline std::vector<std::int32_t> token_ids(std::size_t n) {
  std::vector<std::int32_t> ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>((i * 7919) % 5000);
  return ids;
}

inline void collect_stages(const JsonNode& node, const std::string& below,
                           std::set<std::string>& stages) {
  for (const auto& [key, value] : node.members) {
    const bool only_scores = key == "scorer" || key == "filter" || key == "allocator";
    if (key == "use") stages.insert(below + "/" + value.string);
    if (!only_scores) collect_stages(value, key == "k" || key == "v" ? below : key, stages);
  }
  for (const JsonNode& item : node.items) collect_stages(item, below, stages);
}

// Enough recipes to have every stage that decides how tokens lie in memory.
inline std::vector<std::string> recipes_of_every_stage() {
  std::set<std::string> seen;
  std::vector<std::string> names;
  for (const BuiltinRecipe& recipe : builtin_recipes()) {
    const Result<JsonNode> json = parse_json(recipe.json, recipe.name);
    const std::size_t n_before = seen.size();
    if (json.ok()) collect_stages(*json, {}, seen);
    if (seen.size() > n_before) names.emplace_back(recipe.name);
  }
  return names;
}

// All recipes, unless everything takes ten times as long.
inline std::vector<std::string> recipe_names() {
  return test::kSanitized ? recipes_of_every_stage() : test::usable_recipes();
}

inline CacheDriver::Setup small(std::string recipe = "minikv") {
  return {.recipe = std::move(recipe),
          .n_layers = 2,
          .n_heads = 2,
          .n_kv_heads = 1,
          .head_dim = 64,
          .arena_bytes = 16u << 20};
}

// A driver with its snapshot over a store.
struct Saved {
  Saved(RecordStore& store, CacheDriver driver_in, const CacheKey& key = kChat)
      : driver(std::move(driver_in)), snapshot(driver.cache(), store, key) {
    driver.check_attention = false;
  }
  explicit Saved(RecordStore& store, const CacheDriver::Setup& setup = small(),
                 const CacheKey& key = kChat)
      : Saved(store, CacheDriver(setup), key) {}

  Result<SaveReport> save() { return save(token_ids(driver.cache().n_tokens())); }
  Result<SaveReport> save(const std::vector<std::int32_t>& ids) {
    return snapshot.save(identity(ids));
  }
  Result<RestoreReport> restore(std::size_t n_tokens) { return restore(token_ids(n_tokens)); }
  Result<RestoreReport> restore(const std::vector<std::int32_t>& ids) {
    return snapshot.restore(identity(ids));
  }
  SnapshotIdentity identity(const std::vector<std::int32_t>& ids) const {
    return {.model = model, .recipe = driver.recipe().hash(), .tokens = ids, .numerics = numerics};
  }
  CacheDriver driver;
  Snapshot snapshot;
  std::string model = "model-a";
  std::uint16_t numerics = 1;
};

// A second cache that knows the same text and holds what the store gives it.
inline std::unique_ptr<Saved> restored_twin(RecordStore& store, Saved& of) {
  auto twin = std::make_unique<Saved>(store, of.driver.fork().value());
  twin->driver.reads_on_as(of.driver);
  twin->driver.cache().clear();
  EXPECT_EQ(twin->restore(of.driver.cache().n_tokens())->reason, RereadReason::none);
  return twin;
}

// A system prompt, a document, a question and an answer; the turn has ended, and half of what a
// second pass wants to see it has seen.
inline void read_chat(CacheDriver& driver, std::size_t n_document = 500) {
  ASSERT_TRUE(driver.read(40, {.kind = SegmentKind::pinned}).ok());
  ASSERT_TRUE(driver.read(n_document).ok());
  ASSERT_TRUE(driver.read(150, {.kind = SegmentKind::message}).ok());
  for (int i = 0; i < 140; ++i) ASSERT_TRUE(driver.step().ok());
  ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
  if (const auto job = driver.cache().next_probe(n_document / 2)) {
    ASSERT_TRUE(driver.probe(*job).ok());
  }
}

// Goes on with another turn, and decides all that waits.
inline void go_on(CacheDriver& driver) {
  ASSERT_TRUE(driver.read(60, {.kind = SegmentKind::message}).ok());
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(driver.step().ok());
  ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
  ASSERT_TRUE(driver.probe_all(200).ok());
  ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::idle).ok());
  ASSERT_TRUE(driver.read(300).ok());
}

}  // namespace satchel::kvcache
