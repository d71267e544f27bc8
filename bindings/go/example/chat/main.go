// Chat is a conversation: chat LIBRARY MODEL. A line is a turn; end of input ends it, an interrupt ends an answer.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"tactus"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: chat LIBRARY MODEL")
		os.Exit(2)
	}
	if err := chat(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func chat(path, model string) error {
	library, err := tactus.Open(path)
	if err != nil {
		return err
	}
	cache := map[string]any{"enabled": true, "max_records": 8}
	coordinator, err := library.NewCoordinator(tactus.Config{"engine_dir": model, "max_batch": 1, "context_cache_config": cache})
	if err != nil {
		return err
	}
	defer coordinator.Close()
	var messages []tactus.Message
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		messages = append(messages, tactus.Message{Role: "user", Content: lines.Text()})
		answer, err := turn(coordinator, messages)
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		messages = append(messages, tactus.Message{Role: "assistant", Content: answer})
	}
	return nil
}

func turn(coordinator *tactus.Coordinator, messages []tactus.Message) (string, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stream, err := coordinator.Stream(ctx, &tactus.Request{Messages: messages, Options: tactus.Options{MaxTokens: 200}})
	if err != nil {
		return "", err
	}
	var answer strings.Builder
	for chunk := range stream.Chunks() {
		fmt.Print(chunk.Text)
		answer.WriteString(chunk.Text)
	}
	fmt.Println()
	_, err = stream.Response()
	return answer.String(), err
}
