// cuBLAS as tests have it: a small library of its own that is opened as the real one is, computes
// plainly, counts, and fails where a test says so. A test finds the_fake_cublas in it by dlsym.
#pragma once

#include <cstddef>

struct FakeCublas {
  // Set by the test: runs work(of) where device memory can be touched; tells what it wrote there.
  void (*reach)(void (*work)(void* of), void* of) = nullptr;
  void (*wrote)(const void* at, std::size_t bytes) = nullptr;
  int calls_until_failure = -1;  // of those that may fail; -1: never
  int failure = 13;              // CUBLAS_STATUS_EXECUTION_FAILED
  int n_living = 0;              // handles
  int n_products = 0;
};
