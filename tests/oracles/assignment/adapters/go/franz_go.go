package main

import (
	"fmt"
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

// franzGo asks a balancer as the client does: with the metadata that each member would send, and the
// members sorted by instance id, then by member id.
func franzGo(assignor string, asked question) (assignment, error) {
	if balancers[assignor] == nil {
		return nil, fmt.Errorf("franz-go has no assignor %q", assignor)
	}
	balancer := balancers[assignor]()
	members := []kmsg.JoinGroupResponseMember{}
	for _, m := range asked.Members {
		joined := kmsg.NewJoinGroupResponseMember()
		joined.MemberID, joined.InstanceID = m.ID, m.Instance
		joined.ProtocolMetadata = balancer.JoinGroupMetadata(m.Topics, m.Owned, m.Generation)
		members = append(members, joined)
	}
	sort.Slice(members, func(i, j int) bool {
		left, right := members[i], members[j]
		if left.InstanceID == nil || right.InstanceID == nil {
			if left.InstanceID == nil && right.InstanceID == nil {
				return left.MemberID < right.MemberID
			}
			return left.InstanceID != nil
		}
		return *left.InstanceID < *right.InstanceID
	})
	forMembers, wanted, err := balancer.MemberBalancer(members)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int32{}
	for topic := range wanted {
		if size, exists := asked.Topics[topic]; exists {
			sizes[topic] = size
		}
	}
	into, err := forMembers.(kgo.GroupMemberBalancerOrError).BalanceOrError(sizes)
	if err != nil {
		return nil, err
	}
	given := assignment{}
	for _, share := range into.IntoSyncAssignment() {
		if given[share.MemberID], err = kgo.ParseConsumerSyncAssignment(share.MemberAssignment); err != nil {
			return nil, err
		}
	}
	return given, nil
}
