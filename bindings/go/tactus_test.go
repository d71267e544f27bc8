package tactus

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TACTUS_TEST_LIBRARY, TACTUS_TEST_MODEL (a tiny model) and TACTUS_TEST_CHAT_MODEL (SmolLM2) are paths.
func open(t testing.TB) *Library {
	t.Helper()
	library, err := Open(os.Getenv("TACTUS_TEST_LIBRARY"))
	if err != nil {
		t.Fatal(err)
	}
	return library
}

func small(t testing.TB, library *Library, more Config) *Coordinator {
	t.Helper()
	config := Config{"engine_dir": os.Getenv("TACTUS_TEST_MODEL"), "cpu_threads": 1, "kv_type": "f32"}
	for key, value := range more {
		config[key] = value
	}
	return must(library.NewCoordinator(config))(t)
}

// must answers a value that came without an error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func request(maxTokens int64, ids ...int32) *Request {
	return &Request{IDs: ids, Options: Options{MaxTokens: maxTokens, IgnoreEOS: Set(true)}}
}

func TestTheVersionIsChecked(t *testing.T) {
	work := t.TempDir()
	for code, message := range map[string]string{"int tactus_abi_version(void) { return 0; }": "ABI version 0, expected at least", "int x;": "no function"} {
		source, built := filepath.Join(work, "old.c"), filepath.Join(work, "lib"+strings.Fields(message)[0]+".so")
		if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", built, source).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		if _, err := Open(built); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%v, expected %s", err, message)
		}
	}
	if _, err := Open("/nowhere/libtactus.so"); err == nil {
		t.Error("opened nothing")
	}
	library := open(t)
	if library.ABIVersion() < abiVersion || library.Version() == "" {
		t.Error(library.Version(), library.ABIVersion())
	}
}

func TestErrorsHaveTheirStatusAndTheLibrarysMessage(t *testing.T) {
	library := open(t)
	_, err := library.NewCoordinator(Config{"engine_dir": "/nowhere"})
	var failed *Error
	if !errors.Is(err, StatusNotFound) || !errors.As(err, &failed) || failed.Name != "NOT_FOUND" || !strings.Contains(failed.Message, "/nowhere") {
		t.Error(err)
	}
	if _, err := library.NewCoordinator(Config{"nonsense": 1}); !errors.Is(err, StatusInvalidArgument) || !strings.Contains(err.Error(), "nonsense") {
		t.Error(err)
	}
	coordinator := small(t, library, Config{"max_sequence_length": 64})
	_, err = coordinator.Dispatch(context.Background(), request(1, make([]int32, 100)...))
	if !errors.As(err, &failed) || failed.Status != StatusContextFull || failed.Prompt != 100 || failed.Limit != 64 {
		t.Errorf("%+v", err)
	}
	if coordinator.Close() != nil || coordinator.Close() != nil {
		t.Error("closing twice")
	}
	if _, err := coordinator.Dispatch(context.Background(), request(1, 7)); !errors.Is(err, StatusInvalidArgument) {
		t.Error(err)
	}
}

