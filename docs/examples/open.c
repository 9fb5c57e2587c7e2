/* Opens the library while the program runs, as plug-ins and other languages do:
 *   open libsatchel.so.1 */
#include <dlfcn.h>
#include <satchel/satchel.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  const double started = now_ms();
  void* library = dlopen(argc > 1 ? argv[1] : "libsatchel.so.1", RTLD_NOW | RTLD_LOCAL);
  uint32_t (*abi_version)(void);
  int32_t (*create)(const satchel_runtime_options*, satchel_runtime**, satchel_error**);
  satchel_runtime* runtime = NULL;
  void* symbol;
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  symbol = dlsym(library, "satchel_abi_version");
  memcpy(&abi_version, &symbol, sizeof symbol); /* C has no cast from data to functions */
  symbol = dlsym(library, "satchel_runtime_create");
  memcpy(&create, &symbol, sizeof symbol);
  if (abi_version() != SATCHEL_ABI_VERSION || create(NULL, &runtime, NULL) != SATCHEL_OK) return 1;
  printf("ABI %u, ready after %.1f ms\n", abi_version(), now_ms() - started);
  return 0; /* the runtime ends with the process */
}
