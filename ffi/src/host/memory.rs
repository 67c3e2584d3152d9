//! The system calls: physical memory as a memfd, addresses as a reservation.

use crate::limits;
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// The physical memory of one device: a sparse file in memory that has one place per granule.
#[derive(Debug)]
pub(super) struct Physical {
    file: File,
    granularity: u64,
}

impl Physical {
    /// Makes the file; nothing of it takes memory yet.
    pub(super) fn new(granularity: u64, granules: u32) -> io::Result<Self> {
        const NAME: &CStr = c"weir-host-device";
        let bytes = granularity.checked_mul(u64::from(granules)).ok_or_else(overflow)?;
        limits::check_file_size(bytes)?;
        // SAFETY: NAME is a C string that lives for ever; the call touches no other memory of ours.
        let fd = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else owns it.
        let owned = unsafe { OwnedFd::from_raw_fd(fd) };
        let file = File::from(owned);
        file.set_len(bytes)?;
        Ok(Self { file, granularity })
    }

    /// Gives the pages of a granule back to the system; it reads as zeroes afterwards.
    pub(super) fn discard(&self, index: u32) -> io::Result<()> {
        const HOW: c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (start, len) = (self.offset(index)?, self.granularity);
        let len = libc::off_t::try_from(len).map_err(|_| overflow())?;
        // SAFETY: the descriptor is ours and open; the call changes the file only.
        let outcome = unsafe { libc::fallocate(self.file.as_raw_fd(), HOW, start, len) };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Bytes that really take memory now.
    pub(super) fn resident(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.blocks() * 512)
    }

    fn offset(&self, index: u32) -> io::Result<libc::off_t> {
        libc::off_t::try_from(u64::from(index) * self.granularity).map_err(|_| overflow())
    }
}

fn overflow() -> io::Error {
    io::Error::from_raw_os_error(libc::EOVERFLOW)
}

/// A range of addresses that belongs to nobody else in the process until it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    base: usize,
    bytes: usize,
}

/// Addresses without memory: any access is an error.
const EMPTY: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Reservation {
    /// Reserves `bytes` of addresses, aligned to `align` (a power of two). Both are multiples of the page size.
    pub(super) fn new(bytes: u64, align: u64) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(|_| overflow())?;
        let align = usize::try_from(align).map_err(|_| overflow())?;
        let room = bytes.checked_add(align).ok_or_else(overflow)?;
        // SAFETY: no address is asked for, so the system picks addresses that nothing uses.
        let start = unsafe { libc::mmap(ptr::null_mut(), room, libc::PROT_NONE, EMPTY, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.expose_provenance();
        let base = start.next_multiple_of(align);
        // Both ends of the room that alignment needed go back.
        give_back(start, base - start);
        give_back(base + bytes, start + room - (base + bytes));
        Ok(Self { base, bytes })
    }

    pub(super) fn base(&self) -> u64 {
        self.base as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Maps granule `index` of `memory` at `offset`. What was mapped there is not any more: the caller keeps
    /// account of that, and of kernels that use it.
    pub(super) fn map(&self, offset: u64, memory: &Physical, index: u32) -> io::Result<()> {
        const RIGHTS: c_int = libc::PROT_READ | libc::PROT_WRITE;
        const HOW: c_int = libc::MAP_SHARED | libc::MAP_FIXED;
        let (at, len) = self.place(offset, memory.granularity)?;
        let (fd, from) = (memory.file.as_raw_fd(), memory.offset(index)?);
        // SAFETY: `place` checked that the addresses lie in this reservation, which nothing else in the process
        // uses; the file is as long as all granules together and `index` is one of them.
        let outcome = unsafe { libc::mmap(at, len, RIGHTS, HOW, fd, from) };
        if outcome == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Puts addresses without memory at `offset`. The neighbours stay as they are, also those that the system had
    /// merged with it.
    pub(super) fn unmap(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let (at, len) = self.place(offset, bytes)?;
        let how = EMPTY | libc::MAP_FIXED;
        // SAFETY: `place` checked that the addresses lie in this reservation; the caller made sure that no slice of
        // them is alive (the device's table of running kernels).
        let outcome = unsafe { libc::mmap(at, len, libc::PROT_NONE, how, -1, 0) };
        if outcome == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn place(&self, offset: u64, bytes: u64) -> io::Result<(*mut c_void, usize)> {
        let offset = usize::try_from(offset).map_err(|_| overflow())?;
        let len = usize::try_from(bytes).map_err(|_| overflow())?;
        match offset.checked_add(len) {
            Some(end) if end <= self.bytes => Ok((ptr::with_exposed_provenance_mut(self.base + offset), len)),
            _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        give_back(self.base, self.bytes);
    }
}

/// Unmaps a whole piece of a reservation that is going away.
fn give_back(start: usize, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the piece belongs to the reservation alone, and its owner is giving it up; no slice of it is alive.
    let outcome = unsafe { libc::munmap(ptr::with_exposed_provenance_mut(start), bytes) };
    debug_assert_eq!(outcome, 0, "munmap of a reservation of ours");
}

/// The bytes at an address.
///
/// # Safety
/// They are mapped, and nobody writes them, for as long as `'a`.
pub(super) unsafe fn slice<'a>(at: u64, bytes: u64) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: as the caller promised; a mapped run of addresses is shorter than half the address space.
    unsafe { core::slice::from_raw_parts(ptr::with_exposed_provenance(at as usize), bytes as usize) }
}

/// The bytes at an address, to write.
///
/// # Safety
/// They are mapped, and nobody else uses them, for as long as `'a`.
pub(super) unsafe fn slice_mut<'a>(at: u64, bytes: u64) -> &'a mut [u8] {
    if bytes == 0 {
        return &mut [];
    }
    // SAFETY: as the caller promised; a mapped run of addresses is shorter than half the address space.
    unsafe { core::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(at as usize), bytes as usize) }
}
