package tactus

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
)

// Artifacts are a loaded model, which coordinators can share.
type Artifacts struct{ owner }

// A Coordinator runs requests on a model, one dispatch at a time.
type Coordinator struct{ owner }

func (l *Library) config(config Config, artifacts *Artifacts) (owner, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return owner{}, err
	}
	var handle uintptr
	data, length := view(text)
	if err := l.check(func() int32 { return l.f.configFromJson(data, length, &handle) }); err != nil {
		return owner{}, err
	}
	made := own(l, handle, l.f.configDestroy)
	if artifacts != nil {
		err := l.check(func() int32 { return l.f.configSetArtifacts(handle, artifacts.handle.Load()) })
		runtime.KeepAlive(artifacts)
		if err != nil {
			_ = made.Close()
			return owner{}, err
		}
	}
	return made, nil
}

// load makes something from a configuration; the end of ctx ends the load.
func (l *Library) load(ctx context.Context, config Config, artifacts *Artifacts, make func(config uintptr, out *uintptr) int32) (uintptr, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	made, err := l.config(config, artifacts)
	if err != nil {
		return 0, err
	}
	defer made.Close()
	stop := context.AfterFunc(ctx, func() { l.f.configCancelLoad(made.handle.Load()) })
	defer stop()
	var handle uintptr
	err = l.check(func() int32 { return make(made.handle.Load(), &handle) })
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return handle, err
}

// LoadArtifacts loads a model. The end of ctx ends the load.
func (l *Library) LoadArtifacts(ctx context.Context, config Config) (*Artifacts, error) {
	handle, err := l.load(ctx, config, nil, l.f.artifactsLoad)
	if err != nil {
		return nil, err
	}
	a := &Artifacts{own(l, handle, l.f.artifactsDestroy)}
	freeWith(a, a.owner)
	return a, nil
}

// NewCoordinator loads the model that config names and makes a coordinator on it.
func (l *Library) NewCoordinator(config Config) (*Coordinator, error) {
	return l.NewCoordinatorContext(context.Background(), config, nil)
}

// NewCoordinatorContext is NewCoordinator whose load ends with ctx; it uses artifacts where they are not nil.
func (l *Library) NewCoordinatorContext(ctx context.Context, config Config, artifacts *Artifacts) (*Coordinator, error) {
	handle, err := l.load(ctx, config, artifacts, l.f.coordinatorCreate)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{own(l, handle, l.f.coordinatorDestroy)}
	freeWith(c, c.owner)
	return c, nil
}

// Info is the model's description.
func (a *Artifacts) Info() (json.RawMessage, error) {
	defer runtime.KeepAlive(a)
	text, err := a.library.text(func(out *uintptr) int32 { return a.library.f.artifactsInfoJson(a.handle.Load(), out) })
	return json.RawMessage(text), err
}

// Tokenize encodes a text. addSpecial puts BOS and EOS where the model's tokenizer does; parseSpecial makes control tokens of the text
// that spells them.
func (a *Artifacts) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	defer runtime.KeepAlive(a)
	data, length := view([]byte(text))
	return a.library.ids(func(out *uintptr) int32 {
		return a.library.f.artifactsTokenize(a.handle.Load(), data, length, number(addSpecial), number(parseSpecial), out)
	})
}

// Detokenize decodes ids.
func (a *Artifacts) Detokenize(ids []int32, skipSpecial bool) (string, error) {
	defer runtime.KeepAlive(a)
	first := new(int32)
	if len(ids) > 0 {
		first = &ids[0]
	}
	return a.library.text(func(out *uintptr) int32 {
		return a.library.f.artifactsDetokenize(a.handle.Load(), first, uintptr(len(ids)), number(skipSpecial), out)
	})
}

// RenderChat is the prompt that a chat of the request is rendered to.
func (a *Artifacts) RenderChat(r *Request, sequence int32) (string, error) {
	defer runtime.KeepAlive(a)
	request, _, err := r.native(a.library, false)
	if err != nil {
		return "", err
	}
	defer request.Close()
	return a.library.text(func(out *uintptr) int32 {
		return a.library.f.artifactsRenderChat(a.handle.Load(), request.handle.Load(), sequence, out)
	})
}

