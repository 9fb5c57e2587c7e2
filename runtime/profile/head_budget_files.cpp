#include "runtime/profile/head_budget_files.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::HeadBudgets;

constexpr ProfileKind kKind{.code = "LANE_SHARES",
                            .noun = "head-budget profile",
                            .remedy = "Delete it, and Satchel makes it again.",
                            .ending = ".json",
                            .bytes_max = kvcache::kHeadBudgetsBytesMax};

}  // namespace

fs::path head_budgets_file(const fs::path& dir, const std::string& fingerprint) {
  return kept_path(dir, fingerprint, kKind);
}

FoundHeadBudgets find_head_budgets(const fs::path& dir, const std::string& fingerprint,
                                   const ModelConfig& config) {
  return find_profile<HeadBudgets>(kKind, dir, fingerprint, config, shipped_head_budgets());
}

Result<void> save_head_budgets(const fs::path& dir, const HeadBudgets& table) {
  return write_profile(head_budgets_file(dir, table.model), table.json(), kKind);
}

}  // namespace satchel::runtime
