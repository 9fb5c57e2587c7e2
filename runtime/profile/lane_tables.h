// Where lane tables are found and kept: those of the models we know are compiled in, others are made
// on the user's machine and kept in a folder of the program's, a file a model: <fingerprint>.json.
// Disposable: what is lost or damaged is made again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvcache/lanes/lane_shares.h"

namespace satchel::runtime {

struct ModelConfig;

struct ShippedTable {
  std::string_view file, json;
};
std::span<const ShippedTable> shipped_lane_tables();

enum class LaneTableFrom { nowhere, shipped, folder };

// What a model runs with: the folder's table before the shipped one.
struct LaneTable {
  std::shared_ptr<const kvcache::LaneShares> shares;  // null: there is neither
  LaneTableFrom from = LaneTableFrom::nowhere;
  // corrupt, LANE_SHARES: one that is passed over, as it cannot be read as a table of this model.
  std::optional<Error> damage;
};
// `dir` empty: only shipped ones.
LaneTable find_lane_table(const std::filesystem::path& dir, const std::string& fingerprint,
                          const ModelConfig& config);
// Into dir, whole or not at all; replaces an older one. storage, LANE_SHARES.
Result<void> keep_lane_table(const std::filesystem::path& dir, const kvcache::LaneShares& table);
std::filesystem::path lane_table_file(const std::filesystem::path& dir,
                                      const std::string& fingerprint);

}  // namespace satchel::runtime
