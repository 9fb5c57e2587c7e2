// Where lane tables are found and kept: those of the models we know are compiled in, others are made
// on the user's machine and kept in a folder of the program's, a file a model: <fingerprint>.json.
// Disposable: what is lost or damaged is made again.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kvcache/lanes/lane_shares.h"
#include "runtime/profile/kept_file.h"

namespace satchel::runtime {

struct ModelConfig;

std::span<const ShippedFile> shipped_lane_tables();

using LaneTable = Kept<kvcache::LaneShares>;  // damage: LANE_SHARES
// `dir` empty: only shipped ones.
LaneTable find_lane_table(const std::filesystem::path& dir, const std::string& fingerprint,
                          const ModelConfig& config);
// Into dir, whole or not at all; replaces an older one. storage, LANE_SHARES.
Result<void> keep_lane_table(const std::filesystem::path& dir, const kvcache::LaneShares& table);
std::filesystem::path lane_table_file(const std::filesystem::path& dir,
                                      const std::string& fingerprint);

}  // namespace satchel::runtime