func TestABatchAndItsResults(t *testing.T) {
	library := open(t)
	artifacts := must(library.LoadArtifacts(context.Background(), Config{"engine_dir": os.Getenv("TACTUS_TEST_MODEL")}))(t)
	defer artifacts.Close()
	config := Config{"cpu_threads": 1, "kv_type": "f32"}
	coordinator := must(library.NewCoordinatorContext(context.Background(), config, artifacts))(t)
	defer coordinator.Close()
	batch := &Request{
		Sequences: []Sequence{{IDs: []int32{7, 20}}, {IDs: []int32{9}, Options: Options{MaxTokens: 3}}},
		Options:   Options{MaxTokens: 5, IgnoreEOS: Set(true), NumLogprobs: Set(int32(2)), Seed: Set(uint64(4))},
	}
	response := must(coordinator.DispatchProfiled(context.Background(), batch))(t)
	first, second := response.Results[0], response.Results[1]
	if len(first.IDs) != 5 || len(second.IDs) != 3 || first.FinishReason != FinishMaxLength || first.Seed != 4 || second.InputTokens != 1 {
		t.Errorf("%+v", response)
	}
	if len(first.Logprobs) != 5 || len(first.Logprobs[0].Top) != 2 || first.Logprobs[0].Top[0].Logprob < first.Logprobs[0].Top[1].Logprob {
		t.Errorf("%+v", first.Logprobs)
	}
	var shape struct {
		Usage struct {
			Completion int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(response.JSON, &shape); err != nil || shape.Usage.Completion != 8 || response.Timings[TimingTotalSeconds] <= 0 {
		t.Error(err, shape, response.Timings)
	}
	tokens := uint64(0)
	for sequences, steps := range response.BatchHistogram {
		tokens += uint64(sequences) * steps
	}
	if tokens != 8 {
		t.Error(response.BatchHistogram)
	}
	tapped := request(2, 7, 20, 33)
	tapped.HiddenLayer = Set(int32(-1))
	if states := must(coordinator.Dispatch(context.Background(), tapped))(t).Results[0].HiddenStates; len(states) != 3 || len(states[2]) == 0 {
		t.Error(states)
	}
	alone := must(coordinator.Dispatch(context.Background(), request(5, 7, 20)))(t)
	if !slices.Equal(alone.Results[0].IDs, first.IDs) || alone.Timings != nil || alone.Results[0].HiddenStates != nil {
		t.Error("a batch changes what is said")
	}
	ids := must(artifacts.Tokenize("a b c", false, false))(t)
	if text := must(artifacts.Detokenize(ids, true))(t); text != "a b c" {
		t.Errorf("%q", text)
	}
	if counts := must(coordinator.CountPromptTokens(batch))(t); !slices.Equal(counts, []int32{2, 1}) {
		t.Error(counts)
	}
	if seats := must(coordinator.Limit(LimitMaxBatch))(t); seats != 8 {
		t.Error(seats)
	}
	if err := coordinator.RemoveSystemPrompt("never saved"); !errors.Is(err, StatusNotFound) {
		t.Error(err)
	}
}

func TestChunksJoinedAreTheResponse(t *testing.T) {
	library := open(t)
	coordinator := small(t, library, nil)
	defer coordinator.Close()
	stream := must(coordinator.Stream(context.Background(), request(40, 7, 20, 33)))(t)
	var text strings.Builder
	var ids []int32
	var last Chunk
	for chunk := range stream.Chunks() {
		text.WriteString(chunk.Text)
		ids = append(ids, chunk.IDs...)
		last = chunk
	}
	response := must(stream.Response())(t)
	if text.String() != response.Results[0].Text || !slices.Equal(ids, response.Results[0].IDs) || !last.Finished || last.Reason != FinishMaxLength {
		t.Errorf("%q %v %+v", text.String(), ids, response)
	}
	if _, err := coordinator.Stream(context.Background(), &Request{Sequences: []Sequence{{Text: "a"}, {Text: "b"}}}); err == nil {
		t.Error("streamed two sequences at once")
	}
	refused := must(coordinator.Stream(context.Background(), &Request{IDs: []int32{7}, Options: Options{TopP: Set(7.0)}}))(t)
	for range refused.Chunks() {
		t.Error("a refused request said something")
	}
	if _, err := refused.Response(); !errors.Is(err, StatusInvalidArgument) {
		t.Error(err)
	}
}

func TestTheEndOfAContextEndsADispatch(t *testing.T) {
	library := open(t)
	coordinator := small(t, library, nil)
	defer coordinator.Close()
	for _, how := range []string{"before", "dispatch", "stream", "close"} {
		ctx, cancel := context.WithCancel(context.Background())
		switch how {
		case "before":
			cancel()
			if _, err := coordinator.Dispatch(ctx, request(5, 7)); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		case "dispatch":
			time.AfterFunc(2*time.Millisecond, cancel)
			response, err := coordinator.Dispatch(ctx, request(220, 7))
			if err == nil && len(response.Results[0].IDs) != 220 || err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err, response)
			}
		case "stream":
			stream := must(coordinator.Stream(ctx, request(220, 7)))(t)
			<-stream.Chunks()
			cancel()
			response, err := stream.Response()
			if err == nil && len(response.Results[0].IDs) != 220 || err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err, response)
			}
		case "close":
			stream := must(coordinator.Stream(ctx, request(220, 7)))(t)
			_ = stream.Close()
		}
		cancel()
		if response := must(coordinator.Dispatch(context.Background(), request(2, 7)))(t); len(response.Results[0].IDs) != 2 {
			t.Error(how, response)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := library.LoadArtifacts(ctx, Config{"engine_dir": os.Getenv("TACTUS_TEST_MODEL")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSteppedExecutionSaysWhatADispatchSays(t *testing.T) {
	library := open(t)
	coordinator := small(t, library, nil)
	defer coordinator.Close()
	founder, joiner := request(6, 7, 20), request(6, 9, 9, 9)
	expected := [][]int32{}
	for _, r := range []*Request{founder, joiner} {
		expected = append(expected, must(coordinator.Dispatch(context.Background(), r))(t).Results[0].IDs)
	}
	stepped := must(coordinator.BeginStepped(founder, 1))(t)
	defer stepped.Close()
	if _, err := coordinator.Dispatch(context.Background(), founder); !errors.Is(err, StatusBusy) {
		t.Error(err)
	}
	name := must(stepped.Admit(joiner, 5, 2))(t)
	if err := stepped.Decode([]Resident{name}); !errors.Is(err, StatusState) {
		t.Error(err)
	}
	for remaining := uint32(1); remaining > 0; {
		remaining = must(stepped.Prefill(name))(t)
	}
	said := must(stepped.Deltas())(t)[name]
	for {
		live := must(stepped.Residents())(t)
		if len(live) == 0 {
			break
		}
		if err := stepped.Decode(live); err != nil {
			t.Fatal(err)
		}
		said = append(said, must(stepped.Deltas())(t)[name]...)
		if ended, is := must(stepped.Finished())(t)[name]; is && (ended.OriginalIndex != 5 || !slices.Equal(ended.IDs, expected[1])) {
			t.Error(ended, expected)
		}
	}
	if response := must(stepped.Finish())(t); !slices.Equal(response.Results[0].IDs, expected[0]) || !slices.Equal(said, expected[1]) {
		t.Error(response, said, expected)
	}
	if err := stepped.Decode([]Resident{name}); !errors.Is(err, StatusState) {
		t.Error(err)
	}
}

// FIELD_CASES 154: the collector and its preemption signals run while the library computes.
func TestGoroutinesAllocateWhileTheLibraryComputes(t *testing.T) {
	library := open(t)
	artifacts := must(library.LoadArtifacts(context.Background(), Config{"engine_dir": os.Getenv("TACTUS_TEST_MODEL")}))(t)
	stop := make(chan struct{})
	var allocators, workers sync.WaitGroup
	for range 4 {
		allocators.Go(func() {
			var kept [][]byte
			for {
				select {
				case <-stop:
					return
				default:
					if kept = append(kept, make([]byte, 1<<14)); len(kept) == 200 {
						kept = nil
						runtime.GC()
					}
				}
			}
		})
	}
	var mutex sync.Mutex
	var first []int32
	for range 3 {
		workers.Go(func() {
			coordinator, err := library.NewCoordinatorContext(context.Background(), Config{"cpu_threads": 2, "kv_type": "f32"}, artifacts)
			if err != nil {
				t.Error(err)
				return
			}
			defer coordinator.Close()
			for range 15 {
				stream, err := coordinator.Stream(context.Background(), request(30, 7, 20, 33))
				if err != nil {
					t.Error(err)
					return
				}
				for range stream.Chunks() {
				}
				response, err := stream.Response()
				if err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				if first == nil {
					first = response.Results[0].IDs
				}
				if !slices.Equal(first, response.Results[0].IDs) {
					t.Error(first, response.Results[0].IDs)
				}
				mutex.Unlock()
			}
		})
	}
	workers.Wait()
	close(stop)
	allocators.Wait()
}

func TestWhatIsForgottenIsFreed(t *testing.T) {
	library := open(t)
	weights := func() int {
		threads := must(os.ReadDir("/proc/self/task"))(t)
		count := 0
		for _, thread := range threads {
			if name, _ := os.ReadFile(filepath.Join("/proc/self/task", thread.Name(), "comm")); strings.HasPrefix(string(name), "tactus-cpu") {
				count++
			}
		}
		return count
	}
	for range 10 {
		small(t, library, Config{"cpu_threads": 3})
	}
	for range 200 {
		runtime.GC()
		if weights() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d threads of coordinators that nobody holds", weights())
}

func TestLogLines(t *testing.T) {
	library := open(t)
	if err := library.KeepLog(LogInfo, 100); err != nil {
		t.Fatal(err)
	}
	_ = small(t, library, nil).Close()
	lines := must(library.LogLines())(t)
	if err := library.KeepLog(LogOff, 0); err != nil || len(lines) == 0 || lines[0].Text == "" {
		t.Error(err, lines)
	}
	if text := must(library.Capabilities())(t); !strings.Contains(string(text), "llama") {
		t.Error(string(text))
	}
}

func TestASchemaHoldsOnAChatModel(t *testing.T) {
	model := os.Getenv("TACTUS_TEST_CHAT_MODEL")
	if model == "" {
		t.Skip("TACTUS_TEST_CHAT_MODEL is not set")
	}
	coordinator := must(open(t).NewCoordinator(Config{"engine_dir": model}))(t)
	defer coordinator.Close()
	schema := map[string]any{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string", "maxLength": 20}},
		"required": []string{"city"}, "additionalProperties": false,
	}
	response := must(coordinator.Dispatch(context.Background(), &Request{
		Messages: []Message{{Role: "user", Content: "Name the capital of France as JSON."}},
		Options:  Options{Guide: map[string]any{"json_schema": schema}, MaxTokens: 60},
	}))(t)
	var answer struct{ City string }
	if err := json.Unmarshal([]byte(response.Results[0].Text), &answer); err != nil || answer.City == "" {
		t.Error(err, response.Results[0].Text)
	}
}
