// A consumer of franz-go. It polls, the library commits by itself.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var balancers = map[string]kgo.GroupBalancer{
	"range":       kgo.RangeBalancer(),
	"roundrobin":  kgo.RoundRobinBalancer(),
	"sticky":      kgo.StickyBalancer(),
	"cooperative": kgo.CooperativeStickyBalancer(),
}

// Errors after which an application has to stop: the library goes on trying by itself.
var fatal = []error{
	kerr.FencedInstanceID, kerr.GroupAuthorizationFailed, kerr.GroupMaxSizeReached,
	kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.InvalidSessionTimeout,
}

func main() {
	balancer, ok := balancers[assignor]
	if !ok {
		fail("franz-go has no assignor " + assignor)
	}
	ctx := stopped()
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.Balancers(balancer),
		kgo.SessionTimeout(session),
		kgo.HeartbeatInterval(heartbeat),
		kgo.RebalanceTimeout(rebalance),
		kgo.AutoCommitInterval(commit),
		kgo.AutoCommitCallback(committed),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(50 * time.Millisecond),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.MetadataMaxAge(500 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
		kgo.OnPartitionsAssigned(told("assigned")),
		kgo.OnPartitionsRevoked(told("revoked")),
		kgo.OnPartitionsLost(told("lost")),
	}
	if instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		fail(err.Error())
	}
	path := "github.com/twmb/franz-go"
	tell("started", fields{"library": "franz-go", "version": version(path)})
	for ctx.Err() == nil {
		found := client.PollFetches(ctx)
		end := false
		found.EachError(func(_ string, _ int32, err error) { end = failed(ctx, err) || end })
		found.EachPartition(func(p kgo.FetchTopicPartition) {
			if count := len(p.Records); count > 0 {
				tell("delivered", fields{
					"partition": name(p.Topic, p.Partition),
					"offset":    p.Records[0].Offset,
					"last":      p.Records[count-1].Offset,
				})
			}
		})
		if end {
			break
		}
	}
	client.Close()
	tell("closed", nil)
}

func told(event string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		tell(event, fields{"partitions": names(partitions)})
	}
}

// failed tells of an error. Does it end the program?
func failed(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	for _, one := range fatal {
		if errors.Is(err, one) {
			tell("fatal", fields{"error": one.(*kerr.Error).Message, "reason": err.Error()})
			return true
		}
	}
	tell("error", fields{"error": err.Error()})
	return false
}

func committed(
	_ *kgo.Client, asked *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error,
) {
	offsets := map[string]int64{}
	for _, topic := range asked.Topics {
		for _, partition := range topic.Partitions {
			offsets[name(topic.Topic, partition.Partition)] = partition.Offset
		}
	}
	if err == nil {
		for _, topic := range answer.Topics {
			for _, partition := range topic.Partitions {
				if err == nil {
					err = kerr.ErrorForCode(partition.ErrorCode)
				}
			}
		}
	}
	var code *kerr.Error
	switch {
	case errors.As(err, &code):
		tell("commit_failed", fields{"error": code.Message, "offsets": offsets})
	case err != nil:
		tell("commit_failed", fields{"error": err.Error(), "offsets": offsets})
	default:
		tell("commit", fields{"offsets": offsets})
	}
}
