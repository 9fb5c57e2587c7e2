// Codecs that no recipe of ours uses: published systems to compare with, and for recipe files.
#pragma once

#include "kernels/base/result.h"

namespace satchel::kvcache {

// So that recipes can name them; once. Errors of register_stages().
Result<void> register_comparison_stages();

}  // namespace satchel::kvcache
