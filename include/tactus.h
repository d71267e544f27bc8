/*
 * Tactus: an LLM inference runtime as one C library.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Generated from src/capi by `cargo xtask header`. Do not edit.
 *
 * Statuses. A function that can fail answers TACTUS_OK or a TACTUS_ERR_* code, and keeps a text that says what was wrong for
 * tactus_last_error_message (per thread) and tactus_handle_error (per handle). Functions named *_is_*, *_has_*, owns_*, supports_*
 * and *_succeeded are predicates: 1 or 0, and 0 with the last error set where they fail.
 *
 * Handles. Every tactus_*_t is an opaque handle, made by a function with an out parameter that comes last and owned by the caller
 * until its tactus_*_destroy. A handle is never dereferenced: null, freed and foreign ones are INVALID_ARGUMENT. Handles may be
 * destroyed in any order and while others still use what they stand for; destroying null does nothing. Const in a parameter says
 * that the call does not change what the handle stands for.
 *
 * Strings. A text parameter is a pointer and a length in bytes, UTF-8, NULs allowed; the length TACTUS_NUL_TERMINATED says that it
 * ends at its first NUL. A path is any bytes but NUL. Texts handed out have a length, and a NUL after them that it does not count.
 *
 * Spans. Data handed out as a pointer and a length is borrowed: it lives as long as the function's comment says, and must not be
 * freed. Out parameters are required unless their comment says that they may be null; after a failure handles and pointers are null
 * and other results unchanged.
 *
 * Threads. Any function may be called from any thread at any time; what that means on one object is said with its functions.
 * Callbacks run on the thread that called the function they belong to. No function installs signal handlers, prints, changes the
 * locale or the environment, or lets a panic out.
 */

#ifndef TACTUS_H
#define TACTUS_H

#include <stddef.h>
#include <stdint.h>

#if !defined(UINTPTR_MAX) || UINTPTR_MAX < 0xffffffffffffffffu
#error "Tactus needs 64-bit pointers"
#endif

/**
 * Length that says "ends at the first NUL", for every `*_len` parameter that goes with a `const char *`.
 */
#define TACTUS_NUL_TERMINATED SIZE_MAX

/**
 * Version of the ABI this header describes. Raised when a function or constant is added; a name never changes its meaning.
 */
#define TACTUS_ABI_VERSION 2

/**
 * The call did what it says.
 */
#define TACTUS_OK 0

/**
 * An argument is null, malformed, out of range, or a handle that is not live. The message names the parameter.
 */
#define TACTUS_ERR_INVALID_ARGUMENT 1

/**
 * A file, a shard, a tensor or a name does not exist.
 */
#define TACTUS_ERR_NOT_FOUND 2

/**
 * The system refused to read or write.
 */
#define TACTUS_ERR_IO 3

/**
 * A file is malformed.
 */
#define TACTUS_ERR_FORMAT 4

/**
 * A model, a stored type or a combination that this build does not do.
 */
#define TACTUS_ERR_UNSUPPORTED 5

/**
 * The chat template does not parse or does not accept the messages.
 */
#define TACTUS_ERR_TEMPLATE 6

/**
 * The vocabulary cannot be used, or a text cannot be encoded.
 */
#define TACTUS_ERR_TOKENIZER 7

/**
 * The prompt, or prompt and requested output, does not fit. Numbers: tactus_last_error_capacity.
 */
#define TACTUS_ERR_CONTEXT_FULL 8

/**
 * No seat or no page is free. Numbers: tactus_last_error_capacity.
 */
#define TACTUS_ERR_NO_CAPACITY 9

/**
 * Another call is running on the coordinator. Nothing was changed.
 */
#define TACTUS_ERR_BUSY 10

/**
 * A callback or another thread asked to stop.
 */
#define TACTUS_ERR_CANCELLED 11

/**
 * A CUDA call failed.
 */
#define TACTUS_ERR_CUDA 12

/**
 * A rank was lost, or a collective failed.
 */
#define TACTUS_ERR_COLLECTIVE 13

/**
 * Host memory ran out. The process is as it was before the call.
 */
#define TACTUS_ERR_OUT_OF_MEMORY 14

/**
 * The call does not fit what was done before: nothing to take, already taken, shut down.
 */
#define TACTUS_ERR_STATE 15

/**
 * A defect of this library. The handle concerned can only be destroyed from now on; other handles go on working.
 */
#define TACTUS_ERR_INTERNAL 16

/**
 * The time ran out before there was anything.
 */
#define TACTUS_ERR_TIMEOUT 17

/**
 * A device stopped working.
 */
#define TACTUS_ERR_DEVICE_LOST 18

/**
 * The handle was made before this process was forked. A child makes its own.
 */
#define TACTUS_ERR_FORKED 19

/**
 * Device memory ran out.
 */
#define TACTUS_ERR_DEVICE_OUT_OF_MEMORY 20

/**
 * No lines.
 */
#define TACTUS_LOG_OFF 0

/**
 * What failed. It is also told by a status.
 */
#define TACTUS_LOG_ERROR 1

/**
 * What a user should know although nothing failed.
 */
#define TACTUS_LOG_WARN 2

/**
 * What was loaded, created, chosen.
 */
#define TACTUS_LOG_INFO 3

/**
 * What each request does.
 */
#define TACTUS_LOG_DEBUG 4

/**
 * What each step does.
 */
#define TACTUS_LOG_TRACE 5

/**
 * CUDA where this library and the machine have it, the CPU otherwise.
 */
#define TACTUS_DEVICE_AUTO 0

/**
 * The CPU.
 */
#define TACTUS_DEVICE_CPU 1

/**
 * CUDA devices.
 */
#define TACTUS_DEVICE_CUDA 2

/**
 * Ranks are threads of this process.
 */
#define TACTUS_LAUNCH_THREAD 0

/**
 * Ranks are MPI processes.
 */
#define TACTUS_LAUNCH_MPI 1

/**
 * 32-bit floats, for comparisons.
 */
#define TACTUS_KV_F32 0

/**
 * IEEE half precision: the default.
 */
#define TACTUS_KV_F16 1

/**
 * bfloat16.
 */
#define TACTUS_KV_BF16 2

/**
 * Weight files are mapped into memory: shared between processes, loaded as they are used. Somebody who truncates a mapped file
 * ends the process with a bus error. The default.
 */
#define TACTUS_WEIGHTS_MAP 0

/**
 * Weight files are read into memory of our own: safe whatever happens to the file afterwards.
 */
#define TACTUS_WEIGHTS_READ 1

/**
 * Sequences that can be resident at once.
 */
#define TACTUS_LIMIT_MAX_BATCH 0

/**
 * The longest sequence, prompt and output, in tokens, that the KV pool holds.
 */
#define TACTUS_LIMIT_MAX_SEQUENCE_LENGTH 1

/**
 * What the model was trained for, in tokens.
 */
#define TACTUS_LIMIT_CONTEXT_LENGTH 2

/**
 * Token ids lie in 0 .. this.
 */
#define TACTUS_LIMIT_VOCAB_SIZE 3

/**
 * Tokens per KV page.
 */
#define TACTUS_LIMIT_PAGE_TOKENS 4

/**
 * Most tokens in one step.
 */
#define TACTUS_LIMIT_STEP_TOKENS 5

/**
 * Prompt tokens per step while nobody decodes.
 */
#define TACTUS_LIMIT_PREFILL_CHUNK 6

/**
 * Prompt tokens per step beside sequences that decode.
 */
#define TACTUS_LIMIT_MIXED_PREFILL_CHUNK 7

/**
 * Bytes of the KV pool.
 */
#define TACTUS_LIMIT_KV_BYTES 8

/**
 * Bytes of step buffers.
 */
#define TACTUS_LIMIT_SCRATCH_BYTES 9

/**
 * Bytes of weights as the device holds them.
 */
#define TACTUS_LIMIT_WEIGHT_BYTES 10

/**
 * Steps run since creation.
 */
#define TACTUS_METRIC_STEPS 0

/**
 * Prompt tokens run since creation.
 */
#define TACTUS_METRIC_PREFILL_TOKENS 1

/**
 * Tokens generated since creation.
 */
#define TACTUS_METRIC_GENERATED_TOKENS 2

/**
 * Sequences that got a seat since creation.
 */
#define TACTUS_METRIC_ADMITTED 3

/**
 * Sequences that ended since creation.
 */
#define TACTUS_METRIC_FINISHED 4

