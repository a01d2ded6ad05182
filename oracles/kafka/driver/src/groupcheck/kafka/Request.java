package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;

import java.net.InetAddress;

/** A command that is a client's request: what all of them have, with their defaults, and the broker that it is sent to. */
final class Request {
    final JsonNode json;
    final Broker broker;
    private final Names names;

    Request(JsonNode json, Broker broker, Names names) {
        this.json = json;
        this.broker = broker;
        this.names = names;
    }

    String text(String field, String otherwise) {
        return Json.text(json, field, otherwise);
    }

    int number(String field, int otherwise) {
        return json.path(field).asInt(otherwise);
    }

    String group() {
        return text("group", "g");
    }

    /** The broker's id of the member that is named. */
    String member() {
        return names.real(text("member", ""));
    }

    String instance() {
        return text("instance", null);
    }

    RequestContext context(ApiKeys api, int version) {
        RequestHeader header = new RequestHeader(api, (short) number("version", version), text("client", "c"), 0);
        return new RequestContext(header, "1", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS,
            ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
    }
}
