// Code generated from include/tactus.abi by `make abi`. DO NOT EDIT.

package tactus

import "unsafe"

// The constants of the header, whose comments say what they mean.
const (
	abiVersion               int32        = 2
	AllSequences             int32        = -1
	CacheCommitAll           int32        = 0
	CacheCommitPrompt        int32        = 1
	DeviceAuto               int32        = 0
	DeviceCpu                int32        = 1
	DeviceCuda               int32        = 2
	StatusBusy               Status       = 10
	StatusCancelled          Status       = 11
	StatusCollective         Status       = 13
	StatusContextFull        Status       = 8
	StatusCuda               Status       = 12
	StatusDeviceLost         Status       = 18
	StatusDeviceOutOfMemory  Status       = 20
	StatusForked             Status       = 19
	StatusFormat             Status       = 4
	StatusInternal           Status       = 16
	StatusInvalidArgument    Status       = 1
	StatusIo                 Status       = 3
	StatusNotFound           Status       = 2
	StatusNoCapacity         Status       = 9
	StatusOutOfMemory        Status       = 14
	StatusState              Status       = 15
	StatusTemplate           Status       = 6
	StatusTimeout            Status       = 17
	StatusTokenizer          Status       = 7
	StatusUnsupported        Status       = 5
	FinishCancelled          FinishReason = 3
	FinishEndOfSequence      FinishReason = 1
	FinishError              FinishReason = 4
	FinishMaxLength          FinishReason = 2
	FinishNotFinished        FinishReason = 0
	FinishStopWords          FinishReason = 5
	GuideChoice              int32        = 4
	GuideGrammar             int32        = 3
	GuideJsonObject          int32        = 0
	GuideJsonSchema          int32        = 1
	GuideRegex               int32        = 2
	KvBf16                   int32        = 2
	KvF16                    int32        = 1
	KvF32                    int32        = 0
	LaunchMpi                int32        = 1
	LaunchThread             int32        = 0
	LimitContextLength       int32        = 2
	LimitKvBytes             int32        = 8
	LimitMaxBatch            int32        = 0
	LimitMaxSequenceLength   int32        = 1
	LimitMixedPrefillChunk   int32        = 7
	LimitPageTokens          int32        = 4
	LimitPrefillChunk        int32        = 6
	LimitScratchBytes        int32        = 9
	LimitStepTokens          int32        = 5
	LimitVocabSize           int32        = 3
	LimitWeightBytes         int32        = 10
	LogDebug                 int32        = 4
	LogError                 int32        = 1
	LogInfo                  int32        = 3
	LogOff                   int32        = 0
	LogTrace                 int32        = 5
	LogWarn                  int32        = 2
	MetricAdmitted           int32        = 3
	MetricFinished           int32        = 4
	MetricGeneratedTokens    int32        = 2
	MetricPagesFree          int32        = 7
	MetricPagesTotal         int32        = 8
	MetricParked             int32        = 5
	MetricPrefillTokens      int32        = 1
	MetricResidents          int32        = 6
	MetricSteps              int32        = 0
	StatusOk                 Status       = 0
	SettingFrequencyPenalty  int32        = 6
	SettingMinP              int32        = 3
	SettingPresencePenalty   int32        = 5
	SettingRepetitionPenalty int32        = 4
	SettingTemperature       int32        = 0
	SettingTopK              int32        = 1
	SettingTopP              int32        = 2
	SourceDefault            int32        = 2
	SourceModel              int32        = 1
	SourceRequest            int32        = 0
	TimingDecodeSeconds      int32        = 2
	TimingDecodeTokens       int32        = 6
	TimingFirstTokenSeconds  int32        = 3
	TimingPrefillSeconds     int32        = 1
	TimingPrefillTokens      int32        = 5
	TimingPrepareSeconds     int32        = 0
	TimingQueueSeconds       int32        = 8
	TimingReusedTokens       int32        = 9
	TimingSteps              int32        = 7
	TimingTotalSeconds       int32        = 4
	WeightsMap               int32        = 0
	WeightsRead              int32        = 1
)

