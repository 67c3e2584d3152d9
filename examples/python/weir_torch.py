"""weir as the device memory of PyTorch (CUDA, ROCm) or torch_npu.

Needs PyTorch with a device that it can use, or torch_npu, and the library: `cargo xtask libs --release`. It has not run
on hardware yet; ffi/tests/torch.rs calls the same functions on stand-ins.

    WEIR_TORCH_LOG=train.log python3 examples/python/weir_torch.py target/weir/lib/libweir.so
"""

import ctypes
import sys


def install(library, module, allocator, reset):
    """Makes weir the allocator. Call it before anything is allocated on a device."""
    weir = ctypes.CDLL(library)
    made = allocator(library, "weir_torch_malloc", "weir_torch_free")

    def address(name):
        return ctypes.cast(getattr(weir, name), ctypes.c_void_p).value

    # Without this, Tensor.record_stream would do nothing.
    made.allocator().set_record_stream_fn(address("weir_torch_record_stream"))
    # What empty_cache calls.
    made.allocator().set_reset_fn(address(reset))
    module.change_current_allocator(made)
    return weir


def main():
    library = sys.argv[1]
    try:
        import torch_npu

        memory = torch_npu.npu.memory
        install(library, memory, memory.NPUPluggableAllocator, "weir_torch_npu_empty_cache")
        device = torch_npu.npu
    except ImportError:
        import torch

        memory = torch.cuda.memory
        install(library, memory, memory.CUDAPluggableAllocator, "weir_torch_empty_cache")
        device = torch.cuda

    import torch

    name = "npu" if device is not torch.cuda else "cuda"
    side = device.Stream()
    for _ in range(10):
        x = torch.ones(1 << 20, device=name)
        side.wait_stream(device.current_stream())
        with device.stream(side):
            y = x * 2
        # x is used on the side stream until it is freed: nobody gets its memory before that is done.
        x.record_stream(side)
        del x
        device.current_stream().wait_stream(side)
        print(float(y.sum()))
        del y
    device.empty_cache()


main()
