package main

import (
	"fmt"
	"sort"

	kafka "github.com/segmentio/kafka-go"
)

var groupBalancers = map[string]kafka.GroupBalancer{
	"range":      kafka.RangeGroupBalancer{},
	"roundrobin": kafka.RoundRobinGroupBalancer{},
}

// kafkaGo asks a balancer with the partitions of all subscribed topics, topic by topic.
func kafkaGo(assignor string, asked question) (assignment, error) {
	if groupBalancers[assignor] == nil {
		return nil, fmt.Errorf("kafka-go has no assignor %q", assignor)
	}
	members := []kafka.GroupMember{}
	wanted := map[string]bool{}
	for _, m := range asked.Members {
		members = append(members, kafka.GroupMember{ID: m.ID, Topics: m.Topics})
		for _, topic := range m.Topics {
			wanted[topic] = true
		}
	}
	topics := []string{}
	for topic := range wanted {
		topics = append(topics, topic)
	}
	sort.Strings(topics)
	partitions := []kafka.Partition{}
	for _, topic := range topics {
		for _, number := range numbers(asked.Topics[topic]) {
			partitions = append(partitions, kafka.Partition{Topic: topic, ID: int(number)})
		}
	}
	given := assignment{}
	for member, shares := range groupBalancers[assignor].AssignGroups(members, partitions) {
		given[member] = map[string][]int32{}
		for topic, share := range shares {
			for _, number := range share {
				given[member][topic] = append(given[member][topic], int32(number))
			}
		}
	}
	return given, nil
}
