// Generated from include/tactus.abi by `make abi`. Do not edit.

using System;
using System.Runtime.InteropServices;

namespace Tactus
{
    internal sealed class ArtifactsHandle : TactusHandle
    {
        public ArtifactsHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_artifacts_destroy(handle) == 0; }
    }

    internal sealed class ChannelHandle : TactusHandle
    {
        public ChannelHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_channel_destroy(handle) == 0; }
    }

    internal sealed class ConfigHandle : TactusHandle
    {
        public ConfigHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_config_destroy(handle) == 0; }
    }

    internal sealed class CoordinatorHandle : TactusHandle
    {
        public CoordinatorHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_coordinator_destroy(handle) == 0; }
    }

    internal sealed class IdsHandle : TactusHandle
    {
        public IdsHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_ids_destroy(handle) == 0; }
    }

    internal sealed class RequestHandle : TactusHandle
    {
        public RequestHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_request_destroy(handle) == 0; }
    }

    internal sealed class ResponseHandle : TactusHandle
    {
        public ResponseHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_response_destroy(handle) == 0; }
    }

    internal sealed class SteppedHandle : TactusHandle
    {
        public SteppedHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_stepped_destroy(handle) == 0; }
    }

    internal sealed class StringHandle : TactusHandle
    {
        public StringHandle() { }

        protected override bool ReleaseHandle() { return Native.tactus_string_destroy(handle) == 0; }
    }

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal delegate int LoadProgressCallback(ulong a0, ulong a1, IntPtr a2);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal delegate int TokenCallback(int a0, int a1, int a2, int a3, IntPtr a4);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal delegate void BoundaryHook(IntPtr a0, IntPtr a1);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    internal delegate void LogCallback(int a0, IntPtr a1, UIntPtr a2, IntPtr a3);

    internal static class Native
    {
        internal const int AbiVersion = 1;

        internal const int TACTUS_ALL_SEQUENCES = -1;
        internal const int TACTUS_CACHE_COMMIT_ALL = 0;
        internal const int TACTUS_CACHE_COMMIT_PROMPT = 1;
        internal const int TACTUS_DEVICE_AUTO = 0;
        internal const int TACTUS_DEVICE_CPU = 1;
        internal const int TACTUS_DEVICE_CUDA = 2;
        internal const int TACTUS_ERR_BUSY = 10;
        internal const int TACTUS_ERR_CANCELLED = 11;
        internal const int TACTUS_ERR_COLLECTIVE = 13;
        internal const int TACTUS_ERR_CONTEXT_FULL = 8;
        internal const int TACTUS_ERR_CUDA = 12;
        internal const int TACTUS_ERR_DEVICE_LOST = 18;
        internal const int TACTUS_ERR_DEVICE_OUT_OF_MEMORY = 20;
        internal const int TACTUS_ERR_FORKED = 19;
        internal const int TACTUS_ERR_FORMAT = 4;
        internal const int TACTUS_ERR_INTERNAL = 16;
        internal const int TACTUS_ERR_INVALID_ARGUMENT = 1;
        internal const int TACTUS_ERR_IO = 3;
        internal const int TACTUS_ERR_NOT_FOUND = 2;
        internal const int TACTUS_ERR_NO_CAPACITY = 9;
        internal const int TACTUS_ERR_OUT_OF_MEMORY = 14;
        internal const int TACTUS_ERR_STATE = 15;
        internal const int TACTUS_ERR_TEMPLATE = 6;
        internal const int TACTUS_ERR_TIMEOUT = 17;
        internal const int TACTUS_ERR_TOKENIZER = 7;
        internal const int TACTUS_ERR_UNSUPPORTED = 5;
        internal const int TACTUS_FINISH_CANCELLED = 3;
        internal const int TACTUS_FINISH_END_OF_SEQUENCE = 1;
        internal const int TACTUS_FINISH_ERROR = 4;
        internal const int TACTUS_FINISH_MAX_LENGTH = 2;
        internal const int TACTUS_FINISH_NOT_FINISHED = 0;
        internal const int TACTUS_FINISH_STOP_WORDS = 5;
        internal const int TACTUS_GUIDE_CHOICE = 4;
        internal const int TACTUS_GUIDE_GRAMMAR = 3;
        internal const int TACTUS_GUIDE_JSON_OBJECT = 0;
        internal const int TACTUS_GUIDE_JSON_SCHEMA = 1;
        internal const int TACTUS_GUIDE_REGEX = 2;
        internal const int TACTUS_KV_BF16 = 2;
        internal const int TACTUS_KV_F16 = 1;
        internal const int TACTUS_KV_F32 = 0;
        internal const int TACTUS_LAUNCH_MPI = 1;
        internal const int TACTUS_LAUNCH_THREAD = 0;
        internal const int TACTUS_LIMIT_CONTEXT_LENGTH = 2;
        internal const int TACTUS_LIMIT_KV_BYTES = 8;
        internal const int TACTUS_LIMIT_MAX_BATCH = 0;
        internal const int TACTUS_LIMIT_MAX_SEQUENCE_LENGTH = 1;
        internal const int TACTUS_LIMIT_MIXED_PREFILL_CHUNK = 7;
        internal const int TACTUS_LIMIT_PAGE_TOKENS = 4;
        internal const int TACTUS_LIMIT_PREFILL_CHUNK = 6;
        internal const int TACTUS_LIMIT_SCRATCH_BYTES = 9;
        internal const int TACTUS_LIMIT_STEP_TOKENS = 5;
        internal const int TACTUS_LIMIT_VOCAB_SIZE = 3;
        internal const int TACTUS_LIMIT_WEIGHT_BYTES = 10;
        internal const int TACTUS_LOG_DEBUG = 4;
        internal const int TACTUS_LOG_ERROR = 1;
        internal const int TACTUS_LOG_INFO = 3;
        internal const int TACTUS_LOG_OFF = 0;
        internal const int TACTUS_LOG_TRACE = 5;
        internal const int TACTUS_LOG_WARN = 2;
        internal const int TACTUS_METRIC_ADMITTED = 3;
        internal const int TACTUS_METRIC_FINISHED = 4;
        internal const int TACTUS_METRIC_GENERATED_TOKENS = 2;
        internal const int TACTUS_METRIC_PAGES_FREE = 7;
        internal const int TACTUS_METRIC_PAGES_TOTAL = 8;
        internal const int TACTUS_METRIC_PARKED = 5;
        internal const int TACTUS_METRIC_PREFILL_TOKENS = 1;
        internal const int TACTUS_METRIC_RESIDENTS = 6;
        internal const int TACTUS_METRIC_STEPS = 0;
        internal const long TACTUS_NUL_TERMINATED = -1;
        internal const int TACTUS_OK = 0;
        internal const int TACTUS_SETTING_FREQUENCY_PENALTY = 6;
        internal const int TACTUS_SETTING_MIN_P = 3;
        internal const int TACTUS_SETTING_PRESENCE_PENALTY = 5;
        internal const int TACTUS_SETTING_REPETITION_PENALTY = 4;
        internal const int TACTUS_SETTING_TEMPERATURE = 0;
        internal const int TACTUS_SETTING_TOP_K = 1;
        internal const int TACTUS_SETTING_TOP_P = 2;
        internal const int TACTUS_SOURCE_DEFAULT = 2;
        internal const int TACTUS_SOURCE_MODEL = 1;
        internal const int TACTUS_SOURCE_REQUEST = 0;
        internal const int TACTUS_TIMING_DECODE_SECONDS = 2;
        internal const int TACTUS_TIMING_DECODE_TOKENS = 6;
        internal const int TACTUS_TIMING_FIRST_TOKEN_SECONDS = 3;
        internal const int TACTUS_TIMING_PREFILL_SECONDS = 1;
        internal const int TACTUS_TIMING_PREFILL_TOKENS = 5;
        internal const int TACTUS_TIMING_PREPARE_SECONDS = 0;
        internal const int TACTUS_TIMING_STEPS = 7;
        internal const int TACTUS_TIMING_TOTAL_SECONDS = 4;
        internal const int TACTUS_WEIGHTS_MAP = 0;
        internal const int TACTUS_WEIGHTS_READ = 1;

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr tactus_finish_reason_name(int a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr tactus_last_error_message();

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr tactus_status_name(int a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr tactus_version();

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_abi_version();

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_detokenize(ArtifactsHandle a0, int[] a1, UIntPtr a2, int a3, out StringHandle a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_info_json(ArtifactsHandle a0, out StringHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_load(ConfigHandle a0, out ArtifactsHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_load_vocabulary(ConfigHandle a0, out ArtifactsHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_render_chat(ArtifactsHandle a0, RequestHandle a1, int a2, out StringHandle a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_token_text(ArtifactsHandle a0, int a1, out StringHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_artifacts_tokenize(ArtifactsHandle a0, byte[] a1, UIntPtr a2, int a3, int a4, out IdsHandle a5);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_boundary_admit_request(IntPtr a0, RequestHandle a1, int a2, ulong a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_boundary_resident_count(IntPtr a0, out UIntPtr a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_boundary_take_completed_at_or_above(IntPtr a0, int a1, out ResponseHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_capabilities_json(out StringHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_cancel(ChannelHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_chunk_finish(ChannelHandle a0, out int a1, out int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_chunk_ids(ChannelHandle a0, out IntPtr a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_chunk_logprobs(ChannelHandle a0, UIntPtr a1, out float a2, out IntPtr a3, out IntPtr a4, out UIntPtr a5);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_chunk_text(ChannelHandle a0, out IntPtr a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_create(out ChannelHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_is_finished(ChannelHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_reason(ChannelHandle a0, out int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_set_interval(ChannelHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_set_skip_special_tokens(ChannelHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_try_pop(ChannelHandle a0, out int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_channel_wait_pop(ChannelHandle a0, long a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_cancel_load(ConfigHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_create(out ConfigHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_from_json(byte[] a0, UIntPtr a1, out ConfigHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_load_progress(ConfigHandle a0, out ulong a1, out ulong a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_artifacts(ConfigHandle a0, ArtifactsHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_chat_template(ConfigHandle a0, byte[] a1, UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_chat_template_file(ConfigHandle a0, byte[] a1, UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_checkpoint_dir(ConfigHandle a0, byte[] a1, UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_context_cache(ConfigHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_cpu_threads(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_device(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_engine_dir(ConfigHandle a0, byte[] a1, UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_kv_budget_bytes(ConfigHandle a0, ulong a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_kv_budget_fraction(ConfigHandle a0, double a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_kv_type(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_load_progress_callback(ConfigHandle a0, LoadProgressCallback a1, IntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_local_rank_device(ConfigHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_local_ranks(ConfigHandle a0, int[] a1, UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_max_batch(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_max_sequence_length(ConfigHandle a0, long a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_mixed_prefill_chunk(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_page_tokens(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_parallel(ConfigHandle a0, int a1, int a2, int[] a3, UIntPtr a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_prefill_chunk(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_config_set_weights_access(ConfigHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_begin_stepped(CoordinatorHandle a0, RequestHandle a1, ulong a2, int a3, IntPtr a4, out SteppedHandle a5);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_capture_decoding_cuda_graph(CoordinatorHandle a0, IntPtr a1, out int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_count_prompt_tokens(CoordinatorHandle a0, RequestHandle a1, out IdsHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_create(ConfigHandle a0, out CoordinatorHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_dispatch_request(CoordinatorHandle a0, RequestHandle a1, int a2, IntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_dispatch_request_with_hook(CoordinatorHandle a0, RequestHandle a1, int a2, IntPtr a3, BoundaryHook a4, IntPtr a5);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_gen_and_save_system_prompt_kv_cache(CoordinatorHandle a0, byte[] a1, UIntPtr a2, IntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_info_json(CoordinatorHandle a0, out StringHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_limit(CoordinatorHandle a0, int a1, out ulong a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_local_ranks_succeeded(CoordinatorHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_metric(CoordinatorHandle a0, int a1, out ulong a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_owns_global_rank(CoordinatorHandle a0, int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_remove_system_prompt(CoordinatorHandle a0, byte[] a1, UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_saved_system_prompts_json(CoordinatorHandle a0, out StringHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_supports_boundary_scheduling(CoordinatorHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_supports_stepped_execution(CoordinatorHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_take_rank_response(CoordinatorHandle a0, int a1, out ResponseHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_coordinator_world_size(CoordinatorHandle a0, out int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_handle_error(SafeHandle a0, out int a1, out StringHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_handle_error_capacity(SafeHandle a0, out ulong a1, out ulong a2, out ulong a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_ids_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_ids_get(IdsHandle a0, out IntPtr a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_last_error_capacity(out ulong a0, out ulong a1, out ulong a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_last_error_status();

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_log_pop(out int a0, out StringHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_log_set_callback(int a0, LogCallback a1, IntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_log_set_queue(int a0, UIntPtr a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_add_chat(RequestHandle a0, out int a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_add_ids(RequestHandle a0, int[] a1, UIntPtr a2, out int a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_add_message(RequestHandle a0, int a1, byte[] a2, UIntPtr a3, byte[] a4, UIntPtr a5);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_add_message_json(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_add_stop(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_add_text(RequestHandle a0, byte[] a1, UIntPtr a2, out int a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_create(out RequestHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_from_json(byte[] a0, UIntPtr a1, out RequestHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_sequence_count(RequestHandle a0, out UIntPtr a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_add_generation_prompt(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_apply_chat_template(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_cache_bypass(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_cache_commit(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_cache_salt(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_channel(RequestHandle a0, int a1, ChannelHandle a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_enable_thinking(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_extra_eos_ids(RequestHandle a0, int a1, int[] a2, UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_frequency_penalty(RequestHandle a0, int a1, float a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_guide(RequestHandle a0, int a1, int a2, byte[] a3, UIntPtr a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_ignore_eos(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_logit_bias(RequestHandle a0, int a1, int[] a2, float[] a3, UIntPtr a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_max_generate_length(RequestHandle a0, int a1, long a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_min_p(RequestHandle a0, int a1, float a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_num_logprobs(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_plain_content(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_presence_penalty(RequestHandle a0, int a1, float a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_repetition_penalty(RequestHandle a0, int a1, float a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_save_system_prompt(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_seed(RequestHandle a0, int a1, ulong a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_skip_special_tokens(RequestHandle a0, int a1, int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_temperature(RequestHandle a0, int a1, float a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_template_name(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_template_variables_json(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_token_callback(RequestHandle a0, TokenCallback a1, IntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_tools_json(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_top_k(RequestHandle a0, int a1, long a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_request_set_top_p(RequestHandle a0, int a1, float a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_error(ResponseHandle a0, int a1, out int a2, out IntPtr a3, out UIntPtr a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_error_capacity(ResponseHandle a0, int a1, out ulong a2, out ulong a3, out ulong a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_finish_reason(ResponseHandle a0, int a1, out int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_input_tokens(ResponseHandle a0, int a1, out uint a2, out uint a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_logprob_count(ResponseHandle a0, int a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_logprobs(ResponseHandle a0, int a1, UIntPtr a2, out float a3, out IntPtr a4, out IntPtr a5, out UIntPtr a6);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_materialize(ResponseHandle a0, int a1, IntPtr[] a2, UIntPtr a3, out ResponseHandle a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_max_generate_length(ResponseHandle a0, int a1, out uint a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_original_index(ResponseHandle a0, int a1, out int a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_output_ids(ResponseHandle a0, int a1, out IntPtr a2, out UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_seed(ResponseHandle a0, int a1, out ulong a2, out int a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_sequence_count(ResponseHandle a0, out UIntPtr a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_setting(ResponseHandle a0, int a1, int a2, out double a3, out int a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_text(ResponseHandle a0, int a1, out IntPtr a2, out UIntPtr a3);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_timing(ResponseHandle a0, int a1, out double a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_to_json(ResponseHandle a0, out StringHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_warning(ResponseHandle a0, int a1, UIntPtr a2, out IntPtr a3, out UIntPtr a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_response_warning_count(ResponseHandle a0, int a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_abort(SteppedHandle a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_admit(SteppedHandle a0, RequestHandle a1, int a2, ulong a3, out ulong a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_decode(SteppedHandle a0, ulong[] a1, UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_delta(SteppedHandle a0, UIntPtr a1, out ulong a2, out IntPtr a3, out UIntPtr a4);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_delta_count(SteppedHandle a0, out UIntPtr a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_finish(SteppedHandle a0, out ResponseHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_finished(SteppedHandle a0, out IntPtr a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_finished_response(SteppedHandle a0, out ResponseHandle a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_prefill(SteppedHandle a0, ulong a1, out uint a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_residents(SteppedHandle a0, out IntPtr a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_retire(SteppedHandle a0, ulong a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_step(SteppedHandle a0, ulong[] a1, uint[] a2, UIntPtr a3, ulong[] a4, UIntPtr a5);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_stepped_step_id(SteppedHandle a0, out ulong a1);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_string_destroy(IntPtr a0);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int tactus_string_get(StringHandle a0, out IntPtr a1, out UIntPtr a2);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern UIntPtr tactus_last_error_message_length();

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void tactus_last_error_clear();
    }
}
