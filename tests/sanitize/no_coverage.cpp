// The sanitized libraries report each block they enter (tests/fuzz/coverage.cpp listens). The unit
// tests do not listen.
extern "C" void __sanitizer_cov_trace_pc() {}
