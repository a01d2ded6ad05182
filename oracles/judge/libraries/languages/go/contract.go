// What the adapters of Go libraries share: the environment in, events out, `stop`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"sync"
	"time"
)

var (
	bootstrap = os.Getenv("KAFKA_BOOTSTRAP")
	group     = os.Getenv("KAFKA_GROUP")
	topic     = os.Getenv("KAFKA_TOPIC")
	instance  = os.Getenv("KAFKA_INSTANCE_ID")
	assignor  = text("GROUPCHECK_ASSIGNOR", "range")
	session   = duration("GROUPCHECK_SESSION_MS", 3000)
	heartbeat = duration("GROUPCHECK_HEARTBEAT_MS", 300)
	commit    = duration("GROUPCHECK_COMMIT_MS", 300)
	rebalance = duration("GROUPCHECK_REBALANCE_MS", 5000)
)

type fields = map[string]any

var writing sync.Mutex

// tell prints an event.
func tell(event string, more fields) {
	told := fields{
		"schema": "groupcheck.event/1",
		"time":   time.Now().UnixMilli(),
		"event":  event,
	}
	for name, value := range more {
		told[name] = value
	}
	line, _ := json.Marshal(told)
	writing.Lock()
	defer writing.Unlock()
	fmt.Println(string(line))
}

// stopped is done when the line `stop`, or the end, has come on stdin.
func stopped() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() && lines.Text() != "stop" {
		}
		cancel()
	}()
	return ctx
}

// names gives `topic-0` for each partition.
func names(partitions map[string][]int32) []string {
	found := []string{}
	for topic, numbers := range partitions {
		for _, number := range numbers {
			found = append(found, name(topic, number))
		}
	}
	sort.Strings(found)
	return found
}

func name(topic string, partition int32) string {
	return fmt.Sprintf("%s-%d", topic, partition)
}

// version of a module that is compiled in.
func version(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return ""
}

// fail ends the program because of what it cannot do: an assignor that its library lacks.
func fail(reason string) {
	fmt.Fprintln(os.Stderr, reason)
	os.Exit(2)
}

func text(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func duration(name string, otherwise int) time.Duration {
	value, err := strconv.Atoi(text(name, strconv.Itoa(otherwise)))
	if err != nil {
		fail(name + " is no number")
	}
	return time.Duration(value) * time.Millisecond
}
