#include "runtime/profile/lane_tables.h"

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

}  // namespace

fs::path lane_table_file(const fs::path& dir, const std::string& fingerprint) {
  return dir / (fingerprint + ".json");
}

LaneTable find_lane_table(const fs::path& dir, const std::string& fingerprint,
                          const ModelConfig& config) {
  const auto read = [&](std::string_view json,
                        const std::string& called) -> Result<std::shared_ptr<const LaneShares>> {
    SATCHEL_TRY_ASSIGN(LaneShares table, LaneShares::parse(json, called));
    if (table.model == fingerprint && config.cache_shape().suits(table))
      return std::make_shared<const LaneShares>(std::move(table));
    return of_another_model(called, kKind);
  };
  return find_kept<LaneShares>(kKind,
                               {.own = dir.empty() ? dir : lane_table_file(dir, fingerprint),
                                .shipped = shipped_lane_tables(),
                                .fingerprint = fingerprint},
                               read);
}

Result<void> keep_lane_table(const fs::path& dir, const LaneShares& table) {
  return write_kept(lane_table_file(dir, table.model), table.json(), kKind);
}

}  // namespace satchel::runtime
