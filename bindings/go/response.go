package tactus

import (
	"encoding/json"
	"unsafe"
)

// A FinishReason says why a sequence ended.
type FinishReason int32

func (r FinishReason) String() string {
	names := map[FinishReason]string{
		FinishNotFinished: "not-finished", FinishEndOfSequence: "end-of-sequence", FinishMaxLength: "max-length",
		FinishCancelled: "cancelled", FinishError: "error", FinishStopWords: "stop-words",
	}
	if name, ok := names[r]; ok {
		return name
	}
	return "unknown"
}

// A TokenLogprob is a token and the natural logarithm of its probability at temperature 1.
type TokenLogprob struct {
	ID      int32
	Logprob float32
}

// Logprobs are those at one position: of the token itself, and of the most probable ones, descending.
type Logprobs struct {
	Logprob float32
	Top     []TokenLogprob
}

// A Result is what one sequence gave.
type Result struct {
	Text                      string
	IDs                       []int32
	FinishReason              FinishReason
	InputTokens, ReusedTokens uint32
	Seed                      uint64
	MaxTokens                 uint32
	// OriginalIndex is the index in the request, or what Stepped.Admit was given.
	OriginalIndex int32
	Warnings      []string
	// Err is what ended the sequence, where that was an error.
	Err error
	// Logprobs is empty where they were not asked for.
	Logprobs []Logprobs
	// HiddenStates has a row for each prompt token, where HiddenLayer asked for them.
	HiddenStates [][]float32
}

// A Response has the results of a dispatch, in the request's order.
type Response struct {
	Results []Result
	// JSON is the response in the OpenAI shape.
	JSON json.RawMessage
	// Timings, by Timing* constant, are there where the dispatch was profiled.
	Timings map[int32]float64
	// BatchHistogram, where the dispatch was profiled, has the steps by the number of sequences in them, from 0.
	BatchHistogram []uint64
}

// take copies a response out of the library and gives its handle back.
func (l *Library) take(handle uintptr) (*Response, error) {
	defer l.f.responseDestroy(handle)
	var count uintptr
	if err := l.check(func() int32 { return l.f.responseSequenceCount(handle, &count) }); err != nil {
		return nil, err
	}
	response := &Response{Results: make([]Result, count)}
	for sequence := range response.Results {
		if err := l.result(handle, int32(sequence), &response.Results[sequence]); err != nil {
			return nil, err
		}
	}
	text, err := l.text(func(out *uintptr) int32 { return l.f.responseToJson(handle, out) })
	if err != nil {
		return nil, err
	}
	response.JSON = json.RawMessage(text)
	for timing := TimingPrepareSeconds; timing <= TimingReusedTokens; timing++ {
		var value float64
		if l.f.responseTiming(handle, timing, &value) != int32(StatusOk) {
			return response, nil // not profiled
		}
		if response.Timings == nil {
			response.Timings = map[int32]float64{}
		}
		response.Timings[timing] = value
	}
	response.BatchHistogram, err = numbers[uint64](l, func(data *unsafe.Pointer, count *uintptr) int32 {
		return l.f.responseBatchHistogram(handle, data, count)
	})
	return response, err
}

func (l *Library) result(handle uintptr, sequence int32, r *Result) error {
	var err error
	// Calls follow one another until one fails, which only a wrong handle or index makes them do.
	then := func(call func() int32) {
		if err == nil {
			err = l.check(call)
		}
	}
	var reason, given, status int32
	var warnings, positions, length uintptr
	var message unsafe.Pointer
	then(func() int32 { return l.f.responseFinishReason(handle, sequence, &reason) })
	then(func() int32 { return l.f.responseInputTokens(handle, sequence, &r.InputTokens, &r.ReusedTokens) })
	then(func() int32 { return l.f.responseSeed(handle, sequence, &r.Seed, &given) })
	then(func() int32 { return l.f.responseMaxGenerateLength(handle, sequence, &r.MaxTokens) })
	then(func() int32 { return l.f.responseOriginalIndex(handle, sequence, &r.OriginalIndex) })
	then(func() int32 { return l.f.responseWarningCount(handle, sequence, &warnings) })
	then(func() int32 { return l.f.responseLogprobCount(handle, sequence, &positions) })
	then(func() int32 { return l.f.responseError(handle, sequence, &status, &message, &length) })
	if err != nil {
		return err
	}
	r.FinishReason = FinishReason(reason)
	if Status(status) != StatusOk {
		r.Err = l.errorOf(Status(status), string(bytes(message, length)))
	}
	r.Text, err = l.span(func(data *unsafe.Pointer, length *uintptr) int32 {
		return l.f.responseText(handle, sequence, data, length)
	})
	if err != nil {
		return err
	}
	r.IDs, err = numbers[int32](l, func(data *unsafe.Pointer, count *uintptr) int32 {
		return l.f.responseOutputIds(handle, sequence, data, count)
	})
	for index := uintptr(0); err == nil && index < warnings; index++ {
		var warning string
		warning, err = l.span(func(data *unsafe.Pointer, length *uintptr) int32 {
			return l.f.responseWarning(handle, sequence, index, data, length)
		})
		r.Warnings = append(r.Warnings, warning)
	}
	for position := uintptr(0); err == nil && position < positions; position++ {
		var at Logprobs
		at, err = l.logprobs(func(own *float32, ids, values *unsafe.Pointer, count *uintptr) int32 {
			return l.f.responseLogprobs(handle, sequence, position, own, ids, values, count)
		})
		r.Logprobs = append(r.Logprobs, at)
	}
	var values unsafe.Pointer
	var rows, width uintptr
	if err == nil && l.f.responseHiddenStates(handle, sequence, &values, &rows, &width) == int32(StatusOk) {
		for row := uintptr(0); row < rows; row++ {
			r.HiddenStates = append(r.HiddenStates, copied[float32](unsafe.Add(values, 4*row*width), width))
		}
	}
	return err
}

func (l *Library) logprobs(call func(own *float32, ids, values *unsafe.Pointer, count *uintptr) int32) (Logprobs, error) {
	var at Logprobs
	var ids, values unsafe.Pointer
	var count uintptr
	if err := l.check(func() int32 { return call(&at.Logprob, &ids, &values, &count) }); err != nil {
		return at, err
	}
	logprobs := copied[float32](values, count)
	for index, id := range copied[int32](ids, count) {
		at.Top = append(at.Top, TokenLogprob{id, logprobs[index]})
	}
	return at, nil
}
