//! A consumer of krafka. It polls, the library commits by itself.

mod contract;

use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::{duration, fail, field, stopped, tell, text};
use krafka::consumer::{
    AutoOffsetReset, ConsumerRebalanceListener, ConsumerRecord, PartitionAssignmentStrategy,
    TopicPartition,
};
use krafka::interceptor::{CommitOffsets, ConsumerInterceptor, InterceptorResult};
use krafka::{Kafka, KrafkaError};

fn names(partitions: &[TopicPartition]) -> String {
    let found: Vec<String> =
        partitions.iter().map(|p| format!("\"{}-{}\"", p.topic, p.partition)).collect();
    format!(", \"partitions\": [{}]", found.join(", "))
}

struct Listener;

impl ConsumerRebalanceListener for Listener {
    async fn on_partitions_assigned(&self, partitions: &[TopicPartition]) {
        tell("assigned", &names(partitions));
    }

    async fn on_partitions_revoked(&self, partitions: &[TopicPartition]) {
        tell("revoked", &names(partitions));
    }

    async fn on_partitions_lost(&self, partitions: &[TopicPartition]) {
        tell("lost", &names(partitions));
    }
}

#[derive(Debug)]
struct Commits;

impl ConsumerInterceptor for Commits {
    fn on_commit(&self, offsets: &CommitOffsets, error: Option<&KrafkaError>) -> InterceptorResult {
        let found: Vec<String> =
            offsets.iter().map(|((topic, p), offset)| format!("\"{topic}-{p}\": {offset}")).collect();
        let told = format!(", \"offsets\": {{{}}}", found.join(", "));
        match error {
            Some(error) => tell("commit_failed", &(field("error", &error.to_string()) + &told)),
            None => tell("commit", &told),
        }
        Ok(())
    }
}

/// Tells of records in runs without a gap.
fn delivered(records: &[ConsumerRecord]) {
    let mut rest = records;
    while let Some(first) = rest.first() {
        let count = rest
            .iter()
            .zip(first.offset..)
            .take_while(|(r, offset)| {
                r.topic == first.topic && r.partition == first.partition && r.offset == *offset
            })
            .count();
        let partition = field("partition", &format!("{}-{}", first.topic, first.partition));
        let last = first.offset + count as i64 - 1;
        tell("delivered", &format!("{partition}, \"offset\": {}, \"last\": {last}", first.offset));
        rest = &rest[count..];
    }
}

#[tokio::main]
async fn main() {
    let strategy = match text("GROUPCHECK_ASSIGNOR", "range").as_str() {
        "range" => PartitionAssignmentStrategy::Range,
        "roundrobin" => PartitionAssignmentStrategy::RoundRobin,
        "cooperative" => PartitionAssignmentStrategy::CooperativeSticky,
        other => fail(&format!("krafka has no assignor {other}")),
    };
    let stopped = stopped();
    let rebalance = duration("GROUPCHECK_REBALANCE_MS", 5000);
    if let Err(error) = run(strategy, rebalance, &stopped).await {
        tell("fatal", &field("error", &error.to_string()));
    }
    tell("closed", "");
}

async fn run(
    strategy: PartitionAssignmentStrategy,
    rebalance: Duration,
    stopped: &std::sync::atomic::AtomicBool,
) -> Result<(), KrafkaError> {
    let kafka = Kafka::builder(text("KAFKA_BOOTSTRAP", ""))
        .metadata_max_age(Duration::from_millis(500))
        // Longer than a JoinGroup may wait.
        .request_timeout(rebalance + Duration::from_secs(5))
        .connect()
        .await?;
    let mut builder = kafka
        .consumer(text("KAFKA_GROUP", ""))
        .partition_assignment_strategy(strategy)
        .session_timeout(duration("GROUPCHECK_SESSION_MS", 3000))
        .heartbeat_interval(duration("GROUPCHECK_HEARTBEAT_MS", 300))
        .max_poll_interval(rebalance)
        .auto_commit_interval(duration("GROUPCHECK_COMMIT_MS", 300))
        .enable_auto_commit(true)
        .auto_offset_reset(AutoOffsetReset::Earliest)
        .fetch_max_wait(Duration::from_millis(50))
        .rebalance_listener(Listener)
        .interceptor(Commits);
    let instance = text("KAFKA_INSTANCE_ID", "");
    if !instance.is_empty() {
        builder = builder.group_instance_id(instance);
    }
    let consumer = builder.build().await?;
    let library = field("library", "krafka") + &field("version", env!("KRAFKA_VERSION"));
    tell("started", &library);
    consumer.subscribe([text("KAFKA_TOPIC", "")]).await?;
    while !stopped.load(Ordering::SeqCst) {
        match consumer.poll(Duration::from_millis(50)).await {
            Ok(records) => delivered(&records),
            Err(error) if error.is_fatal() => {
                tell("fatal", &field("error", &error.to_string()));
                break;
            }
            Err(error) => {
                tell("error", &field("error", &error.to_string()));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    if let Err(error) = consumer.close().await {
        tell("error", &field("error", &error.to_string()));
    }
    Ok(())
}
