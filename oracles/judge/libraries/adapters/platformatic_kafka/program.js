// A consumer of @platformatic/kafka. It reads a stream, the library commits by itself.
'use strict';

const { Consumer } = require('@platformatic/kafka');
const told = require('./contract.js');
const { tell } = told;

const PROTOCOLS = {
  roundrobin: { name: 'roundrobin', version: 1 },
  cooperative: { name: 'cooperative-sticky', version: 3 },
};
if (!(told.assignor in PROTOCOLS)) {
  told.fail(`@platformatic/kafka has no assignor ${told.assignor}`);
}

const timers = {
  sessionTimeout: told.sessionMs,
  heartbeatInterval: told.heartbeatMs,
  rebalanceTimeout: told.rebalanceMs,
  maxWaitTime: 50,
};
const consumer = new Consumer({
  groupId: told.group,
  clientId: 'groupcheck',
  bootstrapBrokers: [told.bootstrap],
  protocols: [PROTOCOLS[told.assignor]],
  ...(told.instance ? { groupInstanceId: told.instance } : {}),
  retries: 5,
  retryDelay: 50,
  metadataMaxAge: 500,
  // Longer than a JoinGroup may wait.
  requestTimeout: told.rebalanceMs + 5000,
  ...timers,
});

consumer.on('consumer:group:join', ({ assignments, generationId, memberId }) => {
  const partitions = (assignments || []).flatMap(a => a.partitions.map(n => `${a.topic}-${n}`));
  tell('assigned', { partitions, whole: true, generation: generationId, member: memberId });
});
consumer.on('consumer:group:rebalance', () => tell('rebalancing'));
consumer.on('consumer:heartbeat:error', ({ error }) =>
  tell('heartbeat_failed', { error: named(error) })
);

/** Kafka's names of the errors inside an error of the library, or its text. */
function named(error) {
  if (error.apiId) return error.apiId;
  return error.errors && error.errors.length ? error.errors.map(named).join(', ') : error.message;
}

let stream;
let closing = false;

async function close() {
  if (closing) return;
  closing = true;
  try {
    if (stream) await stream.close();
    await consumer.close();
  } catch (error) {
    tell('error', { error: named(error) });
  }
  tell('closed');
  told.end();
}

async function main() {
  const version = told.version('@platformatic/kafka');
  tell('started', { library: '@platformatic/kafka', version: `${version}, Node ${process.version}` });
  stream = await consumer.consume({
    topics: [told.topic],
    mode: 'committed',
    fallbackMode: 'earliest',
    autocommit: told.commitMs,
    ...timers,
  });
  stream.on('error', error => {
    // The stream is destroyed.
    tell('fatal', { error: named(error), reason: error.message });
    close();
  });
  stream.on('autocommit', (error, committed) => {
    if (error) tell('commit_failed', { error: named(error) });
    else tell('commit', { offsets: offsetsOf(committed) });
  });
  stream.on('data', message =>
    tell('delivered', {
      partition: `${message.topic}-${message.partition}`,
      offset: Number(message.offset),
    })
  );
}

function offsetsOf(committed) {
  const offsets = {};
  for (const { topic, partition, offset } of committed || []) {
    offsets[`${topic}-${partition}`] = Number(offset);
  }
  return offsets;
}

told.onStop(close);
main().catch(error => {
  tell('fatal', { error: named(error), reason: error.message });
  close();
});
