#include "support/open_named.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "support/staged_backend.h"

namespace satchel::test {

kernels::BackendOptions options_here(std::size_t n_threads) {
  namespace fs = std::filesystem;
  const char* other = std::getenv("SATCHEL_TEST_LIBRARY_FOLDER");
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  return {.n_threads = n_threads,
          .library_folders = {other == nullptr ? beside / "lib/satchel" : fs::path(other)}};
}

Result<std::unique_ptr<kernels::Backend>> open_named(std::string_view name, std::size_t n_threads) {
  return kernels::open_backend(name, options_here(n_threads));
}

std::unique_ptr<kernels::Backend> open_in_main_memory(std::string_view name) {
  const char* other = std::getenv("SATCHEL_TEST_BACKEND");
  if (other != nullptr) name = other;
  auto opened = open_named(name);
  if (!opened.ok()) {
    std::cerr << "open_backend: " << opened.error().message << "\n";
    std::abort();
  }
  return name == "cuda" ? make_staged(std::move(opened).value()) : std::move(opened).value();
}

std::string_view in_place_of(std::string_view name) {
  const char* other = std::getenv("SATCHEL_TEST_BACKEND");
  return other == nullptr || name != "cpu" ? name : other;
}

double limit_on(std::string_view backend, double limit, double on_card) {
  return in_place_of(backend) == "cuda" ? on_card : limit;
}

}  // namespace satchel::test
