/* A consumer of librdkafka's C interface, as examples/rdkafka_performance is. It polls, the library
 * commits by itself.
 */
#define _POSIX_C_SOURCE 200809L
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile int stopped;
static int fatal;
/* A run of records without a gap that is not told yet; first < 0: there is none. */
static struct {
        int32_t partition;
        int64_t first, last;
} run = {-1, -1, -1};
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static const char *text(const char *name, const char *otherwise) {
        const char *value = getenv(name);
        return value && *value ? value : otherwise;
}

/* Prints an event; `more` are further fields as JSON. */
static void tell(const char *event, const char *more, ...) {
        struct timespec now;
        va_list arguments;
        clock_gettime(CLOCK_REALTIME, &now);
        pthread_mutex_lock(&writing);
        printf("{\"schema\": \"groupcheck.event/1\", \"time\": %lld, \"event\": \"%s\"",
               (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, event);
        va_start(arguments, more);
        vprintf(more, arguments);
        va_end(arguments);
        puts("}");
        fflush(stdout);
        pthread_mutex_unlock(&writing);
}

static void tell_run(void) {
        if (run.first < 0)
                return;
        tell("delivered", ", \"partition\": \"%s-%d\", \"offset\": %lld, \"last\": %lld",
             text("KAFKA_TOPIC", ""), run.partition, (long long)run.first, (long long)run.last);
        run.first = -1;
}

static void failed(rd_kafka_t *client, rd_kafka_resp_err_t error) {
        char reason[64];
        if (error == RD_KAFKA_RESP_ERR__FATAL) {
                error = rd_kafka_fatal_error(client, reason, sizeof(reason));
                fatal = 1;
        }
        tell(fatal ? "fatal" : "error", ", \"error\": \"%s\"", rd_kafka_err2name(error));
}

/* Prints an event with the partitions of a list, and their offsets if `field` is `offsets`. */
static void tell_list(const char *event, const char *field, const char *error,
                      const rd_kafka_topic_partition_list_t *list) {
        int is_offsets = !strcmp(field, "offsets"), i, written = 0;
        size_t size = 64 + (list ? (size_t)list->cnt : 0) * 320;
        char *told = malloc(size);
        told[0] = '\0';
        for (i = 0; list && i < list->cnt; i++) {
                const rd_kafka_topic_partition_t *one = &list->elems[i];
                if (is_offsets && one->offset < 0)
                        continue;
                written += snprintf(told + written, size - written, "%s\"%s-%d\"",
                                    written ? ", " : "", one->topic, one->partition);
                if (is_offsets)
                        written += snprintf(told + written, size - written, ": %lld",
                                            (long long)one->offset);
        }
        if (error)
                tell(event, ", \"error\": \"%s\", \"%s\": {%s}", error, field, told);
        else
                tell(event, is_offsets ? ", \"%s\": {%s}" : ", \"%s\": [%s]", field, told);
        free(told);
}

static void rebalanced(rd_kafka_t *client, rd_kafka_resp_err_t error,
                       rd_kafka_topic_partition_list_t *partitions, void *opaque) {
        int is_cooperative = !strcmp(rd_kafka_rebalance_protocol(client), "COOPERATIVE");
        (void)opaque;
        tell_run(); /* its records were delivered before */
        if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
                tell_list("assigned", "partitions", NULL, partitions);
                if (is_cooperative)
                        rd_kafka_error_destroy(rd_kafka_incremental_assign(client, partitions));
                else
                        rd_kafka_assign(client, partitions);
                return;
        }
        tell_list(rd_kafka_assignment_lost(client) ? "lost" : "revoked", "partitions", NULL,
                  partitions);
        if (is_cooperative)
                rd_kafka_error_destroy(rd_kafka_incremental_unassign(client, partitions));
        else
                rd_kafka_assign(client, NULL);
}

static void committed(rd_kafka_t *client, rd_kafka_resp_err_t error,
                      rd_kafka_topic_partition_list_t *offsets, void *opaque) {
        int i;
        (void)client;
        (void)opaque;
        if (error == RD_KAFKA_RESP_ERR__NO_OFFSET)
                return;
        for (i = 0; !error && offsets && i < offsets->cnt; i++)
                error = offsets->elems[i].err;
        tell_list(error ? "commit_failed" : "commit", "offsets",
                  error ? rd_kafka_err2name(error) : NULL, offsets);
}

static void *heard(void *unused) {
        char line[64];
        while (fgets(line, sizeof(line), stdin) && strcmp(line, "stop\n"))
                ;
        stopped = 1;
        return unused;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char why[512];
        if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) != RD_KAFKA_CONF_OK) {
                fprintf(stderr, "%s\n", why);
                exit(2);
        }
}

int main(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_message_t *message;
        const char *assignor = text("GROUPCHECK_ASSIGNOR", "range");
        pthread_t listener;
        rd_kafka_t *client;
        char why[512];

        set(conf, "bootstrap.servers", text("KAFKA_BOOTSTRAP", ""));
        set(conf, "group.id", text("KAFKA_GROUP", ""));
        if (getenv("KAFKA_INSTANCE_ID"))
                set(conf, "group.instance.id", getenv("KAFKA_INSTANCE_ID"));
        set(conf, "partition.assignment.strategy",
            strcmp(assignor, "cooperative") ? assignor : "cooperative-sticky");
        set(conf, "session.timeout.ms", text("GROUPCHECK_SESSION_MS", "3000"));
        set(conf, "heartbeat.interval.ms", text("GROUPCHECK_HEARTBEAT_MS", "300"));
        set(conf, "max.poll.interval.ms", text("GROUPCHECK_REBALANCE_MS", "5000"));
        set(conf, "auto.commit.interval.ms", text("GROUPCHECK_COMMIT_MS", "300"));
        set(conf, "auto.offset.reset", "earliest");
        set(conf, "fetch.wait.max.ms", "50");
        set(conf, "retry.backoff.ms", "50");
        set(conf, "reconnect.backoff.ms", "50");
        set(conf, "reconnect.backoff.max.ms", "200");
        set(conf, "topic.metadata.refresh.interval.ms", "500");
        set(conf, "coordinator.query.interval.ms", "1000");
        set(conf, "debug", "cgrp");
        rd_kafka_conf_set_rebalance_cb(conf, rebalanced);
        rd_kafka_conf_set_offset_commit_cb(conf, committed);
        client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
        if (!client) {
                fprintf(stderr, "%s\n", why);
                return 2;
        }
        rd_kafka_poll_set_consumer(client);
        pthread_create(&listener, NULL, heard, NULL);
        tell("started", ", \"library\": \"librdkafka\", \"version\": \"%s\"",
             rd_kafka_version_str());
        rd_kafka_topic_partition_list_add(topics, text("KAFKA_TOPIC", ""),
                                          RD_KAFKA_PARTITION_UA);
        rd_kafka_subscribe(client, topics);
        rd_kafka_topic_partition_list_destroy(topics);
        while (!stopped && !fatal) {
                message = rd_kafka_consumer_poll(client, run.first < 0 ? 50 : 0);
                if (!message || message->err || message->offset != run.last + 1 ||
                    message->partition != run.partition || run.last - run.first >= 500)
                        tell_run();
                if (!message)
                        continue;
                if (message->err) {
                        failed(client, message->err);
                } else {
                        if (run.first < 0)
                                run.first = message->offset;
                        run.partition = message->partition;
                        run.last = message->offset;
                }
                rd_kafka_message_destroy(message);
        }
        tell_run();
        rd_kafka_consumer_close(client);
        rd_kafka_destroy(client);
        tell("closed", "%s", "");
        return 0;
}
