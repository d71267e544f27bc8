package tactus

import (
	"context"
	"errors"
	"fmt"
	"unsafe"
)

// A Chunk is a piece of the output: whole characters, perhaps none. The texts of all chunks joined are the result's text.
type Chunk struct {
	Text     string
	IDs      []int32
	Finished bool
	Reason   FinishReason
}

// A Stream is a dispatch of one sequence whose output comes as it is generated.
type Stream struct {
	chunks   chan Chunk
	cancel   context.CancelFunc
	done     chan struct{}
	response *Response
	err      error
}

// Stream dispatches a request of one sequence on a goroutine of its own. The end of ctx ends it as it ends a Dispatch. Whoever stops
// reading before the end calls Close, or ends ctx.
func (c *Coordinator) Stream(ctx context.Context, r *Request) (*Stream, error) {
	request, channels, err := r.native(c.library, true)
	if err != nil {
		return nil, err
	}
	if len(channels) != 1 {
		closeAll(append(channels, request))
		return nil, fmt.Errorf("tactus: a request of %d sequences to be streamed, expected one", len(channels))
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Stream{chunks: make(chan Chunk), cancel: cancel, done: make(chan struct{})}
	dispatched := make(chan struct{})
	go func() {
		defer close(dispatched)
		s.response, s.err = c.run(ctx, request, channels, false)
	}()
	go func() {
		defer cancel()
		err := pump(ctx, channels[0], s.chunks, dispatched)
		<-dispatched
		closeAll(append(channels, request))
		if s.err == nil {
			s.err = err
		}
		close(s.done)
		close(s.chunks)
	}()
	return s, nil
}

// pump moves chunks from the library to out until the last one, or until nobody will make one any more. After the end of ctx nobody
// needs to read: what nobody takes is dropped.
func pump(ctx context.Context, channel owner, out chan<- Chunk, dispatched <-chan struct{}) error {
	const slice = 50 // milliseconds, after which a dispatch that was refused is noticed
	for {
		over := false
		wait := int64(slice)
		select {
		case <-dispatched:
			over, wait = true, 0
		default:
		}
		l := channel.library
		err := l.check(func() int32 { return l.f.channelWaitPop(channel.handle.Load(), wait) })
		if errors.Is(err, StatusTimeout) || errors.Is(err, StatusState) {
			if over {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		chunk, err := l.chunk(channel.handle.Load())
		if err != nil {
			return err
		}
		select {
		case out <- chunk:
		case <-ctx.Done():
			select {
			case out <- chunk:
			default:
			}
		}
		if chunk.Finished {
			return nil
		}
	}
}

func (l *Library) chunk(handle uintptr) (Chunk, error) {
	var chunk Chunk
	var finished, reason int32
	err := l.check(func() int32 { return l.f.channelChunkFinish(handle, &finished, &reason) })
	if err == nil {
		chunk.Text, err = l.span(func(data *unsafe.Pointer, length *uintptr) int32 { return l.f.channelChunkText(handle, data, length) })
	}
	if err == nil {
		chunk.IDs, err = numbers[int32](l, func(data *unsafe.Pointer, count *uintptr) int32 { return l.f.channelChunkIds(handle, data, count) })
	}
	chunk.Finished, chunk.Reason = finished != 0, FinishReason(reason)
	return chunk, err
}

// Chunks is closed after the last chunk.
func (s *Stream) Chunks() <-chan Chunk { return s.chunks }

// Response waits for the end and answers what Dispatch would have. Chunks are read first, or by another goroutine.
func (s *Stream) Response() (*Response, error) {
	<-s.done
	return s.response, s.err
}

// Close cancels what still runs, and waits for it.
func (s *Stream) Close() error {
	s.cancel()
	<-s.done
	return nil
}
