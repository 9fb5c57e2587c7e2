#include "app/cli/selector.h"

namespace satchel::app {

SelectorInUse selector_in_use(const Paths& paths, const std::string& fingerprint,
                              const runtime::ModelConfig& config, Console& console) {
  const std::filesystem::path file = runtime::selector_file(paths.lane_tables, fingerprint);
  SelectorInUse in_use = {
      .found = runtime::find_selector(paths.lane_tables, fingerprint, config),
      .file = file,
      .shipped = "comes with Satchel",
      .none = "none; training/locret makes one, to be put at \"" + file.string() + "\""};
  warn_if_damaged(in_use, "A file of a selector's weights", console);
  return in_use;
}

}  // namespace satchel::app
