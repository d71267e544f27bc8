package tactus

import (
	"runtime"
	"unsafe"
)

// A Resident names a sequence of a Stepped; it never comes to mean another one.
type Resident uint64

// A Stepped is an execution whose every step the caller decides. It holds its coordinator until it ends.
type Stepped struct{ owner }

// BeginStepped opens an execution and runs the prompts of the request's sequences. requestID is above 0.
func (c *Coordinator) BeginStepped(r *Request, requestID uint64) (*Stepped, error) {
	defer runtime.KeepAlive(c)
	request, _, err := r.native(c.library, false)
	if err != nil {
		return nil, err
	}
	defer request.Close()
	var handle uintptr
	err = c.library.check(func() int32 {
		return c.library.f.coordinatorBeginStepped(c.handle.Load(), request.handle.Load(), requestID, 0, 0, &handle)
	})
	if err != nil {
		return nil, err
	}
	s := &Stepped{own(c.library, handle, c.library.f.steppedDestroy)}
	freeWith(s, s.owner)
	return s, nil
}

// Residents are those that live, longest resident first.
func (s *Stepped) Residents() ([]Resident, error) {
	defer runtime.KeepAlive(s)
	return numbers[Resident](s.library, func(data *unsafe.Pointer, count *uintptr) int32 {
		return s.library.f.steppedResidents(s.handle.Load(), data, count)
	})
}

// Admit brings a request of one sequence in; its prompt is run by later steps. StatusNoCapacity says that there is no room now.
func (s *Stepped) Admit(r *Request, originalIndex int32, requestID uint64) (Resident, error) {
	defer runtime.KeepAlive(s)
	request, _, err := r.native(s.library, false)
	if err != nil {
		return 0, err
	}
	defer request.Close()
	var resident uint64
	err = s.library.check(func() int32 {
		return s.library.f.steppedAdmit(s.handle.Load(), request.handle.Load(), originalIndex, requestID, &resident)
	})
	return Resident(resident), err
}

// Prefill runs the next chunk of a resident's prompt, and answers how many tokens of it remain.
func (s *Stepped) Prefill(resident Resident) (uint32, error) {
	defer runtime.KeepAlive(s)
	var remaining uint32
	err := s.library.check(func() int32 { return s.library.f.steppedPrefill(s.handle.Load(), uint64(resident), &remaining) })
	return remaining, err
}

// Decode makes one token for each resident.
func (s *Stepped) Decode(residents []Resident) error { return s.Step(nil, residents) }

// A Prefill is a resident and how many tokens of its prompt a step shall run.
type Prefill struct {
	Resident Resident
	Tokens   uint32
}

// Step runs chunks of prompts and makes tokens in one pass of the model.
func (s *Stepped) Step(prefill []Prefill, decode []Resident) error {
	defer runtime.KeepAlive(s)
	who, tokens := make([]uint64, len(prefill)+1), make([]uint32, len(prefill)+1)
	for index, chunk := range prefill {
		who[index], tokens[index] = uint64(chunk.Resident), chunk.Tokens
	}
	names := make([]uint64, len(decode)+1)
	for index, resident := range decode {
		names[index] = uint64(resident)
	}
	return s.library.check(func() int32 {
		handle := s.handle.Load()
		return s.library.f.steppedStep(handle, &who[0], &tokens[0], uintptr(len(prefill)), &names[0], uintptr(len(decode)))
	})
}

// Deltas are the tokens that residents gained in the last step.
func (s *Stepped) Deltas() (map[Resident][]int32, error) {
	defer runtime.KeepAlive(s)
	var count uintptr
	if err := s.library.check(func() int32 { return s.library.f.steppedDeltaCount(s.handle.Load(), &count) }); err != nil {
		return nil, err
	}
	gained := make(map[Resident][]int32, count)
	for delta := uintptr(0); delta < count; delta++ {
		var resident uint64
		ids, err := numbers[int32](s.library, func(data *unsafe.Pointer, count *uintptr) int32 {
			return s.library.f.steppedDelta(s.handle.Load(), delta, &resident, data, count)
		})
		if err != nil {
			return nil, err
		}
		gained[Resident(resident)] = ids
	}
	return gained, nil
}

// Finished are the results of those that ended in the last step.
func (s *Stepped) Finished() (map[Resident]Result, error) {
	defer runtime.KeepAlive(s)
	names, err := numbers[Resident](s.library, func(data *unsafe.Pointer, count *uintptr) int32 {
		return s.library.f.steppedFinished(s.handle.Load(), data, count)
	})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	response, err := s.response(s.library.f.steppedFinishedResponse)
	if err != nil {
		return nil, err
	}
	ended := make(map[Resident]Result, len(names))
	for index, name := range names {
		ended[name] = response.Results[index]
	}
	return ended, nil
}

// Retire ends a resident now, as cancelled.
func (s *Stepped) Retire(resident Resident) error {
	defer runtime.KeepAlive(s)
	return s.library.check(func() int32 { return s.library.f.steppedRetire(s.handle.Load(), uint64(resident)) })
}

// Finish ends the execution, in which nobody lives any more, and answers the founding request's response.
func (s *Stepped) Finish() (*Response, error) {
	defer runtime.KeepAlive(s)
	return s.response(s.library.f.steppedFinish)
}

// Abort ends the execution and everyone in it.
func (s *Stepped) Abort() error {
	defer runtime.KeepAlive(s)
	return s.library.check(func() int32 { return s.library.f.steppedAbort(s.handle.Load()) })
}

func (s *Stepped) response(call func(uintptr, *uintptr) int32) (*Response, error) {
	var handle uintptr
	if err := s.library.check(func() int32 { return call(s.handle.Load(), &handle) }); err != nil {
		return nil, err
	}
	return s.library.take(handle)
}
