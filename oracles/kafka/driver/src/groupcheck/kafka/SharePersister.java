package groupcheck.kafka;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateResult;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.TopicData;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The persister of share groups as the group coordinator sees it: it is asked to initialize
 * partitions, and answers when it is told to.
 */
final class SharePersister {
    private record Asked(
            InitializeShareGroupStateParameters request,
            CompletableFuture<InitializeShareGroupStateResult> answer) { }

    private final List<Asked> waiting = new ArrayList<>();

    Persister persister() {
        return Reflect.proxy(Persister.class, (method, arguments) -> {
            if (!method.equals("initializeState")) return null;
            CompletableFuture<InitializeShareGroupStateResult> answer = new CompletableFuture<>();
            waiting.add(new Asked((InitializeShareGroupStateParameters) arguments[0], answer));
            return answer;
        });
    }

    /** Answers all that wait. */
    void answer(boolean well) {
        List<Asked> all = List.copyOf(waiting);
        waiting.clear();
        Errors error = well ? Errors.NONE : Errors.COORDINATOR_NOT_AVAILABLE;
        for (Asked asked : all) {
            asked.answer.complete(new InitializeShareGroupStateResult.Builder()
                    .setTopicsData(asked.request.groupTopicPartitionData().topicsData().stream()
                            .map(t -> new TopicData<>(t.topicId(), t.partitions().stream()
                                    .map(p -> PartitionFactory.newPartitionErrorData(
                                            p.partition(), error.code(), error.message()))
                                    .toList()))
                            .toList())
                    .build());
        }
    }

    /** The partitions of which an answer is waited for. */
    List<TopicPartition> asked(Topics topics) {
        return waiting.stream()
                .flatMap(a -> a.request.groupTopicPartitionData().topicsData().stream())
                .flatMap(t -> t.partitions().stream().map(p ->
                        new TopicPartition(topics.name(t.topicId()), p.partition())))
                .distinct().toList();
    }
}
