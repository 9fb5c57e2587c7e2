// open_backend() as tests and benchmarks call it: shared libraries of backends are this build's,
// and the environment may name another backend for what would run on the cpu backend.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "kernels/registry/registry.h"

namespace satchel::test {

kernels::BackendOptions options_here(std::size_t n_threads = 2);
Result<std::unique_ptr<kernels::Backend>> open_named(std::string_view name,
                                                     std::size_t n_threads = 2);

// In main memory, whichever it is (staged_backend.h), and SATCHEL_TEST_BACKEND's in place of any.
// Ends the program where it cannot be had.
std::unique_ptr<kernels::Backend> open_in_main_memory(std::string_view name);

// `name`, or what SATCHEL_TEST_BACKEND says in place of "cpu" (tests/gpu/run.sh: cuda).
std::string_view in_place_of(std::string_view name);
// A card reads prompts with fp16 operands (docs/gpu.md): `limit`, or what it may be off by there.
double limit_on(std::string_view backend, double limit, double on_card);

}  // namespace satchel::test
