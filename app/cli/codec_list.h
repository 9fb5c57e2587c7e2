// The codecs that a recipe can name: source, parameters, and what a full page of each takes.
#pragma once

#include <cstddef>
#include <span>

#include "app/cli/console.h"

namespace satchel::app {

// As text or JSON; the exit code. Bits per value are those of a page of 128 tokens with all its
// metadata but the tokens' positions, which all codecs share: 32 bits for a token's K and V.
//   errors  unsupported, PAGE_LAYOUT: a head_dim that no page can have
int list_codecs(Console& console, std::span<const std::size_t> head_dims);

}  // namespace satchel::app
