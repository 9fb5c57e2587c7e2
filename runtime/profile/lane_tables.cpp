#include "runtime/profile/lane_tables.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <system_error>

#include "runtime/model/config.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::LaneShares;

Result<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kvcache::kLaneSharesBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.size() > kvcache::kLaneSharesBytesMax)
    return Error{ErrorKind::corrupt, "LANE_SHARES",
                 "\"" + path.string() +
                     "\" is no lane table: it cannot be read, or has more than "
                     "4 MiB. Remove it, and it is made again."};
  return text;
}

Result<std::shared_ptr<const LaneShares>> checked(LaneShares table, const std::string& called,
                                                  const std::string& fingerprint,
                                                  const ModelConfig& config) {
  if (table.model == fingerprint && config.cache_shape().suits(table))
    return std::make_shared<const LaneShares>(std::move(table));
  return Error{ErrorKind::corrupt, "LANE_SHARES",
               "\"" + called +
                   "\" is the lane table of another model. Remove it, and it is made "
                   "again."};
}

using Found = Result<std::shared_ptr<const LaneShares>>;  // null: there is none

Found in_folder(const fs::path& dir, const std::string& fingerprint, const ModelConfig& config) {
  const fs::path own = lane_table_file(dir, fingerprint);
  std::error_code ignored;
  if (dir.empty() || !fs::exists(own, ignored)) return std::shared_ptr<const LaneShares>();
  SATCHEL_TRY_ASSIGN(const std::string json, read_file(own));
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
  const fs::path path = lane_table_file(dir, table.model);
  // A name of its own: two programs may find the same lanes at the same time.
  const fs::path written = path.string() + "." + std::to_string(::getpid()) + ".new";
  std::error_code error;
  fs::create_directories(dir, error);
  const bool whole = [&] {
    std::ofstream file(written, std::ios::binary | std::ios::trunc);
    file << table.json();
    file.close();
    return !error && file.good();
  }();
  if (whole) fs::rename(written, path, error);
  if (whole && !error) return {};
  std::error_code ignored;
  fs::remove(written, ignored);
  return Error{ErrorKind::storage, "LANE_SHARES",
               "The lane table \"" + path.string() + "\" cannot be written" +
                   (error ? ": " + error.message() : std::string()) + "."};
}

}  // namespace satchel::runtime
