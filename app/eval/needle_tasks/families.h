// One family a file; family.cpp is their table. For this folder.
#pragma once

#include "app/eval/needle_tasks/family.h"

namespace satchel::eval {

NeedleContext make_names(Rng& rng, std::size_t size);
NeedleContext make_places(Rng& rng, std::size_t size);
NeedleContext make_numbers(Rng& rng, std::size_t size);
NeedleContext make_multi_key(Rng& rng, std::size_t size);
NeedleContext make_multi_value(Rng& rng, std::size_t size);
NeedleContext make_multi_query(Rng& rng, std::size_t size);
NeedleContext make_tracking(Rng& rng, std::size_t size);
NeedleContext make_common_words(Rng& rng, std::size_t size);
NeedleContext make_several_turns(Rng& rng, std::size_t size);

}  // namespace satchel::eval
