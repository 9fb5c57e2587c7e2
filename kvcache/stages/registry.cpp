#include "kvcache/stages/registry.h"

#include <algorithm>
#include <forward_list>
#include <mutex>
#include <tuple>

#include "kvcache/base/json.h"

namespace satchel::kvcache {
namespace {

bool comes_before(const StageEntry* a, const StageEntry* b) {
  return std::tie(a->kind, a->name) < std::tie(b->kind, b->name);
}

class Registry {
 public:
  Registry() {
    Entries& entries = versions_.emplace_front();
    for (const StageEntry& entry : library_stages()) add(entries, entry);
    alias_ = *find(StageKind::codec, "minikv2");
    alias_.name = "minikv";
    add(entries, alias_);
  }

  Result<void> register_all(std::span<const StageEntry> stages) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const StageEntry& entry = stages[i];
      if (entry.name.empty() || !entry.make) return refused("a stage needs a name and a maker.");
      const auto is_same = [&entry](const StageEntry& other) {
        return other.kind == entry.kind && other.name == entry.name;
      };
      if (find(entry.kind, entry.name) != nullptr || std::ranges::any_of(stages.first(i), is_same))
        return refused("there is a " + std::string(to_text(entry.kind)) + " \"" +
                       std::string(entry.name) + "\" already.");
    }
    Entries entries = versions_.front();
    for (const StageEntry& entry : stages) add(entries, entry);
    versions_.push_front(std::move(entries));
    return {};
  }
  std::span<const StageEntry* const> all() {
    const std::scoped_lock lock(mutex_);
    return versions_.front();
  }

 private:
  using Entries = std::vector<const StageEntry*>;  // sorted

  static Error refused(const std::string& why) {
    return {ErrorKind::invalid, "STAGES", "The stages cannot be registered: " + why};
  }
  static void add(Entries& entries, const StageEntry& entry) {
    entries.insert(std::ranges::upper_bound(entries, &entry, comes_before), &entry);
  }
  const StageEntry* find(StageKind kind, std::string_view name) const {
    for (const StageEntry* entry : versions_.front())
      if (entry->kind == kind && entry->name == name) return entry;
    return nullptr;
  }

  std::mutex mutex_;
  std::forward_list<Entries> versions_;  // the newest first; somebody may still read the others
  StageEntry alias_;  // a second name, as old recipe files and saved chats write it
};

// The one table of a program. Recipes are plain values that are parsed anywhere, so it cannot be
// handed to each of them; it only grows.
Registry& registry() {
  static Registry instance;
  return instance;
}

bool is_comparison(StageKind kind, std::string_view name) {
  return std::ranges::any_of(comparison_stage_names(), [&](const StageName& each) {
    return each.kind == kind && each.name == name;
  });
}

}  // namespace

std::span<const StageEntry* const> all_stages() {
  return registry().all();
}

const StageEntry* find_stage(StageKind kind, std::string_view name) {
  for (const StageEntry* entry : all_stages())
    if (entry->kind == kind && entry->name == name) return entry;
  return nullptr;
}

Result<void> register_stages(std::span<const StageEntry> stages) {
  return registry().register_all(stages);
}

Error no_such_stage(StageKind kind, std::string_view name, std::string_view called,
                    std::size_t line) {
  for (const RefusedStage& refused : refused_stages())
    if (refused.kind == kind && refused.name == name) return refused.error();
  const std::string what = std::string(to_text(kind)) + " \"" + std::string(name) + "\"";
  if (is_comparison(kind, name))
    return recipe_error(called, line,
                        "the " + what +
                            " is one of Satchel's comparison stages, which this program does not "
                            "link. Link satchel_comparison and call register_comparison_stages() "
                            "before, or choose another.");
  std::string known;
  for (const StageEntry* entry : all_stages())
    if (entry->kind == kind) known += (known.empty() ? "" : ", ") + std::string(entry->name);
  return recipe_error(called, line, "there is no " + what + ". Choose one of: " + known + ".");
}

}  // namespace satchel::kvcache
