package main

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/IBM/sarama"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":              sarama.NewBalanceStrategyRange,
	"roundrobin":         sarama.NewBalanceStrategyRoundRobin,
	"sticky":             sarama.NewBalanceStrategySticky,
	"cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
}

// saramas asks a strategy with what the leader has of each member. The sticky strategy reads claims
// from the user data, the cooperative one from the subscription.
func saramas(assignor string, asked question) (assignment, error) {
	if strategies[assignor] == nil {
		return nil, fmt.Errorf("sarama has no assignor %q", assignor)
	}
	members := map[string]sarama.ConsumerGroupMemberMetadata{}
	topics := map[string][]int32{}
	for _, m := range asked.Members {
		metadata := sarama.ConsumerGroupMemberMetadata{
			Version: 2, Topics: m.Topics, GenerationID: m.Generation, RackID: m.Rack,
		}
		if assignor == "sticky" && m.Generation >= 0 {
			metadata.Version, metadata.UserData = 0, userData(m)
		}
		if assignor == "cooperative-sticky" {
			for _, topic := range sorted(m.Owned) {
				owned := &sarama.OwnedPartition{Topic: topic, Partitions: m.Owned[topic]}
				metadata.OwnedPartitions = append(metadata.OwnedPartitions, owned)
			}
		}
		members[m.ID] = metadata
		for _, topic := range m.Topics {
			if size, exists := asked.Topics[topic]; exists {
				topics[topic] = numbers(size)
			}
		}
	}
	plan, err := strategies[assignor]().Plan(members, topics)
	return assignment(plan), err
}

// userData is StickyAssignorUserData, version 1.
func userData(m member) []byte {
	data := binary.BigEndian.AppendUint32(nil, uint32(len(m.Owned)))
	for _, topic := range sorted(m.Owned) {
		data = binary.BigEndian.AppendUint16(data, uint16(len(topic)))
		data = append(data, topic...)
		data = binary.BigEndian.AppendUint32(data, uint32(len(m.Owned[topic])))
		for _, number := range m.Owned[topic] {
			data = binary.BigEndian.AppendUint32(data, uint32(number))
		}
	}
	return binary.BigEndian.AppendUint32(data, uint32(m.Generation))
}

func sorted(owned map[string][]int32) []string {
	topics := []string{}
	for topic := range owned {
		topics = append(topics, topic)
	}
	sort.Strings(topics)
	return topics
}

func numbers(size int32) []int32 {
	found := []int32{}
	for number := int32(0); number < size; number++ {
		found = append(found, number)
	}
	return found
}