// functions are the library's; handles are numbers, as they are never dereferenced.
type functions struct {
	finishReasonName                         func(int32) unsafe.Pointer
	lastErrorMessage                         func() unsafe.Pointer
	statusName                               func(int32) unsafe.Pointer
	version                                  func() unsafe.Pointer
	abiVersion                               func() int32
	artifactsDestroy                         func(uintptr) int32
	artifactsDetokenize                      func(uintptr, *int32, uintptr, int32, *uintptr) int32
	artifactsInfoJson                        func(uintptr, *uintptr) int32
	artifactsLoad                            func(uintptr, *uintptr) int32
	artifactsLoadVocabulary                  func(uintptr, *uintptr) int32
	artifactsRenderChat                      func(uintptr, uintptr, int32, *uintptr) int32
	artifactsTokenText                       func(uintptr, int32, *uintptr) int32
	artifactsTokenize                        func(uintptr, *byte, uintptr, int32, int32, *uintptr) int32
	boundaryAdmitRequest                     func(uintptr, uintptr, int32, uint64) int32
	boundaryResidentCount                    func(uintptr, *uintptr) int32
	boundaryTakeCompletedAtOrAbove           func(uintptr, int32, *uintptr) int32
	capabilitiesJson                         func(*uintptr) int32
	channelCancel                            func(uintptr) int32
	channelChunkFinish                       func(uintptr, *int32, *int32) int32
	channelChunkIds                          func(uintptr, *unsafe.Pointer, *uintptr) int32
	channelChunkLogprobs                     func(uintptr, uintptr, *float32, *unsafe.Pointer, *unsafe.Pointer, *uintptr) int32
	channelChunkText                         func(uintptr, *unsafe.Pointer, *uintptr) int32
	channelCreate                            func(*uintptr) int32
	channelDestroy                           func(uintptr) int32
	channelIsFinished                        func(uintptr) int32
	channelReason                            func(uintptr, *int32) int32
	channelSetInterval                       func(uintptr, int32) int32
	channelSetSkipSpecialTokens              func(uintptr, int32) int32
	channelTryPop                            func(uintptr, *int32) int32
	channelWaitPop                           func(uintptr, int64) int32
	configCancelLoad                         func(uintptr) int32
	configCreate                             func(*uintptr) int32
	configDestroy                            func(uintptr) int32
	configFromJson                           func(*byte, uintptr, *uintptr) int32
	configLoadProgress                       func(uintptr, *uint64, *uint64) int32
	configSetArtifacts                       func(uintptr, uintptr) int32
	configSetChatTemplate                    func(uintptr, *byte, uintptr) int32
	configSetChatTemplateFile                func(uintptr, *byte, uintptr) int32
	configSetCheckpointDir                   func(uintptr, *byte, uintptr) int32
	configSetContextCache                    func(uintptr, int32, int32) int32
	configSetCpuThreads                      func(uintptr, int32) int32
	configSetDevice                          func(uintptr, int32) int32
	configSetEngineDir                       func(uintptr, *byte, uintptr) int32
	configSetKvBudgetBytes                   func(uintptr, uint64) int32
	configSetKvBudgetFraction                func(uintptr, float64) int32
	configSetKvType                          func(uintptr, int32) int32
	configSetLoadProgressCallback            func(uintptr, uintptr, uintptr) int32
	configSetLocalRankDevice                 func(uintptr, int32, int32) int32
	configSetLocalRanks                      func(uintptr, *int32, uintptr) int32
	configSetMaxBatch                        func(uintptr, int32) int32
	configSetMaxSequenceLength               func(uintptr, int64) int32
	configSetMixedPrefillChunk               func(uintptr, int32) int32
	configSetPageTokens                      func(uintptr, int32) int32
	configSetParallel                        func(uintptr, int32, int32, *int32, uintptr) int32
	configSetPrefillChunk                    func(uintptr, int32) int32
	configSetWeightsAccess                   func(uintptr, int32) int32
	coordinatorBeginStepped                  func(uintptr, uintptr, uint64, int32, uintptr, *uintptr) int32
	coordinatorCaptureDecodingCudaGraph      func(uintptr, uintptr, *int32) int32
	coordinatorCountPromptTokens             func(uintptr, uintptr, *uintptr) int32
	coordinatorCreate                        func(uintptr, *uintptr) int32
	coordinatorDestroy                       func(uintptr) int32
	coordinatorDispatchRequest               func(uintptr, uintptr, int32, uintptr) int32
	coordinatorDispatchRequestWithHook       func(uintptr, uintptr, int32, uintptr, uintptr, uintptr) int32
	coordinatorGenAndSaveSystemPromptKvCache func(uintptr, *byte, uintptr, uintptr) int32
	coordinatorInfoJson                      func(uintptr, *uintptr) int32
	coordinatorLimit                         func(uintptr, int32, *uint64) int32
	coordinatorLocalRanksSucceeded           func(uintptr) int32
	coordinatorMetric                        func(uintptr, int32, *uint64) int32
	coordinatorOwnsGlobalRank                func(uintptr, int32) int32
	coordinatorRemoveSystemPrompt            func(uintptr, *byte, uintptr) int32
	coordinatorSavedSystemPromptsJson        func(uintptr, *uintptr) int32
	coordinatorSupportsBoundaryScheduling    func(uintptr) int32
	coordinatorSupportsSteppedExecution      func(uintptr) int32
	coordinatorTakeRankResponse              func(uintptr, int32, *uintptr) int32
	coordinatorWorldSize                     func(uintptr, *int32) int32
	handleError                              func(uintptr, *int32, *uintptr) int32
	handleErrorCapacity                      func(uintptr, *uint64, *uint64, *uint64) int32
	idsDestroy                               func(uintptr) int32
	idsGet                                   func(uintptr, *unsafe.Pointer, *uintptr) int32
	lastErrorCapacity                        func(*uint64, *uint64, *uint64) int32
	lastErrorStatus                          func() int32
	logPop                                   func(*int32, *uintptr) int32
	logSetCallback                           func(int32, uintptr, uintptr) int32
	logSetQueue                              func(int32, uintptr) int32
	requestAddChat                           func(uintptr, *int32) int32
	requestAddIds                            func(uintptr, *int32, uintptr, *int32) int32
	requestAddMessage                        func(uintptr, int32, *byte, uintptr, *byte, uintptr) int32
	requestAddMessageJson                    func(uintptr, int32, *byte, uintptr) int32
	requestAddStop                           func(uintptr, int32, *byte, uintptr) int32
	requestAddText                           func(uintptr, *byte, uintptr, *int32) int32
	requestCreate                            func(*uintptr) int32
	requestDestroy                           func(uintptr) int32
	requestFromJson                          func(*byte, uintptr, *uintptr) int32
	requestSequenceCount                     func(uintptr, *uintptr) int32
	requestSetAddGenerationPrompt            func(uintptr, int32, int32) int32
	requestSetApplyChatTemplate              func(uintptr, int32, int32) int32
	requestSetCacheBypass                    func(uintptr, int32, int32) int32
	requestSetCacheCommit                    func(uintptr, int32, int32) int32
	requestSetCacheSalt                      func(uintptr, int32, *byte, uintptr) int32
	requestSetChannel                        func(uintptr, int32, uintptr) int32
	requestSetEnableThinking                 func(uintptr, int32, int32) int32
	requestSetExtraEosIds                    func(uintptr, int32, *int32, uintptr) int32
	requestSetFrequencyPenalty               func(uintptr, int32, float32) int32
	requestSetGuide                          func(uintptr, int32, int32, *byte, uintptr) int32
	requestSetHiddenLayer                    func(uintptr, int32, int32) int32
	requestSetIgnoreEos                      func(uintptr, int32, int32) int32
	requestSetLogitBias                      func(uintptr, int32, *int32, *float32, uintptr) int32
	requestSetMaxGenerateLength              func(uintptr, int32, int64) int32
	requestSetMinP                           func(uintptr, int32, float32) int32
	requestSetNumLogprobs                    func(uintptr, int32, int32) int32
	requestSetPlainContent                   func(uintptr, int32, int32) int32
	requestSetPresencePenalty                func(uintptr, int32, float32) int32
	requestSetRepetitionPenalty              func(uintptr, int32, float32) int32
	requestSetSaveSystemPrompt               func(uintptr, int32, int32) int32
	requestSetSeed                           func(uintptr, int32, uint64) int32
	requestSetSkipSpecialTokens              func(uintptr, int32, int32) int32
	requestSetTemperature                    func(uintptr, int32, float32) int32
	requestSetTemplateName                   func(uintptr, int32, *byte, uintptr) int32
	requestSetTemplateVariablesJson          func(uintptr, int32, *byte, uintptr) int32
	requestSetTokenCallback                  func(uintptr, uintptr, uintptr) int32
	requestSetToolsJson                      func(uintptr, int32, *byte, uintptr) int32
	requestSetTopK                           func(uintptr, int32, int64) int32
	requestSetTopP                           func(uintptr, int32, float32) int32
	responseBatchHistogram                   func(uintptr, *unsafe.Pointer, *uintptr) int32
	responseDestroy                          func(uintptr) int32
	responseError                            func(uintptr, int32, *int32, *unsafe.Pointer, *uintptr) int32
	responseErrorCapacity                    func(uintptr, int32, *uint64, *uint64, *uint64) int32
	responseFinishReason                     func(uintptr, int32, *int32) int32
	responseHiddenStates                     func(uintptr, int32, *unsafe.Pointer, *uintptr, *uintptr) int32
	responseInputTokens                      func(uintptr, int32, *uint32, *uint32) int32
	responseLogprobCount                     func(uintptr, int32, *uintptr) int32
	responseLogprobs                         func(uintptr, int32, uintptr, *float32, *unsafe.Pointer, *unsafe.Pointer, *uintptr) int32
	responseMaterialize                      func(uintptr, int32, **byte, uintptr, *uintptr) int32
	responseMaxGenerateLength                func(uintptr, int32, *uint32) int32
	responseOriginalIndex                    func(uintptr, int32, *int32) int32
	responseOutputIds                        func(uintptr, int32, *unsafe.Pointer, *uintptr) int32
	responseSeed                             func(uintptr, int32, *uint64, *int32) int32
	responseSequenceCount                    func(uintptr, *uintptr) int32
	responseSetting                          func(uintptr, int32, int32, *float64, *int32) int32
	responseText                             func(uintptr, int32, *unsafe.Pointer, *uintptr) int32
	responseTiming                           func(uintptr, int32, *float64) int32
	responseToJson                           func(uintptr, *uintptr) int32
	responseWarning                          func(uintptr, int32, uintptr, *unsafe.Pointer, *uintptr) int32
	responseWarningCount                     func(uintptr, int32, *uintptr) int32
	steppedAbort                             func(uintptr) int32
	steppedAdmit                             func(uintptr, uintptr, int32, uint64, *uint64) int32
	steppedDecode                            func(uintptr, *uint64, uintptr) int32
	steppedDelta                             func(uintptr, uintptr, *uint64, *unsafe.Pointer, *uintptr) int32
	steppedDeltaCount                        func(uintptr, *uintptr) int32
	steppedDestroy                           func(uintptr) int32
	steppedFinish                            func(uintptr, *uintptr) int32
	steppedFinished                          func(uintptr, *unsafe.Pointer, *uintptr) int32
	steppedFinishedResponse                  func(uintptr, *uintptr) int32
	steppedPrefill                           func(uintptr, uint64, *uint32) int32
	steppedResidents                         func(uintptr, *unsafe.Pointer, *uintptr) int32
	steppedRetire                            func(uintptr, uint64) int32
	steppedStep                              func(uintptr, *uint64, *uint32, uintptr, *uint64, uintptr) int32
	steppedStepId                            func(uintptr, *uint64) int32
	stringDestroy                            func(uintptr) int32
	stringGet                                func(uintptr, *unsafe.Pointer, *uintptr) int32
	lastErrorMessageLength                   func() uintptr
	lastErrorClear                           func()
}

