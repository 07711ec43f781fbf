// Messages between ranks, by the functions of the MPI library that the process has loaded. No mpi.h: a table says where
// the functions are and what the handles of the library are called. Handles are numbers of 4 or 8 bytes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <list>
#include <vector>
#include <unistd.h>

namespace sg::mpi {

enum Function { ISEND, IRECV, WAITALL, GET_COUNT, ALLREDUCE, BCAST, REDUCE, SCATTER, GATHER, ALLGATHER, REDUCE_SCATTER,
                ALLTOALL, BARRIER, SCATTERV, GATHERV, ALLGATHERV, REDUCE_SCATTERV, ALLTOALLV, ERROR_STRING, ABORT,
                COMM_RANK, COMM_SIZE, IALLREDUCE, IBCAST, IREDUCE, ISCATTER, IGATHER, IALLGATHER, IREDUCE_SCATTER,
                IALLTOALL, FUNCTIONS, ALLTOALLV_BACK };

// What this rank waits for, for whoever watches it from another thread (`mpi_watch.py`, which knows the order).
struct Wait {
    static constexpr int64_t SHOWN = 8;
    int64_t turns;  // odd while it waits
    int64_t line, sweep, function, received, sent;
    int64_t ends[2 * 2 * SHOWN];  // ranks and tags of the first messages that are received and sent
};

// Whether nobody may send for the reverse sweep before all ranks have come to it: what a function receives from anybody
// might be taken from there.
struct Fence {
    int64_t wanted, communicator;
};

struct Table {
    uint64_t functions[FUNCTIONS];
    uint64_t types[8], operations[3];
    uint64_t handle_bytes, status_bytes, source_at, tag_at;
    int64_t nobody, any_source, any_tag;
    Wait *wait;
    Fence *fence;
    uint64_t note;  // who is told of every message, or 0
};

// The table, the sweep that a message is part of, and its line; whether the messages of an exchange go in the opposite
// order; whether what comes in may be shorter than its place, and how many numbers an element then has.
struct Place {
    const Table *table;
    int sweep, line;
    bool turned;
    int each;
};

class Waiting {
  public:
    explicit Waiting(const Table *table) : wait(table->wait) { turn(); }
    ~Waiting() { turn(); }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