func number(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// Dispatch runs a request to its end, or to that of ctx: then its sequences end as cancelled within a step, the error is ctx's, and the
// response has what there was. Where a single sequence fails the error is its own, and the response has the others' results too.
func (c *Coordinator) Dispatch(ctx context.Context, r *Request) (*Response, error) {
	return c.dispatch(ctx, r, false)
}

// DispatchProfiled is Dispatch with Timings.
func (c *Coordinator) DispatchProfiled(ctx context.Context, r *Request) (*Response, error) {
	return c.dispatch(ctx, r, true)
}

func (c *Coordinator) dispatch(ctx context.Context, r *Request, profile bool) (*Response, error) {
	request, channels, err := r.native(c.library, ctx.Done() != nil)
	if err != nil {
		return nil, err
	}
	defer closeAll(append(channels, request))
	return c.run(ctx, request, channels, profile)
}

// run dispatches; the end of ctx cancels channels.
func (c *Coordinator) run(ctx context.Context, request owner, channels []owner, profile bool) (*Response, error) {
	defer runtime.KeepAlive(c)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f := &c.library.f
	var once sync.WaitGroup
	once.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer once.Done()
		for _, channel := range channels {
			f.channelCancel(channel.handle.Load())
		}
	})
	err := c.library.check(func() int32 {
		return f.coordinatorDispatchRequest(c.handle.Load(), request.handle.Load(), number(profile), 0)
	})
	if !stop() {
		once.Wait() // it runs: the channels are its own until it is through
	}
	var handle uintptr
	var response *Response
	taken := c.library.check(func() int32 { return f.coordinatorTakeRankResponse(c.handle.Load(), 0, &handle) })
	if taken == nil {
		response, taken = c.library.take(handle)
	}
	switch {
	case err != nil: // a refusal has no response, a failed sequence does
	case ctx.Err() != nil && wasCancelled(response):
		err = ctx.Err()
	default:
		err = taken
	}
	return response, err
}

func wasCancelled(response *Response) bool {
	if response != nil {
		for _, result := range response.Results {
			if result.FinishReason == FinishCancelled {
				return true
			}
		}
	}
	return false
}

// CountPromptTokens counts the prompt tokens of every sequence.
func (c *Coordinator) CountPromptTokens(r *Request) ([]int32, error) {
	defer runtime.KeepAlive(c)
	request, _, err := r.native(c.library, false)
	if err != nil {
		return nil, err
	}
	defer request.Close()
	return c.library.ids(func(out *uintptr) int32 {
		return c.library.f.coordinatorCountPromptTokens(c.handle.Load(), request.handle.Load(), out)
	})
}

// Info is the model, the backend, the limits and the metrics.
func (c *Coordinator) Info() (json.RawMessage, error) {
	defer runtime.KeepAlive(c)
	text, err := c.library.text(func(out *uintptr) int32 { return c.library.f.coordinatorInfoJson(c.handle.Load(), out) })
	return json.RawMessage(text), err
}

// Limit is one of the Limit* figures.
func (c *Coordinator) Limit(limit int32) (uint64, error) {
	defer runtime.KeepAlive(c)
	var value uint64
	err := c.library.check(func() int32 { return c.library.f.coordinatorLimit(c.handle.Load(), limit, &value) })
	return value, err
}

// Metric is one of the Metric* counters.
func (c *Coordinator) Metric(metric int32) (uint64, error) {
	defer runtime.KeepAlive(c)
	var value uint64
	err := c.library.check(func() int32 { return c.library.f.coordinatorMetric(c.handle.Load(), metric, &value) })
	return value, err
}

// SaveSystemPrompt computes a system prompt's keys and values, and keeps them until they are removed.
func (c *Coordinator) SaveSystemPrompt(prompt string) error {
	defer runtime.KeepAlive(c)
	data, length := view([]byte(prompt))
	return c.library.check(func() int32 {
		return c.library.f.coordinatorGenAndSaveSystemPromptKvCache(c.handle.Load(), data, length, 0)
	})
}

// RemoveSystemPrompt lets a saved prompt go.
func (c *Coordinator) RemoveSystemPrompt(prompt string) error {
	defer runtime.KeepAlive(c)
	data, length := view([]byte(prompt))
	return c.library.check(func() int32 { return c.library.f.coordinatorRemoveSystemPrompt(c.handle.Load(), data, length) })
}
