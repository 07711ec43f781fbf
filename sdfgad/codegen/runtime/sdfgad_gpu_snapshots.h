// Snapshots in pinned memory of the host, which programs for graphics processors call.
#ifndef SDFGAD_GPU_SNAPSHOTS_H
#define SDFGAD_GPU_SNAPSHOTS_H
#include <cuda_runtime.h>

#include <cstdint>
#include <new>
#include <vector>

namespace sg {

// What the calls of a program share. A snapshot is copied on the device, and from there to the host on a stream of its own,
// while the program goes on. The one that is restored next comes back by that stream while the program works with the one
// before: into the room on the device by which it left. Which one that is tells the call before; in the first call it is
// the one that was saved before this one. A wrong guess costs a copy. copied: bytes of this call.
template <class = void> class HostSnapshotsOf {
public:
    int64_t copied = 0;

    HostSnapshotsOf() = default;
    HostSnapshotsOf(const HostSnapshotsOf &) = delete;
    ~HostSnapshotsOf() { forget(); }
    // For a call on a stream, whose snapshots take so many bytes. Those of the call before may still be read.
    HostSnapshotsOf &on(cudaStream_t stream, int64_t bytes) {
        int device = 0;
        must(cudaGetDevice(&device));
        if (device != device_ || bytes != size_) forget(), device_ = device;
        stream_ = stream;
        if (!start_) take(bytes);
        if (!running_) {
            must(cudaStreamWaitEvent(side_, ended_, 0));
            before_.swap(restored_), restored_.clear(), saved_.clear(), rooms_.clear(), coming_ = {};
        }
        running_ = true;
        return *this;
    }
    template <class T> T *at(int64_t offset) const { return reinterpret_cast<T *>(start_ + offset); }
    // number: of the room on the device, which is free again when its last snapshot has arrived.
    void save(size_t number, void *slot, void *room, const void *state, int64_t bytes) {
        const Snapshot one{slot, number, bytes};
        if (coming_.number == number || coming_.slot == slot) coming_ = {};
        saved_.push_back(one);
        enter(one, room);
        must(cudaStreamWaitEvent(stream_, arrived_[number], 0));
        must(cudaMemcpyAsync(room, state, bytes, cudaMemcpyDeviceToDevice, stream_));
        must(after(side_, stream_));
        must(cudaMemcpyAsync(slot, room, bytes, cudaMemcpyDeviceToHost, side_));
        must(cudaEventRecord(arrived_[number], side_));
        copied += bytes;
    }
    void restore(size_t number, void *state, void *room, const void *slot, int64_t bytes) {
        const Snapshot one{slot, number, bytes};
        enter(one, room);
        if (coming_.slot != slot) fetch(one);
        must(cudaStreamWaitEvent(stream_, arrived_[number], 0));  // it is there
        must(cudaMemcpyAsync(state, room, bytes, cudaMemcpyDeviceToDevice, stream_));
        restored_.push_back(one);
        coming_ = next(one);
        if (coming_.slot) fetch(coming_);
    }
    // A call has been started, or has failed: what follows on its stream comes behind its snapshots.
    void finish() {
        if (!running_) return;
        (void)after(stream_, side_);
        (void)cudaEventRecord(ended_, stream_);
        running_ = false;
    }

private:
    struct Snapshot {
        const void *slot = nullptr;
        size_t number = SIZE_MAX;
        int64_t bytes = 0;
    };
    void enter(const Snapshot &one, void *room) {
        while (arrived_.size() <= one.number)
            must(cudaEventCreateWithFlags(&arrived_.emplace_back(), cudaEventDisableTiming));
        rooms_.resize(arrived_.size());
        rooms_[one.number] = room;
    }
    // From the host to its room, when all that was started has looked at what is there.
    void fetch(const Snapshot &one) {
        must(after(side_, stream_));
        must(cudaMemcpyAsync(rooms_[one.number], one.slot, one.bytes, cudaMemcpyHostToDevice, side_));
        must(cudaEventRecord(arrived_[one.number], side_));
        copied += one.bytes;
    }
    // What is likely to be restored behind a snapshot; nothing where it has no room yet.
    Snapshot next(const Snapshot &one) {
        Snapshot found;
        const size_t turn = restored_.size();
        if (turn <= before_.size() && before_[turn - 1].slot == one.slot) {
            if (turn < before_.size()) found = before_[turn];
        } else {
            while (!saved_.empty() && saved_.back().slot != one.slot) saved_.pop_back();
            if (saved_.size() > 1) found = saved_[saved_.size() - 2];
        }
        return found.number < rooms_.size() && rooms_[found.number] ? found : Snapshot{};
    }
    void take(int64_t bytes) {
        if (cudaMallocHost(reinterpret_cast<void **>(&start_), size_t(bytes)) != cudaSuccess) {
            (void)cudaGetLastError();
            throw std::bad_alloc();
        }
        size_ = bytes;
        must(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
        must(cudaEventCreateWithFlags(&ended_, cudaEventDisableTiming));
    }
    void forget() {
        if (ended_) (void)cudaEventSynchronize(ended_), (void)cudaEventDestroy(ended_);
        if (side_) (void)cudaStreamDestroy(side_);
        for (const cudaEvent_t event : arrived_) (void)cudaEventDestroy(event);
        if (start_) (void)cudaFreeHost(start_);
        arrived_.clear(), before_.clear(), restored_.clear();
        start_ = nullptr, side_ = nullptr, ended_ = nullptr, size_ = 0, running_ = false;
    }
    char *start_ = nullptr;
    int64_t size_ = 0;
    int device_ = -1;
    bool running_ = false;
    cudaStream_t stream_ = nullptr, side_ = nullptr;
    cudaEvent_t ended_ = nullptr;
    std::vector<cudaEvent_t> arrived_;
    std::vector<Snapshot> saved_, restored_, before_;
    std::vector<void *> rooms_;
    Snapshot coming_;
};
using HostSnapshots = HostSnapshotsOf<>;

}  // namespace sg
#endif
