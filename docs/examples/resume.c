/* Reads a document once, compresses and saves it; started again, it goes on from what was saved,
 * even if it was killed:
 *   resume MODEL.gguf FOLDER DOCUMENT.txt QUESTION [kill] */
#include <satchel/satchel.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program where a call failed; what was done until then is on disk. */
static void check(const char* what, int32_t result, satchel_error* error) {
  if (result == SATCHEL_OK) return;
  fprintf(stderr, "%s: %s [%s]\n", what, satchel_error_message(error), satchel_error_code(error));
  exit(1);
}

static size_t read_file(const char* path, char* text, size_t capacity) {
  FILE* file = fopen(path, "rb");
  size_t size = file ? fread(text, 1, capacity, file) : 0;
  if (file) fclose(file);
  return size;
}

static void read_document(satchel_session* chat, const char* path) {
  static char text[1 << 20];
  satchel_error* error = NULL;
  satchel_stats stats = SATCHEL_INIT(satchel_stats);
  int32_t finished = 0;
  size_t size = read_file(path, text, sizeof text);
  check("append_document",
        satchel_append_document(chat, path, text, size, NULL, NULL, &error), error);
  while (!finished) check("idle", satchel_idle(chat, NULL, &finished, &error), error);
  check("cache_stats", satchel_cache_stats(chat, &stats, &error), error);
  printf("prefilled %llu tokens: %llu bytes, uncompressed %llu\n", (unsigned long long)stats.n_prefilled,
         (unsigned long long)stats.bytes, (unsigned long long)stats.fp16_bytes);
}

int main(int argc, char** argv) {
  satchel_runtime* runtime = NULL;
  satchel_store* store = NULL;
  satchel_model* model = NULL;
  satchel_session* chat = NULL;
  satchel_buffer* answer = NULL;
  satchel_error* error = NULL;
  satchel_store_options in_folder = SATCHEL_INIT(satchel_store_options);
  satchel_model_options with_store = SATCHEL_INIT(satchel_model_options);
  satchel_session_options compact = SATCHEL_INIT(satchel_session_options);
  satchel_resume_report resumed = SATCHEL_INIT(satchel_resume_report);
  if (argc < 5) return fprintf(stderr, "resume MODEL FOLDER DOCUMENT QUESTION [kill]\n"), 2;

  check("runtime", satchel_runtime_create(NULL, &runtime, &error), error);
  in_folder.folder = argv[2];
  check("store", satchel_store_open(runtime, &in_folder, &store, &error), error);
  with_store.store = store;
  check("model", satchel_model_load(runtime, argv[1], &with_store, NULL, &model, &error),
        error);

  if (satchel_session_open(model, "notes", NULL, NULL, &resumed, &chat, &error) == SATCHEL_OK) {
    printf("resumed %llu tokens, %llu recomputed, in %.0f ms\n",
           (unsigned long long)resumed.n_reused, (unsigned long long)resumed.n_recomputed, resumed.ms);
  } else {
    satchel_error_free(error);
    error = NULL;
    compact.recipe = "compact";
    check("session", satchel_session_create(model, "notes", &compact, &chat, &error), error);
    read_document(chat, argv[3]);
  }
  check("send",
        satchel_send(chat, argv[4], SATCHEL_NUL_ENDED, NULL, NULL, NULL, &answer, &error),
        error);
  printf("%s\n", satchel_buffer_data(answer));
  fflush(stdout);
  if (argc > 5) raise(SIGKILL); /* as if the power went */

  satchel_buffer_free(answer);
  satchel_session_free(chat);
  satchel_model_free(model);
  satchel_store_free(store);
  satchel_runtime_free(runtime);
  return 0;
}
