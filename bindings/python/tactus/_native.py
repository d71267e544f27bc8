"""The C functions and constants. Generated from include/tactus.abi by `make abi`. Do not edit."""

from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ABI_VERSION = 2

TACTUS_ALL_SEQUENCES = -1
TACTUS_CACHE_COMMIT_ALL = 0
TACTUS_CACHE_COMMIT_PROMPT = 1
TACTUS_DEVICE_AUTO = 0
TACTUS_DEVICE_CPU = 1
TACTUS_DEVICE_CUDA = 2
TACTUS_ERR_BUSY = 10
TACTUS_ERR_CANCELLED = 11
TACTUS_ERR_COLLECTIVE = 13
TACTUS_ERR_CONTEXT_FULL = 8
TACTUS_ERR_CUDA = 12
TACTUS_ERR_DEVICE_LOST = 18
TACTUS_ERR_DEVICE_OUT_OF_MEMORY = 20
TACTUS_ERR_FORKED = 19
TACTUS_ERR_FORMAT = 4
TACTUS_ERR_INTERNAL = 16
TACTUS_ERR_INVALID_ARGUMENT = 1
TACTUS_ERR_IO = 3
TACTUS_ERR_NOT_FOUND = 2
TACTUS_ERR_NO_CAPACITY = 9
TACTUS_ERR_OUT_OF_MEMORY = 14
TACTUS_ERR_STATE = 15
TACTUS_ERR_TEMPLATE = 6
TACTUS_ERR_TIMEOUT = 17
TACTUS_ERR_TOKENIZER = 7
TACTUS_ERR_UNSUPPORTED = 5
TACTUS_FINISH_CANCELLED = 3
TACTUS_FINISH_END_OF_SEQUENCE = 1
TACTUS_FINISH_ERROR = 4
TACTUS_FINISH_MAX_LENGTH = 2
TACTUS_FINISH_NOT_FINISHED = 0
TACTUS_FINISH_STOP_WORDS = 5
TACTUS_GUIDE_CHOICE = 4
TACTUS_GUIDE_GRAMMAR = 3
TACTUS_GUIDE_JSON_OBJECT = 0
TACTUS_GUIDE_JSON_SCHEMA = 1
TACTUS_GUIDE_REGEX = 2
TACTUS_KV_BF16 = 2
TACTUS_KV_F16 = 1
TACTUS_KV_F32 = 0
TACTUS_LAUNCH_MPI = 1
TACTUS_LAUNCH_THREAD = 0
TACTUS_LIMIT_CONTEXT_LENGTH = 2
TACTUS_LIMIT_KV_BYTES = 8
TACTUS_LIMIT_MAX_BATCH = 0
TACTUS_LIMIT_MAX_SEQUENCE_LENGTH = 1
TACTUS_LIMIT_MIXED_PREFILL_CHUNK = 7
TACTUS_LIMIT_PAGE_TOKENS = 4
TACTUS_LIMIT_PREFILL_CHUNK = 6
TACTUS_LIMIT_SCRATCH_BYTES = 9
TACTUS_LIMIT_STEP_TOKENS = 5
TACTUS_LIMIT_VOCAB_SIZE = 3
TACTUS_LIMIT_WEIGHT_BYTES = 10
TACTUS_LOG_DEBUG = 4
TACTUS_LOG_ERROR = 1
TACTUS_LOG_INFO = 3
TACTUS_LOG_OFF = 0
TACTUS_LOG_TRACE = 5
TACTUS_LOG_WARN = 2
TACTUS_METRIC_ADMITTED = 3
TACTUS_METRIC_FINISHED = 4
TACTUS_METRIC_GENERATED_TOKENS = 2
TACTUS_METRIC_PAGES_FREE = 7
TACTUS_METRIC_PAGES_TOTAL = 8
TACTUS_METRIC_PARKED = 5
TACTUS_METRIC_PREFILL_TOKENS = 1
TACTUS_METRIC_RESIDENTS = 6
TACTUS_METRIC_STEPS = 0
TACTUS_NUL_TERMINATED = 18446744073709551615
TACTUS_OK = 0
TACTUS_SETTING_FREQUENCY_PENALTY = 6
TACTUS_SETTING_MIN_P = 3
TACTUS_SETTING_PRESENCE_PENALTY = 5
TACTUS_SETTING_REPETITION_PENALTY = 4
TACTUS_SETTING_TEMPERATURE = 0
TACTUS_SETTING_TOP_K = 1
TACTUS_SETTING_TOP_P = 2
TACTUS_SOURCE_DEFAULT = 2
TACTUS_SOURCE_MODEL = 1
TACTUS_SOURCE_REQUEST = 0
TACTUS_TIMING_DECODE_SECONDS = 2
TACTUS_TIMING_DECODE_TOKENS = 6
TACTUS_TIMING_FIRST_TOKEN_SECONDS = 3
TACTUS_TIMING_PREFILL_SECONDS = 1
TACTUS_TIMING_PREFILL_TOKENS = 5
TACTUS_TIMING_PREPARE_SECONDS = 0
TACTUS_TIMING_QUEUE_SECONDS = 8
TACTUS_TIMING_REUSED_TOKENS = 9
TACTUS_TIMING_STEPS = 7
TACTUS_TIMING_TOTAL_SECONDS = 4
TACTUS_WEIGHTS_MAP = 0
TACTUS_WEIGHTS_READ = 1