  private:
    Wait *wait;
    void turn() const { __atomic_store_n(&wait->turns, wait->turns + 1, __ATOMIC_RELEASE); }
};
using Note = void (*)(int sweep, int function, int64_t communicator, int64_t peer, int64_t tag, int64_t bytes);

struct Buffer {
    void *at;
    int64_t count;
    int type;
};
using Buffers = std::initializer_list<Buffer>;
inline constexpr int64_t ANYBODY = -(int64_t(1) << 40);
inline constexpr int REVERSE = 1;  // among the sweeps
inline constexpr int WIDTHS[] = {8, 4, 16, 8, 8, 8, 4, 1};

// The requests of one exchange or collective that is under way. A collective may read what it is given until it is
// waited for.
struct Pending {
    std::vector<uint64_t> room;
    std::vector<char> zeros;
    char nothing[2][16];
    std::vector<int64_t> to, from;
    size_t count = 0;
    template <class H> H *take(size_t wanted) {
        room.assign(wanted, 0);
        count = wanted;
        return reinterpret_cast<H *>(room.data());
    }
};
// All of them, in the order in which they were posted.
inline std::list<Pending> pending;
inline constexpr int64_t LAST = -1;  // of those that are under way

template <class H> class Calls {
  public:
    Calls(Place place, int64_t communicator)
        : table(place.table), sweep(place.sweep), line(place.line), turned(place.turned), each(place.each), communicator(H(communicator)) {
        if (sweep == REVERSE && table->fence->wanted) cross();
    }

    // What is waited for next.
    void told(Function f, const int64_t *from, int64_t received, const int64_t *to, int64_t sent) const {
        Wait &wait = *table->wait;
        wait.line = line, wait.sweep = sweep, wait.function = f, wait.received = received, wait.sent = sent;
        std::copy_n(from, 2 * std::min(received, Wait::SHOWN), wait.ends);
        std::copy_n(to, 2 * std::min(sent, Wait::SHOWN), wait.ends + 2 * Wait::SHOWN);
    }

    template <class... A> int call(Function f, A... arguments) const {
        return reinterpret_cast<int (*)(A...)>(table->functions[f])(arguments...);
    }
    H type(int k) const { return H(table->types[k]); }
    H operation(int k) const { return H(table->operations[k]); }

    // Nobody else knows of an error in the middle of a program: say it and end all ranks.
    [[noreturn]] void stop(const char *what, long long first = 0, long long second = 0) const {
        int rank = 0;
        call(COMM_RANK, communicator, &rank);
        std::fprintf(stderr, "sdfgad: rank %d: ", rank);
        std::fprintf(stderr, what, first, second);
        std::fprintf(stderr, "\nsdfgad: all ranks are ended\n");
        std::fflush(stderr);
        usleep(300000);  // launchers drop what has not reached them by then
        call(ABORT, communicator, 1);
        std::abort();
    }
    void check(int code, const char *name) const {
        if (!code) return;
        char text[1024] = "";
        int length = 0;
        call(ERROR_STRING, code, &text[0], &length);
        std::fprintf(stderr, "sdfgad: %s: %s\n", name, text);
        stop("MPI reports the error %lld", code);
    }
    void note(Function f, int64_t peer, int64_t tag, int64_t bytes) const {
        if (table->note) reinterpret_cast<Note>(table->note)(sweep, f, int64_t(communicator), peer, tag, bytes);
    }
    int number(int64_t count) const {
        if (count > std::numeric_limits<int>::max()) stop("a message of %lld elements: MPI takes fewer than 2**31", count);
        return int(count);
    }

    void start(const int64_t *to, const int64_t *from, Buffers out, Buffers in) const {
        const size_t received = in.size(), sent = out.size();
        Pending &mine = pending.emplace_back();
        H *requests = mine.take<H>(received + sent);
        mine.from.assign(from + 1, from + 1 + 2 * received), mine.to.assign(to + 1, to + 1 + 2 * sent);
        told(WAITALL, from + 1, int64_t(received), to + 1, int64_t(sent));
        for (size_t k = 0; k < received; ++k) {
            const size_t n = turned ? received - 1 - k : k;
            const Buffer &b = in.begin()[n];
            const int64_t source = from[1 + 2 * n], tag = from[2 + 2 * n];
            const bool none = source == table->nobody;  // what went to nobody has no cotangent
            if (none) std::memset(b.at, 0, size_t(b.count) * WIDTHS[b.type]);
            check(call(IRECV, b.at, none ? 0 : number(b.count), type(b.type), source == ANYBODY ? int(table->any_source) : int(source),
                       tag == ANYBODY ? int(table->any_tag) : int(tag), communicator, &requests[n]), "MPI_Irecv");
        }
        for (size_t k = 0; k < sent; ++k) {
            const size_t n = turned ? sent - 1 - k : k;
            const Buffer &b = out.begin()[n];
            const int64_t target = to[1 + 2 * n];
            const int64_t tag = target == table->nobody ? 0 : to[2 + 2 * n];  // nobody's message has any tag
            const int64_t count = each && sweep == REVERSE ? to[3] : b.count;  // as many as have come
            check(call(ISEND, static_cast<const void *>(b.at), number(count), type(b.type), int(target), int(tag),
                       communicator, &requests[received + n]), "MPI_Isend");
            if (target != table->nobody) note(ISEND, target, tag, count * WIDTHS[b.type]);
        }
    }

    void finish(const int64_t *from, int64_t *record, Buffers in, int64_t slot) const {
        const auto at = slot == LAST ? std::prev(pending.end()) : std::next(pending.begin(), slot);
        Pending &mine = *at;
        if (mine.from.size() + mine.to.size())
            told(WAITALL, mine.from.data(), int64_t(mine.from.size() / 2), mine.to.data(), int64_t(mine.to.size() / 2));
        std::vector<char> statuses(mine.count * table->status_bytes + 16);
        const Waiting waiting(table);
        check(call(WAITALL, int(mine.count), reinterpret_cast<H *>(mine.room.data()),
                   static_cast<void *>(statuses.data())), "MPI_Waitall");
        pending.erase(at);
        received(statuses.data(), from, record, in);
    }

    // A shorter message would leave old numbers in a buffer, and its adjoint would not fit.
    void received(const char *statuses, const int64_t *from, int64_t *record, Buffers in) const {
        size_t n = 0;
        if (record) record[0] = from[0];
        for (const Buffer &b : in) {
            const char *status = statuses + n * table->status_bytes;
            if (from[1 + 2 * n] == table->nobody) {
                if (record) record[1 + 2 * n] = table->nobody, record[2 + 2 * n] = table->any_tag;
                if (each && record) record[3] = 0;
                ++n;
                continue;
            }
            int count = 0, source = 0, tag = 0;
            check(call(GET_COUNT, static_cast<const void *>(status), type(b.type), &count), "MPI_Get_count");
            if (each && record) record[3] = count / each;
            if (each ? count > b.count : count != b.count)
                stop("a message of %lld elements arrived where %lld were expected: receive into a part of just that size",
                     count, b.count);
            std::memcpy(&source, status + table->source_at, 4);
            std::memcpy(&tag, status + table->tag_at, 4);
            if (record) record[1 + 2 * n] = source, record[2 + 2 * n] = tag;
            note(IRECV, source, tag, count * WIDTHS[b.type]);
            ++n;
        }
    }

    // Libraries want an address for parts of no elements, another one for what is received than for what is sent: empty
    // arrays may all lie at one.
    static void *place(Buffers buffers, char *nothing) {
        return buffers.size() && buffers.begin()->count ? buffers.begin()->at : nothing;
    }

    // The function that waits, or the one beside it that gives a request.
    template <class... A> int call_or_post(bool posted, Function f, Function beside, A... arguments) const {
        return posted ? call(beside, arguments..., pending.back().take<H>(1)) : call(f, arguments...);
    }

    template <Function F>
    void collective(int root, Buffers out, Buffers in, int64_t each, int kind, int how, bool posted, bool beside) const {
        if (!posted && !beside && pending.size()) stop("a collective while %lld others are under way", int64_t(pending.size()));
        Pending own, &mine = posted ? pending.emplace_back() : own;
        const int n = number(each);
        const H t = type(kind), op = operation(how);
        const void *given = out.size() ? place(out, mine.nothing[0]) : nullptr;
        void *taken = in.size() ? place(in, mine.nothing[1]) : nullptr;
        if constexpr (F == REDUCE) {
            if (!given) mine.zeros.assign(size_t(each) * WIDTHS[kind] + 16, 0), given = mine.zeros.data();
        }
        int code = 0;
        told(F, nullptr, 0, nullptr, 0);
        const Waiting waiting(table);
        if constexpr (F == BARRIER) code = call(F, communicator);
        if constexpr (F == ALLREDUCE) code = call_or_post(posted, F, IALLREDUCE, given, taken, n, t, op, communicator);
        if constexpr (F == REDUCE_SCATTER)
            code = call_or_post(posted, F, IREDUCE_SCATTER, given, taken, n, t, op, communicator);
        if constexpr (F == REDUCE) code = call_or_post(posted, F, IREDUCE, given, taken, n, t, op, root, communicator);
        if constexpr (F == ALLGATHER || F == ALLTOALL)
            code = call_or_post(posted, F, F == ALLTOALL ? IALLTOALL : IALLGATHER, given, n, t, taken, n, t, communicator);
        if constexpr (F == SCATTER || F == GATHER)
            code = call_or_post(posted, F, F == GATHER ? IGATHER : ISCATTER, given, n, t, taken, n, t, root, communicator);
        if constexpr (F == BCAST) {
            void *at = given ? const_cast<void *>(given) : taken;
            code = call_or_post(posted, F, IBCAST, at, n, t, root, communicator);
            if (given && taken) std::memcpy(taken, given, size_t(each) * WIDTHS[kind]);
        }
        check(code, "a collective of MPI");
        note(F, root, 0, each * WIDTHS[kind]);
    }

    // Parts of the ranks one behind the other: how many elements each has, and where it begins.
    struct Parts {
        std::vector<int> counts, first;
        int64_t total = 0;
        Parts(const Calls &calls, const int64_t *numbers, int ranks) : counts(ranks), first(ranks) {
            for (int r = 0; r < ranks; ++r) {
                counts[r] = calls.number(numbers[r]);
                first[r] = calls.number(total);
                total += numbers[r];
            }
        }
    };

    // Counts that are known in the call alone may be any numbers.
    void divided(int64_t counted, int64_t there) const {
        if (counted != there) stop("counts of %lld elements for a buffer of %lld", counted, there);
    }

    template <Function F> void vectors(const int64_t *numbers, Buffers out, Buffers in, int64_t each, int kind) const {
        int ranks = 0, root = int(numbers[1]), code = 0;
        check(call(COMM_SIZE, communicator, &ranks), "MPI_Comm_size");
        constexpr bool all = F == ALLTOALLV || F == ALLTOALLV_BACK, back = F == ALLTOALLV_BACK;
        const Parts parts(*this, numbers + 2 + (back ? ranks : 0), ranks);
        const Parts come(*this, numbers + 2 + (all && !back ? ranks : 0), ranks);
        const int n = number(each), *counts = parts.counts.data(), *first = parts.first.data();
        const int64_t sent = out.size() ? out.begin()->count : 0, taken_in = in.size() ? in.begin()->count : 0;
        int rank = 0;
        call(COMM_RANK, communicator, &rank);
        if (all || (F != SCATTERV && F != GATHERV) || rank == root) {
            constexpr bool spread = all || F == SCATTERV || F == REDUCE_SCATTERV;
            divided(parts.total, spread ? sent : taken_in);
            if constexpr (all) divided(come.total, taken_in);
            if constexpr (!all) divided(counts[rank], each);
        }
        const H t = type(kind);
        char nothing[2][16];
        const void *given = place(out, nothing[0]);
        void *taken = place(in, nothing[1]);
        told(all ? ALLTOALLV : F, nullptr, 0, nullptr, 0);
        const Waiting waiting(table);
        if constexpr (F == SCATTERV) code = call(F, given, counts, first, t, taken, n, t, root, communicator);
        if constexpr (F == GATHERV) code = call(F, given, n, t, taken, counts, first, t, root, communicator);
        if constexpr (F == ALLGATHERV) code = call(F, given, n, t, taken, counts, first, t, communicator);
        if constexpr (F == REDUCE_SCATTERV) code = call(F, given, taken, counts, t, operation(0), communicator);
        if constexpr (all)
            code = call(ALLTOALLV, given, counts, first, t, taken, come.counts.data(), come.first.data(), t, communicator);
        check(code, "a collective of MPI");
        note(all ? ALLTOALLV : F, root, 0, (all ? parts.total : each) * WIDTHS[kind]);
    }

  private:
    const Table *table;
    int sweep, line;
    bool turned;
    int each;
    H communicator;

    void cross() const {
        table->fence->wanted = 0;
        told(BARRIER, nullptr, 0, nullptr, 0);
        const Waiting waiting(table);
        check(call(BARRIER, H(table->fence->communicator)), "MPI_Barrier");
    }
};

inline void start(Place place, const int64_t *to, const int64_t *from, Buffers out, Buffers in) {
    if (place.table->handle_bytes == 4)
        Calls<int32_t>(place, to[0]).start(to, from, out, in);
    else
        Calls<uint64_t>(place, to[0]).start(to, from, out, in);
}

inline void finish(Place place, const int64_t *from, int64_t *record, Buffers in, int64_t slot) {
    if (place.table->handle_bytes == 4)
        Calls<int32_t>(place, from[0]).finish(from, record, in, slot);
    else
        Calls<uint64_t>(place, from[0]).finish(from, record, in, slot);
}

inline void exchange(Place place, const int64_t *to, const int64_t *from, int64_t *record, Buffers out, Buffers in) {
    start(place, to, from, out, in);
    finish(place, from, record, in, LAST);
}

template <Function F>
void collective(Place place, const int64_t *numbers, Buffers out, Buffers in, int64_t each, int kind, int how,
                bool posted, bool beside) {
    if (place.table->handle_bytes == 4)
        Calls<int32_t>(place, numbers[0]).template collective<F>(int(numbers[1]), out, in, each, kind, how, posted, beside);
    else
        Calls<uint64_t>(place, numbers[0]).template collective<F>(int(numbers[1]), out, in, each, kind, how, posted, beside);
}

template <Function F>
void vectors(Place place, const int64_t *numbers, Buffers out, Buffers in, int64_t each, int kind) {
    if (place.table->handle_bytes == 4)
        Calls<int32_t>(place, numbers[0]).template vectors<F>(numbers, out, in, each, kind);
    else
        Calls<uint64_t>(place, numbers[0]).template vectors<F>(numbers, out, in, each, kind);
}

}
