// The yardstick: breadth-first search over tables that are given, as plain as C allows. One word is one state, exactly.
//
//   table_loop TABLES LOG2_SLOTS      TABLES is what tables.py writes; the set of visited states has 2^LOG2_SLOTS places and never grows.
//
// It calls no rule, checks no invariant, counts no rule, keeps no path and never makes room: what a search costs at the least.
// The work of a block of states is split in two, so that memory can be fetched ahead: first their successors and the places where these
// belong, then the insertions.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

typedef struct {
  uint64_t first_shift, first_bits, second_shift, second_bits;  // the one or two slots that a rule touches (second_bits 0: one slot)
  uint64_t keep;                                                // what of a state its outcomes leave as it is
  uint64_t cells;
} Footprint;

enum { BLOCK = 64, MOST_FOOTPRINTS = 256 };

static void fail(const char *why) {
  fprintf(stderr, "table_loop: %s\n", why);
  exit(1);
}

static void *words_from(FILE *file, size_t size, size_t count) {
  void *room = malloc(size * count + 1);
  if (!room || fread(room, size, count, file) != count) fail("the tables are cut short");
  return room;
}

static uint64_t *pages(uint64_t words) {
  void *room = mmap(0, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) fail("no memory");
  madvise(room, words * 8, MADV_HUGEPAGE);
  return room;
}

static double seconds_on(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline uint64_t scattered(uint64_t x) {  // the finalizer of MurmurHash3
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

int main(int count, char **given) {
  if (count != 3) fail("usage: table_loop TABLES LOG2_SLOTS");
  FILE *file = fopen(given[1], "rb");
  if (!file) fail("cannot open the tables");
  uint64_t *head = words_from(file, 8, 3);  // footprints, outcomes, initial state
  const uint64_t n_footprints = head[0], initial = head[2];
  if (n_footprints > MOST_FOOTPRINTS) fail("too many footprints");
  Footprint *footprints = words_from(file, sizeof(Footprint), n_footprints);
  uint32_t *cells[MOST_FOOTPRINTS];  // first outcome << 8 | number of outcomes
  uint64_t most = 0;  // successors that one state can have
  for (uint64_t f = 0; f < n_footprints; f++) {
    cells[f] = words_from(file, 4, footprints[f].cells);
    uint32_t longest = 0;
    for (uint64_t c = 0; c < footprints[f].cells; c++)
      if ((cells[f][c] & 255) > longest) longest = cells[f][c] & 255;
    most += longest;
  }
  uint64_t *outcomes = words_from(file, 8, head[1]);
  fclose(file);

  const uint64_t slots = 1ull << atoi(given[2]), wrap = slots - 1, room = slots / 10 * 7;
  const double wall = seconds_on(CLOCK_MONOTONIC), cpu = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  uint64_t *visited = pages(slots);  // state + 1, or 0 where nothing is
  uint64_t *queue = pages(room);
  uint64_t *next = pages(BLOCK * most), *place = pages(BLOCK * most);
  uint64_t states = 0, transitions = 0, depth = 0;
  queue[states++] = initial;
  visited[scattered(initial) & wrap] = initial + 1;

  for (uint64_t begin = 0, end = 1; begin < end; begin = end, end = states, depth++) {
    for (uint64_t at = begin; at < end;) {
      uint64_t n = 0;
      for (uint64_t stop = at + BLOCK < end ? at + BLOCK : end; at < stop; at++) {
        const uint64_t state = queue[at];
        for (uint64_t f = 0; f < n_footprints; f++) {
          const Footprint *p = &footprints[f];
          const uint64_t first = state >> p->first_shift & ((1ull << p->first_bits) - 1);
          const uint64_t second = state >> p->second_shift & ((1ull << p->second_bits) - 1);
          const uint32_t cell = cells[f][first << p->second_bits | second];
          const uint64_t kept = state & p->keep, *outcome = outcomes + (cell >> 8);
          for (uint32_t left = cell & 255; left; left--, outcome++, n++) {
            next[n] = kept | *outcome;
            place[n] = scattered(next[n]) & wrap;
            __builtin_prefetch(&visited[place[n]], 1);
          }
        }
      }
      transitions += n;
      for (uint64_t k = 0; k < n; k++) {
        const uint64_t stored = next[k] + 1;
        uint64_t slot = place[k];
        while (visited[slot] && visited[slot] != stored) slot = (slot + 1) & wrap;
        if (visited[slot]) continue;
        if (states == room) fail("the set of visited states is full");
        visited[slot] = stored;
        queue[states++] = next[k];
      }
    }
  }
  printf("{\"states\": %lu, \"transitions\": %lu, \"depth\": %lu, \"wall\": %.4f, \"cpu\": %.4f}\n", states, transitions, depth,
         seconds_on(CLOCK_MONOTONIC) - wall, seconds_on(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  return 0;
}
