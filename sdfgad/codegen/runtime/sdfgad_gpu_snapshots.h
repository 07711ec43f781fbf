// Snapshots in pinned memory of the host, which programs for graphics processors call.
#ifndef SDFGAD_GPU_SNAPSHOTS_H
#define SDFGAD_GPU_SNAPSHOTS_H
#include <cuda_runtime.h>

#include <cstdint>
#include <new>
#include <vector>

namespace sg {

// What the calls of a program share. A snapshot is copied on the device, and from there to the host on a stream of its own,
// while the program goes on; who restores one waits for that, on the device. copied: bytes of this call.
class HostSnapshots {
public:
    int64_t copied = 0;

    HostSnapshots() = default;
    HostSnapshots(const HostSnapshots &) = delete;
    ~HostSnapshots() { forget(); }
    // For a call on a stream, whose snapshots take so many bytes. Those of the call before may still be read.
    HostSnapshots &on(cudaStream_t stream, int64_t bytes) {
        int device = 0;
        must(cudaGetDevice(&device));
        if (device != device_ || bytes != size_) forget(), device_ = device;
        stream_ = stream;
        if (!start_) take(bytes);
        if (!running_) must(cudaStreamWaitEvent(side_, ended_, 0));
        running_ = true;
        return *this;
    }
    template <class T> T *at(int64_t offset) const { return reinterpret_cast<T *>(start_ + offset); }
    // number: of the room on the device, which is free again when its last snapshot has arrived.
    void save(size_t number, void *slot, void *room, const void *state, int64_t bytes) {
        while (arrived_.size() <= number) must(cudaEventCreateWithFlags(&arrived_.emplace_back(), cudaEventDisableTiming));
        must(cudaStreamWaitEvent(stream_, arrived_[number], 0));
        must(cudaMemcpyAsync(room, state, bytes, cudaMemcpyDeviceToDevice, stream_));
        must(after(side_, stream_));
        must(cudaMemcpyAsync(slot, room, bytes, cudaMemcpyDeviceToHost, side_));
        must(cudaEventRecord(arrived_[number], side_));
        copied += bytes;
    }
    void restore(void *state, const void *slot, int64_t bytes) {
        must(after(stream_, side_));
        must(cudaMemcpyAsync(state, slot, bytes, cudaMemcpyHostToDevice, stream_));
        copied += bytes;
    }
    // A call has been started, or has failed: what follows on its stream comes behind its snapshots.
    void finish() {
        if (!running_) return;
        (void)after(stream_, side_);
        (void)cudaEventRecord(ended_, stream_);
        running_ = false;
    }

private:
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
        arrived_.clear();
        start_ = nullptr, side_ = nullptr, ended_ = nullptr, size_ = 0, running_ = false;
    }
    char *start_ = nullptr;
    int64_t size_ = 0;
    int device_ = -1;
    bool running_ = false;
    cudaStream_t stream_ = nullptr, side_ = nullptr;
    cudaEvent_t ended_ = nullptr;
    std::vector<cudaEvent_t> arrived_;
};

}  // namespace sg
#endif
