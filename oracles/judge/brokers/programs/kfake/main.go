// kfake, franz-go's broker for tests, on a port of the loopback. Argument: one JSON object with
// `topics` (name -> number of partitions) and `settings` (properties of the broker). It prints one
// JSON object with `address` and `version`, and ends when its input ends.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	var told struct {
		Topics   map[string]int32
		Settings map[string]string
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &told); err != nil {
		fail(err)
	}
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.BrokerConfigs(told.Settings)}
	for name, partitions := range told.Topics {
		options = append(options, kfake.SeedTopics(partitions, name))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fail(err)
	}
	defer cluster.Close()
	line, _ := json.Marshal(map[string]string{
		"address": cluster.ListenAddrs()[0],
		"version": version("github.com/twmb/franz-go/pkg/kfake"),
	})
	fmt.Println(string(line))
	io.Copy(io.Discard, os.Stdin)
}

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

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