/**
 * Times a sequence gave its pages up for others and was run again later, since creation.
 */
#define TACTUS_METRIC_PARKED 5

/**
 * Sequences that have a seat now.
 */
#define TACTUS_METRIC_RESIDENTS 6

/**
 * Pages of the KV pool that nobody holds now.
 */
#define TACTUS_METRIC_PAGES_FREE 7

/**
 * Pages of the KV pool.
 */
#define TACTUS_METRIC_PAGES_TOTAL 8

/**
 * Stands for all sequences of a request, where a function takes an index: what is set there holds for sequences that do not say
 * otherwise themselves.
 */
#define TACTUS_ALL_SEQUENCES -1

/**
 * The context cache keeps prompt and output.
 */
#define TACTUS_CACHE_COMMIT_ALL 0

/**
 * The context cache keeps the prompt only.
 */
#define TACTUS_CACHE_COMMIT_PROMPT 1

/**
 * The output is any JSON object; the guide's text is empty.
 */
#define TACTUS_GUIDE_JSON_OBJECT 0

/**
 * The guide's text is a JSON schema.
 */
#define TACTUS_GUIDE_JSON_SCHEMA 1

/**
 * The guide's text is a regular expression that the whole output matches.
 */
#define TACTUS_GUIDE_REGEX 2

/**
 * The guide's text is a Lark grammar, an EBNF with regular terminals.
 */
#define TACTUS_GUIDE_GRAMMAR 3

/**
 * The guide's text is a JSON array of strings; the output is one of them.
 */
#define TACTUS_GUIDE_CHOICE 4

/**
 * The sequence has not ended.
 */
#define TACTUS_FINISH_NOT_FINISHED 0

/**
 * The model ended it.
 */
#define TACTUS_FINISH_END_OF_SEQUENCE 1

/**
 * It reached its limit, or the end of the context.
 */
#define TACTUS_FINISH_MAX_LENGTH 2

/**
 * A channel, a callback or the end of the coordinator stopped it.
 */
#define TACTUS_FINISH_CANCELLED 3

/**
 * It failed: tactus_response_error says why.
 */
#define TACTUS_FINISH_ERROR 4

/**
 * A stop string ended it.
 */
#define TACTUS_FINISH_STOP_WORDS 5

/**
 * The setting was in the request.
 */
#define TACTUS_SOURCE_REQUEST 0

/**
 * The model's own recommendation.
 */
#define TACTUS_SOURCE_MODEL 1

/**
 * Neither said anything.
 */
#define TACTUS_SOURCE_DEFAULT 2

/**
 * Temperature in force.
 */
#define TACTUS_SETTING_TEMPERATURE 0

/**
 * Top-k in force; 0: off.
 */
#define TACTUS_SETTING_TOP_K 1

/**
 * Top-p in force.
 */
#define TACTUS_SETTING_TOP_P 2

/**
 * Min-p in force.
 */
#define TACTUS_SETTING_MIN_P 3

/**
 * Repetition penalty in force.
 */
#define TACTUS_SETTING_REPETITION_PENALTY 4

/**
 * Presence penalty in force. Its source is the request or the default.
 */
#define TACTUS_SETTING_PRESENCE_PENALTY 5

/**
 * Frequency penalty in force. Its source is the request or the default.
 */
#define TACTUS_SETTING_FREQUENCY_PENALTY 6

/**
 * Seconds spent on templates and tokenising.
 */
#define TACTUS_TIMING_PREPARE_SECONDS 0

/**
 * Seconds in steps that ran prompt tokens.
 */
#define TACTUS_TIMING_PREFILL_SECONDS 1

/**
 * Seconds in steps that only decoded.
 */
#define TACTUS_TIMING_DECODE_SECONDS 2

/**
 * Seconds from the dispatch to the first generated token.
 */
#define TACTUS_TIMING_FIRST_TOKEN_SECONDS 3

/**
 * Seconds from the dispatch to its end.
 */
#define TACTUS_TIMING_TOTAL_SECONDS 4

/**
 * Prompt tokens run.
 */
#define TACTUS_TIMING_PREFILL_TOKENS 5

/**
 * Tokens generated in steps that only decoded.
 */
#define TACTUS_TIMING_DECODE_TOKENS 6

/**
 * Steps run.
 */
#define TACTUS_TIMING_STEPS 7

/**
 * From the end of preparation until the last of the request's sequences had a seat, in seconds.
 */
#define TACTUS_TIMING_QUEUE_SECONDS 8

/**
 * Prompt tokens whose keys and values came from the context cache.
 */
#define TACTUS_TIMING_REUSED_TOKENS 9

/**
 * A loaded model: weights, tokenizer, chat template, limits. Coordinators made from it share it; it lives until the last of its owners
 * is destroyed. Immutable. Threads: any.
 */
typedef struct tactus_artifacts_t tactus_artifacts_t;

/**
 * A running dispatch between two steps. Valid only inside the hook that it was given to, on that thread.
 */
typedef struct tactus_boundary_t tactus_boundary_t;

/**
 * Carries one sequence's tokens and text to the host while a dispatch runs. Attached to one sequence of one request, once, with
 * tactus_request_set_channel. (Not a CUDA stream.)
 *
 * Threads: one thread at a time pops and reads the chunk; cancel, is_finished and reason are for any thread at any time. Popping
 * on the thread that dispatches is fine before and after the dispatch, and inside its callbacks.
 */
typedef struct tactus_channel_t tactus_channel_t;

/**
 * Configuration of a coordinator, or of artifacts. A builder: creating something from it copies what it is then, and it can be
 * changed and used again.
 *
 * Threads: any; calls on one configuration are serialised.
 */
typedef struct tactus_config_t tactus_config_t;

/**
 * Owns the ranks of a deployment and runs requests on them, one dispatch at a time.
 *
 * Threads: any. While one thread dispatches, another call that needs the coordinator idle answers BUSY and changes nothing; the
 * comments say which do not need it.
 */
typedef struct tactus_coordinator_t tactus_coordinator_t;

/**
 * A list of token ids or counts, made by the library and owned by the caller. Immutable.
 */
typedef struct tactus_ids_t tactus_ids_t;

/**
 * A batch of sequences with their options. A builder: it can be changed and dispatched again; a dispatch works with what it was
 * when the dispatch began.
 *
 * Threads: any; calls on one request are serialised.
 */
typedef struct tactus_request_t tactus_request_t;

/**
 * The results of one dispatch: its sequences in the request's order. Immutable; everything borrowed from it lives until it is
 * destroyed. Threads: any.
 */
typedef struct tactus_response_t tactus_response_t;

/**
 * An execution that the host drives tick by tick. It holds its coordinator, whose other calls answer BUSY, until it is finished,
 * aborted or destroyed.
 *
 * A resident, a sequence that is live in it, is named by a `uint64_t`: the number of its seat in the low 32 bits, and above them a count
 * of the seat's uses, so that a name never comes to mean another sequence; a stale one is INVALID_ARGUMENT.
 * Threads: any, one call at a time; an overlapping one answers BUSY. Spans borrowed from it live until the next call that runs,
 * admits or ends something. After the coordinator's destruction its functions answer STATE.
 */
typedef struct tactus_stepped_t tactus_stepped_t;

/**
 * Text made by the library and owned by the caller. Immutable.
 */
typedef struct tactus_string_t tactus_string_t;

/**
 * Receives a log line: its level (TACTUS_LOG_ERROR and up), `text_len` bytes of UTF-8 without a line break at the end and with a
 * NUL after them, and the pointer given at registration. The text lives until the callback returns.
 */
typedef void (*tactus_log_callback_t)(int32_t level, const char *text, size_t text_len, void *user_data);

/**
 * Called while weights load, with bytes done and bytes in all, on the thread that loads. An answer other than 0 stops the load,
 * which then fails with CANCELLED. Must not unwind or longjmp.
 */
typedef int32_t (*tactus_load_progress_callback_t)(uint64_t done, uint64_t total, void *user_data);

/**
 * Called for every generated token, on the thread that dispatches, after its text went to the sequence's channel: index of the
 * sequence in the request, token, number of the token in the output from 0, whether the sequence ends with it (1 or 0).
 *
 * An answer other than 0 cancels the sequence. May call any function of this library; those that need the coordinator idle answer
 * BUSY, and destroying it here takes effect when the dispatch returns. Must not unwind or longjmp.
 */
