// missing_need: what the entry of a codec answers that cannot be made from a page alone. It is listed
// under its name with this as its need (`satchel recipes --codecs`); a recipe that uses it is refused.
//   errors  unsupported, CODEC_NEEDS
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

inline Result<std::unique_ptr<Stage>> missing_need(std::string_view codec, std::string_view what) {
  return Error{ErrorKind::unsupported, "CODEC_NEEDS",
               "The codec " + std::string(codec) + " needs " + std::string(what) + "."};
}

}  // namespace satchel::kvcache
