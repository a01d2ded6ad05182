// The assignor of kafkajs behind JSON lines: a question on each line of standard input, an answer on
// each line of standard output, in the form of `groupcheck assign --against "program: COMMAND"`.
'use strict'

const readline = require('readline')
const roundRobin = require('kafkajs/src/consumer/assigners/roundRobinAssigner')
const { MemberAssignment } = require('kafkajs/src/consumer/assignerProtocol')

// As ConsumerGroup does: the leader, here the first member, gives the topics of its own.
async function answer(line) {
  const { topics, members } = JSON.parse(line)
  const cluster = {
    findTopicPartitionMetadata: topic =>
      Array.from({ length: topics[topic] || 0 }, (_, partitionId) => ({ partitionId })),
  }
  const assignor = roundRobin({ cluster })
  const joined = members.map(({ id, topics }) => ({
    memberId: id,
    memberMetadata: assignor.protocol({ topics }).metadata,
  }))
  const given = await assignor.assign({ members: joined, topics: members[0].topics })
  return Object.fromEntries(
    given.map(({ memberId, memberAssignment }) => [
      memberId,
      MemberAssignment.decode(memberAssignment).assignment,
    ])
  )
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const said = await answer(line).then(
      assignment => ({ assignment }),
      error => ({ failed: String(error) })
    )
    process.stdout.write(JSON.stringify(said) + '\n')
  }
}

main()
