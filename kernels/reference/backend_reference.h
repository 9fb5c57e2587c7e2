// ReferenceBackend: the specification of every operation, in plain single-threaded loops. Slow on
// purpose; tests hold every other backend against it.
#pragma once

#include <memory>

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

std::unique_ptr<Backend> make_backend();

}  // namespace satchel::kernels::reference
