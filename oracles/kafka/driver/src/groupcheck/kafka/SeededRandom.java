package groupcheck.kafka;

import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.SplittableRandom;

/**
 * Makes every SecureRandom of this process draw from one seeded stream. Member ids are random
 * UUIDs, and the iteration order of the coordinator's hash maps follows from them: who becomes
 * leader, and ties between protocols. One seed reproduces all of it; another seed varies it.
 */
final class SeededRandom {
    private static SplittableRandom stream = new SplittableRandom(0);

    private SeededRandom() { }

    /** Must run before the first SecureRandom is made. */
    static void install() {
        Security.insertProviderAt(new Seeded(), 1);
    }

    static void seed(long seed) {
        stream = new SplittableRandom(seed);
    }

    /** Public because the security framework makes it by name. */
    public static final class Source extends SecureRandomSpi {
        @Override
        protected void engineSetSeed(byte[] seed) { }

        @Override
        protected void engineNextBytes(byte[] bytes) {
            stream.nextBytes(bytes);
        }

        @Override
        protected byte[] engineGenerateSeed(int size) {
            return new byte[size];
        }
    }

    private static final class Seeded extends Provider {
        Seeded() {
            super("groupcheck", "1", "one seeded stream");
            put("SecureRandom.GROUPCHECK", Source.class.getName());
        }
    }
}
