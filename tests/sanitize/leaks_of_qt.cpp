// What Qt and the libraries below it leave behind at the end of a program, by name: LeakSanitizer
// tells of all else. Here, so that the program needs no variable to be run.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\n";
}
