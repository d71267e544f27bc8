// Package tactus runs language models in the process, through the Tactus library that it opens at run time. It needs no cgo.
//
//	library, err := tactus.Open("libtactus.so.0") // a path, or a name that the system's loader finds
//	coordinator, err := library.NewCoordinator(tactus.Config{"engine_dir": "model.gguf"})
//	defer coordinator.Close()
//	stream, err := coordinator.Stream(ctx, &tactus.Request{Messages: []tactus.Message{{Role: "user", Content: "Hello"}}})
//	for chunk := range stream.Chunks() {
//		fmt.Print(chunk.Text)
//	}
//	response, err := stream.Response()
//
// A call that fails answers an *Error with the library's message; errors.Is(err, tactus.StatusBusy) tests for its status. Any
// goroutine may use any value. A coordinator runs one dispatch at a time, and another one meanwhile is StatusBusy. Everything that is
// opened is closed with Close, in any order; what is forgotten is freed with its last reference. No function of this package is
// called back from the library, so no foreign thread ever runs Go code.
package tactus

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A Status is one of the library's codes. It is an error that others wrap.
type Status int32

func (s Status) Error() string { return fmt.Sprintf("tactus status %d", int32(s)) }

// An Error is a call that failed: its status, the status's name and the library's message.
type Error struct {
	Status        Status
	Name, Message string
	// Prompt, Requested and Limit are the figures of StatusContextFull and StatusNoCapacity, where HasFigures.
	Prompt, Requested, Limit uint64
	HasFigures               bool
}

func (e *Error) Error() string { return e.Name + ": " + e.Message }

// Unwrap answers the status.
func (e *Error) Unwrap() error { return e.Status }

// A Library is an opened shared library. It stays loaded until the process ends.
type Library struct {
	f       functions
	version string
}

// Open loads the library at path, which may be a bare name that the system's loader finds, and checks that its ABI is at least the
// one this package was written for.
func Open(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("tactus: %w", err)
	}
	symbol, err := purego.Dlsym(handle, "tactus_abi_version")
	if err != nil {
		return nil, fmt.Errorf("tactus: %s: no function tactus_abi_version, expected a Tactus library", path)
	}
	l := &Library{}
	purego.RegisterFunc(&l.f.abiVersion, symbol)
	if found := l.f.abiVersion(); found < abiVersion {
		return nil, fmt.Errorf("tactus: %s: ABI version %d, expected at least %d", path, found, abiVersion)
	}
	for name, function := range l.f.pairs() {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("tactus: %s: %w", path, err)
		}
		purego.RegisterFunc(function, symbol)
	}
	l.version = cString(l.f.version())
	return l, nil
}

// Version is the library's, such as "0.1.0".
func (l *Library) Version() string { return l.version }

// ABIVersion is the loaded library's.
func (l *Library) ABIVersion() int32 { return l.f.abiVersion() }

// Capabilities is what the library can do, as JSON: "architectures", "stored_types" and "devices".
func (l *Library) Capabilities() (json.RawMessage, error) {
	text, err := l.text(func(out *uintptr) int32 { return l.f.capabilitiesJson(out) })
	return json.RawMessage(text), err
}

// KeepLog keeps the last capacity log lines up to level (1 errors … 5 traces; 0 ends it) for LogLines.
func (l *Library) KeepLog(level int32, capacity int) error {
	return l.check(func() int32 { return l.f.logSetQueue(level, uintptr(capacity)) })
}

// A LogLine is a line of the library's log.
type LogLine struct {
	Level int32
	Text  string
}

// LogLines takes the lines that wait.
func (l *Library) LogLines() ([]LogLine, error) {
	var lines []LogLine
	for {
		var level int32
		text, err := l.text(func(out *uintptr) int32 { return l.f.logPop(&level, out) })
		if err != nil || level == LogOff {
			return lines, err
		}
		lines = append(lines, LogLine{level, text})
	}
}

