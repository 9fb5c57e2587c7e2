#include "app/cli/key_bases.h"

namespace satchel::app {

using runtime::KeyBasesFrom;

KeyBasesInUse key_bases_in_use(const Paths& paths, const std::string& fingerprint,
                               const runtime::ModelConfig& config, Console& console) {
  KeyBasesInUse in_use = {.found = runtime::find_key_bases(paths.lane_tables, fingerprint, config),
                          .file = runtime::key_bases_file(paths.lane_tables, fingerprint)};
  if (in_use.found.damage)
    console.warning("A file of key bases is passed over: " + in_use.found.damage->message);
  return in_use;
}

std::string describe(const KeyBasesInUse& in_use) {
  const runtime::FoundBases& found = in_use.found;
  switch (found.from) {
    case KeyBasesFrom::folder:
      return "made on this machine, " + found.bases->source + ", \"" + in_use.file.string() + "\"";
    case KeyBasesFrom::shipped:
      return "come with Satchel, " + found.bases->source;
    case KeyBasesFrom::nowhere:
      break;
  }
  return "none yet; \"satchel calibrate\" makes them";
}

Json to_json(const KeyBasesInUse& in_use) {
  const runtime::FoundBases& found = in_use.found;
  const bool is_own = found.from == KeyBasesFrom::folder;
  const bool is_shipped = found.from == KeyBasesFrom::shipped;
  Json json = {{"from", is_own ? "folder" : is_shipped ? "shipped" : "nowhere"}};
  if (found.bases != nullptr) json["source"] = found.bases->source;
  if (is_own) json["file"] = in_use.file.string();
  if (found.damage) json["damage"] = found.damage->message;
  return json;
}

}  // namespace satchel::app