tactus_load_progress_callback_t = CFUNCTYPE(c_int32, c_uint64, c_uint64, c_void_p)
tactus_token_callback_t = CFUNCTYPE(c_int32, c_int32, c_int32, c_int32, c_int32, c_void_p)
tactus_boundary_hook_t = CFUNCTYPE(None, c_void_p, c_void_p)
tactus_log_callback_t = CFUNCTYPE(None, c_int32, c_void_p, c_size_t, c_void_p)

# Name: result, parameters.
FUNCTIONS = {
    "tactus_finish_reason_name": (c_void_p, [c_int32]),
    "tactus_last_error_message": (c_void_p, []),
    "tactus_status_name": (c_void_p, [c_int32]),
    "tactus_version": (c_void_p, []),
    "tactus_abi_version": (c_int32, []),
    "tactus_artifacts_destroy": (c_int32, [c_void_p]),
    "tactus_artifacts_detokenize": (c_int32, [c_void_p, POINTER(c_int32), c_size_t, c_int32, POINTER(c_void_p)]),
    "tactus_artifacts_info_json": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_artifacts_load": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_artifacts_load_vocabulary": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_artifacts_render_chat": (c_int32, [c_void_p, c_void_p, c_int32, POINTER(c_void_p)]),
    "tactus_artifacts_token_text": (c_int32, [c_void_p, c_int32, POINTER(c_void_p)]),
    "tactus_artifacts_tokenize": (c_int32, [c_void_p, c_char_p, c_size_t, c_int32, c_int32, POINTER(c_void_p)]),
    "tactus_boundary_admit_request": (c_int32, [c_void_p, c_void_p, c_int32, c_uint64]),
    "tactus_boundary_resident_count": (c_int32, [c_void_p, POINTER(c_size_t)]),
    "tactus_boundary_take_completed_at_or_above": (c_int32, [c_void_p, c_int32, POINTER(c_void_p)]),
    "tactus_capabilities_json": (c_int32, [POINTER(c_void_p)]),
    "tactus_channel_cancel": (c_int32, [c_void_p]),
    "tactus_channel_chunk_finish": (c_int32, [c_void_p, POINTER(c_int32), POINTER(c_int32)]),
    "tactus_channel_chunk_ids": (c_int32, [c_void_p, POINTER(POINTER(c_int32)), POINTER(c_size_t)]),
    "tactus_channel_chunk_logprobs": (c_int32, [c_void_p, c_size_t, POINTER(c_float), POINTER(POINTER(c_int32)), POINTER(POINTER(c_float)), POINTER(c_size_t)]),
    "tactus_channel_chunk_text": (c_int32, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "tactus_channel_create": (c_int32, [POINTER(c_void_p)]),
    "tactus_channel_destroy": (c_int32, [c_void_p]),
    "tactus_channel_is_finished": (c_int32, [c_void_p]),
    "tactus_channel_reason": (c_int32, [c_void_p, POINTER(c_int32)]),
    "tactus_channel_set_interval": (c_int32, [c_void_p, c_int32]),
    "tactus_channel_set_skip_special_tokens": (c_int32, [c_void_p, c_int32]),
    "tactus_channel_try_pop": (c_int32, [c_void_p, POINTER(c_int32)]),
    "tactus_channel_wait_pop": (c_int32, [c_void_p, c_int64]),
    "tactus_config_cancel_load": (c_int32, [c_void_p]),
    "tactus_config_create": (c_int32, [POINTER(c_void_p)]),
    "tactus_config_destroy": (c_int32, [c_void_p]),
    "tactus_config_from_json": (c_int32, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "tactus_config_load_progress": (c_int32, [c_void_p, POINTER(c_uint64), POINTER(c_uint64)]),
    "tactus_config_set_artifacts": (c_int32, [c_void_p, c_void_p]),
    "tactus_config_set_chat_template": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "tactus_config_set_chat_template_file": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "tactus_config_set_checkpoint_dir": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "tactus_config_set_context_cache": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_config_set_cpu_threads": (c_int32, [c_void_p, c_int32]),
    "tactus_config_set_device": (c_int32, [c_void_p, c_int32]),
    "tactus_config_set_engine_dir": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "tactus_config_set_kv_budget_bytes": (c_int32, [c_void_p, c_uint64]),
    "tactus_config_set_kv_budget_fraction": (c_int32, [c_void_p, c_double]),
    "tactus_config_set_kv_type": (c_int32, [c_void_p, c_int32]),
    "tactus_config_set_load_progress_callback": (c_int32, [c_void_p, tactus_load_progress_callback_t, c_void_p]),
    "tactus_config_set_local_rank_device": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_config_set_local_ranks": (c_int32, [c_void_p, POINTER(c_int32), c_size_t]),
    "tactus_config_set_max_batch": (c_int32, [c_void_p, c_int32]),
    "tactus_config_set_max_sequence_length": (c_int32, [c_void_p, c_int64]),
    "tactus_config_set_mixed_prefill_chunk": (c_int32, [c_void_p, c_int32]),
    "tactus_config_set_page_tokens": (c_int32, [c_void_p, c_int32]),
    "tactus_config_set_parallel": (c_int32, [c_void_p, c_int32, c_int32, POINTER(c_int32), c_size_t]),
    "tactus_config_set_prefill_chunk": (c_int32, [c_void_p, c_int32]),
    "tactus_config_set_weights_access": (c_int32, [c_void_p, c_int32]),
    "tactus_coordinator_begin_stepped": (c_int32, [c_void_p, c_void_p, c_uint64, c_int32, c_void_p, POINTER(c_void_p)]),
    "tactus_coordinator_capture_decoding_cuda_graph": (c_int32, [c_void_p, c_void_p, POINTER(c_int32)]),
    "tactus_coordinator_count_prompt_tokens": (c_int32, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "tactus_coordinator_create": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_coordinator_destroy": (c_int32, [c_void_p]),
    "tactus_coordinator_dispatch_request": (c_int32, [c_void_p, c_void_p, c_int32, c_void_p]),
    "tactus_coordinator_dispatch_request_with_hook": (c_int32, [c_void_p, c_void_p, c_int32, c_void_p, tactus_boundary_hook_t, c_void_p]),
    "tactus_coordinator_gen_and_save_system_prompt_kv_cache": (c_int32, [c_void_p, c_char_p, c_size_t, c_void_p]),
    "tactus_coordinator_info_json": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_coordinator_limit": (c_int32, [c_void_p, c_int32, POINTER(c_uint64)]),
    "tactus_coordinator_local_ranks_succeeded": (c_int32, [c_void_p]),
    "tactus_coordinator_metric": (c_int32, [c_void_p, c_int32, POINTER(c_uint64)]),
    "tactus_coordinator_owns_global_rank": (c_int32, [c_void_p, c_int32]),
    "tactus_coordinator_remove_system_prompt": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "tactus_coordinator_saved_system_prompts_json": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_coordinator_supports_boundary_scheduling": (c_int32, [c_void_p]),
    "tactus_coordinator_supports_stepped_execution": (c_int32, [c_void_p]),
    "tactus_coordinator_take_rank_response": (c_int32, [c_void_p, c_int32, POINTER(c_void_p)]),
    "tactus_coordinator_world_size": (c_int32, [c_void_p, POINTER(c_int32)]),
    "tactus_handle_error": (c_int32, [c_void_p, POINTER(c_int32), POINTER(c_void_p)]),
    "tactus_handle_error_capacity": (c_int32, [c_void_p, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint64)]),
    "tactus_ids_destroy": (c_int32, [c_void_p]),
    "tactus_ids_get": (c_int32, [c_void_p, POINTER(POINTER(c_int32)), POINTER(c_size_t)]),
    "tactus_last_error_capacity": (c_int32, [POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint64)]),
    "tactus_last_error_status": (c_int32, []),
    "tactus_log_pop": (c_int32, [POINTER(c_int32), POINTER(c_void_p)]),
    "tactus_log_set_callback": (c_int32, [c_int32, tactus_log_callback_t, c_void_p]),
    "tactus_log_set_queue": (c_int32, [c_int32, c_size_t]),
    "tactus_request_add_chat": (c_int32, [c_void_p, POINTER(c_int32)]),
    "tactus_request_add_ids": (c_int32, [c_void_p, POINTER(c_int32), c_size_t, POINTER(c_int32)]),
    "tactus_request_add_message": (c_int32, [c_void_p, c_int32, c_char_p, c_size_t, c_char_p, c_size_t]),
    "tactus_request_add_message_json": (c_int32, [c_void_p, c_int32, c_char_p, c_size_t]),
    "tactus_request_add_stop": (c_int32, [c_void_p, c_int32, c_char_p, c_size_t]),
    "tactus_request_add_text": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_int32)]),
    "tactus_request_create": (c_int32, [POINTER(c_void_p)]),
    "tactus_request_destroy": (c_int32, [c_void_p]),
    "tactus_request_from_json": (c_int32, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "tactus_request_sequence_count": (c_int32, [c_void_p, POINTER(c_size_t)]),
    "tactus_request_set_add_generation_prompt": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_apply_chat_template": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_cache_bypass": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_cache_commit": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_cache_salt": (c_int32, [c_void_p, c_int32, c_char_p, c_size_t]),
    "tactus_request_set_channel": (c_int32, [c_void_p, c_int32, c_void_p]),
    "tactus_request_set_enable_thinking": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_extra_eos_ids": (c_int32, [c_void_p, c_int32, POINTER(c_int32), c_size_t]),
    "tactus_request_set_frequency_penalty": (c_int32, [c_void_p, c_int32, c_float]),
    "tactus_request_set_guide": (c_int32, [c_void_p, c_int32, c_int32, c_char_p, c_size_t]),
    "tactus_request_set_hidden_layer": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_ignore_eos": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_logit_bias": (c_int32, [c_void_p, c_int32, POINTER(c_int32), POINTER(c_float), c_size_t]),
    "tactus_request_set_max_generate_length": (c_int32, [c_void_p, c_int32, c_int64]),
    "tactus_request_set_min_p": (c_int32, [c_void_p, c_int32, c_float]),
    "tactus_request_set_num_logprobs": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_plain_content": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_presence_penalty": (c_int32, [c_void_p, c_int32, c_float]),
    "tactus_request_set_repetition_penalty": (c_int32, [c_void_p, c_int32, c_float]),
    "tactus_request_set_save_system_prompt": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_seed": (c_int32, [c_void_p, c_int32, c_uint64]),
    "tactus_request_set_skip_special_tokens": (c_int32, [c_void_p, c_int32, c_int32]),
    "tactus_request_set_temperature": (c_int32, [c_void_p, c_int32, c_float]),
    "tactus_request_set_template_name": (c_int32, [c_void_p, c_int32, c_char_p, c_size_t]),
    "tactus_request_set_template_variables_json": (c_int32, [c_void_p, c_int32, c_char_p, c_size_t]),
    "tactus_request_set_token_callback": (c_int32, [c_void_p, tactus_token_callback_t, c_void_p]),
    "tactus_request_set_tools_json": (c_int32, [c_void_p, c_int32, c_char_p, c_size_t]),
    "tactus_request_set_top_k": (c_int32, [c_void_p, c_int32, c_int64]),
    "tactus_request_set_top_p": (c_int32, [c_void_p, c_int32, c_float]),
    "tactus_response_batch_histogram": (c_int32, [c_void_p, POINTER(POINTER(c_uint64)), POINTER(c_size_t)]),
    "tactus_response_destroy": (c_int32, [c_void_p]),
    "tactus_response_error": (c_int32, [c_void_p, c_int32, POINTER(c_int32), POINTER(c_void_p), POINTER(c_size_t)]),
    "tactus_response_error_capacity": (c_int32, [c_void_p, c_int32, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint64)]),
    "tactus_response_finish_reason": (c_int32, [c_void_p, c_int32, POINTER(c_int32)]),
    "tactus_response_hidden_states": (c_int32, [c_void_p, c_int32, POINTER(POINTER(c_float)), POINTER(c_size_t), POINTER(c_size_t)]),
    "tactus_response_input_tokens": (c_int32, [c_void_p, c_int32, POINTER(c_uint32), POINTER(c_uint32)]),
    "tactus_response_logprob_count": (c_int32, [c_void_p, c_int32, POINTER(c_size_t)]),
    "tactus_response_logprobs": (c_int32, [c_void_p, c_int32, c_size_t, POINTER(c_float), POINTER(POINTER(c_int32)), POINTER(POINTER(c_float)), POINTER(c_size_t)]),
    "tactus_response_materialize": (c_int32, [c_void_p, c_int32, POINTER(c_char_p), c_size_t, POINTER(c_void_p)]),
    "tactus_response_max_generate_length": (c_int32, [c_void_p, c_int32, POINTER(c_uint32)]),
    "tactus_response_original_index": (c_int32, [c_void_p, c_int32, POINTER(c_int32)]),
    "tactus_response_output_ids": (c_int32, [c_void_p, c_int32, POINTER(POINTER(c_int32)), POINTER(c_size_t)]),
    "tactus_response_seed": (c_int32, [c_void_p, c_int32, POINTER(c_uint64), POINTER(c_int32)]),
    "tactus_response_sequence_count": (c_int32, [c_void_p, POINTER(c_size_t)]),
    "tactus_response_setting": (c_int32, [c_void_p, c_int32, c_int32, POINTER(c_double), POINTER(c_int32)]),
    "tactus_response_text": (c_int32, [c_void_p, c_int32, POINTER(c_void_p), POINTER(c_size_t)]),
    "tactus_response_timing": (c_int32, [c_void_p, c_int32, POINTER(c_double)]),
    "tactus_response_to_json": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_response_warning": (c_int32, [c_void_p, c_int32, c_size_t, POINTER(c_void_p), POINTER(c_size_t)]),
    "tactus_response_warning_count": (c_int32, [c_void_p, c_int32, POINTER(c_size_t)]),
    "tactus_stepped_abort": (c_int32, [c_void_p]),
    "tactus_stepped_admit": (c_int32, [c_void_p, c_void_p, c_int32, c_uint64, POINTER(c_uint64)]),
    "tactus_stepped_decode": (c_int32, [c_void_p, POINTER(c_uint64), c_size_t]),
    "tactus_stepped_delta": (c_int32, [c_void_p, c_size_t, POINTER(c_uint64), POINTER(POINTER(c_int32)), POINTER(c_size_t)]),
    "tactus_stepped_delta_count": (c_int32, [c_void_p, POINTER(c_size_t)]),
    "tactus_stepped_destroy": (c_int32, [c_void_p]),
    "tactus_stepped_finish": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_stepped_finished": (c_int32, [c_void_p, POINTER(POINTER(c_uint64)), POINTER(c_size_t)]),
    "tactus_stepped_finished_response": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tactus_stepped_prefill": (c_int32, [c_void_p, c_uint64, POINTER(c_uint32)]),
    "tactus_stepped_residents": (c_int32, [c_void_p, POINTER(POINTER(c_uint64)), POINTER(c_size_t)]),
    "tactus_stepped_retire": (c_int32, [c_void_p, c_uint64]),
    "tactus_stepped_step": (c_int32, [c_void_p, POINTER(c_uint64), POINTER(c_uint32), c_size_t, POINTER(c_uint64), c_size_t]),
    "tactus_stepped_step_id": (c_int32, [c_void_p, POINTER(c_uint64)]),
    "tactus_string_destroy": (c_int32, [c_void_p]),
    "tactus_string_get": (c_int32, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "tactus_last_error_message_length": (c_size_t, []),
    "tactus_last_error_clear": (None, []),
}
