package groupcheck.kafka;

/** A command that cannot be carried out in the present situation: no such timer is armed, an id that nobody handed out, no load is held back. */
final class Refused extends RuntimeException {
    Refused(String why) {
        super(why, null, false, false);
    }
}
