// A consumer of kafka-go. It reads, the library commits by itself.
package main

import (
	"errors"
	"io"
	"log"
	"os"
	"time"

	kafka "github.com/segmentio/kafka-go"
)

var balancers = map[string]kafka.GroupBalancer{
	"range":      kafka.RangeGroupBalancer{},
	"roundrobin": kafka.RoundRobinGroupBalancer{},
}

func main() {
	balancer, ok := balancers[assignor]
	if !ok {
		fail("kafka-go has no assignor " + assignor)
	}
	if instance != "" {
		fail("kafka-go has no static members")
	}
	ctx := stopped()
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:           []string{bootstrap},
		GroupID:           group,
		GroupTopics:       []string{topic},
		GroupBalancers:    []kafka.GroupBalancer{balancer},
		SessionTimeout:    session,
		HeartbeatInterval: heartbeat,
		RebalanceTimeout:  rebalance,
		CommitInterval:    commit,
		JoinGroupBackoff:  100 * time.Millisecond,
		ReadBackoffMin:    10 * time.Millisecond,
		ReadBackoffMax:    50 * time.Millisecond,
		MaxWait:           50 * time.Millisecond,
		StartOffset:       kafka.FirstOffset,
		Logger:            log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds),
		ErrorLogger:       log.New(os.Stderr, "ERROR ", log.LstdFlags|log.Lmicroseconds),
	})
	tell("started", fields{
		"library": "kafka-go",
		"version": version("github.com/segmentio/kafka-go"),
	})
	for ctx.Err() == nil {
		message, err := reader.ReadMessage(ctx)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, io.EOF):
			tell("fatal", fields{"error": err.Error()})
			tell("closed", nil)
			return
		case err != nil:
			tell("error", fields{"error": err.Error()})
		default:
			tell("delivered", fields{
				"partition": name(message.Topic, int32(message.Partition)),
				"offset":    message.Offset,
			})
		}
	}
	if err := reader.Close(); err != nil {
		tell("error", fields{"error": err.Error()})
	}
	tell("closed", nil)
}
