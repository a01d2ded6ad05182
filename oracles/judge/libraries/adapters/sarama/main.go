// A consumer of sarama. Its handler marks what it gets, the library commits by itself.
package main

import (
	"errors"
	"log"
	"os"
	"time"

	"github.com/IBM/sarama"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":       sarama.NewBalanceStrategyRange,
	"roundrobin":  sarama.NewBalanceStrategyRoundRobin,
	"sticky":      sarama.NewBalanceStrategySticky,
	"cooperative": sarama.NewBalanceStrategyCooperativeSticky,
}

// Errors after which an application has to stop.
var fatal = map[sarama.KError]string{
	sarama.ErrFencedInstancedId:         "FENCED_INSTANCE_ID",
	sarama.ErrGroupAuthorizationFailed:  "GROUP_AUTHORIZATION_FAILED",
	sarama.ErrGroupMaxSizeReached:       "GROUP_MAX_SIZE_REACHED",
	sarama.ErrInconsistentGroupProtocol: "INCONSISTENT_GROUP_PROTOCOL",
	sarama.ErrInvalidGroupId:            "INVALID_GROUP_ID",
	sarama.ErrInvalidSessionTimeout:     "INVALID_SESSION_TIMEOUT",
}

// With a cooperative assignor a session lasts over rebalances, and its claims come and go by
// themselves; with an eager one Setup and Cleanup tell of all of them.
type handler struct{ cooperative bool }

func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	if !h.cooperative {
		told("assigned", session, session.Claims(), true)
	}
	return nil
}

func (h handler) Cleanup(session sarama.ConsumerGroupSession) error {
	if !h.cooperative {
		told("revoked", session, session.Claims(), true)
	}
	return nil
}

func told(
	event string, session sarama.ConsumerGroupSession, claims map[string][]int32, whole bool,
) {
	tell(event, fields{
		"partitions": names(claims),
		"whole":      whole,
		"generation": session.GenerationID(),
	})
}

func (h handler) ConsumeClaim(
	session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim,
) error {
	if h.cooperative {
		own := map[string][]int32{claim.Topic(): {claim.Partition()}}
		told("assigned", session, own, false)
		defer told("revoked", session, own, false)
	}
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			session.MarkMessage(message, "")
			tell("delivered", fields{
				"partition": name(message.Topic, message.Partition),
				"offset":    message.Offset,
			})
		case <-session.Context().Done():
			return nil
		}
	}
}

func main() {
	strategy, ok := strategies[assignor]
	if !ok {
		fail("sarama has no assignor " + assignor)
	}
	sarama.Logger = log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	ctx := stopped()
	config := sarama.NewConfig()
	config.Version = sarama.V2_4_0_0
	config.Consumer.Group.InstanceId = instance
	config.Consumer.Group.Session.Timeout = session
	config.Consumer.Group.Heartbeat.Interval = heartbeat
	config.Consumer.Group.Rebalance.Timeout = rebalance
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy()}
	config.Consumer.Group.Rebalance.Retry.Backoff = 50 * time.Millisecond
	config.Consumer.Offsets.AutoCommit.Interval = commit
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.MaxWaitTime = 50 * time.Millisecond
	config.Consumer.Retry.Backoff = 50 * time.Millisecond
	config.Consumer.Return.Errors = true
	config.Metadata.RefreshFrequency = 500 * time.Millisecond
	config.Metadata.Retry.Backoff = 50 * time.Millisecond
	// Longer than a JoinGroup may wait.
	config.Net.ReadTimeout = rebalance + 5*time.Second
	consumer, err := sarama.NewConsumerGroup([]string{bootstrap}, group, config)
	if err != nil {
		tell("fatal", fields{"error": err.Error()})
		tell("closed", nil)
		return
	}
	tell("started", fields{"library": "sarama", "version": version("github.com/IBM/sarama")})
	errs := make(chan struct{})
	go func() {
		for err := range consumer.Errors() {
			tell("error", fields{"error": err.Error()})
		}
		close(errs)
	}()
	for ctx.Err() == nil {
		err := consumer.Consume(ctx, []string{topic}, handler{assignor == "cooperative"})
		if err != nil && ctx.Err() == nil {
			var code sarama.KError
			if errors.As(err, &code) && fatal[code] != "" {
				tell("fatal", fields{"error": fatal[code], "reason": err.Error()})
				break
			}
			tell("error", fields{"error": err.Error()})
			time.Sleep(50 * time.Millisecond)
		}
	}
	consumer.Close()
	<-errs
	tell("closed", nil)
}