// pairs names each function and says where it goes.
func (f *functions) pairs() map[string]any {
	return map[string]any{
		"tactus_finish_reason_name":                              &f.finishReasonName,
		"tactus_last_error_message":                              &f.lastErrorMessage,
		"tactus_status_name":                                     &f.statusName,
		"tactus_version":                                         &f.version,
		"tactus_abi_version":                                     &f.abiVersion,
		"tactus_artifacts_destroy":                               &f.artifactsDestroy,
		"tactus_artifacts_detokenize":                            &f.artifactsDetokenize,
		"tactus_artifacts_info_json":                             &f.artifactsInfoJson,
		"tactus_artifacts_load":                                  &f.artifactsLoad,
		"tactus_artifacts_load_vocabulary":                       &f.artifactsLoadVocabulary,
		"tactus_artifacts_render_chat":                           &f.artifactsRenderChat,
		"tactus_artifacts_token_text":                            &f.artifactsTokenText,
		"tactus_artifacts_tokenize":                              &f.artifactsTokenize,
		"tactus_boundary_admit_request":                          &f.boundaryAdmitRequest,
		"tactus_boundary_resident_count":                         &f.boundaryResidentCount,
		"tactus_boundary_take_completed_at_or_above":             &f.boundaryTakeCompletedAtOrAbove,
		"tactus_capabilities_json":                               &f.capabilitiesJson,
		"tactus_channel_cancel":                                  &f.channelCancel,
		"tactus_channel_chunk_finish":                            &f.channelChunkFinish,
		"tactus_channel_chunk_ids":                               &f.channelChunkIds,
		"tactus_channel_chunk_logprobs":                          &f.channelChunkLogprobs,
		"tactus_channel_chunk_text":                              &f.channelChunkText,
		"tactus_channel_create":                                  &f.channelCreate,
		"tactus_channel_destroy":                                 &f.channelDestroy,
		"tactus_channel_is_finished":                             &f.channelIsFinished,
		"tactus_channel_reason":                                  &f.channelReason,
		"tactus_channel_set_interval":                            &f.channelSetInterval,
		"tactus_channel_set_skip_special_tokens":                 &f.channelSetSkipSpecialTokens,
		"tactus_channel_try_pop":                                 &f.channelTryPop,
		"tactus_channel_wait_pop":                                &f.channelWaitPop,
		"tactus_config_cancel_load":                              &f.configCancelLoad,
		"tactus_config_create":                                   &f.configCreate,
		"tactus_config_destroy":                                  &f.configDestroy,
		"tactus_config_from_json":                                &f.configFromJson,
		"tactus_config_load_progress":                            &f.configLoadProgress,
		"tactus_config_set_artifacts":                            &f.configSetArtifacts,
		"tactus_config_set_chat_template":                        &f.configSetChatTemplate,
		"tactus_config_set_chat_template_file":                   &f.configSetChatTemplateFile,
		"tactus_config_set_checkpoint_dir":                       &f.configSetCheckpointDir,
		"tactus_config_set_context_cache":                        &f.configSetContextCache,
		"tactus_config_set_cpu_threads":                          &f.configSetCpuThreads,
		"tactus_config_set_device":                               &f.configSetDevice,
		"tactus_config_set_engine_dir":                           &f.configSetEngineDir,
		"tactus_config_set_kv_budget_bytes":                      &f.configSetKvBudgetBytes,
		"tactus_config_set_kv_budget_fraction":                   &f.configSetKvBudgetFraction,
		"tactus_config_set_kv_type":                              &f.configSetKvType,
		"tactus_config_set_load_progress_callback":               &f.configSetLoadProgressCallback,
		"tactus_config_set_local_rank_device":                    &f.configSetLocalRankDevice,
		"tactus_config_set_local_ranks":                          &f.configSetLocalRanks,
		"tactus_config_set_max_batch":                            &f.configSetMaxBatch,
		"tactus_config_set_max_sequence_length":                  &f.configSetMaxSequenceLength,
		"tactus_config_set_mixed_prefill_chunk":                  &f.configSetMixedPrefillChunk,
		"tactus_config_set_page_tokens":                          &f.configSetPageTokens,
		"tactus_config_set_parallel":                             &f.configSetParallel,
		"tactus_config_set_prefill_chunk":                        &f.configSetPrefillChunk,
		"tactus_config_set_weights_access":                       &f.configSetWeightsAccess,
		"tactus_coordinator_begin_stepped":                       &f.coordinatorBeginStepped,
		"tactus_coordinator_capture_decoding_cuda_graph":         &f.coordinatorCaptureDecodingCudaGraph,
		"tactus_coordinator_count_prompt_tokens":                 &f.coordinatorCountPromptTokens,
		"tactus_coordinator_create":                              &f.coordinatorCreate,
		"tactus_coordinator_destroy":                             &f.coordinatorDestroy,
		"tactus_coordinator_dispatch_request":                    &f.coordinatorDispatchRequest,
		"tactus_coordinator_dispatch_request_with_hook":          &f.coordinatorDispatchRequestWithHook,
		"tactus_coordinator_gen_and_save_system_prompt_kv_cache": &f.coordinatorGenAndSaveSystemPromptKvCache,
		"tactus_coordinator_info_json":                           &f.coordinatorInfoJson,
		"tactus_coordinator_limit":                               &f.coordinatorLimit,
		"tactus_coordinator_local_ranks_succeeded":               &f.coordinatorLocalRanksSucceeded,
		"tactus_coordinator_metric":                              &f.coordinatorMetric,
		"tactus_coordinator_owns_global_rank":                    &f.coordinatorOwnsGlobalRank,
		"tactus_coordinator_remove_system_prompt":                &f.coordinatorRemoveSystemPrompt,
		"tactus_coordinator_saved_system_prompts_json":           &f.coordinatorSavedSystemPromptsJson,
		"tactus_coordinator_supports_boundary_scheduling":        &f.coordinatorSupportsBoundaryScheduling,
		"tactus_coordinator_supports_stepped_execution":          &f.coordinatorSupportsSteppedExecution,
		"tactus_coordinator_take_rank_response":                  &f.coordinatorTakeRankResponse,
		"tactus_coordinator_world_size":                          &f.coordinatorWorldSize,
		"tactus_handle_error":                                    &f.handleError,
		"tactus_handle_error_capacity":                           &f.handleErrorCapacity,
		"tactus_ids_destroy":                                     &f.idsDestroy,
		"tactus_ids_get":                                         &f.idsGet,
		"tactus_last_error_capacity":                             &f.lastErrorCapacity,
		"tactus_last_error_status":                               &f.lastErrorStatus,
		"tactus_log_pop":                                         &f.logPop,
		"tactus_log_set_callback":                                &f.logSetCallback,
		"tactus_log_set_queue":                                   &f.logSetQueue,
		"tactus_request_add_chat":                                &f.requestAddChat,
		"tactus_request_add_ids":                                 &f.requestAddIds,
		"tactus_request_add_message":                             &f.requestAddMessage,
		"tactus_request_add_message_json":                        &f.requestAddMessageJson,
		"tactus_request_add_stop":                                &f.requestAddStop,
		"tactus_request_add_text":                                &f.requestAddText,
		"tactus_request_create":                                  &f.requestCreate,
		"tactus_request_destroy":                                 &f.requestDestroy,
		"tactus_request_from_json":                               &f.requestFromJson,
		"tactus_request_sequence_count":                          &f.requestSequenceCount,
		"tactus_request_set_add_generation_prompt":               &f.requestSetAddGenerationPrompt,
		"tactus_request_set_apply_chat_template":                 &f.requestSetApplyChatTemplate,
		"tactus_request_set_cache_bypass":                        &f.requestSetCacheBypass,
		"tactus_request_set_cache_commit":                        &f.requestSetCacheCommit,
		"tactus_request_set_cache_salt":                          &f.requestSetCacheSalt,
		"tactus_request_set_channel":                             &f.requestSetChannel,
		"tactus_request_set_enable_thinking":                     &f.requestSetEnableThinking,
		"tactus_request_set_extra_eos_ids":                       &f.requestSetExtraEosIds,
		"tactus_request_set_frequency_penalty":                   &f.requestSetFrequencyPenalty,
		"tactus_request_set_guide":                               &f.requestSetGuide,
		"tactus_request_set_hidden_layer":                        &f.requestSetHiddenLayer,
		"tactus_request_set_ignore_eos":                          &f.requestSetIgnoreEos,
		"tactus_request_set_logit_bias":                          &f.requestSetLogitBias,
		"tactus_request_set_max_generate_length":                 &f.requestSetMaxGenerateLength,
		"tactus_request_set_min_p":                               &f.requestSetMinP,
		"tactus_request_set_num_logprobs":                        &f.requestSetNumLogprobs,
		"tactus_request_set_plain_content":                       &f.requestSetPlainContent,
		"tactus_request_set_presence_penalty":                    &f.requestSetPresencePenalty,
		"tactus_request_set_repetition_penalty":                  &f.requestSetRepetitionPenalty,
		"tactus_request_set_save_system_prompt":                  &f.requestSetSaveSystemPrompt,
		"tactus_request_set_seed":                                &f.requestSetSeed,
		"tactus_request_set_skip_special_tokens":                 &f.requestSetSkipSpecialTokens,
		"tactus_request_set_temperature":                         &f.requestSetTemperature,
		"tactus_request_set_template_name":                       &f.requestSetTemplateName,
		"tactus_request_set_template_variables_json":             &f.requestSetTemplateVariablesJson,
		"tactus_request_set_token_callback":                      &f.requestSetTokenCallback,
		"tactus_request_set_tools_json":                          &f.requestSetToolsJson,
		"tactus_request_set_top_k":                               &f.requestSetTopK,
		"tactus_request_set_top_p":                               &f.requestSetTopP,
		"tactus_response_batch_histogram":                        &f.responseBatchHistogram,
		"tactus_response_destroy":                                &f.responseDestroy,
		"tactus_response_error":                                  &f.responseError,
		"tactus_response_error_capacity":                         &f.responseErrorCapacity,
		"tactus_response_finish_reason":                          &f.responseFinishReason,
		"tactus_response_hidden_states":                          &f.responseHiddenStates,
		"tactus_response_input_tokens":                           &f.responseInputTokens,
		"tactus_response_logprob_count":                          &f.responseLogprobCount,
		"tactus_response_logprobs":                               &f.responseLogprobs,
		"tactus_response_materialize":                            &f.responseMaterialize,
		"tactus_response_max_generate_length":                    &f.responseMaxGenerateLength,
		"tactus_response_original_index":                         &f.responseOriginalIndex,
		"tactus_response_output_ids":                             &f.responseOutputIds,
		"tactus_response_seed":                                   &f.responseSeed,
		"tactus_response_sequence_count":                         &f.responseSequenceCount,
		"tactus_response_setting":                                &f.responseSetting,
		"tactus_response_text":                                   &f.responseText,
		"tactus_response_timing":                                 &f.responseTiming,
		"tactus_response_to_json":                                &f.responseToJson,
		"tactus_response_warning":                                &f.responseWarning,
		"tactus_response_warning_count":                          &f.responseWarningCount,
		"tactus_stepped_abort":                                   &f.steppedAbort,
		"tactus_stepped_admit":                                   &f.steppedAdmit,
		"tactus_stepped_decode":                                  &f.steppedDecode,
		"tactus_stepped_delta":                                   &f.steppedDelta,
		"tactus_stepped_delta_count":                             &f.steppedDeltaCount,
		"tactus_stepped_destroy":                                 &f.steppedDestroy,
		"tactus_stepped_finish":                                  &f.steppedFinish,
		"tactus_stepped_finished":                                &f.steppedFinished,
		"tactus_stepped_finished_response":                       &f.steppedFinishedResponse,
		"tactus_stepped_prefill":                                 &f.steppedPrefill,
		"tactus_stepped_residents":                               &f.steppedResidents,
		"tactus_stepped_retire":                                  &f.steppedRetire,
		"tactus_stepped_step":                                    &f.steppedStep,
		"tactus_stepped_step_id":                                 &f.steppedStepId,
		"tactus_string_destroy":                                  &f.stringDestroy,
		"tactus_string_get":                                      &f.stringGet,
		"tactus_last_error_message_length":                       &f.lastErrorMessageLength,
		"tactus_last_error_clear":                                &f.lastErrorClear,
	}
}
