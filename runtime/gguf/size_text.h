// Sizes and counts for messages: "1.2 GB", "4,096".
#pragma once

#include "kvcache/size_text.h"

namespace satchel::runtime {

using kvcache::count_text;
using kvcache::size_text;

}  // namespace satchel::runtime
