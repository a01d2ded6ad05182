// Assignors of Go clients behind JSON lines: a question on each line of standard input, an answer on
// each line of standard output, in the form of `groupcheck assign --against "program: COMMAND"`.
//
//	adapters LIBRARY ASSIGNOR      such as: adapters franz-go sticky
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type member struct {
	ID         string             `json:"id"`
	Topics     []string           `json:"topics"`
	Owned      map[string][]int32 `json:"owned"`
	Generation int32              `json:"generation"`
	Instance   *string            `json:"instance"`
	Rack       *string            `json:"rack"`
}

type question struct {
	Topics  map[string]int32 `json:"topics"`
	Members []member         `json:"members"`
}

// Member -> topic -> numbers.
type assignment map[string]map[string][]int32

var libraries = map[string]func(assignor string, asked question) (assignment, error){
	"franz-go": franzGo,
	"sarama":   saramas,
	"kafka-go": kafkaGo,
}

func answer(line []byte) (given assignment, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	return libraries[os.Args[1]](os.Args[2], asked)
}

// A member without partitions is {}, a topic without numbers [].
func plain(given assignment) assignment {
	for member, topics := range given {
		if topics == nil {
			given[member] = map[string][]int32{}
		}
		for topic, numbers := range topics {
			if numbers == nil {
				topics[topic] = []int32{}
			}
		}
	}
	return given
}

func main() {
	if len(os.Args) != 3 || libraries[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: adapters franz-go|sarama|kafka-go ASSIGNOR")
		os.Exit(2)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<22)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		if given, err := answer(line); err != nil {
			out.Encode(map[string]string{"failed": err.Error()})
		} else {
			out.Encode(map[string]assignment{"assignment": plain(given)})
		}
	}
}
