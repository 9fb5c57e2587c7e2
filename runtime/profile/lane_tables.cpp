#include "runtime/profile/lane_tables.h"

#include <system_error>

#include "runtime/model/config.h"
#include "runtime/profile/kept_file.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::LaneShares;

constexpr KeptKind kKind{.code = "LANE_SHARES",
                         .noun = "lane table",
                         .remedy = "Remove it, and it is made again.",
                         .bytes_max = kvcache::kLaneSharesBytesMax};

Result<std::shared_ptr<const LaneShares>> checked(LaneShares table, const std::string& called,
                                                  const std::string& fingerprint,
                                                  const ModelConfig& config) {
  if (table.model == fingerprint && config.cache_shape().suits(table))
    return std::make_shared<const LaneShares>(std::move(table));
  return of_another_model(called, kKind);
}

using Found = Result<std::shared_ptr<const LaneShares>>;  // null: there is none

Found in_folder(const fs::path& dir, const std::string& fingerprint, const ModelConfig& config) {
  const fs::path own = lane_table_file(dir, fingerprint);
  std::error_code ignored;
  if (dir.empty() || !fs::exists(own, ignored)) return std::shared_ptr<const LaneShares>();
  SATCHEL_TRY_ASSIGN(const std::string json, read_kept(own, kKind));
  SATCHEL_TRY_ASSIGN(LaneShares table, LaneShares::parse(json, own.string()));
  return checked(std::move(table), own.string(), fingerprint, config);
}

Found among_shipped(const std::string& fingerprint, const ModelConfig& config) {
  for (const ShippedTable& shipped : shipped_lane_tables()) {
    if (shipped.json.find(fingerprint) == std::string_view::npos) continue;
    SATCHEL_TRY_ASSIGN(LaneShares table, LaneShares::parse(shipped.json, shipped.file));
    return checked(std::move(table), std::string(shipped.file), fingerprint, config);
  }
  return std::shared_ptr<const LaneShares>();
}

}  // namespace

fs::path lane_table_file(const fs::path& dir, const std::string& fingerprint) {
  return dir / (fingerprint + ".json");
}

LaneTable find_lane_table(const fs::path& dir, const std::string& fingerprint,
                          const ModelConfig& config) {
  LaneTable out;
  const Found own = in_folder(dir, fingerprint, config);
  if (!own.ok()) out.damage = own.error();
  if (own.ok() && *own != nullptr) {
    out.shares = *own;
    out.from = LaneTableFrom::folder;
    return out;
  }
  const Found shipped = among_shipped(fingerprint, config);
  if (!shipped.ok() && !out.damage) out.damage = shipped.error();
  if (shipped.ok() && *shipped != nullptr) {
    out.shares = *shipped;
    out.from = LaneTableFrom::shipped;
  }
  return out;
}

Result<void> keep_lane_table(const fs::path& dir, const LaneShares& table) {
  return write_kept(lane_table_file(dir, table.model), table.json(), kKind);
}

}  // namespace satchel::runtime
