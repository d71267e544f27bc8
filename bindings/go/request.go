package tactus

import "encoding/json"

// A Config is the object of tactus_config_from_json, whose comment in tactus.h lists the keys: "engine_dir" is the model, a .gguf file
// or a Hugging Face directory.
type Config map[string]any

// A Message is a turn of a chat.
type Message struct {
	Role             string          `json:"role"`
	Content          string          `json:"content"`
	Name             string          `json:"name,omitempty"`
	ToolCalls        json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
}

// Options say how a sequence is generated. What is nil or empty is the request's, or else the model's recommendation, or else the
// default; Set makes pointers. The comments of tactus_request_set_* in tactus.h say what each means.
type Options struct {
	Temperature         *float64           `json:"temperature,omitempty"`
	TopP                *float64           `json:"top_p,omitempty"`
	TopK                *int64             `json:"top_k,omitempty"`
	MinP                *float64           `json:"min_p,omitempty"`
	RepetitionPenalty   *float64           `json:"repetition_penalty,omitempty"`
	PresencePenalty     *float64           `json:"presence_penalty,omitempty"`
	FrequencyPenalty    *float64           `json:"frequency_penalty,omitempty"`
	MaxTokens           int64              `json:"max_tokens,omitempty"`
	Seed                *uint64            `json:"seed,omitempty"`
	Stop                []string           `json:"stop,omitempty"`
	NumLogprobs         *int32             `json:"num_logprobs,omitempty"`
	LogitBias           map[string]float64 `json:"logit_bias,omitempty"`
	ExtraEOSIDs         []int32            `json:"extra_eos_ids,omitempty"`
	IgnoreEOS           *bool              `json:"ignore_eos,omitempty"`
	ApplyChatTemplate   *bool              `json:"apply_chat_template,omitempty"`
	AddGenerationPrompt *bool              `json:"add_generation_prompt,omitempty"`
	EnableThinking      *bool              `json:"enable_thinking,omitempty"`
	SkipSpecialTokens   *bool              `json:"skip_special_tokens,omitempty"`
	PlainContent        *bool              `json:"plain_content,omitempty"`
	Tools               any                `json:"tools,omitempty"`
	TemplateVariables   any                `json:"template_variables,omitempty"`
	TemplateName        string             `json:"template_name,omitempty"`
	CacheBypass         *bool              `json:"cache_bypass,omitempty"`
	CacheCommit         string             `json:"cache_commit,omitempty"`
	CacheSalt           string             `json:"cache_salt,omitempty"`
	SaveSystemPrompt    *bool              `json:"save_system_prompt,omitempty"`
	HiddenLayer         *int32             `json:"hidden_layer,omitempty"`
	Guide               any                `json:"guide,omitempty"`
	ResponseFormat      any                `json:"response_format,omitempty"`
}

// A Sequence is one prompt, given as messages, text or token ids, with options of its own.
type Sequence struct {
	Messages []Message `json:"messages,omitempty"`
	Text     string    `json:"text,omitempty"`
	IDs      []int32   `json:"ids,omitempty"`
	Options
}

// A Request is a sequence, or several: either one of Messages, Text and IDs is set, or Sequences. Options hold for all sequences that do
// not say otherwise. It can be dispatched any number of times.
type Request struct {
	Messages  []Message  `json:"messages,omitempty"`
	Text      string     `json:"text,omitempty"`
	IDs       []int32    `json:"ids,omitempty"`
	Sequences []Sequence `json:"sequences,omitempty"`
	Options
}

// Set makes the pointer that an option wants.
func Set[T any](value T) *T { return &value }

// native makes the library's request, with a channel for every sequence where there shall be some. Both are the caller's to close.
func (r *Request) native(l *Library, withChannels bool) (owner, []owner, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return owner{}, nil, err
	}
	var handle uintptr
	data, length := view(text)
	if err := l.check(func() int32 { return l.f.requestFromJson(data, length, &handle) }); err != nil {
		return owner{}, nil, err
	}
	request := own(l, handle, l.f.requestDestroy)
	if !withChannels {
		return request, nil, nil
	}
	var count uintptr
	err = l.check(func() int32 { return l.f.requestSequenceCount(handle, &count) })
	var channels []owner
	for sequence := int32(0); err == nil && uintptr(sequence) < count; sequence++ {
		var channel uintptr
		if err = l.check(func() int32 { return l.f.channelCreate(&channel) }); err == nil {
			channels = append(channels, own(l, channel, l.f.channelDestroy))
			err = l.check(func() int32 { return l.f.requestSetChannel(handle, sequence, channel) })
		}
	}
	if err != nil {
		closeAll(append(channels, request))
		return owner{}, nil, err
	}
	return request, channels, nil
}

func closeAll(owners []owner) {
	for _, o := range owners {
		_ = o.Close()
	}
}
