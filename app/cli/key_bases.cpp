#include "app/cli/key_bases.h"

namespace satchel::app {

KeyBasesInUse key_bases_in_use(const Paths& paths, const std::string& fingerprint,
                               const runtime::ModelConfig& config, Console& console) {
  KeyBasesInUse in_use = {.found = runtime::find_key_bases(paths.lane_tables, fingerprint, config),
                          .file = runtime::key_bases_file(paths.lane_tables, fingerprint),
                          .shipped = "come with Satchel",
                          .none = "none yet; \"satchel calibrate\" makes them"};
  warn_if_damaged(in_use, "A file of key bases", console);
  return in_use;
}

}  // namespace satchel::app
