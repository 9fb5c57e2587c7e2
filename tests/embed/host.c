/* A host in plain C99: reads a document, compresses it, saves it; started again it resumes.
 *   host MODEL FOLDER read|resume */
#include <satchel/satchel.h>
#include <stdio.h>
#include <string.h>

static int failed(const char* what, satchel_error* error) {
  fprintf(stderr, "%s: %s [%s]\n", what, satchel_error_message(error), satchel_error_code(error));
  satchel_error_free(error);
  return 1;
}

int main(int n_arguments, char** arguments) {
  static const char document[] =
      "Matteo Thorsen keeps a rabbit. We had tea. Estelle Ibarra keeps a parrot. "
      "Quentin works as a baker. The last bus came back in the night. ";
  satchel_error* error = NULL;
  satchel_runtime* runtime = NULL;
  satchel_store* store = NULL;
  satchel_model* model = NULL;
  satchel_session* chat = NULL;
  satchel_buffer* answer = NULL;
  satchel_store_options store_options = SATCHEL_INIT(satchel_store_options);
  satchel_model_options model_options = SATCHEL_INIT(satchel_model_options);
  satchel_session_options chat_options = SATCHEL_INIT(satchel_session_options);
  satchel_resume_report resumed = SATCHEL_INIT(satchel_resume_report);
  int is_new;
  if (n_arguments != 4) return 2;
  is_new = strcmp(arguments[3], "read") == 0;
  store_options.folder = arguments[2];
  chat_options.recipe = "balanced";
  if (satchel_runtime_create(NULL, &runtime, &error) != 0) return failed("runtime", error);
  if (satchel_store_open(runtime, &store_options, &store, &error) != 0)
    return failed("store", error);
  model_options.store = store;
  if (satchel_model_load(runtime, arguments[1], &model_options, NULL, &model, &error) != 0)
    return failed("model", error);
  if (is_new) {
    if (satchel_session_create(model, "notes", &chat_options, &chat, &error) != 0)
      return failed("session", error);
    if (satchel_append_document(chat, "notes.txt", document, SATCHEL_NUL_ENDED, NULL, NULL, &error) != 0)
      return failed("document", error);
  } else {
    if (satchel_session_open(model, "notes", NULL, NULL, &resumed, &chat, &error) != 0)
      return failed("open", error);
    printf("reused %llu tokens, recomputed %llu\n", (unsigned long long)resumed.n_reused,
           (unsigned long long)resumed.n_recomputed);
  }
  if (satchel_send(
          chat,
          is_new ? "Which pet does Matteo Thorsen keep?" : "Which pet does Estelle Ibarra keep?",
          SATCHEL_NUL_ENDED, NULL, NULL, NULL, &answer, &error) != 0)
    return failed("send", error);
  printf("%s\n", satchel_buffer_data(answer));
  satchel_buffer_free(answer);
  satchel_session_free(chat);
  satchel_model_free(model);
  satchel_store_free(store);
  satchel_runtime_free(runtime);
  return 0;
}
