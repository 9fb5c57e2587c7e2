/* Satchel: a chat runtime that keeps long conversations in a fixed amount of memory. C API.
 *
 *   handles  opaque and counted inside: a session keeps its model alive, a model its store and
 *            runtime. Free them in any order; NULL is fine. No call may run on a handle that is
 *            freed
 *   errors   0 is ok; below 0 is a class of errors (SATCHEL_INVALID …), and `err`, which may be
 *            NULL, gets an object to be freed. Outputs are then NULL or 0, the handle stays usable,
 *            and what was done stays done. Nothing throws or prints; only a failed assertion, a bug
 *            of ours, says where and ends the program
 *   structs  begin with their size: SATCHEL_INIT(struct) sets it and zeroes the rest. Zero is the
 *            default of every field. Fields are only ever added at the end
 *   text     UTF-8, pointer and length; SATCHEL_NUL_ENDED for the length takes it up to its NUL.
 *            Streamed text comes in whole characters
 *   threads  runtime, model, store: any thread. A session: one call at a time; a second one gets
 *            SATCHEL_BUSY at once. Sessions of one model take turns and decode together; several
 *            models run side by side. satchel_cancel and the satchel_*_stats calls: any thread, at
 *            any time
 *   callbacks  run on the thread that made the call, before it returns. They may call
 *            satchel_cancel and satchel_*_stats; anything else on the same model returns
 *            SATCHEL_BUSY or SATCHEL_INVALID; satchel_session_free and the satchel_stream_* calls
 *            must not be made there. They must not throw or longjmp. Not 0 stops the call. While
 *            one runs no other session of the model goes on
 *   cancel   within 200 ms on a CPU, or when the prefill or callback of another session of the
 *            model that it waits for is over; the session holds what was done
 *   globals  none but the names of scorers: two runtimes in one process do not know each other.
 *            After fork() only exec() */
#ifndef SATCHEL_H
#define SATCHEL_H

#include <stddef.h>
#include <stdint.h>

