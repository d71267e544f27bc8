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

    /// The functions, found in the library by Library.Load. Delegates and not DllImport, as that would look for the library by a name of
    /// its own, on some runtimes before Load has run.
    internal static class Native
    {
        internal const int AbiVersion = 2;

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
        internal const int TACTUS_TIMING_QUEUE_SECONDS = 8;
        internal const int TACTUS_TIMING_REUSED_TOKENS = 9;
        internal const int TACTUS_TIMING_STEPS = 7;
        internal const int TACTUS_TIMING_TOTAL_SECONDS = 4;
        internal const int TACTUS_WEIGHTS_MAP = 0;
        internal const int TACTUS_WEIGHTS_READ = 1;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate IntPtr FinishReasonNameFunction(int a0);
        internal static FinishReasonNameFunction tactus_finish_reason_name;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate IntPtr LastErrorMessageFunction();
        internal static LastErrorMessageFunction tactus_last_error_message;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate IntPtr StatusNameFunction(int a0);
        internal static StatusNameFunction tactus_status_name;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate IntPtr VersionFunction();
        internal static VersionFunction tactus_version;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int AbiVersionFunction();
        internal static AbiVersionFunction tactus_abi_version;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsDestroyFunction(IntPtr a0);
        internal static ArtifactsDestroyFunction tactus_artifacts_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsDetokenizeFunction(ArtifactsHandle a0, int[] a1, UIntPtr a2, int a3, out StringHandle a4);
        internal static ArtifactsDetokenizeFunction tactus_artifacts_detokenize;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsInfoJsonFunction(ArtifactsHandle a0, out StringHandle a1);
        internal static ArtifactsInfoJsonFunction tactus_artifacts_info_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsLoadFunction(ConfigHandle a0, out ArtifactsHandle a1);
        internal static ArtifactsLoadFunction tactus_artifacts_load;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsLoadVocabularyFunction(ConfigHandle a0, out ArtifactsHandle a1);
        internal static ArtifactsLoadVocabularyFunction tactus_artifacts_load_vocabulary;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsRenderChatFunction(ArtifactsHandle a0, RequestHandle a1, int a2, out StringHandle a3);
        internal static ArtifactsRenderChatFunction tactus_artifacts_render_chat;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsTokenTextFunction(ArtifactsHandle a0, int a1, out StringHandle a2);
        internal static ArtifactsTokenTextFunction tactus_artifacts_token_text;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ArtifactsTokenizeFunction(ArtifactsHandle a0, byte[] a1, UIntPtr a2, int a3, int a4, out IdsHandle a5);
        internal static ArtifactsTokenizeFunction tactus_artifacts_tokenize;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int BoundaryAdmitRequestFunction(IntPtr a0, RequestHandle a1, int a2, ulong a3);
        internal static BoundaryAdmitRequestFunction tactus_boundary_admit_request;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int BoundaryResidentCountFunction(IntPtr a0, out UIntPtr a1);
        internal static BoundaryResidentCountFunction tactus_boundary_resident_count;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int BoundaryTakeCompletedAtOrAboveFunction(IntPtr a0, int a1, out ResponseHandle a2);
        internal static BoundaryTakeCompletedAtOrAboveFunction tactus_boundary_take_completed_at_or_above;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CapabilitiesJsonFunction(out StringHandle a0);
        internal static CapabilitiesJsonFunction tactus_capabilities_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelCancelFunction(ChannelHandle a0);
        internal static ChannelCancelFunction tactus_channel_cancel;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelChunkFinishFunction(ChannelHandle a0, out int a1, out int a2);
        internal static ChannelChunkFinishFunction tactus_channel_chunk_finish;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelChunkIdsFunction(ChannelHandle a0, out IntPtr a1, out UIntPtr a2);
        internal static ChannelChunkIdsFunction tactus_channel_chunk_ids;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelChunkLogprobsFunction(ChannelHandle a0, UIntPtr a1, out float a2, out IntPtr a3, out IntPtr a4, out UIntPtr a5);
        internal static ChannelChunkLogprobsFunction tactus_channel_chunk_logprobs;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelChunkTextFunction(ChannelHandle a0, out IntPtr a1, out UIntPtr a2);
        internal static ChannelChunkTextFunction tactus_channel_chunk_text;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelCreateFunction(out ChannelHandle a0);
        internal static ChannelCreateFunction tactus_channel_create;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelDestroyFunction(IntPtr a0);
        internal static ChannelDestroyFunction tactus_channel_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelIsFinishedFunction(ChannelHandle a0);
        internal static ChannelIsFinishedFunction tactus_channel_is_finished;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelReasonFunction(ChannelHandle a0, out int a1);
        internal static ChannelReasonFunction tactus_channel_reason;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelSetIntervalFunction(ChannelHandle a0, int a1);
        internal static ChannelSetIntervalFunction tactus_channel_set_interval;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelSetSkipSpecialTokensFunction(ChannelHandle a0, int a1);
        internal static ChannelSetSkipSpecialTokensFunction tactus_channel_set_skip_special_tokens;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelTryPopFunction(ChannelHandle a0, out int a1);
        internal static ChannelTryPopFunction tactus_channel_try_pop;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ChannelWaitPopFunction(ChannelHandle a0, long a1);
        internal static ChannelWaitPopFunction tactus_channel_wait_pop;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigCancelLoadFunction(ConfigHandle a0);
        internal static ConfigCancelLoadFunction tactus_config_cancel_load;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigCreateFunction(out ConfigHandle a0);
        internal static ConfigCreateFunction tactus_config_create;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigDestroyFunction(IntPtr a0);
        internal static ConfigDestroyFunction tactus_config_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigFromJsonFunction(byte[] a0, UIntPtr a1, out ConfigHandle a2);
        internal static ConfigFromJsonFunction tactus_config_from_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigLoadProgressFunction(ConfigHandle a0, out ulong a1, out ulong a2);
        internal static ConfigLoadProgressFunction tactus_config_load_progress;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetArtifactsFunction(ConfigHandle a0, ArtifactsHandle a1);
        internal static ConfigSetArtifactsFunction tactus_config_set_artifacts;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetChatTemplateFunction(ConfigHandle a0, byte[] a1, UIntPtr a2);
        internal static ConfigSetChatTemplateFunction tactus_config_set_chat_template;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetChatTemplateFileFunction(ConfigHandle a0, byte[] a1, UIntPtr a2);
        internal static ConfigSetChatTemplateFileFunction tactus_config_set_chat_template_file;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetCheckpointDirFunction(ConfigHandle a0, byte[] a1, UIntPtr a2);
        internal static ConfigSetCheckpointDirFunction tactus_config_set_checkpoint_dir;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetContextCacheFunction(ConfigHandle a0, int a1, int a2);
        internal static ConfigSetContextCacheFunction tactus_config_set_context_cache;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetCpuThreadsFunction(ConfigHandle a0, int a1);
        internal static ConfigSetCpuThreadsFunction tactus_config_set_cpu_threads;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetDeviceFunction(ConfigHandle a0, int a1);
        internal static ConfigSetDeviceFunction tactus_config_set_device;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetEngineDirFunction(ConfigHandle a0, byte[] a1, UIntPtr a2);
        internal static ConfigSetEngineDirFunction tactus_config_set_engine_dir;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetKvBudgetBytesFunction(ConfigHandle a0, ulong a1);
        internal static ConfigSetKvBudgetBytesFunction tactus_config_set_kv_budget_bytes;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetKvBudgetFractionFunction(ConfigHandle a0, double a1);
        internal static ConfigSetKvBudgetFractionFunction tactus_config_set_kv_budget_fraction;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetKvTypeFunction(ConfigHandle a0, int a1);
        internal static ConfigSetKvTypeFunction tactus_config_set_kv_type;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetLoadProgressCallbackFunction(ConfigHandle a0, LoadProgressCallback a1, IntPtr a2);
        internal static ConfigSetLoadProgressCallbackFunction tactus_config_set_load_progress_callback;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetLocalRankDeviceFunction(ConfigHandle a0, int a1, int a2);
        internal static ConfigSetLocalRankDeviceFunction tactus_config_set_local_rank_device;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetLocalRanksFunction(ConfigHandle a0, int[] a1, UIntPtr a2);
        internal static ConfigSetLocalRanksFunction tactus_config_set_local_ranks;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetMaxBatchFunction(ConfigHandle a0, int a1);
        internal static ConfigSetMaxBatchFunction tactus_config_set_max_batch;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetMaxSequenceLengthFunction(ConfigHandle a0, long a1);
        internal static ConfigSetMaxSequenceLengthFunction tactus_config_set_max_sequence_length;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetMixedPrefillChunkFunction(ConfigHandle a0, int a1);
        internal static ConfigSetMixedPrefillChunkFunction tactus_config_set_mixed_prefill_chunk;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetPageTokensFunction(ConfigHandle a0, int a1);
        internal static ConfigSetPageTokensFunction tactus_config_set_page_tokens;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetParallelFunction(ConfigHandle a0, int a1, int a2, int[] a3, UIntPtr a4);
        internal static ConfigSetParallelFunction tactus_config_set_parallel;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetPrefillChunkFunction(ConfigHandle a0, int a1);
        internal static ConfigSetPrefillChunkFunction tactus_config_set_prefill_chunk;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ConfigSetWeightsAccessFunction(ConfigHandle a0, int a1);
        internal static ConfigSetWeightsAccessFunction tactus_config_set_weights_access;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorBeginSteppedFunction(CoordinatorHandle a0, RequestHandle a1, ulong a2, int a3, IntPtr a4, out SteppedHandle a5);
        internal static CoordinatorBeginSteppedFunction tactus_coordinator_begin_stepped;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorCaptureDecodingCudaGraphFunction(CoordinatorHandle a0, IntPtr a1, out int a2);
        internal static CoordinatorCaptureDecodingCudaGraphFunction tactus_coordinator_capture_decoding_cuda_graph;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorCountPromptTokensFunction(CoordinatorHandle a0, RequestHandle a1, out IdsHandle a2);
        internal static CoordinatorCountPromptTokensFunction tactus_coordinator_count_prompt_tokens;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorCreateFunction(ConfigHandle a0, out CoordinatorHandle a1);
        internal static CoordinatorCreateFunction tactus_coordinator_create;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorDestroyFunction(IntPtr a0);
        internal static CoordinatorDestroyFunction tactus_coordinator_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorDispatchRequestFunction(CoordinatorHandle a0, RequestHandle a1, int a2, IntPtr a3);
        internal static CoordinatorDispatchRequestFunction tactus_coordinator_dispatch_request;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorDispatchRequestWithHookFunction(CoordinatorHandle a0, RequestHandle a1, int a2, IntPtr a3, BoundaryHook a4, IntPtr a5);
        internal static CoordinatorDispatchRequestWithHookFunction tactus_coordinator_dispatch_request_with_hook;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorGenAndSaveSystemPromptKvCacheFunction(CoordinatorHandle a0, byte[] a1, UIntPtr a2, IntPtr a3);
        internal static CoordinatorGenAndSaveSystemPromptKvCacheFunction tactus_coordinator_gen_and_save_system_prompt_kv_cache;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorInfoJsonFunction(CoordinatorHandle a0, out StringHandle a1);
        internal static CoordinatorInfoJsonFunction tactus_coordinator_info_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorLimitFunction(CoordinatorHandle a0, int a1, out ulong a2);
        internal static CoordinatorLimitFunction tactus_coordinator_limit;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorLocalRanksSucceededFunction(CoordinatorHandle a0);
        internal static CoordinatorLocalRanksSucceededFunction tactus_coordinator_local_ranks_succeeded;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorMetricFunction(CoordinatorHandle a0, int a1, out ulong a2);
        internal static CoordinatorMetricFunction tactus_coordinator_metric;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorOwnsGlobalRankFunction(CoordinatorHandle a0, int a1);
        internal static CoordinatorOwnsGlobalRankFunction tactus_coordinator_owns_global_rank;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorRemoveSystemPromptFunction(CoordinatorHandle a0, byte[] a1, UIntPtr a2);
        internal static CoordinatorRemoveSystemPromptFunction tactus_coordinator_remove_system_prompt;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorSavedSystemPromptsJsonFunction(CoordinatorHandle a0, out StringHandle a1);
        internal static CoordinatorSavedSystemPromptsJsonFunction tactus_coordinator_saved_system_prompts_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorSupportsBoundarySchedulingFunction(CoordinatorHandle a0);
        internal static CoordinatorSupportsBoundarySchedulingFunction tactus_coordinator_supports_boundary_scheduling;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorSupportsSteppedExecutionFunction(CoordinatorHandle a0);
        internal static CoordinatorSupportsSteppedExecutionFunction tactus_coordinator_supports_stepped_execution;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorTakeRankResponseFunction(CoordinatorHandle a0, int a1, out ResponseHandle a2);
        internal static CoordinatorTakeRankResponseFunction tactus_coordinator_take_rank_response;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CoordinatorWorldSizeFunction(CoordinatorHandle a0, out int a1);
        internal static CoordinatorWorldSizeFunction tactus_coordinator_world_size;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int HandleErrorFunction(SafeHandle a0, out int a1, out StringHandle a2);
        internal static HandleErrorFunction tactus_handle_error;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int HandleErrorCapacityFunction(SafeHandle a0, out ulong a1, out ulong a2, out ulong a3);
        internal static HandleErrorCapacityFunction tactus_handle_error_capacity;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int IdsDestroyFunction(IntPtr a0);
        internal static IdsDestroyFunction tactus_ids_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int IdsGetFunction(IdsHandle a0, out IntPtr a1, out UIntPtr a2);
        internal static IdsGetFunction tactus_ids_get;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int LastErrorCapacityFunction(out ulong a0, out ulong a1, out ulong a2);
        internal static LastErrorCapacityFunction tactus_last_error_capacity;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int LastErrorStatusFunction();
        internal static LastErrorStatusFunction tactus_last_error_status;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int LogPopFunction(out int a0, out StringHandle a1);
        internal static LogPopFunction tactus_log_pop;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int LogSetCallbackFunction(int a0, LogCallback a1, IntPtr a2);
        internal static LogSetCallbackFunction tactus_log_set_callback;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int LogSetQueueFunction(int a0, UIntPtr a1);
        internal static LogSetQueueFunction tactus_log_set_queue;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestAddChatFunction(RequestHandle a0, out int a1);
        internal static RequestAddChatFunction tactus_request_add_chat;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestAddIdsFunction(RequestHandle a0, int[] a1, UIntPtr a2, out int a3);
        internal static RequestAddIdsFunction tactus_request_add_ids;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestAddMessageFunction(RequestHandle a0, int a1, byte[] a2, UIntPtr a3, byte[] a4, UIntPtr a5);
        internal static RequestAddMessageFunction tactus_request_add_message;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestAddMessageJsonFunction(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);
        internal static RequestAddMessageJsonFunction tactus_request_add_message_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestAddStopFunction(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);
        internal static RequestAddStopFunction tactus_request_add_stop;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestAddTextFunction(RequestHandle a0, byte[] a1, UIntPtr a2, out int a3);
        internal static RequestAddTextFunction tactus_request_add_text;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestCreateFunction(out RequestHandle a0);
        internal static RequestCreateFunction tactus_request_create;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestDestroyFunction(IntPtr a0);
        internal static RequestDestroyFunction tactus_request_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestFromJsonFunction(byte[] a0, UIntPtr a1, out RequestHandle a2);
        internal static RequestFromJsonFunction tactus_request_from_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSequenceCountFunction(RequestHandle a0, out UIntPtr a1);
        internal static RequestSequenceCountFunction tactus_request_sequence_count;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetAddGenerationPromptFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetAddGenerationPromptFunction tactus_request_set_add_generation_prompt;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetApplyChatTemplateFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetApplyChatTemplateFunction tactus_request_set_apply_chat_template;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetCacheBypassFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetCacheBypassFunction tactus_request_set_cache_bypass;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetCacheCommitFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetCacheCommitFunction tactus_request_set_cache_commit;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetCacheSaltFunction(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);
        internal static RequestSetCacheSaltFunction tactus_request_set_cache_salt;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetChannelFunction(RequestHandle a0, int a1, ChannelHandle a2);
        internal static RequestSetChannelFunction tactus_request_set_channel;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetEnableThinkingFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetEnableThinkingFunction tactus_request_set_enable_thinking;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetExtraEosIdsFunction(RequestHandle a0, int a1, int[] a2, UIntPtr a3);
        internal static RequestSetExtraEosIdsFunction tactus_request_set_extra_eos_ids;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetFrequencyPenaltyFunction(RequestHandle a0, int a1, float a2);
        internal static RequestSetFrequencyPenaltyFunction tactus_request_set_frequency_penalty;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetGuideFunction(RequestHandle a0, int a1, int a2, byte[] a3, UIntPtr a4);
        internal static RequestSetGuideFunction tactus_request_set_guide;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetHiddenLayerFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetHiddenLayerFunction tactus_request_set_hidden_layer;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetIgnoreEosFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetIgnoreEosFunction tactus_request_set_ignore_eos;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetLogitBiasFunction(RequestHandle a0, int a1, int[] a2, float[] a3, UIntPtr a4);
        internal static RequestSetLogitBiasFunction tactus_request_set_logit_bias;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetMaxGenerateLengthFunction(RequestHandle a0, int a1, long a2);
        internal static RequestSetMaxGenerateLengthFunction tactus_request_set_max_generate_length;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetMinPFunction(RequestHandle a0, int a1, float a2);
        internal static RequestSetMinPFunction tactus_request_set_min_p;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetNumLogprobsFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetNumLogprobsFunction tactus_request_set_num_logprobs;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetPlainContentFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetPlainContentFunction tactus_request_set_plain_content;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetPresencePenaltyFunction(RequestHandle a0, int a1, float a2);
        internal static RequestSetPresencePenaltyFunction tactus_request_set_presence_penalty;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetRepetitionPenaltyFunction(RequestHandle a0, int a1, float a2);
        internal static RequestSetRepetitionPenaltyFunction tactus_request_set_repetition_penalty;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetSaveSystemPromptFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetSaveSystemPromptFunction tactus_request_set_save_system_prompt;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetSeedFunction(RequestHandle a0, int a1, ulong a2);
        internal static RequestSetSeedFunction tactus_request_set_seed;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetSkipSpecialTokensFunction(RequestHandle a0, int a1, int a2);
        internal static RequestSetSkipSpecialTokensFunction tactus_request_set_skip_special_tokens;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetTemperatureFunction(RequestHandle a0, int a1, float a2);
        internal static RequestSetTemperatureFunction tactus_request_set_temperature;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetTemplateNameFunction(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);
        internal static RequestSetTemplateNameFunction tactus_request_set_template_name;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetTemplateVariablesJsonFunction(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);
        internal static RequestSetTemplateVariablesJsonFunction tactus_request_set_template_variables_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetTokenCallbackFunction(RequestHandle a0, TokenCallback a1, IntPtr a2);
        internal static RequestSetTokenCallbackFunction tactus_request_set_token_callback;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetToolsJsonFunction(RequestHandle a0, int a1, byte[] a2, UIntPtr a3);
        internal static RequestSetToolsJsonFunction tactus_request_set_tools_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetTopKFunction(RequestHandle a0, int a1, long a2);
        internal static RequestSetTopKFunction tactus_request_set_top_k;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RequestSetTopPFunction(RequestHandle a0, int a1, float a2);
        internal static RequestSetTopPFunction tactus_request_set_top_p;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseBatchHistogramFunction(ResponseHandle a0, out IntPtr a1, out UIntPtr a2);
        internal static ResponseBatchHistogramFunction tactus_response_batch_histogram;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseDestroyFunction(IntPtr a0);
        internal static ResponseDestroyFunction tactus_response_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseErrorFunction(ResponseHandle a0, int a1, out int a2, out IntPtr a3, out UIntPtr a4);
        internal static ResponseErrorFunction tactus_response_error;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseErrorCapacityFunction(ResponseHandle a0, int a1, out ulong a2, out ulong a3, out ulong a4);
        internal static ResponseErrorCapacityFunction tactus_response_error_capacity;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseFinishReasonFunction(ResponseHandle a0, int a1, out int a2);
        internal static ResponseFinishReasonFunction tactus_response_finish_reason;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseHiddenStatesFunction(ResponseHandle a0, int a1, out IntPtr a2, out UIntPtr a3, out UIntPtr a4);
        internal static ResponseHiddenStatesFunction tactus_response_hidden_states;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseInputTokensFunction(ResponseHandle a0, int a1, out uint a2, out uint a3);
        internal static ResponseInputTokensFunction tactus_response_input_tokens;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseLogprobCountFunction(ResponseHandle a0, int a1, out UIntPtr a2);
        internal static ResponseLogprobCountFunction tactus_response_logprob_count;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseLogprobsFunction(ResponseHandle a0, int a1, UIntPtr a2, out float a3, out IntPtr a4, out IntPtr a5, out UIntPtr a6);
        internal static ResponseLogprobsFunction tactus_response_logprobs;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseMaterializeFunction(ResponseHandle a0, int a1, IntPtr[] a2, UIntPtr a3, out ResponseHandle a4);
        internal static ResponseMaterializeFunction tactus_response_materialize;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseMaxGenerateLengthFunction(ResponseHandle a0, int a1, out uint a2);
        internal static ResponseMaxGenerateLengthFunction tactus_response_max_generate_length;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseOriginalIndexFunction(ResponseHandle a0, int a1, out int a2);
        internal static ResponseOriginalIndexFunction tactus_response_original_index;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseOutputIdsFunction(ResponseHandle a0, int a1, out IntPtr a2, out UIntPtr a3);
        internal static ResponseOutputIdsFunction tactus_response_output_ids;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseSeedFunction(ResponseHandle a0, int a1, out ulong a2, out int a3);
        internal static ResponseSeedFunction tactus_response_seed;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseSequenceCountFunction(ResponseHandle a0, out UIntPtr a1);
        internal static ResponseSequenceCountFunction tactus_response_sequence_count;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseSettingFunction(ResponseHandle a0, int a1, int a2, out double a3, out int a4);
        internal static ResponseSettingFunction tactus_response_setting;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseTextFunction(ResponseHandle a0, int a1, out IntPtr a2, out UIntPtr a3);
        internal static ResponseTextFunction tactus_response_text;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseTimingFunction(ResponseHandle a0, int a1, out double a2);
        internal static ResponseTimingFunction tactus_response_timing;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseToJsonFunction(ResponseHandle a0, out StringHandle a1);
        internal static ResponseToJsonFunction tactus_response_to_json;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseWarningFunction(ResponseHandle a0, int a1, UIntPtr a2, out IntPtr a3, out UIntPtr a4);
        internal static ResponseWarningFunction tactus_response_warning;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResponseWarningCountFunction(ResponseHandle a0, int a1, out UIntPtr a2);
        internal static ResponseWarningCountFunction tactus_response_warning_count;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedAbortFunction(SteppedHandle a0);
        internal static SteppedAbortFunction tactus_stepped_abort;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedAdmitFunction(SteppedHandle a0, RequestHandle a1, int a2, ulong a3, out ulong a4);
        internal static SteppedAdmitFunction tactus_stepped_admit;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedDecodeFunction(SteppedHandle a0, ulong[] a1, UIntPtr a2);
        internal static SteppedDecodeFunction tactus_stepped_decode;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedDeltaFunction(SteppedHandle a0, UIntPtr a1, out ulong a2, out IntPtr a3, out UIntPtr a4);
        internal static SteppedDeltaFunction tactus_stepped_delta;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedDeltaCountFunction(SteppedHandle a0, out UIntPtr a1);
        internal static SteppedDeltaCountFunction tactus_stepped_delta_count;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedDestroyFunction(IntPtr a0);
        internal static SteppedDestroyFunction tactus_stepped_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedFinishFunction(SteppedHandle a0, out ResponseHandle a1);
        internal static SteppedFinishFunction tactus_stepped_finish;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedFinishedFunction(SteppedHandle a0, out IntPtr a1, out UIntPtr a2);
        internal static SteppedFinishedFunction tactus_stepped_finished;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedFinishedResponseFunction(SteppedHandle a0, out ResponseHandle a1);
        internal static SteppedFinishedResponseFunction tactus_stepped_finished_response;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedPrefillFunction(SteppedHandle a0, ulong a1, out uint a2);
        internal static SteppedPrefillFunction tactus_stepped_prefill;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedResidentsFunction(SteppedHandle a0, out IntPtr a1, out UIntPtr a2);
        internal static SteppedResidentsFunction tactus_stepped_residents;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedRetireFunction(SteppedHandle a0, ulong a1);
        internal static SteppedRetireFunction tactus_stepped_retire;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedStepFunction(SteppedHandle a0, ulong[] a1, uint[] a2, UIntPtr a3, ulong[] a4, UIntPtr a5);
        internal static SteppedStepFunction tactus_stepped_step;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int SteppedStepIdFunction(SteppedHandle a0, out ulong a1);
        internal static SteppedStepIdFunction tactus_stepped_step_id;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StringDestroyFunction(IntPtr a0);
        internal static StringDestroyFunction tactus_string_destroy;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StringGetFunction(StringHandle a0, out IntPtr a1, out UIntPtr a2);
        internal static StringGetFunction tactus_string_get;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate UIntPtr LastErrorMessageLengthFunction();
        internal static LastErrorMessageLengthFunction tactus_last_error_message_length;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate void LastErrorClearFunction();
        internal static LastErrorClearFunction tactus_last_error_clear;

        /// Takes every function from where `find` says it is.
        internal static void Bind(Func<string, IntPtr> find)
        {
            tactus_finish_reason_name = Marshal.GetDelegateForFunctionPointer<FinishReasonNameFunction>(find("tactus_finish_reason_name"));
            tactus_last_error_message = Marshal.GetDelegateForFunctionPointer<LastErrorMessageFunction>(find("tactus_last_error_message"));
            tactus_status_name = Marshal.GetDelegateForFunctionPointer<StatusNameFunction>(find("tactus_status_name"));
            tactus_version = Marshal.GetDelegateForFunctionPointer<VersionFunction>(find("tactus_version"));
            tactus_abi_version = Marshal.GetDelegateForFunctionPointer<AbiVersionFunction>(find("tactus_abi_version"));
            tactus_artifacts_destroy = Marshal.GetDelegateForFunctionPointer<ArtifactsDestroyFunction>(find("tactus_artifacts_destroy"));
            tactus_artifacts_detokenize = Marshal.GetDelegateForFunctionPointer<ArtifactsDetokenizeFunction>(find("tactus_artifacts_detokenize"));
            tactus_artifacts_info_json = Marshal.GetDelegateForFunctionPointer<ArtifactsInfoJsonFunction>(find("tactus_artifacts_info_json"));
            tactus_artifacts_load = Marshal.GetDelegateForFunctionPointer<ArtifactsLoadFunction>(find("tactus_artifacts_load"));
            tactus_artifacts_load_vocabulary = Marshal.GetDelegateForFunctionPointer<ArtifactsLoadVocabularyFunction>(find("tactus_artifacts_load_vocabulary"));
            tactus_artifacts_render_chat = Marshal.GetDelegateForFunctionPointer<ArtifactsRenderChatFunction>(find("tactus_artifacts_render_chat"));
            tactus_artifacts_token_text = Marshal.GetDelegateForFunctionPointer<ArtifactsTokenTextFunction>(find("tactus_artifacts_token_text"));
            tactus_artifacts_tokenize = Marshal.GetDelegateForFunctionPointer<ArtifactsTokenizeFunction>(find("tactus_artifacts_tokenize"));
            tactus_boundary_admit_request = Marshal.GetDelegateForFunctionPointer<BoundaryAdmitRequestFunction>(find("tactus_boundary_admit_request"));
            tactus_boundary_resident_count = Marshal.GetDelegateForFunctionPointer<BoundaryResidentCountFunction>(find("tactus_boundary_resident_count"));
            tactus_boundary_take_completed_at_or_above = Marshal.GetDelegateForFunctionPointer<BoundaryTakeCompletedAtOrAboveFunction>(find("tactus_boundary_take_completed_at_or_above"));
            tactus_capabilities_json = Marshal.GetDelegateForFunctionPointer<CapabilitiesJsonFunction>(find("tactus_capabilities_json"));
            tactus_channel_cancel = Marshal.GetDelegateForFunctionPointer<ChannelCancelFunction>(find("tactus_channel_cancel"));
            tactus_channel_chunk_finish = Marshal.GetDelegateForFunctionPointer<ChannelChunkFinishFunction>(find("tactus_channel_chunk_finish"));
            tactus_channel_chunk_ids = Marshal.GetDelegateForFunctionPointer<ChannelChunkIdsFunction>(find("tactus_channel_chunk_ids"));
            tactus_channel_chunk_logprobs = Marshal.GetDelegateForFunctionPointer<ChannelChunkLogprobsFunction>(find("tactus_channel_chunk_logprobs"));
            tactus_channel_chunk_text = Marshal.GetDelegateForFunctionPointer<ChannelChunkTextFunction>(find("tactus_channel_chunk_text"));
            tactus_channel_create = Marshal.GetDelegateForFunctionPointer<ChannelCreateFunction>(find("tactus_channel_create"));
            tactus_channel_destroy = Marshal.GetDelegateForFunctionPointer<ChannelDestroyFunction>(find("tactus_channel_destroy"));
            tactus_channel_is_finished = Marshal.GetDelegateForFunctionPointer<ChannelIsFinishedFunction>(find("tactus_channel_is_finished"));
            tactus_channel_reason = Marshal.GetDelegateForFunctionPointer<ChannelReasonFunction>(find("tactus_channel_reason"));
            tactus_channel_set_interval = Marshal.GetDelegateForFunctionPointer<ChannelSetIntervalFunction>(find("tactus_channel_set_interval"));
            tactus_channel_set_skip_special_tokens = Marshal.GetDelegateForFunctionPointer<ChannelSetSkipSpecialTokensFunction>(find("tactus_channel_set_skip_special_tokens"));
            tactus_channel_try_pop = Marshal.GetDelegateForFunctionPointer<ChannelTryPopFunction>(find("tactus_channel_try_pop"));
            tactus_channel_wait_pop = Marshal.GetDelegateForFunctionPointer<ChannelWaitPopFunction>(find("tactus_channel_wait_pop"));
            tactus_config_cancel_load = Marshal.GetDelegateForFunctionPointer<ConfigCancelLoadFunction>(find("tactus_config_cancel_load"));
            tactus_config_create = Marshal.GetDelegateForFunctionPointer<ConfigCreateFunction>(find("tactus_config_create"));
            tactus_config_destroy = Marshal.GetDelegateForFunctionPointer<ConfigDestroyFunction>(find("tactus_config_destroy"));
            tactus_config_from_json = Marshal.GetDelegateForFunctionPointer<ConfigFromJsonFunction>(find("tactus_config_from_json"));
            tactus_config_load_progress = Marshal.GetDelegateForFunctionPointer<ConfigLoadProgressFunction>(find("tactus_config_load_progress"));
            tactus_config_set_artifacts = Marshal.GetDelegateForFunctionPointer<ConfigSetArtifactsFunction>(find("tactus_config_set_artifacts"));
            tactus_config_set_chat_template = Marshal.GetDelegateForFunctionPointer<ConfigSetChatTemplateFunction>(find("tactus_config_set_chat_template"));
            tactus_config_set_chat_template_file = Marshal.GetDelegateForFunctionPointer<ConfigSetChatTemplateFileFunction>(find("tactus_config_set_chat_template_file"));
            tactus_config_set_checkpoint_dir = Marshal.GetDelegateForFunctionPointer<ConfigSetCheckpointDirFunction>(find("tactus_config_set_checkpoint_dir"));
            tactus_config_set_context_cache = Marshal.GetDelegateForFunctionPointer<ConfigSetContextCacheFunction>(find("tactus_config_set_context_cache"));
            tactus_config_set_cpu_threads = Marshal.GetDelegateForFunctionPointer<ConfigSetCpuThreadsFunction>(find("tactus_config_set_cpu_threads"));
            tactus_config_set_device = Marshal.GetDelegateForFunctionPointer<ConfigSetDeviceFunction>(find("tactus_config_set_device"));
            tactus_config_set_engine_dir = Marshal.GetDelegateForFunctionPointer<ConfigSetEngineDirFunction>(find("tactus_config_set_engine_dir"));
            tactus_config_set_kv_budget_bytes = Marshal.GetDelegateForFunctionPointer<ConfigSetKvBudgetBytesFunction>(find("tactus_config_set_kv_budget_bytes"));
            tactus_config_set_kv_budget_fraction = Marshal.GetDelegateForFunctionPointer<ConfigSetKvBudgetFractionFunction>(find("tactus_config_set_kv_budget_fraction"));
            tactus_config_set_kv_type = Marshal.GetDelegateForFunctionPointer<ConfigSetKvTypeFunction>(find("tactus_config_set_kv_type"));
            tactus_config_set_load_progress_callback = Marshal.GetDelegateForFunctionPointer<ConfigSetLoadProgressCallbackFunction>(find("tactus_config_set_load_progress_callback"));
            tactus_config_set_local_rank_device = Marshal.GetDelegateForFunctionPointer<ConfigSetLocalRankDeviceFunction>(find("tactus_config_set_local_rank_device"));
            tactus_config_set_local_ranks = Marshal.GetDelegateForFunctionPointer<ConfigSetLocalRanksFunction>(find("tactus_config_set_local_ranks"));
            tactus_config_set_max_batch = Marshal.GetDelegateForFunctionPointer<ConfigSetMaxBatchFunction>(find("tactus_config_set_max_batch"));
            tactus_config_set_max_sequence_length = Marshal.GetDelegateForFunctionPointer<ConfigSetMaxSequenceLengthFunction>(find("tactus_config_set_max_sequence_length"));
            tactus_config_set_mixed_prefill_chunk = Marshal.GetDelegateForFunctionPointer<ConfigSetMixedPrefillChunkFunction>(find("tactus_config_set_mixed_prefill_chunk"));
            tactus_config_set_page_tokens = Marshal.GetDelegateForFunctionPointer<ConfigSetPageTokensFunction>(find("tactus_config_set_page_tokens"));
            tactus_config_set_parallel = Marshal.GetDelegateForFunctionPointer<ConfigSetParallelFunction>(find("tactus_config_set_parallel"));
            tactus_config_set_prefill_chunk = Marshal.GetDelegateForFunctionPointer<ConfigSetPrefillChunkFunction>(find("tactus_config_set_prefill_chunk"));
            tactus_config_set_weights_access = Marshal.GetDelegateForFunctionPointer<ConfigSetWeightsAccessFunction>(find("tactus_config_set_weights_access"));
            tactus_coordinator_begin_stepped = Marshal.GetDelegateForFunctionPointer<CoordinatorBeginSteppedFunction>(find("tactus_coordinator_begin_stepped"));
            tactus_coordinator_capture_decoding_cuda_graph = Marshal.GetDelegateForFunctionPointer<CoordinatorCaptureDecodingCudaGraphFunction>(find("tactus_coordinator_capture_decoding_cuda_graph"));
            tactus_coordinator_count_prompt_tokens = Marshal.GetDelegateForFunctionPointer<CoordinatorCountPromptTokensFunction>(find("tactus_coordinator_count_prompt_tokens"));
            tactus_coordinator_create = Marshal.GetDelegateForFunctionPointer<CoordinatorCreateFunction>(find("tactus_coordinator_create"));
            tactus_coordinator_destroy = Marshal.GetDelegateForFunctionPointer<CoordinatorDestroyFunction>(find("tactus_coordinator_destroy"));
            tactus_coordinator_dispatch_request = Marshal.GetDelegateForFunctionPointer<CoordinatorDispatchRequestFunction>(find("tactus_coordinator_dispatch_request"));
            tactus_coordinator_dispatch_request_with_hook = Marshal.GetDelegateForFunctionPointer<CoordinatorDispatchRequestWithHookFunction>(find("tactus_coordinator_dispatch_request_with_hook"));
            tactus_coordinator_gen_and_save_system_prompt_kv_cache = Marshal.GetDelegateForFunctionPointer<CoordinatorGenAndSaveSystemPromptKvCacheFunction>(find("tactus_coordinator_gen_and_save_system_prompt_kv_cache"));
            tactus_coordinator_info_json = Marshal.GetDelegateForFunctionPointer<CoordinatorInfoJsonFunction>(find("tactus_coordinator_info_json"));
            tactus_coordinator_limit = Marshal.GetDelegateForFunctionPointer<CoordinatorLimitFunction>(find("tactus_coordinator_limit"));
            tactus_coordinator_local_ranks_succeeded = Marshal.GetDelegateForFunctionPointer<CoordinatorLocalRanksSucceededFunction>(find("tactus_coordinator_local_ranks_succeeded"));
            tactus_coordinator_metric = Marshal.GetDelegateForFunctionPointer<CoordinatorMetricFunction>(find("tactus_coordinator_metric"));
            tactus_coordinator_owns_global_rank = Marshal.GetDelegateForFunctionPointer<CoordinatorOwnsGlobalRankFunction>(find("tactus_coordinator_owns_global_rank"));
            tactus_coordinator_remove_system_prompt = Marshal.GetDelegateForFunctionPointer<CoordinatorRemoveSystemPromptFunction>(find("tactus_coordinator_remove_system_prompt"));
            tactus_coordinator_saved_system_prompts_json = Marshal.GetDelegateForFunctionPointer<CoordinatorSavedSystemPromptsJsonFunction>(find("tactus_coordinator_saved_system_prompts_json"));
            tactus_coordinator_supports_boundary_scheduling = Marshal.GetDelegateForFunctionPointer<CoordinatorSupportsBoundarySchedulingFunction>(find("tactus_coordinator_supports_boundary_scheduling"));
            tactus_coordinator_supports_stepped_execution = Marshal.GetDelegateForFunctionPointer<CoordinatorSupportsSteppedExecutionFunction>(find("tactus_coordinator_supports_stepped_execution"));
            tactus_coordinator_take_rank_response = Marshal.GetDelegateForFunctionPointer<CoordinatorTakeRankResponseFunction>(find("tactus_coordinator_take_rank_response"));
            tactus_coordinator_world_size = Marshal.GetDelegateForFunctionPointer<CoordinatorWorldSizeFunction>(find("tactus_coordinator_world_size"));
            tactus_handle_error = Marshal.GetDelegateForFunctionPointer<HandleErrorFunction>(find("tactus_handle_error"));
            tactus_handle_error_capacity = Marshal.GetDelegateForFunctionPointer<HandleErrorCapacityFunction>(find("tactus_handle_error_capacity"));
            tactus_ids_destroy = Marshal.GetDelegateForFunctionPointer<IdsDestroyFunction>(find("tactus_ids_destroy"));
            tactus_ids_get = Marshal.GetDelegateForFunctionPointer<IdsGetFunction>(find("tactus_ids_get"));
            tactus_last_error_capacity = Marshal.GetDelegateForFunctionPointer<LastErrorCapacityFunction>(find("tactus_last_error_capacity"));
            tactus_last_error_status = Marshal.GetDelegateForFunctionPointer<LastErrorStatusFunction>(find("tactus_last_error_status"));
            tactus_log_pop = Marshal.GetDelegateForFunctionPointer<LogPopFunction>(find("tactus_log_pop"));
            tactus_log_set_callback = Marshal.GetDelegateForFunctionPointer<LogSetCallbackFunction>(find("tactus_log_set_callback"));
            tactus_log_set_queue = Marshal.GetDelegateForFunctionPointer<LogSetQueueFunction>(find("tactus_log_set_queue"));
            tactus_request_add_chat = Marshal.GetDelegateForFunctionPointer<RequestAddChatFunction>(find("tactus_request_add_chat"));
            tactus_request_add_ids = Marshal.GetDelegateForFunctionPointer<RequestAddIdsFunction>(find("tactus_request_add_ids"));
            tactus_request_add_message = Marshal.GetDelegateForFunctionPointer<RequestAddMessageFunction>(find("tactus_request_add_message"));
            tactus_request_add_message_json = Marshal.GetDelegateForFunctionPointer<RequestAddMessageJsonFunction>(find("tactus_request_add_message_json"));
            tactus_request_add_stop = Marshal.GetDelegateForFunctionPointer<RequestAddStopFunction>(find("tactus_request_add_stop"));
            tactus_request_add_text = Marshal.GetDelegateForFunctionPointer<RequestAddTextFunction>(find("tactus_request_add_text"));
            tactus_request_create = Marshal.GetDelegateForFunctionPointer<RequestCreateFunction>(find("tactus_request_create"));
            tactus_request_destroy = Marshal.GetDelegateForFunctionPointer<RequestDestroyFunction>(find("tactus_request_destroy"));
            tactus_request_from_json = Marshal.GetDelegateForFunctionPointer<RequestFromJsonFunction>(find("tactus_request_from_json"));
            tactus_request_sequence_count = Marshal.GetDelegateForFunctionPointer<RequestSequenceCountFunction>(find("tactus_request_sequence_count"));
            tactus_request_set_add_generation_prompt = Marshal.GetDelegateForFunctionPointer<RequestSetAddGenerationPromptFunction>(find("tactus_request_set_add_generation_prompt"));
            tactus_request_set_apply_chat_template = Marshal.GetDelegateForFunctionPointer<RequestSetApplyChatTemplateFunction>(find("tactus_request_set_apply_chat_template"));
            tactus_request_set_cache_bypass = Marshal.GetDelegateForFunctionPointer<RequestSetCacheBypassFunction>(find("tactus_request_set_cache_bypass"));
            tactus_request_set_cache_commit = Marshal.GetDelegateForFunctionPointer<RequestSetCacheCommitFunction>(find("tactus_request_set_cache_commit"));
            tactus_request_set_cache_salt = Marshal.GetDelegateForFunctionPointer<RequestSetCacheSaltFunction>(find("tactus_request_set_cache_salt"));
            tactus_request_set_channel = Marshal.GetDelegateForFunctionPointer<RequestSetChannelFunction>(find("tactus_request_set_channel"));
            tactus_request_set_enable_thinking = Marshal.GetDelegateForFunctionPointer<RequestSetEnableThinkingFunction>(find("tactus_request_set_enable_thinking"));
            tactus_request_set_extra_eos_ids = Marshal.GetDelegateForFunctionPointer<RequestSetExtraEosIdsFunction>(find("tactus_request_set_extra_eos_ids"));
            tactus_request_set_frequency_penalty = Marshal.GetDelegateForFunctionPointer<RequestSetFrequencyPenaltyFunction>(find("tactus_request_set_frequency_penalty"));
            tactus_request_set_guide = Marshal.GetDelegateForFunctionPointer<RequestSetGuideFunction>(find("tactus_request_set_guide"));
            tactus_request_set_hidden_layer = Marshal.GetDelegateForFunctionPointer<RequestSetHiddenLayerFunction>(find("tactus_request_set_hidden_layer"));
            tactus_request_set_ignore_eos = Marshal.GetDelegateForFunctionPointer<RequestSetIgnoreEosFunction>(find("tactus_request_set_ignore_eos"));
            tactus_request_set_logit_bias = Marshal.GetDelegateForFunctionPointer<RequestSetLogitBiasFunction>(find("tactus_request_set_logit_bias"));
            tactus_request_set_max_generate_length = Marshal.GetDelegateForFunctionPointer<RequestSetMaxGenerateLengthFunction>(find("tactus_request_set_max_generate_length"));
            tactus_request_set_min_p = Marshal.GetDelegateForFunctionPointer<RequestSetMinPFunction>(find("tactus_request_set_min_p"));
            tactus_request_set_num_logprobs = Marshal.GetDelegateForFunctionPointer<RequestSetNumLogprobsFunction>(find("tactus_request_set_num_logprobs"));
            tactus_request_set_plain_content = Marshal.GetDelegateForFunctionPointer<RequestSetPlainContentFunction>(find("tactus_request_set_plain_content"));
            tactus_request_set_presence_penalty = Marshal.GetDelegateForFunctionPointer<RequestSetPresencePenaltyFunction>(find("tactus_request_set_presence_penalty"));
            tactus_request_set_repetition_penalty = Marshal.GetDelegateForFunctionPointer<RequestSetRepetitionPenaltyFunction>(find("tactus_request_set_repetition_penalty"));
            tactus_request_set_save_system_prompt = Marshal.GetDelegateForFunctionPointer<RequestSetSaveSystemPromptFunction>(find("tactus_request_set_save_system_prompt"));
            tactus_request_set_seed = Marshal.GetDelegateForFunctionPointer<RequestSetSeedFunction>(find("tactus_request_set_seed"));
            tactus_request_set_skip_special_tokens = Marshal.GetDelegateForFunctionPointer<RequestSetSkipSpecialTokensFunction>(find("tactus_request_set_skip_special_tokens"));
            tactus_request_set_temperature = Marshal.GetDelegateForFunctionPointer<RequestSetTemperatureFunction>(find("tactus_request_set_temperature"));
            tactus_request_set_template_name = Marshal.GetDelegateForFunctionPointer<RequestSetTemplateNameFunction>(find("tactus_request_set_template_name"));
            tactus_request_set_template_variables_json = Marshal.GetDelegateForFunctionPointer<RequestSetTemplateVariablesJsonFunction>(find("tactus_request_set_template_variables_json"));
            tactus_request_set_token_callback = Marshal.GetDelegateForFunctionPointer<RequestSetTokenCallbackFunction>(find("tactus_request_set_token_callback"));
            tactus_request_set_tools_json = Marshal.GetDelegateForFunctionPointer<RequestSetToolsJsonFunction>(find("tactus_request_set_tools_json"));
            tactus_request_set_top_k = Marshal.GetDelegateForFunctionPointer<RequestSetTopKFunction>(find("tactus_request_set_top_k"));
            tactus_request_set_top_p = Marshal.GetDelegateForFunctionPointer<RequestSetTopPFunction>(find("tactus_request_set_top_p"));
            tactus_response_batch_histogram = Marshal.GetDelegateForFunctionPointer<ResponseBatchHistogramFunction>(find("tactus_response_batch_histogram"));
            tactus_response_destroy = Marshal.GetDelegateForFunctionPointer<ResponseDestroyFunction>(find("tactus_response_destroy"));
            tactus_response_error = Marshal.GetDelegateForFunctionPointer<ResponseErrorFunction>(find("tactus_response_error"));
            tactus_response_error_capacity = Marshal.GetDelegateForFunctionPointer<ResponseErrorCapacityFunction>(find("tactus_response_error_capacity"));
            tactus_response_finish_reason = Marshal.GetDelegateForFunctionPointer<ResponseFinishReasonFunction>(find("tactus_response_finish_reason"));
            tactus_response_hidden_states = Marshal.GetDelegateForFunctionPointer<ResponseHiddenStatesFunction>(find("tactus_response_hidden_states"));
            tactus_response_input_tokens = Marshal.GetDelegateForFunctionPointer<ResponseInputTokensFunction>(find("tactus_response_input_tokens"));
            tactus_response_logprob_count = Marshal.GetDelegateForFunctionPointer<ResponseLogprobCountFunction>(find("tactus_response_logprob_count"));
            tactus_response_logprobs = Marshal.GetDelegateForFunctionPointer<ResponseLogprobsFunction>(find("tactus_response_logprobs"));
            tactus_response_materialize = Marshal.GetDelegateForFunctionPointer<ResponseMaterializeFunction>(find("tactus_response_materialize"));
            tactus_response_max_generate_length = Marshal.GetDelegateForFunctionPointer<ResponseMaxGenerateLengthFunction>(find("tactus_response_max_generate_length"));
            tactus_response_original_index = Marshal.GetDelegateForFunctionPointer<ResponseOriginalIndexFunction>(find("tactus_response_original_index"));
            tactus_response_output_ids = Marshal.GetDelegateForFunctionPointer<ResponseOutputIdsFunction>(find("tactus_response_output_ids"));
            tactus_response_seed = Marshal.GetDelegateForFunctionPointer<ResponseSeedFunction>(find("tactus_response_seed"));
            tactus_response_sequence_count = Marshal.GetDelegateForFunctionPointer<ResponseSequenceCountFunction>(find("tactus_response_sequence_count"));
            tactus_response_setting = Marshal.GetDelegateForFunctionPointer<ResponseSettingFunction>(find("tactus_response_setting"));
            tactus_response_text = Marshal.GetDelegateForFunctionPointer<ResponseTextFunction>(find("tactus_response_text"));
            tactus_response_timing = Marshal.GetDelegateForFunctionPointer<ResponseTimingFunction>(find("tactus_response_timing"));
            tactus_response_to_json = Marshal.GetDelegateForFunctionPointer<ResponseToJsonFunction>(find("tactus_response_to_json"));
            tactus_response_warning = Marshal.GetDelegateForFunctionPointer<ResponseWarningFunction>(find("tactus_response_warning"));
            tactus_response_warning_count = Marshal.GetDelegateForFunctionPointer<ResponseWarningCountFunction>(find("tactus_response_warning_count"));
            tactus_stepped_abort = Marshal.GetDelegateForFunctionPointer<SteppedAbortFunction>(find("tactus_stepped_abort"));
            tactus_stepped_admit = Marshal.GetDelegateForFunctionPointer<SteppedAdmitFunction>(find("tactus_stepped_admit"));
            tactus_stepped_decode = Marshal.GetDelegateForFunctionPointer<SteppedDecodeFunction>(find("tactus_stepped_decode"));
            tactus_stepped_delta = Marshal.GetDelegateForFunctionPointer<SteppedDeltaFunction>(find("tactus_stepped_delta"));
            tactus_stepped_delta_count = Marshal.GetDelegateForFunctionPointer<SteppedDeltaCountFunction>(find("tactus_stepped_delta_count"));
            tactus_stepped_destroy = Marshal.GetDelegateForFunctionPointer<SteppedDestroyFunction>(find("tactus_stepped_destroy"));
            tactus_stepped_finish = Marshal.GetDelegateForFunctionPointer<SteppedFinishFunction>(find("tactus_stepped_finish"));
            tactus_stepped_finished = Marshal.GetDelegateForFunctionPointer<SteppedFinishedFunction>(find("tactus_stepped_finished"));
            tactus_stepped_finished_response = Marshal.GetDelegateForFunctionPointer<SteppedFinishedResponseFunction>(find("tactus_stepped_finished_response"));
            tactus_stepped_prefill = Marshal.GetDelegateForFunctionPointer<SteppedPrefillFunction>(find("tactus_stepped_prefill"));
            tactus_stepped_residents = Marshal.GetDelegateForFunctionPointer<SteppedResidentsFunction>(find("tactus_stepped_residents"));
            tactus_stepped_retire = Marshal.GetDelegateForFunctionPointer<SteppedRetireFunction>(find("tactus_stepped_retire"));
            tactus_stepped_step = Marshal.GetDelegateForFunctionPointer<SteppedStepFunction>(find("tactus_stepped_step"));
            tactus_stepped_step_id = Marshal.GetDelegateForFunctionPointer<SteppedStepIdFunction>(find("tactus_stepped_step_id"));
            tactus_string_destroy = Marshal.GetDelegateForFunctionPointer<StringDestroyFunction>(find("tactus_string_destroy"));
            tactus_string_get = Marshal.GetDelegateForFunctionPointer<StringGetFunction>(find("tactus_string_get"));
            tactus_last_error_message_length = Marshal.GetDelegateForFunctionPointer<LastErrorMessageLengthFunction>(find("tactus_last_error_message_length"));
            tactus_last_error_clear = Marshal.GetDelegateForFunctionPointer<LastErrorClearFunction>(find("tactus_last_error_clear"));
        }
    }
}
