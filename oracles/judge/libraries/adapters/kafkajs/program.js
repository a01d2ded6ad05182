// A consumer of kafkajs. Its handler gets one record after the other, the library commits by itself.
'use strict';

const { Kafka, PartitionAssigners, logLevel } = require('kafkajs');
const told = require('./contract.js');
const { tell } = told;

if (told.assignor !== 'roundrobin') told.fail(`kafkajs has no assignor ${told.assignor}`);
if (told.instance) told.fail('kafkajs has no static members');

const kafka = new Kafka({
  brokers: [told.bootstrap],
  logLevel: logLevel.INFO,
  logCreator: () => ({ log }) => process.stderr.write(JSON.stringify(log) + '\n'),
  retry: { initialRetryTime: 50, maxRetryTime: 200 },
  // Longer than a JoinGroup may wait.
  requestTimeout: told.rebalanceMs + 5000,
});
const consumer = kafka.consumer({
  groupId: told.group,
  partitionAssigners: [PartitionAssigners.roundRobin],
  sessionTimeout: told.sessionMs,
  heartbeatInterval: told.heartbeatMs,
  rebalanceTimeout: told.rebalanceMs,
  metadataMaxAge: 500,
  maxWaitTimeInMs: 50,
});

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  const partitions = Object.entries(payload.memberAssignment).flatMap(([topic, numbers]) =>
    numbers.map(n => `${topic}-${n}`)
  );
  tell('assigned', { partitions, whole: true, member: payload.memberId });
});
consumer.on(consumer.events.REBALANCING, () => tell('rebalancing'));
consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
  const offsets = {};
  for (const { topic, partitions } of payload.topics) {
    for (const { partition, offset } of partitions) offsets[`${topic}-${partition}`] = Number(offset);
  }
  tell('commit', { offsets });
});
consumer.on(consumer.events.CRASH, async ({ payload }) => {
  const { error, restart } = payload;
  tell(restart ? 'error' : 'fatal', { error: error.type || error.name, reason: error.message });
  if (!restart) await close();
});

async function close() {
  try {
    await consumer.disconnect();
  } catch (error) {
    tell('error', { error: error.name, reason: error.message });
  }
  tell('closed');
  told.end();
}

async function main() {
  await consumer.connect();
  await consumer.subscribe({ topics: [told.topic], fromBeginning: true });
  tell('started', { library: 'kafkajs', version: told.version('kafkajs') });
  await consumer.run({
    autoCommitInterval: told.commitMs,
    eachMessage: async ({ topic, partition, message }) =>
      tell('delivered', { partition: `${topic}-${partition}`, offset: Number(message.offset) }),
  });
}

told.onStop(close);
main().catch(error => {
  tell('fatal', { error: error.type || error.name, reason: error.message });
  close();
});