/* Of the functions and structs below; the number in the library's soname. */
#define SATCHEL_ABI_VERSION 1
#define SATCHEL_NUL_ENDED ((size_t)-1)
/* satchel_sampling sampling = SATCHEL_INIT(satchel_sampling); */
#ifdef __cplusplus
template <class T>
inline T satchel_init() {
  T made = {};
  made.struct_size = static_cast<uint32_t>(sizeof(T));
  return made;
}
#define SATCHEL_INIT(type) satchel_init<type>()
extern "C" {
#else
#define SATCHEL_INIT(type) \
  { .struct_size = (uint32_t)sizeof(type) }
#endif

/* Classes of errors. */
#define SATCHEL_OK 0
#define SATCHEL_INVALID (-1)       /* the request makes no sense */
#define SATCHEL_NOT_FOUND (-2)     /* no such file, chat, model or name */
#define SATCHEL_CORRUPT (-3)       /* bytes from outside are damaged */
#define SATCHEL_UNSUPPORTED (-4)   /* well formed, but this library cannot do it */
#define SATCHEL_OUT_OF_MEMORY (-5) /* does not fit the limit, the context or the machine */
#define SATCHEL_DEVICE_LOST (-6)   /* the device failed, or was asked for and is missing */
#define SATCHEL_STORAGE (-7)       /* disk full, read-only, in use */
#define SATCHEL_CANCELLED (-8)
#define SATCHEL_INTERNAL (-9)
#define SATCHEL_BUSY (-10) /* another call runs on this session, or the chat is open */

typedef struct satchel_runtime satchel_runtime;
typedef struct satchel_store satchel_store;
typedef struct satchel_model satchel_model;
typedef struct satchel_session satchel_session;
typedef struct satchel_stream satchel_stream;
typedef struct satchel_buffer satchel_buffer;
typedef struct satchel_error satchel_error;

/* --- versions, errors, buffers */

uint32_t satchel_abi_version(void);
const char *satchel_version(void); /* "0.1.0" */

int32_t satchel_error_class(const satchel_error *error);
const char *satchel_error_code(const satchel_error *error);    /* stable: "MODEL_TRUNCATED" */
const char *satchel_error_message(const satchel_error *error); /* for people */
/* The message's numbers for programs, a JSON object; "{}": it has none. LIMIT and MEMORY have
 * "limit_bytes", and "least_limit_bytes" or "needed_bytes"; CACHE_FULL "needed_bytes" and
 * "free_bytes"; CONTEXT_FULL "n_tokens", and "n_left" or "n_context". */
const char *satchel_error_detail(const satchel_error *error);
void satchel_error_free(satchel_error *error);

/* Bytes that the caller owns; a NUL stands behind the last one. */
const char *satchel_buffer_data(const satchel_buffer *buffer);
size_t satchel_buffer_size(const satchel_buffer *buffer);
void satchel_buffer_free(satchel_buffer *buffer);

/* --- the runtime */

#define SATCHEL_LOG_DEBUG 0
#define SATCHEL_LOG_INFO 1
#define SATCHEL_LOG_WARNING 2
#define SATCHEL_LOG_ERROR 3

typedef struct satchel_runtime_options {
  uint32_t struct_size;
  int32_t log_level; /* the least that is told */
  /* One line, without words of a chat. From any thread. NULL: silent. */
  void (*log)(void *user, int32_t level, const char *component, const char *line);
  void *log_user;
  const char *backend_folder; /* absolute: of libsatchel-cuda.so; NULL: no GPU */
  const char *profile_folder; /* where what was measured of a model is kept; NULL: nowhere */
} satchel_runtime_options;

/* options  NULL: the defaults */
int32_t satchel_runtime_create(const satchel_runtime_options *options, satchel_runtime **runtime,
                               satchel_error **err);
void satchel_runtime_free(satchel_runtime *runtime);

/* --- scorers: what a recipe asks how important a token is */

/* One KV head of one layer, when a text has been prefilled. */
typedef struct satchel_scored_lane {
  uint32_t struct_size;
  uint32_t kv_head; /* in its layer */
  uint64_t n_tokens;
  uint64_t head_dim;
  uint64_t first_position; /* in the chat, of the first of these tokens */
  const float *k;          /* [n_tokens, head_dim], after RoPE */
  const float *v;          /* [n_tokens, head_dim] */
} satchel_scored_lane;

typedef struct satchel_scorer {
  uint32_t struct_size;
  uint32_t reserved;
  const char *name; /* in a recipe: "scorer": { "use": name } */
  void *user;
  /* Once for each lane, on the thread of the call. Calls on two models run side by side.
   *   scores  [n_tokens], 0 before and finite after: a token with more is retained longer
   * Not 0 ends the call: INVALID, SCORER. */
  int32_t (*score)(void *user, const satchel_scored_lane *lane, float *scores);
} satchel_scorer;

/* From now on recipes may name it, in every runtime of the process. It stays until the process
 * ends, and so must its function and `user`. INVALID, STAGES: there is one of that name. */
int32_t satchel_scorer_register(const satchel_scorer *scorer, satchel_error **err);

/* --- the store: chats and their compressed caches on disk. Not in libsatchel-core. */

typedef struct satchel_store_options {
  uint32_t struct_size;
  uint32_t reserved;
  const char *folder;       /* precious: library.db; is made if missing */
  const char *cache_folder; /* disposable: kvcache.db; NULL: the same folder */
  uint64_t quota_bytes;     /* of saved caches; 0: 8 GiB */
  /* A passphrase that encrypts both files; only a library built with SQLCipher can. NULL: none */
  const char *key;
  uint64_t thin_after_days; /* caches of chats unused for so long become smaller; 0: never */
} satchel_store_options;

/* One process may write to a folder (LIBRARY_LOCKED), and one model may use a store at a time.
 * INVALID, LIBRARY_KEY: the key is missing, wrong, not wanted, or this library cannot encrypt;
 * nothing has changed then. */
int32_t satchel_store_open(satchel_runtime *runtime, const satchel_store_options *options,
                           satchel_store **store, satchel_error **err);
void satchel_store_free(satchel_store *store);

/* --- listeners: what a call tells while it runs */

#define SATCHEL_PHASE_LOAD 0    /* bytes of the model file */
#define SATCHEL_PHASE_PREFILL 1 /* tokens of a prompt */
#define SATCHEL_PHASE_MEASURE 2 /* what compression cost */
#define SATCHEL_PHASE_PACK 3    /* compression in idle time */
#define SATCHEL_PHASE_PROFILE 4 /* of the model, in thousandths */
#define SATCHEL_PHASE_PARTS 5   /* one question to each part of a long chat */
/* At least every 100 ms of work; `done` never falls within a phase. */
typedef int32_t (*satchel_progress_fn)(void *user, int32_t phase, uint64_t done, uint64_t total);

typedef struct satchel_delta {
  uint32_t struct_size;
  uint32_t is_thought; /* said before the answer */
  const char *text;    /* until the function returns */
  size_t size;
} satchel_delta;
typedef int32_t (*satchel_delta_fn)(void *user, const satchel_delta *delta);

/* Each function may be NULL; one that returns not 0 stops the call, which fails with CANCELLED. An
 * answer that had begun does not fail: its result says STOPPED. */
typedef struct satchel_listener {
  uint32_t struct_size;
  uint32_t reserved;
  void *user;
  satchel_progress_fn progress;
  satchel_delta_fn delta; /* of an answer, as it streams */
} satchel_listener;

/* --- models */

typedef struct satchel_model_options {
  uint32_t struct_size;
  uint32_t n_threads;        /* 0: one per physical core */
  const char *backend;       /* "auto" (NULL), "cpu", "cuda", "reference" */
  const char *cpu_level;     /* "avx2" …; NULL: the best this machine has */
  const char *chat_template; /* NULL: the file's own */
  satchel_store *store;      /* NULL: nothing is kept */
  uint32_t activation_bits;  /* 16 (0), or 8: faster prompts, less exact */
  uint32_t reserved;
} satchel_model_options;

typedef struct satchel_model_info {
  uint32_t struct_size;
  uint32_t on_gpu;
  uint64_t weight_bytes;
  uint64_t n_layers, n_context, n_vocabulary;
  uint32_t has_chat_template; /* 0: the model goes on with what is written */
  uint32_t has_thinking_switch;
  uint64_t default_limit_bytes; /* of memory for all sessions */
} satchel_model_info;

typedef struct satchel_estimate {
  uint32_t struct_size;
  uint32_t fits;         /* the limit, and the memory that is free */
  uint64_t weight_bytes; /* of the model */
  uint64_t cache_bytes;  /* at most */
  uint64_t expected_bytes;
  uint64_t workspace_bytes; /* during the prefill of a prompt of this length */
  uint64_t limit_bytes;     /* asked, or the default */
  uint64_t least_limit_bytes;
  uint64_t fp16_bytes;    /* the same tokens uncompressed */
  uint64_t n_tokens_fit;  /* under the limit, up to the context */
  uint64_t n_tokens_most; /* the same with older text at the coarsest the recipe allows */
  uint64_t available_bytes;
} satchel_estimate;

/* What a GGUF file says of its model, without loading it: a JSON object {"architecture", "name",
 * "file_bytes", "shards", "layers", "context", "vocabulary", "template", "refusal"}. refusal: why
 * this library cannot run it, for people; what is not known then is null. */
int32_t satchel_model_inspect(const char *path, satchel_buffer **json, satchel_error **err);
/* satchel_estimate_memory for a model that is not loaded, from its file. Weights count as they are
 * in it, and may take some more when they are loaded; the default limit leaves them that memory.
 * The file is read once.
 *   options  as it would be loaded with; may be NULL */
int32_t satchel_model_estimate(satchel_runtime *runtime, const char *path,
                               const satchel_model_options *options, const char *recipe,
                               uint64_t n_tokens, uint64_t limit_bytes,
                               satchel_estimate *estimate, satchel_error **err);
/* path  of a GGUF file. options, listener  may be NULL */
int32_t satchel_model_load(satchel_runtime *runtime, const char *path,
                           const satchel_model_options *options, const satchel_listener *listener,
                           satchel_model **model, satchel_error **err);
void satchel_model_free(satchel_model *model);
int32_t satchel_model_describe(satchel_model *model, satchel_model_info *info, satchel_error **err);
/* As it was loaded, for people; lives with the model. */
const char *satchel_model_device(const satchel_model *model);

/* ids      [capacity], or NULL with 0 to count
 * n        gets the number of tokens; INVALID, BUFFER_SIZE where they are more than capacity */
int32_t satchel_tokenize(satchel_model *model, const char *text, size_t size, int32_t *ids,
                         size_t capacity, size_t *n, satchel_error **err);
int32_t satchel_detokenize(satchel_model *model, const int32_t *ids, size_t n,
                           satchel_buffer **text, satchel_error **err);

/* recipe       a preset ("full", "balanced", "compact", "extreme"), the name of a built-in recipe,
 *              or a recipe's JSON
 * n_tokens     0: the model's context
 * limit_bytes  0: the default */
int32_t satchel_estimate_memory(satchel_model *model, const char *recipe, uint64_t n_tokens,
                                uint64_t limit_bytes, satchel_estimate *estimate,
                                satchel_error **err);
/* A JSON array of {"name", "source", "keep"}: presets, then built-in recipes. */
int32_t satchel_recipes(satchel_buffer **json, satchel_error **err);
/* The recipe's canonical JSON; INVALID, RECIPE says where it is wrong. */
int32_t satchel_recipe_check(const char *recipe, satchel_buffer **json, satchel_error **err);

/* --- sessions: one conversation each */

#define SATCHEL_THINKING_AUTO 0
#define SATCHEL_THINKING_ON 1
#define SATCHEL_THINKING_OFF 2

#define SATCHEL_BEYOND_AUTO 0 /* as the recipe has it: it goes on where the recipe evicts */
#define SATCHEL_BEYOND_ENDS 1 /* the chat ends at the model's context */
#define SATCHEL_BEYOND_GOES_ON 2

typedef struct satchel_session_options {
  uint32_t struct_size;
  uint32_t thinking;
  const char *recipe;   /* NULL: "full", or what the chat was saved with */
  double keep;          /* share of a prompt's tokens to keep, (0, 1]; 0: the recipe's own */
  uint64_t limit_bytes; /* of memory for all sessions of the model; 0: as it is, or the default */
  const char *system;   /* of a new chat; NULL: the template's own */
  uint32_t beyond;
  uint32_t reserved;
} satchel_session_options;

/* Why tokens were prefilled again, a sentence for people. NULL: no such reason.
 *   reason  of a saved cache "nothing_saved", "not_saved", "other_model", "other_recipe",
 *           "other_tokens", "other_format", "over_limit", "damaged"; of one in memory
 *           "memory_lost", "checkpoint", "window", "cut_failed", "lowered", "episode_lost",
 *           "gathered", "edited", "placed"; later libraries may have more (docs/reliability.md). A
 *           report names the one of most tokens, or NULL */
const char *satchel_reason_text(const char *reason);

/* What became of the saved cache. */
#define SATCHEL_RESUME_RESTORED 0
#define SATCHEL_RESUME_PARTLY 1   /* up to where the text was edited, or a record is damaged */
#define SATCHEL_RESUME_NOTHING_SAVED 2
#define SATCHEL_RESUME_OTHER_MODEL 3
#define SATCHEL_RESUME_OTHER_RECIPE 4
#define SATCHEL_RESUME_OTHER_TOKENS 5
#define SATCHEL_RESUME_OTHER_FORMAT 6
#define SATCHEL_RESUME_DAMAGED 7

typedef struct satchel_resume_report {
  uint32_t struct_size;
  int32_t outcome;       /* SATCHEL_RESUME_… */
  uint64_t n_tokens;     /* of the chat */
  uint64_t n_reused;     /* of them, from the saved cache */
  uint64_t n_recomputed; /* of them, prefilled again */
  uint64_t bytes_read;
  double ms;         /* until the next token can be made */
  uint32_t too_long; /* for the model's context: it can be shown, not continued */
  uint32_t reserved;
  const char *reason; /* satchel_reason_text; NULL: all came from the saved cache */
} satchel_resume_report;

/* name  by which the chat is found again; NULL without a store, or for a name made of its first
 *       message. It enters the store with its first message */
int32_t satchel_session_create(satchel_model *model, const char *name,
                               const satchel_session_options *options, satchel_session **session,
                               satchel_error **err);
/* Opens a saved chat; options of 0 are those it was saved with. BUSY, CHAT_OPEN: a session has it.
 *   listener, report  may be NULL */
int32_t satchel_session_open(satchel_model *model, const char *name,
                             const satchel_session_options *options,
                             const satchel_listener *listener, satchel_resume_report *report,
                             satchel_session **session, satchel_error **err);
/* The chat as it is now, in one stretch of bytes: its messages with their token ids, its recipe,
 * limit and system prompt, and its compressed cache. They are the caller's to keep, and may be sent
 * elsewhere; whoever has them can read the chat. INVALID, PARAM: it has no messages yet.
 *   bytes  to be freed; about what the cache takes, up to three times as much while they are made
 * What rests in the store and can't be read there is left out, and prefilled when it is needed. */
int32_t satchel_snapshot_save(satchel_session *session, satchel_buffer **bytes,
                              satchel_error **err);
/* A session of its own that goes on where the saved one was, with the same model file; nothing is
 * prefilled again, unless other options need it: the report says how much, and why. The bytes are
 * not needed afterwards. CORRUPT, CHAT_DAMAGED: they are not what was saved. UNSUPPORTED,
 * CHAT_VERSION: a newer library saved them. INVALID, CHAT_MODEL: they are of another model. After
 * these, or where it was stopped, there is no session, and no chat in the store.
 *   bytes             [size]
 *   name              as for satchel_session_create; INVALID, CHAT_EXISTS: the store has one
 *   options           as for satchel_session_open; OUT_OF_MEMORY, MEMORY: the limit is too low
 *   listener, report  may be NULL */
int32_t satchel_snapshot_load(satchel_model *model, const void *bytes, size_t size,
                              const char *name, const satchel_session_options *options,
                              const satchel_listener *listener, satchel_resume_report *report,
                              satchel_session **session, satchel_error **err);
/* A second session that goes on from here: pages are shared until they differ. */
int32_t satchel_session_fork(satchel_session *session, satchel_session **fork, satchel_error **err);
/* What was said is on disk before; the cache is saved after each call. Waits until the calls of the
 * model's other sessions let it in. */
void satchel_session_free(satchel_session *session);
/* The call that runs on the session ends soon with CANCELLED, or its result says so. Not from a
 * signal handler. */
void satchel_cancel(satchel_session *session);
/* A JSON array of {"name", "title", "messages", "tokens", "used_ms"}, the one used last first. */
int32_t satchel_chats(satchel_model *model, satchel_buffer **json, satchel_error **err);
/* It is hidden at once, and gone for good after 30 days. BUSY, CHAT_OPEN: a session has it. */
int32_t satchel_chat_remove(satchel_model *model, const char *name, satchel_error **err);

/* The shelf of the model's store: documents with which chats began (n_shelf). An array of {"id",
 * "title", "kept", "used_ms", "readings": [{"model", "recipe", "tokens", "bytes"}]}. */
int32_t satchel_documents(satchel_model *model, satchel_buffer **json, satchel_error **err);
/* It stays when the chats that have it go. It need not have been prefilled.
 *   id  gets what the other calls know it by; may be NULL */
int32_t satchel_document_keep(satchel_model *model, const char *title, const char *text,
                              size_t size, satchel_buffer **id, satchel_error **err);
int32_t satchel_document_text(satchel_model *model, const char *id, satchel_buffer **text,
                              satchel_error **err);
/* At once and for good; chats that have it keep it. */
int32_t satchel_document_remove(satchel_model *model, const char *id, satchel_error **err);

#define SATCHEL_SYSTEM 0
#define SATCHEL_USER 1
#define SATCHEL_ASSISTANT 2
typedef struct satchel_message {
  uint32_t struct_size;
  uint32_t role;
  const char *text;
  size_t size;
} satchel_message;

typedef struct satchel_prefill_report {
  uint32_t struct_size;
  uint32_t compressed; /* something was evicted or packed */
  uint64_t n_tokens;   /* prefilled now */
  uint64_t n_unread;   /* left: another call came, which a long document makes way for */
  uint64_t n_evicted;  /* summed over lanes */
  double ms;
  uint64_t n_recomputed; /* tokens prefilled again, since the last report */
  const char *reason;    /* satchel_reason_text; NULL: none were */
  uint64_t n_shelf;      /* taken from a chat that began with the same document, not prefilled */
} satchel_prefill_report;

/* Messages of a conversation had elsewhere, the user's first: all are added, or none. Nothing is
 * prefilled yet.
 *   ids  [n], or NULL */
int32_t satchel_append(satchel_session *session, const satchel_message *messages, size_t n,
                       int64_t *ids, satchel_error **err);
/* Adds a document and prefills it: in parts, where it is longer than the context and the chat goes
 * on beyond it. A call that comes meanwhile is not held up by the parts that are left: satchel_idle
 * reads them, or an answer that needs them.
 *   listener, report  may be NULL */
int32_t satchel_append_document(satchel_session *session, const char *title, const char *text,
                                size_t size, const satchel_listener *listener,
                                satchel_prefill_report *report, satchel_error **err);
/* Prefills what was added, so that the next answer begins at once. */
int32_t satchel_prefill(satchel_session *session, const satchel_listener *listener,
                        satchel_prefill_report *report, satchel_error **err);
/* A JSON array of {"id", "role", "kind", "state", "tokens", "title", "text"}. */
int32_t satchel_messages(satchel_session *session, satchel_buffer **json, satchel_error **err);

/* Zero: greedy, 1,024 tokens at most, a repetition penalty of 1.1. */
typedef struct satchel_sampling {
  uint32_t struct_size;
  uint32_t top_k; /* 0: 40; SATCHEL_OFF: all */
  double temperature;
  double top_p;              /* 0: 0.95 */
  double min_p;              /* 0: 0.05; below 0: off */
  double repetition_penalty; /* 0: 1.1; 1: off */
  uint64_t seed;
  uint64_t n_tokens_max; /* 0: 1,024; SATCHEL_OFF: up to the context */
  uint32_t allow_loops;  /* 1: an answer that repeats itself goes on */
  uint32_t reserved;
  /* What the answer must be, its thoughts not counted; it ends where that ends. At most one:
   * INVALID, PARAM. NULL: any text. What is wrong with it is said before anything is sent:
   * INVALID, GRAMMAR with line and column; INVALID or UNSUPPORTED, SCHEMA with its place. Where no
   * token of the model goes on with it the call fails: INVALID, GRAMMAR_STUCK. An answer that was
   * cut (finish) is the beginning of such a text. */
  const char *grammar;     /* GBNF, as llama.cpp writes it; "root" is the whole answer */
  const char *json_schema; /* {"type": "object"}: any JSON object */
} satchel_sampling;
#define SATCHEL_OFF UINT32_MAX

#define SATCHEL_END_OF_TURN 0
#define SATCHEL_TOKENS_MAX 1
#define SATCHEL_REPEATS 2
#define SATCHEL_STOPPED 3
#define SATCHEL_CONTEXT_FULL 4
#define SATCHEL_CACHE_FULL 5

typedef struct satchel_result {
  uint32_t struct_size;
  int32_t finish;
  int64_t answer_id;    /* 0: there was no room for one */
  uint64_t n_prompt;    /* tokens before the answer */
  uint64_t n_reused;    /* of them, held already */
  uint64_t n_prefilled; /* of them, prefilled now */
  uint64_t n_thought;   /* tokens */
  uint64_t n_answer;
  double prefill_ms, decode_ms;
  int32_t resume_outcome;  /* SATCHEL_RESUME_…, where the chat was opened again; else RESTORED */
  uint32_t n_parts;        /* of a chat longer than the context; 0: it is not longer */
  uint32_t n_parts_unread; /* of them, documents' that are not prefilled yet */
  uint32_t reserved;
  uint64_t n_recomputed; /* tokens prefilled again, since the last report */
  const char *reason;    /* satchel_reason_text; NULL: none were */
} satchel_result;

/* Sends a message and answers it.
 *   sampling, listener, result  may be NULL
 *   text                        gets the whole answer; may be NULL */
int32_t satchel_send(satchel_session *session, const char *message, size_t size,
                     const satchel_sampling *sampling, const satchel_listener *listener,
                     satchel_result *result, satchel_buffer **text, satchel_error **err);
/* The same for the last message, which has no answer yet. */
int32_t satchel_answer(satchel_session *session, const satchel_sampling *sampling,
                       const satchel_listener *listener, satchel_result *result,
                       satchel_buffer **text, satchel_error **err);
/* The same for a question about all of a chat longer than the context: each part is asked first. */
int32_t satchel_ask_all(satchel_session *session, const char *question, size_t size,
                        const satchel_sampling *sampling, const satchel_listener *listener,
                        satchel_result *result, satchel_buffer **text, satchel_error **err);

/* An answer that is taken delta by delta, for hosts that no function can call back. It is made on a
 * thread of its own, which is the session's call until it has ended, taken or not.
 *   message   NULL: the last message is answered, as by satchel_answer */
int32_t satchel_stream_open(satchel_session *session, const char *message, size_t size,
                            const satchel_sampling *sampling, satchel_stream **stream,
                            satchel_error **err);
#define SATCHEL_STREAM_ENDED 0
#define SATCHEL_STREAM_DELTA 1
#define SATCHEL_STREAM_WAITS 2 /* nothing came in time */
/* timeout_ms  below 0: as long as it takes
 * delta       its text until the next call on the stream
 * state       gets SATCHEL_STREAM_…
 * Fails with what the answer failed with, when all deltas were taken. */
int32_t satchel_stream_next(satchel_stream *stream, int32_t timeout_ms, satchel_delta *delta,
                            int32_t *state, satchel_error **err);
/* Waits for the end. result, text  may be NULL */
int32_t satchel_stream_result(satchel_stream *stream, satchel_result *result,
                              satchel_buffer **text, satchel_error **err);
/* Stops the answer, if it goes on, and waits for its end. */
void satchel_stream_free(satchel_stream *stream);

/* After DEVICE_LOST: the model goes on with the CPU, for all its sessions. This one is as it was
 * saved, and its last message is answered if it has no whole answer; the others follow with their
 * next call. A chat that no store has is gone: CHAT_LOST. May be tried again after an error.
 *   sampling, listener, report, result  may be NULL
 *   text                                gets the answer, "" where there was none to make; may be
 *                                       NULL */
int32_t satchel_use_cpu(satchel_session *session, const satchel_sampling *sampling,
                        const satchel_listener *listener, satchel_resume_report *report,
                        satchel_result *result, satchel_buffer **text, satchel_error **err);

/* Makes `last` the last message; 0: the chat is empty. */
int32_t satchel_truncate(satchel_session *session, int64_t last, satchel_error **err);
/* What stood or stands in the message's place: what was cut and said otherwise stays in the store.
 *   ids  gets the first `capacity`, oldest first, the message among them; may be NULL
 *   n    gets how many there are: 1 where nothing else was said there; may be NULL */
int32_t satchel_versions(satchel_session *session, int64_t message, int64_t *ids, size_t capacity,
                         size_t *n, satchel_error **err);
/* Goes on with this version in the place of another, up to where the chat ended last that had it.
 * Nothing of it is prefilled again that was saved. The session must have a store: INVALID, PARAM */
int32_t satchel_switch_to(satchel_session *session, int64_t version, satchel_error **err);
/* Never compressed from now on, also where the chat is recomputed. It must have been prefilled, as
 * for satchel_forget. */
int32_t satchel_pin(satchel_session *session, int64_t message, satchel_error **err);
/* The model forgets it, also where the chat is recomputed; the store keeps its words. */
int32_t satchel_forget(satchel_session *session, int64_t message, satchel_error **err);

/* --- memory and accuracy */

typedef struct satchel_stats {
  uint32_t struct_size;
  uint32_t n_tiers;
  uint64_t n_tokens;              /* of the text */
  uint64_t n_prefilled;           /* of them; parts of documents left for later count */
  uint64_t n_context;             /* the model's */
  uint64_t n_in_reach;            /* tokens of the context in use */
  uint64_t bytes;                 /* held, all metadata included */
  uint64_t fp16_bytes;            /* the same text uncompressed */
  uint64_t n_retained, n_evicted; /* tokens, summed over lanes */
  uint64_t n_resting;             /* likewise: in the store for now */
  uint64_t limit_bytes, used_bytes, peak_bytes; /* of all sessions of the model */
  uint64_t n_unread; /* tokens of the text that were not prefilled yet, those left for later too */
} satchel_stats;

typedef struct satchel_fidelity {
  uint32_t struct_size;
  uint32_t is_measured; /* 0: nothing was measured yet */
  double agreement;     /* share of tokens with the same likeliest next one */
  double kl;            /* nats */
  double attention_retained;
  uint64_t n_compared;
  uint64_t measured_at;   /* tokens in the chat then */
  int64_t measured_ms;    /* since 1970, UTC */
  uint32_t n_facts_asked; /* of the recall probe; 0: not run */
  uint32_t n_facts_recalled;
} satchel_fidelity;

/* What a chat is to have in place of what it has; 0: as it is. */
typedef struct satchel_memory_request {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t limit_bytes; /* of all sessions of the model */
  const char *recipe;
  double keep; /* of the recipe: share of a prompt's tokens to keep, (0, 1] */
} satchel_memory_request;

typedef struct satchel_memory_change {
  uint32_t struct_size;
  uint32_t fits;
  uint64_t bytes_before, bytes_after;
  uint64_t n_lowered, n_evicted; /* summed over lanes */
  uint64_t n_recomputed;         /* tokens to be prefilled again; 0: done at once */
  uint64_t least_limit_bytes;    /* where it does not fit */
  const char *reason;            /* satchel_reason_text; NULL: n_recomputed is 0 */
} satchel_memory_change;

/* Of the last call that changed something; while a call runs, of its last report. */
int32_t satchel_cache_stats(satchel_session *session, satchel_stats *stats,
                            satchel_error **err);
int32_t satchel_fidelity_stats(satchel_session *session, satchel_fidelity *fidelity,
                               satchel_error **err);
/* What the request would do, tried on a copy; and doing it.
 *   listener, change  may be NULL
 * INVALID, LIMIT: it does not fit; nothing has changed then. */
int32_t satchel_memory_change_preview(satchel_session *session,
                                      const satchel_memory_request *request,
                                      satchel_memory_change *change, satchel_error **err);
int32_t satchel_memory_change_apply(satchel_session *session,
                                    const satchel_memory_request *request,
                                    const satchel_listener *listener,
                                    satchel_memory_change *change, satchel_error **err);
/* Work that may wait: compresses, measures, prefills what was left. Stopped, or held up by another
 * call, it is not finished and goes on with the next one.
 *   listener  may be NULL
 *   finished  gets 1 where nothing waits any more; may be NULL */
int32_t satchel_idle(satchel_session *session, const satchel_listener *listener, int32_t *finished,
                     satchel_error **err);

#ifdef __cplusplus
}
#endif

#endif
