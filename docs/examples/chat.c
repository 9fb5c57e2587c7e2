/* Chats with a model, one question a line; nothing is kept:  chat MODEL.gguf */
#include <satchel/satchel.h>
#include <stdio.h>
#include <string.h>

static int32_t print_delta(void* user, const satchel_delta* delta) {
  (void)user;
  if (!delta->is_thought) fwrite(delta->text, 1, delta->size, stdout);
  return fflush(stdout);
}

int main(int argc, char** argv) {
  satchel_runtime* runtime = NULL;
  satchel_model* model = NULL;
  satchel_session* chat = NULL;
  satchel_error* error = NULL;
  satchel_listener listener = SATCHEL_INIT(satchel_listener);
  char line[4096];
  int failed = argc != 2 || satchel_runtime_create(NULL, &runtime, &error) ||
               satchel_model_load(runtime, argv[1], NULL, NULL, &model, &error) ||
               satchel_session_create(model, NULL, NULL, &chat, &error);
  listener.delta = print_delta;
  while (!failed && fgets(line, sizeof line, stdin)) {
    failed = satchel_send(chat, line, strcspn(line, "\n"), NULL, &listener, NULL, NULL, &error);
    putchar('\n');
  }
  if (failed) fprintf(stderr, "%s\n", error ? satchel_error_message(error) : "chat MODEL.gguf");
  satchel_error_free(error);
  satchel_session_free(chat);
  satchel_model_free(model);
  satchel_runtime_free(runtime);
  return failed != 0;
}