typedef int32_t (*tactus_token_callback_t)(int32_t sequence, int32_t token_id, int32_t step, int32_t is_finished, void *user_data);

/**
 * Called between the steps of a dispatch and once more when nothing is left to run, on the thread that dispatches.
 *
 * May call any function of this library; those that need the coordinator idle answer BUSY. Must not unwind or longjmp.
 */
typedef void (*tactus_boundary_hook_t)(tactus_boundary_t *boundary, void *user_data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* ---- Versions -------------------------------------------------------------------------------------------- */

/**
 * The ABI version of the loaded library. A host that loads the library at run time asks this first: it works with the library
 * when this is at least the TACTUS_ABI_VERSION it was written for.
 *
 * Threads: any. Needs nothing, starts nothing.
 */
int32_t tactus_abi_version(void);

/**
 * The version of the loaded library, such as "0.1.0": NUL-terminated, valid for ever.
 *
 * Threads: any. Needs nothing, starts nothing.
 */
const char *tactus_version(void);

/* ---- Statuses and errors --------------------------------------------------------------------------------- */

/**
 * The name of a status code, such as "CONTEXT_FULL"; "UNKNOWN" for other numbers. NUL-terminated, valid for ever.
 *
 * Threads: any.
 */
const char *tactus_status_name(int32_t status);

/**
 * The status of the last call of this thread that failed; TACTUS_OK where none has. A call that succeeds leaves it as it is.
 *
 * Threads: each has its own.
 */
int32_t tactus_last_error_status(void);

/**
 * What went wrong in the last call of this thread that failed: the thing, its value, what was expected, where. Empty where none
 * has failed. For people; programs read the status.
 *
 * NUL-terminated UTF-8, never null, valid until the next call of this thread that fails. Threads: each has its own.
 */
const char *tactus_last_error_message(void);

/**
 * Bytes of tactus_last_error_message without its NUL (a message that quotes the caller's text may hold NULs itself).
 */
size_t tactus_last_error_message_length(void);

/**
 * The figures of the last error of this thread, where it is CONTEXT_FULL or NO_CAPACITY: tokens of the prompt, tokens (or seats or
 * pages, as the message says) requested, and the limit.
 *
 * Errors: STATE where the last error has no figures. Neither outcome replaces the last error. Threads: each has its own.
 */
int32_t tactus_last_error_capacity(uint64_t *out_prompt,
                                   uint64_t *out_requested,
                                   uint64_t *out_limit);

/**
 * Forgets the last error of this thread.
 */
void tactus_last_error_clear(void);

/**
 * The error of the last call that failed on `handle`, whatever thread made it. A call's error is kept by the first handle among
 * its parameters; that of a creation by the handle it was created from.
 *
 * `handle`: any handle of this library. `*out_status` is TACTUS_OK and the message empty where no call has failed. The message is
 * owned by the caller. Works on a handle that an INTERNAL error has made unusable. Errors: INVALID_ARGUMENT. Threads: any.
 */
int32_t tactus_handle_error(const void *handle, int32_t *out_status, tactus_string_t **out_message);

/**
 * The figures of the error that tactus_handle_error tells, as tactus_last_error_capacity has them.
 *
 * Errors: STATE where that error has no figures. Threads: any.
 */
int32_t tactus_handle_error_capacity(const void *handle, uint64_t *out_prompt, uint64_t *out_requested, uint64_t *out_limit);

/* ---- Strings the library makes --------------------------------------------------------------------------- */

/**
 * The text of `string`: `*out_data` points at `*out_len` bytes of UTF-8 with a NUL after them. The text may hold NULs itself.
 *
 * Both live until `string` is destroyed. Errors: INVALID_ARGUMENT. Threads: any.
 */
int32_t tactus_string_get(const tactus_string_t *string, const char **out_data, size_t *out_len);

/**
 * Frees `string`. Null is fine. Errors: INVALID_ARGUMENT. Threads: any.
 */
int32_t tactus_string_destroy(tactus_string_t *string);

/* ---- Lists of ids the library makes ---------------------------------------------------------------------- */

/**
 * The elements of `ids`: `*out_data` points at `*out_count` numbers (it may be anything where there are none).
 *
 * Both live until `ids` is destroyed. Errors: INVALID_ARGUMENT. Threads: any.
 */
int32_t tactus_ids_get(const tactus_ids_t *ids, const int32_t **out_data, size_t *out_count);

/**
 * Frees `ids`. Null is fine. Errors: INVALID_ARGUMENT. Threads: any.
 */
int32_t tactus_ids_destroy(tactus_ids_t *ids);

/* ---- Log ------------------------------------------------------------------------------------------------- */

/**
 * Sends log lines up to `max_level` to `log_callback`, instead of the callback before. A null `log_callback`, or TACTUS_LOG_OFF,
 * ends it.
 *
 * The callback runs on the thread that logs, on several at once where several work, and should return soon. It may call any
 * function of this library; lines logged inside it are dropped. When this function returns, the callback before is not running
 * (but for the caller's own, where this is called from inside it) and will never be called again. A forked child starts
 * without a callback. The polling alternative is tactus_log_pop.
 *
 * Errors: INVALID_ARGUMENT; STATE in a Rust program that has installed a `tracing` subscriber of its own, which receives the lines.
 * Threads: any.
 */
int32_t tactus_log_set_callback(int32_t max_level,
                                tactus_log_callback_t log_callback,
                                void *user_data);

/**
 * Keeps the last `capacity` log lines up to `max_level` for tactus_log_pop; older ones are dropped. 0, or TACTUS_LOG_OFF, ends it
 * and forgets the lines.
 *
 * Errors and threads: as tactus_log_set_callback.
 */
int32_t tactus_log_set_queue(int32_t max_level, size_t capacity);

/**
 * Takes the oldest line from the queue. `*out_text` is owned by the caller; where there is none, it is null and `*out_level`
 * TACTUS_LOG_OFF.
 *
 * Errors: INVALID_ARGUMENT. Threads: any.
 */
int32_t tactus_log_pop(int32_t *out_level, tactus_string_t **out_text);

/* ---- Configuration --------------------------------------------------------------------------------------- */

/**
 * Makes a configuration with every default. `*out_config` is owned by the caller: give it back with tactus_config_destroy.
 */
int32_t tactus_config_create(tactus_config_t **out_config);

/**
 * Makes a configuration from a JSON object. Every key is optional: "engine_dir", "checkpoint_dir", "parallel_config"
 * {"tensor_parallel_size", "launch_mode" "thread" or "mpi", "devices"}, "local_ranks", "local_rank_devices" {"rank": device}, "device"
 * "auto", "cpu" or "cuda", "cpu_threads", "max_batch", "max_sequence_length", "kv_budget_bytes" or "kv_budget_fraction", "kv_type"
 * "f16", "bf16" or "f32", "page_tokens", "prefill_chunk", "mixed_prefill_chunk", "weights_access" "map" or "read", "chat_template" or
 * "chat_template_file". camelCase spellings are accepted. Other keys are refused by name.
 *
 * Ownership as tactus_config_create. Errors: INVALID_ARGUMENT naming the key.
 */
int32_t tactus_config_from_json(const char *json,
                                size_t json_len,
                                tactus_config_t **out_config);

/**
 * Frees the configuration. Null is fine.
 */
int32_t tactus_config_destroy(tactus_config_t *config);

/**
 * Sets the model: a Hugging Face directory, a .gguf file, or a directory that holds one.
 *
 * Whether it is there is found at creation. Errors, here and below: INVALID_ARGUMENT.
 */
int32_t tactus_config_set_engine_dir(tactus_config_t *config, const char *path, size_t path_len);

/**
 * Reads weights from here; configuration and tokenizer still come from the engine directory.
 */
int32_t tactus_config_set_checkpoint_dir(tactus_config_t *config, const char *path, size_t path_len);

/**
 * Uses a model that is loaded already; null undoes that. An engine directory that is set as well must be the artifacts' own. The
 * configuration keeps the model alive.
 */
int32_t tactus_config_set_artifacts(tactus_config_t *config, tactus_artifacts_t *artifacts);

/**
 * Sets the plan: how many ranks share the model, how they are started (TACTUS_LAUNCH_*), and the device of each of them. No devices:
 * device r for rank r.
 */
int32_t tactus_config_set_parallel(tactus_config_t *config,
                                   int32_t tensor_parallel_size,
                                   int32_t launch_mode,
                                   const int32_t *devices,
                                   size_t device_count);

/**
 * Sets the ranks of this process; none: all.
 */
int32_t tactus_config_set_local_ranks(tactus_config_t *config, const int32_t *ranks, size_t rank_count);

/**
 * Sets the device of one local rank, instead of the plan's.
 */
int32_t tactus_config_set_local_rank_device(tactus_config_t *config, int32_t rank, int32_t device);

/**
 * Sets the kind of device, a TACTUS_DEVICE_* constant.
 */
int32_t tactus_config_set_device(tactus_config_t *config, int32_t device);

/**
 * Sets the number of threads that compute, the dispatching one included; 0: one per core this process may run on.
 */
int32_t tactus_config_set_cpu_threads(tactus_config_t *config, int32_t threads);

/**
 * Sets how many sequences can be resident at once; 0: 8. A dispatch may have more: they take turns.
 */
int32_t tactus_config_set_max_batch(tactus_config_t *config, int32_t sequences);

/**
 * Sets the longest sequence, prompt and output, in tokens; 0: what the model was trained for. Lowered to what the KV budget holds;
 * tactus_coordinator_limit tells the outcome.
 */
int32_t tactus_config_set_max_sequence_length(tactus_config_t *config,
                                              int64_t tokens);

/**
 * Sets the memory of the KV pool in bytes; 0: enough for every seat to hold the longest sequence, within half of the memory that is
 * available at creation.
 */
int32_t tactus_config_set_kv_budget_bytes(tactus_config_t *config,
                                          uint64_t bytes);

/**
 * Sets the memory of the KV pool as a share, above 0 and at most 1, of the memory that is available at creation.
 */
int32_t tactus_config_set_kv_budget_fraction(tactus_config_t *config, double fraction);

/**
 * Sets the element type of the KV pool, a TACTUS_KV_* constant.
 */
int32_t tactus_config_set_kv_type(tactus_config_t *config, int32_t kv_type);

/**
 * Sets the tokens per KV page: 16, 32 or 64; 0: 32.
 */
int32_t tactus_config_set_page_tokens(tactus_config_t *config, int32_t tokens);

/**
 * Sets the most prompt tokens in one step while nobody decodes; 0: 256.
 */
int32_t tactus_config_set_prefill_chunk(tactus_config_t *config, int32_t tokens);

/**
 * Sets the most prompt tokens in a step that also decodes, so that a long prompt does not stall its neighbours; 0: 32.
 */
int32_t tactus_config_set_mixed_prefill_chunk(tactus_config_t *config, int32_t tokens);

/**
 * Switches the context cache on (1) or off (0, the default): keys and values of finished sequences stay, within the KV pool, for later
 * ones that begin alike. `max_records`: how many sequences are remembered at most, 0 or more; the longest unused go first.
 */
int32_t tactus_config_set_context_cache(tactus_config_t *config,
                                        int32_t enabled,
                                        int32_t max_records);

/**
 * Sets how weight files are taken into memory, a TACTUS_WEIGHTS_* constant.
 */
int32_t tactus_config_set_weights_access(tactus_config_t *config, int32_t access);

/**
 * Uses this chat template (Jinja) instead of the model's own.
 */
int32_t tactus_config_set_chat_template(tactus_config_t *config, const char *template_text, size_t template_len);

/**
 * Uses the chat template in this file instead of the model's own.
 */
int32_t tactus_config_set_chat_template_file(tactus_config_t *config, const char *path, size_t path_len);

/**
 * Calls `progress_callback` while something that is created from this configuration loads; null ends that. The polling alternative is
 * tactus_config_load_progress.
 */
int32_t tactus_config_set_load_progress_callback(tactus_config_t *config,
                                                 tactus_load_progress_callback_t progress_callback,
                                                 void *user_data);

/**
 * Bytes done and bytes in all of the load that runs, or ran last, with this configuration; both 0 before. For a thread that watches
 * while another one creates.
 */
int32_t tactus_config_load_progress(const tactus_config_t *config,
                                    uint64_t *out_done,
                                    uint64_t *out_total);

/**
 * Stops the load that runs with this configuration, or else the next one: it fails with CANCELLED.
 */
int32_t tactus_config_cancel_load(tactus_config_t *config);

/* ---- Model artifacts ------------------------------------------------------------------------------------- */

/**
 * Loads the model that `config` names, as tactus_coordinator_create would, without making a coordinator. Of the configuration, engine
 * directory, checkpoint directory, weights access and chat template are used.
 *
 * `*out_artifacts` is owned by the caller: give it back with tactus_artifacts_destroy.
 * Errors: INVALID_ARGUMENT, NOT_FOUND (no such path, a missing shard or tensor), IO, FORMAT (malformed file), UNSUPPORTED (architecture
 * or stored type), TOKENIZER, OUT_OF_MEMORY.
 */
int32_t tactus_artifacts_load(const tactus_config_t *config,
                              tactus_artifacts_t **out_artifacts);

/**
 * Loads only tokenizer, chat template and description: all but the functions of a coordinator work. Files that hold nothing else will
 * do, such as vocabulary-only .gguf files. Ownership and errors as tactus_artifacts_load.
 */
int32_t tactus_artifacts_load_vocabulary(const tactus_config_t *config,
                                         tactus_artifacts_t **out_artifacts);

/**
 * Frees the artifacts. Null is fine. Coordinators and configurations that use them keep them alive.
 */
int32_t tactus_artifacts_destroy(tactus_artifacts_t *artifacts);

/**
 * The model's description as a JSON object: architecture, name, format, sizes, limits, token ids, template names. `*out_json` is owned by
 * the caller.
 */
int32_t tactus_artifacts_info_json(const tactus_artifacts_t *artifacts,
                                   tactus_string_t **out_json);

/**
 * Encodes a text. `add_special`: 1 puts BOS and EOS where the model's tokenizer does, 0 adds nothing. `parse_special`: 1 makes control
 * tokens of the text that spells them, 0 keeps that text plain. `*out_ids` is owned by the caller.
 *
 * Errors: INVALID_ARGUMENT, TOKENIZER.
 */
int32_t tactus_artifacts_tokenize(const tactus_artifacts_t *artifacts,
                                  const char *input,
                                  size_t input_len,
                                  int32_t add_special,
                                  int32_t parse_special,
                                  tactus_ids_t **out_ids);

/**
 * Decodes `count` ids. `skip_special`: 1 leaves special tokens out. Ids that the model does not have are left out; bytes that are no
 * character become U+FFFD. `*out_text` is owned by the caller.
 *
 * Errors: INVALID_ARGUMENT.
 */
int32_t tactus_artifacts_detokenize(const tactus_artifacts_t *artifacts,
                                    const int32_t *ids,
                                    size_t count,
                                    int32_t skip_special,
                                    tactus_string_t **out_text);

/**
 * The bytes that token `id` stands for: usually text, but it can be part of a character. None where the model has no such token.
 * `*out_text` is owned by the caller.
 */
int32_t tactus_artifacts_token_text(const tactus_artifacts_t *artifacts, int32_t id, tactus_string_t **out_text);

/**
 * The prompt that a chat sequence of `request` is rendered to, with the request's options: exactly the text whose tokens are fed.
 * `*out_text` is owned by the caller.
 *
 * Errors: INVALID_ARGUMENT (not a chat); TEMPLATE (no template, or it refuses the messages: the message says why).
 */
int32_t tactus_artifacts_render_chat(const tactus_artifacts_t *artifacts,
                                     const tactus_request_t *request,
                                     int32_t sequence,
                                     tactus_string_t **out_text);

/**
 * What this library can do, as a JSON object: "architectures", "stored_types" and "devices", arrays of names. `*out_json` is owned by
 * the caller. Threads: any. Starts no device.
 */
int32_t tactus_capabilities_json(tactus_string_t **out_json);

/* ---- Coordinator ----------------------------------------------------------------------------------------- */

/**
 * Makes a coordinator: checks the configuration, loads the model or takes the artifacts given, sets the ranks up. Takes as long as the
 * model's files take to read.
 *
 * `*out_coordinator` is owned by the caller: give it back with tactus_coordinator_destroy. A failure leaves nothing behind and names the
 * field, the file or the tensor. Errors: INVALID_ARGUMENT, NOT_FOUND, IO, FORMAT, UNSUPPORTED, TEMPLATE, TOKENIZER, NO_CAPACITY,
 * CANCELLED, OUT_OF_MEMORY.
 */
int32_t tactus_coordinator_create(const tactus_config_t *config,
                                  tactus_coordinator_t **out_coordinator);

/**
 * Frees the coordinator. A dispatch that runs on another thread is cancelled and waited for; inside a callback, the dispatch ends at
 * its next step and the coordinator is freed when it returns. Null is fine.
 */
int32_t tactus_coordinator_destroy(tactus_coordinator_t *coordinator);

/**
 * Runs `request` to its end on the calling thread; then tactus_coordinator_take_rank_response has the results.
 *
 * `enable_profiling`: 1 to have times in the response, else 0. `cuda_stream`: a `cudaStream_t` that the work is ordered on, or null for
 * the coordinator's own; without CUDA it has no meaning.
 * A request that is refused runs nothing and leaves nothing to take. Where a single sequence fails its error is returned and the
 * response holds every sequence's result. Neither disables the coordinator. A sequence that is cancelled is no error.
 * Errors: BUSY; STATE (shutting down, a channel used before); INVALID_ARGUMENT, TEMPLATE, TOKENIZER, CONTEXT_FULL, UNSUPPORTED and what
 * a step reports.
 */
int32_t tactus_coordinator_dispatch_request(tactus_coordinator_t *coordinator,
                                            const tactus_request_t *request,
                                            int32_t enable_profiling,
                                            void *cuda_stream);

/**
 * Moves the response of the latest dispatch out. `*out_response` is owned by the caller: give it back with tactus_response_destroy.
 *
 * `rank`: a rank of this process, 0 where there is one. Errors: INVALID_ARGUMENT (not a local rank); STATE (nothing was dispatched, it
 * was refused, or its response has been taken); BUSY.
 */
int32_t tactus_coordinator_take_rank_response(tactus_coordinator_t *coordinator,
                                              int32_t rank,
                                              tactus_response_t **out_response);

/**
 * Counts the prompt tokens of every sequence of `request`, as inference would feed them. `*out_counts` is owned by the caller.
 *
 * Does not need the coordinator idle. Errors: as a dispatch of the request that is refused.
 */
int32_t tactus_coordinator_count_prompt_tokens(const tactus_coordinator_t *coordinator,
                                               const tactus_request_t *request,
                                               tactus_ids_t **out_counts);

/**
 * Captures the decode step of every batch bucket for replay. `*out_captured` is 1 where that worked; 0 is no failure: steps are then
 * launched one by one. On the CPU there is nothing to capture: 1. `cuda_stream` as in tactus_coordinator_dispatch_request.
 */
int32_t tactus_coordinator_capture_decoding_cuda_graph(tactus_coordinator_t *coordinator,
                                                       void *cuda_stream,
                                                       int32_t *out_captured);

/**
 * The number of ranks the plan spans. Does not need the coordinator idle; nor do the functions below.
 */
int32_t tactus_coordinator_world_size(const tactus_coordinator_t *coordinator, int32_t *out_size);

/**
 * 1 where `rank` is a rank of this process.
 */
int32_t tactus_coordinator_owns_global_rank(const tactus_coordinator_t *coordinator, int32_t rank);

/**
 * 1 where the latest dispatch attempt succeeded on every rank of this process; refused attempts count, and before the first it is 0.
 */
int32_t tactus_coordinator_local_ranks_succeeded(const tactus_coordinator_t *coordinator);

/**
 * 1 where a dispatch can call the host between steps.
 */
int32_t tactus_coordinator_supports_boundary_scheduling(const tactus_coordinator_t *coordinator);

/**
 * 1 where the host can decide every step itself.
 */
int32_t tactus_coordinator_supports_stepped_execution(const tactus_coordinator_t *coordinator);

/**
 * One of the root runtime's limits: `limit` is a TACTUS_LIMIT_* constant.
 */
int32_t tactus_coordinator_limit(const tactus_coordinator_t *coordinator, int32_t limit, uint64_t *out_value);

/**
 * One of the root runtime's counters: `metric` is a TACTUS_METRIC_* constant. As of the last dispatch that ended.
 */
int32_t tactus_coordinator_metric(const tactus_coordinator_t *coordinator, int32_t metric, uint64_t *out_value);

/**
 * The root runtime as a JSON object: "model", "backend", "limits" and "metrics". `*out_json` is owned by the caller.
 */
int32_t tactus_coordinator_info_json(const tactus_coordinator_t *coordinator, tactus_string_t **out_json);

/* ---- Requests -------------------------------------------------------------------------------------------- */

/**
 * Makes a request without sequences. `*out_request` is owned by the caller: give it back with tactus_request_destroy.
 */
int32_t tactus_request_create(tactus_request_t **out_request);

/**
 * Makes a request from JSON, in the OpenAI chat shape plus our fields.
 *
 * One sequence: "messages", or "text", or "ids". Several: "sequences", an array of objects with one of these each and options of
 * their own. Options, at the top for all sequences or inside one: "temperature", "top_p", "top_k", "min_p", "repetition_penalty",
 * "presence_penalty", "frequency_penalty", "max_tokens", "seed", "stop", "logprobs" with "top_logprobs" (or "num_logprobs"),
 * "logit_bias", "extra_eos_ids", "ignore_eos", "apply_chat_template", "add_generation_prompt", "enable_thinking", "tools",
 * "template_variables", "template_name", "skip_special_tokens", "plain_content", "cache_bypass", "cache_commit" "all" or "prompt",
 * "cache_salt", "save_system_prompt", "hidden_layer", "response_format" as OpenAI has it, or "guide", an object with one of
 * "json_object", "json_schema", "regex", "grammar", "choice". "model" is accepted and has no effect; "n" must be
 * 1 and "stream" false: a channel streams. camelCase spellings are accepted. Other keys are refused by name.
 *
 * Ownership as tactus_request_create. Errors: INVALID_ARGUMENT naming the key; UNSUPPORTED for content that is not text.
 */
int32_t tactus_request_from_json(const char *json,
                                 size_t json_len,
                                 tactus_request_t **out_request);

/**
 * Frees the request. Null is fine. A dispatch of it that is running goes on.
 */
int32_t tactus_request_destroy(tactus_request_t *request);

/**
 * The number of sequences.
 */
int32_t tactus_request_sequence_count(const tactus_request_t *request, size_t *out_count);

/**
 * Adds a sequence that is a chat; the tactus_request_add_message functions give it messages. `*out_sequence` is its index, counted
 * from 0 in the order of adding; `out_sequence` may be null.
 */
int32_t tactus_request_add_chat(tactus_request_t *request,
                                int32_t *out_sequence);

/**
 * Adds a sequence that goes on from `prompt`, encoded as it is: control tokens in it are control tokens, and a BOS comes before it
 * where the model's tokenizer puts one. `out_sequence` as in tactus_request_add_chat.
 */
int32_t tactus_request_add_text(tactus_request_t *request,
                                const char *prompt,
                                size_t prompt_len,
                                int32_t *out_sequence);

/**
 * Adds a sequence that goes on from `count` token ids, fed as they are. `out_sequence` as in tactus_request_add_chat. An id that the
 * model does not have is refused when the request is dispatched.
 */
int32_t tactus_request_add_ids(tactus_request_t *request,
                               const int32_t *ids,
                               size_t count,
                               int32_t *out_sequence);

/**
 * Attaches `channel` to a sequence, instead of the one before; null takes it off. A channel serves one sequence once: attaching a
 * used one is refused when the request is dispatched (STATE).
 */
int32_t tactus_request_set_channel(tactus_request_t *request, int32_t sequence, tactus_channel_t *channel);

/**
 * Calls `token_callback` for every generated token of every sequence, instead of the callback before; null ends that. The polling
 * alternative is a channel.
 */
int32_t tactus_request_set_token_callback(tactus_request_t *request, tactus_token_callback_t token_callback, void *user_data);

/* ---- Messages of a chat ---------------------------------------------------------------------------------- */

/**
 * Adds a message of text to a chat: `role` is "system", "user", "assistant", "tool", or what else the model's template knows.
 *
 * Errors, here and below: INVALID_ARGUMENT.
 */
int32_t tactus_request_add_message(tactus_request_t *request,
                                   int32_t sequence,
                                   const char *role,
                                   size_t role_len,
                                   const char *content,
                                   size_t content_len);

/**
 * Adds a message given as a JSON object in the OpenAI shape: "role", "content" (text, null, or text parts), "name", "tool_calls",
 * "tool_call_id", "reasoning_content". Other keys are refused by name.
 */
int32_t tactus_request_add_message_json(tactus_request_t *request, int32_t sequence, const char *json, size_t json_len);

/* ---- Options of requests and sequences ------------------------------------------------------------------- */

/**
 * Sets the temperature: 0 or more, below 0.001 greedy. Where it is not set, here or for the request, the model's own recommendation
 * holds, or greedy where it has none; the same is true of the other sampling options, and the response tells what was in force.
 *
 * `sequence`, here and below: the index of a sequence, or TACTUS_ALL_SEQUENCES. Errors, here and below: INVALID_ARGUMENT. Values are
 * checked when the request is dispatched.
 */
int32_t tactus_request_set_temperature(tactus_request_t *request,
                                       int32_t sequence,
                                       float temperature);

/**
 * Keeps the most probable tokens whose probabilities reach `top_p`, in 0..1; 1 is off.
 */
int32_t tactus_request_set_top_p(tactus_request_t *request, int32_t sequence, float top_p);

/**
 * Keeps the `top_k` most probable tokens; 0 or less is off, 1 is greedy.
 */
int32_t tactus_request_set_top_k(tactus_request_t *request, int32_t sequence, int64_t top_k);

/**
 * Keeps tokens at least `min_p` times as probable as the most probable one, in 0..1; 0 is off.
 */
int32_t tactus_request_set_min_p(tactus_request_t *request, int32_t sequence, float min_p);

/**
 * Divides positive and multiplies negative logits of tokens that occur in prompt or output; above 0, 1 is off.
 */
int32_t tactus_request_set_repetition_penalty(tactus_request_t *request, int32_t sequence, float repetition_penalty);

/**
 * Subtracted once from the logit of a token that occurs in the output; 0 is off.
 */
int32_t tactus_request_set_presence_penalty(tactus_request_t *request, int32_t sequence, float presence_penalty);

/**
 * Subtracted from the logit of a token for each time it occurs in the output; 0 is off.
 */
int32_t tactus_request_set_frequency_penalty(tactus_request_t *request, int32_t sequence, float frequency_penalty);

/**
 * Limits the output to this many tokens, at least 1. Not set: to the end of the context. More than fits is lowered, with a warning in
 * the response.
 */
int32_t tactus_request_set_max_generate_length(tactus_request_t *request,
                                               int32_t sequence,
                                               int64_t tokens);

/**
 * Makes draws reproducible: the same seed, prompt and settings give the same tokens, whatever else is in the batch. Not set: a seed
 * is drawn and told in the response.
 */
int32_t tactus_request_set_seed(tactus_request_t *request,
                                int32_t sequence,
                                uint64_t seed);

/**
 * Asks for log-probabilities of every generated token and of the `count` (0..50) most probable ones beside it.
 */
int32_t tactus_request_set_num_logprobs(tactus_request_t *request, int32_t sequence, int32_t count);

/**
 * Asks for the hidden states of the prompt at a layer (tactus_response_hidden_states): 0, the input embeddings; i, the input of layer
 * i; -1, after the final norm. The whole prompt is computed then, whatever the context cache holds. Errors of the dispatch:
 * INVALID_ARGUMENT for a layer the model has not, UNSUPPORTED on a device that does not give them.
 */
int32_t tactus_request_set_hidden_layer(tactus_request_t *request,
                                        int32_t sequence,
                                        int32_t layer);

/**
 * Adds a stop string: generation ends where it begins, and it is not part of the text. Those of a sequence stand in place of the
 * request's.
 */
int32_t tactus_request_add_stop(tactus_request_t *request, int32_t sequence, const char *stop, size_t stop_len);

/**
 * Adds `biases[i]` to the raw logit of token `ids[i]`, for `count` (at most 1,024) different tokens; a bias lies in -100..100, or is
 * minus infinity, which forbids the token.
 */
int32_t tactus_request_set_logit_bias(tactus_request_t *request,
                                      int32_t sequence,
                                      const int32_t *ids,
                                      const float *biases,
                                      size_t count);

/**
 * Makes `count` further ids end generation, beside the model's own.
 */
int32_t tactus_request_set_extra_eos_ids(tactus_request_t *request, int32_t sequence, const int32_t *ids, size_t count);

/**
 * 1: the model's end-of-sequence tokens do not end generation. Default 0.
 */
int32_t tactus_request_set_ignore_eos(tactus_request_t *request, int32_t sequence, int32_t value);

/**
 * 0: the contents of a chat's messages are joined instead of rendered through the template. Default 1.
 */
int32_t tactus_request_set_apply_chat_template(tactus_request_t *request, int32_t sequence, int32_t value);

/**
 * 0: the template does not open the assistant's turn. Default 1.
 */
int32_t tactus_request_set_add_generation_prompt(tactus_request_t *request, int32_t sequence, int32_t value);

/**
 * 1: the template is told that the model shall think. Default 0.
 */
int32_t tactus_request_set_enable_thinking(tactus_request_t *request, int32_t sequence, int32_t value);

/**
 * 0: special tokens are part of the text. Default 1.
 */
int32_t tactus_request_set_skip_special_tokens(tactus_request_t *request, int32_t sequence, int32_t value);

/**
 * 0: control tokens spelt out in messages become control tokens, so that whoever writes a message can forge turns. Default 1: they
 * stay text, but in messages of the assistant.
 */
int32_t tactus_request_set_plain_content(tactus_request_t *request,
                                         int32_t sequence,
                                         int32_t value);

/**
 * Tells the template of tools: a JSON array of objects in the OpenAI shape.
 */
int32_t tactus_request_set_tools_json(tactus_request_t *request, int32_t sequence, const char *json, size_t json_len);

/**
 * Gives the template further variables: a JSON object.
 */
int32_t tactus_request_set_template_variables_json(tactus_request_t *request,
                                                   int32_t sequence,
                                                   const char *json,
                                                   size_t json_len);

/**
 * Picks one of the model's named templates. Not set: the default one, or "tool_use" where there are tools and it exists.
 */
int32_t tactus_request_set_template_name(tactus_request_t *request, int32_t sequence, const char *name, size_t name_len);

/**
 * 1: compute everything, whatever the context cache holds. 0, the default: use what it has.
 */
int32_t tactus_request_set_cache_bypass(tactus_request_t *request, int32_t sequence, int32_t value);

/**
 * What the context cache keeps of the sequence: a TACTUS_CACHE_COMMIT_* constant.
 */
int32_t tactus_request_set_cache_commit(tactus_request_t *request, int32_t sequence, int32_t commit);

/**
 * Keeps the sequence's cached pages apart: they are shared only with sequences of the same salt. Default empty.
 */
int32_t tactus_request_set_cache_salt(tactus_request_t *request, int32_t sequence, const char *salt, size_t salt_len);

/**
 * 1: the system message's keys and values are saved before the dispatch runs, as by tactus_coordinator_gen_and_save_system_prompt_kv_cache.
 */
int32_t tactus_request_set_save_system_prompt(tactus_request_t *request,
                                              int32_t sequence,
                                              int32_t value);

/**
 * Says what the output must be: a TACTUS_GUIDE_* constant and its text. It is compiled when the request is dispatched. With thinking
 * enabled it holds after the end of the thinking. A guided sequence that can go on with no token ends with an error and keeps its tokens.
 */
int32_t tactus_request_set_guide(tactus_request_t *request,
                                 int32_t sequence,
                                 int32_t kind,
                                 const char *guide,
                                 size_t guide_len);

/* ---- Responses ------------------------------------------------------------------------------------------- */

/**
 * The name of a finish reason, such as "end-of-sequence"; "unknown" for other numbers. NUL-terminated, valid for ever. Threads: any.
 */
const char *tactus_finish_reason_name(int32_t reason);

/**
 * Frees the response. Null is fine.
 */
int32_t tactus_response_destroy(tactus_response_t *response);

/**
 * The number of sequences.
 */
int32_t tactus_response_sequence_count(const tactus_response_t *response, size_t *out_count);

/**
 * The generated text, ending before the stop string where one ended it.
 *
 * `sequence`, here and below: the sequence's index in the request. Errors, here and below: INVALID_ARGUMENT.
 */
int32_t tactus_response_text(const tactus_response_t *response, int32_t sequence, const char **out_text, size_t *out_text_len);

/**
 * The generated token ids; the end-of-sequence token and the tokens of a stop string are among them.
 */
int32_t tactus_response_output_ids(const tactus_response_t *response,
                                   int32_t sequence,
                                   const int32_t **out_ids,
                                   size_t *out_count);

/**
 * The hidden states of the prompt, `[*out_rows, *out_width]`, f32, row after row: a row for each prompt token, `width` the model's hidden
 * size; fewer rows where the sequence ended before its prompt did. The memory is the response's. Errors: STATE where they were not
 * asked for (tactus_request_set_hidden_layer).
 */
int32_t tactus_response_hidden_states(const tactus_response_t *response,
                                      int32_t sequence,
                                      const float **out_values,
                                      size_t *out_rows,
                                      size_t *out_width);

/**
 * Why the sequence ended, a TACTUS_FINISH_* constant.
 */
int32_t tactus_response_finish_reason(const tactus_response_t *response, int32_t sequence, int32_t *out_reason);

/**
 * Tokens of the prompt, and how many of them were not run because their keys and values were still there.
 */
int32_t tactus_response_input_tokens(const tactus_response_t *response,
                                     int32_t sequence,
                                     uint32_t *out_input,
                                     uint32_t *out_reused);

/**
 * The number of output positions that have log-probabilities: that of the output ids where they were asked for, else 0.
 */
int32_t tactus_response_logprob_count(const tactus_response_t *response, int32_t sequence, size_t *out_count);

/**
 * Log-probabilities at output position `position`: of the generated token, and of the most probable tokens, descending. Natural log at
 * temperature 1, from raw logits.
 */
int32_t tactus_response_logprobs(const tactus_response_t *response,
                                 int32_t sequence,
                                 size_t position,
                                 float *out_logprob,
                                 const int32_t **out_top_ids,
                                 const float **out_top_logprobs,
                                 size_t *out_top_count);

/**
 * The seed in use, and whether the request gave it (`*out_given` 1) or it was drawn (0).
 */
int32_t tactus_response_seed(const tactus_response_t *response, int32_t sequence, uint64_t *out_seed, int32_t *out_given);

/**
 * The limit of output tokens in force, after it was lowered to what fits.
 */
int32_t tactus_response_max_generate_length(const tactus_response_t *response, int32_t sequence, uint32_t *out_tokens);

/**
 * A sampling setting in force and where it came from: `setting` is a TACTUS_SETTING_* constant, `*out_source` a TACTUS_SOURCE_* one.
 */
int32_t tactus_response_setting(const tactus_response_t *response,
                                int32_t sequence,
                                int32_t setting,
                                double *out_value,
                                int32_t *out_source);

/**
 * The number of warnings: things a user should know that are no errors.
 */
int32_t tactus_response_warning_count(const tactus_response_t *response, int32_t sequence, size_t *out_count);

/**
 * The text of warning `index`.
 */
int32_t tactus_response_warning(const tactus_response_t *response,
                                int32_t sequence,
                                size_t index,
                                const char **out_text,
                                size_t *out_text_len);

/**
 * The error that ended the sequence; TACTUS_OK and an empty message where none did.
 */
int32_t tactus_response_error(const tactus_response_t *response,
                              int32_t sequence,
                              int32_t *out_status,
                              const char **out_message,
                              size_t *out_message_len);

/**
 * The figures of the error that ended the sequence, as tactus_last_error_capacity has them. Errors: STATE where it has none.
 */
int32_t tactus_response_error_capacity(const tactus_response_t *response,
                                       int32_t sequence,
                                       uint64_t *out_prompt,
                                       uint64_t *out_requested,
                                       uint64_t *out_limit);

/**
 * One figure of the dispatch's profile: `timing` is a TACTUS_TIMING_* constant. Errors: STATE where the dispatch was not profiled.
 */
int32_t tactus_response_timing(const tactus_response_t *response,
                               int32_t timing,
                               double *out_value);

/**
 * Steps of the dispatch by the number of sequences that ran in them: `(*out_steps)[n]` is the number of steps of n sequences, n from 0
 * to the most that can be resident. Errors: STATE where the dispatch was not profiled.
 */
int32_t tactus_response_batch_histogram(const tactus_response_t *response,
                                        const uint64_t **out_steps,
                                        size_t *out_count);

/**
 * The response as a JSON object in the OpenAI shape ("choices", "usage") with our fields beside it. `*out_json` is owned by the caller.
 */
int32_t tactus_response_to_json(const tactus_response_t *response,
                                tactus_string_t **out_json);

/* ---- Channels -------------------------------------------------------------------------------------------- */

/**
 * Makes a channel. `*out_channel` is owned by the caller: give it back with tactus_channel_destroy.
 */
int32_t tactus_channel_create(tactus_channel_t **out_channel);

/**
 * Frees the channel, whatever it still holds. Null is fine. A sequence it is attached to goes on without it.
 */
int32_t tactus_channel_destroy(tactus_channel_t *channel);

/**
 * Sets how many tokens make a chunk: 1 or more, 1 where never set. Takes effect with the next token. Errors: INVALID_ARGUMENT.
 */
int32_t tactus_channel_set_interval(tactus_channel_t *channel, int32_t tokens);

/**
 * Sets whether special tokens are left out of the text (1) or not (0), instead of what the sequence's options say. Read when the
 * request is dispatched.
 */
int32_t tactus_channel_set_skip_special_tokens(tactus_channel_t *channel, int32_t skip);

/**
 * Takes the next chunk, if one waits; the tactus_channel_chunk_* functions then read it. `*out_popped` is 1 where there was one,
 * else 0 and the chunk before is still there. Never blocks.
 */
int32_t tactus_channel_try_pop(tactus_channel_t *channel, int32_t *out_popped);

/**
 * Takes the next chunk, waiting up to `timeout_ms` milliseconds for it (for ever where that is negative); the
 * tactus_channel_chunk_* functions then read it.
 *
 * The last chunk, which says so, always comes, after a cancel or an error too. Errors: TIMEOUT; STATE at once where the last chunk
 * has been taken, or where the channel is attached to no request. Not on the thread that dispatches: what it waits for could not
 * be produced.
 */
int32_t tactus_channel_wait_pop(tactus_channel_t *channel,
                                int64_t timeout_ms);

/**
 * Ends the sequence as cancelled, within one step. Repeated and late cancels do nothing. Threads: any.
 */
int32_t tactus_channel_cancel(tactus_channel_t *channel);

/**
 * 1 where the last chunk has been produced; it may still wait to be popped. Threads: any.
 */
int32_t tactus_channel_is_finished(const tactus_channel_t *channel);

/**
 * Why the sequence ended, a TACTUS_FINISH_* constant; TACTUS_FINISH_NOT_FINISHED before. Threads: any.
 */
int32_t tactus_channel_reason(const tactus_channel_t *channel, int32_t *out_reason);

/**
 * The text of the chunk popped last: whole characters only, perhaps none. The texts of all chunks joined are the response's text.
 *
 * Lives until the next pop or the channel is destroyed.
 */
int32_t tactus_channel_chunk_text(const tactus_channel_t *channel, const char **out_text, size_t *out_text_len);

/**
 * The token ids of the chunk popped last. Live until the next pop or the channel is destroyed.
 */
int32_t tactus_channel_chunk_ids(const tactus_channel_t *channel, const int32_t **out_ids, size_t *out_count);

/**
 * Whether the chunk popped last is the stream's last (`*out_finished` 1 or 0), and with which TACTUS_FINISH_* reason.
 */
int32_t tactus_channel_chunk_finish(const tactus_channel_t *channel, int32_t *out_finished, int32_t *out_reason);

/**
 * Log-probabilities of token `position` of the chunk popped last, where they were asked for: of the token itself, and of the most
 * probable tokens, descending. Natural log at temperature 1, from raw logits. The arrays live until the next pop or the channel is
 * destroyed.
 *
 * Errors: INVALID_ARGUMENT where the chunk has no log-probabilities at `position`.
 */
int32_t tactus_channel_chunk_logprobs(const tactus_channel_t *channel,
                                      size_t position,
                                      float *out_logprob,
                                      const int32_t **out_top_ids,
                                      const float **out_top_logprobs,
                                      size_t *out_top_count);

/* ---- Boundary scheduling --------------------------------------------------------------------------------- */

/**
 * As tactus_coordinator_dispatch_request, with `hook` called at every step boundary and once after the loop. What the hook admits in its
 * last call goes on. Results of joiners that the hook does not take are in the response, after those of the request.
 */
int32_t tactus_coordinator_dispatch_request_with_hook(tactus_coordinator_t *coordinator,
                                                      const tactus_request_t *request,
                                                      int32_t enable_profiling,
                                                      void *cuda_stream,
                                                      tactus_boundary_hook_t hook,
                                                      void *user_data);

/**
 * Sequences that have not ended, joiners included.
 */
int32_t tactus_boundary_resident_count(const tactus_boundary_t *boundary, size_t *out_count);

/**
 * Brings in the one sequence of `request`, with its own settings, channel and stop strings.
 *
 * `original_index`: what its result is called by; nobody in this dispatch has had it. `request_id`: above 0. Errors, each without any
 * effect: NO_CAPACITY (no seat or no pages now); anything else is a refusal that stays.
 */
int32_t tactus_boundary_admit_request(tactus_boundary_t *boundary,
                                      const tactus_request_t *request,
                                      int32_t original_index,
                                      uint64_t request_id);

/**
 * Moves out the results of those that have ended at or above `first_index`, as a response in the order of their indices;
 * tactus_response_original_index tells who is who. It may hold no sequence. `*out_response` is owned by the caller.
 */
int32_t tactus_boundary_take_completed_at_or_above(tactus_boundary_t *boundary,
                                                   int32_t first_index,
                                                   tactus_response_t **out_response);

/* ---- Stepped execution ----------------------------------------------------------------------------------- */

/**
 * Opens a stepped execution: prepares `request`, runs the prompts of all its sequences, and holds the coordinator from then on. What the
 * prompts gave (their first tokens) is the first step's, readable right away, and leads what the next step gives.
 *
 * `request_id`: above 0. `enable_profiling`, `cuda_stream` as in tactus_coordinator_dispatch_request. `*out_stepped` is owned by the
 * caller: give it back with tactus_stepped_destroy. Errors: those of a dispatch, and NO_CAPACITY where not every sequence finds a seat
 * and pages.
 */
int32_t tactus_coordinator_begin_stepped(tactus_coordinator_t *coordinator,
                                         const tactus_request_t *request,
                                         uint64_t request_id,
                                         int32_t enable_profiling,
                                         void *cuda_stream,
                                         tactus_stepped_t **out_stepped);

/**
 * Frees the execution, aborting it where it has not ended. Null is fine.
 */
int32_t tactus_stepped_destroy(tactus_stepped_t *stepped);

/**
 * Live residents, longest resident first: `*out_residents` points at `*out_count` names.
 */
int32_t tactus_stepped_residents(const tactus_stepped_t *stepped, const uint64_t **out_residents, size_t *out_count);

/**
 * Brings in the one sequence of `request`, with its own settings, channel and stop strings. Its prompt is run by later prefills.
 *
 * `original_index`: what its result is called by; nobody in this execution has had it. `request_id`: above 0. `*out_resident` is its name.
 * Errors, each without any effect: NO_CAPACITY (no seat or no pages now); anything else is a refusal that stays: INVALID_ARGUMENT,
 * CONTEXT_FULL, TEMPLATE, TOKENIZER, STATE.
 */
int32_t tactus_stepped_admit(tactus_stepped_t *stepped,
                             const tactus_request_t *request,
                             int32_t original_index,
                             uint64_t request_id,
                             uint64_t *out_resident);

/**
 * Runs the next chunk of a resident's prompt. `*out_remaining` is how many tokens of it remain; at 0 its first token is among the
 * step's deltas. Errors: INVALID_ARGUMENT (a stale name), STATE (its prompt is in place), NO_CAPACITY.
 */
int32_t tactus_stepped_prefill(tactus_stepped_t *stepped, uint64_t resident, uint32_t *out_remaining);

/**
 * One token for each of `residents`: all, or some. Errors: INVALID_ARGUMENT (none, a stale or repeated name), STATE (one whose prompt has
 * not been run to its end), NO_CAPACITY (pages are short; nothing has changed).
 */
int32_t tactus_stepped_decode(tactus_stepped_t *stepped,
                              const uint64_t *residents,
                              size_t count);

/**
 * Prompt chunks and decode ticks in one pass of the model: up to `prefill_tokens[i]` tokens of the prompt of `prefill_residents[i]`, and one
 * token for each of `decode_residents`. Errors: as those of prefill and decode, and INVALID_ARGUMENT for more tokens than
 * TACTUS_LIMIT_STEP_TOKENS.
 */
int32_t tactus_stepped_step(tactus_stepped_t *stepped,
                            const uint64_t *prefill_residents,
                            const uint32_t *prefill_tokens,
                            size_t prefill_count,
                            const uint64_t *decode_residents,
                            size_t decode_count);

/**
 * Number of the last step, counted over the coordinator's life.
 */
int32_t tactus_stepped_step_id(const tactus_stepped_t *stepped, uint64_t *out_step_id);

/**
 * How many residents gained tokens in the last step.
 */
int32_t tactus_stepped_delta_count(const tactus_stepped_t *stepped, size_t *out_count);

/**
 * Delta `delta` of the last step: a resident and the tokens it gained. A resident that ended with the step has its last tokens here too.
 */
int32_t tactus_stepped_delta(const tactus_stepped_t *stepped,
                             size_t delta,
                             uint64_t *out_resident,
                             const int32_t **out_token_ids,
                             size_t *out_count);

/**
 * Residents that ended in the last step, in the order of the sequences of tactus_stepped_finished_response. Their names are stale now.
 */
int32_t tactus_stepped_finished(const tactus_stepped_t *stepped,
                                const uint64_t **out_residents,
                                size_t *out_count);

/**
 * The results of those that ended in the last step, as a response; tactus_response_original_index tells who is who. `*out_response` is
 * owned by the caller.
 */
int32_t tactus_stepped_finished_response(const tactus_stepped_t *stepped,
                                         tactus_response_t **out_response);

/**
 * Ends a resident now, as cancelled: it is among those that ended in the last step.
 */
int32_t tactus_stepped_retire(tactus_stepped_t *stepped, uint64_t resident);

/**
 * Ends the execution, in which nobody is live any more, and gives the response of the founding request. `*out_response` is owned by the
 * caller. The coordinator is free again. Errors: STATE while there are residents, or after the end.
 */
int32_t tactus_stepped_finish(tactus_stepped_t *stepped,
                              tactus_response_t **out_response);

/**
 * Ends the execution and everyone in it, as cancelled. The coordinator is free again. Nothing to do after the end.
 */
int32_t tactus_stepped_abort(tactus_stepped_t *stepped);

/**
 * The index a sequence of a response was admitted under; of a dispatched request, its index in the request.
 */
int32_t tactus_response_original_index(const tactus_response_t *response, int32_t sequence, int32_t *out_index);

/**
 * A response with further stop strings applied to the text of one of its sequences, which is all it holds; ids and log-probabilities are
 * as they were. `stops` are `stop_count` pointers to NUL-terminated UTF-8. `*out_response` is owned by the caller.
 */
int32_t tactus_response_materialize(const tactus_response_t *response,
                                    int32_t sequence,
                                    const char *const *stops,
                                    size_t stop_count,
                                    tactus_response_t **out_response);

/* ---- Saved system prompts -------------------------------------------------------------------------------- */

/**
 * Computes the keys and values of a system prompt and keeps them, whatever else needs the room, until they are removed. Later chats with
 * the same system message find them, whether the context cache is on or not.
 *
 * `prompt`: the text of the system message, or its rendered form. Saved already, or empty: nothing to do. `cuda_stream` as in
 * tactus_coordinator_dispatch_request. Errors: BUSY, STATE, TEMPLATE, TOKENIZER, CONTEXT_FULL, NO_CAPACITY.
 */
int32_t tactus_coordinator_gen_and_save_system_prompt_kv_cache(tactus_coordinator_t *coordinator,
                                                               const char *prompt,
                                                               size_t prompt_len,
                                                               void *cuda_stream);

/**
 * The saved prompts as a JSON array of objects with "text", "tokens" and "kept_tokens" (whole pages). `*out_json` is owned by the caller.
 */
int32_t tactus_coordinator_saved_system_prompts_json(const tactus_coordinator_t *coordinator,
                                                     tactus_string_t **out_json);

/**
 * Lets a saved prompt go. `prompt`: as it was saved. Errors: NOT_FOUND where it is not saved; BUSY.
 */
int32_t tactus_coordinator_remove_system_prompt(tactus_coordinator_t *coordinator, const char *prompt, size_t prompt_len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TACTUS_H */
