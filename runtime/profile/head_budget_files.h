// Storage of head-budget profiles (kvcache::HeadBudgets). Those of known models are compiled in.
// Others are measured on the user's machine and saved in a folder, one <fingerprint>.json per
// model. Disposable: a lost or damaged profile is measured again.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kvcache/profile/head_budgets.h"
#include "runtime/profile/profile_file.h"

namespace satchel::runtime {

std::span<const ShippedFile> shipped_head_budgets();

using FoundHeadBudgets = FoundProfile<kvcache::HeadBudgets>;  // damage: LANE_SHARES
// Empty `dir`: shipped ones only.
FoundHeadBudgets find_head_budgets(const std::filesystem::path& dir, const std::string& fingerprint,
                                   const ModelConfig& config);
// Writes to dir atomically; replaces an older file. Errors: storage, LANE_SHARES.
Result<void> save_head_budgets(const std::filesystem::path& dir, const kvcache::HeadBudgets& table);
std::filesystem::path head_budgets_file(const std::filesystem::path& dir,
                                        const std::string& fingerprint);

}  // namespace satchel::runtime
