// What was learnt of a model once, as it is in use: for people ("comes with Satchel, kvzip over prose
// notes …") and scripts.
#pragma once

#include <filesystem>
#include <string>

#include "app/cli/console.h"
#include "runtime/profile/kept_file.h"

namespace satchel::app {

template <class T>
struct KeptInUse {
  runtime::Kept<T> found;
  std::filesystem::path file;  // of the one made on this machine, if there is one
  std::string shipped, none;   // "comes with Satchel", "none yet; …"
};

// Of a file that is damaged and passed over.
//   noun  "A lane table"
template <class T>
void warn_if_damaged(const KeptInUse<T>& in_use, const std::string& noun, Console& console) {
  if (in_use.found.damage)
    console.warning(noun + " is passed over: " + in_use.found.damage->message);
}

template <class T>
std::string describe(const KeptInUse<T>& in_use) {
  switch (in_use.found.from) {
    case runtime::KeptFrom::folder:
      return "made on this machine, " + in_use.found.value->source + ", \"" + in_use.file.string() +
             "\"";
    case runtime::KeptFrom::shipped:
      return in_use.shipped + ", " + in_use.found.value->source;
    case runtime::KeptFrom::nowhere:
      break;
  }
  return in_use.none;
}

template <class T>
Json to_json(const KeptInUse<T>& in_use) {
  const bool is_own = in_use.found.from == runtime::KeptFrom::folder;
  const bool is_shipped = in_use.found.from == runtime::KeptFrom::shipped;
  Json json = {{"from", is_own ? "folder" : is_shipped ? "shipped" : "nowhere"}};
  if (in_use.found.value != nullptr) json["source"] = in_use.found.value->source;
  if (is_own) json["file"] = in_use.file.string();
  if (in_use.found.damage) json["damage"] = in_use.found.damage->message;
  return json;
}

}  // namespace satchel::app