// check runs a call that answers a status, and makes an error of one that failed. The error's text belongs to the thread, so the
// goroutine stays on its thread until it has been read.
func (l *Library) check(call func() int32) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := Status(call())
	if status == StatusOk {
		return nil
	}
	e := l.errorOf(status, string(bytes(l.f.lastErrorMessage(), l.f.lastErrorMessageLength())))
	if l.f.lastErrorCapacity(&e.Prompt, &e.Requested, &e.Limit) == int32(StatusOk) {
		e.HasFigures = true
	}
	return e
}

func (l *Library) errorOf(status Status, message string) *Error {
	return &Error{Status: status, Name: cString(l.f.statusName(int32(status))), Message: message}
}

// text runs a call that makes a string of the library's.
func (l *Library) text(call func(out *uintptr) int32) (string, error) {
	var handle uintptr
	if err := l.check(func() int32 { return call(&handle) }); err != nil || handle == 0 {
		return "", err
	}
	defer l.f.stringDestroy(handle)
	return l.span(func(data *unsafe.Pointer, length *uintptr) int32 { return l.f.stringGet(handle, data, length) })
}

// ids runs a call that makes a list of the library's.
func (l *Library) ids(call func(out *uintptr) int32) ([]int32, error) {
	var handle uintptr
	if err := l.check(func() int32 { return call(&handle) }); err != nil {
		return nil, err
	}
	defer l.f.idsDestroy(handle)
	return numbers[int32](l, func(data *unsafe.Pointer, length *uintptr) int32 { return l.f.idsGet(handle, data, length) })
}

// span runs a call that lends bytes, and copies them.
func (l *Library) span(call func(data *unsafe.Pointer, length *uintptr) int32) (string, error) {
	var data unsafe.Pointer
	var length uintptr
	if err := l.check(func() int32 { return call(&data, &length) }); err != nil {
		return "", err
	}
	return string(bytes(data, length)), nil
}

// numbers runs a call that lends numbers, and copies them.
func numbers[T any](l *Library, call func(data *unsafe.Pointer, count *uintptr) int32) ([]T, error) {
	var data unsafe.Pointer
	var count uintptr
	if err := l.check(func() int32 { return call(&data, &count) }); err != nil {
		return nil, err
	}
	return copied[T](data, count), nil
}

func copied[T any](data unsafe.Pointer, count uintptr) []T {
	if count == 0 {
		return nil
	}
	return append([]T(nil), unsafe.Slice((*T)(data), count)...)
}

func bytes(data unsafe.Pointer, length uintptr) []byte {
	if length == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(data), length)
}

func cString(data unsafe.Pointer) string {
	length := uintptr(0)
	for *(*byte)(unsafe.Add(data, length)) != 0 {
		length++
	}
	return string(bytes(data, length))
}

// A view is text as the library takes it: pointer and length.
func view(text []byte) (*byte, uintptr) {
	if len(text) == 0 {
		return new(byte), 0
	}
	return &text[0], uintptr(len(text))
}

// An owner has one handle, and gives it back once.
type owner struct {
	library *Library
	handle  *atomic.Uintptr
	destroy func(uintptr) int32
}

func own(library *Library, handle uintptr, destroy func(uintptr) int32) owner {
	held := new(atomic.Uintptr)
	held.Store(handle)
	return owner{library, held, destroy}
}

// Close gives the object back; later calls on it fail with StatusInvalidArgument. Closing again does nothing.
func (o owner) Close() error {
	if handle := o.handle.Swap(0); handle != 0 {
		return o.library.check(func() int32 { return o.destroy(handle) })
	}
	return nil
}

// freeWith closes what is forgotten when value, which holds the owner, can no longer be reached.
func freeWith[T any](value *T, o owner) {
	runtime.AddCleanup(value, func(o owner) { _ = o.Close() }, o)
}
